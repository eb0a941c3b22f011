"""Plans: the frozen choice of engine, device, B, T, alpha and tile size for one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PlanError
from .geometry import tile_shape
from .lane_sets import LANE_SETS, LaneSet
from .parameters import SPACE, Tuning, default_tuning
from .renamed import renamed, warn_of

if TYPE_CHECKING:
    from ..opencl.device import Runtime


FORMS = ("ticketed", "two-phase")
#: Of stored plans; version 1 had no tuning, and version 2 had old names (:mod:`.renamed`).
VERSION = 3
#: Columns of a block where moves are kept: few, because the strip below waits for them.
MOVES_CHUNK = 32
MOST_B = 1 << 20  #: work-groups in flight; their state is kept in memory
MOST_CHUNK = 1 << 24  #: kernels add it to a column number in 32 bits


@dataclass(frozen=True)
class Plan:
    """What a job runs on; prints as one line.

    ``B`` work-groups in flight (blocks of an external diagonal, or strips walked at once),
    ``T`` lanes of ``alpha`` rows each, ``chunk`` columns between two progress reports of a
    ticketed strip, tiles of at most ``tile_cells`` cells, tiles with stored moves of at most
    ``traceback_tile_cells`` cells.  ``fixed``: ``alpha`` was asked for; else it is the most a lane
    may have.
    ``tuning``: every other number that may be chosen without changing a result.
    """

    engine: str = "wavefront"
    device: str = ""
    lanes: str = "vector"
    form: str = "ticketed"
    B: int = 2
    T: int = 64
    alpha: int = 16
    chunk: int = 256
    tile_cells: int = 1 << 33
    traceback_tile_cells: int = 1 << 24
    fixed: bool = False
    tuning: Tuning = field(default_factory=default_tuning)

    def tile_shape(self, m: int, n: int) -> tuple[int, int]:
        """Rows and columns of the tiles that a matrix of m x n cells is swept in."""
        longest = self.tuning.sweep.longest_side
        return tile_shape(m, n, self.tile_cells, self.busy_rows, longest)

    @property
    def busy_rows(self) -> int:
        """Rows of a tile that gives every work-group a strip."""
        return 1 if self.engine == "reference" else self.B * self.T * self.alpha

    @property
    def fill(self) -> int:
        """Columns that the first of ``busy_rows`` are ahead of the last: a tile takes so much
        longer than its columns do."""
        return 0 if self.engine == "reference" else self.B * (self.T + self.chunk)

    @property
    def walk_cells(self) -> int:
        """What ``traceback_tile_cells`` was called; it warns."""
        value: int = getattr(self, warn_of("walk_cells"))
        return value

    @property
    def lane_set(self) -> LaneSet:
        """What its ``lanes`` stand for."""
        return LANE_SETS[self.lanes]

    def without_narrow(self) -> Plan:
        """This plan for what narrow lanes do not do; itself where it has none."""
        lanes, T, alpha = self.lane_set.instead or (self.lanes, self.T, self.alpha)
        return replace(self, lanes=lanes, T=min(self.T, T), alpha=min(self.alpha, alpha))

    def for_size(self, m: int, n: int, rows: tuple[int, ...] = ()) -> Plan | None:
        """This plan with the alpha that a tile of m x n cells is done with soonest, of those with
        which strips end at all these inner ``rows``; None if there is none (or none that is at
        least half of the plan's, where its lanes are not narrow).

        CPUs try some values only, because each is another build of the kernel, which takes seconds
        there.
        """
        lanes = self.lane_set
        fit = [a for a in range(1, self.alpha + 1) if not any(r % (self.T * a) for r in rows)]
        if self.fixed or lanes.narrow is None:
            least = self.alpha if self.fixed else self.alpha / 2
            return replace(self, alpha=fit[-1]) if fit and fit[-1] >= least else None
        fit = [a for a in lanes.tried(self.B, self.alpha) if a in fit]
        if not fit:
            return None
        alpha = min(fit, key=lambda alpha: (self._work(alpha, m, n), -alpha))
        at_once = self.B * self.T * alpha
        if lanes.early_chunk is not None and m <= at_once and n <= 2 * at_once:
            return replace(self, alpha=alpha, chunk=min(self.chunk, lanes.early_chunk))
        return replace(self, alpha=alpha)

    def _work(self, alpha: int, m: int, n: int) -> float:
        """What a tile of m x n cells takes with this alpha, in rows of one column of one lane.

        Strips are taken in rounds of B, each n columns long, and follow each other ``T + chunk``
        columns apart; a column costs its rows and some more.
        """
        strips = -(-m // (self.T * alpha))
        rounds, busy = -(-strips // self.B), min(strips, self.B)
        column = self.lane_set.column.rows(alpha, busy, self.B)
        return (rounds * n + busy * (self.T + self.chunk)) * column

    def work(self, m: int, n: int) -> float:
        """What a tile of m x n cells takes with the alpha that it is done with soonest, beside
        another tile of this plan."""
        if self.engine == "reference":
            return float(m * n)
        if self.fixed or self.lane_set.narrow is None:
            return self._work(self.alpha, m, n)
        tried = self.lane_set.tried(self.B, self.alpha)
        return min(self._work(alpha, m, n) for alpha in tried)

    def for_moves(self, m: int, n: int) -> Plan:
        """This plan for an m x n tile whose moves are kept.

        Such a tile has few strips.  Where lanes are those of warps, each strip has a scheduler to
        itself and waits for the latency of its steps (:class:`.lane_sets.Moves`).  Lanes of fewer
        rows make more strips and shorter steps, but a lane's column takes a whole word of moves:
        the soonest done of those whose moves fit ``traceback_tile_cells`` (docs/algorithm.md,
        Plans).
        """
        plan = self.without_narrow()
        moves = plan.lane_set.moves
        if self.fixed or moves is None:
            return plan
        chunk = min(plan.chunk, MOVES_CHUNK)
        at_once = 1 if plan.form == "two-phase" else plan.B  # two phases keep no moves: one group

        def strips(alpha: int) -> int:
            return -(-m // (plan.T * alpha))

        def cost(alpha: int) -> int:
            rounds, busy = -(-strips(alpha) // at_once), min(strips(alpha), at_once)
            steps = rounds * (n + plan.T) + (busy - 1) * (plan.T + chunk)
            return steps * moves.clocks(alpha, chunk)

        def fits(alpha: int) -> bool:
            return 4 * strips(alpha) * plan.T * (n + plan.T) <= self.traceback_tile_cells // 2

        tried = [alpha for alpha in moves.alphas if alpha < plan.alpha and fits(alpha)]
        return replace(plan, alpha=min([*tried, plan.alpha], key=cost), chunk=chunk)

    def overrides(self) -> dict[str, Any]:
        """What `make_plan` takes to make this plan again, on the same device or another: whole
        numbers, numbers and names only."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            **{k: v for k, v in values.items() if k not in ("device", "fixed", "tuning")},
            **self.tuning.changed,
        }

    def facts(self) -> dict[str, Any]:
        """The plan as JSON can hold it."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**values, "tuning": self.tuning.changed, "version": VERSION}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`facts` was asked of, by this version or an earlier one.

        Raises PlanError for a plan of a later version, or with a field or a parameter that this one
        does not have.
        """
        version = facts.get("version", 1)
        if version > VERSION:
            raise PlanError(
                f"a stored plan has version {version}; this one of pysw-cl reads up to {VERSION}"
            )
        values = renamed({name: value for name, value in facts.items() if name != "version"})
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise PlanError(f"a stored plan has a field {unknown[0]!r} that no plan has")
        tuning = Tuning().with_values(values.pop("tuning", {}))
        return cls(**values, tuning=tuning)

    def __str__(self) -> str:
        if self.engine == "reference":
            return "reference on the host: NumPy"
        return (
            f"{self.engine} on {self.device or 'any device'}: {self.lanes} lanes, {self.form}, "
            f"B={self.B} T={self.T} alpha={self.alpha}"
        )


