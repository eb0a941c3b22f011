"""The parameter space: every number that may be chosen without changing a result, declared once.

A parameter has a name, a range, a default and the reason for it.  Drivers and engines read values
from their plan (``plan.tuning``), and a tuner reads the declarations.  Parameters of one subject
are fields of one class, with dotted names like "traceback.pieces".  Names without a dot are fields
of the plan, declared there in the same way.  :func:`pysw_cl.planning.plan.space` lists all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import inf
from typing import Any

from ..errors import PlanError

Number = int | float


@dataclass(frozen=True)
class Parameter:
    """One tunable.  If its default is a whole number, it takes whole numbers only."""

    #: Dotted.
    name: str
    default: Number
    #: The least and the highest value, both allowed.
    low: Number
    high: Number
    #: Why the default is what it is.
    reason: str
    #: What else has to hold, in words.
    constraint: str = ""

    def __str__(self) -> str:
        most = "on" if self.high == inf else f"to {self.high}"
        more = f" ({self.constraint})" if self.constraint else ""
        return f"{self.name}: from {self.low} {most}{more}; {self.default}, because {self.reason}"

    def checked(self, value: Any) -> Number:
        """``value``, if this parameter allows it; else raises PlanError."""
        whole = isinstance(self.default, int)
        kinds = (int,) if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            kind = "a whole number" if whole else "a number"
            raise PlanError(f"plan: {self.name} must be {kind}, not {value!r}")
        if not self.low <= value <= self.high:
            most = "" if self.high == inf else f" to {self.high}"
            raise PlanError(f"plan: {self.name} must be from {self.low}{most}, not {value!r}")
        number: Number = value
        return number


def tunable(default: Number, low: Number, high: Number, reason: str, constraint: str = "") -> Any:
    """A field of a dataclass that is a parameter."""
    declared = Parameter("", default, low, high, reason, constraint)
    return field(default=default, metadata={"parameter": declared})


@dataclass(frozen=True)
class SweepTuning:
    """How a matrix is swept."""

    longest_side: int = tunable(
        1 << 23, 1, 1 << 30, "the edges of a tile are held on the device, 16 bytes a cell"
    )
    look_seconds: float = tunable(
        0.0003, 0, 1, "between two checks of a pipeline: short beside a tile, long beside a check"
    )
    tell_seconds: float = tunable(
        0.5, 0, 3600, "between two reports of how far the tiles of a pipeline are"
    )
    guessed_cells: int = tunable(
        10**10, 0, 1 << 62, "from so many on guessing the better strand costs little beside them"
    )


@dataclass(frozen=True)
class PipelineTuning:
    """Pipelines: tiles below each other, each begun while those above it are computed."""

    least_cells: int = tunable(
        1 << 43, 0, 1 << 62, "seconds of work on a fast GPU; below it one tile is as fast"
    )
    most_columns: int = tunable(
        1 << 26, 1, 1 << 31, "a launch takes as long as a strip of so many columns: half a minute"
    )
    depth: int = tunable(7, 1, 64, "tiles computed at once: they share the rows of a busy device")
    more: int = tunable(
        2, 1, 64, "tiles begun or kept beside those, because the host is late now and then"
    )
    most_tiles: int = tunable(
        512, 1, 1 << 16, "each has a ticket of its own, which is 0 before anything runs"
    )


@dataclass(frozen=True)
class EngineTuning:
    """What an engine does for one tile."""

    small_cells: int = tunable(
        1 << 18, 0, 1 << 62, "microseconds on a CPU: a tile of fewer is not worth another build"
    )
    mixed_cells: int = tunable(
        1 << 44, 0, 1 << 62, "cells of a tile of lanes of 11 bits: seconds on a fast GPU"
    )
    mixed_build: float = tunable(
        7.0, 0, 1e6, "seconds: work that takes as long waits for the build of these lanes"
    )
    mixed_meanwhile: float = tunable(
        3.0, 0, 1e6, "seconds: behind a launch that takes as long they are built for later calls"
    )
    least_hits: int = tunable(
        1 << 14, 1, 1 << 26, "cells collected at least if several best ones are wanted"
    )
    recomputed_cells: int = tunable(
        1 << 22, 0, 1 << 26, "larger ones take the reference engine too long: seconds, 128 MB"
    )
    recomputed_moves: int = tunable(
        1 << 24,
        1,
        1 << 40,
        "cells of a tile with moves in two phases, in which one group sweeps it",
    )


@dataclass(frozen=True)
class SectionTuning:
    """Sections of a tile of few strips."""

    least_cells: int = tunable(
        1 << 28, 1, 1 << 62, "cells of whole strips: with fewer they take less time than builds"
    )
    most_rows: int = tunable(
        1 << 15, 0, 1 << 30, "of a tile that may be as wide as the next parameter says"
    )
    longest_row: int = tunable(
        1 << 25, 1, 1 << 30, "columns of such a tile: a launch costs little, the bus 800 MB"
    )
    least_columns: int = tunable(1024, 1, 1 << 30, "of a section: it begins with a wait for lanes")
    least_aspect: float = tunable(
        2, 0, 1 << 30, "x the rows, of related letters: an alignment of all rows meets few ends"
    )
    rounds: int = tunable(
        0, 0, 1024, "strips of sections for each work-group; 0: as the lane set says"
    )
    first_overlap: int = tunable(
        256, 1, 1 << 30, "columns: longer than almost every alignment of unrelated letters"
    )
    matrix_overlap: int = tunable(
        4, 1, 1024, "x the overlap, for a matrix of many letters, with which alignments are longer"
    )
    growth: int = tunable(8, 2, 1024, "x the overlap, for scores that refused too many sections")
    most_share: float = tunable(
        1 / 32, 0, 1000, "of a section's columns, for an overlap that needs no check"
    )
    most_overlap: float = tunable(0.75, 0, 1000, "of a section's columns")
    most_refused: float = tunable(
        0.25, 0, 1, "of the sections: with more the tile is computed in another way"
    )
    most_cost: float = tunable(0.95, 0, 1000, "of the cost without sections")
    most_cost_beside_pruning: float = tunable(
        0.92, 0, 1000, "of that cost, if blocks could be pruned: sections are not"
    )


@dataclass(frozen=True)
class TracebackTuning:
    """The traceback, and the grid of special rows and columns that it restarts from."""

    pieces: int = tunable(
        16, 2, 1024, "a level of the grid cuts a side: it computes 1/16 of the level above again"
    )
    least_side: int = tunable(2048, 1, 1 << 30, "smaller cells of the grid only add launches")
    least_columns: int = tunable(16, 1, 1 << 20, "columns of a tile with moves at least")
    read_moves: int = tunable(
        1 << 15, 1, 1 << 30, "read at once: the device, once it is ready, waits for no more"
    )
    path_bytes: int = tunable(500_000_000, 0, 1 << 50, "memory that any path may take")
    side_bytes: int = tunable(
        100, 0, 1 << 20, "on top of that, for each row and column of the matrix"
    )
    grid_share: float = tunable(0.33, 0.01, 1, "of that memory, for the first grid")
    compressing_share: float = tunable(
        0.96, 0.01, 1, "of that memory, while the first grid is compressed: both copies exist then"
    )


@dataclass(frozen=True)
class BoxTuning:
    """Boxes, in which the paths of given ends are found."""

    sides: int = tunable(
        2, 1, 1 << 10, "rows and columns of the first one for each match that its score needs"
    )
    more: int = tunable(
        64, 0, 1 << 20, "on top of that: where scores of chance alignments have fallen off"
    )


@dataclass(frozen=True)
class SpeculationTuning:
    """Tiles of the path that are computed before it is known to need them."""

    side: int = tunable(2048, 1, 1 << 20, "rows and columns of a tile with moves")
    least_sides: int = tunable(4, 1, 1 << 20, "a shorter path is as fast tile by tile")
    first_cells: int = tunable(4, 2, 1024, "pieces of a side of the first level's tiles")
    cells: int = tunable(7, 2, 1024, "pieces of a side of the other levels' tiles")
    pruned_side: int = tunable(
        1 << 13, 0, 1 << 30, "larger tiles are pruned, with a bound from the prediction"
    )
    margin: float = tunable(1 / 256, 0, 1, "of a side, that a tile exceeds the predicted crossing")
    least_margin: int = tunable(256, 0, 1 << 20, "cells of that margin at least")
    slack: int = tunable(1024, 0, 1 << 30, "matches that an H may fall short of the prediction")
    begun: int = tunable(64, 0, 1 << 30, "matches: below this H a local path has probably begun")
    most_tiles: int = tunable(1024, 1, 1 << 16, "tiles of a launch")
    few_tiles: int = tunable(
        4, 1, 1 << 16, "tiles of a launch after a prediction that failed early"
    )
    spacing: int = tunable(
        8, 1, 1 << 16, "cells from one that is read to the next along a special row or column"
    )


@dataclass(frozen=True)
class SpeculationMemory:
    """Shares of a path's memory that speculative tiles take."""

    first: float = tunable(0.4, 0, 1, "of all: the first level at most")
    inner: float = tunable(0.13, 0, 1, "of all: the second level")
    next: float = tunable(0.5, 0, 1, "each level after that, of the one before")
    moves: float = tunable(0.15, 0, 1, "of all: tiles with moves")
    left: float = tunable(0.97, 0, 1, "of the free memory that no other level has: the first level")


