"""Cost models predict the work of tiles and matrices; plans and drivers choose by them alone.

A cost model is a class with a method or two (:class:`Cost`).  Those of engines on a device multiply
counts with the times of its profile (:mod:`.model`).  A plan names its model (``Plan.cost``).

Each model states its units.  Only costs of one kind are compared: tiles and matrices with each
other, tiles with moves with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .model.times import CUT, Count, Line, Wave, lag_of
from .plan_fields import PlanFields


class Cut(NamedTuple):
    """Sections of a tile, and the groups that sweep them.  Of many ways to cut it: arrays."""

    alpha: Count
    B: Count
    chunk: Count
    #: How many sections there are.
    sections: Count
    #: Columns that each also sweeps left of its first.
    overlap: Count
    #: Need their first columns no comparison with the section before?
    proven: Count


class Cost:
    """The cost of tiles and matrices under a plan, but with other rows a lane (``alpha``)."""

    def ways(
        self, plan: PlanFields, alphas: Sequence[int], m: int, n: int
    ) -> list[tuple[float, int, int]]:
        """For each alpha the least cost of a tile of m x n cells without moves, and the B and chunk
        that have it."""
        raise NotImplementedError

    def tile(self, plan: PlanFields, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells without moves."""
        return self.ways(plan, (alpha,), m, n)[0][0]

    def least(self, plan: PlanFields, alphas: Sequence[int], m: int, n: int) -> float:
        """The least cost of a tile of m x n cells with one of these alphas."""
        return min(cost for cost, _, _ in self.ways(plan, alphas, m, n))

    def soonest(
        self, plan: PlanFields, alphas: Sequence[int], m: int, n: int
    ) -> tuple[int, int, int]:
        """The alpha, B and chunk with the least cost of a tile of m x n cells; of equal ones those
        with the highest alpha."""
        ways = zip(self.ways(plan, alphas, m, n), alphas, strict=True)
        (_, B, chunk), alpha = min(ways, key=lambda way: (way[0][0], -way[1]))
        return alpha, B, chunk

    def tile_with_moves(self, plan: PlanFields, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells with stored moves."""
        return self.tile(plan, alpha, m, n)

    def sections(self, plan: PlanFields, cut: Cut, m: int, n: int) -> Count:
        """The cost of a tile of m x n cells in sections; in the unit of :meth:`tile`."""
        raise NotImplementedError

    def matrix(self, plan: PlanFields, m: int, n: int, shape: tuple[int, int]) -> float:
        """The cost of m x n cells in even tiles of at most this shape, each with its best alpha; in
        the unit of :meth:`tile`."""
        (down, rows), (across, columns) = even(m, shape[0]), even(n, shape[1])
        return down * across * self.least(plan, plan.alphas, rows, columns)


class StripCost(Cost):
    """The cost of the wavefront by the times of a profile: in seconds on the device."""

    #: Sizes whose costs are kept, for calls that repeat.
    MOST = 4096

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], list[tuple[float, int, int]]] = {}

    def ways(
        self, plan: PlanFields, alphas: Sequence[int], m: int, n: int
    ) -> list[tuple[float, int, int]]:
        """See `Cost`: all in one go, because every tile needs this; of equal costs those of the
        fewest groups."""
        machine, groups, chunks = plan.machine, plan.groups, plan.chunks
        key = machine, plan.lanes, plan.form, groups, plan.T, chunks, m, n, *alphas
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        if len(self._kept) >= self.MOST:
            self._kept.clear()
        alpha, B = np.array(alphas)[:, None, None], np.array(groups)[:, None]
        chunk = np.array(chunks)
        wave = self.wave(plan, alpha, m, n, B, chunk)
        line = machine.pace(f"{plan.engine}/{plan.lanes}").lines(alpha, wave.share)
        costs = np.broadcast_to(line.seconds(wave, chunk), (len(alphas), len(groups), len(chunks)))
        costs = costs.reshape(len(alphas), -1)
        found = zip(costs.min(axis=1).tolist(), costs.argmin(axis=1).tolist(), strict=True)
        self._kept[key] = [
            (cost, groups[at // len(chunks)], chunks[at % len(chunks)]) for cost, at in found
        ]
        return self._kept[key]

    def wave(self, plan: PlanFields, alpha: Count, m: int, n: int, B: Count, chunk: Count) -> Wave:
        """The strips of a tile of m x n cells, which follow each other."""
        strips, shared = -(-m // (plan.T * alpha)), plan.lane_set.shares_strips(plan.form)
        return plan.machine.wave(strips, B, n + plan.T, lag_of(plan.T, chunk, n), shared)

    def sections(self, plan: PlanFields, cut: Cut, m: int, n: int) -> Count:
        """See `Cost`."""
        wave, checks = self.side_by_side(plan, cut, m, n), (cut.sections - 1) * m
        checking = checks * (1 - cut.proven) * plan.machine.of("call").get("check", 0.0)
        return _section_line(plan, cut, wave.share).seconds(wave, cut.chunk) + checking

    def side_by_side(self, plan: PlanFields, cut: Cut, m: int, n: int) -> Wave:
        """The strips of a tile in sections: those of different ones run at once, those of one
        follow each other."""
        strips, width = -(-m // (plan.T * cut.alpha)), -(-n // cut.sections) + cut.overlap + plan.T
        sections, lag = whole(plan, cut.sections, cut.B), lag_of(plan.T, cut.chunk, width)
        return plan.machine.side_by_side(strips, sections, cut.B, width, lag)

    def rounds(self, plan: PlanFields, cut: Cut, m: int) -> Count:
        """About how many strips each group best takes of sections: arrays.  ``cut``: ways to cut a
        tile; its sections do not count.

        In R rounds there are ``R B / strips`` sections.  So groups sweep R overlaps, and
        ``strips / R`` strips of a section follow each other."""
        strips, overlap = -(-m // (plan.T * cut.alpha)), cut.overlap + plan.T
        line = _section_line(plan, cut, plan.machine.share(cut.B))
        lag, pace = lag_of(plan.T, cut.chunk, overlap), line.pace(0, cut.chunk)
        return np.sqrt(strips * (lag * pace + line.hop) / (overlap * pace + line.turn))

    def tile_with_moves(self, plan: PlanFields, alpha: int, m: int, n: int) -> float:
        """Such a tile has few strips, each with a scheduler to itself, so a step takes its latency.
        Where nobody measured that, it costs as without moves."""
        own = plan.machine.by_subject.get(f"moves/{plan.lanes}")
        if own is None:
            return self.tile(plan, alpha, m, n)
        at_once = 1 if plan.form == "two-phase" else plan.B  # in two phases one group does all
        strips = -(-m // (plan.T * alpha))
        rounds, busy = -(-strips // at_once), min(strips, at_once)
        steps = rounds * (n + plan.T) + (busy - 1) * lag_of(plan.T, plan.chunk, n)
        step, row, block = (own.get(name, 0.0) for name in ("step", "row", "block"))
        return float(steps) * (step + row * alpha + block / plan.chunk)


class RowCost(StripCost):
    """The same of the row scan.

    A segment of a row is what a strip is to the wavefront, and a row what a column is.  But a
    segment waits less than a row for the one to its left: how long is a time of its own."""

    def wave(self, plan: PlanFields, alpha: Count, m: int, n: int, B: Count, chunk: Count) -> Wave:
        """The segments of a tile, B at once."""
        return plan.machine.wave(-(-n // (plan.T * alpha)), B, m, 0)

    def tile_with_moves(self, plan: PlanFields, alpha: int, m: int, n: int) -> float:
        """Its cells: other lanes compute it."""
        return float(m * n)


def _section_line(plan: PlanFields, cut: Cut, share: Count) -> Line:
    """What strips of sections take, of which so many share a scheduler."""
    pace = plan.machine.pace(f"{plan.engine}/{plan.lanes}/{CUT}")
    return (pace.lines if isinstance(cut.alpha, np.ndarray) else pace.line)(cut.alpha, share)


def shared_sections(plan: PlanFields, B: Count) -> Count:
    """Neighbouring sections that share a work-group, if B strips are swept at once."""
    shared, schedulers = plan.lane_set.shared_sections, plan.machine.schedulers
    return shared * -(-B // schedulers) if shared > 1 and schedulers else B // B


def whole(plan: PlanFields, sections: Count, B: Count) -> Count:
    """So many sections, or more, so that those that share a group fill all groups."""
    shared = shared_sections(plan, B)
    return -(-sections // shared) * shared


class CellCost(Cost):
    """The cost of an engine whose time is proportional to the cells: in cells."""

    def ways(
        self, plan: PlanFields, alphas: Sequence[int], m: int, n: int
    ) -> list[tuple[float, int, int]]:
        """See `Cost`."""
        return [(float(m * n), plan.B, plan.chunk)] * len(alphas)


def even(length: int, most: int) -> tuple[int, int]:
    """The number of even pieces of at most ``most``, and the length of one."""
    pieces = -(-length // most)
    return pieces, -(-length // pieces)
