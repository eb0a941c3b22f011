"""A comparison whose path fails its check is computed a second time, in another way.

Every path is scored again from its letters and its moves alone.  If that is not the score that the
sweep found, a kernel, a driver or a device is wrong.  The comparison then runs again, with as
little as possible in common with the first run.  A warning holds what a report needs, and
``Stats.recomputed`` counts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import InternalError, PyswError
from ..tiles.contract import Engine

Result = TypeVar("Result")
#: Computes a result with an engine.
Compute = Callable[[Engine], Result]


def checked(
    compute: Compute[Result],
    engine: Engine,
    cells: int,
    again: Compute[Result] | None = None,
) -> tuple[Result, str | None]:
    """The result of ``compute`` for a comparison of ``cells`` cells, and the text of a warning or
    None.

    After an `InternalError` the result is computed again by `Engine.another`, with ``again``
    (default: ``compute``).  The caller gives the warning (`RecomputedWarning`) when the result is
    safe.  If the second run fails, too, its error also names the first one.
    """
    try:
        return compute(engine), None
    except InternalError as error:
        other = engine.another(cells)
        if other is None:
            raise
        first = str(error)  # not the error itself: its frames hold the first run's memory
    try:
        result = (again or compute)(other)
    except InternalError as error:
        raise InternalError(f"{error}; and before, by {engine.plan}: {first}") from None
    except PyswError as error:
        error.args = (f"{error} (while it was computed again by {other.plan}, because {first})",)
        raise
    return result, f"{first} -- it was computed again by {other.plan}, and that passed the check"
