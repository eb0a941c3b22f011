"""The arguments of the wavefront kernel, for one tile and for many.

The fields of these classes, in this order, are the arguments (cl/wavefront/wavefront.cl).
:func:`names` makes the kernel's list of arguments of them, and :func:`bind` takes their values by
name.  A field is a buffer, or an ``int`` of 32 bits.
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
from ...scoring.precision import UNREACHABLE, Bounds
from ...scoring.scoring import Scoring
from .descriptors import RECORD_WORDS, RecordWord

Buffer = Any  #: a buffer on the device, or None: the kernel does not use it here
MOST = 2**31 - 1


@dataclass(frozen=True)
class Letters:
    """Buffers of a tile's codes: the query with its padding, the target, and the target as narrow
    lanes read it."""

    query: Buffer
    target: Buffer
    narrow: Buffer


@dataclass(frozen=True)
class MatchArguments:
    """Arguments of cl/score/match.clh."""

    #: Scores of equal and of other letters.
    match: int
    mismatch: int
    #: How much skewed numbers rise with a diagonal step.
    lift: int


@dataclass(frozen=True)
class MatrixArguments:
    """Arguments of cl/score/matrix.clh."""

    #: 32-bit scores, a row for each query code; numbers of a row.
    matrix: Buffer
    wide: int


@dataclass(frozen=True)
class FourArguments:
    """Arguments of cl/score/permute4.clh."""

    #: A word for each query code: the scores of four target letters, a byte each.
    words: Buffer
    #: How much skewed numbers rise with a diagonal step.
    lift: int


@dataclass(frozen=True)
class Scores:
    """A scoring as a launch takes it: with the codes that only padding has, and what its score file
    needs."""

    scoring: Scoring
    query_pad: int
    target_pad: int
    arguments: MatchArguments | MatrixArguments | FourArguments

    def profile_bytes(self, T: int) -> int:
        """Memory of one group's profile of bytes, which only a matrix has."""
        return 16 * T * getattr(self.arguments, "wide", 0)


@dataclass(frozen=True)
class Scratch:
    """Memory that only the groups themselves use."""

    #: Lanes of strips between two blocks.
    state: Buffer
    #: A block's part of the bus, in the numbers of narrow lanes.
    stages: Buffer
    #: Profiles of a matrix.
    profiles: Buffer = None
    #: Of blocks whose best cell is looked for when all is done.
    argmax: Buffer = None


@dataclass(kw_only=True)  # (frozen, it would take four times as long to make)
class TileArguments:
    """What every launch is told.  Defaults are what a launch of many tiles does not have, because
    each tile's descriptor says it (cl/wavefront/wavefront.cl, tile_at)."""

    #: Codes: see `Letters`.
    query: Buffer
    target: Buffer
    letters: Buffer
    #: The left edge: H of the corner and of the rows; E^ of the rows.
    left_h: Buffer = None
    left_x: Buffer = None
    #: Where the right edge goes.
    right_h: Buffer = None
    right_x: Buffer = None
    #: Lines of H and F^; many tiles: the edges of all of them.
    bus: Buffer
    #: Rows and columns.
    m: int = 0
    n: int = 0
    #: Numbers of a half of a line of the bus.
    stride: int = 0
    #: Strips; many tiles: of the highest one.
    strips: int
    #: The lane, and its row, that has the tile's last row in the last strip.
    outlet_lane: int
    outlet_row: int
    #: Is the right edge wanted?
    right: int = 0
    #: Codes that only padding has.
    query_pad: int
    target_pad: int
    gap_open: int
    gap_extend: int
    #: Columns of a block at most.
    chunk: int
    #: Bounds of a block's numbers: see :class:`pysw_cl.scoring.precision.Bounds`.
    highest: int
    depth: int
    limit8: int
    #: Rows and columns of the whole matrix after the tile, for pruning.
    rows_after: int = 0
    columns_after: int = 0
    #: Memory of the groups: see `Scratch`.
    state: Buffer
    stages: Buffer
    argmax_scratch: Buffer = None
    profiles: Buffer
    #: What groups say of their work: see `RecordWord`.
    record: Buffer
    #: The best score of all groups; where cells are collected the least one that counts; many
    #: tiles: for each the least that matters at its last corner.
    shared_best: Buffer
    #: Cells that are collected, and how many there is room for.
    hits: Buffer = None
    capacity: int = 0
    #: The line of the bus that each strip reads; it writes its follower's.
    lines: Buffer
    #: Special columns, how many, and where their cells go.
    columns: Buffer
    column_count: int = 0
    crossed: Buffer = None

    @classmethod
    def of(cls, letters: Letters, scores: Scores, scratch: Scratch, **rest: Any) -> TileArguments:
        """From what every launch has; ``rest``: arguments by name, which may say otherwise."""
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
    """What the ticketed form is told beside."""

    #: The next strip that nobody has, or group of them.
    ticket: Buffer
    #: How far each strip is.
    progress: Buffer
    #: How far the row above the tile is: a number of this buffer, which may be another launch's.
    progress_above: Buffer
    progress_above_at: int
    #: Where moves go.
    moves: Buffer = None


