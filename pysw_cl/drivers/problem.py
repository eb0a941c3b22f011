"""The comparison of one strand in codes: its borders, its floor, where its best end may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from ..errors import InputError, is_flag, shown
from ..scoring.scoring import Scoring
from ..sequences.view import Pairs, View
from ..tiles.contract import Engine
from ..tiles.edges import Border, Edges
from ..tiles.slabs import Slabs, SweepResult
from ..tiles.sweep import sweep
from ..tiles.sweep_state import Progress
from ..tiles.tile import Area, Bound, Hit, Limits, TileJob, Want

Mode = Literal["local", "global"]
MODES: tuple[Mode, ...] = get_args(Mode)
#: What other tools call global comparisons with free ends: the ``free_ends`` of each, as they are
#: given in Python and in the shell, and what more there is to say.
_FREE_MODES = {
    "semiglobal": ("True", "1", ", or with the ends that are free"),
    "overlap": ("True", "1", ""),
    "glocal": ("(True, False)", "1,0", ", which fits the query into the target"),
}


def check_mode(mode: object) -> None:
    """Raise InputError unless this is a mode; the message for a semi-global one names its
    ``free_ends``."""
    if isinstance(mode, str) and mode in MODES:
        return
    ends = free_ends_of(mode)
    hint = f"; use mode='global' with free_ends={ends[0]}{ends[2]}" if ends else ""
    raise InputError(f"mode must be 'local' or 'global', not {shown(mode)}{hint}")


def free_ends_of(mode: object) -> tuple[str, str, str] | None:
    """The free ends that other tools mean by a mode, in Python and in the shell, and what more
    there is to say; None for what is no such mode."""
    key = mode.lower().replace("-", "").replace("_", "") if isinstance(mode, str) else ""
    return _FREE_MODES.get(key)


@dataclass(frozen=True)
class FreeEnds:
    """Which terminal gaps cost nothing, in scikit-bio's order: leading and trailing gaps of the
    query, which consume target; leading and trailing gaps of the target, which consume query."""

    lead_query: bool = False
    trail_query: bool = False
    lead_target: bool = False
    trail_target: bool = False

    @classmethod
    def of(cls, value: object) -> FreeEnds:
        """From one boolean (all four ends), two (query, target) or four.  Raises InputError."""
        listed = value.tolist() if isinstance(value, np.ndarray) else value
        flags = tuple(listed) if isinstance(listed, (tuple, list)) else (listed,)
        if len(flags) not in (1, 2, 4) or not all(map(is_flag, flags)):
            raise InputError(f"free_ends takes one, two or four booleans, not {shown(value)}")
        if len(flags) == 1:
            flags *= 4
        elif len(flags) == 2:
            flags = (flags[0], flags[0], flags[1], flags[1])
        return cls(*map(bool, flags))

    @property
    def flags(self) -> tuple[bool, bool, bool, bool]:
        """The four ends in order."""
        return self.lead_query, self.trail_query, self.lead_target, self.trail_target


@dataclass(frozen=True)
class Problem:
    """The rows of the query against the columns of the target, in codes.  ``free`` says how a path
    may begin and end; no path may align the ``forbidden`` pairs."""

    query: View
    target: View
    scoring: Scoring
    mode: str
    free: FreeEnds
    forbidden: Pairs | None = None

    @property
    def floor(self) -> int | None:
        """The least H: 0 for local comparisons, None for global ones."""
        return 0 if self.mode == "local" else None

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.query), len(self.target)

    def _border(self, free: bool) -> Border:
        scoring = self.scoring
        return Border(free or self.mode == "local", scoring.gap_open, scoring.gap_extend)

    @cached_property
    def edges(self) -> Edges:
        """The borders of the matrix."""
        return Edges(0, self._border(self.free.lead_query), self._border(self.free.lead_target))

    @cached_property
    def want(self) -> Want:
        """Where the best end may be."""
        if self.mode == "local":
            return Want("all")
        rows, columns = self.free.trail_query, self.free.trail_target
        if rows and columns:
            return Want("border")
        return Want("last_row" if rows else "last_column" if columns else "corner")

    def inside(self, area: Area) -> Problem:
        """The comparison of a part of the matrix."""
        return replace(
            self,
            query=self.query.slice(area.row, area.row_end),
            target=self.target.slice(area.column, area.column_end),
            forbidden=area.pairs(self.forbidden),
        )

    def sweep(
        self,
        engine: Engine,
        edges: Edges,
        want: Want | None = None,
        limits: Limits | None = None,
        *,
        shape: tuple[int, int] | None = None,
        slabs: Slabs | None = None,
        progress: Progress | None = None,
    ) -> SweepResult:
        """Sweep the matrix in tiles of a ``shape``, or in ``slabs``
        (:func:`pysw_cl.tiles.sweep.sweep`)."""
        return sweep(
            engine,
            self.query,
            self.target,
            self.scoring,
            self.floor,
            edges,
            want,
            limits,
            shape=shape,
            slabs=slabs,
            progress=progress,
            forbidden=self.forbidden,
        )

    def tile(self, area: Area, edges: Edges, **more: Any) -> TileJob:
        """A part of the matrix as one tile, whose ``edges`` are counted from its corner and whose
        bottom and right ones are not needed.  ``more``: other fields of the tile."""
        m, n = area.shape
        return TileJob(
            self.query.read(area.row, area.row_end),
            self.target.read(area.column, area.column_end),
            self.scoring,
            self.floor,
            edges.corner,
            edges.top.read(0, n),
            edges.left.read(0, m),
            bottom=False,
            right=False,
            forbidden=area.pairs(self.forbidden),
            **more,
        )

    def aim(
        self, prune: bool, beat: int | None = None, least: int | None = None
    ) -> tuple[Want, Limits]:
        """Where a sweep looks for the best end, and what it may skip.

        ``beat``: only an end above this score matters.  A local comparison without such an end may
        give any end.  ``least``: a score that some path of a global comparison has.  With
        ``prune``, cells that cannot reach either are skipped.
        """
        (m, n), local, want = self.shape, self.mode == "local", self.want
        # the empty local alignment is known; it sorts behind every positive score
        bound = Bound(0, m, n, self.scoring.highest)
        if local and beat is not None and beat > 0:  # as if found before this matrix's first cell
            bound = replace(bound, score=beat, row=0, column=0)
            want = replace(want, threshold=beat + 1)
        if prune and not local and least is not None:
            bound = replace(bound, score=least, row=m + 1, column=n + 1)
            return replace(want, threshold=least), Limits(bound=bound)
        return want, Limits(bound=bound if prune and local else None)

    def best_end(self, hits: Iterable[Hit]) -> Hit:
        """The best of ``hits`` and of the ends that are known without a sweep: the empty local
        alignment, and the border cells if the best end may be there.  Of equal ends it is the first
        in row-major order."""
        (m, n), where, candidates = self.shape, self.want.where, list(hits)
        if self.mode == "local":
            candidates.append(Hit(0, 0, 0))
        if where in ("last_row", "border"):
            candidates.append(Hit(self.edges.left.h_at(m - 1), m, 0))
        if where in ("last_column", "border"):
            candidates.append(Hit(self.edges.top.h_at(n - 1), 0, n))
        return min(candidates)
