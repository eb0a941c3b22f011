"""The plans of a device: its defaults, what its profile says, and what a user wishes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from ..errors import PlanError, shown
from ..opencl.device import Runtime
from ..planning import parameters
from ..planning.facts import DeviceFacts
from ..planning.lane_sets import LANE_SETS, LaneSet
from ..planning.model.times import GENERIC, Machine
from ..planning.parameters import SPACE
from ..planning.plan import OWN, Plan

#: The part of its memory that any path may take on a device that computes tiles ahead.
PATH_SHARE = 1 / 32
AHEAD = 2  # times as many pieces has a path's grid there: its tiles are one launch

P = TypeVar("P", bound=Plan)
#: A plan, or overrides of some of its fields.
Wishes = Plan | Mapping[str, Any] | None


def _machine(runtime: Runtime) -> Machine:
    schedulers = runtime.traits.schedulers * runtime.info.compute_units
    return GENERIC.having(runtime.profile()[0].times).on(schedulers)


def default_plan(runtime: Runtime) -> Plan:
    """The plan without wishes, by the device's profile or kind (docs/algorithm.md, Plans)."""
    info, lanes = runtime.info, LANE_SETS[runtime.info.lanes]
    usual = lanes.defaults
    # in two phases one group sweeps all of a tile with stored moves
    moves = usual.moves_cells if info.form == "ticketed" else Plan.traceback_tile_cells
    tuning = parameters.usual
    if runtime.facts.speculative:  # tiles ahead of a path are the faster the more there are
        most = max(tuning.traceback.path_bytes, int(PATH_SHARE * runtime.facts.memory))
        pieces = AHEAD * tuning.traceback.pieces
        tuning = tuning.with_values({"traceback.path_bytes": most, "traceback.pieces": pieces})
    plan = Plan(
        device=info.name,
        lanes=info.lanes,
        form=info.form,
        B=usual.groups * info.compute_units,
        T=_default_T(lanes, runtime.facts),
        alpha=usual.alpha,
        chunk=usual.chunk,
        tile_cells=usual.tile_cells * (info.compute_units if lanes.per_item is None else 1),
        traceback_tile_cells=moves,
        tuning=tuning,
        machine=runtime.made_once("machine", _machine),
    )
    return profiled(plan, runtime)


def profiled(plan: P, runtime: Runtime) -> P:
    """A default plan with the parameters of its profile that this device allows."""
    profile, tuning = runtime.profile()[0], plan.tuning
    own = profile.parameters.get(f"{plan.engine}/{plan.lanes}", {})
    values: dict[str, Any] = {n: int(v) for n, v in own.items() if n in ("T", "alpha", "chunk")}
    if "groups" in own:
        values["B"] = max(1, round(own["groups"] * runtime.info.compute_units))
    if of_all := profile.parameters.get("tuning"):
        known = {n: type(SPACE[n].default)(v) for n, v in of_all.items() if n in SPACE}
        with suppress(PlanError):
            tuning = tuning.with_values(known)
    changed = replace(plan, **values, tuning=tuning)
    with suppress(PlanError):
        changed.check_on(runtime.facts)
        return changed
    return plan


def _default_T(lanes: LaneSet, device: DeviceFacts) -> int:
    """Lanes of a strip: those of a warp, or as many as a work-group of the device holds."""
    if lanes.of_warps and lanes.per_item is not None:
        return lanes.per_item * device.warp_width
    T = lanes.defaults.T
    while lanes.group(T) > device.most_items:
        T //= 2
    return T


def make_plan(runtime: Runtime | None, wishes: Wishes = None, base: Plan | None = None) -> Plan:
    """``base`` (None: the device's default) changed by ``wishes``: a Plan, or a mapping of fields
    and parameters.  Raises PlanError for a wrong name or value, or if the device cannot run it."""
    facts = None if runtime is None else runtime.facts
    if base is None:
        base = Plan() if runtime is None else default_plan(runtime)
    if isinstance(wishes, Plan):
        device = wishes.device if runtime is None else runtime.info.name
        own = {one.name: getattr(wishes, one.name) for one in fields(wishes)}
        plan = replace(base, **own | {"device": device, "machine": base.machine})
    elif wishes is None or isinstance(wishes, Mapping):
        plan = _with_wishes(base, {} if wishes is None else wishes, facts)
    else:
        raise PlanError(f"plan must be a Plan or a mapping of its fields, not {shown(wishes)}")
    if plan.engine != base.engine:
        raise PlanError(f"plan: engine {plan.engine!r} is not {base.engine}, whose plan this is")
    plan.check_on(facts)
    return plan


def _with_wishes(base: Plan, given: Mapping[str, Any], facts: DeviceFacts | None) -> Plan:
    """``base`` with the fields and parameters that are ``given`` by name."""
    every = {k: int(v) if isinstance(v, np.integer) else v for k, v in given.items()}
    tuning = base.tuning.with_values({k: v for k, v in every.items() if k in SPACE})
    wishes: dict[str, Any] = {k: v for k, v in every.items() if k not in SPACE}
    known = {f.name for f in fields(Plan)} - set(OWN)
    unknown = sorted(map(str, set(wishes) - known))
    if unknown:
        raise PlanError(f"plan: {unknown[0]!r} is not one of {', '.join(sorted(known))}")
    base = base.in_form(wishes.get("form"), facts)
    if wishes.get("lanes", base.lanes) != base.lanes and "T" not in wishes:
        asked = LANE_SETS.get(str(wishes["lanes"]))
        wishes["T"] = min(base.T, 16)
        if facts is not None and asked is not None and asked.of_warps:
            wishes["T"] = _default_T(asked, facts)
    wishes |= {"alpha_fixed": "alpha" in wishes, "B_fixed": "B" in wishes}
    return replace(base, **wishes, tuning=tuning)