@dataclass(frozen=True)
class BandTuning:
    """Diagonal bands of a global comparison."""

    least_rows: int = tunable(
        4096, 1, 1 << 30, "rows of a tile at least: each also takes time of the host"
    )
    most_slower: float = tunable(
        1.05, 1, 10, "tiles are the highest whose band takes at most this x the least work"
    )
    most_waste: float = tunable(
        1 / 8, 0, 10, "of the matrix's work, for sweeps that may prove nothing"
    )
    most_tried: float = tunable(
        1 / 3, 0, 10, "of the matrix's work, if those sweeps stop where they will prove nothing"
    )
    least_stops: int = tunable(8, 1, 1 << 20, "tile rows at least of a sweep that may stop early")
    most_covered: float = tunable(
        0.9, 0, 10, "of the matrix's work: a band that takes more is not worth its own sweep"
    )
    most_beside_pruning: float = tunable(
        0.5, 0, 10, "the same, if the whole matrix can be pruned by a score found in a band"
    )
    slack: float = tunable(
        1.25,
        1,
        10,
        "a sweep stops when the score lost exceeds this x its share of the allowed loss",
    )
    early: float = tunable(
        0.1, 0, 1, "of the allowed loss, on top of that: similarity varies along a sequence"
    )
    least_slack: float = tunable(
        1.05, 1, 10, "what slack falls to, evenly, by the last row of the sweep"
    )


