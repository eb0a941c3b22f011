"""What computing takes, told beforehand: plans and drivers choose by it, and by nothing else.

A model of cost is a class with two methods (:class:`Cost`).  Those here are formulas with a few
measured numbers.  One that was fitted to a device's run times is another such class; a plan names
the model that it is chosen by (``Plan.cost``).

A model states its units.  What it says is only compared with what it says of something else of the
same kind: tiles and matrices with each other, tiles with moves with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .plan import Plan


class Cost(Protocol):
    """What tiles and matrices take by a plan.  ``alpha``: rows of a lane, whatever the plan's."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """What a tile of m x n cells takes without moves."""

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """What a tile of m x n cells takes whose moves are kept."""

    def soonest(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> int:
        """The alpha that a tile of m x n cells is done with soonest, the most of equal ones."""
        return min(alphas, key=lambda alpha: (self.tile(plan, alpha, m, n), -alpha))

    def matrix(self, plan: Plan, m: int, n: int, shape: tuple[int, int]) -> float:
        """What m x n cells take, cut into even tiles of at most this shape, each computed with the
        alpha that it is done with soonest; in the unit of :meth:`tile`."""
        (down, rows), (across, columns) = even(m, shape[0]), even(n, shape[1])
        one = min(self.tile(plan, alpha, rows, columns) for alpha in plan.alphas)
        return down * across * one


class StripCost(Cost):
    """The wavefront's: strips of ``T * alpha`` rows, of which B are at work at once."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """In rows of one column of one lane.

        Strips are taken in rounds of B, each n columns long, and follow each other ``T + chunk``
        columns apart; a column costs its rows and some more (:class:`.lane_sets.Column`).
        """
        return self._tiles(plan, (alpha,), m, n)[0]

    def soonest(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> int:
        """The alpha that a tile is done with soonest: asked for every tile, so in one go."""
        taken = self._tiles(plan, alphas, m, n)
        least = min(taken)
        return max(alpha for alpha, cost in zip(alphas, taken, strict=True) if cost == least)

    def _tiles(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> list[float]:
        B, T, apart, rows = plan.B, plan.T, plan.T + plan.chunk, plan.lane_set.column.rows
        found = []
        for alpha in alphas:
            strips = -(-m // (T * alpha))
            busy = strips if strips < B else B
            found.append((-(-strips // B) * n + busy * apart) * rows(alpha, busy, B))
        return found

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """In clocks of a device whose lanes are those of warps.

        Such a tile has few strips: each has a scheduler to itself, and waits for the latency of its
        steps (:class:`.lane_sets.Moves`).  Other lane sets have no such numbers; there it is what
        the tile takes without moves.
        """
        moves = plan.lane_set.moves
        if moves is None:
            return self.tile(plan, alpha, m, n)
        at_once = 1 if plan.form == "two-phase" else plan.B  # two phases keep no moves: one group
        strips = -(-m // (plan.T * alpha))
        rounds, busy = -(-strips // at_once), min(strips, at_once)
        steps = rounds * (n + plan.T) + (busy - 1) * (plan.T + plan.chunk)
        return steps * moves.clocks(alpha, plan.chunk)


class CellCost(Cost):
    """Of an engine whose time goes with the cells: in cells."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Its cells."""
        return float(m * n)

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Its cells."""
        return float(m * n)


def even(length: int, most: int) -> tuple[int, int]:
    """How many even pieces of at most ``most`` there are, and how long they are."""
    pieces = -(-length // most)
    return pieces, -(-length // pieces)
