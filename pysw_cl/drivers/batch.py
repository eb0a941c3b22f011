"""Many pairs in batches: what is looked for first, and the pairs that are better aligned alone.

Pairs are taken in the caller's order, in parts that fit memory.  While the device computes one
part, the host lays out the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..sequences.alphabet import NO_CODE
from .batch_launch import Batches, Bools, Ints
from .batch_layout import Lengths, Part, PartOf, parts
from .batch_results import HOW, PATHS, Choose, Minus, PairResults
from .options import FIELDS
from .prepared import Batch

#: Pairs that fill the lanes of some threads.
FEW = 128
#: A piece is at least so many times as long as the paths that overlap it.
LEAST = 8
#: Rounds of all lanes that pieces are made for, that they fill at least, and that are computed
#: before the results are taken.
ROUNDS, FULL, AT_ONCE = 4, 2, 16


class BatchDriver(Batches):
    """Aligns pairs on a `BatchEngine`."""

    #: Called while the device computes the last pairs; set by whoever makes it.
    meanwhile: Callable[[], object]

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
        self.scores = np.full(len(pairs), -1, np.int32) if ends is None else ends[0]
        in_flight = self.tuning.cpu_in_flight if self.vector else self.tuning.gpu_in_flight
        for part, lengths, long in self._parts(pairs):
            first = int(min([*part.index[:1], *long[:1]]))
            self.one.check_lengths(part, lengths, first)
            left = found.left[first : first + len(lengths)]
            if left.any():
                self.done(int(lengths[left].prod(axis=1).sum()), int(left.sum()))
            done = found.alone | found.left
            known = done[part.places]
            part, long = part.take(~known) if known.any() else part, long[~done[long]]
            if minus is not None:
                found.query_lengths[first : first + len(lengths)] = lengths[:, 0]
                self._check_letters(part)
                part = part.turned(minus[part.index])
            self.single += long.tolist()
            self._begin_part(part, HOW[output], ends, minus is not None)
            self._align_alone()
            self._finish(in_flight)
        self.meanwhile()
        self._finish()
        if minus is not None:
            found.turn_back(minus & ~found.alone)
            found.minus[~found.alone] = minus[~found.alone]
        found.stats.device_bytes = max(found.stats.device_bytes, self.engine.peak_bytes)

    def _parts(self, pairs: Sequence[Any]) -> Iterable[PartOf]:
        tuning, alphabet = self.tuning, self.scoring.alphabet
        most = tuning.cpu_pairs if self.vector else tuning.gpu_pairs
        longest = max(self.longest, tuning.most_letters * self.cuts)
        if not isinstance(pairs, Batch):
            most = most if self.vector else min(most, tuning.gpu_listed_pairs)
            return parts(pairs, most, tuning.most_letters, longest, alphabet)
        if alphabet is not None:
            raise InputError(f"a Batch has plain letters, and sub_score is for {alphabet}")
        # the next call begins with what this one finds
        self.paths = pairs.known.setdefault(("paths", *self._comparison()), self.paths)
        if pairs.again:
            self.engine.use(pairs.store, int(tuning.memory_share * self.engine.memory_bytes))
        letters = tuning.most_letters
        if not self.vector:  # many, so that all of a GPU has work
            letters = min(tuning.gpu_kept_letters, self.engine.memory_bytes // 64)
        return pairs.parts(most, letters, longest)

    def _begin_part(self, part: Part, how: str, ends: Ints | None, turned: bool) -> None:
        """Start all batches of a part.  ``ends``: see `run`; may queries be ``turned``?"""
        tuning = self.tuning
        if ends is not None:
            known = ends[2, part.index] >= 0
            if known.any():
                near = part.take(known)
                self._begin(self._next(near, ends[:, near.index], "ends"), how)
                part = part.take(~known)
        part = self._in_pieces(part, how)
        mates, lane_cells = tuning.cpu_mates, 0.0
        if not self.vector:
            mates, lane_cells = tuning.gpu_mates, tuning.gpu_lane_cells
        away = lonely(part, tuning.alone_cells, mates, lane_cells)
        if self.cuts:  # pieces of longer targets only
            away |= np.maximum(part.m, part.n) > self.longest
        if away.any():
            part = self._leave(part, away)
        if how == "traceback" and (large := part.cells > tuning.counted_cells).any():
            large &= ~self._far(part)
            if turned or self.scoring.by_position:  # counting finds no start, and no such letters
                part = self._leave(part, large)
            else:
                self._begin(part.take(large), "counts")  # in the sweep
                part = part.take(~large)
        if how in PATHS:
            self._begin_paths(part, how)
            return
        if how == "score" and "target_end" in self.found.values:
            far = self._far(part)
            self._begin(part.take(far), "ends")
            part = part.take(~far)
        self._begin(part, how)

    def _in_pieces(self, part: Part, how: str) -> Part:
        """Compute the pairs of a part that are compared in pieces; returns the others."""
        tuning = self.tuning
        chosen = (part.m <= tuning.piece_rows) & (part.cells > tuning.alone_cells)
        able = self.cuts and not (self.scoring.by_position and how in PATHS)
        able = able and not self.one.options.second_best  # it needs the whole rows
        reach = self._reach(part.m) if able and chosen.any() else None
        if reach is None:
            return part
        lanes = self.engine.lanes.pairs(self.least_width) * self.engine.workers
        most = int(part.n[chosen].sum(dtype=np.int64)) // (ROUNDS * lanes)
        size = max(LEAST * int(reach[chosen].max()), min(tuning.piece_letters, most))
        chosen &= part.n >= 2 * size
        some, own = part.take(chosen), reach[chosen]
        letters = int(some.n.sum(dtype=np.int64))
        if letters < FULL * lanes * size or not len(some):
            return part
        self._check_letters(some)  # pieces have numbers of their own
        step = max(1, AT_ONCE * lanes * size * len(some) // letters)
        for start in range(0, len(some), step):
            at = slice(start, start + step)
            self._compute(Pieces(some.take(at), own[at], size), how)
        return part.take(~chosen)

    def _compute(self, pieces: Pieces, how: str) -> None:
        part, known = pieces.whole, self.found.values
        first = "score" if how == "score" and "target_end" not in known else "ends"
        found = PairResults(len(pieces.part), FIELDS[first])
        found.stats = self.found.stats
        tuning = replace(self.tuning, wasted_cells=1 << 50)  # the last lanes may be empty
        beside = Batches(self.engine, self.one, lambda *_: None, tuning)
        beside.found, beside.scores = found, np.full(len(pieces.part), -1, np.int32)
        beside._begin(pieces.part, first)
        beside._finish()
        best = pieces.best(found)
        if how in PATHS:
            self._begin(self._next(*self._wanted(part, best), "ends"), how)
            self._align_alone()
            return
        for name, values in zip(FIELDS["ends"], best, strict=False):
            known[name][part.places] = values
        self.done(part.all_cells, len(part))

    def _comparison(self) -> tuple[Any, ...]:
        """What the paths of some letters depend on."""
        scoring, engine = self.scoring, self.engine
        encodings = scoring.query_encoding.tobytes(), scoring.target_encoding.tobytes()
        gaps = scoring.gap_open, scoring.gap_extend
        return (scoring.matrix.tobytes(), *encodings, *gaps, engine.local, engine.ends)

    def _check_letters(self, part: Part) -> None:
        """Raise for a letter outside the alphabet, before its complement takes its place."""
        if not (self.scoring.query_encoding != NO_CODE)[part.text].all():
            for k in part.index.tolist():
                self.one.check_letters(k)

    def _begin_paths(self, part: Part, how: str) -> None:
        """Start the batches of paths, those of far ends in two steps."""
        # The moves of a group may take too much memory.  Those between starts and ends may be few,
        # and long paths mostly need lanes of twice the width, of which a group has half as many.
        narrow, wide = (self.engine.lanes.pairs(k * self.least_width) for k in (1, 2))
        large = (narrow * part.cells > self.most_moves) & (wide * part.cells <= 2 * self.most_moves)
        if self.vector and self.engine.local and not self.scoring.by_position and large.any():
            self._begin(part.take(large), "starts", how)
            part = part.take(~large)
        few = min(self.tuning.first_paths, max(FEW, len(part) // 8))
        far, unknown = self._far(part), not self.paths["all"] and self._looks_near(part)
        if unknown and len(part) >= 4 * few and not part.kept and not far.any():
            self._begin(part.take(np.arange(few)), how)  # how much of them is near ends?
            self._finish()
            part = part.take(np.arange(few, len(part)))
            far = self._far(part)
        if far.any():
            self._begin(part.take(far), "starts" if self._finds_starts else "ends", how)
            part = part.take(~far)
        # Are the scores found first, and then the paths of the pairs that are chosen?  All moves
        # take some ten times the time of scores, so it pays unless most pairs are chosen.
        weighs = self.choose is not None and 2 * self.chosen <= self.scored
        weighs &= part.all_cells > self.tuning.unchosen_cells
        self._begin(part, "score" if weighs else how, how)

    def _far(self, part: Part) -> Bools:
        """Of which pairs are the ends found first, and then paths near these ends?  Where targets
        are far longer than their paths, or where little of the pairs before was near their ends."""

        def long() -> Bools:
            reach = None if self.scoring.by_position else self._reach(part.m)
            if reach is None:  # nothing bounds the paths
                return np.zeros(len(part), np.bool_)
            return np.asarray(part.n >= self.tuning.far * reach)

        far = part.once(("far", *self._comparison()), long).copy()
        short = self.paths["near"] < self.tuning.near_share * self.paths["all"]
        if self._looks_near(part) and (self._finds_starts or short):
            far[:] = True
        if part.kept:  # its codes are kept for all pairs of a part
            far[:] = 2 * np.count_nonzero(far) > len(part)
        return far


def lonely(part: Part, cells: int, mates: int, lane_cells: float = 0) -> Bools:
    """Which pairs have more than ``cells`` cells and fewer than ``mates`` other pairs at least half
    as large?  One for each ``lane_cells`` of their cells is enough, too."""
    found: Lengths = part.cells
    if not len(found) or found.max() <= cells:
        return np.zeros(len(found), np.bool_)
    as_large = len(found) - np.searchsorted(np.sort(found), (found + 1) // 2) - 1
    enough = np.minimum(mates, found / lane_cells) if lane_cells else mates
    return np.asarray((found > cells) & (as_large < enough))


class Pieces:
    """Pieces of ``size`` letters of the targets of the pairs ``whole``.  Each has the letters
    before it that a path to its first letter may take (``reach``), so the best end of a pair is
    that of its pieces: H of no cell is too high, and that of cells outside the overlap is right."""

    def __init__(self, whole: Part, reach: Lengths, size: int) -> None:
        counts = -(-whole.n.astype(np.int64) // size)
        #: The pair of each.
        self.owner = owner = np.repeat(np.arange(len(whole)), counts)
        #: Where the pieces of each pair begin among all.
        self.firsts = counts.cumsum() - counts
        start = (np.arange(len(owner)) - self.firsts[owner]) * size
        #: The letters of its target before each.
        self.before = np.maximum(start - reach[owner], 0)
        pairs = whole.pairs[owner]
        pairs[:, 2] += self.before.astype(np.int32)
        pairs[:, 3] = np.minimum(start + size, whole.n[owner]) - self.before
        self.whole, self.part = whole, Part(np.arange(len(owner)), whole.text, pairs)

    def best(self, found: PairResults) -> Ints:
        """The best scores and, if known, their first rows and columns (numbers x pairs)."""
        values = found.values
        scores = values["score"]
        if "target_end" not in values:
            return np.maximum.reduceat(scores, self.firsts)[None].astype(np.int32)
        row, column = values["query_end"], values["target_end"] + self.before
        best = np.lexsort((column, row, -scores, self.owner))[self.firsts]
        return np.stack([scores[best], row[best], column[best]]).astype(np.int32)
