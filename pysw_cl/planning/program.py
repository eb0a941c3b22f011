"""What decides which program of the wavefront computes a tile, sections of one, or many tiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..scoring.precision import worst
from ..scoring.scoring import Scoring
from . import sizes
from .lane_sets import MIXED
from .plan import Plan
from .score_files import may_skew, striped


@dataclass(frozen=True)
class Program:
    """What decides which program computes one tile, or many."""

    #: Lanes, alpha, chunk.
    plan: Plan
    #: The score file.
    score: str
    #: Is the comparison local, with no H below 0?
    local: bool
    #: Lanes of a strip of the tile's grid, and its form: "ticketed" or "two-phase".
    T: int
    form: str = "ticketed"
    #: The widths of narrow lanes.
    widths: tuple[int, ...] = ()
    #: 0: no best cell; 1: the best cell; 2: collect all cells that reach the threshold.
    best: int = 0
    #: Are moves stored?
    moves: bool = False
    #: Are there forbidden pairs?
    forbidden: bool = False
    #: May blocks be pruned?
    prunes: bool = False
    #: Do narrow lanes have skewed scores?
    skewed: bool = False
    #: Warps of a work-group.
    warps: int = 1
    #: Does a launch compute many tiles?
    many: bool = False
    #: Are they sections of one tile?
    sections: bool = False
    #: Letters of a query profile in local memory, padding included; 0: there is none.
    letters: int = 0
    #: Is a section one strip, below equal cells, whose bottom row nobody wants?
    flat: bool = False
    #: Do query codes have 16 bits?
    wide_codes: bool = False
    #: Lanes of 11 bits: the macros of their scores and gap costs (cl/wavefront/mixed.clh).
    mixed: tuple[tuple[str, int], ...] = ()

    @cached_property
    def shares_strips(self) -> bool:
        """Are more strips than groups in flight?"""
        return self.plan.lane_set.shares_strips(self.form, self.moves or self.many)

    @cached_property
    def striped(self) -> bool:
        """Are all narrow lanes of a strip at the same column?"""
        return bool(self.widths) and striped(self.plan, self.form, self.score, self.local)

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The rows of a lane that one build does for; none: the plan's."""
        lanes = self.plan.lane_set
        if self.striped:
            return lanes.striped_alphas
        return lanes.tall_alphas if self.widths and self.score == "match" else ()

    @cached_property
    def group(self) -> int:
        """Work-items of a work-group."""
        return self.warps * self.plan.lane_set.group(self.T)

    def defines(self, unroll: int) -> dict[str, int]:
        """Its macros (explained in cl/base.clh); ``unroll``: the device's, if lanes leave it."""
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
            "UNROLL": unroll if lanes.unroll is None else lanes.unroll,
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
        if self.wide_codes:
            defines["WIDE_CODES"] = 1
        if self.letters:
            defines["PROFILE_LETTERS"] = self.letters
        return defines | dict(self.mixed)

    @cached_property
    def limits_registers(self) -> bool:
        """Do fewer registers make room for more work-groups?  Not where local memory says how many
        there are, nor where one tile has fewer warps than a compute unit has by default."""
        lanes = self.plan.lane_set
        few = lanes.joins_warps and self.warps < lanes.defaults.groups
        return not lanes.local_profile and not (few and (self.sections or not self.many))


def program_of(plan: Plan, scoring: Scoring, score: str, local: bool, **own: Any) -> Program:
    """The program of a plan's lanes for these scores; ``own``: its other fields."""
    local_profile = plan.lane_set.local_profile and score == "matrix"
    return Program(
        plan=plan,
        score=score,
        local=local,
        skewed=may_skew(plan, scoring),
        letters=scoring.matrix.shape[1] + 1 if local_profile else 0,
        wide_codes=bool(scoring.source.defines),
        mixed=mixed_macros(scoring, own["widths"]),
        **{"T": plan.T, **own},
    )


def mixed_macros(scoring: Scoring, widths: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """The macros of lanes of 11 bits; none without these."""
    if MIXED not in widths:
        return ()
    pair = scoring.source.compared(worst(scoring))
    assert pair is not None
    first, extend = scoring.gap_open + scoring.gap_extend, scoring.gap_extend
    return ("MATCH", pair[0]), ("MISMATCH", pair[1]), ("GAP_FIRST", first), ("GAP_EXTEND", extend)
