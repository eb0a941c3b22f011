"""The parameter space: every number that may be chosen without changing a result, declared once.

A parameter has a name, a range, a default and the reason for it.  Drivers and engines read values
from their plan (``plan.tuning``), and a tuner reads the declarations.  Parameters of one subject
are fields of one class, with dotted names like "traceback.pieces".  Names without a dot are fields
of the plan, declared there in the same way.  :func:`pysw_cl.planning.plan.space` lists all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from math import ceil, inf
from operator import attrgetter
from typing import Any

from ..errors import PlanError

Number = int | float


@dataclass(frozen=True)
class Parameter:
    """One tunable.  If its default is a whole number, it takes whole numbers only."""

    name: str
    default: Number
    #: The least and the highest value, both allowed.
    low: Number
    high: Number
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
        is_one = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not (is_one and value >= self.low):  # a NaN is neither below nor above
            kind = f"a {'whole ' * whole}number of at least {self.low}"
            raise PlanError(f"plan: {self.name} must be {kind}, not {value!r}")
        if value > self.high:
            why = f" ({self.constraint})" if self.constraint else ""
            raise PlanError(f"plan: {self.name} is at most {self.high}{why}, not {value}")
        number: Number = value
        return number


def tunable(default: Number, low: Number, high: Number, reason: str, constraint: str = "") -> Any:
    """A field of a dataclass that is a parameter."""
    declared = Parameter("", default, low, high, reason, constraint)
    return field(default=default, metadata={"parameter": declared})


@dataclass(frozen=True)
class SweepTuning:
    """How a matrix is swept."""

    longest_side: int = tunable(1 << 23, 1, 1 << 30, "of a tile: edges take 16 bytes a cell")
    look_seconds: float = tunable(0.0003, 0, 1, "between two looks at a pipeline: under a tile's")
    tell_seconds: float = tunable(0.5, 0, 3600, "between two reports of a pipeline's tiles")
    hang_seconds: float = tunable(60.0, 0, 1e9, "without a cell computed: the device has failed")
    beside_seconds: float = tunable(0.1, 0, 3600, "of a strip of a slower device beside a GPU")
    beside_share: float = tunable(0.005, 0, 1, "of the time, which it saves at least")
    guessed_cells: int = tunable(10**10, 0, 1 << 62, "from so many on a strand is guessed cheaply")


@dataclass(frozen=True)
class PipelineTuning:
    """Pipelines: tiles below each other, each begun while those above it are computed."""

    least_cells: int = tunable(1 << 43, 0, 1 << 62, "seconds on a GPU; below, one tile is as fast")
    most_columns: int = tunable(1 << 26, 1, 1 << 31, "as long as a launch takes: half a minute")
    depth: int = tunable(4, 1, 64, "tiles computed at once, few, as drivers have few channels")
    more: int = tunable(2, 1, 64, "tiles begun beside those, as the host is late now and then")
    relay_columns: int = tunable(1 << 13, 1, 1 << 26, "copied from device to device at least")
    relay_seconds: float = tunable(2e-4, 0, 1, "between two looks at what is to be copied")
    share_seconds: float = tunable(0.02, 0, 60, "between two exchanges of the best score")
    related_alpha: int = tunable(16, 1, 64, "rows a lane, at most, of pruned pairs that are alike")
    related_rounds: int = tunable(4, 0, 1 << 20, "of such strips, at most, on several devices")
    most_tiles: int = tunable(512, 1, 1 << 16, "each has a ticket, which is 0 before anything runs")


@dataclass(frozen=True)
class EngineTuning:
    """What an engine does for one tile."""

    small_cells: int = tunable(1 << 18, 0, 1 << 62, "of a tile: fewer are not worth another build")
    mixed_cells: int = tunable(1 << 44, 0, 1 << 62, "of a tile of 11-bit lanes: a GPU's seconds")
    mixed_build: float = tunable(7.0, 0, 1e6, "seconds of work that wait for these lanes' build")
    least_hits: int = tunable(1 << 19, 1, 1 << 26, "collected at least, of several best cells")
    recomputed_cells: int = tunable(1 << 22, 0, 1 << 26, "more takes the reference engine seconds")
    recomputed_moves: int = tunable(1 << 24, 1, 1 << 40, "of a tile with moves, by one group")


@dataclass(frozen=True)
class SectionTuning:
    """Sections of a tile of few strips."""

    least_cells: int = tunable(1 << 28, 1, 1 << 62, "of whole strips: fewer take less than builds")
    most_rows: int = tunable(1 << 15, 0, 1 << 30, "of a tile as wide as the next parameter says")
    longest_row: int = tunable(1 << 25, 1, 1 << 30, "columns of it: their bus takes 800 MB")
    least_columns: int = tunable(1024, 1, 1 << 30, "of a section: it begins with a wait for lanes")
    least_aspect: float = tunable(2, 0, 1 << 30, "x the rows: alignments of all rows meet few ends")
    rounds: int = tunable(0, 0, 1024, "strips of sections for each group; 0: as lane sets say")
    first_overlap: int = tunable(256, 1, 1 << 30, "columns: chance alignments are shorter")
    matrix_overlap: int = tunable(4, 1, 1024, "x the overlap, for many letters: ends are farther")
    growth: int = tunable(8, 2, 1024, "x the overlap, for scores that refused many sections")
    most_share: float = tunable(1 / 32, 0, 1000, "of a section's columns: overlaps without a check")
    most_overlap: float = tunable(0.75, 0, 1000, "of a section's columns")
    most_refused: float = tunable(0.25, 0, 1, "of the sections: with more it is computed otherwise")
    most_cost: float = tunable(0.95, 0, 1000, "of the cost without sections")
    most_cost_beside_pruning: float = tunable(0.92, 0, 1000, "the same: sections prune nothing")

    def most(self, prunable: bool) -> float:
        """The most that another way may cost, as a share; ``prunable``: may strips be pruned?"""
        return self.most_cost_beside_pruning if prunable else self.most_cost


@dataclass(frozen=True)
class TracebackTuning:
    """The traceback, and the grid of special rows and columns that it restarts from."""

    pieces: int = tunable(
        16, 2, 1024, "a level of the grid cuts a side: it computes 1/16 of the level above again"
    )
    least_side: int = tunable(2048, 1, 1 << 30, "smaller cells of the grid only add launches")
    least_columns: int = tunable(16, 1, 1 << 20, "columns of a tile with moves at least")
    read_moves: int = tunable(1 << 15, 1, 1 << 30, "read at once: a ready device waits for no more")
    path_bytes: int = tunable(500_000_000, 0, 1 << 50, "memory that any path may take")
    side_bytes: int = tunable(100, 0, 1 << 20, "on top, for each row and column of the matrix")
    grid_share: float = tunable(0.33, 0.01, 1, "of that memory, for the first grid")
    compressing_share: float = tunable(0.96, 0.01, 1, "of it, with both copies of the first grid")


@dataclass(frozen=True)
class BoxTuning:
    """Boxes, in which the paths of given ends are found."""

    sides: int = tunable(2, 1, 1 << 10, "rows and columns of the first for each match needed")
    more: int = tunable(64, 0, 1 << 20, "on top: where scores of chance alignments have fallen off")
    alone: int = tunable(512, 0, 1 << 20, "instead, of a single box: few cells take their latency")
    least_aspect: int = tunable(16, 1, 1 << 30, "of a pair whose path is found in boxes: few cells")

    def side(self, matches: float, alone: bool) -> int:
        """Rows and columns of the first box of a path with so many matches."""
        return ceil(self.sides * matches) + (self.alone if alone else self.more)


@dataclass(frozen=True)
class SpeculationTuning:
    """Tiles of the path that are computed before it is known to need them."""

    side: int = tunable(2048, 1, 1 << 20, "rows and columns of a tile with moves")
    least_sides: int = tunable(4, 1, 1 << 20, "a shorter path is as fast tile by tile")
    first_cells: int = tunable(12, 2, 1024, "pieces of a side of the first level's tiles")
    cells: int = tunable(7, 2, 1024, "pieces of a side of the other levels' tiles")
    pruned_side: int = tunable(1 << 13, 0, 1 << 30, "larger tiles are pruned by the prediction")
    margin: float = tunable(6.0, 0, 1e6, "x a side's root: cells beyond a predicted crossing")
    unlike_margin: int = tunable(4, 1, 1024, "x that margin where sequences are not alike")
    slack: int = tunable(1024, 0, 1 << 30, "matches that H may fall short of the prediction")
    begun: int = tunable(64, 0, 1 << 30, "matches: below this H a local path has probably begun")
    most_tiles: int = tunable(1024, 1, 1 << 16, "tiles of a launch")
    few_tiles: int = tunable(32, 1, 1 << 16, "of a launch after a prediction that failed early")
    spacing: int = tunable(8, 1, 1 << 16, "cells from one read to the next along a special line")
    piece: int = tunable(32, 1, 1 << 16, "tiles with moves that one work-group follows the path in")


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

    least_rows: int = tunable(4096, 1, 1 << 30, "of a tile at least: each takes time of the host")
    most_slower: float = tunable(1.05, 1, 10, "of the least work: tiles are as high as this allows")
    most_waste: float = tunable(1 / 8, 0, 10, "of the matrix's work, for sweeps that prove nothing")
    most_tried: float = tunable(1 / 3, 0, 10, "of the matrix's work, where those sweeps stop early")
    least_stops: int = tunable(8, 1, 1 << 20, "tile rows at least of a sweep that may stop early")
    most_covered: float = tunable(0.9, 0, 10, "of the matrix's work: more is not worth its sweep")
    most_beside_pruning: float = tunable(0.5, 0, 10, "the same, where its score prunes the rest")
    slack: float = tunable(1.25, 1, 10, "x its share of the allowed loss, at which a sweep stops")
    early: float = tunable(0.1, 0, 1, "of the allowed loss, on top: similarity varies on the way")
    least_slack: float = tunable(1.05, 1, 10, "what slack falls to, evenly, by the last row")


@dataclass(frozen=True)
class SavingTuning:
    """How often rows are saved to a checkpoint."""

    least_seconds: float = tunable(2.0, 0, 86400, "of a slab: launches and crashes cost little")
    least_times: int = tunable(50, 0, 1 << 20, "a slab takes this x its saving at least")
    least_times_beside: int = tunable(2, 0, 1 << 20, "the same, by a writer on its own core")
    most_growth: int = tunable(4, 1, 1 << 20, "x the last slab: pruning that sped it up may end")
    fill_times: int = tunable(100, 0, 1 << 30, "x the pipeline's fill is a slab's work: so 1% more")
    most_rows: int = tunable(128, 1, 1 << 30, "special rows where no disk size is given")
    most_bytes: int = tunable(10 << 30, 1, 1 << 60, "bytes where no disk size is given")
    cell_bytes: float = tunable(1.0, 0, 64, "of a saved cell, before one was written")
    file_bytes: int = tunable(2000, 0, 1 << 30, "of a file's index, before one was written")


@dataclass(frozen=True)
class HeldTuning:
    """Matrices that are held whole."""

    score_cells: int = tunable(1 << 18, 0, 1 << 26, "for a score: larger ones have narrow lanes")
    path_cells: int = tunable(1 << 20, 0, 1 << 26, "for each path: all units sweep larger ones")
    top_cells: int = tunable(1 << 24, 0, 1 << 26, "for many paths: 13 bytes a cell, so 208 MiB")
    kept_bytes: int = tunable(1 << 24, 0, 1 << 30, "of a buffer kept, to save page failures")


@dataclass(frozen=True)
class PairTuning:
    """Pair batches."""

    most_letters: int = tunable(1 << 26, 1, 1 << 30, "letters that go to the device at once")
    gpu_kept_letters: int = tunable(1 << 28, 1, 1 << 30, "the same of prepared pairs, or a 64th")
    cpu_pairs: int = tunable(1 << 13, 1, 1 << 24, "of a part: their letters stay in a CPU's caches")
    gpu_pairs: int = tunable(1 << 18, 1, 1 << 24, "of a part: the host works while the device does")
    gpu_listed_pairs: int = tunable(1 << 16, 1, 1 << 24, "of a part that the host joins first")
    grid_pairs: int = tunable(1 << 18, 1, 1 << 24, "of a tile of a matrix of scores")
    cpu_grid_cells: int = tunable(1 << 34, 1, 1 << 50, "of such a tile: a second of a CPU")
    gpu_grid_cells: int = tunable(1 << 38, 1, 1 << 50, "the same on a GPU")
    cpu_moves: int = tunable(32 << 20, 1, 1 << 40, "bytes on a CPU, or a group for each unit")
    gpu_moves: int = tunable(1 << 30, 1, 1 << 40, "bytes on a GPU at least: few pairs idle it")
    moves_share: float = tunable(1 / 8, 0, 1, "of the device's memory, for moves above those")
    group_moves: int = tunable(1 << 28, 1, 1 << 40, "bytes of the moves of one group of lanes")
    counted_cells: int = tunable(1 << 21, 0, 1 << 40, "larger pairs' matches are counted forward")
    alone_cells: int = tunable(1 << 20, 0, 1 << 40, "a larger pair has all of a device alone")
    cpu_mates: int = tunable(8, 0, 1 << 24, "unless so many are half as large, on a CPU")
    gpu_mates: int = tunable(1024, 0, 1 << 24, "unless so many are half as large, on a GPU")
    gpu_lane_cells: int = tunable(1 << 17, 1, 1 << 40, "of a lane, while a GPU aligns a pair alone")
    tile_longest: int = tunable(1 << 14, 0, 1 << 20, "letters of pairs that are tiles of a launch")
    piece_rows: int = tunable(600, 0, 1 << 20, "query letters at most of pairs that a CPU cuts")
    piece_letters: int = tunable(1 << 16, 1, 1 << 24, "target letters of such a piece at most")
    unchosen_cells: int = tunable(1 << 26, 0, 1 << 50, "of a part; of fewer all paths are found")
    wasted_cells: int = tunable(1 << 27, 0, 1 << 50, "groups that compute more may be taken apart")
    most_waste: int = tunable(32, 1, 1 << 20, "if it computes this x the cells of its pairs")
    kept_share: float = tunable(1 / 4, 0, 1, "of the device's memory, for a prepared batch's codes")
    memory_share: float = tunable(1 / 16, 0, 1, "of that, which a prepared batch works in")
    most_outgrown: float = tunable(0.4, 0, 1, "of a batch's pairs: then a width is not tried again")
    far: int = tunable(2, 1, 1 << 20, "x a path's columns: longer targets' ends are found first")
    first_paths: int = tunable(512, 1, 1 << 24, "at most that tell how much is near ends")
    near_share: float = tunable(0.55, 0, 1, "of the cells, near ends: else these come first")
    gpu_near_cells: int = tunable(1 << 20, 0, 1 << 40, "of a pair: a smaller one's moves cost less")
    between_share: float = tunable(
        0.4, 0, 1000, "of those cells, between starts and ends: with less the starts are found, too"
    )
    longest: int = tunable(1 << 20, 1, 1 << 24, "letters, 64 bytes in a lane for each")
    gpu_longest: int = tunable(1 << 17, 1, 1 << 24, "on a GPU: all of it computes longer ones soon")
    cpu_in_flight: int = tunable(4, 0, 64, "batches unfinished on a CPU as the next is laid out")
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
        """A copy with these values, by dotted name.  Raises PlanError."""
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
        values = {name: attrgetter(name)(self) for name in SPACE}
        return {name: value for name, value in values.items() if value != SPACE[name].default}


@cache
def parameters_of(kind: type) -> dict[str, Parameter]:
    """The parameters among the fields of a dataclass, and of the dataclasses among them."""
    found: dict[str, Parameter] = {}
    for one in fields(kind):
        if "parameter" in one.metadata:
            found[one.name] = replace(one.metadata["parameter"], name=one.name)
        elif is_dataclass(one.default):
            group: Any = type(one.default)  # mypy looks for its hash among the fields
            for name, inner in parameters_of(group).items():
                found[f"{one.name}.{name}"] = replace(inner, name=f"{one.name}.{name}")
    return found


#: Every parameter of `Tuning`, by its dotted name.
SPACE = parameters_of(Tuning)

#: The default values of new plans: what follows from them is made again where these are others.
usual = Tuning()
