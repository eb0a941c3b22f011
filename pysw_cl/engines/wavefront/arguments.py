"""The arguments of the wavefront kernel, for one tile and for many.

The fields of these classes are the kernel's arguments, in order (cl/wavefront/wavefront.cl).
:func:`names` makes the kernel's argument list from them, and :func:`bind` sets their values by
name.  A field is a buffer or a 32-bit ``int``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InternalError
from ...opencl.buffers import Buffers
from ...opencl.program import BoundKernel
from ...planning.plan import Plan
from ...planning.sizes import RECORD_WORDS, profile_bytes, progress_words
from ...scoring.precision import UNREACHABLE, Bounds
from ...scoring.scoring import Scoring
from .descriptors import ProgressWord, RecordWord

Buffer = Any  #: a buffer on the device; None: this launch does not use it
MOST = 2**31 - 1


@dataclass(frozen=True)
class Letters:
    """The buffers of a tile's codes."""

    #: The query with its padding.
    query: Buffer
    #: The target as 32-bit lanes read it.
    target: Buffer
    #: The target as narrow lanes read it.
    narrow: Buffer


@dataclass(frozen=True)
class MatchArguments:
    """Arguments of cl/score/match.clh."""

    #: The score of equal letters.
    match: int
    #: The score of different letters.
    mismatch: int
    #: What the skew adds to a diagonal step.
    lift: int


@dataclass(frozen=True)
class MatrixArguments:
    """Arguments of cl/score/matrix.clh."""

    #: 32-bit scores, a row for each query code.
    matrix: Buffer
    #: Scores in a row.
    wide: int
    #: What the skew adds to a diagonal step.
    lift: int


@dataclass(frozen=True)
class FourArguments:
    """Arguments of cl/score/permute4.clh."""

    #: A word for each query code: a byte for the score with each of four target letters.
    words: Buffer
    #: What the skew adds to a diagonal step.
    lift: int


@dataclass(frozen=True)
class Scores:
    """A scoring in the form that a launch takes."""

    scoring: Scoring
    #: The code of query padding.
    query_pad: int
    #: The code of target padding.
    target_pad: int
    #: The arguments of its score file.
    arguments: MatchArguments | MatrixArguments | FourArguments

    @property
    def letters(self) -> int:
        """Letters of the target, padding included, of a substitution matrix; 0 without one."""
        return int(getattr(self.arguments, "wide", 0))

    def profile_bytes(self, plan: Plan, T: int, striped: bool) -> int:
        """Bytes of one group's query profile in global memory; 0 without a matrix."""
        if plan.lane_set.local_profile:
            return 0
        return profile_bytes(T, self.letters, plan.alpha, striped)


@dataclass(frozen=True)
class Scratch:
    """Scratch memory of the groups."""

    #: The lanes of strips between two blocks.
    state: Buffer
    #: The portion of the bus of a block, in the representation of narrow lanes.
    stages: Buffer
    #: Query profiles.
    profiles: Buffer = None
    #: For the deferred argmax.
    argmax: Buffer = None


@dataclass(kw_only=True)  # (frozen, it would take four times as long to make)
class TileArguments:
    """The arguments of every launch.  There is one field for each argument of the kernel, so they
    are many.  Fields with defaults do not apply to a launch of many tiles, where each tile has a
    descriptor (cl/wavefront/wavefront.cl, tile_at)."""

    #: The codes: see `Letters`.
    query: Buffer
    target: Buffer
    letters: Buffer
    #: The left edge's H: of the corner, then of the rows.
    left_h: Buffer = None
    #: The left edge's E^: of the rows.
    left_x: Buffer = None
    #: The right edge's H and E^ are written here.
    right_h: Buffer = None
    right_x: Buffer = None
    #: Lines of the bus: H, then F^; many tiles: the edges of all of them.
    bus: Buffer
    #: Rows of the tile.
    m: int = 0
    #: Columns of the tile.
    n: int = 0
    #: Rows of a lane.
    alpha: int
    #: 32-bit numbers in half a line of the bus.
    stride: int = 0
    #: Strips; many tiles: strips of the highest one.
    strips: int
    #: The lane that has the tile's last row, in the last strip.
    outlet_lane: int
    #: The row of that lane which is the tile's last.
    outlet_row: int
    #: 1: store the right edge.
    right: int = 0
    #: The codes of padding: see `Scores`.
    query_pad: int
    target_pad: int
    gap_open: int
    gap_extend: int
    #: The most columns of a block.
    chunk: int
    #: Bounds of a block's scores: see :class:`pysw_cl.scoring.precision.Bounds`.
    highest: int
    depth: int
    limit8: int
    #: Rows of the whole matrix below the tile, for pruning.
    rows_after: int = 0
    #: Columns of the whole matrix to the right of the tile, for pruning.
    columns_after: int = 0
    #: Scratch memory: see `Scratch`.
    state: Buffer
    stages: Buffer
    argmax_scratch: Buffer = None
    profiles: Buffer
    #: What each group did: see `RecordWord`.
    record: Buffer
    #: The best score of all groups.  Where cells are collected: the threshold.  Many tiles: for
    #: each, the least score at its last corner that matters.
    shared_best: Buffer
    #: The collected cells.
    hits: Buffer = None
    #: The most cells that `hits` can hold.
    capacity: int = 0
    #: The line of the bus that each strip reads.  It writes the next strip's line.
    lines: Buffer
    #: Special columns.
    columns: Buffer
    #: The number of special columns.
    column_count: int = 0
    #: The cells of special columns are written here.
    crossed: Buffer = None

    @classmethod
    def of(cls, letters: Letters, scores: Scores, scratch: Scratch, **rest: Any) -> TileArguments:
        """From what every launch has.  ``rest``: other arguments by name, which override these."""
        scoring, bounds = scores.scoring, Bounds.of(scores.scoring)
        shared = {
            "query": letters.query,
            "target": letters.target,
            "letters": letters.narrow,
            "query_pad": scores.query_pad,
            "target_pad": scores.target_pad,
            "gap_open": scoring.gap_open,
            "gap_extend": scoring.gap_extend,
            "highest": bounds.highest,
            "depth": bounds.depth,
            "limit8": bounds.limit8,
            "state": scratch.state,
            "stages": scratch.stages,
            "argmax_scratch": scratch.argmax,
            "profiles": scratch.profiles,
        }
        return cls(**{**shared, **rest})


