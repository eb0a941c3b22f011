"""What decides how a tile is computed, beside its shape (`Given`); which lanes, which score file
(cl/score) and which program of the wavefront compute it, sections of it, or many tiles."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

from ..scoring.scoring import Scoring
from . import sizes
from .facts import UNLIMITED, DeviceFacts, Share
from .geometry import TileShape
from .lane_sets import LANE_SETS, MIXED
from .model.times import lag_of
from .plan import Plan

#: Narrow lanes use a query profile from so many columns on.
LEAST_PROFILED = 64
#: Lanes at the same column take at most this share of the others' time, which is better known.
STRIPED_MOST = 0.75
#: Columns of a block at most in lanes of 11 bits: 12 warps of a work-group have 48 KiB for them.
MIXED_CHUNK = 256
#: Columns of a pipeline of such lanes at least, in lags of the last strip in flight.
LEAST_LAGS = 2
#: A tile has so many strips at least, and so many for each group, if they are taller than the
#: plan's: blocks on the path of similar sequences take 16 bits, one block is swept again for the
#: best cell, and groups of different speed share strips.
LEAST_STRIPS, LEAST_STRIPS_A_GROUP = 20, 6


@dataclass(frozen=True)
class Seen:
    """What a tile's letters and edges say, where it matters; here of one that nobody has seen."""

    few: bool = False
    alike: bool = False

    @property
    def transposed(self) -> Seen:
        """The same of the transposed tile."""
        return self

    def four(self) -> bool:
        """Has the target none but the first four letters of the alphabet?"""
        return self.few

    def excess(self) -> int:
        """How far do edges rise above the floor of a local tile, or the top edge of another?"""
        return 0

    def related(self) -> bool:
        """Do the letters look as if an alignment leads through much of the tile?"""
        return self.alike


@dataclass(frozen=True)
class Given:
    """What decides beside the shape of a tile, or of a whole comparison.  Its letters are taken as
    alike (`Seen`) where an alignment leads through many square tiles, or rows are kept for it."""

    plan: Plan
    scoring: Scoring
    #: Is H never below 0?
    local: bool = True
    device: DeviceFacts = UNLIMITED
    seen: Seen = field(default_factory=Seen)
    #: The row scan's plan, if it may compute tiles.
    row_scan: Plan | None = None
    #: Columns by which sections overlap at least, if shorter ones have been refused.
    overlap: int = 0
    #: May tiles be cut into sections?
    cuts: bool = True
    #: May small matrices be held whole?  Of how many is a path wanted, too?
    holds: bool = False
    paths: int = 0
    #: Devices that compute the tiles of a pipeline in turn, if several do; and the rows of it, if
    #: they are pruned and the sequences are alike, or 0.
    shares: tuple[Share, ...] = ()
    alike_rows: int = 0

    @property
    def devices(self) -> int:
        return max(1, len(self.shares))

    def narrow(self, columns: int) -> str | None:
        """The score file of narrow lanes for a target of so many columns; None: there are none, or
        they cannot compute these scores (:class:`pysw_cl.planning.lane_sets.NarrowScores`).
        "match" compares and selects.  "matrix" makes a query profile of bytes for each strip.
        "permute4" has the scores of four target letters in the bytes of a word."""
        plan, scoring, bounds = self.plan, self.scoring, self.scoring.bounds
        if plan.lane_set.narrow is None:
            return None
        fits, kinds = bounds.fits16(plan.strip_rows, plan.chunk, plan.T), plan.lane_set.scores
        bytes_do = scoring.highest <= 127 and bounds.lowest >= -128
        if fits and bytes_do and self.four():
            return "permute4"
        pair = scoring.source.compared()
        if pair is not None and fits and kinds.compare(len(scoring.matrix), *pair):
            return "match"
        plan = plan.for_scores("matrix")
        kinds, letters = plan.lane_set.scores, scoring.matrix.shape[1]
        rows = plan.alpha <= plan.lane_set.profile_rows(plan.T)
        rows = rows or striped(plan, plan.form, "matrix", self.local)
        profiled = kinds.profile_rows and rows and letters < kinds.profile_letters
        fits = bounds.fits16(plan.strip_rows, plan.chunk, plan.T)
        return "matrix" if profiled and fits and bytes_do and columns >= LEAST_PROFILED else None

    def four(self) -> bool:
        """Can narrow lanes look up the scores of four letters at once, and are there no others?"""
        return self.device.byte_permute and self.plan.lane_set.scores.permute4 and self.seen.four()

    def is_held(self, m: int, n: int) -> bool:
        """Is an m x n matrix held whole?  In narrow ones many cells are padding, which counts."""
        tuning, paths = self.plan.tuning.held, self.paths
        most = min(tuning.top_cells, paths * tuning.path_cells) if paths else tuning.score_cells
        if not self.holds or self.plan.lane_set.per_item is not None or m * n > most:
            return False
        numbers = sizes.held_numbers(m, n)
        return numbers <= 2 * most and 2 * sizes.HELD_CELL_BYTES * numbers <= self.device.largest


