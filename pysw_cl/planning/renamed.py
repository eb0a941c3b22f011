"""Plan fields that were renamed: the old names are accepted for a while."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import PlanError

#: Old name -> new name.
RENAMED = {"walk_cells": "traceback_tile_cells"}
_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep


def renamed(values: Mapping[str, Any], *, warn: bool = True) -> dict[str, Any]:
    """Values by the names that fields have now.  Warns of an old name, at the caller's line; not
    where an earlier version stored the values (``warn`` is False).

    Raises PlanError for a field that is given under both names.
    """
    found = dict(values)
    for old in RENAMED.keys() & found.keys():
        new = warn_of(old) if warn else RENAMED[old]
        if new in found:
            raise PlanError(f"plan: {old} is called {new} now; give one of them")
        found[new] = found.pop(old)
    return found


def warn_of(old: str) -> str:
    """The new name of a field; warns (DeprecationWarning) of the old one."""
    new, level = RENAMED[old], 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(f"a plan's {old} is called {new} now", DeprecationWarning, stacklevel=level)
    return new