@dataclass(frozen=True)
class SavingTuning:
    """How often rows are saved to a checkpoint."""

    least_seconds: float = tunable(
        2.0, 0, 86400, "of a slab: launches cost little beside it, a crash loses little"
    )
    least_times: int = tunable(50, 0, 1 << 20, "a slab takes this x its saving at least")
    least_times_beside: int = tunable(
        2,
        0,
        1 << 20,
        "the same if the device goes on meanwhile: the writer has a core of its own",
    )
    most_growth: int = tunable(
        4,
        1,
        1 << 20,
        "a slab is at most this x the last one: that may have been fast by pruning, which can end",
    )
    fill_times: int = tunable(
        100, 0, 1 << 30, "a slab's work is this x the pipeline's fill, so that filling costs 1%"
    )
    most_rows: int = tunable(128, 1, 1 << 30, "special rows where no disk size is given")
    most_bytes: int = tunable(10 << 30, 1, 1 << 60, "bytes where no disk size is given")
    cell_bytes: float = tunable(1.0, 0, 64, "of a saved cell, before one was written")
    file_bytes: int = tunable(2000, 0, 1 << 30, "of a file's index, before one was written")


@dataclass(frozen=True)
class HeldTuning:
    """Matrices that are held whole."""

    score_cells: int = tunable(
        1 << 18, 0, 1 << 26, "for a score: a larger one is swept faster in narrow lanes"
    )
    path_cells: int = tunable(
        1 << 20,
        0,
        1 << 26,
        "for each path found so far: a larger one is swept faster by all compute units, and its "
        "memory takes long to get",
    )
    top_cells: int = tunable(
        1 << 24, 0, 1 << 26, "for many paths: a cell takes 13 bytes, so that is 208 MiB"
    )
    kept_bytes: int = tunable(
        1 << 24, 0, 1 << 30, "the largest buffer that a thread keeps, to save its page faults"
    )


