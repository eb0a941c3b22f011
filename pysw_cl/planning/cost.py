"""Cost models predict the work of tiles and matrices; plans and drivers choose by them alone.

A cost model is a class with two methods (:class:`Cost`).  Those of engines on a device multiply
counts with the times of its profile (:mod:`.model`).  A plan names its model (``Plan.cost``).

Each model states its units.  Only costs of one kind are compared: tiles and matrices with each
other, tiles with moves with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .model.counts import CUT, Wave, lag_of, side_by_side, wave

if TYPE_CHECKING:
    from .plan import Plan


class Cut(NamedTuple):
    """Sections of a tile, and the groups that sweep them."""

    alpha: int
    B: int
    chunk: int
    #: How many sections there are.
    sections: int
    #: Columns that each also sweeps left of its first.
    overlap: int
    #: Need their first columns no comparison with the section before?
    proven: bool


class Cost(Protocol):
    """The cost of tiles and matrices under a plan, but with ``alpha`` rows a lane."""

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells without moves."""

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells with stored moves."""

    def sections(self, plan: Plan, cut: Cut, m: int, n: int) -> float:
        """The cost of a tile of m x n cells in sections; in the unit of :meth:`tile`."""
        return self.tile(plan, cut.alpha, m, n + cut.sections * cut.overlap)

    def soonest(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> tuple[int, int, int]:
        """The alpha, B and chunk with the least cost of a tile of m x n cells; of equal ones those
        with the highest alpha."""
        return (
            min(alphas, key=lambda alpha: (self.tile(plan, alpha, m, n), -alpha)),
            plan.B,
            plan.chunk,
        )

    def matrix(self, plan: Plan, m: int, n: int, shape: tuple[int, int]) -> float:
        """The cost of m x n cells in even tiles of at most this shape, each with its best alpha; in
        the unit of :meth:`tile`."""
        (down, rows), (across, columns) = even(m, shape[0]), even(n, shape[1])
        one = min(self.tile(plan, alpha, rows, columns) for alpha in plan.alphas)
        return down * across * one


class StripCost(Cost):
    """The cost of the wavefront by the times of a profile: in seconds on the device.

    Strips of ``T * alpha`` rows run on B groups, and each starts ``T + chunk`` columns behind the
    one above it (:mod:`.model.counts`).
    """

    #: Sizes whose costs are kept, for calls that repeat.
    MOST = 4096

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], list[tuple[float, int, int]]] = {}

    def tile(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """See `Cost`."""
        return self._tiles(plan, (alpha,), m, n)[0][0]

    def soonest(self, plan: Plan, alphas: Sequence[int], m: int, n: int) -> tuple[int, int, int]:
        """See :class:`Cost`.  All costs are computed in one go, because every tile needs this."""
        tiles = self._tiles(plan, alphas, m, n)
        least = min(cost for cost, _, _ in tiles)
        alpha, (_, B, chunk) = max(
            (alpha, tile) for alpha, tile in zip(alphas, tiles, strict=True) if tile[0] == least
        )
        return alpha, B, chunk

    def _tiles(
        self, plan: Plan, alphas: Sequence[int], m: int, n: int
    ) -> list[tuple[float, int, int]]:
        """For each alpha the least cost, and the B and chunk that have it."""
        groups, chunks = plan.groups, plan.chunks
        key = plan.machine, plan.lanes, plan.form, groups, plan.T, chunks, m, n, *alphas
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= self.MOST:
                self._kept.clear()
            kept = [min(self._ways(plan, alpha, (m, n), groups, chunks)) for alpha in alphas]
            self._kept[key] = kept
        return kept

    def _ways(
        self,
        plan: Plan,
        alpha: int,
        size: tuple[int, int],
        groups: Sequence[int],
        chunks: Sequence[int],
    ) -> Iterator[tuple[float, int, int]]:
        """The costs of a tile, with each B and chunk; no more groups than there are strips."""
        strips, fewer = -(-size[0] // (plan.T * alpha)), 0
        machine = plan.machine
        pace = machine.times.pace(f"{plan.engine}/{plan.lanes}")
        for B in groups:
            if fewer >= strips:  # each strip has a group already
                break
            fewer = B
            for chunk in chunks:
                wave = self.wave(plan, alpha, *size, B, chunk)
                line = pace.line(alpha, machine.share(wave.groups))
                busy = machine.busy(wave.running, plan.B)
                yield line.seconds(wave.columns, busy, chunk, wave.hops, wave.chain), B, chunk

    def wave(self, plan: Plan, alpha: int, m: int, n: int, B: int, chunk: int) -> Wave:
        """The strips of a tile."""
        return strip_wave(plan, alpha, m, n, B, chunk)

    def sections(self, plan: Plan, cut: Cut, m: int, n: int) -> float:
        """Strips of different sections run at once; those of one section follow each other."""
        wave, machine = section_wave(plan, cut, m, n), plan.machine
        pace = machine.times.pace(f"{plan.engine}/{plan.lanes}/{CUT}")
        line = pace.line(cut.alpha, machine.share(wave.groups))
        checks = 0 if cut.proven else (cut.sections - 1) * m
        checking = checks * machine.times.of("call").get("check", 0.0)
        waits = wave.hops, wave.chain, wave.turns
        return line.seconds(wave.columns, 0, cut.chunk, *waits) + checking

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Such a tile has few strips.  Each has a scheduler to itself, so a step takes its latency.
        Where nobody measured that, it costs as without moves."""
        own = plan.machine.times.by_subject.get(f"moves/{plan.lanes}")
        if own is None:
            return self.tile(plan, alpha, m, n)
        at_once = 1 if plan.form == "two-phase" else plan.B  # in two phases one group does all
        strips = -(-m // (plan.T * alpha))
        rounds, busy = -(-strips // at_once), min(strips, at_once)
        steps = rounds * (n + plan.T) + (busy - 1) * lag_of(plan.T, plan.chunk, n)
        step, row, block = (own.get(name, 0.0) for name in ("step", "row", "block"))
        return steps * (step + row * alpha + block / plan.chunk)


class RowCost(StripCost):
    """The cost of the row scan by the times of a profile: in seconds on the device.

    A segment of a row is what a strip is to the wavefront, and a row what a column is."""

    def wave(self, plan: Plan, alpha: int, m: int, n: int, B: int, chunk: int) -> Wave:
        """The segments of a tile."""
        return row_wave(plan, alpha, m, n)

    def tile_with_moves(self, plan: Plan, alpha: int, m: int, n: int) -> float:
        """Its cells: other lanes compute it."""
        return float(m * n)


def strip_wave(plan: Plan, alpha: int, m: int, n: int, B: int, chunk: int) -> Wave:
    """The strips of a tile of m x n cells, which follow each other."""
    shared = plan.lane_set.shares_strips(plan.form)
    return wave(-(-m // (plan.T * alpha)), B, n + plan.T, lag_of(plan.T, chunk, n), shared)


def section_wave(plan: Plan, cut: Cut, m: int, n: int) -> Wave:
    """The strips of a tile in sections."""
    strips, width = -(-m // (plan.T * cut.alpha)), -(-n // cut.sections) + cut.overlap + plan.T
    return side_by_side(strips, cut.sections, cut.B, width, lag_of(plan.T, cut.chunk, width))


def row_wave(plan: Plan, alpha: int, m: int, n: int) -> Wave:
    """The segments of a tile that is computed row by row, each a row behind the one to its left."""
    return wave(-(-n // (plan.T * alpha)), plan.B, m, 1)


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
