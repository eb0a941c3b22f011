"""How a tile is computed, as a value that :mod:`.choose` makes, engines run and forecasts read."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import sizes
from .geometry import Grid, TileShape
from .plan import Plan, StriplessPlan
from .program import Program
from .sections import Sections, SectionsLayout

#: Words of the descriptor of a section (`pysw_cl.engines.wavefront.descriptors.TileWord`).
TILE_WORDS = 14
#: Bytes of H, E and F of a cell of a matrix that is held whole.
HELD_BYTES = 12


@dataclass(frozen=True)
class Strips:
    """What strips are computed by, whether they follow each other or lie in sections."""

    tile: TileShape
    program: Program
    grid: Grid
    #: Groups, or warps of groups, at once.
    strip_groups: int
    #: Bytes of the substitution scores, and letters of a row of query profiles.
    scores: tuple[int, int]

    @cached_property
    def plan(self) -> Plan:
        return self.program.plan

    def __str__(self) -> str:
        plan, program = self.plan, self.program
        widths = " and ".join(map(str, program.widths)) or "32"
        return (
            f"{plan.lanes} lanes of {widths} bits, scores by {program.score}, {program.form}, "
            f"B={self.grid.B} T={self.grid.T} alpha={self.grid.alpha} chunk={self.chunk}"
        )

    @cached_property
    def chunk(self) -> int:
        """Columns of a block at most."""
        return min(self.plan.chunk, self.grid.n + self.grid.T)

    @cached_property
    def stride(self) -> int:
        """Cells of a line of the horizontal bus: those of the tile, and T more at both ends."""
        return self.grid.n + 2 * self.grid.T

    @cached_property
    def progress_words(self) -> int:
        """32-bit words of what a strip tells others.  The first one: the columns behind it."""
        return sizes.PROGRESS_WORDS if self.program.shares_strips else 1

    @property
    def shared_letters(self) -> dict[str, int]:
        """The target's, for wide and for narrow lanes, which the tiles of a pipeline share."""
        narrow = {"letters": self.stride} if self.plan.lane_set.backwards else {}
        return {"target": self.grid.n, **narrow}

    def _scratch(self, crosses: bool) -> dict[str, int]:
        """What the groups work in.  ``crosses``: are there special columns?"""
        program, (T, alpha) = self.program, (self.grid.T, self.plan.alpha)
        # strips that have memory: one for each group, and those in flight if groups share strips
        groups = self.strip_groups * (1 + sizes.STRIPS_A_GROUP * program.shares_strips)
        narrow = bool(program.widths)
        # the block with the best cell is swept again when all strips are done
        again = narrow and program.best == 1 and program.form == "ticketed"
        argmax = 8 + 2 * (alpha + 1) * T + 2 * self.chunk  # words of a group (best.clh)
        table, letters = self.scores
        local = self.plan.lane_set.local_profile
        profile = 0 if local else sizes.profile_bytes(T, letters, alpha, program.striped)
        lanes = narrow and not again, narrow and crosses, program.striped
        found = {
            "query": self.grid.padded_rows << program.wide_codes,
            "state": sizes.state_bytes(T, alpha, groups, *lanes),
            "stages": 8 * groups * self.chunk,
            "profiles": max(4, groups * profile),
            "argmax_scratch": max(4, 4 * again * groups * argmax),
            "record": 4 * sizes.RECORD_WORDS * self.strip_groups,
            "hits": 4,  # the count of collected cells
        }
        return found | {"table": table} if table else found


@dataclass(frozen=True)
class InStrips(Strips):
    """In strips that follow each other."""

    #: Is it a tile of a pipeline, whose tiles share some buffers?
    linked: bool = False
    #: What computes it until the program is built, where a build takes longer than the tile.
    until_built: InStrips | None = None

    def __str__(self) -> str:
        return f"in strips: {super().__str__()}"

    @cached_property
    def lines(self) -> NDArray[np.int32]:
        return self.grid.bus_lines(self.tile.rows)

    @cached_property
    def buffers(self) -> dict[str, int]:
        """Bytes of all that it allocates; of a pipeline's tile without what the tiles share."""
        tile, grid, ticketed = self.tile, self.grid, self.program.form == "ticketed"
        padded, kept = grid.padded_rows, len(tile.columns)
        right = 4 * padded if tile.right else 4
        found = {
            "right_h": right,
            "right_x": right,
            "crossed": max(4, 8 * padded * kept),
            "left_h": 4 * (padded + 1),
            "left_x": 4 * padded,
            **self._scratch(bool(kept)),
            "lines": 4 * (grid.strips + grid.B + 1),
            "columns": 4 * max(1, kept),
        }
        if not self.linked:  # special rows are in the buffer of the bus
            bus = sizes.bus_bytes(grid.n, grid.T, 2 + len(tile.rows))
            found |= {"bus": bus, "shared_best": 4, **self.shared_letters}
        if ticketed:
            moves = sizes.moves_bytes(grid.m, grid.n, grid.T, grid.alpha) if tile.moves else 4
            found |= {"moves": moves, "progress": 4 * self.progress_words * (grid.strips + 1)}
        if ticketed and not self.linked:
            found["ticket"] = 4
        return found


