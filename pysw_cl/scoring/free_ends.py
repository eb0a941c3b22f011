"""The free ends of a comparison as bits, as kernels take them (cl/base.clh has the same ones)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag


class FreeEnd(IntFlag):
    """Ends whose gaps cost nothing; those of the query consume target, and the other way round."""

    LEAD_QUERY = 1
    TRAIL_QUERY = 2
    LEAD_TARGET = 4
    TRAIL_TARGET = 8

    @classmethod
    def of(cls, flags: Iterable[bool]) -> int:
        """The bits of four booleans, in the order above."""
        lead_query, trail_query, lead_target, trail_target = map(bool, flags)
        return int(lead_query) | trail_query << 1 | lead_target << 2 | trail_target << 3
