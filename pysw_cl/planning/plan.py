"""Plans: the frozen choice of engine, device, B, T, alpha and tile size for one job, and what tiles
cost under it, by which alone plans and drivers choose.

Costs are counts (columns of strips, blocks, waits) times the times of the device's profile
(:mod:`.model.times`), in seconds on the device.  Tiles with moves are only compared among these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import gcd
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..errors import PlanError, shown
from ..scoring.scoring import Scoring
from . import parameters
from .facts import DeviceFacts
from .geometry import TileShape, tile_shape
from .lane_sets import LANE_SETS, LaneSet
from .model.times import GENERIC, STRIP_ROW, Count, Machine, Wave, lag_of
from .parameters import SPACE, Parameter, Tuning, parameters_of, tunable
from .sizes import moves_bytes

P = TypeVar("P", bound="Plan")
#: The version of stored plans; no other can be read.
VERSION = 3
#: The forms of the wavefront.
FORMS = ("ticketed", "two-phase")
#: Bytes of local memory of a lane at most.
LANE_BYTES = 24
#: The field that is not stored, and all that are no wishes.
PASSING = "machine"
OWN = ("device", "alpha_fixed", "B_fixed", "tuning", PASSING)
#: Columns of a block where moves are stored: few, because the strip below waits for a block.
MOVES_CHUNK = 32
#: The same at most beside a query profile in local memory, whose rest holds the blocks.
LOCAL_PROFILE_CHUNK = 1024
#: What tiles cost (`Plan.ways`), kept for calls that repeat; and how many of them at most.
_kept: dict[tuple[Any, ...], list[tuple[float, int, int]]] = {}
MOST_KEPT = 4096


@dataclass(frozen=True, repr=False)
class Plan:
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

    engine: str = "wavefront"
    device: str = ""
    lanes: str = "vector"
    form: str = "ticketed"
    B: int = tunable(
        2, 1, 1 << 20, "enough groups hide latency", "the state of all groups is kept in memory"
    )
    T: int = tunable(
        64, 1, 1024, "it is a vector or a warp", "one of the values that the lane set allows"
    )
    alpha: int = tunable(
        16, 1, 64, "a row costs less in a longer lane", "the rows are kept in registers"
    )
    chunk: int = tunable(
        256, 1, 1 << 24, "reports cost little", "kernels add it to a column number in 32 bits"
    )
    tile_cells: int = tunable(1 << 33, 1, 1 << 62, "a tile is one report: a second of a CPU")
    traceback_tile_cells: int = tunable(
        1 << 24, 1, 1 << 62, "4 bits of moves a cell: 8 MiB", "moves have to fit the device"
    )
    alpha_fixed: bool = False
    B_fixed: bool = False
    tuning: Tuning = field(default_factory=lambda: parameters.usual)
    #: What is known of the device's speed, which no wish changes and which is not stored.
    machine: Machine = field(default=GENERIC, compare=False, repr=False)

    forms: ClassVar[tuple[str, ...]] = FORMS

    def tile_shape(self, m: int, n: int) -> tuple[int, int]:
        """Rows and columns of the tiles of an m x n matrix."""
        longest, sections = self.tuning.sweep.longest_side, self.tuning.sections
        if m <= min(sections.most_rows, longest):
            longest = max(longest, sections.longest_row)
        return tile_shape(m, n, self.tile_cells, self.device_rows, longest)

    @cached_property
    def strip_rows(self) -> int:
        return self.T * self.alpha

    @property
    def tall_rows(self) -> int:
        """Rows of the highest strips, where one build does for several heights."""
        tall = () if self.alpha_fixed else self.lane_set.tall_alphas
        return self.T * max((self.alpha, *tall))

    def may_be_cut(self, m: int, n: int) -> bool:
        """Do strips of m x n cells take so long that another kernel is worth its build?"""
        return -(-m // self.strip_rows) * self.strip_rows * n >= self.tuning.sections.least_cells

    @property
    def captures_inside(self) -> bool:
        """Are special rows and columns captured inside a tile of strips?"""
        return self.form == "ticketed"

    @property
    def device_rows(self) -> int:
        """Rows of a tile that gives every work-group a strip."""
        return self.B * self.strip_rows

    @property
    def pipeline_lag(self) -> int:
        """Columns by which the last strip of ``device_rows`` lags behind the first."""
        return self.B * (self.T + self.chunk)

    @cached_property
    def lane_set(self) -> LaneSet:
        return LANE_SETS[self.lanes]

    @property
    def alphas(self) -> tuple[int, ...]:
        """Values of alpha that tiles may be computed with; the last is the plan's own."""
        if self.alpha_fixed or self.lane_set.narrow is None:
            return (self.alpha,)
        some = [alphas for least, alphas in self.lane_set.alphas if least <= self.B][-1:]
        return (*(one for alphas in some for one in alphas if one < self.alpha), self.alpha)

    @property
    def groups(self) -> tuple[int, ...]:
        """Values of B that tiles may be computed with; the last is the plan's own.  Groups that
        wait take turns from others of their scheduler: for few strips fewer groups are better."""
        if self.alpha_fixed or self.B_fixed or self.lane_set.narrow is None:
            return (self.B,)
        return self.machine.groups(self.B)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Values of ``chunk``: strips wait less for shorter blocks, but blocks take time, too."""
        early = self.lane_set.early_chunk
        if self.alpha_fixed or early is None or early >= self.chunk:
            return (self.chunk,)
        return early, self.chunk

    def overrides(self) -> dict[str, Any]:
        """The mapping with which `make_plan` makes this plan again, on any device."""
        names = [f.name for f in fields(self) if f.name not in OWN]
        return {name: getattr(self, name) for name in names} | self.tuning.changed

    def facts(self) -> dict[str, Any]:
        """The plan as JSON can hold it."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != PASSING}
        return {**values, "tuning": self.tuning.changed, "version": VERSION}

    @classmethod
    def of_facts(cls: type[P], facts: Mapping[str, Any]) -> P:
        """The plan that `facts` stored.  Raises PlanError: another version, or an unknown name."""
        values = dict(facts)
        if (version := values.pop("version", None)) != VERSION:
            raise PlanError(
                f"a stored plan has version {shown(version)}; this pysw-cl reads version {VERSION}"
            )
        unknown = sorted(set(values) - {f.name for f in fields(cls) if f.name != PASSING})
        if unknown:
            raise PlanError(f"a stored plan has a field {unknown[0]!r} that no plan has")
        return cls(**{**values, "tuning": Tuning().with_values(values.get("tuning", {}))})

    def check_on(self, device: DeviceFacts | None) -> None:
        """Raise PlanError for a bad field, or if the device (None: any) cannot run this plan."""
        own: Any = type(self)  # mypy looks for its hash among the fields
        for name, one in (parameters_of(Plan) | parameters_of(own)).items():
            one.checked(getattr(self, name))
        if self.lanes not in tuple(LANE_SETS):
            known = ", ".join(LANE_SETS)
            raise PlanError(f"plan: lanes {self.lanes!r} do not exist; there are {known}")
        for said in self.wrong_on(device):
            raise PlanError(f"plan: {said}")

    def wrong_on(self, device: DeviceFacts | None) -> Iterator[str]:
        """Why the engine cannot run this plan on the device (None: on any)."""
        lanes, lane_set, T = self.lanes, self.lane_set, self.T
        if self.form not in self.forms:
            known = ", ".join(self.forms)
            yield f"form {self.form!r} does not exist for {self.engine}; there are {known}"
        if T not in lane_set.T:
            yield f"{lanes} runs T in {lane_set.T}, not {T}"
        if device is None:
            return
        name, why, per_item = device.name, device.why, lane_set.per_item
        if lanes in device.refused_lanes:
            yield f"{lanes} lanes are not for {name}: {why['refused_lanes']}"
        if device.least_T > T:
            yield f"T is at least {device.least_T} on {name}, not {T}: {why['least_T']}"
        if per_item is None:
            return
        if device.most_items < lane_set.group(T):
            yield f"{name} runs at most {device.most_items} work-items a group, T is {T}"
        warp = per_item * device.warp_width
        if lane_set.of_warps and warp != T:
            width = f"{per_item} a work-item of a warp"
            yield f"{lanes} lanes are {width}: on {name} T is {warp}, not {T}"
        if device.local_bytes < LANE_BYTES * T:
            yield f"T={T} needs {LANE_BYTES * T} bytes of local memory"

    def __repr__(self) -> str:
        return f"<Plan {self}>"

    def __str__(self) -> str:
        return (
            f"{self.engine} on {self.device or 'any device'}: {self.lanes} lanes, {self.form}, "
            f"B={self.B} T={self.T} alpha={self.alpha}"
        )

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
        alpha = self.alpha if self.alpha_fixed else min(self.alpha, other.profile_rows(self.T))
        chunk = min(self.chunk, LOCAL_PROFILE_CHUNK)
        return replace(self, lanes=name, B=B, alpha=alpha, chunk=chunk)

    def for_size(self, m: int, n: int, rows: tuple[int, ...] = ()) -> Plan | None:
        """This plan with the best alpha, B and chunk for a tile of m x n cells.  Strips have to end
        at all these special ``rows``.  None if no alpha does that, or, if the lanes are not narrow,
        none of at least half the plan's.  CPUs try few values, because each is another build of the
        kernel, and one for small tiles, padding included."""
        lanes = self.lane_set
        fit = [a for a in range(1, self.alpha + 1) if gcd(*rows) % (self.T * a) == 0]
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

    # What tiles cost: in seconds on the device

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
        """This plan with the cheapest alpha, of equal ones the highest, B and chunk."""
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
        """The cost of a tile of m x n cells with stored moves.  Its few strips have a scheduler
        each, so a step takes its latency; where nobody measured that: as without moves."""
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

    def rows_cost(self, rows: int) -> float:
        """The cost of the rows of all strips of a tile where a group has a core to itself: lanes
        enter a strip and leave it.  It is not in other costs, as it is the same for any alpha."""
        if self.machine.schedulers:
            return 0.0
        own = self.machine.of(f"{self.engine}/{self.lanes}").get(STRIP_ROW, 0.0)
        return own * rows / (self.T * self.B)


@dataclass(frozen=True, repr=False)
class StriplessPlan(Plan):
    """The plan of an engine that has no strips."""

    #: Tiles of any height are as good, and those of one row as fast.
    strip_rows = tall_rows = device_rows = 1
    #: No row is computed ahead of another.
    pipeline_lag = 0
    captures_inside = False

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
