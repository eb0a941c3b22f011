"""Plans: the frozen choice of engine, device, B, T, alpha and tile size for one job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import Any

from ..scoring.scoring import Scoring
from .cost import PlanCosts
from .facts import DeviceFacts
from .geometry import TileShape
from .lane_sets import LANE_SETS
from .parameters import SPACE, Parameter, parameters_of
from .sizes import moves_bytes

#: Columns of a block where moves are stored: few, because the strip below waits for a block.
MOVES_CHUNK = 32
#: The same at most beside a query profile in local memory, whose rest holds the blocks.
LOCAL_PROFILE_CHUNK = 1024


@dataclass(frozen=True, repr=False)
class Plan(PlanCosts):
    """What a job runs on; prints as one line.

    ``B``: work-groups in flight, that is blocks of an external diagonal or strips swept at once; at
    most unless ``B_fixed``.  ``T``: lanes of a strip.  ``alpha``: rows of a lane, at most unless
    ``alpha_fixed``.  ``chunk``: columns between two progress reports of a ticketed strip, at most.
    ``tile_cells``: cells of a tile at most.  ``traceback_tile_cells``: cells of a tile with stored
    moves at most.  ``alpha_fixed``: the user gave ``alpha``; no tile gets another ``alpha``, ``B``
    or ``chunk``.  ``B_fixed``: the user gave ``B``.  ``tuning``: all other numbers that do not
    change a result.

    This is the wavefront engine's plan.  Another engine has a subclass beside it, with its own
    defaults, which says what the fields mean there (:mod:`pysw_cl.engines.registry`).
    """

    def in_form(self, form: Any, device: DeviceFacts | None) -> Plan:
        """This plan of a device (None: of any), with the defaults of a form that has its own."""
        return self

    def without_narrow(self) -> Plan:
        """This plan with the lanes for what narrow lanes cannot do; unchanged if it has no narrow
        lanes."""
        lanes, T, alpha = self.lane_set.instead or (self.lanes, self.T, self.alpha)
        return replace(self, lanes=lanes, T=min(self.T, T), alpha=min(self.alpha, alpha))

    def for_scores(self, score: str | None) -> Plan:
        """This plan with the lanes for a score file of narrow lanes (None: they cannot do it)."""
        lanes = self.lane_set
        if score is None:
            return self.without_narrow() if lanes.narrow is not None else self
        name = self.lanes if lanes.local_profile else lanes.profiled
        if score != "matrix" or name is None:
            return self
        other, B = LANE_SETS[name], self.B
        if not self.B_fixed:
            B = max(1, B * other.defaults.groups // lanes.defaults.groups)
        alpha = self.alpha
        if not self.alpha_fixed:
            alpha = min(alpha, other.profile_rows(self.T))
        chunk = min(self.chunk, LOCAL_PROFILE_CHUNK)
        return replace(self, lanes=name, B=B, alpha=alpha, chunk=chunk)

    def for_size(self, m: int, n: int, rows: tuple[int, ...] = ()) -> Plan | None:
        """This plan with the best alpha, B and chunk for a tile of m x n cells.

        Strips have to end at all these special ``rows``.  None if no alpha does that, or, if the
        lanes are not narrow, none of at least half the plan's.  CPUs try few values, because each
        is another build of the kernel, and one for small tiles, padding included.
        """
        lanes = self.lane_set
        fit = list(range(1, self.alpha + 1))
        if rows:
            fit = [a for a in fit if gcd(*rows) % (self.T * a) == 0]
        if self.alpha_fixed or lanes.narrow is None:
            least = self.alpha if self.alpha_fixed else self.alpha / 2
            return replace(self, alpha=fit[-1]) if fit and fit[-1] >= least else None
        fit = [a for a in self.alphas if a in fit]
        if not fit:
            return None
        small = lanes.small_alpha
        if small in fit and small < self.alpha:
            strips = -(-m // (self.T * small))
            if strips * self.T * small * n < self.tuning.engine.small_cells:
                return replace(self, alpha=small)
        alpha, B, chunk = self.soonest(fit, m, n)
        return replace(self, alpha=alpha, B=B, chunk=chunk)

    def for_moves(self, m: int, n: int) -> Plan:
        """This plan for an m x n tile with stored moves.

        Lanes of fewer rows make more strips and shorter steps, but each column of a lane takes a
        whole word of moves.  Of the alphas whose moves fit ``traceback_tile_cells``, the one with
        the least cost is taken (docs/algorithm.md, Plans).
        """
        plan = self.without_narrow()
        alphas = plan.lane_set.moves_alphas
        if self.alpha_fixed or not alphas:
            return plan
        plan = replace(plan, chunk=min(plan.chunk, MOVES_CHUNK))

        def fits(alpha: int) -> bool:
            strips = -(-m // (plan.T * alpha))
            return 4 * strips * plan.T * (n + plan.T) <= self.traceback_tile_cells // 2

        if f"moves/{plan.lanes}" not in self.machine.by_subject:
            alphas = ()
        tried = [alpha for alpha in alphas if alpha < plan.alpha and fits(alpha)]
        tried.append(plan.alpha)
        return replace(plan, alpha=min(tried, key=lambda alpha: plan.moves_cost(alpha, m, n)))

    @cached_property
    def most_moves_bytes(self) -> float:
        """Bytes of the stored moves of a cell in whole strips, whatever `for_moves` takes."""
        plan = self.without_narrow()
        return max(4 * -(-rows // 8) / rows for rows in (plan.alpha, *plan.lane_set.moves_alphas))

    def moves_bytes(self, m: int, n: int) -> int:
        """Bytes of the stored moves of an m x n tile."""
        fits = self.for_moves(m, n)
        return int(moves_bytes(m, n, fits.T, fits.alpha))


@dataclass(frozen=True, repr=False)
class StriplessPlan(Plan):
    """The plan of an engine that has no strips."""

    @cached_property
    def strip_rows(self) -> int:
        """Tiles of any height are as good."""
        return 1

    @property
    def captures_inside(self) -> bool:
        """There are no strips."""
        return False

    @property
    def device_rows(self) -> int:
        """A tile of one row is as fast as a higher one."""
        return 1

    @property
    def pipeline_lag(self) -> int:
        """There is no pipeline: no row is computed ahead of another."""
        return 0

    def moves_cost(self, alpha: int, m: int, n: int) -> float:
        """Its cells."""
        return float(m * n)

    def moves_bytes(self, m: int, n: int) -> int:
        """4 bits a cell."""
        return m * n // 2

    def buffers(self, tile: TileShape, scoring: Scoring) -> dict[str, int]:
        """What the engine allocates on the device for a tile."""
        return {}


def space() -> dict[str, Parameter]:
    """Every parameter, by its name in a ``plan`` mapping: the fields of a plan, then its tuning.

    The defaults are those of `Plan`; a device has its own (`default_plan`).
    """
    return parameters_of(Plan) | SPACE
