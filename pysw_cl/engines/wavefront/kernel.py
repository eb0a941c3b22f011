"""The choice of a tile's kernel, and the scoring in the form that the kernel takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.meanwhile import build_meanwhile, note_built, soon_built, wait_until_begun
from ...opencl.program import BoundKernel, KernelSpec
from ...opencl.traits import DeviceTraits
from ...planning import score_files, sizes
from ...planning.lane_sets import LANE_SETS, MIXED
from ...planning.plan import Plan
from ...scoring.precision import worst
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
from .descriptors import PROGRESS_MACROS, RECORD_MACROS, TILE_MACROS
from .exact_sums import ARITHMETIC

#: The padding of a target that cl/score/permute4.clh reads.
PAD4 = 8
#: Letters of a target that are looked at first: they tell most proteins.
FEW = 64
_NAME = {"ticketed": "wavefront_ticketed", "two-phase": "wavefront_two_phase"}


@cache
def kernel_spec(
    form: str,
    lanes: str,
    score: str,
    widths: tuple[int, ...] | None = None,
    forbidden: bool = False,
    many: bool = False,
    striped: bool = False,
) -> KernelSpec:
    """The wavefront kernel of a form ("ticketed", "two-phase"), a lane set and a score file.

    ``widths``: of the narrow lanes; None: all that the set has.  ``forbidden``: built with
    -D FORBIDDEN_PAIRS=1.  ``many``: built with -D MULTI_TILE=1.  ``striped``: are all narrow lanes
    at the same column?
    """
    lane_set = LANE_SETS[lanes]
    widths = lane_set.widths if widths is None else widths
    whole = [width for width in widths if width != MIXED]
    at_width = (f"score/{score}.clh", "recurrence.clh")
    files = [
        f"NARROW_WIDTHS={sum(whole)}",
        f"MIXED={int(MIXED in widths)}",
        f"LAG={int(not striped)}",
        "base.clh",
        "names.clh",
        "platform.clh",
        "WIDTH=32",
    ]
    files += [
        lane_set.wide,
        *at_width,
        "wavefront/strip.clh",
        *RECORD_MACROS,
        "wavefront/best.clh",
        *PROGRESS_MACROS,
        "wavefront/strip_sync.clh",
        "wavefront/score_range.clh",
        "wavefront/prune.clh",
    ]
    for width in whole:
        assert lane_set.narrow is not None
        files += [f"WIDTH={width}", lane_set.narrow, *at_width, "wavefront/narrow_lanes.clh"]
        files += [f"wavefront/{'striped' if striped else 'lagged'}.clh", "wavefront/narrow.clh"]
    if MIXED in widths:
        assert lane_set.narrow is not None
        files += [f"WIDTH={MIXED}", lane_set.narrow, ARITHMETIC, "wavefront/mixed.clh"]
    files += [*(TILE_MACROS if many else ()), "WIDTH=32"]
    files += ["wavefront/width_dispatch.clh", "wavefront/wavefront.cl"]
    parts: list[type] = [TileArguments, FORMS[form], SCORES[score]]
    parts += [*([ForbiddenArguments] if forbidden else ()), *([ManyArguments] if many else ())]
    limit = "mixed_registers" if MIXED in widths else "registers"
    return KernelSpec(_NAME[form], tuple(files), names(*parts), limit)


@dataclass(frozen=True)
class Program:
    """What decides which program computes one tile, or many."""

    #: Lanes, alpha, chunk.
    plan: Plan
    #: The form of the tile's grid: "ticketed" or "two-phase".
    form: str
    #: Lanes of a strip of the tile's grid.
    T: int
    #: The score file.
    score: str
    #: The widths of narrow lanes.
    widths: tuple[int, ...]
    #: Is the comparison local, with no H below 0?
    local: bool
    #: 0: no best cell; 1: the best cell; 2: collect all cells that reach the threshold.
    best: int
    #: Are moves stored?
    moves: bool
    #: Are there forbidden pairs?
    forbidden: bool
    #: May blocks be pruned?
    prunes: bool
    #: Do narrow lanes have skewed scores?
    skewed: bool
    #: Warps of a work-group.
    warps: int
    #: Does a launch compute many tiles?
    many: bool = False
    #: Are they sections of one tile?
    sections: bool = False
    #: Letters of a query profile in local memory, padding included; 0: there is none.
    letters: int = 0
    #: Is a section one strip, below equal cells, whose bottom row nobody wants?
    flat: bool = False
    #: Lanes of 11 bits: the macros of their scores and gap costs (cl/wavefront/mixed.clh).
    mixed: tuple[tuple[str, int], ...] = ()

    @property
    def defers_argmax(self) -> bool:
        """Is the block with the best cell swept again only when all strips are done?"""
        return bool(self.widths) and self.best == 1 and self.form == "ticketed"

    @property
    def shares_strips(self) -> bool:
        """Are more strips than groups in flight?"""
        return self.plan.lane_set.shares_strips(self.form, self.moves or self.many)

    @property
    def striped(self) -> bool:
        """Are all narrow lanes of a strip at the same column?"""
        return bool(self.widths) and score_files.striped(
            self.plan, self.form, self.score, self.local
        )

    @property
    def heights(self) -> tuple[int, ...]:
        """The rows of a lane that one build does for; none: the plan's."""
        lanes = self.plan.lane_set
        if self.striped:
            return lanes.striped_alphas
        return lanes.tall_alphas if self.widths and self.score == "match" else ()

    @property
    def group(self) -> int:
        """Work-items of a work-group."""
        return self.warps * self.plan.lane_set.group(self.T)

    def defines(self, traits: DeviceTraits) -> dict[str, int]:
        """Its macros (explained in cl/base.clh)."""
        lanes = self.plan.lane_set
        defines = {
            "T": self.T,
            "R": max(self.heights, default=self.plan.alpha),
            "ANY_ALPHA": int(bool(self.heights)),
            "LOCAL": int(self.local),
            "BEST": self.best,
            "STORE_MOVES": int(self.moves),
            "FORBIDDEN_PAIRS": int(self.forbidden),
            "TICKETED": int(self.form == "ticketed"),
            "UNROLL": traits.unroll if lanes.unroll is None else lanes.unroll,
            "MULTI_TILE": int(self.many),
            "SECTIONS": int(self.sections),
            "FLAT_BUS": int(self.flat),
            "WARPS": self.warps,
            "PRUNE": int(self.prunes),
            "SKEWED_SCORES": int(self.skewed),
            "SHARED_STRIPS": int(self.shares_strips),
            "STRIPS_A_GROUP": sizes.STRIPS_A_GROUP,
        }
        # Without narrow lanes the chunk may be larger than local memory, which 32-bit lanes do not
        # use, so CHUNK keeps its default.  Launches of many tiles have short blocks.
        if lanes.chunk_defined and (lanes.narrow is not None or self.many):
            defines["CHUNK"] = self.plan.chunk
        if self.letters:
            defines["PROFILE_LETTERS"] = self.letters
        return defines | dict(self.mixed)

    @property
    def spec(self) -> KernelSpec:
        """Its kernel."""
        parts = self.form, self.plan.lanes, self.score, self.widths, self.forbidden, self.many
        spec = kernel_spec(*parts, self.striped)
        return spec if self.limits_registers else replace(spec, limit=None)

    @property
    def limits_registers(self) -> bool:
        """Do fewer registers make room for more work-groups?  Not where local memory says how many
        there are, nor where one tile has fewer warps than a compute unit has by default."""
        lanes = self.plan.lane_set
        few = lanes.joins_warps and self.warps < lanes.defaults.groups
        return not lanes.local_profile and not (few and (self.sections or not self.many))

    def kernel(self, runtime: Runtime) -> BoundKernel:
        """Its kernel on a device, built if necessary."""
        defines = self.defines(runtime.traits)
        kernel = BoundKernel(runtime, self.spec, defines)
        if self.mixed:
            note_built(runtime, self.spec, defines)
        return kernel

    def in_time(self, runtime: Runtime, seconds: float) -> bool:
        """Is it worth its build for work of so many ``seconds``: does that take longer, or is the
        driver soon done with it?"""
        long = seconds >= self.plan.tuning.engine.mixed_build
        return long or soon_built(runtime, self.spec, self.defines(runtime.traits))

    def build_meanwhile(self, runtime: Runtime, event: Any) -> None:
        """Build it for later calls, while the launch of ``event`` runs."""
        wait_until_begun(event)
        build_meanwhile(runtime, self.spec, self.defines(runtime.traits))


