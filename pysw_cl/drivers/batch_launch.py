"""Batches on their way: pairs go to the device in lanes that hold their scores, and results come
back.  A pair whose score outgrows its lanes is computed again in lanes of twice the width."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.scores import FREE_QUERY, counts_fit, global_fits, local_limit, path_reach
from ..planning.parameters import PairTuning
from ..results.stats import Stats
from .batch_layout import Lengths, Part
from .batch_results import FOUND, PATHS, TRACED, Choose, Minus, OneByOne

if TYPE_CHECKING:
    from ..engines.batch.engine import BatchEngine
    from ..engines.batch.kept import LentCodes
    from ..engines.batch.running import Running, Tops

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


class Batches:
    """What is under way on a `BatchEngine`.  ``one`` aligns single pairs and names what is wrong
    with a pair.  ``done(cells, pairs)`` is called as results arrive."""

    def __init__(
        self,
        engine: BatchEngine,
        one: OneByOne,
        done: Callable[[int, int], None],
        tuning: PairTuning,
    ):
        self.engine, self.scoring, self.one, self.done = engine, engine.scoring, one, done
        self.found, self.tuning = one.found, tuning
        self.vector = engine.vectors
        #: The longest sequence that is not aligned alone, pieces aside.
        self.longest = tuning.longest if self.vector else min(tuning.longest, tuning.gpu_longest)
        #: Bytes of the moves of one group, at most.
        self.most_moves = min(tuning.group_moves, engine.most_bytes)
        #: May long targets be compared in pieces?
        self.cuts = self.vector and (engine.local or engine.ends == FREE_QUERY)
        self.least_width = engine.least_width
        #: Batches that the device computes: the pairs, the width, how, what is wanted of them (if
        #: that is not how, their ends are found first), and the kept codes that it makes or uses.
        self.under_way: deque[tuple[Part, int, str, str, LentCodes | None, Running]] = deque()
        #: Pairs that are to be aligned alone.
        self.single: list[int] = []
        #: Cells of pairs whose whole matrices were swept for their paths: "all", those "near" the
        #: ends of the paths (`_next`), and those "between" their starts and ends.
        self.paths = Counter[str]()
        self.minus: Minus | None = None
        self.choose: Choose | None = None
        #: The scores of all pairs that are known before their paths are looked for, else -1.
        self.scores: NDArray[np.integer[Any]] = np.empty(0, np.int32)
        #: Pairs that scores were found of, and those of them that were chosen.
        self.scored = self.chosen = 0
        #: Of pairs whose second best end is wanted: what their batch found, their place, the pair.
        self.tops: dict[int, tuple[Tops, int, Ints]] = {}

    def _begin(self, part: Part, how: str, wanted: str = "") -> None:
        """Start batches, each pair in its narrowest lanes.  ``wanted``: see `under_way`."""
        engine, wanted = self.engine, wanted or how
        counts = how == "counts"
        least = max(16 if counts else 8, self.least_width)
        for width in engine.lanes.widths:
            if width < least or not len(part):
                continue
            if engine.local:  # by scores that are known: else it is seen later
                fits = self.scores[part.index] <= local_limit(self.scoring, width)
            else:
                fits = global_fits(self.scoring, part.m, part.n, width, engine.ends)
            if counts:
                fits &= counts_fit(part.m, part.n, width)
            if fits.any():
                self._start(part if fits.all() else part.take(fits), width, how, wanted)
                part = part.take(~fits)

    def _start(self, part: Part, width: int, how: str, wanted: str) -> None:
        """Start the batches of pairs, at least one, in lanes of one width."""
        tuning, engine = self.tuning, self.engine
        lanes, moves = engine.lanes.pairs(width), how in PATHS
        part, columns = part.in_order(lanes), engine.lanes.columns(width)
        groups = part.groups(lanes, columns)
        bad = groups.cells > tuning.wasted_cells
        if bad.any():
            own = np.add.reduceat(part.cells, np.arange(0, len(part), lanes))
            bad &= groups.cells > tuning.most_waste * own
        if moves:
            bad |= groups.cells // 2 > self.most_moves
        if bad.any():
            part = self._leave(part, np.repeat(bad, lanes)[: len(part)])
            if not len(part):
                return
            groups = part.groups(lanes, columns)
        cuts, codes = [0, len(part)], None
        if moves:
            share, most = int(tuning.moves_share * engine.memory_bytes), tuning.gpu_moves
            if self.vector:  # or a group for each unit
                share = min(share, engine.workers * int(groups.cells.max()) // 2)
                most = tuning.cpu_moves
            cuts = groups.cuts(2 * min(max(share, most), engine.most_bytes))
        if part.kept:
            most = int(tuning.kept_share * engine.memory_bytes)
            codes = engine.kept_codes(part.text, part.pairs, groups, width, most)
        for start, stop in pairwise(cuts):
            some = part if stop - start == len(part) else part.take(slice(start, stop))
            groups, near = some.groups(lanes, columns), some.whole is not None
            tops = self.one.options.second_best and not near and how != "score"
            execution = engine.execution(groups, width, how, tops)
            lent = None if codes is None else codes.lend(start // lanes, groups.count)
            batch = engine.start(some.text, some.pairs, execution, lent, near)
            self.under_way.append((some, width, how, wanted, lent, batch))
            cost = Stats({f"batch/{engine.lanes.name}/{width}": some.all_cells}, 1 + moves)
            self.found.stats.add_cost(cost)

    def _leave(self, part: Part, alone: Bools) -> Part:
        """The pairs of a part but those that are to be aligned ``alone``."""
        self.single += part.index[alone].tolist()
        return part.take(~alone)

    def _finish(self, most: int = 0) -> None:
        """Take the results of the oldest batches, until ``most`` are under way."""
        while len(self.under_way) > most:
            part, width, how, wanted, lent, batch = self.under_way.popleft()
            batch.finish(None if self.found.paths is None else self.found.paths.room)
            found = batch.found
            if not (lent is not None and lent.there) and found[-1].any():
                self.one.check(int(part.index[found[-1] != 0].min()))
            if lent is not None:
                lent.done()
            sure = (found[0] <= local_limit(self.scoring, width)) | (not self.engine.local)
            if batch.tops is not None:
                for k in np.flatnonzero(sure).tolist():
                    self.tops[int(part.index[k])] = batch.tops, k, part.pairs[k]
            all_sure = sure.all()
            if how == wanted:
                self._take(part, batch, sure)
            else:
                some, ends = (part, found) if all_sure else (part.take(sure), found[:, sure])
                self._begin(self._next(*self._wanted(some, ends), how), wanted)
            if not all_sure:
                self.found.stats.again += int(part.cells[~sure].sum())
                if 1 - sure.mean() > self.tuning.most_outgrown and len(sure) >= 64:
                    self.least_width = max(self.least_width, 2 * width)
                self._start(part.take(~sure), 2 * width, how, wanted)
            self._align_alone()

    def _wanted(self, part: Part, found: Ints) -> tuple[Part, Ints]:
        """The pairs of a part that are chosen by what was ``found`` of them, and that."""
        self.scores[part.index] = found[0]
        if self.choose is None or not len(part):
            return part, found
        chosen = self.choose(part.index, found[0])
        self.scored, self.chosen = self.scored + len(part), self.chosen + int(chosen.sum())
        if chosen.all():
            return part, found
        self.found.left[part.index[~chosen]] = True
        self.done(int(part.cells[~chosen].sum()), int((~chosen).sum()))
        return part.take(chosen), found[:, chosen]

    def _next(self, part: Part, found: Ints, how: str) -> Part:
        """The letters in which paths are looked for, after what was ``found`` of them."""
        if how == "score":
            return replace(part, kept=False)
        if how == "starts":
            return part.before(found, *found[3:5])
        reach = self._reach(found[1], found[0])
        assert reach is not None
        return part.before(found, found[1], reach)

    def _align_alone(self) -> None:
        """Align the pairs that are left alone, on the better strands where these are known."""
        strands, self.single = dict.fromkeys(sorted(self.single), ""), []
        if self.minus is not None:
            strands = {k: "minus" if self.minus[k] else "plus" for k in strands}
        for strand in sorted(set(strands.values())):
            some = [k for k, own in strands.items() if own == strand and self._is_tile(k)]
            scores = {k: max(1, int(self.scores[k])) for k in some}
            aligned = self.one.align_together(scores, strand) if len(scores) > 1 else {}
            for k, cells in aligned.items():
                self.done(cells, 1)
                del strands[k]
        for k, strand in strands.items():
            self.done(self.one.align(k, strand), 1 if strand else self.one.sweeps)

    def _is_tile(self, k: int) -> bool:
        """Can pair k be a tile of a launch of several?"""
        options, scoring = self.one.options, self.scoring
        able = self.engine.local and not scoring.by_position
        able = able and options.output not in ("score", "ends") and not options.second_best
        able = able and (self.minus is not None or options.strand != "both")
        return able and max(map(len, self.one.pairs[k])) <= self.tuning.tile_longest

    def _reach(self, rows: Ints, scores: Ints | None = None) -> Lengths | None:
        return path_reach(self.scoring, rows, scores, self.engine.local, self.engine.ends)

    @property
    def _finds_starts(self) -> bool:
        """Are the starts of local paths found, too, before the paths?  Where these are short."""
        few = self.paths["between"] < self.tuning.between_share * self.paths["near"]
        return self.vector and self.engine.local and few

    def _looks_near(self, part: Part) -> bool:
        """Is it worth the host's work to leave out what is not near the ends of these pairs?"""
        many = self.vector or part.all_cells >= self.tuning.gpu_near_cells * len(part)
        return many and not self.scoring.by_position  # whose kernels begin with the first position

    def _take(self, part: Part, batch: Running, sure: Bools) -> None:
        """Take the results of a batch; pairs that are not ``sure`` will be found again."""
        found, traced, values = batch.found, batch.traced, self.found.values
        if part.whole is not None:  # rows and columns of the whole matrix
            found[1:3] += part.whole[:, 1:3].T
            if traced is not None:
                traced[:2] += part.whole[:, 1:3].T
        known = dict(zip(FOUND, found[:-1], strict=False))
        if traced is not None:
            known |= dict(zip(TRACED, traced, strict=False))
        for name in known.keys() & values.keys():
            values[name][part.places] = known[name]
        if traced is not None:
            self._take_paths(part, batch, sure)
            weighed = part.whole is None and self._looks_near(part)
            if weighed and (reach := self._reach(found[1], found[0])) is not None:
                sides = (found[1:3] - traced[:2])[:, sure]
                self.paths["all"] += part.all_cells
                self.paths["near"] += part.before(found, found[1], reach).all_cells
                self.paths["between"] += int(np.prod(sides, 0, np.int64).sum())
        cells = part.cells
        if part.whole is not None:
            cells, scores = part.whole[:, 0], part.whole[:, 3]
            self._again(part, sure & (found[0] != scores), found[0], scores)
        self.done(int(cells[sure].sum()), int(sure.sum()))

    def _take_paths(self, part: Part, batch: Running, sure: Bools) -> None:
        """Take the paths, and second best ends.  A path that scores otherwise is found again."""
        traced, found = batch.traced, batch.found
        assert traced is not None
        if batch.runs is not None:
            assert self.found.paths is not None
            self.found.paths.add(part.places, batch.runs, traced[4])
        for k in np.flatnonzero(sure).tolist() if self.one.options.second_best else ():
            number, start, end = int(part.index[k]), traced[:2, k], found[1:3, k]
            second = self.engine.outside(*self.tops.pop(number), start, end)
            self.found.values["second_best"][number] = second
            if not self.engine.local and (start == end).any():  # its own end lies outside, too
                self.one.align(number)
        self._again(part, sure & (traced[5] != found[0]), traced[5], found[0])

    def _again(self, part: Part, wrong: Bools, found: Ints, scores: Any) -> None:
        """Align the ``wrong`` pairs alone: their paths score what was ``found``, not ``scores``."""
        for k in np.flatnonzero(wrong).tolist():
            number = int(part.index[k])
            self.one.align(number)
            self.found.stats.recomputed += 1
            self.found.wrong.append(f"the path of pair {number} scores {found[k]}, not {scores[k]}")
