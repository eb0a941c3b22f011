"""A path that fails its own check is computed once more, in another way.

Every path is scored again from its letters and its moves alone.  Where that is not the score that
was found, something is wrong: in a kernel, in a driver, or in a device.  Hours of work are not
thrown away for it: the comparison runs a second time with as little as possible in common with the
first one.  A warning says so, with what a report needs, and ``Stats.recomputed`` counts it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ..engines.reference import ReferenceEngine
from ..errors import InternalError, RecomputedWarning
from ..planning.plan import REFERENCE, Plan
from ..tiles.contract import Engine

#: Cells up to which the reference engine computes the comparison: seconds, and 128 MB.
REFERENCE_CELLS = 1 << 22

Result = TypeVar("Result")
#: What computes a result with an engine and the plan that it has.
Compute = Callable[[Engine, Plan], Result]


def checked(
    compute: Compute[Result],
    engine: Engine,
    plan: Plan,
    cells: int,
    again: Compute[Result] | None = None,
) -> tuple[Result, int]:
    """What ``compute`` gives for a comparison of so many ``cells``, and how often it was computed
    again: 0, or 1 after an `InternalError`, by ``again`` (default: ``compute``) in `another_way`.
    A second such error is raised."""
    try:
        return compute(engine, plan), 0
    except InternalError as error:
        other = another_way(engine, plan, cells)
        if other is None:
            raise
        first = error
    result = (again or compute)(*other)
    warn(first, str(other[1]))
    return result, 1


def another_way(engine: Engine, plan: Plan, cells: int) -> tuple[Engine, Plan] | None:
    """The reference engine where ``cells`` are few; else the two-phase form with 32-bit lanes on
    the same device; None where the reference engine has failed itself."""
    from ..engines.wavefront.engine import WavefrontEngine

    if not isinstance(engine, WavefrontEngine):
        return None
    if cells <= REFERENCE_CELLS:
        return ReferenceEngine(), REFERENCE
    plan = replace(plan.without_narrow(), form="two-phase")
    return WavefrontEngine(engine.runtime, plan), plan


def warn(error: InternalError, plan: str) -> None:
    """Say that a result was computed again, by this ``plan``, and why."""
    text = f"{error} -- it was computed again by {plan}, and that result passed the check"
    warnings.warn(text, RecomputedWarning, stacklevel=4)
