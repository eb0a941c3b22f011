"""Many pairs in batches: each pair's width, and the pairs that are better aligned alone.

Pairs are taken in the caller's order, in parts that fit memory.  While the device computes one
part, the host lays out the next.  A pair whose score outgrows its lanes is computed again in lanes
of twice the width.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.bounds import (
    FREE_QUERY,
    counts_fit,
    global_fits,
    local_limit,
    local_width,
    path_reach,
)
from ..engines.batch.engine import BatchEngine, Computed, Tops
from ..errors import InputError
from ..planning.parameters import PairTuning, default_tuning
from ..results.stats import Stats
from ..scoring.scoring import NO_CODE, Scoring
from .batch_layout import Part, PartOf, extremes_of, group_cells, in_order, lonely, parts
from .batch_pieces import in_pieces
from .batch_results import FOUND, HOW, PATHS, TRACED, Choose, PairResults, PathCells
from .batch_singles import OneByOne
from .batch_strands import Minus, turn_back, turned
from .prepared import Batch

Ints = NDArray[np.int32]

#: Pairs that fill the lanes of some threads.
FEW = 128


@dataclass(frozen=True)
class Under:
    """A batch that the device computes."""

    part: Part
    width: int
    how: str
    batch: Computed
    #: What is wanted of the pairs: if not ``how``, their ends are found first.
    wanted: str


class BatchDriver:
    """Aligns pairs on a `BatchEngine`.

    ``scoring`` is clamped.  ``one`` aligns single pairs and names what is wrong with a pair.
    ``done(cells, pairs)`` is called as results arrive, and ``meanwhile()`` while the device
    computes the last pairs.
    """

    def __init__(
        self,
        engine: BatchEngine,
        scoring: Scoring,
        one: OneByOne,
        done: Callable[[int, int], None],
        tuning: PairTuning | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ):
        self.engine, self.scoring, self.one, self.done = engine, scoring, one, done
        self.meanwhile = meanwhile
        self.found = one.found
        self.tuning = tuning or default_tuning().pairs
        self.vector = engine.vectors
        #: May long targets be compared in pieces?
        self.cuts = self.vector and (engine.local or engine.ends == FREE_QUERY)
        least = local_width(scoring) if engine.local else 16
        self.least_width = max(least, engine.widths[0])
        self.under_way: deque[Under] = deque()
        self.paths = PathCells()
        self.minus: Minus | None = None
        self.choose: Choose | None = None
        #: The scores of all pairs that are known before their paths are looked for, else -1.
        self.scores: NDArray[np.integer[Any]] = np.empty(0, np.int32)
        self.knows_scores = False
        #: Pairs that scores were found of, and those of them that were chosen.
        self.scored = self.chosen = 0
        #: Of pairs whose second best end is wanted: what their batch found, their place, the pair.
        self.tops: dict[int, tuple[Tops, int, Ints]] = {}

    def run(
        self,
        pairs: Sequence[Any],
        output: str,
        found: PairResults,
        minus: Minus | None = None,
        ends: Ints | None = None,
        choose: Choose | None = None,
    ) -> None:
        """Find out about all pairs what ``output`` says, except those that were aligned alone or
        left out.

        The results go to ``found``; those of pairs that are aligned alone go to ``one.found``.  If
        ``output`` is "score", but ``found`` has ends, too, these are found of the pairs whose paths
        will be looked for near them.  ``minus``: for each pair, is the reverse complement of its
        query aligned?  ``ends``: scores, and rows and columns of ends (3 x n); a column below 0 is
        unknown.  ``choose``: may leave out pairs whose scores are found before their paths."""
        self.found, self.choose = found, choose
        self.minus = None if ends is None else minus
        self.knows_scores = ends is not None
        self.scores = np.full(len(pairs), -1, np.int32) if ends is None else ends[0]
        tuning = self.tuning
        most = tuning.cpu_pairs if self.vector else tuning.gpu_pairs
        if not self.vector and not isinstance(pairs, Batch):
            most = min(most, tuning.gpu_listed_pairs)
        mates, lane_cells = tuning.cpu_mates, 0
        if not self.vector:
            mates, lane_cells = tuning.gpu_mates, tuning.gpu_lane_cells
        in_flight = tuning.cpu_in_flight if self.vector else tuning.gpu_in_flight
        longest = tuning.longest if self.vector else min(tuning.longest, tuning.gpu_longest)
        limits = most, tuning.most_letters, max(longest, tuning.most_letters * self.cuts)
        alphabet = self.scoring.alphabet
        if not isinstance(pairs, Batch):
            cut: Iterable[PartOf] = parts(pairs, *limits, alphabet)
        elif alphabet is not None:
            raise InputError(f"a Batch has plain letters, and sub_score is for {alphabet}")
        else:
            cut = pairs.parts(*limits)  # the next call begins with what this one finds
            self.paths = pairs.known.setdefault(("paths", *self._comparison()), self.paths)
            self.engine.use(pairs.store, int(tuning.memory_share * self.engine.memory_bytes))
        for part, lengths, long in cut:
            first = int(min([*part.index[:1], *long[:1]]))
            self.one.check_lengths(first, lengths, extremes_of(part, lengths))
            left = found.left[first : first + len(lengths)]
            if left.any():
                self.done(int(lengths[left].prod(axis=1).sum()), int(left.sum()))
            done = found.alone | found.left
            known = done[part.places]
            part, long = part.take(~known) if known.any() else part, long[~done[long]]
            if minus is not None:
                found.query_lengths[first : first + len(lengths)] = lengths[:, 0]
                self._check_letters(part)
                part = turned(part, minus[part.index])
            alone, how = long.tolist(), HOW[output]
            if ends is not None:
                known = ends[2, part.index] >= 0
                if known.any():
                    near = part.take(known)
                    alone += self._begin(self._near(near, ends[:, near.index]), how)
                    part = part.take(~known)
            part = in_pieces(self, part, how)
            away = lonely(part, tuning.alone_cells, mates, lane_cells)
            if self.cuts:  # pieces of longer targets only
                away |= np.maximum(part.m, part.n) > longest
            if away.any():
                alone += part.index[away].tolist()
                part = part.take(~away)
            if how == "score" and "target_end" in found.values:
                far = self._far(part)
                alone += self._begin(part.take(far), "ends")
                part = part.take(~far)
            large = part.cells > tuning.counted_cells if how == "traceback" else None
            if large is not None and large.any():
                large &= ~self._far(part)
                if minus is None and not self.scoring.by_position:
                    alone += self._begin(part.take(large), "counts")
                else:  # counting finds no start, and no letters of positions
                    alone += part.index[large].tolist()
                part = part.take(~large)
            alone += self._begin_paths(part, how) if how in PATHS else self._begin(part, how)
            self._alone(alone)
            while len(self.under_way) > in_flight:
                self._finish()
        self.meanwhile()
        while self.under_way:
            self._finish()
        if minus is not None:
            turn_back(found, minus & ~found.alone)
            found.minus[~found.alone] = minus[~found.alone]
        found.stats.device_bytes = self.engine.peak_bytes

    def _comparison(self) -> tuple[Any, ...]:
        """What the paths of some letters depend on."""
        scoring, engine = self.scoring, self.engine
        encodings = scoring.query_encoding.tobytes(), scoring.target_encoding.tobytes()
        gaps = scoring.gap_open, scoring.gap_extend
        return (scoring.matrix.tobytes(), *encodings, *gaps, engine.local, engine.ends)

    def _check_letters(self, part: Part) -> None:
        """Raise for a letter outside the alphabet, before its complement takes its place."""
        known = self.scoring.query_encoding != NO_CODE
        if not known[part.text].all():
            for k in part.index.tolist():
                self.one.check_letters(k)

    def _begin_paths(self, part: Part, how: str) -> list[int]:
        """Start the batches of paths, those of far ends in two steps; returns what `_begin`
        returns."""
        alone, few = [], min(self.tuning.first_paths, max(FEW, len(part) // 8))
        far, unknown = self._far(part), not self.paths.all and self._looks_near(part)
        if unknown and len(part) >= 4 * few and part.kept is None and not far.any():
            alone = self._begin(part.take(np.arange(few)), how)  # how much of them is near ends?
            while self.under_way:
                self._finish()
            part = part.take(np.arange(few, len(part)))
            far = self._far(part)
        if far.any():
            first = "starts" if self._finds_starts else "ends"
            alone += self._begin(part.take(far), first, how)
            part = part.take(~far)
        if self._weighs(part):
            return alone + self._begin(part, "score", how)
        return alone + self._begin(part, how)

    def _weighs(self, part: Part) -> bool:
        """Are the scores found first, and then the paths of the pairs that are chosen?  All moves
        take some ten times the time of scores, so it pays unless most pairs are chosen."""
        few = 2 * self.chosen <= self.scored
        return self.choose is not None and few and part.all_cells > self.tuning.unchosen_cells

    def _far(self, part: Part) -> NDArray[np.bool_]:
        """Of which pairs are the ends found first, and then paths near these ends?  Where targets
        are long, or where little of the pairs before was near their ends."""
        if self.scoring.by_position:
            return np.zeros(len(part), np.bool_)
        far, bounded = part.once(("far", *self._comparison()), lambda: self._long(part))
        if not bounded:
            return far
        far, short = far.copy(), self.paths.near < self.tuning.near_share * self.paths.all
        if self._looks_near(part) and (self._finds_starts or short):
            far[:] = True
        if part.kept is not None:  # its codes are kept for all pairs of a part
            far[:] = 2 * np.count_nonzero(far) > len(part)
        return far

    def _long(self, part: Part) -> tuple[NDArray[np.bool_], bool]:
        """Which pairs have targets far longer than their paths, and does anything bound these?"""
        engine = self.engine
        reach = path_reach(self.scoring, part.m, None, engine.local, engine.ends)
        if reach is None:
            return np.zeros(len(part), np.bool_), False
        return np.asarray(part.n >= self.tuning.far * reach), True

    def _looks_near(self, part: Part) -> bool:
        """Is it worth the host's work to leave out what is not near the ends of these pairs?"""
        many = self.vector or part.all_cells >= self.tuning.gpu_near_cells * len(part)
        return many and not self.scoring.by_position  # whose kernels begin with the first position

    def _begin(self, part: Part, how: str, wanted: str = "") -> list[int]:
        """Start the batches of a part, each pair in the narrowest lanes that may hold it.  Returns
        the numbers of the pairs that are better aligned alone.  ``wanted``: see `Under`; "": the
        same as ``how``."""
        engine, alone = self.engine, []
        if engine.local and how != "counts" and not (self.knows_scores or self.scored):
            return self._start(part, self.least_width, how, wanted or how) if len(part) else []
        scores = self.scores[part.index]
        least = max(16, self.least_width) if how == "counts" else self.least_width
        width = np.full(len(part), least)
        for w in engine.widths[:-1]:
            fits = np.full(len(part), True)
            if engine.local:  # scores that are not known yet tell later which need wider ones
                fits = scores <= local_limit(self.scoring, w)
            else:
                fits = global_fits(self.scoring, part.m, part.n, w, engine.ends)
            if how == "counts":
                fits &= counts_fit(part.m, part.n, w)
            width[(width == w) & ~fits] = 2 * w
        for w in engine.widths:
            chosen = width == w
            if chosen.any():
                some = part if chosen.all() else part.take(chosen)
                alone += self._start(some, w, how, wanted or how)
        return alone

    def _start(self, part: Part, width: int, how: str, wanted: str) -> list[int]:
        """Start the batches of pairs in lanes of one width; returns what `_begin` returns."""
        tuning = self.tuning
        lanes, moves = self.engine.pairs_a_group(width), how in PATHS
        part = in_order(part, lanes)
        columns = self.engine.columns(width)
        cells, computed = group_cells(part, lanes, columns)
        bad = (computed > tuning.wasted_cells) & (computed > tuning.most_waste * cells)
        if moves:
            bad |= computed // 2 > min(tuning.group_moves, self.engine.most_bytes)
        numbers: list[int] = []
        if bad.any():
            alone = np.repeat(bad, lanes)[: len(part)]
            numbers = part.index[alone].tolist()
            part, computed = part.take(~alone), computed[~bad]
        cuts = [0, len(part)] if len(part) else []
        if moves and len(part):
            cuts = _cuts(computed, lanes, 2 * self._most_moves(int(computed.max()) // 2))
            cuts.append(len(part))
        codes = None
        if part.kept is not None and len(part):
            most = int(tuning.kept_share * self.engine.memory_bytes)
            given = part.text, part.pairs, part.groups(lanes, columns), width, most
            codes = self.engine.kept_codes(part.kept, *given)
        for start, stop in pairwise(cuts):
            some = part if stop - start == len(part) else part.take(slice(start, stop))
            kept = None if codes is None else (codes, start)
            groups = some.groups(lanes, columns)
            near = some.whole is not None
            tops = self.one.second_best and not near and how != "score"
            batch = self.engine.start(some.text, some.pairs, groups, width, how, kept, near, tops)
            self.under_way.append(Under(some, width, how, batch, wanted))
            kind = f"batch/{self.engine.lanes}/{width}"
            self.found.stats.add_cost(Stats({kind: some.all_cells}, 1 + moves))
        return numbers

    def _most_moves(self, group: int) -> int:
        """Bytes of the moves of a batch whose largest group has ``group`` of them."""
        tuning, engine = self.tuning, self.engine
        share, most = int(tuning.moves_share * engine.memory_bytes), tuning.gpu_moves
        if self.vector:
            share, most = min(share, engine.workers * group), tuning.cpu_moves
        return min(max(share, most), engine.most_bytes)

    def _finish(self) -> None:
        """Wait for the oldest batch and take its results.  Pairs that outgrew their lanes start
        again in wider ones."""
        under = self.under_way.popleft()
        part, batch, width, how = under.part, under.batch, under.width, under.how
        batch.finish(None if self.found.paths is None else self.found.paths.room)
        found = batch.found
        if batch.looked_at and found[-1].any():
            self.one.check(int(part.index[found[-1] != 0].min()))
        if batch.lent is not None:
            batch.lent.done()
        outgrown = np.zeros(len(part), np.bool_)
        if self.engine.local and width < 32:
            outgrown = found[0] > local_limit(self.scoring, width)
        if batch.tops is not None:
            for k in np.flatnonzero(~outgrown).tolist():
                self.tops[int(part.index[k])] = batch.tops, k, part.pairs[k]
        if how == under.wanted:
            self._take(part, batch, outgrown, FOUND[:1] if how == "score" else FOUND)
        else:
            sure = part
            if outgrown.any():
                sure, found = part.take(~outgrown), found[:, ~outgrown]
            self._alone(self._begin(self._next(*self._wanted(sure, found), how), under.wanted))
        if outgrown.any():
            if outgrown.mean() > self.tuning.most_outgrown and len(part) >= 64:
                self.least_width = max(self.least_width, 2 * width)
            self._alone(self._start(part.take(outgrown), 2 * width, how, under.wanted))

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
            return replace(part, kept=None)
        return part.before(found, *found[3:5]) if how == "starts" else self._near(part, found)

    def _alone(self, numbers: list[int]) -> None:
        """Align these pairs alone, on the better strands where these are known."""
        for k in sorted(numbers):
            strand = "" if self.minus is None else ("minus" if self.minus[k] else "plus")
            self.done(self.one.align(k, strand), 1 if strand else self.one.sweeps)

    def _near(self, part: Part, found: Ints) -> Part:
        """What is near the ends of pairs, in which their paths are."""
        reach = self._reach(found)
        assert reach is not None
        return part.near(found[:3], reach)

    @property
    def _finds_starts(self) -> bool:
        """Are the starts of local paths found, too, before the paths?  Where these are short."""
        few = self.paths.between < self.tuning.between_share * self.paths.near
        return self.vector and self.engine.local and few

    def _reach(self, found: Ints) -> NDArray[np.int64] | None:
        """See `path_reach`."""
        return path_reach(self.scoring, found[1], found[0], self.engine.local, self.engine.ends)

    def _take(
        self, part: Part, batch: Computed, outgrown: NDArray[np.bool_], names: Sequence[str]
    ) -> None:
        """Take the results of a batch of these ``names``; those of pairs that have ``outgrown``
        their lanes will be found again."""
        found, traced = batch.found, batch.traced
        if part.whole is not None:  # rows and columns of the whole matrix
            found[1:3] += part.whole[:, 1:3].T
            if traced is not None:
                traced[:2] += part.whole[:, 1:3].T
        for row, name in enumerate(names):
            if name in self.found.values and not (traced is not None and name in TRACED):
                self.found.values[name][part.places] = found[row]
        if traced is not None:
            self._take_paths(part, batch, ~outgrown)
            weighed = part.whole is None and self._looks_near(part)
            reach = self._reach(found) if weighed else None
            if reach is not None:
                self.paths.all += part.all_cells
                self.paths.near += int(part.near(found[:3], reach).cells.sum())
                sides = (found[1:3] - traced[:2])[:, ~outgrown]
                self.paths.between += int(np.prod(sides, 0, np.int64).sum())
        if part.whole is not None:
            for k in np.flatnonzero(~outgrown & (found[0] != part.whole[:, 3])).tolist():
                self._again(int(part.index[k]), int(found[0, k]), int(part.whole[k, 3]))
        if part.whole is None and not outgrown.any():
            self.done(part.all_cells, len(part))
            return
        cells = part.cells if part.whole is None else part.whole[:, 0]
        self.done(int(cells[~outgrown].sum()), int((~outgrown).sum()))

    def _take_paths(self, part: Part, batch: Computed, sure: NDArray[np.bool_]) -> None:
        """Take the results of the traceback.  A ``sure`` pair, which fits its lanes, is aligned
        again alone if its path does not score what the sweep found."""
        traced = batch.traced
        assert traced is not None
        bad = np.flatnonzero(sure & (traced[5] != batch.found[0]))
        for row, name in enumerate(TRACED):
            if name in self.found.values:
                self.found.values[name][part.places] = traced[row]
        if batch.runs is not None:
            assert self.found.paths is not None
            self.found.paths.add(part.places, batch.runs, traced[4])
        for k in np.flatnonzero(sure).tolist() if self.one.second_best else ():
            self._take_second(int(part.index[k]), traced[:2, k], batch.found[1:3, k])
        for k in bad.tolist():
            self._again(int(part.index[k]), int(traced[5, k]), int(batch.found[0, k]))

    def _take_second(self, k: int, start: Ints, end: Ints) -> None:
        """Find the second best end of pair k, whose path is known."""
        second = self.engine.outside(*self.tops.pop(k), start, end)
        self.found.values["second_best"][k] = second
        if not self.engine.local and (start == end).any():  # its own end lies outside, too
            self.one.align(k)

    def _again(self, k: int, scores: int, score: int) -> None:
        """Align pair k alone: its path in the batch has score ``scores``, not ``score``."""
        self.one.align(k)
        self.found.stats.recomputed += 1
        self.found.wrong.append(f"the path of pair {k} scores {scores}, not {score}")


def _cuts(cells: NDArray[np.int64], lanes: int, most: int) -> list[int]:
    """The first pair of each batch.  Group i computes ``cells[i]``; a batch computes at most
    ``most`` cells or is one group."""
    cuts, used = [0], 0
    for group, needed in enumerate(cells.tolist()):
        if used and used + needed > most:
            cuts.append(group * lanes)
            used = 0
        used += needed
    return cuts
