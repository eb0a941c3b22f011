"""Amounts that are given as text: bytes and seconds with a unit."""

from __future__ import annotations

import re
from typing import Any

from ..errors import InputError, is_number, shown

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_TIMES = {"": 1, "S": 1, "M": 60, "H": 3600, "D": 86400}


def size(text: str) -> int:
    """Bytes from ``10G``, ``500MB``, ``1048576``: powers of 1024.  Raises InputError."""
    return int(_amount(text, _SIZES, "B?", "a size above 0, like 500M or 10G"))


def seconds(value: str | float, name: str = "") -> float:
    """Seconds from ``2h``, ``90m``, ``30s``, ``1d``, ``3600``, or a number of them.  Raises
    InputError, which begins with ``name``."""
    if is_number(value) and 0 < float(value) < 1e9:
        return float(value)
    return _amount(value, _TIMES, "", "a time above 0, like 90m or 2h", name)


def _amount(value: Any, units: dict[str, int], after: str, what: str, name: str = "") -> float:
    text = value.strip().upper() if isinstance(value, str) else ""
    found = re.fullmatch(rf"(\d*\.?\d+|\d+\.)([A-Z]?){after}", text)
    if found is None or found[2] not in units or float(found[1]) == 0:
        raise InputError(f"{name}{shown(value)} is not {what}")
    return float(found[1]) * units[found[2]]
