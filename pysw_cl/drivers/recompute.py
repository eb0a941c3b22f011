"""A path that fails its own check is computed once more, in another way.

Every path is scored again from its letters and its moves alone.  Where that is not the score that
was found, something is wrong: in a kernel, in a driver, or in a device.  Hours of work are not
thrown away for it: the comparison runs a second time with as little as possible in common with the
first one.  A warning says so, with what a report needs, and ``Stats.recomputed`` counts it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from ..engines.reference import ReferenceEngine
from ..errors import DeviceError, InternalError, PlanError, PyswError
from ..planning.plan import REFERENCE, Plan, make_plan
from ..tiles.contract import Engine

#: Cells up to which the reference engine computes the comparison: seconds, and 128 MB.
REFERENCE_CELLS = 1 << 22
#: Cells of a tile with stored moves in two phases, where one group sweeps it.
MOST_WALK_CELLS = 1 << 24

Result = TypeVar("Result")
#: What computes a result with an engine and the plan that it has.
Compute = Callable[[Engine, Plan], Result]


def checked(
    compute: Compute[Result],
    engine: Engine,
    plan: Plan,
    cells: int,
    again: Compute[Result] | None = None,
) -> tuple[Result, str | None]:
    """What ``compute`` gives for a comparison of so many ``cells``, and what is to be warned of.

    After an `InternalError` it is computed once more in `another_way`, by ``again`` (default:
    ``compute``).  The caller warns (`RecomputedWarning`) when the result is safe.  If the second
    way fails as well, its error names the first one.
    """
    try:
        return compute(engine, plan), None
    except InternalError as error:
        other = another_way(engine, plan, cells)
        if other is None:
            raise
        first = str(error)  # not the error itself: its frames hold the first run's memory
    with suppress(DeviceError):
        engine.settle()
    try:
        result = (again or compute)(*other)
    except InternalError as error:
        raise InternalError(f"{error}; and before, by {plan}: {first}") from None
    except PyswError as error:
        error.args = (f"{error} (while it was computed again by {other[1]}, because {first})",)
        raise
    return result, f"{first} -- it was computed again by {other[1]}, and that passed the check"


def another_way(engine: Engine, plan: Plan, cells: int) -> tuple[Engine, Plan] | None:
    """The reference engine where ``cells`` are few; else the two-phase form with 32-bit lanes on
    the same device, or the ticketed one if that was it.  None where the reference engine has failed
    itself, or the device has no other way."""
    from ..engines.wavefront.engine import WavefrontEngine

    if not isinstance(engine, WavefrontEngine):
        return None
    if cells <= REFERENCE_CELLS:
        return ReferenceEngine(), REFERENCE
    walk_cells = min(plan.walk_cells, MOST_WALK_CELLS)
    other = replace(plan.without_narrow(), form="two-phase", walk_cells=walk_cells)
    if (other.lanes, other.form) == (plan.lanes, plan.form):
        other = replace(other, form="ticketed")
    try:
        other = make_plan(engine.runtime, other)
    except PlanError:
        return None
    return WavefrontEngine(engine.runtime, other), other
