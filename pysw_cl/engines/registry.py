"""The engines by name: the values of a plan's ``engine`` field, and how each engine is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import PlanError
from ..opencl.device import Runtime, get_runtime
from ..planning.choose import Seen
from ..planning.model.runs import Setting
from ..planning.plan import Plan
from ..scoring.scoring import Scoring
from ..tiles.contract import Engine
from .plans import default_plan, made_once, make_plan
from .reference import ReferenceEngine, ReferencePlan
from .rowscan.plan import RowscanPlan, default_rowscan

#: A plan, or overrides of some of its fields.
Wishes = Plan | Mapping[str, Any] | None


def _reference(device: Any, wishes: Wishes, timed: bool) -> Engine:
    engine = ReferenceEngine()
    engine.plan = make_plan(None, wishes, ReferencePlan())
    return engine


def _wavefront(device: Any, wishes: Wishes, timed: bool) -> Engine:
    from .wavefront.engine import WavefrontEngine

    runtime, free = _runtime(device, timed), is_free(wishes)
    if wishes is None or (isinstance(wishes, Mapping) and not wishes):
        plan = made_once(runtime, "plan of the wavefront", make_plan)
    else:
        plan = make_plan(runtime, wishes)
    return WavefrontEngine(runtime, plan, free, _row_scan if free else None)


def _rowscan(device: Any, wishes: Wishes, timed: bool) -> Engine:
    from .rowscan.engine import RowscanEngine

    runtime = _runtime(device, timed)
    plan = make_plan(runtime, wishes, default_rowscan(runtime))
    assert isinstance(plan, RowscanPlan)
    return RowscanEngine(runtime, plan)


def _row_scan(runtime: Runtime) -> Engine:
    """The row scan by its default plan, for tiles of the wavefront that it computes sooner."""
    from .rowscan.engine import RowscanEngine

    return RowscanEngine(runtime, made_once(runtime, "plan of the row scan", default_rowscan))


def _runtime(device: Any, timed: bool) -> Runtime:
    runtime = get_runtime(device)
    return runtime.timed() if timed else runtime


def is_free(wishes: Wishes) -> bool:
    """Do the wishes leave it to the engine how small matrices are computed?"""
    if isinstance(wishes, Mapping):
        return all(str(name).startswith("held.") for name in wishes)
    return wishes is None


@dataclass(frozen=True)
class Row:
    """One engine of the table."""

    #: Makes the engine from a device, the wishes for its plan, and whether its kernels are timed.
    make: Callable[[Any, Wishes, bool], Engine]
    #: The class of its plans.
    plan: type[Plan]
    #: The plan of a device without wishes.
    default: Callable[[Runtime], Plan]
    #: May its device also compute pair batches (:mod:`pysw_cl.engines.batch`)?
    batches: bool


ENGINES = {
    "wavefront": Row(_wavefront, Plan, default_plan, True),
    "rowscan": Row(_rowscan, RowscanPlan, default_rowscan, False),
    "reference": Row(_reference, ReferencePlan, lambda runtime: ReferencePlan(), False),
}
DEFAULT = "wavefront"


def row_of(wishes: Wishes) -> Row:
    """The row of the engine that the wishes name.  Raises PlanError for an unknown name."""
    if wishes is None:
        return ENGINES[DEFAULT]
    given = wishes.get("engine") if isinstance(wishes, Mapping) else getattr(wishes, "engine", None)
    name = DEFAULT if given is None else given
    if not isinstance(name, str) or name not in ENGINES:
        raise PlanError(f"plan: engine {name!r} does not exist; there are {', '.join(ENGINES)}")
    return ENGINES[name]


def engine_for(device: Any, wishes: Wishes, timed: bool = False) -> Engine:
    """Make the engine that a plan names.  ``device`` is as `align` takes it; ``timed`` measures its
    kernels (`Engine.kernel_seconds`).  Raises PlanError or DeviceError."""
    return row_of(wishes).make(device, wishes, timed)


def plan_on(runtime: Runtime, wishes: Wishes) -> Plan:
    """The plan for a device.  Raises PlanError as `make_plan` does."""
    return make_plan(runtime, wishes, row_of(wishes).default(runtime))


def plan_of_facts(facts: Mapping[str, Any]) -> Plan:
    """The inverse of `Plan.facts`.  Raises PlanError as `Plan.of_facts` does."""
    return row_of(facts).plan.of_facts(facts)


def setting_of(runtime: Runtime, wishes: Wishes, scoring: Scoring, mode: str) -> Setting:
    """What the model of the run time is asked about comparisons with this scoring and ``mode`` on a
    device, with the ``wishes`` for a plan.  Raises PlanError as `make_plan` does."""
    plan, free = plan_on(runtime, wishes), is_free(wishes)
    if plan.machine.times.known(plan.engine) is None:
        raise PlanError(f"plan: nobody has measured how long the engine {plan.engine!r} takes")
    scan, seen = default_rowscan(runtime) if free else None, Seen(few=scoring.source.few)
    return Setting(plan, scoring, mode == "local", runtime.facts, seen, scan, holds=free)
