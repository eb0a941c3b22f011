"""Heights and memory of the tiles of a pipeline, for the engine and for predictions."""

from __future__ import annotations

from math import lcm

from .plan import Plan
from .score_files import in_mixed_lanes, seldom_waits
from .sizes import bus_bytes, warps_of


def pipeline_rows(
    plan: Plan, m: int, n: int, schedulers: int, units: int
) -> tuple[int, int] | None:
    """The rows of the tiles of a pipeline that computes m x n cells, and what they should be
    multiples of; None where tiles are better computed one by one.

    ``depth`` tiles have at least the rows that the device computes at once.  Each ends where a
    strip of any lanes that may compute it ends, and where a whole group of warps does
    (``schedulers``, ``units``: see :func:`pysw_cl.planning.sizes.warps_of`).
    """
    tuning = plan.tuning.pipeline
    if m * n < tuning.least_cells or n > tuning.most_columns:
        return None
    sized = plan.for_size(m, n)
    if sized is None or sized.lane_set.narrow is None:
        return None
    plans, mixed = [sized], in_mixed_lanes(plan)
    fits = mixed.for_size(m, n) if mixed is not None and seldom_waits(plan, n) else None
    if fits is not None:
        plans.append(fits)
    wide = plan.without_narrow().strip_rows
    quantum = lcm(
        wide, *(one.strip_rows * warps_of(one.lane_set, schedulers, units, one.B) for one in plans)
    )
    if quantum > plan.device_rows:  # of few compute units: groups may have idle warps
        quantum = lcm(wide, *(one.strip_rows for one in plans))
    at_once = max(one.device_rows for one in plans)
    return -(-at_once // (tuning.depth * quantum)) * quantum, quantum


def pipeline_slots(plan: Plan) -> int:
    """Tiles of a pipeline that have memory at once: running, begun, or just taken out."""
    return plan.tuning.pipeline.depth + plan.tuning.pipeline.more


def pipeline_bus_bytes(plan: Plan, columns: int) -> int:
    """Bytes of the bus that the tiles of a pipeline share: two lines for strips, and a ring of
    lines between tiles."""
    return bus_bytes(columns, plan.T, 2 + pipeline_slots(plan) + 1)
