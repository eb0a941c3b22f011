"""Which kernel a tile takes, and how that is told the scoring."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...opencl.traits import DeviceTraits
from ...planning.lane_sets import LANE_SETS
from ...planning.plan import Plan
from ...scoring.precision import Bounds, worst
from ...scoring.scoring import Scoring
from ...sequences.view import Codes
from ...tiles.tile import TileJob
from .arguments import (
    FORMS,
    SCORES,
    ForbiddenArguments,
    FourArguments,
    ManyArguments,
    MatchArguments,
    MatrixArguments,
    Scores,
    TileArguments,
    names,
)
from .descriptors import RECORD_MACROS, TILE_MACROS

#: Columns from which on a profile pays.
LEAST_PROFILED = 64

_NAME = {"ticketed": "wavefront_ticketed", "two-phase": "wavefront_two_phase"}


@cache
def kernel_spec(
    form: str,
    lanes: str,
    score: str,
    widths: tuple[int, ...] | None = None,
    forbidden: bool = False,
    many: bool = False,
) -> KernelSpec:
    """The wavefront kernel of a form ("ticketed", "two-phase"), lane set and score file, with the
    narrow lanes of all the set's widths or some; ``forbidden``, ``many``: as -D FORBIDDEN_PAIRS=1
    and -D MULTI_TILE=1 build it."""
    lane_set = LANE_SETS[lanes]
    widths = lane_set.widths if widths is None else widths
    at_width = (f"score/{score}.clh", "recurrence.clh")
    files = [f"NARROW_WIDTHS={sum(widths)}", "base.clh", "names.clh", "platform.clh", "WIDTH=32"]
    files += [
        lane_set.wide,
        *at_width,
        "wavefront/strip.clh",
        *RECORD_MACROS,
        "wavefront/best.clh",
        "wavefront/strip_sync.clh",
        "wavefront/score_range.clh",
        "wavefront/prune.clh",
    ]
    for width in widths:
        assert lane_set.narrow is not None
        files += [f"WIDTH={width}", lane_set.narrow, *at_width, "wavefront/narrow.clh"]
    files += [*(TILE_MACROS if many else ()), "WIDTH=32"]
    files += ["wavefront/width_dispatch.clh", "wavefront/wavefront.cl"]
    parts: list[type] = [TileArguments, FORMS[form], SCORES[score]]
    parts += [*([ForbiddenArguments] if forbidden else ()), *([ManyArguments] if many else ())]
    return KernelSpec(_NAME[form], tuple(files), names(*parts))


@dataclass(frozen=True)
class Program:
    """All that decides which program computes a tile, or many."""

    #: Lanes, alpha, chunk.
    plan: Plan
    #: The form, and lanes of a strip, which are those of the tile's grid.
    form: str
    T: int
    #: The score file, and widths of narrow lanes.
    score: str
    widths: tuple[int, ...]
    #: Is no H below 0?
    local: bool
    #: 0: no best cell, 1: the best, 2: all that score enough are collected.
    best: int
    #: Are moves kept; are pairs blocked; may blocks be pruned?
    moves: bool
    forbidden: bool
    prunes: bool
    #: Do narrow numbers rise by the extension a row and a column?
    skewed: bool
    #: Warps of a work-group.
    warps: int
    #: Are there many tiles in a launch?
    many: bool = False

    @property
    def group(self) -> int:
        """Work-items of a work-group."""
        return self.warps * self.plan.lane_set.group(self.T)

    def defines(self, traits: DeviceTraits) -> dict[str, int]:
        """What it is built with (cl/base.clh has the reasons)."""
        lanes = self.plan.lane_set
        defines = {
            "T": self.T,
            "R": self.plan.alpha,
            "LOCAL": int(self.local),
            "BEST": self.best,
            "STORE_MOVES": int(self.moves),
            "FORBIDDEN_PAIRS": int(self.forbidden),
            "TICKETED": int(self.form == "ticketed"),
            "UNROLL": traits.unroll if lanes.unroll is None else lanes.unroll,
            "MULTI_TILE": int(self.many),
            "WARPS": self.warps,
            "PRUNE": int(self.prunes),
            "SKEWED_SCORES": int(self.skewed),
        }
        # 32-bit lanes alone may be asked for any chunk, more than fits local memory, of which they
        # need none: their default stands.  Many tiles have short blocks.
        if lanes.chunk_defined and (lanes.narrow is not None or self.many):
            defines["CHUNK"] = self.plan.chunk
        return defines

    def kernel(self, runtime: Runtime) -> BoundKernel:
        """Its kernel."""
        parts = self.form, self.plan.lanes, self.score, self.widths, self.forbidden, self.many
        return BoundKernel(runtime, kernel_spec(*parts), self.defines(runtime.traits))


def state_bytes(plan: Plan, T: int, alpha: int, strip_groups: int) -> int:
    """Memory for the lanes of strips that ``strip_groups`` groups have between two blocks, and,
    where narrow lanes walk them, for those of a block that is walked again for inner columns."""
    owed = 2 * alpha + 4 - -8 // T if plan.lane_set.narrow else 0
    return 4 * strip_groups * (4 * alpha + 6 + owed) * T


def stage_bytes(chunk: int, strip_groups: int) -> int:
    """Memory for the columns of a block that ``strip_groups`` groups have at hand."""
    return 8 * strip_groups * chunk


def planned(plan: Plan, job: TileJob, permute: bool) -> tuple[Plan | None, str]:
    """The plan for one tile, and the score file; None where the job's inner rows are not at strips'
    ends.  Narrow lanes keep no moves and block no pairs, every block of a tile must be proven to
    fit 16 bits, and its scores must be of a kind that they can make."""
    scoring = job.scoring
    score = wide_score(scoring)
    if plan.lane_set.instead is None:
        return plan.for_size(*job.size, job.rows), score
    narrow = narrow_score(plan, scoring, job.target, permute)
    if narrow is not None and not job.store_moves and job.forbidden is None:
        return plan.for_size(*job.size, job.rows), narrow
    return plan.without_narrow().for_size(*job.size, job.rows), score


def may_skew(plan: Plan, scoring: Scoring) -> bool:
    """May narrow lanes skew their numbers: do numbers that rise by the extension a row and a column
    fit 15 bits, and scores bytes?"""
    if not plan.lane_set.skews:
        return False
    bounds = Bounds.of(scoring)
    fits = bounds.fits16(scoring, plan.T * plan.alpha, plan.chunk, plan.T, plan.alpha)
    return fits and scoring.highest + 2 * scoring.gap_extend <= 127


def _simple(scoring: Scoring) -> bool:
    """Match and mismatch by compare and select: padding, which never matches, must not gain."""
    return scoring.match_mismatch is not None and scoring.match_mismatch[1] <= 0


def wide_score(scoring: Scoring) -> str:
    """The score file that 32-bit lanes take."""
    return "match" if _simple(scoring) else "matrix"


def _table(scoring: Scoring) -> NDArray[np.int32]:
    """The substitution matrix with a row and a column for padding, which never gains; no score is
    below the one that is never used anyway."""
    q, t = scoring.matrix.shape
    table = np.full((q + 1, t + 1), min(0, scoring.lowest), np.int32)
    table[:q, :t] = scoring.matrix
    return np.maximum(table, worst(scoring))


def narrow_score(plan: Plan, scoring: Scoring, target: Codes, permute: bool) -> str | None:
    """The score file that narrow lanes take, if they can: compare and select; a matrix as a profile
    of bytes, made for each strip; four target letters as the bytes of a word, where the device can
    ``permute`` bytes with their sign.  Which of these a lane set has, and its limits:
    :class:`pysw_cl.planning.lane_sets.NarrowScores`."""
    if not Bounds.of(scoring).fits16(scoring, plan.T * plan.alpha, plan.chunk, plan.T):
        return None
    kinds = plan.lane_set.scores
    bytes_do = scoring.highest <= 127 and max(worst(scoring), min(0, scoring.lowest)) >= -128
    if kinds.permute4 and permute and bytes_do and int(target.max()) < 4:
        return "permute4"
    if _simple(scoring):
        assert scoring.match_mismatch is not None
        match, mismatch = (max(score, worst(scoring)) for score in scoring.match_mismatch)
        return "match" if kinds.compare(len(scoring.matrix), match, mismatch) else None
    profiled = bytes_do and plan.alpha <= kinds.profile_rows and len(target) >= LEAST_PROFILED
    return "matrix" if profiled else None


def pads(scoring: Scoring, score: str) -> tuple[int, int]:
    """The codes that only padding has, of the query and of the target.  Padding of the query never
    gains; with four target letters that of the target may, where no cell is."""
    if score == "match":
        return 254, 253
    query, target = scoring.matrix.shape
    return query, 0 if score == "permute4" else target


def scores_of(scoring: Scoring, score: str, skewed: bool, buffers: Buffers) -> Scores:
    """A scoring as a launch with this score file takes it."""
    lift = 2 * scoring.gap_extend if skewed else 0  # a diagonal step rises twice
    arguments: MatchArguments | MatrixArguments | FourArguments
    if score == "match":
        assert scoring.match_mismatch is not None
        match, mismatch = (max(one, worst(scoring)) for one in scoring.match_mismatch)
        arguments = MatchArguments(match, mismatch, lift)
    elif score == "permute4":
        table = _table(scoring)
        four = np.zeros((len(table), 4), np.int8)
        four[:, : min(4, table.shape[1])] = table[:, :4] + lift
        arguments = FourArguments(buffers.of(four.view("<i4")), lift)
    else:
        table = _table(scoring)
        arguments = MatrixArguments(buffers.of(table.ravel()), table.shape[1])
    return Scores(scoring, *pads(scoring, score), arguments)


def backwards(target: Codes, T: int, pad: int) -> Codes:
    """The target as narrow lanes of CPU vectors read it: backwards, T columns of padding at both
    ends."""
    padded = np.full(len(target) + 2 * T, pad, np.uint8)
    padded[T : T + len(target)] = target[::-1]
    return padded
