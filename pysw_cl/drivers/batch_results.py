"""The results of many pairs, and pairs that are aligned one by one, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InternalError, PyswError, RangeError
from ..results.alignment import Alignment
from ..results.cigar import Ints
from ..results.pair_paths import PathWords, Words, move_left, runs_of, words_of
from ..results.stats import Stats
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import Scoring, made_of
from ..sequences.alphabet import COMPLEMENT
from ..sequences.sequence import as_sequence
from .batch_layout import Lengths, Part, as_halves, blame
from .job import make_frames
from .options import AlignOptions, ManyOptions, Resources
from .resources import AlignResources

#: The rows of a batch's forward results, and of its traceback's.
FOUND = ("score", "query_end", "target_end", "matches", "columns")
TRACED = ("query_start", "target_start", "matches", "columns")
#: The ``how`` of `BatchEngine.start` for each output, and those of paths.
HOW = {"score": "score", "ends": "ends", "matches": "traceback", "path": "cigar"}
PATHS = ("traceback", "cigar")
#: For each pair: is its query on the minus strand?
Minus = NDArray[np.bool_]
#: Which pairs are wanted, by their numbers and their scores in the scoring's integers.
Choose = Callable[[NDArray[np.int64], NDArray[Any]], NDArray[np.bool_]]
#: Aligns some pairs together, which reach these scores; None: one is better aligned alone.
Together = Callable[
    [list[Any], AlignOptions, AlignResources, list[int]], Sequence[Alignment | None]
]

UNKNOWN = -1
#: Letters of pairs whose gaps move at once, or of one pair.
AT_ONCE = 1 << 22


class PairResults:
    """The results of ``count`` pairs with the fields ``names``, to be filled in."""

    def __init__(self, count: int, names: Sequence[str]) -> None:
        numbers = [name for name in names if name not in ("cigar", "strand")]
        #: A column for each field but the CIGAR, in 32 bits where that does; scores are integers.
        self.values: dict[str, NDArray[Any]] = {name: np.empty(count, np.int32) for name in numbers}
        if "query_start" in numbers and "target_start" not in numbers:
            self.values["query_start"][:] = UNKNOWN
        self.paths = PathWords(count) if "cigar" in names else None
        #: Of each pair: is the query on the minus strand, was it aligned alone, was it left out?
        self.minus, self.alone, self.left = (np.zeros(count, np.bool_) for _ in range(3))
        self.query_lengths = np.zeros(count, np.int64)
        self.stats = Stats()
        #: Why each path that was computed again was wrong.
        self.wrong: list[str] = []

    def beside(self, names: Sequence[str]) -> PairResults:
        """Results of the same pairs with other fields, which share what is known of the pairs."""
        other = PairResults(len(self.alone), names)
        other.alone, other.left, other.query_lengths = self.alone, self.left, self.query_lengths
        other.stats, other.wrong = self.stats, self.wrong
        return other

    def take(self, other: PairResults, chosen: NDArray[np.bool_]) -> None:
        """Take over the ``chosen`` pairs of other results with the same fields."""
        for name, values in self.values.items():
            values[chosen] = other.values[name][chosen]

    def turn_back(self, chosen: Minus) -> None:
        """Count the query coordinates of the ``chosen`` pairs, whose queries were turned, in the
        letters as given: start and end change places.  An end without a start ("ends") becomes the
        start, and the end is unknown."""
        values, length = self.values, self.query_lengths[chosen]
        if "query_start" in values and "query_end" in values:
            start, end = values["query_start"][chosen], values["query_end"][chosen]
            values["query_start"][chosen] = length - end
            values["query_end"][chosen] = np.where(start == UNKNOWN, UNKNOWN, length - start)

    def ends_on(self, minus: PairResults, chosen: Minus) -> NDArray[np.int32]:
        """Scores, and rows and columns of ends (3 x n): of the ``chosen`` pairs those on the minus
        strand, there along the turned query.  A column below 0 is unknown."""
        score, row, column = (
            np.where(chosen, minus.values[name], self.values[name])
            for name in ("score", "query_end", "target_end")
        )
        turned_row = self.query_lengths - minus.values["query_start"]
        return np.stack([score, np.where(chosen, turned_row, row), column]).astype(np.int32)

    def left_aligned(
        self, pairs: Sequence[Any], scoring: Scoring, mode: str, free: tuple[bool, ...]
    ) -> tuple[Words, Ints]:
        """`PathWords.joined` of ``pairs`` with their gaps on the left; sets their matches."""
        assert self.paths is not None
        words, offsets = self.paths.joined()
        values, made, sizes, first = self.values, [words[:0]], [offsets[:1]], 0
        there = np.diff(offsets) > 0  # other pairs may have no places
        places = [
            [np.where(there, values[f"{side}_{end}"], 0) for end in ("start", "end")]
            for side in ("query", "target")
        ]
        letters = np.cumsum(sum(end.astype(np.int64) - start for start, end in places))
        while first < len(pairs):
            stop = max(first + 1, int(np.searchsorted(letters, letters[first] + AT_ONCE)))
            some, texts = slice(first, stop), []
            for side, minus in enumerate((self.minus, np.zeros_like(self.minus))):
                at = (place[some].tolist() for place in places[side])
                parts = map(_part, (pair[side] for pair in pairs[some]), *at, minus[some].tolist())
                texts.append(np.frombuffer(b"".join(parts), np.uint8))
            runs, bounds = runs_of(words[offsets[first] : offsets[stop]]), offsets[first : stop + 1]
            given = texts[0], texts[1], scoring, mode, free
            runs, bounds = move_left(runs, bounds - bounds[0], *given)
            matches = np.append(0, (runs.lengths * (runs.ops == ord("="))).cumsum())
            values["matches"][some] = np.where(there[some], np.diff(matches[bounds]), 0)
            made.append(words_of(runs))
            # a run too long for a word, which only a pair by itself has, is several
            sizes.append(np.diff(bounds) if stop - first > 1 else np.array([len(made[-1])]))
            first = stop
        return np.concatenate(made), np.concatenate(sizes).cumsum()


def _part(half: Any, start: int, end: int, minus: bool) -> bytes:
    """Letters ``[start, end)`` of a sequence, or their reverse complement."""
    if isinstance(half, str):
        text = half[start:end].encode()
    else:
        text = as_sequence(half, check=False).read(start, end).tobytes()
    return text.translate(COMPLEMENT.tobytes())[::-1] if minus else text


def check_pair(options: ManyOptions, query: Any, target: Any) -> None:
    """Raise what is wrong with two sequences, if anything is."""
    scoring = options.scoring
    query = query.sequence if isinstance(query, PositionMatrix) else query
    a = as_sequence(query, "query", alphabet=scoring.alphabet)
    b = as_sequence(target, "target", alphabet=scoring.alphabet)
    scoring.bounds.check_range(len(a), len(b), options.mode)
    make_frames(a, b, (None, None), options.strand, scoring)


class OneByOne:
    """Aligns single pairs of ``pairs`` with ``align``, and raises what is wrong with a pair.  An
    error begins with the number of its pair.  The caller reports progress."""

    def __init__(
        self,
        pairs: Sequence[Any],
        options: ManyOptions,
        resources: Resources,
        align: Callable[[Any, Any, AlignOptions, AlignResources], Alignment],
        together: Together,
    ):
        self.pairs, self.options = pairs, options
        self._align, self._together = align, together
        #: How often a pair is computed in batches; one that is aligned alone counts as often.
        self.sweeps = 1
        self.found = PairResults(len(pairs), options.fields)
        asked = options.for_one()
        #: The options of `align`, by the strand.
        self._on = cache(lambda strand: replace(asked, strand=strand) if strand else asked)
        self._resources = made_of(AlignResources, {**vars(resources), "progress": None})

    def align(self, k: int, strand: str = "") -> int:
        """Align pair k, on its better ``strand`` if known; returns the cells that count as done."""
        query, target = self.pairs[k]
        try:
            result = self._align(query, target, self._on(strand), self._resources)
        except PyswError as error:
            raise blame(k, error) from None
        return self._put(k, result, strand)

    def align_together(self, scores: dict[int, int], strand: str = "") -> dict[int, int]:
        """Align local pairs, on their better ``strand`` if known, in few launches; ``scores`` above
        0 that they reach, by their numbers.  Returns the cells done, of those aligned."""
        asked, pairs = self._on(strand), [self.pairs[k] for k in scores]
        try:
            found = self._together(pairs, asked, self._resources, list(scores.values()))
        except PyswError:
            for k in scores:
                self.check_letters(k)  # which pair is it?
            raise
        each = zip(scores, found, strict=True)
        return {k: self._put(k, one, strand) for k, one in each if one is not None}

    def _put(self, k: int, result: Alignment, strand: str) -> int:
        """The result of pair k; returns the cells that count as done."""
        found = self.found
        for name in found.values:
            value = getattr(result, name)
            if name in ("score", "second_best"):
                value = round(value * self.options.scoring.scale)
            value = UNKNOWN if value is None else value
            if abs(value) > np.iinfo(np.int32).max:
                found.values[name] = found.values[name].astype(np.int64)
            found.values[name][k] = value
        if found.paths is not None:
            found.paths.put(k, result.path)
        found.minus[k], found.alone[k] = result.strand == "minus", True
        found.stats.add(result.stats)
        return (1 if strand else self.sweeps) * len(result.query) * len(result.target)

    def all(self, done: Callable[[int, int], None]) -> None:
        """Align all pairs; ``done(cells, sweeps)`` is called after each."""
        as_halves(self.pairs)
        for k in range(len(self.pairs)):
            done(self.align(k), self.sweeps)

    def check(self, k: int) -> None:
        """Raise the error of pair k, which the caller knows to have one."""
        self.check_letters(k)
        raise InternalError(f"pair {k} was refused without a reason")

    def check_letters(self, k: int) -> None:
        try:
            check_pair(self.options, *self.pairs[k])
        except PyswError as error:
            raise blame(k, error) from None

    def check_lengths(self, part: Part, lengths: Lengths, first: int) -> None:
        """Raise for an empty sequence, or a score that could leave its range, among the pairs from
        number ``first`` on, with these ``lengths`` (n x 2), of which ``part`` was made.

        What `check_range` refuses grows with min(m, n) and with m + n, so only the pairs that are
        largest by either are looked at."""

        def extremes() -> list[int]:
            m, n = lengths.T  # (a sum or least along rows of two takes ten times as long)
            shorter = np.minimum(m, n)
            return [int(shorter.argmin()), int(shorter.argmax()), int((m + n).argmax())]

        shortest, *longest = part.once("extremes", extremes)
        if not lengths[shortest].all():
            self.check(first + shortest)
        bounds, mode = self.options.scoring.bounds, self.options.mode
        try:
            for k in longest:
                bounds.check_range(int(lengths[k, 0]), int(lengths[k, 1]), mode)
        except RangeError:
            for k in range(len(lengths)):
                self.check_letters(first + k)
            raise
