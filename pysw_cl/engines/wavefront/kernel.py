"""Which kernel a tile takes, and how that is told the scoring."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.program import KernelSpec
from ...planning.plan import LANE_SETS, Plan
from ...scoring.precision import Bounds, worst
from ...scoring.scoring import Scoring
from ...tiles.contract import TileJob
from ...tiles.tile import Codes

#: Columns from which on a profile pays.
LEAST_PROFILED = 64
#: Codes of letters that packed lanes compare; how much a match may gain over a mismatch there.
PACKED_CODES, PACKED_GAIN = 6, 1 << 12

_TILE = (
    "query target letters left_h left_x right_h right_x bus m:int n:int stride:int strips:int "
    "outlet_lane:int outlet_row:int right:int query_pad:int target_pad:int gap_open:int "
    "gap_extend:int chunk:int highest:int depth:int limit8:int rows_after:int columns_after:int "
    "state stages argmax_scratch profiles record shared_best hits capacity:int lines columns "
    "column_count:int crossed"
)
_FORM = {
    "ticketed": "ticket progress progress_above progress_above_at:int moves",
    "two-phase": "diagonal:int first_block:int blocks:int phase:int",
}
_SCORE = {
    "match": "match:int mismatch:int lift:int",
    "matrix": "matrix wide:int",
    "permute4": "words lift:int",
}
_BLOCKED = "forbidden forbidden_places forbidden_score:int"
_MANY = "tiles tile_count:int"
_NAME = {"ticketed": "wavefront_ticketed", "two-phase": "wavefront_two_phase"}


@cache
def kernel_spec(
    form: str,
    lanes: str,
    score: str,
    widths: tuple[int, ...] | None = None,
    blocked: bool = False,
    many: bool = False,
) -> KernelSpec:
    """The wavefront kernel of a form ("ticketed", "two-phase"), lane set and score file, with the
    narrow lanes of all the set's widths or some; ``blocked``, ``many``: as -D FORBIDDEN_PAIRS=1 and
    -D MULTI_TILE=1 build it."""
    lane_set = LANE_SETS[lanes]
    widths = lane_set.widths if widths is None else widths
    at_width = (f"score/{score}.clh", "recurrence.clh")
    files = [f"NARROW_WIDTHS={sum(widths)}", "base.clh", "names.clh", "platform.clh", "WIDTH=32"]
    files += [
        f"lanes/{lane_set.wide}.clh",
        *at_width,
        "wavefront/strip.clh",
        "wavefront/best.clh",
        "wavefront/strip_sync.clh",
        "wavefront/score_range.clh",
        "wavefront/prune.clh",
    ]
    for width in widths:
        files += [f"WIDTH={width}", f"narrow/{lane_set.narrow}.clh", *at_width]
        files += ["wavefront/narrow.clh"]
    files += ["WIDTH=32", "wavefront/width_dispatch.clh", "wavefront/wavefront.cl"]
    arguments = f"{_TILE} {_FORM[form]} {_SCORE[score]}"
    arguments += f" {_BLOCKED if blocked else ''} {_MANY if many else ''}"
    return KernelSpec(_NAME[form], tuple(files), tuple(arguments.split()))


def state_bytes(plan: Plan, T: int, alpha: int, walkers: int) -> int:
    """Memory for the lanes of strips that ``walkers`` groups have between two blocks, and, where
    narrow lanes walk them, for those of a block that is walked again for inner columns."""
    owed = 2 * alpha + 4 - -8 // T if LANE_SETS[plan.lanes].narrow else 0
    return 4 * walkers * (4 * alpha + 6 + owed) * T


def stage_bytes(chunk: int, walkers: int) -> int:
    """Memory for the columns of a block that ``walkers`` groups have at hand."""
    return 8 * walkers * chunk


def planned(plan: Plan, job: TileJob, permute: bool) -> tuple[Plan | None, str]:
    """The plan for one tile, and the score file; None where the job's inner rows are not at strips'
    ends.  Narrow lanes keep no moves and block no pairs, every block of a tile must be proven to
    fit 16 bits, and its scores must be of a kind that they can make."""
    scoring = job.scoring
    score = wide_score(scoring)
    if LANE_SETS[plan.lanes].instead is None:
        return plan.for_size(*job.size, job.rows), score
    narrow = narrow_score(plan, scoring, job.target, permute)
    if narrow is not None and not job.directions and job.blocked is None:
        return plan.for_size(*job.size, job.rows), narrow
    return plan.without_narrow().for_size(*job.size, job.rows), score


def may_slope(plan: Plan, scoring: Scoring) -> bool:
    """Do numbers that rise by the extension a row and a column fit 15 bits, and scores bytes?"""
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
    """The score file that narrow lanes take, if they can: compare and select; in CPU vectors a
    matrix as a profile of bytes, 16 rows a lane, made for each strip; in packed lanes four target
    letters as the bytes of a word, where the device can ``permute`` bytes with their sign."""
    if not Bounds.of(scoring).fits16(scoring, plan.T * plan.alpha, plan.chunk, plan.T):
        return None
    bytes_do = scoring.highest <= 127 and max(worst(scoring), min(0, scoring.lowest)) >= -128
    if LANE_SETS[plan.lanes].narrow == "packed":
        if permute and bytes_do and int(target.max()) < 4:
            return "permute4"
        if not _simple(scoring) or len(scoring.matrix) > PACKED_CODES:
            return None
        assert scoring.match_mismatch is not None
        match, mismatch = (max(score, worst(scoring)) for score in scoring.match_mismatch)
        small = match >= -PACKED_GAIN and 0 <= match - mismatch <= PACKED_GAIN
        return "match" if small else None
    if _simple(scoring):
        return "match"
    profiled = bytes_do and plan.alpha <= 16 and len(target) >= LEAST_PROFILED
    return "matrix" if profiled else None


def score_arguments(
    scoring: Scoring, score: str, sloped: bool, buffers: Buffers
) -> tuple[int, int, dict[str, Any]]:
    """(padding code of the query, of the target, kernel arguments) for a score file.  Padding of
    the query never gains; with four target letters that of the target may, where no cell is."""
    lift = 2 * scoring.gap_extend if sloped else 0  # a diagonal step rises twice
    if score == "match":
        assert scoring.match_mismatch is not None
        match, mismatch = (max(one, worst(scoring)) for one in scoring.match_mismatch)
        return 254, 253, {"match": match, "mismatch": mismatch, "lift": lift}
    table = _table(scoring)
    if score == "permute4":
        four = np.zeros((len(table), 4), np.int8)
        four[:, : min(4, table.shape[1])] = table[:, :4] + lift
        return len(table) - 1, 0, {"words": buffers.of(four.view("<i4")), "lift": lift}
    wide = table.shape[1]
    return len(table) - 1, wide - 1, {"matrix": buffers.of(table.ravel()), "wide": wide}


def backwards(target: Codes, T: int, pad: int) -> Codes:
    """The target as narrow lanes of CPU vectors read it: backwards, T columns of padding at both
    ends."""
    padded = np.full(len(target) + 2 * T, pad, np.uint8)
    padded[T : T + len(target)] = target[::-1]
    return padded
