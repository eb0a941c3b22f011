"""A path that fails its own check is computed once more, in another way.

Every path is scored again from its letters and its moves alone.  Where that is not the score that
was found, something is wrong: in a kernel, in a driver, or in a device.  Hours of work are not
thrown away for it: the comparison runs a second time with as little as possible in common with the
first one.  A warning says so, with what a report needs, and ``Stats.recomputed`` counts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import InternalError, PyswError
from ..planning.plan import Plan
from ..tiles.contract import Engine

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

    After an `InternalError` it is computed once more by `Engine.another`, with ``again`` (default:
    ``compute``).  The caller warns (`RecomputedWarning`) when the result is safe.  If the second
    way fails as well, its error names the first one.
    """
    try:
        return compute(engine, plan), None
    except InternalError as error:
        other = engine.another(cells)
        if other is None:
            raise
        first = str(error)  # not the error itself: its frames hold the first run's memory
    try:
        result = (again or compute)(other, other.plan)
    except InternalError as error:
        raise InternalError(f"{error}; and before, by {plan}: {first}") from None
    except PyswError as error:
        error.args = (f"{error} (while it was computed again by {other.plan}, because {first})",)
        raise
    return result, f"{first} -- it was computed again by {other.plan}, and that passed the check"