@dataclass(frozen=True)
class TwoPhaseArguments:
    """What each launch of the two-phase form is told beside."""

    #: The external diagonal, the first of its blocks in the launch, and blocks of a strip.
    diagonal: int
    first_block: int
    blocks: int
    #: 0: the short phase, 1: the long one.
    phase: int


@dataclass(frozen=True)
class ForbiddenArguments:
    """What a launch is told beside where pairs are blocked (-D FORBIDDEN_PAIRS=1)."""

    #: (step, row of the strip) of each pair; where those of each strip begin.
    forbidden: Buffer
    forbidden_places: Buffer
    #: What a blocked pair scores.
    forbidden_score: int


@dataclass(frozen=True)
class ManyArguments:
    """What a launch of many tiles is told beside (-D MULTI_TILE=1)."""

    #: Their descriptors (`TileWord`), and how many.
    tiles: Buffer
    tile_count: int


FORMS = {"ticketed": TicketedArguments, "two-phase": TwoPhaseArguments}
SCORES = {"match": MatchArguments, "matrix": MatrixArguments, "permute4": FourArguments}


def _names(part: type) -> list[str]:
    return [field.name for field in fields(part)]


def names(*parts: type) -> tuple[str, ...]:
    """The arguments that these classes are, as a kernel's descriptor has them."""
    every = (field for part in parts for field in fields(part))
    return tuple(f"{field.name}:int" if field.type == "int" else field.name for field in every)


def bind(kernel: BoundKernel, buffers: Buffers, *parts: Any, later: Sequence[type] = ()) -> None:
    """Set all arguments of a kernel.

    ``parts``: objects of the classes above.  A buffer that is None becomes one of four bytes.
    ``later``: classes whose arguments each launch sets.  Raises InternalError where an argument is
    missing or the kernel has none of that name.
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
    """The records of groups that have done nothing yet."""
    records = np.zeros((strip_groups, RECORD_WORDS), np.int32)
    records[:, : RecordWord.COLUMNS8] = UNREACHABLE
    return records


def counted(records: NDArray[np.int32]) -> list[int]:
    """Columns of strips that groups swept in 8, 16 and 32 bits, and that they pruned."""
    counts = np.ascontiguousarray(records[:, RecordWord.COLUMNS8 :]).view(np.int64)
    return [int(columns) for columns in counts.sum(axis=0)]


def new_progress(strips: int, T: int) -> NDArray[np.int32]:
    """How far strips are that have not begun; behind them, what is far enough for all."""
    progress = np.full(strips + 1, -T, np.int32)
    progress[-1] = MOST
    return progress