def low_strips(plan: Plan, m: int) -> Plan:
    """The plan for m pruned rows of sequences that are alike; 0: as usual.  All strips wait for the
    one that the alignment leads through, so that a column of it should take little time: they have
    few rows a lane.  Of many rounds of strips most cells are pruned before they wait."""
    tuning, lanes = plan.tuning.pipeline, plan.B * plan.T
    alpha = min(tuning.related_alpha, -(-m // lanes))
    many = m > tuning.related_rounds * tuning.related_alpha * lanes
    if many or plan.alpha_fixed or alpha >= plan.alpha or alpha not in plan.alphas:
        return plan
    return replace(plan, alpha=alpha, alpha_fixed=True)


def striped(plan: Plan, form: str, score: str, local: bool) -> bool:
    """Are all narrow lanes of a strip at the same column (cl/wavefront/striped.clh)?  Only in local
    mode (elsewhere F changes nearly all rows), with more rows than other query profiles have."""
    lanes = plan.lane_set
    able = bool(lanes.striped_alphas) and form == "ticketed" and score == "matrix"
    return able and local and plan.alpha > lanes.scores.profile_rows


def _striped_plan(plan: Plan, score: str | None, tile: TileShape, local: bool) -> Plan | None:
    """The plan for lanes at the same column; None: they cannot compute a tile, or are slower."""
    if plan.alpha_fixed or score != "matrix" or not local:
        return None
    alphas = _heights(plan, plan.lane_set.striped_alphas, tile)
    timed = [
        (one.tile_cost(*tile.size) * striped_rows(one) / one.alpha, one)
        for one in (replace(plan, alpha=alpha) for alpha in alphas)
        if striped(one, one.form, score, local)
    ]
    if not timed:
        return None
    seconds, best = min(timed, key=itemgetter(0))
    return best if seconds < STRIPED_MOST * plan.least_cost(*tile.size) else None


def _tall_plan(plan: Plan, score: str | None, tile: TileShape) -> Plan | None:
    """The plan with the best height of one build for all; None: no such build, or a small tile."""
    m, n = tile.size
    if plan.alpha_fixed or score != "match" or m * n < plan.tuning.engine.small_cells:
        return None
    rows = max(m, n) // LEAST_STRIPS
    if plan.B > 1:
        rows = min(rows, m // (LEAST_STRIPS_A_GROUP * plan.B))
    most = max(plan.alpha, rows // plan.T)
    tall = tuple(alpha for alpha in plan.lane_set.tall_alphas if alpha <= most)
    alphas = _heights(plan, tall, tile)
    return plan.soonest(alphas, m, n) if alphas else None


def _heights(plan: Plan, alphas: tuple[int, ...], tile: TileShape) -> list[int]:
    """The ``alphas`` that divide a tile's special rows, or else those of a few even strips."""
    T = plan.T
    if tile.rows or not alphas:
        return [alpha for alpha in alphas if not any(row % (T * alpha) for row in tile.rows)]
    fewest = -(-tile.m // (T * max(alphas)))
    needed = {-(-tile.m // (T * (fewest + more))) for more in range(plan.B + 1)}
    return sorted({min(alpha for alpha in alphas if alpha >= least) for least in needed})


def striped_rows(plan: Plan) -> float:
    """Rows of a lane at a lag that take as long as a plan's at the same column, by its profile."""
    own = plan.machine.of("striped")
    return own.get("row", 1.0) * plan.alpha + own.get("column", 0.0)


def _mixes(scoring: Scoring) -> bool:
    """Can lanes of 11 bits compute these scores: compare, select, and never lose by a match?"""
    pair = scoring.source.compared()
    return pair is not None and pair[0] >= pair[1] and scoring.bounds.mixed


def mixed_plan(plan: Plan, given: Given, tile: TileShape, best: bool) -> Plan | None:
    """The plan for a large local tile in lanes of 11 bits; None: unable, or times unknown.
    ``best``: see `planned`."""
    able = given.local and best and tile.m * tile.n >= plan.tuning.engine.mixed_cells
    mixed = in_mixed_lanes(plan) if able and _mixes(given.scoring) else None
    return mixed and mixed.for_size(*tile.size, tile.rows)


def in_mixed_lanes(plan: Plan) -> Plan | None:
    """The plan in lanes of 11 bits; None where there are none, or their times are not known."""
    lanes = plan.lane_set
    known = f"{plan.engine}/{lanes.mixed}" in plan.machine.by_subject
    if lanes.mixed is None or not known or plan.alpha_fixed or plan.B_fixed:
        return None
    usual = LANE_SETS[lanes.mixed].defaults
    B = plan.B * usual.groups // lanes.defaults.groups
    chunk = min(plan.chunk, MIXED_CHUNK)
    return replace(plan, lanes=lanes.mixed, alpha=usual.alpha, B=B, chunk=chunk)


def seldom_waits(plan: Plan, columns: int) -> bool:
    """Do strips of 11 bits seldom wait for those of the tiles above in a pipeline of so many
    ``columns``?  (At a little over their lags those of 16 bits are faster.)"""
    return bool(columns >= LEAST_LAGS * plan.B * lag_of(plan.T, MIXED_CHUNK, columns))


def planned(given: Given, tile: TileShape, narrow: str | None, best: bool = False) -> Plan | None:
    """The plan for one tile; None if a special row is not at the end of a strip.  ``best``: is the
    best of all cells looked for, in a launch of this tile alone?  ``narrow``: the score file of
    narrow lanes; None where the tile stores moves, has forbidden pairs or blocks that are not
    proven to fit 16 bits, or scores that these cannot compute."""
    plan = given.plan.for_scores(narrow)
    tall = _striped_plan(plan, narrow, tile, given.local) or _tall_plan(plan, narrow, tile)
    usual = tall or plan.for_size(*tile.size, tile.rows)
    mixed = mixed_plan(plan, given, tile, best) if usual else None
    if usual and mixed:
        usual = min(usual, mixed, key=lambda one: one.tile_cost(*tile.size))
    return usual


def widths_of(plan: Plan, given: Given, best: bool, apart: bool = False) -> tuple[int, ...]:
    """The widths of narrow lanes for a tile.  8 and 11 bits need a local comparison with small
    scores and a search for the best cell, because its score shows when they were exceeded.  11 bits
    also need scores by compare and select, and a launch of one tile (not ``apart``), in which moves
    are not stored and cells are not collected."""
    shows = given.local and best
    whole = shows and not apart and plan.form == "ticketed" and plan.alpha > 1
    able = {8: shows and given.scoring.bounds.limit8 >= 0, MIXED: whole and _mixes(given.scoring)}
    return tuple(width for width in plan.lane_set.widths if able.get(width, True))


@dataclass(frozen=True)
class Program:
    """What decides which program computes one tile, or many."""

    #: Lanes, alpha, chunk; the score file; is the comparison local, with no H below 0?
    plan: Plan
    score: str
    local: bool
    #: Lanes of a strip of the tile's grid, and its form: "ticketed" or "two-phase".
    T: int
    form: str = "ticketed"
    widths: tuple[int, ...] = ()
    #: 0: no best cell; 1: the best cell; 2: collect all cells that reach the threshold.
    best: int = 0
    #: Are moves stored?  Are there forbidden pairs?  May blocks be pruned?
    moves: bool = False
    forbidden: bool = False
    prunes: bool = False
    skewed: bool = False
    #: Columns of an iteration of the main loop on the device, where lanes do not say it.
    unroll: int = 2
    warps: int = 1
    #: Does a launch compute many tiles?  Are they sections of one tile?
    many: bool = False
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

    @cached_property
    def defines(self) -> dict[str, int]:
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
            "UNROLL": self.unroll if lanes.unroll is None else lanes.unroll,
            "MULTI_TILE": int(self.many),
            "SECTIONS": int(self.sections),
            "FLAT_BUS": int(self.flat),
            "WARPS": self.warps,
            "PRUNE": int(self.prunes),
            "SKEWED_SCORES": int(self.skewed),
            "SHARED_STRIPS": int(self.shares_strips),
            "STRIPS_A_GROUP": sizes.STRIPS_A_GROUP,
        }
        # without narrow lanes the chunk may be larger than local memory, which 32-bit lanes do not
        # use; launches of many tiles have short blocks
        if lanes.of_warps and (lanes.narrow is not None or self.many):
            defines["CHUNK"] = self.plan.chunk
        asked = {"WIDE_CODES": int(self.wide_codes), "PROFILE_LETTERS": self.letters}
        return defines | {name: value for name, value in asked.items() if value} | dict(self.mixed)

    @cached_property
    def limits_registers(self) -> bool:
        """Do fewer registers make room for more work-groups?  Not where local memory says how many
        there are, nor where one tile has fewer warps than a compute unit has by default."""
        lanes = self.plan.lane_set
        few = lanes.of_warps and self.warps < lanes.defaults.groups
        return not lanes.local_profile and not (few and (self.sections or not self.many))


def program_of(
    plan: Plan, given: Given, score: str, best: int = 0, apart: bool = True, **own: Any
) -> Program:
    """The program of a plan's lanes.  ``apart``: see `widths_of`; ``own``: its other fields."""
    lanes, scoring = plan.lane_set, given.scoring
    # skewed H fit 15 bits, and skewed substitution scores 8 bits
    skewed = lanes.skews and scoring.bounds.fits16(plan.strip_rows, plan.chunk, plan.T, plan.alpha)
    widths = widths_of(plan, given, best > 0, apart)
    return Program(
        plan=plan,
        score=score,
        local=given.local,
        widths=widths,
        best=best,
        skewed=skewed and scoring.highest + 2 * scoring.gap_extend <= 127,
        unroll=given.device.unroll,
        letters=scoring.matrix.shape[1] + 1 if lanes.local_profile and score == "matrix" else 0,
        wide_codes=bool(scoring.source.defines),
        mixed=mixed_macros(scoring, widths),
        **{"T": plan.T, **own},
    )


def batch_program(plan: Plan, given: Given, score: str, moves: bool, best: int = 0) -> Program:
    """The program of a tile batch, with or without stored moves.  ``best``: see `Program`."""
    # a warp per scheduler, because a tile has few strips
    joins = plan.lane_set.of_warps and not plan.lane_set.local_profile
    warps = (joins and given.device.schedulers) or 1
    how: dict[str, Any] = {"moves": moves, "prunes": not moves, "warps": warps, "many": True}
    return program_of(plan, given, score, best, **how)


def mixed_macros(scoring: Scoring, widths: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """The macros of lanes of 11 bits; none without these."""
    if MIXED not in widths:
        return ()
    pair = scoring.source.compared()
    assert pair is not None
    first, extend = scoring.gap_open + scoring.gap_extend, scoring.gap_extend
    return ("MATCH", pair[0]), ("MISMATCH", pair[1]), ("GAP_FIRST", first), ("GAP_EXTEND", extend)
