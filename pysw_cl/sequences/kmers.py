"""Words of a few letters (k-mers) as numbers, and what those that two sequences share tell.  No
result depends on any of it.

The sample of a sequence has the words with the lowest hashes (FracMinHash: Irber et al. 2022,
bioRxiv 10.1101/2022.01.11.475838).  A word of nucleotides and its reverse complement have one hash,
so a word that two sequences share is sampled in both, on either strand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from .alphabet import Letters
from .view import Frame

#: Words, in the narrowest unsigned numbers that hold them.
Words = NDArray[Any]

#: Letters of a word of nucleotides; of those of `related`, of which many survive; of others.
K, FEW, OTHERS = 16, 12, 5
#: Letters that are processed at once, so that temporary arrays stay in the caches.
PIECE = 1 << 16
#: Multiplication by this odd number (2^32 / golden ratio) mixes the high bits well.
MIX = np.uint32(0x9E3779B1)
#: About the most words that are sampled from the shorter and from the longer sequence, and at most
#: one in 2**LEAST_BITS is.
SAMPLES, MOST_SAMPLES, LEAST_BITS = 1 << 16, 1 << 22, 3
#: For a glance (`related`): words of the target that are looked up.  Each has a slot by the upper
#: half of its hash, and of several in one slot the last counts.
LOOKED_UP, SLOT_BITS = 2048, 16
#: Letters of a window of the query at most (its words fit the cache) and at least; all windows are
#: so long together that equal sequences have so many pairs on their diagonal.
WINDOW, LEAST_WINDOW, PAIRS = 1 << 13, 1 << 10, 256
#: Windows at even distances: the fewest, the most, letters between them, those taken together.
FEWEST, MOST, APART, AT_ONCE = 8, 32, 1 << 17, 8
#: Bins of neighbouring diagonals, and pairs of equal words in one that chance does not give.
BINS, LEAST = 64, 4
#: Of the words looked at: with more hits these sequences are full of repeats.
MOST_HITS = 1 / 4
#: Two bits of each letter, and of its complement the others.  Other letters count as A.
_CODES = bytes(max(0, "ACGT".find(chr(c).upper().replace("U", "T"))) for c in range(256))


class Sample(NamedTuple):
    """Some words of a sequence, the reverse complement of each, and where it begins."""

    words: Words
    complements: Words
    places: NDArray[np.int64]

    def turned(self, length: int) -> Sample:
        """That of the reverse complement of the sequence, which has so many letters."""
        return Sample(self.complements, self.words, length - K - self.places)


def sampled(letters: Letters, bits: int, piece: int = PIECE, four: bool = True) -> Sample:
    """One in ``2**bits`` of the words of ASCII ``letters``, looked at ``piece`` by piece.
    ``four``: are they nucleotides?  Others have no complements."""
    none = np.zeros(0, np.uint32)
    found, k = [Sample(none, none, np.zeros(0, np.int64))], K if four else OTHERS
    for start in range(0, len(letters) - k + 1, piece):
        some = letters[start : start + piece + k - 1]
        if four:
            codes = np.frombuffer(some.tobytes().translate(_CODES), np.uint8)
            own, other = words(codes, K, 2), words(np.uint8(3) - codes[::-1], K, 2)[::-1]
            hashes = (own + other) * MIX
        else:
            own = other = words(some & np.uint8(31), OTHERS, 5)
            hashes = own * MIX
        kept = np.flatnonzero(hashes <= np.uint32(0xFFFFFFFF >> bits))
        found.append(Sample(own[kept], other[kept], kept + start))
    return Sample(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def samples_of(frame: Frame, four: bool = True) -> tuple[Sample, Sample]:
    """Samples of both sides of a frame, as they are written: takes time linear in both."""
    short, long = sorted(frame.shape)
    bits = max(LEAST_BITS, (short // SAMPLES).bit_length(), (long // MOST_SAMPLES).bit_length())
    query, target = frame.compared
    return sampled(query, bits, four=four), sampled(target, bits, four=four)


def likely_minus(frame: Frame, least_cells: int) -> bool:
    """Does the reverse complement of the query share more k-mers with the target than the query
    does?  Then it probably has the better alignment, and its score prunes most of a search for the
    other one.  False for pairs of fewer than ``least_cells`` cells, without a look at them."""
    m, n = frame.shape
    if m * n < least_cells:
        return False
    query, target = samples_of(frame)
    plus, minus = (len(np.intersect1d(words, target.words)) for words in query[:2])
    return minus > plus


def words(codes: Letters, k: int, bits: int) -> Words:
    """All words of ``k`` codes of so many bits along the last axis, the first code in the highest
    bits.  They are built from words of half as many, in the narrowest numbers that hold them."""
    if k == 1:
        return codes
    half = k // 2
    halves = words(codes, half, bits)
    kind = np.min_scalar_type((1 << bits * k) - 1).type
    first = halves[..., : max(0, halves.shape[-1] - half)]
    found: Words = np.left_shift(first, kind(bits * half), dtype=kind)
    found |= halves[..., half:]
    if k % 2:
        found = found[..., :-1]
        found <<= kind(bits)
        found |= codes[..., k - 1 :]
    return found


def related(query: Letters, target: Letters) -> bool:
    """Does an alignment probably lead through much of the matrix?  This decides which of two exact
    ways is tried first (docs/algorithm.md, Sections).

    Words at even distances in the target are looked up in windows of the query (as BLAST's seeds:
    Altschul et al. 1990, J Mol Biol 215, 403).  Chance spreads the pairs of equal words over all
    diagonals, an alignment gathers them on neighbouring ones.  Takes about a millisecond, however
    long the sequences are: it may overlook what is short or has changed much.

    ``query``, ``target``: codes of letters.  Codes below 4 alone are taken for nucleotides."""
    m, n = len(query), len(target)
    if min(m, n) < FEW or query.dtype != target.dtype:  # positions are no letters
        return False
    highest = max(side[:: max(1, len(side) // LOOKED_UP)].max() for side in (query, target))
    k, bits = (FEW, 2) if highest < 4 else (OTHERS, 5)
    mask = np.uint8((1 << bits) - 1)
    places = np.arange(LOOKED_UP) * (n - k + 1) // LOOKED_UP
    letters = sliding_window_view(target, k)[places] & mask
    samples = (letters @ 2.0 ** (bits * np.arange(k)[::-1])).astype(np.uint32)
    known = np.full(1 << SLOT_BITS, -1, np.int16)
    known[slots(samples)] = np.arange(LOOKED_UP, dtype=np.int16)
    length = min(m, WINDOW, max(LEAST_WINDOW, PAIRS * n // (LOOKED_UP * FEWEST)))
    windows = min(-(-m // length), MOST, max(FEWEST, m // APART))
    starts = np.arange(windows) * (m - length) // max(1, windows - 1)
    counts, looked, hits = np.zeros(BINS + 1, np.int64), 0, 0
    for some in np.split(starts, range(AT_ONCE, windows, AT_ONCE)):
        every = words(np.stack([query[start : start + length] & mask for start in some]), k, bits)
        at = known[slots(every)].reshape(-1)
        found = np.flatnonzero(at >= 0)
        looked, hits = looked + every.size, hits + len(found)
        at = at[found]
        equal = samples[at] == every.reshape(-1)[found]
        window, row = np.divmod(found[equal], every.shape[1])
        diagonals = places[at[equal]] - row - some[window] + m
        counts += np.bincount(diagonals * BINS // (m + n), minlength=BINS + 1)
    return bool(counts.max() > LEAST + 4 * counts.sum() / BINS or hits > MOST_HITS * looked)


def slots(words: Words, bits: int = SLOT_BITS) -> NDArray[np.intp]:
    """A slot for each word, in a table of ``2**bits``."""
    if words.itemsize == 8:
        words = words ^ (words >> np.uint64(32))
    return ((words.astype(np.uint32, copy=False) * MIX) >> np.uint32(32 - bits)).astype(np.intp)
