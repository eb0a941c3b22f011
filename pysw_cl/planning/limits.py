"""Checks of a plan: the ranges of its fields, and the strips that a device can run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import PlanError
from .lane_sets import LANE_SETS
from .parameters import Parameter

if TYPE_CHECKING:
    from .facts import DeviceFacts
    from .plan import Plan

#: The forms of the wavefront.
FORMS = ("ticketed", "two-phase")
#: Bytes of local memory of a lane at most.
LANE_BYTES = 24


def check_fields(plan: Plan, space: Mapping[str, Parameter]) -> None:
    """Raise PlanError for a field of a plan that is not a whole number or out of range."""
    for name, one in space.items():
        value = getattr(plan, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < one.low:
            least = f"a whole number of at least {one.low}"
            raise PlanError(f"plan: {name} must be {least}, not {value!r}")
    for name, one in space.items():
        if getattr(plan, name) > one.high:
            why = f" ({one.constraint})" if one.constraint else ""
            most = f"at most {one.high}{why}"
            raise PlanError(f"plan: {name} is {most}, not {getattr(plan, name)}")


def check_strips(plan: Plan, device: DeviceFacts | None) -> None:
    """Raise PlanError for strips that no device can run, or that this device cannot run."""
    if plan.form not in plan.forms:
        raise PlanError(
            f"plan: form {plan.form!r} does not exist for {plan.engine}; "
            f"there are {', '.join(plan.forms)}"
        )
    if plan.lanes not in tuple(LANE_SETS):
        raise PlanError(
            f"plan: lanes {plan.lanes!r} do not exist; there are {', '.join(LANE_SETS)}"
        )
    if plan.T not in plan.lane_set.T:
        raise PlanError(f"plan: {plan.lanes} runs T in {plan.lane_set.T}, not {plan.T}")
    if device is not None:
        _check_lanes(plan, device)
        if plan.lane_set.per_item is not None:
            _check_groups(plan, device, plan.lane_set.per_item)


def _check_lanes(plan: Plan, device: DeviceFacts) -> None:
    """Raise PlanError unless the device runs these lanes and this T."""
    if plan.lanes in device.refused_lanes:
        why = device.refused_lanes[plan.lanes]
        raise PlanError(f"plan: {plan.lanes} lanes are not for {device.name}: {why}")
    if device.least_T > plan.T:
        raise PlanError(
            f"plan: T is at least {device.least_T} on {device.name}, not {plan.T}: {device.why_T}"
        )


def _check_groups(plan: Plan, device: DeviceFacts, per_item: int) -> None:
    """Raise PlanError unless the device runs work-groups of T / ``per_item`` work-items."""
    most, lanes = device.most_items, plan.lane_set
    if most < lanes.group(plan.T):
        raise PlanError(
            f"plan: {device.name} runs at most {most} work-items a group, T is {plan.T}"
        )
    warp = per_item * device.warp_width
    if lanes.of_warps and warp != plan.T:
        raise PlanError(
            f"plan: {plan.lanes} lanes are {per_item} a work-item of a warp: "
            f"on {device.name} T is {warp}, not {plan.T}"
        )
    local = LANE_BYTES * plan.T
    if device.local_bytes < local:
        raise PlanError(f"plan: T={plan.T} needs {local} bytes of local memory")
