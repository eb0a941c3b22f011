"""The fields of a plan, what follows from them alone, and whether a device can run them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isqrt
from typing import Any, ClassVar, TypeVar

from ..errors import PlanError, shown
from . import parameters
from .facts import DeviceFacts
from .lane_sets import LANE_SETS, LaneSet
from .model.times import GENERIC, Machine
from .parameters import SPACE, Tuning, parameters_of, tunable

#: The version of stored plans; no other can be read.
VERSION = 3
#: The forms of the wavefront.
FORMS = ("ticketed", "two-phase")
#: Longest side of a tile unless a plan says otherwise.
LONGEST_SIDE: int = SPACE["sweep.longest_side"].default  # type: ignore[assignment]
#: Bytes of local memory of a lane at most.
LANE_BYTES = 24
#: The field that is not stored, and all that are no wishes.
PASSING = "machine"
OWN = ("device", "alpha_fixed", "B_fixed", "tuning", PASSING)

P = TypeVar("P", bound="PlanFields")


def tile_shape(
    m: int, n: int, cells: int, device_rows: int = 0, longest: int = LONGEST_SIDE
) -> tuple[int, int]:
    """Rows and columns of tiles of at most ``cells`` cells and no side over ``longest``: squares if
    the matrix allows.  If ``cells`` allows tiles of the longest sides, but the matrix is longer,
    they have ``device_rows`` rows, which keep the device busy, and are as wide as allowed, because
    few groups have work in a tile's first and last columns."""
    if cells >= longest**2 and max(m, n) > longest and m > device_rows > 0:
        return device_rows, max(1, min(n, cells // device_rows))
    rows = min(m, max(1, isqrt(cells)))
    columns = max(1, min(n, cells // rows, longest))
    return max(1, min(m, cells // columns, longest)), columns


@dataclass(frozen=True)
class PlanFields:
    """See :class:`pysw_cl.planning.plan.Plan`."""

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
        return self.lane_set.tried(self.B, self.alpha)

    @property
    def groups(self) -> tuple[int, ...]:
        """Values of B that tiles may be computed with; the last is the plan's own.  Groups that
        wait take turns from those that share a scheduler with them.  So where few strips run at a
        time, fewer groups are sooner done."""
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
        version = facts.get("version")
        if version != VERSION:
            raise PlanError(
                f"a stored plan has version {shown(version)}; this pysw-cl reads version {VERSION}"
            )
        values = {name: value for name, value in facts.items() if name != "version"}
        unknown = sorted(set(values) - {f.name for f in fields(cls) if f.name != PASSING})
        if unknown:
            raise PlanError(f"a stored plan has a field {unknown[0]!r} that no plan has")
        tuning = Tuning().with_values(values.pop("tuning", {}))
        return cls(**values, tuning=tuning)

    def check_on(self, device: DeviceFacts | None) -> None:
        """Raise PlanError for a bad field, or if the device (None: any) cannot run this plan."""
        every: Any = PlanFields  # mypy looks for its hash among the fields
        own: Any = type(self)
        for name, one in (parameters_of(every) | parameters_of(own)).items():
            one.checked(getattr(self, name))
        if self.lanes not in tuple(LANE_SETS):
            known = ", ".join(LANE_SETS)
            raise PlanError(f"plan: lanes {self.lanes!r} do not exist; there are {known}")
        for said in self.wrong_on(device):
            raise PlanError(f"plan: {said}")

    def wrong_on(self, device: DeviceFacts | None) -> Iterator[str]:
        """Why the engine cannot run this plan on the device (None: on any)."""
        lanes, T = self.lanes, self.T
        if self.form not in self.forms:
            known = ", ".join(self.forms)
            yield f"form {self.form!r} does not exist for {self.engine}; there are {known}"
        lane_set = self.lane_set
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
