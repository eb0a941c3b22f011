"""Engines by name: what a plan's ``engine`` may say, and how each is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import PlanError
from ..planning.plan import Plan, make_plan
from ..tiles.contract import Engine

#: A plan, or overrides of some of its fields.
Wishes = Plan | Mapping[str, Any] | None


def _reference(device: Any, wishes: Wishes) -> Engine:
    from .reference import ReferenceEngine

    engine = ReferenceEngine()
    engine.plan = make_plan(None, wishes)
    return engine


def _wavefront(device: Any, wishes: Wishes) -> Engine:
    from ..opencl.device import get_runtime
    from .wavefront.engine import WavefrontEngine

    runtime = get_runtime(device)
    return WavefrontEngine(runtime, make_plan(runtime, wishes))


#: How the engine of each name is made on a device, from what is wished of its plan.
ENGINES: dict[str, Callable[[Any, Wishes], Engine]] = {
    "wavefront": _wavefront,
    "reference": _reference,
}
DEFAULT = "wavefront"


def engine_name(wishes: Wishes) -> str:
    """The name of the engine that is wished for.  Raises PlanError if there is none."""
    given = wishes.get("engine") if isinstance(wishes, Mapping) else getattr(wishes, "engine", None)
    name = DEFAULT if given is None else given
    if not isinstance(name, str) or name not in ENGINES:
        names = " and ".join(ENGINES)
        raise PlanError(f"plan: engine {name!r} does not exist, only {names}")
    return name


def engine_for(device: Any, wishes: Wishes) -> Engine:
    """The engine that a plan asks for, on a device (as `align` takes it).  Raises PlanError or
    DeviceError."""
    return ENGINES[engine_name(wishes)](device, wishes)
