"""A glance at two sequences: does an alignment probably lead through much of their matrix?

It only decides which of two exact ways is tried first (docs/algorithm.md, Sections); no result
depends on it.

Method: words of a few letters at even distances in one sequence are looked up in windows of the
other (as BLAST's seeds: Altschul et al. 1990, J Mol Biol 215, 403).  Chance spreads the pairs of
equal words over all diagonals, an alignment gathers them on neighbouring ones.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from .kmers import MIX, OTHERS, Words, words

Codes = NDArray[np.uint8]

#: Words of the target that are looked up.
SAMPLES = 2048
#: Letters of a window of the query at most (its words fit the cache, and memory that is used again)
#: and at least.
WINDOW, LEAST_WINDOW = 1 << 13, 1 << 10
#: Pairs that all windows have on the diagonal of equal sequences: they are so long together.
PAIRS = 256
#: Windows at even distances: the fewest (of a long query), the most, and letters for each between.
FEWEST, MOST, APART = 8, 32, 1 << 17
#: Windows that are looked at together.
AT_ONCE = 8
#: Bins of neighbouring diagonals.
BINS = 64
#: Pairs of equal words that a bin of related sequences has, on top of those that chance gives.
LEAST = 4
#: A word has a slot by the upper half of its hash.  Of several in one slot the last counts.
SLOT_BITS = 16
#: Of the words looked at: with more hits these sequences are full of repeats.
MOST_HITS = 1 / 4
#: Letters of a word of nucleotides: few, so that many survive.
NUCLEOTIDES = 12


def related(query: Codes, target: Codes) -> bool:
    """Do pairs of equal words gather on some diagonals?  Takes about a millisecond, however long
    the sequences are: it may overlook what is short or has changed much.

    ``query``, ``target``: codes of letters.  Codes below 4 alone are taken for nucleotides.
    """
    m, n = len(query), len(target)
    if min(m, n) < NUCLEOTIDES or query.dtype != target.dtype:  # positions are no letters
        return False
    k, bits = (NUCLEOTIDES, 2) if max(_most(query), _most(target)) < 4 else (OTHERS, 5)
    mask = np.uint8((1 << bits) - 1)
    places = np.arange(SAMPLES) * (n - k + 1) // SAMPLES
    letters = sliding_window_view(target, k)[places] & mask
    samples = (letters @ 2.0 ** (bits * np.arange(k)[::-1])).astype(np.uint32)
    known = np.full(1 << SLOT_BITS, -1, np.int16)
    known[_slot(samples)] = np.arange(SAMPLES, dtype=np.int16)
    wanted = max(LEAST_WINDOW, PAIRS * n // (SAMPLES * FEWEST))
    length = min(m, WINDOW, wanted)
    windows = min(-(-m // length), MOST, max(FEWEST, m // APART))
    starts = np.arange(windows) * (m - length) // max(1, windows - 1)
    counts, looked, hits = np.zeros(BINS + 1, np.int64), 0, 0
    for some in np.split(starts, range(AT_ONCE, windows, AT_ONCE)):
        every = words(np.stack([query[start : start + length] & mask for start in some]), k, bits)
        at = known[_slot(every)].reshape(-1)
        found = np.flatnonzero(at >= 0)
        looked, hits = looked + every.size, hits + len(found)
        at = at[found]
        equal = samples[at] == every.reshape(-1)[found]
        window, row = np.divmod(found[equal], every.shape[1])
        diagonals = places[at[equal]] - row - some[window] + m
        counts += np.bincount(diagonals * BINS // (m + n), minlength=BINS + 1)
    if hits > MOST_HITS * looked:
        return True
    return bool(counts.max() > LEAST + 4 * counts.sum() / BINS)


def _most(codes: Codes) -> int:
    """The highest code among some."""
    return int(codes[:: max(1, len(codes) // SAMPLES)].max())


def _slot(words: Words) -> NDArray[np.intp]:
    return ((words * MIX) >> np.uint32(32 - SLOT_BITS)).astype(np.intp)
