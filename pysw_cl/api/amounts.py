"""Amounts that are given as text: bytes and seconds with a unit."""

from __future__ import annotations

import re

from ..errors import InputError

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_TIMES = {"": 1, "S": 1, "M": 60, "H": 3600, "D": 86400}


def size(text: str) -> int:
    """Bytes from ``10G``, ``500MB``, ``1048576``: powers of 1024.  Raises InputError."""
    return int(_amount(text, _SIZES, "B?", "a size above 0, like 500M or 10G"))


def seconds(text: str) -> float:
    """Seconds from ``2h``, ``90m``, ``30s``, ``1d``, ``3600``.  Raises InputError."""
    return _amount(text, _TIMES, "", "a time above 0, like 90m or 2h")


def _amount(text: str, units: dict[str, int], after: str, what: str) -> float:
    found = re.fullmatch(rf"(\d*\.?\d+|\d+\.)([A-Z]?){after}", text.strip().upper())
    if found is None or found[2] not in units or float(found[1]) == 0:
        raise InputError(f"{text!r} is not {what}")
    return float(found[1]) * units[found[2]]