@dataclass(frozen=True)
class PairTuning:
    """Pair batches."""

    most_letters: int = tunable(1 << 26, 1, 1 << 30, "letters that go to the device at once")
    cpu_pairs: int = tunable(1 << 13, 1, 1 << 24, "of a part: their letters stay in a CPU's caches")
    gpu_pairs: int = tunable(1 << 18, 1, 1 << 24, "of a part: the host works while the device does")
    gpu_listed_pairs: int = tunable(
        1 << 16, 1, 1 << 24, "of a part that the host joins first, in memory that it used before"
    )
    cpu_moves: int = tunable(
        32 << 20, 1, 1 << 40, "bytes of a batch's moves on a CPU, or a group for each compute unit"
    )
    gpu_moves: int = tunable(
        1 << 30, 1, 1 << 40, "bytes of a batch's moves on a GPU at least: few pairs leave it idle"
    )
    moves_share: float = tunable(
        1 / 8, 0, 1, "of the device's memory, for moves above those numbers"
    )
    group_moves: int = tunable(1 << 28, 1, 1 << 40, "bytes of the moves of one group of lanes")
    counted_cells: int = tunable(
        1 << 21, 0, 1 << 40, "a larger pair has its matches counted forward, which needs no moves"
    )
    alone_cells: int = tunable(
        1 << 20, 0, 1 << 40, "a larger pair is aligned alone, on all of a device"
    )
    cpu_mates: int = tunable(8, 0, 1 << 24, "unless so many others are half as large, on a CPU")
    gpu_mates: int = tunable(1024, 0, 1 << 24, "unless so many others are half as large, on a GPU")
    gpu_lane_cells: int = tunable(
        1 << 17, 1, 1 << 40, "cells that a lane of a GPU sweeps while it aligns a pair alone"
    )
    piece_rows: int = tunable(
        600, 0, 1 << 20, "query letters at most of large pairs whose targets a CPU cuts into pieces"
    )
    piece_letters: int = tunable(1 << 16, 1, 1 << 24, "target letters of such a piece at most")
    unchosen_cells: int = tunable(
        1 << 26,
        0,
        1 << 50,
        "of a part; paths of fewer cells are found at once, whatever their scores",
    )
    wasted_cells: int = tunable(
        1 << 27, 0, 1 << 50, "a group that computes more may be taken apart"
    )
    most_waste: int = tunable(32, 1, 1 << 20, "if it computes this x the cells of its pairs")
    kept_share: float = tunable(
        1 / 4, 0, 1, "of the device's memory, for the codes of a prepared batch"
    )
    memory_share: float = tunable(
        1 / 16,
        0,
        1,
        "of that memory, which a prepared batch keeps to work in: it takes long to get",
    )
    most_outgrown: float = tunable(
        0.4, 0, 1, "of a batch's pairs: a width that more of them outgrow is not tried again"
    )
    far: int = tunable(
        2, 1, 1 << 20, "x the columns of a path at most: in longer targets its end is found first"
    )
    first_paths: int = tunable(
        512, 1, 1 << 24, "pairs at most, whose paths tell how much of the pairs is near their ends"
    )
    near_share: float = tunable(
        0.55, 0, 1, "of the cells, near ends: with less the ends are found first"
    )
    gpu_near_cells: int = tunable(
        1 << 20,
        0,
        1 << 40,
        "cells of a pair on a GPU: moves of a smaller one cost less than the host finding its end",
    )
    between_share: float = tunable(
        0.4, 0, 1000, "of those cells, between starts and ends: with less the starts are found, too"
    )
    longest: int = tunable(
        1 << 20, 1, 1 << 24, "letters of a sequence: lanes of a thread have 64 bytes for each"
    )
    gpu_longest: int = tunable(
        1 << 17, 1, 1 << 24, "the same on a GPU, all of which computes a longer one soon"
    )
    cpu_in_flight: int = tunable(
        4, 0, 64, "batches that a CPU has not finished while the next part is laid out"
    )
    gpu_in_flight: int = tunable(2, 0, 64, "the same on a GPU, where parts are larger")


