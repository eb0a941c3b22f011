"""Plans: the frozen choice of engine, device, B, T, alpha and tile size for one job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PlanError
from .geometry import tile_shape
from .parameters import SPACE, Tuning, default_tuning

if TYPE_CHECKING:
    from ..opencl.device import Runtime


@dataclass(frozen=True)
class LaneSet:
    """What a plan's ``lanes`` stand for.

    ``wide`` and ``narrow`` are files of cl/lanes and cl/narrow: the 32-bit lanes, and the narrow
    ones of ``widths`` bits, if any.  ``T``: how many lanes a strip may have; ``per_item``: lanes of
    a work-item, None for all of a strip.  ``instead``: lane set, T and alpha at most for what
    narrow lanes do not do (kept moves, large numbers).  ``steps``: columns a turn of the main loop.
    """

    wide: str
    T: tuple[int, ...]
    per_item: int | None = None
    narrow: str | None = None
    widths: tuple[int, ...] = ()
    instead: tuple[str, int, int] | None = None
    steps: int = 2

    def group(self, T: int) -> int:
        """Work-items of a work-group."""
        return 1 if self.per_item is None else T // self.per_item


LANE_SETS = {
    "vector": LaneSet(
        "vector32", (4, 8, 16, 32, 64), None, "vector", (8, 16), ("vector32", 16, 16), 1
    ),
    "vector32": LaneSet("vector32", (1, 2, 4, 8, 16)),
    "packed": LaneSet("warp32", (16, 32, 64, 128), 2, "packed", (16,), ("warp32", 128, 8)),
    "warp32": LaneSet("warp32", (16, 32, 64, 128), 2),
    "scalar32": LaneSet("scalar32", tuple(2**k for k in range(11)), 1),
}
FORMS = ("ticketed", "two-phase")
#: Of stored plans; version 1 had no tuning.
VERSION = 2
#: Clocks of a step of 32-bit lanes in a warp that has its scheduler to itself, of each row of it,
#: and of going from one block to the next (state through memory, fence, a look at the strip above).
STEP_CLOCKS, ROW_CLOCKS, BLOCK_CLOCKS = 150, 30, 2000
#: Where moves are kept: columns of a block (few, because the strip below waits for them), and the
#: alpha that is tried beside the most (one, because each is another build of the kernel).
MOVES_CHUNK, MOVES_ALPHA = 32, (4,)
MOST_B = 1 << 20  #: work-groups in flight; their state is kept in memory
MOST_CHUNK = 1 << 24  #: kernels add it to a column number in 32 bits


@dataclass(frozen=True)
class Plan:
    """What a job runs on; prints as one line.

    ``B`` work-groups in flight (blocks of an external diagonal, or strips walked at once),
    ``T`` lanes of ``alpha`` rows each, ``chunk`` columns between two progress reports of a
    ticketed strip, tiles of at most ``tile_cells`` cells, tiles with stored moves of at most
    ``walk_cells`` cells.  ``fixed``: ``alpha`` was asked for; else it is the most a lane may have.
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
    walk_cells: int = 1 << 24
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

    def without_narrow(self) -> Plan:
        """This plan for what narrow lanes do not do; itself where it has none."""
        lanes, T, alpha = LANE_SETS[self.lanes].instead or (self.lanes, self.T, self.alpha)
        return replace(self, lanes=lanes, T=min(self.T, T), alpha=min(self.alpha, alpha))

    def for_size(self, m: int, n: int, rows: tuple[int, ...] = ()) -> Plan | None:
        """This plan with the alpha that a tile of m x n cells is done with soonest, of those with
        which strips end at all these inner ``rows``; None if there is none (or none that is at
        least half of the plan's, where its lanes are not narrow).

        CPUs try some values only, because each is another build of the kernel, which takes seconds
        there.
        """
        narrow = LANE_SETS[self.lanes].narrow
        fit = [a for a in range(1, self.alpha + 1) if not any(r % (self.T * a) for r in rows)]
        if self.fixed or narrow is None:
            least = self.alpha if self.fixed else self.alpha / 2
            return replace(self, alpha=fit[-1]) if fit and fit[-1] >= least else None
        fit = [a for a in self._tried(narrow) if a in fit]
        if not fit:
            return None
        alpha = min(fit, key=lambda alpha: (self._work(alpha, m, n), -alpha))
        at_once = self.B * self.T * alpha
        if narrow == "packed" and m <= at_once and n <= 2 * at_once:
            return replace(self, alpha=alpha, chunk=min(self.chunk, 64))  # follow sooner
        return replace(self, alpha=alpha)

    def _tried(self, narrow: str) -> tuple[int, ...]:
        """Values of alpha that a tile may be computed with."""
        tried: tuple[int, ...] = tuple(range(2, 65))
        if narrow == "vector":
            tried = (4, 8, 16) if self.B < 8 else (4, 8, 12, 14, 16)
        return (*(alpha for alpha in tried if alpha < self.alpha), self.alpha)

    def _work(self, alpha: int, m: int, n: int) -> float:
        """What a tile of m x n cells takes with this alpha, in rows of one column of one lane.

        Strips are taken in rounds of B, each n columns long, and follow each other ``T + chunk``
        columns apart; a column costs its rows and some more.
        """
        strips = -(-m // (self.T * alpha))
        rounds, busy = -(-strips // self.B), min(strips, self.B)
        column: float = alpha + 3
        if LANE_SETS[self.lanes].narrow == "packed":
            # latency of a step, or all a scheduler's warps (an H200)
            column = max(alpha + 6.5, (alpha + 1) * 0.68 * -(-3 * busy // self.B))
        return (rounds * n + busy * (self.T + self.chunk)) * column

    def work(self, m: int, n: int) -> float:
        """What a tile of m x n cells takes with the alpha that it is done with soonest, beside
        another tile of this plan."""
        if self.engine == "reference":
            return float(m * n)
        narrow = LANE_SETS[self.lanes].narrow
        if self.fixed or narrow is None:
            return self._work(self.alpha, m, n)
        return min(self._work(alpha, m, n) for alpha in self._tried(narrow))

    def for_moves(self, m: int, n: int) -> Plan:
        """This plan for an m x n tile whose moves are kept.

        Where lanes are those of warps, such a tile has few strips, each a warp that has its
        scheduler to itself and waits for the latency of its steps.  Lanes of fewer rows make more
        strips and shorter steps, but a lane's column takes a whole word of moves: the soonest done
        of those whose moves fit ``walk_cells`` (docs/algorithm.md, Plans).
        """
        plan = self.without_narrow()
        if self.fixed or LANE_SETS[plan.lanes].wide != "warp32":
            return plan
        chunk = min(plan.chunk, MOVES_CHUNK)
        at_once = 1 if plan.form == "two-phase" else plan.B  # two phases keep no moves: one group

        def strips(alpha: int) -> int:
            return -(-m // (plan.T * alpha))

        def cost(alpha: int) -> int:
            rounds, busy = -(-strips(alpha) // at_once), min(strips(alpha), at_once)
            steps = rounds * (n + plan.T) + (busy - 1) * (plan.T + chunk)
            return steps * (STEP_CLOCKS + ROW_CLOCKS * alpha + BLOCK_CLOCKS // chunk)

        def fits(alpha: int) -> bool:
            return 4 * strips(alpha) * plan.T * (n + plan.T) <= self.walk_cells // 2

        tried = [alpha for alpha in MOVES_ALPHA if alpha < plan.alpha and fits(alpha)]
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
        values = {name: value for name, value in facts.items() if name != "version"}
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
    for name in ("B", "T", "alpha", "chunk", "tile_cells", "walk_cells"):
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
    if plan.T not in LANE_SETS[plan.lanes].T:
        raise PlanError(f"plan: {plan.lanes} runs T in {LANE_SETS[plan.lanes].T}, not {plan.T}")
    if plan.alpha > 64:
        raise PlanError(f"plan: alpha is at most 64 (rows kept in registers), not {plan.alpha}")
    if runtime is not None and plan.lanes in runtime.advice["no_lanes"]:
        raise PlanError(
            f"plan: {plan.lanes} lanes are not for {runtime.info.name} [{runtime.info.platform}]: "
            f"{runtime.why('no_lanes')}"
        )
    least = int(runtime.advice["least_T"]) if runtime is not None else 1
    if runtime is not None and least > plan.T:
        raise PlanError(
            f"plan: T is at least {least} on {runtime.info.name}, not {plan.T}: "
            f"{runtime.why('least_T')}"
        )
    if runtime is not None and LANE_SETS[plan.lanes].per_item is not None:
        most = int(runtime.device.max_work_group_size)
        if most < LANE_SETS[plan.lanes].group(plan.T):
            raise PlanError(
                f"plan: {runtime.info.name} runs at most {most} work-items a group, T is {plan.T}"
            )
        warp = 2 * int(runtime.advice["warp"])
        shuffles = LANE_SETS[plan.lanes].wide == "warp32"
        if shuffles and warp != plan.T:
            raise PlanError(
                f"plan: {plan.lanes} lanes are two a work-item of a warp: on {runtime.info.name} "
                f"T is {warp}, not {plan.T}"
            )
        local = 24 * plan.T
        if int(runtime.device.local_mem_size) < local:
            raise PlanError(f"plan: T={plan.T} needs {local} bytes of local memory")
    return plan


#: The reference engine keeps full matrices, 32 bytes a cell.
REFERENCE = Plan(engine="reference", tile_cells=1 << 22, walk_cells=1 << 22)


def default_plan(runtime: Runtime) -> Plan:
    """The plan without tuning: what the device kind does well (docs/algorithm.md, Plans)."""
    info = runtime.info
    plan = Plan(device=info.name, lanes=info.lanes, form=info.form)
    if info.lanes == "vector":
        return replace(plan, B=info.compute_units)
    if info.lanes == "packed":
        units = info.compute_units
        T = 2 * int(runtime.advice["warp"])
        # one group walks all strips of a tile with moves in two phases: its time goes with the area
        walk_cells = 1 << 28 if info.form == "ticketed" else plan.walk_cells
        plan = replace(plan, tile_cells=1 << 46, walk_cells=walk_cells)
        return replace(plan, T=T, alpha=25, B=12 * units, chunk=128)
    T = 128
    while int(runtime.device.max_work_group_size) < T:
        T //= 2
    return replace(plan, T=T, alpha=8, B=8 * info.compute_units, chunk=512, tile_cells=1 << 38)


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
        for name, value in (wishes or {}).items()
    }
    tuning = default_tuning().with_values({k: v for k, v in wishes.items() if k in SPACE})
    wishes = {name: value for name, value in wishes.items() if name not in SPACE}
    known = {f.name for f in fields(Plan)} - {"device", "fixed", "tuning"}
    unknown = sorted(map(str, set(wishes) - known))
    if unknown:
        raise PlanError(f"plan: {unknown[0]!r} is not one of {', '.join(sorted(known))}")
    base = default_plan(runtime) if runtime is not None else REFERENCE
    if "lanes" in wishes and wishes["lanes"] != base.lanes and "T" not in wishes:
        warps = runtime is not None and LANE_SETS.get(str(wishes["lanes"])) is not None
        warps = warps and LANE_SETS[str(wishes["lanes"])].wide == "warp32"
        wishes["T"] = 2 * int(runtime.advice["warp"]) if runtime and warps else min(base.T, 16)
    return _checked(replace(base, **wishes, fixed="alpha" in wishes, tuning=tuning), runtime)
