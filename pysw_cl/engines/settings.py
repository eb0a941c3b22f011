"""What the model of the run time is asked about a device: its plan, and what engines may choose."""

from __future__ import annotations

from ..errors import PlanError
from ..opencl.device import Runtime
from ..opencl.facts import facts_of
from ..planning.model.runs import Setting
from ..scoring.scoring import Scoring
from .registry import Wishes, is_free, plan_on
from .rowscan.plan import RowscanPlan, default_rowscan


def setting_of(runtime: Runtime, wishes: Wishes, scoring: Scoring, mode: str) -> Setting:
    """The setting of comparisons with this scoring and ``mode`` on a device, with the ``wishes``
    for a plan.  Raises PlanError as `make_plan` does."""
    plan = plan_on(runtime, wishes)
    free, few = is_free(wishes), scoring.source.few
    in_rows = isinstance(plan, RowscanPlan)
    if plan.machine.times.known(plan.engine) is None:
        raise PlanError(f"plan: nobody has measured how long the engine {plan.engine!r} takes")
    return Setting(
        plan=plan,
        scoring=scoring,
        mode=mode,
        four=few,
        scan=default_rowscan(runtime) if free else None,
        sections=not in_rows,
        holds=free,
        device=facts_of(runtime),
    )