def planned(plan: Plan, job: TileJob, permute: bool, alone: bool = True) -> tuple[Plan | None, str]:
    """The plan for one tile and its score file: see `pysw_cl.planning.score_files.planned`.
    ``permute``: does the device have a byte permutation?  ``alone``: does a launch compute no other
    tile, and collect no cells?"""
    narrow, local = None, job.floor is not None
    if plan.lane_set.narrow is not None:
        narrow = narrow_score(plan, job.scoring, job.target, permute, local)
    wide = job.store_moves or job.forbidden is not None
    narrow = None if wide else narrow
    best = job.best and alone
    return score_files.planned(plan, job.scoring, job.size, job.rows, narrow, local, best)


def _table(scoring: Scoring) -> NDArray[np.int32]:
    """The substitution matrix with a row and a column for padding, whose scores are not positive.
    Scores are raised to the lowest score that an optimal path can use."""
    q, t = scoring.matrix.shape
    table = np.full((q + 1, t + 1), min(0, scoring.lowest), np.int32)
    table[:q, :t] = scoring.matrix
    return np.maximum(table, worst(scoring))


def narrow_score(
    plan: Plan, scoring: Scoring, target: Codes, permute: bool, local: bool
) -> str | None:
    """The score file of narrow lanes for a target, or None: see
    :func:`pysw_cl.planning.score_files.narrow_score`.  ``permute``: can the device permute bytes
    with their sign?  ``local``: is H never below 0?"""
    four = permute and plan.lane_set.scores.permute4
    four = four and all(int(letters.max()) < 4 for letters in (target[:FEW], target))
    return score_files.narrow_score(plan, scoring, len(target), four, local)


