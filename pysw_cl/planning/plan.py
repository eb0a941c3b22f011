"""Plans: the frozen choice of engine, device, B, T, alpha and tile size for one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..errors import PlanError, shown
from .cost import CellCost, Cost, StripCost
from .geometry import tile_shape
from .lane_sets import LANE_SETS, LaneSet
from .limits import FORMS, check_strips
from .model.times import GENERIC, Machine
from .parameters import SPACE, Parameter, Tuning, default_tuning, parameters_of, tunable

if TYPE_CHECKING:
    from .facts import DeviceFacts


#: The version of stored plans; no other can be read.
VERSION = 3
#: Columns of a block where moves are stored: few, because the strip below waits for a block.
MOVES_CHUNK = 32
#: The same at most beside a query profile in local memory, whose rest holds the blocks.
LOCAL_PROFILE_CHUNK = 1024
STRIP_COST, CELL_COST = StripCost(), CellCost()
#: A device of which nothing is known.
UNKNOWN = Machine(GENERIC)
#: Fields that are no wishes, and those that are not stored either.
OWN = ("device", "alpha_fixed", "B_fixed", "tuning", "machine")
_PASSING = ("machine",)


P = TypeVar("P", bound="Plan")


@dataclass(frozen=True)
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
    defaults, which says what the fields mean there (:mod:`pysw_cl.engines.registry`).
    """

    engine: str = "wavefront"
    device: str = ""
    lanes: str = "vector"
    form: str = "ticketed"
    B: int = tunable(
        2,
        1,
        1 << 20,
        "a device has its lane set's groups for each compute unit: enough to hide their latency",
        "the state of all groups is kept in memory",
    )
    T: int = tunable(
        64,
        1,
        1024,
        "a device has the lanes of its vectors or warps; fewer if its work-groups are smaller",
        "one of the values that the lane set allows",
    )
    alpha: int = tunable(
        16,
        1,
        64,
        "the most rows of a lane: a row costs less in a longer lane; small tiles have fewer",
        "the rows are kept in registers",
    )
    chunk: int = tunable(
        256,
        1,
        1 << 24,
        "a report costs little beside 256 columns, and the strip below waits for no more",
        "kernels add it to a column number in 32 bits",
    )
    tile_cells: int = tunable(
        1 << 33,
        1,
        1 << 62,
        "a tile is one report: a CPU takes about a second for one, and a GPU has larger ones",
    )
    traceback_tile_cells: int = tunable(
        1 << 24,
        1,
        1 << 62,
        "4 bits of moves a cell: 8 MiB; more if many groups sweep a tile at once",
        "moves have to fit the device",
    )
    alpha_fixed: bool = False
    B_fixed: bool = False
    tuning: Tuning = field(default_factory=default_tuning)
    #: What is known of the device's speed, which no wish changes and which is not stored.
    machine: Machine = field(default=UNKNOWN, compare=False, repr=False)

    #: What ``form`` may be.
    forms: ClassVar[tuple[str, ...]] = FORMS

    def in_form(self, form: Any, device: DeviceFacts | None) -> Plan:
        """This plan of a device (None: of any), with the defaults of a form that has its own."""
        return self

    def tile_shape(self, m: int, n: int) -> tuple[int, int]:
        """Rows and columns of the tiles of an m x n matrix."""
        longest, sections = self.tuning.sweep.longest_side, self.tuning.sections
        if m <= min(sections.most_rows, longest):
            longest = max(longest, sections.longest_row)
        return tile_shape(m, n, self.tile_cells, self.device_rows, longest)

    @cached_property
    def strip_rows(self) -> int:
        """Rows of a strip."""
        return self.T * self.alpha

    def may_be_cut(self, m: int, n: int) -> bool:
        """Do strips take so long for a tile of m x n cells that it is worth the build of another
        kernel, if that is faster?"""
        rows = -(-m // self.strip_rows) * self.strip_rows
        return rows * n >= self.tuning.sections.least_cells

    @property
    def device_rows(self) -> int:
        """Rows of a tile that gives every work-group a strip."""
        return self.B * self.strip_rows

    @property
    def pipeline_lag(self) -> int:
        """Columns by which the last strip of ``device_rows`` lags behind the first.  A tile takes
        this many column steps more than it has columns."""
        return self.B * (self.T + self.chunk)

    @cached_property
    def lane_set(self) -> LaneSet:
        """The lane set that ``lanes`` names."""
        return LANE_SETS[self.lanes]

    @property
    def alphas(self) -> tuple[int, ...]:
        """Values of alpha that tiles may be computed with; the last is the plan's own."""
        if self.alpha_fixed or self.lane_set.narrow is None:
            return (self.alpha,)
        return self.lane_set.tried(self.B, self.alpha)

    @property
    def groups(self) -> tuple[int, ...]:
        """Values of B that tiles may be computed with; the last is the plan's own.

        Groups that wait take turns from those that share a scheduler with them.  So where few
        strips run at a time, fewer groups are sooner done."""
        if self.alpha_fixed or self.B_fixed or self.lane_set.narrow is None:
            return (self.B,)
        return self.machine.groups(self.B)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Values of ``chunk`` that tiles may be computed with: a strip waits for less of a shorter
        block, but blocks take time, too."""
        early = self.lane_set.early_chunk
        if self.alpha_fixed or early is None or early >= self.chunk:
            return (self.chunk,)
        return early, self.chunk

    @property
    def cost(self) -> Cost:
        """The cost model of all choices."""
        return STRIP_COST

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
        lanes, cost = self.lane_set, self.cost
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
        alpha, B, chunk = cost.soonest(self, fit, m, n)
        return replace(self, alpha=alpha, B=B, chunk=chunk)

    def for_moves(self, m: int, n: int) -> Plan:
        """This plan for an m x n tile with stored moves.

        Lanes of fewer rows make more strips and shorter steps, but each column of a lane takes a
        whole word of moves.  Of the alphas whose moves fit ``traceback_tile_cells``, the one with
        the least cost is taken (docs/algorithm.md, Plans).
        """
        plan = self.without_narrow()
        alphas, cost = plan.lane_set.moves_alphas, plan.cost
        if self.alpha_fixed or not alphas:
            return plan
        plan = replace(plan, chunk=min(plan.chunk, MOVES_CHUNK))

        def fits(alpha: int) -> bool:
            strips = -(-m // (plan.T * alpha))
            return 4 * strips * plan.T * (n + plan.T) <= self.traceback_tile_cells // 2

        if f"moves/{plan.lanes}" not in self.machine.times.by_subject:
            alphas = ()
        tried = [alpha for alpha in alphas if alpha < plan.alpha and fits(alpha)]
        tried.append(plan.alpha)
        return replace(plan, alpha=min(tried, key=lambda a: cost.tile_with_moves(plan, a, m, n)))

    def overrides(self) -> dict[str, Any]:
        """The mapping with which `make_plan` makes this plan again, on any device: numbers and
        names only."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            **{k: v for k, v in values.items() if k not in OWN},
            **self.tuning.changed,
        }

    def facts(self) -> dict[str, Any]:
        """The plan as JSON can hold it."""
        names = [f.name for f in fields(self) if f.name not in _PASSING]
        values = {name: getattr(self, name) for name in names}
        return {**values, "tuning": self.tuning.changed, "version": VERSION}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`facts` stored.

        Raises PlanError for another version, or for an unknown field or parameter.
        """
        version = facts.get("version")
        if version != VERSION:
            raise PlanError(
                f"a stored plan has version {shown(version)}; this pysw-cl reads version {VERSION}"
            )
        values = {name: value for name, value in facts.items() if name != "version"}
        unknown = sorted(set(values) - {f.name for f in fields(cls)} | set(values) & set(_PASSING))
        if unknown:
            raise PlanError(f"a stored plan has a field {unknown[0]!r} that no plan has")
        tuning = Tuning().with_values(values.pop("tuning", {}))
        return cls(**values, tuning=tuning)

    def check_on(self, device: DeviceFacts | None) -> None:
        """Raise PlanError if the engine cannot run this plan on the device (None: on any)."""
        check_strips(self, device)

    def taking(self, other: Plan) -> Plan:
        """A plan of this kind, with the fields of another."""
        return type(self)(**{one.name: getattr(other, one.name) for one in fields(other)})

    def __repr__(self) -> str:
        return f"<Plan {self}>"

    def __str__(self) -> str:
        return (
            f"{self.engine} on {self.device or 'any device'}: {self.lanes} lanes, {self.form}, "
            f"B={self.B} T={self.T} alpha={self.alpha}"
        )


@dataclass(frozen=True, repr=False)
class StriplessPlan(Plan):
    """The plan of an engine that has no strips."""

    @property
    def device_rows(self) -> int:
        """A tile of one row is as fast as a higher one."""
        return 1

    @property
    def pipeline_lag(self) -> int:
        """There is no pipeline: no row is computed ahead of another."""
        return 0

    @property
    def cost(self) -> Cost:
        """Its time is proportional to the cells."""
        return CELL_COST


#: The parameters that are fields of a plan, by name.
FIELDS = parameters_of(Plan)


#: Those of its subclasses that were asked for.
_FIELDS: dict[type, dict[str, Parameter]] = {}


def fields_of(plan: Plan) -> dict[str, Parameter]:
    """The parameters that are fields of a plan of any class, by name."""
    kind = type(plan)
    if kind not in _FIELDS:
        _FIELDS[kind] = FIELDS | parameters_of(kind)
    return _FIELDS[kind]


def space() -> dict[str, Parameter]:
    """Every parameter, by its name in a ``plan`` mapping: the fields of a plan, then its tuning.

    The defaults are those of `Plan`; a device has its own (`default_plan`).
    """
    return {**FIELDS, **SPACE}
