"""Guesses from shared k-mers which strand of a query has the better alignment.

The guess only decides which strand is searched first.  The result is the same in either order
(:func:`pysw_cl.api.align`); in the better order the first score prunes most of the second search.

Method: k-mers of both sequences are sampled by a hash that is the same for a k-mer and its reverse
complement.  So a k-mer that both sequences have is sampled in both, on either strand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .alphabet import Letters
from .coordinates import Frame

#: Letters of a k-mer, two bits each, in 32 bits.
K = 16
#: About the most k-mers that are sampled from the shorter and from the longer sequence.
SAMPLES, MOST_SAMPLES = 1 << 16, 1 << 22
#: At most one k-mer in 2**LEAST_BITS is sampled.
LEAST_BITS = 3
#: Letters that are processed at once, so that temporary arrays stay in the caches.
PIECE = 1 << 16
#: Multiplication by this odd number (2^32 / golden ratio) mixes the high bits well.
MIX = np.uint32(0x9E3779B1)

Kmers = NDArray[np.uint32]


def _two_bits() -> bytes:
    table = bytearray(256)
    for code, letters in enumerate(("Aa", "Cc", "Gg", "TtUu")):  # 3 - code is the complement
        for letter in letters:
            table[ord(letter)] = code
    return bytes(table)  # other letters count as A: if they are many, the guess is poor


_CODES = _two_bits()


def likely_minus(frame: Frame, least_cells: int) -> bool:
    """Whether the reverse complement of the query shares more k-mers with the target than the
    query does.

    Takes time linear in both lengths.  False for pairs of fewer than ``least_cells`` cells, without
    a look at them.
    """
    (query, target), (m, n) = frame.letters, frame.shape
    if m * n < least_cells:
        return False
    bits = max(
        LEAST_BITS, (min(m, n) // SAMPLES).bit_length(), (max(m, n) // MOST_SAMPLES).bit_length()
    )
    as_given, complement = sampled(query[frame.row : frame.row_end], bits)
    there, _ = sampled(target[frame.column : frame.column_end], bits)
    plus, minus = (len(np.intersect1d(kmers, there)) for kmers in (as_given, complement))
    return minus > plus


def sampled(letters: Letters, bits: int, piece: int = PIECE) -> tuple[Kmers, Kmers]:
    """One in ``2**bits`` of the k-mers of ``letters``, and the reverse complements of those, a
    ``piece`` of so many letters at a time."""
    found: tuple[list[Kmers], list[Kmers]] = [], []
    for start in range(0, len(letters) - K + 1, piece):
        some = letters[start : start + piece + K - 1].tobytes().translate(_CODES)
        codes = np.frombuffer(some, np.uint8)
        forward, backward = kmers(codes), kmers(np.uint8(3) - codes[::-1])[::-1]
        kept = np.flatnonzero((forward + backward) * MIX <= np.uint32(0xFFFFFFFF >> bits))
        found[0].append(forward[kept])
        found[1].append(backward[kept])
    forward, backward = (np.concatenate(k) if k else np.zeros(0, np.uint32) for k in found)
    return forward, backward


def kmers(codes: NDArray[np.uint8]) -> Kmers:
    """All k-mers along the last axis, the first letter in the highest bits, built by way of 2, 4
    and 8 letters."""
    kmers = codes[..., :-1] << 2 | codes[..., 1:]
    kmers = kmers[..., :-2] << 4 | kmers[..., 2:]
    eights = kmers[..., :-4].astype(np.uint16) << 8 | kmers[..., 4:]
    kmers16: Kmers = eights[..., :-8].astype(np.uint32)
    kmers16 <<= 16
    kmers16 |= eights[..., 8:]
    return kmers16