def mixed_macros(scoring: Scoring, widths: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """The macros of lanes of 11 bits; none without these."""
    if MIXED not in widths:
        return ()
    assert scoring.match_mismatch is not None
    match, mismatch = (max(one, worst(scoring)) for one in scoring.match_mismatch)
    first, extend = scoring.gap_open + scoring.gap_extend, scoring.gap_extend
    return ("MATCH", match), ("MISMATCH", mismatch), ("GAP_FIRST", first), ("GAP_EXTEND", extend)


def profile_letters(plan: Plan, scoring: Scoring, score: str) -> int:
    """Letters of a query profile in local memory, padding included; 0: there is none."""
    local = plan.lane_set.local_profile and score == "matrix"
    return scoring.matrix.shape[1] + 1 if local else 0


def pads(scoring: Scoring, score: str) -> tuple[int, int]:
    """The codes of query padding and of target padding.  Neither scores above 0 (by "permute4" only
    in narrow lanes; in 32-bit ones no cell depends on it)."""
    if score == "match":
        return 254, 253
    query, target = scoring.matrix.shape
    return query, PAD4 if score == "permute4" else target


def scores_of(scoring: Scoring, score: str, skewed: bool, buffers: Buffers) -> Scores:
    """A scoring in the form that this score file takes."""
    lift = (
        2 * scoring.gap_extend if skewed else 0
    )  # a diagonal step adds the skew of a row and of a column
    arguments: MatchArguments | MatrixArguments | FourArguments
    if score == "match":
        assert scoring.match_mismatch is not None
        match, mismatch = (max(one, worst(scoring)) for one in scoring.match_mismatch)
        arguments = MatchArguments(match, mismatch, lift)
    elif score == "permute4":
        table = _table(scoring)
        four = np.zeros((len(table), 4), np.int8)
        four[:, : min(4, table.shape[1])] = table[:, :4] + lift
        arguments = FourArguments(buffers.constant(four.view("<i4")), lift)
    else:
        table = _table(scoring)
        arguments = MatrixArguments(buffers.constant(table.ravel()), table.shape[1], lift)
    return Scores(scoring, *pads(scoring, score), arguments)


def backwards(target: Codes, T: int, pad: int) -> Codes:
    """The target reversed, with T columns of padding at both ends, as narrow lanes of CPU vectors
    read it."""
    padded = np.full(len(target) + 2 * T, pad, np.uint8)
    padded[T : T + len(target)] = target[::-1]
    return padded
