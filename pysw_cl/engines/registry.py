"""Engines by name: what a plan's ``engine`` may say, and how each is made."""

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
    """An engine: how it is made on a device, from what is wished of its plan, and to measure its
    kernels or not; what kind of plan it has; and whether many pairs are computed in batches beside
    it (:mod:`pysw_cl.engines.batch`)."""

    make: Callable[[Any, Wishes, bool], Engine]
    plan: type[Plan]
    batches: bool


ENGINES = {
    "wavefront": Row(_wavefront, Plan, True),
    "reference": Row(_reference, ReferencePlan, False),
}
DEFAULT = "wavefront"


def row_of(wishes: Wishes) -> Row:
    """The engine that is wished for.  Raises PlanError if there is none."""
    given = wishes.get("engine") if isinstance(wishes, Mapping) else getattr(wishes, "engine", None)
    name = DEFAULT if given is None else given
    if not isinstance(name, str) or name not in ENGINES:
        names = " and ".join(ENGINES)
        raise PlanError(f"plan: engine {name!r} does not exist, only {names}")
    return ENGINES[name]


def engine_for(device: Any, wishes: Wishes, timed: bool = False) -> Engine:
    """The engine that a plan asks for, on a device (as `align` takes it).  ``timed``: its kernels
    are measured (`Engine.kernel_seconds`).  Raises PlanError or DeviceError."""
    return row_of(wishes).make(device, wishes, timed)


def plan_of_facts(facts: Mapping[str, Any]) -> Plan:
    """The plan that `Plan.facts` was asked of.  Raises PlanError as `Plan.of_facts` does."""
    return row_of(facts).plan.of_facts(facts)
