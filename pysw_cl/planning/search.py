"""How a search is computed in mixed arithmetic, as a value that the engine runs: how many
work-items of a warp sweep a pair of subjects, with how many rows each, in how many strips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

#: Work-items that sweep a pair of subjects, and rows of each.
ITEMS, ROWS = (8, 16, 32), range(4, 33, 2)
#: Warps of a work-group, which share a profile; bytes of that at most.
WARPS, PROFILE_BYTES = 4, 49152
#: Bytes of local memory of a compute unit, and work-groups of it by the most rows.
UNIT_BYTES, GROUPS = 220_000, {8: 8, 22: 6, 24: 5, 32: 4}
#: Operations of a turn for each row, and beside these; of a launch.
ROW_OPERATIONS, TURN_OPERATIONS, LAUNCH_OPERATIONS = 14, 40, 50_000
SCHEDULERS = 4
#: Pairs that take more than this share of an even part of all turns are swept beside the others, by
#: work-groups so large that they have a compute unit each: of so many warps by the most rows, of
#: which so many sweep pairs.
LONG_SHARE, LONG_WARPS, ACTIVE = 0.8, {10: 32, 32: 16}, 8


@dataclass(frozen=True)
class SearchGeometry:
    """Strips of a query, each of ``items`` x ``rows`` rows, with so many ``codes`` of letters."""

    items: int
    rows: int
    strips: int
    codes: int
    #: Warps of a work-group, and those that sweep pairs.
    warps: int = WARPS
    active: int = WARPS

    @property
    def groups(self) -> int:
        """Work-groups of a compute unit."""
        fit = UNIT_BYTES // (self.items * -(-self.rows // 8) * 16 * self.codes + 1024)
        return min(fit, next(count for most, count in GROUPS.items() if self.rows <= most))

    def per_stream(self, turns: int, units: int) -> float:
        """Turns of the work-items that sweep a pair, if all pairs have so many ``turns``."""
        return turns * self.items / 32 / (units * self.groups * WARPS)

    def operations(self, turns: int, longest: int, units: int) -> float:
        """The time of pairs with so many ``turns``, the ``longest`` of which has so many, on so
        many compute units, in operations of a scheduler."""
        turn = (ROW_OPERATIONS * self.rows + TURN_OPERATIONS) * self.groups * WARPS / SCHEDULERS
        most = max(self.per_stream(turns, units), longest)
        return self.strips * (turn * most + LAUNCH_OPERATIONS)

    @classmethod
    @lru_cache(1 << 12)
    def of(cls, m: int, codes: int, turns: int, longest: int, units: int) -> SearchGeometry:
        """The fastest one for ``m`` rows; ``longest`` 0: if no pair takes longer than its share."""
        able = [
            cls(items, rows, -(-m // (items * rows)), codes)
            for items in ITEMS
            for rows in ROWS
            if items * -(-rows // 8) * 16 * codes <= PROFILE_BYTES
        ]
        return min(able, key=lambda one: one.operations(turns, longest, units))

    @classmethod
    def long(cls, m: int, codes: int) -> SearchGeometry:
        """The one for pairs that would take longer than all others: few rows of a work-item."""
        most = min(ROWS[-1], PROFILE_BYTES // (ITEMS[-1] * 16 * codes) * 8)
        strips = -(-m // (ITEMS[-1] * most))
        rows = next(rows for rows in ROWS if ITEMS[-1] * rows * strips >= m)
        warps = next(warps for most, warps in LONG_WARPS.items() if rows <= most)
        return cls(ITEMS[-1], rows, strips, codes, warps, ACTIVE)