@dataclass(frozen=True)
class InSections(Strips):
    """In sections side by side, each in strips."""

    sections: Sections

    def __str__(self) -> str:
        place = "one below the other" if self.tile.transposed else "side by side"
        return f"in {self.sections.count} sections {place}: {super().__str__()}"

    @cached_property
    def chunk(self) -> int:
        """Columns of a block at most: few where cells are collected, and blocks swept twice."""
        usual = super().chunk
        return min(usual, 128) if self.tile.collects else usual

    @property
    def stores_right(self) -> bool:
        """Are the right edges of sections kept?"""
        return not self.sections.cut.proven or self.tile.right or bool(self.tile.columns)

    @cached_property
    def layout(self) -> SectionsLayout:
        """Where the edges of sections are in their buffer.  Groups of flat sections have a line of
        ``chunk`` columns each, beside one that all read; else lines are as long as the sections.
        Where all cells of the top edge are equal only the first left edge may differ."""
        sections, T, count = self.sections, self.grid.T, self.sections.count
        cuts = np.array(sections.cuts)
        swept = int((cuts[1:] - np.maximum(cuts[:-1] - sections.cut.overlap, 0)).sum())
        stride = self.chunk + T if self.program.flat else swept + 2 * T * count
        lines = 1 + self.strip_groups if self.program.flat else 2 if sections.cut.proven else 3
        column_words = -(-(2 * self.grid.padded_rows + 1) // 32) * 32
        place, columns_at = 2 * stride * lines, {}
        for kind, columns in (
            ("left", 2 if self.tile.level else count),
            ("right", count if self.stores_right else 1),
            ("crossed", 1 if sections.cut.proven else count),
        ):
            columns_at[kind] = place
            place += column_words * columns
        return SectionsLayout(stride, column_words, columns_at, place)

    @cached_property
    def buffers(self) -> dict[str, int]:
        """Bytes of all that it allocates, if no section is swept again."""
        sections, strips = self.sections, self.grid.strips
        found = {
            **self.shared_letters,
            **self._scratch(not sections.cut.proven),
            **dict.fromkeys(("shared_best", "overlap", "ticket"), 4),
            "lines": 4 * (strips + 1),
            "progress": 4 * (strips * sections.count + 1),
            "tiles": 8 * TILE_WORDS * sections.count,
            "kept": 4 * self.layout.words,
        }
        if not sections.cut.proven:  # places and outcomes of the comparison
            first = bisect_right(sections.cuts, sections.cut.overlap, 0, sections.count)
            checked = max(1, sections.count - first)  # those with columns before them
            found |= {"places": 16 * checked, "refused": 4 * checked}
        return found


@dataclass(frozen=True)
class ByRows:
    """Row by row, by the row scan with this plan."""

    plan: StriplessPlan

    def __str__(self) -> str:
        return f"row by row: {self.plan}"


@dataclass(frozen=True)
class HeldWhole:
    """A matrix that is held whole, in one launch."""

    plan: Plan
    m: int
    n: int

    def __str__(self) -> str:
        return "held whole, in one launch"

    @property
    def buffers(self) -> dict[str, int]:
        numbers = sizes.held_numbers(self.m, self.n)
        return {"cells": HELD_BYTES * numbers, "forbidden": numbers}


@dataclass(frozen=True)
class InParts:
    """In parts that are cut at these rows and columns; how each is computed is chosen for it."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]


#: How something is computed in one go; and how a tile is, which may need parts.
Execution = InStrips | InSections | ByRows | HeldWhole
TileExecution = InStrips | InSections | ByRows | InParts