def _checked(plan: Plan, runtime: Runtime | None) -> Plan:
    for name in ("B", "T", "alpha", "chunk", "tile_cells", "traceback_tile_cells"):
        value = getattr(plan, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PlanError(f"plan: {name} must be a whole number of at least 1, not {value!r}")
    if plan.B > MOST_B:
        raise PlanError(f"plan: B is at most {MOST_B}, not {plan.B}")
    if plan.chunk > MOST_CHUNK:
        raise PlanError(f"plan: chunk is at most {MOST_CHUNK}, not {plan.chunk}")
    if plan.engine == "reference":
        return plan
    if plan.engine != "wavefront":
        raise PlanError(
            f"plan: engine {plan.engine!r} does not exist, only wavefront and reference"
        )
    if plan.form not in FORMS:
        raise PlanError(f"plan: form {plan.form!r} does not exist; there are {', '.join(FORMS)}")
    if plan.lanes not in tuple(LANE_SETS):
        raise PlanError(
            f"plan: lanes {plan.lanes!r} do not exist; there are {', '.join(LANE_SETS)}"
        )
    lanes = plan.lane_set
    if plan.T not in lanes.T:
        raise PlanError(f"plan: {plan.lanes} runs T in {lanes.T}, not {plan.T}")
    if plan.alpha > 64:
        raise PlanError(f"plan: alpha is at most 64 (rows kept in registers), not {plan.alpha}")
    if runtime is not None and plan.lanes in runtime.traits.refused_lanes:
        raise PlanError(
            f"plan: {plan.lanes} lanes are not for {runtime.info.name} [{runtime.info.platform}]: "
            f"{runtime.why('refused_lanes')}"
        )
    least = runtime.traits.least_T if runtime is not None else 1
    if runtime is not None and least > plan.T:
        raise PlanError(
            f"plan: T is at least {least} on {runtime.info.name}, not {plan.T}: "
            f"{runtime.why('least_T')}"
        )
    if runtime is not None and lanes.per_item is not None:
        most = int(runtime.device.max_work_group_size)
        if most < lanes.group(plan.T):
            raise PlanError(
                f"plan: {runtime.info.name} runs at most {most} work-items a group, T is {plan.T}"
            )
        warp = lanes.per_item * runtime.traits.warp_width
        if lanes.of_warps and warp != plan.T:
            raise PlanError(
                f"plan: {plan.lanes} lanes are {lanes.per_item} a work-item of a warp: "
                f"on {runtime.info.name} T is {warp}, not {plan.T}"
            )
        local = 24 * plan.T
        if int(runtime.device.local_mem_size) < local:
            raise PlanError(f"plan: T={plan.T} needs {local} bytes of local memory")
    return plan


#: The reference engine keeps full matrices, 32 bytes a cell.
REFERENCE = Plan(engine="reference", tile_cells=1 << 22, traceback_tile_cells=1 << 22)


def default_plan(runtime: Runtime) -> Plan:
    """The plan without tuning: what the device kind does well (docs/algorithm.md, Plans)."""
    info, lanes = runtime.info, LANE_SETS[runtime.info.lanes]
    usual = lanes.defaults
    moves_cells = usual.ticketed_moves_cells if info.form == "ticketed" else usual.moves_cells
    return Plan(
        device=info.name,
        lanes=info.lanes,
        form=info.form,
        B=usual.groups * info.compute_units,
        T=_default_T(lanes, runtime),
        alpha=usual.alpha,
        chunk=usual.chunk,
        tile_cells=usual.tile_cells,
        traceback_tile_cells=moves_cells,
    )


def _default_T(lanes: LaneSet, runtime: Runtime) -> int:
    """Lanes of a strip: those of a warp, or as many as a work-group of the device may have."""
    if lanes.per_item is None:
        return lanes.defaults.T
    if lanes.of_warps:
        return lanes.per_item * runtime.traits.warp_width
    T, most = lanes.defaults.T, int(runtime.device.max_work_group_size)
    while lanes.group(T) > most:
        T //= 2
    return T


def make_plan(runtime: Runtime | None, wishes: Plan | Mapping[str, Any] | None = None) -> Plan:
    """The default plan with ``wishes`` (a Plan, or a mapping of its fields) put in.

    Raises PlanError for a name or value that does not exist or that the device cannot run.
    """
    if isinstance(wishes, Plan):
        named = wishes if runtime is None else replace(wishes, device=runtime.info.name)
        return _checked(named, runtime)
    if wishes is not None and not isinstance(wishes, Mapping):
        raise PlanError(f"plan must be a Plan or a mapping of its fields, not {wishes!r}")
    wishes = {
        name: int(value) if isinstance(value, np.integer) else value
        for name, value in renamed(wishes or {}).items()
    }
    tuning = default_tuning().with_values({k: v for k, v in wishes.items() if k in SPACE})
    wishes = {name: value for name, value in wishes.items() if name not in SPACE}
    known = {f.name for f in fields(Plan)} - {"device", "fixed", "tuning"}
    unknown = sorted(map(str, set(wishes) - known))
    if unknown:
        raise PlanError(f"plan: {unknown[0]!r} is not one of {', '.join(sorted(known))}")
    base = default_plan(runtime) if runtime is not None else REFERENCE
    if "lanes" in wishes and wishes["lanes"] != base.lanes and "T" not in wishes:
        asked = LANE_SETS.get(str(wishes["lanes"]))
        if runtime is not None and asked is not None and asked.of_warps:
            wishes["T"] = _default_T(asked, runtime)
        else:
            wishes["T"] = min(base.T, 16)
    return _checked(replace(base, **wishes, fixed="alpha" in wishes, tuning=tuning), runtime)