@dataclass(frozen=True)
class Tuning:
    """The values of all parameters that are not fields of a plan."""

    sweep: SweepTuning = SweepTuning()
    pipeline: PipelineTuning = PipelineTuning()
    engine: EngineTuning = EngineTuning()
    sections: SectionTuning = SectionTuning()
    traceback: TracebackTuning = TracebackTuning()
    boxes: BoxTuning = BoxTuning()
    speculation: SpeculationTuning = SpeculationTuning()
    speculation_memory: SpeculationMemory = SpeculationMemory()
    band: BandTuning = BandTuning()
    saving: SavingTuning = SavingTuning()
    held: HeldTuning = HeldTuning()
    pairs: PairTuning = PairTuning()

    def with_values(self, values: Mapping[str, Any]) -> Tuning:
        """A copy with these values, by dotted name.  Raises PlanError for an unknown name or a
        value out of range."""
        groups: dict[str, dict[str, Number]] = {}
        for name, value in values.items():
            if name not in SPACE:
                raise PlanError(f"plan: {name!r} is not one of {', '.join(SPACE)}")
            group, _, one = name.partition(".")
            groups.setdefault(group, {})[one] = SPACE[name].checked(value)
        changed = {group: replace(getattr(self, group), **new) for group, new in groups.items()}
        return replace(self, **changed)

    @property
    def changed(self) -> dict[str, Number]:
        """The values that differ from the declared defaults, by dotted name."""
        values = {name: getattr(getattr(self, group), one) for name, group, one in _names()}
        return {name: value for name, value in values.items() if value != SPACE[name].default}


def parameters_of(kind: type, prefix: str = "") -> dict[str, Parameter]:
    """The parameters among the fields of a dataclass, and of the dataclasses among them."""
    found: dict[str, Parameter] = {}
    for one in fields(kind):
        if "parameter" in one.metadata:
            declared: Parameter = one.metadata["parameter"]
            found[prefix + one.name] = replace(declared, name=prefix + one.name)
        elif is_dataclass(one.default):
            found |= parameters_of(type(one.default), f"{prefix}{one.name}.")
    return found


def _names() -> Iterator[tuple[str, str, str]]:
    for name in SPACE:
        group, _, one = name.partition(".")
        yield name, group, one


#: Every parameter of `Tuning`, by its dotted name.
SPACE = parameters_of(Tuning)

#: The default values of new plans; the last entry counts.
_defaults = [Tuning()]


def default_tuning() -> Tuning:
    """The default values of new plans."""
    return _defaults[-1]


@contextmanager
def tuned(values: Mapping[str, Any]) -> Iterator[Tuning]:
    """A context in which new plans have these values by default, by dotted name, in every thread of
    the process.  They may come from a profile."""
    _defaults.append(default_tuning().with_values(values))
    try:
        yield default_tuning()
    finally:
        _defaults.pop()
