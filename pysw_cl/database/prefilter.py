"""A prefilter, which is a heuristic: only subjects that share a k-mer with the query are scored.

Method: the k-mers of many queries are in one table, in which those of the subjects are looked up
(Khajeh-Saeed & Perot 2011, GPU Computing Gems Emerald Edition, chapter 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import UNREACHED, SearchOptions
from ..engines.search.contract import SearchEngine
from ..errors import InputError
from ..results.stats import Stats
from ..sequences.alphabet import NO_CODE, Letters, is_nucleotide
from ..sequences.kmers import slots, words
from ..sequences.parallel import in_threads
from ..sequences.sequence_set import SequenceSet
from ..sequences.view import COMPARED

#: Bits of a slot of the table; letters that are looked up at once; the most flags of who shares.
SLOT_BITS, PIECE, FLAGS = 22, 1 << 17, 1 << 28
#: The score of a subject that is left out, and the code of a letter that does not match itself.
LEFT_OUT, NONE = -2 * UNREACHED, 255


def kmer_of(options: SearchOptions) -> int:
    """Letters of a k-mer; 0: nothing is left out."""
    usual = 11 if is_nucleotide(options.scoring.letters) else 5
    return (options.kmer_length or usual) if options.prefilter else 0


def heuristic_of(options: SearchOptions) -> str:
    """What is left out, in words."""
    said = f"heuristic: only targets that share {kmer_of(options)} letters in a row with the query"
    return said if options.prefilter else ""


class KmerSearch(SearchEngine):
    """Scores of an ``engine`` for subjects that share a k-mer with the query, on any strand that is
    searched.  Letters are equal if the scoring's codes are; ``cost`` says how many are left out."""

    def __init__(self, engine: SearchEngine, options: SearchOptions, cost: Stats) -> None:
        scoring, self._k, self.most_letters = options.scoring, kmer_of(options), engine.most_letters
        self.engine, self._cost, self._strands = engine, cost, len(COMPARED[options.strand])
        query, target = scoring.query_encoding, scoring.target_encoding
        known = np.flatnonzero((query != NO_CODE) & (target != NO_CODE))
        known = known[scoring.matrix[query[known], target[known]] > 0]
        kinds, codes = np.unique(target[known], return_inverse=True)
        self._codes = np.full(256, NONE, np.uint8)
        self._codes[known] = codes
        self._bits = max(1, (len(kinds) - 1).bit_length())
        if self._k * self._bits > 64:
            most = f"at most {64 // self._bits} with {len(kinds)} letters"
            raise InputError(f"kmer_length is {self._k}, and {most} that match themselves")

    def scores(
        self, queries: Iterable[Letters], held: Any, done: Callable[[int], None]
    ) -> Iterator[Any]:
        """The scores of queries as `on_strands` gives them; `LEFT_OUT` for what is left out."""
        queries, strands, every = list(queries), self._strands, len(held.letters)
        group, whole = strands * max(1, FLAGS // len(held) // strands), None
        for first in range(0, len(queries), group):
            some = queries[first : first + group]
            for k, shares in enumerate(self._sharing(some, held)):
                own, ranks = some[k * strands :][:strands], np.flatnonzero(shares)
                kept = int(held.lengths[ranks].sum())
                few, scores = 2 * kept < every, iter(list[Any]())
                self._cost.prefiltered += every
                self._cost.left_out += every - kept
                if kept:  # of many the others are scored, too: sending them takes as long
                    if few:
                        inner = self.engine.hold(held.take(ranks).alone())
                    else:
                        inner = whole = self.engine.hold(held) if whole is None else whole
                    scores = self.engine.scores(own, inner, lambda cells: None)
                for query in own:
                    found = np.full(len(held), LEFT_OUT, np.int64)
                    if kept:
                        found[ranks] = next(scores)[slice(None) if few else ranks]
                    done(len(query) * every)
                    yield found
                if few and kept:
                    self.engine.free(inner)
        if whole is not None:
            self.engine.free(whole)

    def _kmers(self, letters: Letters) -> tuple[NDArray[Any], Any]:
        """The k-mers of letters, and which of them have only letters that match themselves."""
        codes = self._codes[letters]
        before = np.concatenate([[0], np.cumsum(codes == NONE, dtype=np.int32)])
        found = words(codes & np.uint8((1 << self._bits) - 1), self._k, self._bits)
        return found, before[self._k :] == before[: -self._k]

    def _sharing(self, queries: list[Letters], subjects: SequenceSet) -> NDArray[np.bool_]:
        """Which subjects share a k-mer with each query, on any of its strands."""
        own = [np.unique(kmers[good]) for kmers, good in map(self._kmers, queries)]
        table, at, counts = np.unique(np.concatenate(own), return_inverse=True, return_counts=True)
        owners = np.repeat(np.arange(len(queries)) // self._strands, [len(one) for one in own])
        owners = owners[np.argsort(at, kind="stable")]
        firsts, used = counts.cumsum() - counts, np.zeros(1 << SLOT_BITS, np.bool_)
        used[slots(table, SLOT_BITS)] = True
        shared = np.zeros((len(queries) // self._strands, len(subjects)), np.bool_)

        def look(start: int) -> None:
            found, good = self._kmers(subjects.letters[start : start + PIECE + self._k - 1])
            places = np.flatnonzero(used[slots(found, SLOT_BITS)] & good)
            found = found[places]
            number = np.minimum(np.searchsorted(table, found), len(table) - 1)
            who = np.searchsorted(subjects.ends, start + places, "right")
            same = (table[number] == found) & (start + places + self._k <= subjects.ends[who])
            number, who = number[same], who[same]
            times = counts[number]
            inside = np.arange(times.sum()) - np.repeat(times.cumsum() - times, times)
            shared[owners[np.repeat(firsts[number], times) + inside], np.repeat(who, times)] = True

        if len(table):
            list(in_threads(look, range(0, len(subjects.letters) - self._k + 1, PIECE)))
        return shared
