"""Cost models predict the work of tiles and matrices; plans and drivers choose by them alone.

A cost model is a class with two methods (:class:`Cost`).  The models here are formulas with a few
measured numbers.  A model fitted to a device's run times is another such class.  A plan names its
model (``Plan.cost``).

Each model states its units.  Only costs of one kind are compared: tiles and matrices with each
other, tiles with moves with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .plan import Plan


class Cost(Protocol):
    """The cost of tiles and matrices under a plan, but with ``alpha`` rows a lane."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells without moves."""

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells with stored moves."""

    def sections(self, plan: Plan, alpha: int, m: int, n: int, count: int, overlap: int) -> float:
        """The cost of a tile of m x n cells in ``count`` sections, each of which also sweeps the
        ``overlap`` columns before it; in the unit of :meth:`tile`."""
        return self.tile(plan, alpha, m, n + count * overlap)

    def soonest(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> int:
        """The alpha with the least cost of a tile of m x n cells; of equal ones the highest."""
        return min(alphas, key=lambda alpha: (self.tile(plan, alpha, m, n), -alpha))

    def matrix(self, plan: Plan, m: int, n: int, shape: tuple[int, int]) -> float:
        """The cost of m x n cells in even tiles of at most this shape, each with its best alpha; in
        the unit of :meth:`tile`."""
        (down, rows), (across, columns) = even(m, shape[0]), even(n, shape[1])
        one = min(self.tile(plan, alpha, rows, columns) for alpha in plan.alphas)
        return down * across * one


class StripCost(Cost):
    """The cost of the wavefront: strips of ``T * alpha`` rows, of which B run at once."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """In rows of one column of one lane.

        Strips run in rounds of B.  A round takes n columns; each strip starts ``T + chunk`` columns
        after the one above.  A column costs its rows and an overhead (:class:`.lane_sets.Column`).
        """
        return self._tiles(plan, (alpha,), m, n)[0]

    def soonest(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> int:
        """See :class:`Cost`.  All costs are computed in one go, because every tile needs this."""
        taken = self._tiles(plan, alphas, m, n)
        least = min(taken)
        return max(alpha for alpha, cost in zip(alphas, taken, strict=True) if cost == least)

    def _tiles(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> list[float]:
        B, T, lag, rows = plan.B, plan.T, plan.T + plan.chunk, plan.lane_set.column.rows
        found = []
        for alpha in alphas:
            strips = -(-m // (T * alpha))
            busy = strips if strips < B else B
            found.append((-(-strips // B) * n + busy * lag) * rows(alpha, busy, B))
        return found

    def sections(self, plan: Plan, alpha: int, m: int, n: int, count: int, overlap: int) -> float:
        """Strips of different sections run at once; those of one section follow each other."""
        strips = -(-m // (plan.T * alpha))
        busy = min(strips * count, plan.B)
        steps = -(-strips * count // plan.B) * (-(-n // count) + overlap + plan.T)
        steps += (strips - 1) * (plan.T + plan.chunk)
        return steps * plan.lane_set.column.rows(alpha, busy, plan.B)

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """In clocks of a device whose lanes are those of warps.

        Such a tile has few strips.  Each has a scheduler to itself, so a step takes its latency
        (:class:`.lane_sets.Moves`).  A lane set without these numbers costs as without moves.
        """
        moves = plan.lane_set.moves
        if moves is None:
            return self.tile(plan, alpha, m, n)
        at_once = 1 if plan.form == "two-phase" else plan.B  # in two phases one group does all
        strips = -(-m // (plan.T * alpha))
        rounds, busy = -(-strips // at_once), min(strips, at_once)
        steps = rounds * (n + plan.T) + (busy - 1) * (plan.T + plan.chunk)
        return steps * moves.clocks(alpha, plan.chunk)


class RowCost(Cost):
    """The cost of the row scan where many groups wait for each other: in rows of a strip."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Each segment is a row behind the one before it, so the last one ends after as many hops
        as there are segments and rows.  Where nobody knows the time of a hop, its cells."""
        hop = plan.lane_set.column.hop
        return (-(-n // (plan.T * alpha)) + m) * hop if hop else float(m * n)

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Its cells: other lanes compute it."""
        return float(m * n)


class CellCost(Cost):
    """The cost of an engine whose time is proportional to the cells: in cells."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Its cells."""
        return float(m * n)

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Its cells."""
        return float(m * n)


def even(length: int, most: int) -> tuple[int, int]:
    """The number of even pieces of at most ``most``, and the length of one."""
    pieces = -(-length // most)
    return pieces, -(-length // pieces)
