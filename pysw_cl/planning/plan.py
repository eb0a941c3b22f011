"""Plans: the frozen choice of engine, device, B, T, alpha and tile size for one job, and what tiles
cost under it, by which alone plans and drivers choose.

Costs are counts (columns of strips, blocks, waits) times the times of the device's profile
(:mod:`.model.times`), in seconds on the device.  Tiles with moves are only compared among these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..scoring.scoring import Scoring
from .facts import DeviceFacts
from .geometry import TileShape
from .lane_sets import LANE_SETS
from .model.times import CUT, STRIP_ROW, Count, Line, Wave, lag_of
from .parameters import SPACE, Parameter, parameters_of
from .plan_fields import PlanFields
from .sizes import moves_bytes

P = TypeVar("P", bound="Plan")
#: Columns of a block where moves are stored: few, because the strip below waits for a block.
MOVES_CHUNK = 32
#: The same at most beside a query profile in local memory, whose rest holds the blocks.
LOCAL_PROFILE_CHUNK = 1024
#: What tiles cost (`Plan.ways`), kept for calls that repeat; and how many of them at most.
_kept: dict[tuple[Any, ...], list[tuple[float, int, int]]] = {}
MOST_KEPT = 4096


class Cut(NamedTuple):
    """Sections of a tile, and the groups that sweep them.  Of many ways to cut it: arrays."""

    alpha: Count
    B: Count
    chunk: Count
    sections: Count
    #: Columns that each also sweeps left of its first.
    overlap: Count
    #: Need their first columns no comparison with the section before?
    proven: Count


@dataclass(frozen=True, repr=False)
class Plan(PlanFields):
    """What a job runs on; prints as one line.

    ``B``: work-groups in flight, that is blocks of an external diagonal or strips swept at once; at
    most unless ``B_fixed``.  ``T``: lanes of a strip.  ``alpha``: rows of a lane, at most unless
    ``alpha_fixed``.  ``chunk``: columns between two progress reports of a ticketed strip, at most.
    ``tile_cells``: cells of a tile at most.  ``traceback_tile_cells``: cells of a tile with stored
    moves at most.  ``alpha_fixed``: the user gave ``alpha``; no tile gets another ``alpha``, ``B``
    or ``chunk``.  ``B_fixed``: the user gave ``B``.  ``tuning``: all other numbers that do not
    change a result.

    This is the wavefront engine's plan.  Another engine has a subclass beside it, with its own
    defaults, which says what the fields mean there (:mod:`pysw_cl.engines.registry`)."""

    def in_form(self, form: Any, device: DeviceFacts | None) -> Plan:
        """This plan of a device (None: of any), with the defaults of a form that has its own."""
        return self

    def without_narrow(self) -> Plan:
        """This plan with the lanes for what its narrow lanes, if any, cannot do."""
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
        """This plan with the best alpha, B and chunk for a tile of m x n cells.  Strips have to end
        at all these special ``rows``.  None if no alpha does that, or, if the lanes are not narrow,
        none of at least half the plan's.  CPUs try few values, because each is another build of the
        kernel, and one for small tiles, padding included."""
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
        return self.soonest(fit, m, n)

    def for_moves(self, m: int, n: int) -> Plan:
        """This plan for an m x n tile with stored moves.  Lanes of fewer rows make more strips and
        shorter steps, but each column of a lane takes a whole word of moves.  Of the alphas whose
        moves fit ``traceback_tile_cells``, the cheapest is taken (docs/algorithm.md, Plans)."""
        plan = self.without_narrow()
        alphas = plan.lane_set.moves_alphas
        if self.alpha_fixed or not alphas:
            return plan
        plan = replace(plan, chunk=min(plan.chunk, MOVES_CHUNK))
        most, tried = self.traceback_tile_cells // 2, [plan.alpha]
        if f"moves/{plan.lanes}" in self.machine.by_subject:
            lower = [alpha for alpha in alphas if alpha < plan.alpha]
            tried = [one for one in lower if moves_bytes(m, n, plan.T, one) <= most] + tried
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

    # What tiles cost: in seconds on the device, those in sections in the unit of others

    def ways(self, alphas: Sequence[int], m: int, n: int) -> list[tuple[float, int, int]]:
        """For each alpha the least cost of a tile of m x n cells without moves, and the B and chunk
        that have it; of equal costs those of the fewest groups."""
        machine, groups, chunks = self.machine, self.groups, self.chunks
        key = machine, self.engine, self.lanes, self.form, groups, self.T, chunks, m, n, *alphas
        kept = _kept.get(key)
        if kept is not None:
            return kept
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        alpha, B = np.array(alphas)[:, None, None], np.array(groups)[:, None]
        chunk = np.array(chunks)
        wave = self.wave(m, n, alpha, B, chunk)
        line = machine.pace(f"{self.engine}/{self.lanes}").lines(alpha, wave.share)
        costs = np.broadcast_to(line.seconds(wave, chunk), (len(alphas), len(groups), len(chunks)))
        costs = costs.reshape(len(alphas), -1)
        found = zip(costs.min(axis=1).tolist(), costs.argmin(axis=1).tolist(), strict=True)
        kept = [(cost, groups[at // len(chunks)], chunks[at % len(chunks)]) for cost, at in found]
        _kept[key] = kept  # which another thread may clear at once
        return kept

    def soonest(self: P, alphas: Sequence[int], m: int, n: int) -> P:
        """This plan with the alpha, B and chunk of least cost for m x n cells; of equal ones with
        the highest alpha."""
        ways = zip(self.ways(alphas, m, n), alphas, strict=True)
        (_, B, chunk), alpha = min(ways, key=lambda way: (way[0][0], -way[1]))
        return replace(self, alpha=alpha, B=B, chunk=chunk)

    def tile_cost(self, m: int, n: int) -> float:
        """The cost of a tile of m x n cells without moves, with the plan's own alpha."""
        return self.ways((self.alpha,), m, n)[0][0]

    def least_cost(self, m: int, n: int) -> float:
        """The least cost of such a tile with any alpha."""
        return min(cost for cost, _, _ in self.ways(self.alphas, m, n))

    def matrix_cost(self, m: int, n: int, shape: tuple[int, int]) -> float:
        """The cost of m x n cells in even tiles of at most this shape, each with its best alpha."""
        down, across = -(-m // shape[0]), -(-n // shape[1])
        return down * across * self.least_cost(-(-m // down), -(-n // across))

    def moves_cost(self, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells with stored moves and so many rows a lane.  It has few
        strips, each with a scheduler to itself, so a step takes its latency; where nobody measured
        that, it costs as without moves."""
        own = self.machine.by_subject.get(f"moves/{self.lanes}")
        if own is None:
            return self.ways((alpha,), m, n)[0][0]
        at_once = 1 if self.form == "two-phase" else self.B  # in two phases one group does all
        strips = -(-m // (self.T * alpha))
        rounds, busy = -(-strips // at_once), min(strips, at_once)
        steps = rounds * (n + self.T) + (busy - 1) * lag_of(self.T, self.chunk, n)
        step, row, block = (own.get(name, 0.0) for name in ("step", "row", "block"))
        return float(steps) * (step + row * alpha + block / self.chunk)

    def wave(self, m: int, n: int, alpha: Count, B: Count, chunk: Count) -> Wave:
        """The strips of a tile of m x n cells, which follow each other."""
        strips, shared = -(-m // (self.T * alpha)), self.lane_set.shares_strips(self.form)
        return self.machine.wave(strips, B, n + self.T, lag_of(self.T, chunk, n), shared)

    def cut_cost(self, cut: Cut, m: int, n: int) -> Count:
        """The cost of a tile of m x n cells in sections."""
        wave, checks = self.side_by_side(cut, m, n), (cut.sections - 1) * m
        checking = checks * (1 - cut.proven) * self.machine.of("call").get("check", 0.0)
        return self._section_line(cut, wave.share).seconds(wave, cut.chunk) + checking

    def rows_cost(self, rows: int) -> float:
        """The cost of the rows of all strips of a tile where a group has a core to itself: lanes
        enter a strip and leave it.  It is not in other costs, as it is the same for any alpha."""
        if self.machine.schedulers:
            return 0.0
        own = self.machine.of(f"{self.engine}/{self.lanes}").get(STRIP_ROW, 0.0)
        return own * rows / (self.T * self.B)

    def side_by_side(self, cut: Cut, m: int, n: int) -> Wave:
        """The strips of sections: those of different ones run at once, those of one in turn."""
        strips, width = -(-m // (self.T * cut.alpha)), -(-n // cut.sections) + cut.overlap + self.T
        sections, lag = self.whole(cut.sections, cut.B), lag_of(self.T, cut.chunk, width)
        return self.machine.side_by_side(strips, sections, cut.B, width, lag)

    def rounds(self, cut: Cut, m: int) -> Count:
        """About how many strips each group best takes of sections: arrays.  ``cut``: ways to cut a
        tile; its sections do not count.  In R rounds there are ``R B / strips`` sections, so groups
        sweep R overlaps, and ``strips / R`` strips of a section follow each other."""
        strips, overlap = -(-m // (self.T * cut.alpha)), cut.overlap + self.T
        line = self._section_line(cut, self.machine.share(cut.B))
        lag, pace = lag_of(self.T, cut.chunk, overlap), line.pace(0, cut.chunk)
        return np.sqrt(strips * (lag * pace + line.hop) / (overlap * pace + line.turn))

    def _section_line(self, cut: Cut, share: Count) -> Line:
        """What strips of sections take, of which so many share a scheduler."""
        pace = self.machine.pace(f"{self.engine}/{self.lanes}/{CUT}")
        return (pace.lines if isinstance(cut.alpha, np.ndarray) else pace.line)(cut.alpha, share)

    def shared_sections(self, B: Count) -> Count:
        """Neighbouring sections that share a work-group, if B strips are swept at once."""
        shared, schedulers = self.lane_set.shared_sections, self.machine.schedulers
        return shared * -(-B // schedulers) if shared > 1 and schedulers else B // B

    def whole(self, sections: Count, B: Count) -> Count:
        """So many sections, or more, so that those that share a group fill all groups."""
        shared = self.shared_sections(B)
        return -(-sections // shared) * shared


@dataclass(frozen=True, repr=False)
class StriplessPlan(Plan):
    """The plan of an engine that has no strips."""

    #: Tiles of any height are as good, and those of one row as fast.
    strip_rows = device_rows = 1
    #: No row is computed ahead of another.
    pipeline_lag = 0
    captures_inside = False

    def moves_cost(self, alpha: int, m: int, n: int) -> float:
        return float(m * n)

    def moves_bytes(self, m: int, n: int) -> int:
        """4 bits a cell."""
        return m * n // 2

    def buffers(self, tile: TileShape, scoring: Scoring) -> dict[str, int]:
        """What the engine allocates on the device for a tile."""
        return {}


def space() -> dict[str, Parameter]:
    """Every parameter, by its name in a ``plan`` mapping: the fields of a plan, then its tuning.

    The defaults are those of `Plan`; a device has its own (`default_plan`)."""
    return parameters_of(Plan) | SPACE
