"""What a plan may be: the values of its fields, and what strips can be on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import PlanError
from .lane_sets import LANE_SETS

if TYPE_CHECKING:
    from ..opencl.device import Runtime
    from .plan import Plan

FORMS = ("ticketed", "two-phase")
MOST_B = 1 << 20  #: work-groups in flight; their state is kept in memory
MOST_CHUNK = 1 << 24  #: kernels add it to a column number in 32 bits
#: Bytes of local memory that a lane takes at most.
LANE_BYTES = 24


def check_fields(plan: Plan) -> None:
    """Raise PlanError for a number of a plan that is out of its range."""
    for name in ("B", "T", "alpha", "chunk", "tile_cells", "traceback_tile_cells"):
        value = getattr(plan, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PlanError(f"plan: {name} must be a whole number of at least 1, not {value!r}")
    if plan.B > MOST_B:
        raise PlanError(f"plan: B is at most {MOST_B}, not {plan.B}")
    if plan.chunk > MOST_CHUNK:
        raise PlanError(f"plan: chunk is at most {MOST_CHUNK}, not {plan.chunk}")


def check_strips(plan: Plan, runtime: Runtime | None) -> None:
    """Raise PlanError for strips that no device runs, or not this one."""
    if plan.form not in FORMS:
        raise PlanError(f"plan: form {plan.form!r} does not exist; there are {', '.join(FORMS)}")
    if plan.lanes not in tuple(LANE_SETS):
        raise PlanError(
            f"plan: lanes {plan.lanes!r} do not exist; there are {', '.join(LANE_SETS)}"
        )
    if plan.T not in plan.lane_set.T:
        raise PlanError(f"plan: {plan.lanes} runs T in {plan.lane_set.T}, not {plan.T}")
    if plan.alpha > 64:
        raise PlanError(f"plan: alpha is at most 64 (rows kept in registers), not {plan.alpha}")
    if runtime is not None:
        _check_lanes(plan, runtime)
        if plan.lane_set.per_item is not None:
            _check_groups(plan, runtime, plan.lane_set.per_item)


def _check_lanes(plan: Plan, runtime: Runtime) -> None:
    """Does the device run these lanes, and so few?"""
    info, traits = runtime.info, runtime.traits
    if plan.lanes in traits.refused_lanes:
        raise PlanError(
            f"plan: {plan.lanes} lanes are not for {info.name} [{info.platform}]: "
            f"{runtime.why('refused_lanes')}"
        )
    if traits.least_T > plan.T:
        raise PlanError(
            f"plan: T is at least {traits.least_T} on {info.name}, not {plan.T}: "
            f"{runtime.why('least_T')}"
        )


def _check_groups(plan: Plan, runtime: Runtime, per_item: int) -> None:
    """Are work-groups of work-items with so many lanes each what the device runs?"""
    name, lanes = runtime.info.name, plan.lane_set
    most = int(runtime.device.max_work_group_size)
    if most < lanes.group(plan.T):
        raise PlanError(f"plan: {name} runs at most {most} work-items a group, T is {plan.T}")
    warp = per_item * runtime.traits.warp_width
    if lanes.of_warps and warp != plan.T:
        raise PlanError(
            f"plan: {plan.lanes} lanes are {per_item} a work-item of a warp: "
            f"on {name} T is {warp}, not {plan.T}"
        )
    local = LANE_BYTES * plan.T
    if int(runtime.device.local_mem_size) < local:
        raise PlanError(f"plan: T={plan.T} needs {local} bytes of local memory")
