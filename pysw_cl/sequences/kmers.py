"""Words of a few letters (k-mers) as numbers: all of a sequence, or a sample.

The sample has the words with the lowest hashes (FracMinHash: Irber et al. 2022, bioRxiv
10.1101/2022.01.11.475838).  A word of nucleotides and its reverse complement have one hash, so a
word that two sequences share is sampled in both, on either strand.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .alphabet import Letters

Words = NDArray[np.uint32]

#: Letters of a word of nucleotides, two bits each, in 32 bits; and of others, five bits each.
K, OTHERS = 16, 5
#: Letters that are processed at once, so that temporary arrays stay in the caches.
PIECE = 1 << 16
#: Multiplication by this odd number (2^32 / golden ratio) mixes the high bits well.
MIX = np.uint32(0x9E3779B1)


def _two_bits() -> bytes:
    table = bytearray(256)
    for code, letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):  # 3 - code is the complement
        for letter in letters:
            table[ord(letter)] = code
    return bytes(table)  # other letters count as A: if they are many, the sample says little


_CODES = _two_bits()


class Sample(NamedTuple):
    """Some words of a sequence, the reverse complement of each, and where it begins."""

    words: Words
    complements: Words
    places: NDArray[np.int64]


def sampled(letters: Letters, bits: int, piece: int = PIECE, four: bool = True) -> Sample:
    """One in ``2**bits`` of the words of ASCII ``letters``, a ``piece`` of so many letters at a
    time.  ``four``: are they nucleotides?  Others have no complements."""
    found = [Sample(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.int64))]
    k = K if four else OTHERS
    for start in range(0, len(letters) - k + 1, piece):
        some = letters[start : start + piece + k - 1]
        if four:
            codes = np.frombuffer(some.tobytes().translate(_CODES), np.uint8)
            words, other = kmers(codes), kmers(np.uint8(3) - codes[::-1])[::-1]
            hashes = (words + other) * MIX
        else:
            words = other = other_words(some)
            hashes = words * MIX
        kept = np.flatnonzero(hashes <= np.uint32(0xFFFFFFFF >> bits))
        found.append(Sample(words[kept], other[kept], kept + start))
    return Sample(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


class Anchors(NamedTuple):
    """Places of words that two sequences have once each, which rise in both; and the places in the
    query of all words that it has once."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    words: NDArray[np.int64]


def anchors(query: Sample, target: Sample) -> Anchors:
    """The longest chain of anchors (rising subsequences: Fredman 1975, Discrete Math 11, 29-35)."""
    (a, rows), (b, columns) = _once(query), _once(target)
    _, i, j = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    order = np.argsort(rows[i])
    i, j = rows[i][order], columns[j][order]
    least: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, value in enumerate(j.tolist()):
        at = bisect_left(least, value)
        before.append(ends[at - 1] if at else -1)
        least[at : at + 1], ends[at : at + 1] = [value], [place]
    chain, place = [], ends[-1] if ends else -1
    while place >= 0:
        chain.append(place)
        place = before[place]
    kept = np.array(chain[::-1], np.int64)
    return Anchors(i[kept], j[kept], np.sort(rows))


def _once(sample: Sample) -> tuple[Words, NDArray[np.int64]]:
    """The words that are there once, and their places."""
    words, first, counts = np.unique(sample.words, return_index=True, return_counts=True)
    return words[counts == 1], sample.places[first[counts == 1]]


def _fours(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """All words of four codes below 4, built by way of 2."""
    pairs = codes[..., :-1] << np.uint8(2)
    pairs |= codes[..., 1:]
    fours: NDArray[np.uint8] = pairs[..., :-2] << np.uint8(4)
    fours |= pairs[..., 2:]
    return fours


def kmers(codes: NDArray[np.uint8]) -> Words:
    """All words of `K` codes below 4 along the last axis, the first in the highest bits."""
    fours = _fours(codes)
    eights = fours[..., :-4].astype(np.uint16)
    eights <<= np.uint16(8)
    eights |= fours[..., 4:]
    words: Words = eights[..., :-8].astype(np.uint32)
    words <<= np.uint32(16)
    words |= eights[..., 8:]
    return words


def kmers12(codes: NDArray[np.uint8]) -> Words:
    """The same of twelve codes."""
    fours = _fours(codes)
    words: Words = fours[..., :-8].astype(np.uint32)
    for part in (fours[..., 4:-4], fours[..., 8:]):
        words <<= np.uint32(8)
        words |= part
    return words


def other_words(letters: Letters) -> Words:
    """All words of `OTHERS` letters along the last axis, five bits each: whatever their case."""
    codes = letters & np.uint8(31)
    pairs = codes[..., :-1].astype(np.uint16) << np.uint16(5)
    pairs |= codes[..., 1:]
    words: Words = pairs[..., :-3].astype(np.uint32)
    words <<= np.uint32(10)
    words |= pairs[..., 2:-1]
    words <<= np.uint32(5)
    words |= codes[..., 4:]
    return words
