"""What tiles and matrices cost under a plan: plans and drivers choose by that alone.

Counts (columns of strips, blocks, waits) are multiplied with the times of the device's profile
(:mod:`.model.times`).  Only costs of one kind are compared: tiles and matrices with each other,
tiles with moves with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .model.times import CUT, Count, Line, Wave, lag_of
from .plan_fields import PlanFields

#: What tiles cost (`PlanCosts.ways`), kept for calls that repeat; and how many of them at most.
_kept: dict[tuple[Any, ...], list[tuple[float, int, int]]] = {}
MOST_KEPT = 4096


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


class PlanCosts(PlanFields):
    """A plan's fields, and what tiles cost under it: in seconds on the device."""

    def ways(self, alphas: Sequence[int], m: int, n: int) -> list[tuple[float, int, int]]:
        """For each alpha the least cost of a tile of m x n cells without moves, and the B and chunk
        that have it; of equal costs those of the fewest groups."""
        machine, groups, chunks = self.machine, self.groups, self.chunks
        key = machine, self.engine, self.lanes, self.form, groups, self.T, chunks, m, n, *alphas
        kept = _kept.get(key)
        if kept is not None:
            return kept
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        alpha, B = np.array(alphas)[:, None, None], np.array(groups)[:, None]
        chunk = np.array(chunks)
        wave = self.wave(m, n, alpha, B, chunk)
        line = machine.pace(f"{self.engine}/{self.lanes}").lines(alpha, wave.share)
        costs = np.broadcast_to(line.seconds(wave, chunk), (len(alphas), len(groups), len(chunks)))
        costs = costs.reshape(len(alphas), -1)
        found = zip(costs.min(axis=1).tolist(), costs.argmin(axis=1).tolist(), strict=True)
        _kept[key] = [
            (cost, groups[at // len(chunks)], chunks[at % len(chunks)]) for cost, at in found
        ]
        return _kept[key]

    def soonest(self, alphas: Sequence[int], m: int, n: int) -> tuple[int, int, int]:
        """The alpha, B and chunk with the least cost of a tile of m x n cells; of equal ones those
        with the highest alpha."""
        ways = zip(self.ways(alphas, m, n), alphas, strict=True)
        (_, B, chunk), alpha = min(ways, key=lambda way: (way[0][0], -way[1]))
        return alpha, B, chunk

    def tile_cost(self, m: int, n: int) -> float:
        """The cost of a tile of m x n cells without moves, with the plan's own alpha."""
        return self.ways((self.alpha,), m, n)[0][0]

    def least_cost(self, m: int, n: int) -> float:
        """The least cost of such a tile with any alpha."""
        return min(cost for cost, _, _ in self.ways(self.alphas, m, n))

    def matrix_cost(self, m: int, n: int, shape: tuple[int, int]) -> float:
        """The cost of m x n cells in even tiles of at most this shape, each with its best alpha."""
        down, across = -(-m // shape[0]), -(-n // shape[1])
        return down * across * self.least_cost(-(-m // down), -(-n // across))

    def moves_cost(self, alpha: int, m: int, n: int) -> float:
        """The cost of a tile of m x n cells with stored moves and so many rows a lane.

        Such a tile has few strips, each with a scheduler to itself, so a step takes its latency.
        Where nobody measured that, it costs as without moves."""
        own = self.machine.by_subject.get(f"moves/{self.lanes}")
        if own is None:
            return self.ways((alpha,), m, n)[0][0]
        at_once = 1 if self.form == "two-phase" else self.B  # in two phases one group does all
        strips = -(-m // (self.T * alpha))
        rounds, busy = -(-strips // at_once), min(strips, at_once)
        steps = rounds * (n + self.T) + (busy - 1) * lag_of(self.T, self.chunk, n)
        step, row, block = (own.get(name, 0.0) for name in ("step", "row", "block"))
        return float(steps) * (step + row * alpha + block / self.chunk)

    def wave(self, m: int, n: int, alpha: Count, B: Count, chunk: Count) -> Wave:
        """The strips of a tile of m x n cells, which follow each other."""
        strips, shared = -(-m // (self.T * alpha)), self.lane_set.shares_strips(self.form)
        return self.machine.wave(strips, B, n + self.T, lag_of(self.T, chunk, n), shared)

    # Sections, in the unit of other tiles

    def cut_cost(self, cut: Cut, m: int, n: int) -> Count:
        """The cost of a tile of m x n cells in sections."""
        wave, checks = self.side_by_side(cut, m, n), (cut.sections - 1) * m
        checking = checks * (1 - cut.proven) * self.machine.of("call").get("check", 0.0)
        return self._section_line(cut, wave.share).seconds(wave, cut.chunk) + checking

    def side_by_side(self, cut: Cut, m: int, n: int) -> Wave:
        """The strips of a tile in sections: those of different ones run at once, those of one
        follow each other."""
        strips, width = -(-m // (self.T * cut.alpha)), -(-n // cut.sections) + cut.overlap + self.T
        sections, lag = self.whole(cut.sections, cut.B), lag_of(self.T, cut.chunk, width)
        return self.machine.side_by_side(strips, sections, cut.B, width, lag)

    def rounds(self, cut: Cut, m: int) -> Count:
        """About how many strips each group best takes of sections: arrays.  ``cut``: ways to cut a
        tile; its sections do not count.

        In R rounds there are ``R B / strips`` sections.  So groups sweep R overlaps, and
        ``strips / R`` strips of a section follow each other."""
        strips, overlap = -(-m // (self.T * cut.alpha)), cut.overlap + self.T
        line = self._section_line(cut, self.machine.share(cut.B))
        lag, pace = lag_of(self.T, cut.chunk, overlap), line.pace(0, cut.chunk)
        return np.sqrt(strips * (lag * pace + line.hop) / (overlap * pace + line.turn))

    def _section_line(self, cut: Cut, share: Count) -> Line:
        """What strips of sections take, of which so many share a scheduler."""
        pace = self.machine.pace(f"{self.engine}/{self.lanes}/{CUT}")
        return (pace.lines if isinstance(cut.alpha, np.ndarray) else pace.line)(cut.alpha, share)

    def shared_sections(self, B: Count) -> Count:
        """Neighbouring sections that share a work-group, if B strips are swept at once."""
        shared, schedulers = self.lane_set.shared_sections, self.machine.schedulers
        return shared * -(-B // schedulers) if shared > 1 and schedulers else B // B

    def whole(self, sections: Count, B: Count) -> Count:
        """So many sections, or more, so that those that share a group fill all groups."""
        shared = self.shared_sections(B)
        return -(-sections // shared) * shared