@dataclass(frozen=True)
class TicketedArguments:
    """More arguments of the ticketed form."""

    #: The next free ticket.
    ticket: Buffer
    #: Columns that each strip has published.
    progress: Buffer
    #: A buffer with the columns that the row above the tile has; it may be another launch's.
    progress_above: Buffer
    #: The place of that number in `progress_above`.
    progress_above_at: int
    #: Moves are written here.
    moves: Buffer = None


@dataclass(frozen=True)
class TwoPhaseArguments:
    """More arguments of the two-phase form; each launch sets them."""

    #: The external diagonal.
    diagonal: int
    #: The first of its blocks in the launch.
    first_block: int
    #: Blocks of a strip.
    blocks: int
    #: 0: the short phase; 1: the long phase.
    phase: int


@dataclass(frozen=True)
class ForbiddenArguments:
    """More arguments with forbidden pairs (-D FORBIDDEN_PAIRS=1)."""

    #: The (step, row of the strip) of each pair, sorted by strip.
    forbidden: Buffer
    #: Where the pairs of each strip begin.
    forbidden_places: Buffer
    #: The score of a forbidden pair.
    forbidden_score: int


@dataclass(frozen=True)
class ManyArguments:
    """More arguments of a launch of many tiles (-D MULTI_TILE=1)."""

    #: The descriptors of the tiles: see `TileWord`.
    tiles: Buffer
    #: The number of tiles.
    tile_count: int


FORMS = {"ticketed": TicketedArguments, "two-phase": TwoPhaseArguments}
SCORES = {"match": MatchArguments, "matrix": MatrixArguments, "permute4": FourArguments}


def _names(part: type) -> list[str]:
    return [field.name for field in fields(part)]


def names(*parts: type) -> tuple[str, ...]:
    """The kernel's argument list (`KernelSpec.arguments`) for these classes."""
    every = (field for part in parts for field in fields(part))
    return tuple(f"{field.name}:int" if field.type == "int" else field.name for field in every)


def bind(kernel: BoundKernel, buffers: Buffers, *parts: Any, later: Sequence[type] = ()) -> None:
    """Set all arguments of a kernel.

    ``parts``: objects of the classes above.  A buffer that is None becomes one of four bytes.
    ``later``: classes whose arguments each launch sets.  Raises InternalError if an argument is
    missing or the kernel has no argument of that name.
    """
    values: dict[str, Any] = {}
    for part in parts:
        values.update(vars(part))
    missing = set(kernel.names).difference(values, *map(_names, later))
    if missing:
        raise InternalError(f"kernel arguments without a value: {', '.join(sorted(missing))}")
    unused = [name for name, value in values.items() if value is None]
    if unused:
        values |= dict.fromkeys(unused, buffers.empty(4))
    kernel.bind(**values)


def new_records(strip_groups: int) -> NDArray[np.int32]:
    """The records of groups before a launch."""
    records = np.zeros((strip_groups, RECORD_WORDS), np.int32)
    records[:, : RecordWord.COLUMNS8] = UNREACHABLE
    return records


def counted(records: NDArray[np.int32]) -> list[int]:
    """Columns of strips that all groups swept in 8, 16 and 32 bits, and those that were pruned."""
    counts = np.ascontiguousarray(records[:, RecordWord.COLUMNS8 :]).view(np.int64)
    columns: list[int] = counts.sum(axis=0).tolist()
    return columns


def new_progress(strips: int, T: int, shared: bool = False) -> NDArray[np.int32]:
    """The published columns of strips before a launch; then a number that lets any strip begin.
    ``shared``: lines of `ProgressWord`."""
    progress = np.zeros((strips + 1, progress_words(shared)), np.int32)
    progress[:, ProgressWord.COLUMNS] = -T
    progress[-1, ProgressWord.COLUMNS] = MOST
    return progress.ravel()
