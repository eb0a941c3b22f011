"""The engines by name: the values of a plan's ``engine`` field, and how each engine is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import PlanError
from ..planning.plan import Plan, make_plan
from ..tiles.contract import Engine
from .reference import ReferenceEngine, ReferencePlan

#: A plan, or overrides of some of its fields.
Wishes = Plan | Mapping[str, Any] | None


def _reference(device: Any, wishes: Wishes, timed: bool) -> Engine:
    engine = ReferenceEngine()
    engine.plan = make_plan(None, wishes, ReferencePlan())
    return engine


def _wavefront(device: Any, wishes: Wishes, timed: bool) -> Engine:
    from ..opencl.device import get_runtime
    from .wavefront.engine import WavefrontEngine

    runtime = get_runtime(device)
    if timed:
        runtime = runtime.timed()
    return WavefrontEngine(runtime, make_plan(runtime, wishes))


@dataclass(frozen=True)
class Row:
    """One engine of the table."""

    #: Makes the engine from a device, the wishes for its plan, and whether its kernels are timed.
    make: Callable[[Any, Wishes, bool], Engine]
    #: The class of its plans.
    plan: type[Plan]
    #: May its device also compute pair batches (:mod:`pysw_cl.engines.batch`)?
    batches: bool


ENGINES = {
    "wavefront": Row(_wavefront, Plan, True),
    "reference": Row(_reference, ReferencePlan, False),
}
DEFAULT = "wavefront"


def row_of(wishes: Wishes) -> Row:
    """The row of the engine that the wishes name.  Raises PlanError for an unknown name."""
    given = wishes.get("engine") if isinstance(wishes, Mapping) else getattr(wishes, "engine", None)
    name = DEFAULT if given is None else given
    if not isinstance(name, str) or name not in ENGINES:
        names = " and ".join(ENGINES)
        raise PlanError(f"plan: engine {name!r} does not exist; there are {names}")
    return ENGINES[name]


def engine_for(device: Any, wishes: Wishes, timed: bool = False) -> Engine:
    """Make the engine that a plan names.  ``device`` is as `align` takes it; ``timed`` measures its
    kernels (`Engine.kernel_seconds`).  Raises PlanError or DeviceError."""
    return row_of(wishes).make(device, wishes, timed)


def plan_of_facts(facts: Mapping[str, Any]) -> Plan:
    """The inverse of `Plan.facts`.  Raises PlanError as `Plan.of_facts` does."""
    return row_of(facts).plan.of_facts(facts)
