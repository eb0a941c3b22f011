"""A quick look at two sequences: are they similar, where, and by how much?

It only says how long a comparison will probably take (:func:`pysw_cl.predict`); no result depends
on it.

Method: words of k letters are hashed, and those with the lowest hashes are kept, as FracMinHash
does (Irber et al. 2022, bioRxiv 10.1101/2022.01.11.475838), so both sequences keep the same ones.
Words that each sequence has once are anchors; the longest chain of anchors that rise in both
sequences is where an alignment probably runs.  A word survives if none of its k letters changes, so
the share c of words that did gives the identity c^(1/k) (Mash: Ondov et al. 2016, Genome
Biology 17, 132).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .alphabet import Letters
from .likely_strand import MIX, PIECE, K, kmers

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Letters of a word of another alphabet than that of nucleotides, five bits each.
OTHER_K = 6
#: About so many words are sampled from the shorter sequence.
SAMPLES = 1 << 14
#: Up to this length every word is kept.
SHORT = 4096
#: Letters in which all words are looked at, to tell gaps from mismatches: at most so many parts of
#: so many letters, and so much of the sequence.
PARTS, PART, MOST_PARTS = 12, 2048, 1 / 8
#: Pieces of the chain at most, each with its own identity, and anchors of one at least.
PIECES, PIECE_ANCHORS = 48, 40
#: Letters of a word there: fewer, because chance gives few anchors in so few letters.
PART_K = 12
#: A step from diagonal to diagonal that is longer, on top of that share of the rows between two
#: anchors, is a rearrangement.
LONG, DRIFT = 64, 0.05
#: Rows without an anchor, on top of twenty times as many as are usual, are a piece of their own.
EMPTY = 500
#: What is alike probably goes on beyond the last anchor for so many words, and three anchors.
BEYOND = 8
#: Anchors of a chain at least, and how many times those that chance gives.
LEAST, TIMES = 4, 3


@dataclass(frozen=True)
class Resemblance:
    """Where two sequences are similar, and by how much.  Places count letters from 0."""

    #: Letters of 100 of the query that are unchanged where the sequences are similar, as a share.
    identity: float
    #: Where that begins and ends, in the query and in the target.
    query: tuple[int, int]
    target: tuple[int, int]
    #: The share of the query's letters that is there, in the same order as in the target.
    collinear: float
    #: Gaps for each letter of the query, and the mean number of letters of one.
    gaps: float
    gap_letters: float
    #: Places along the chain, in the query and in the target, and the identity between each and the
    #: next.
    rows: Floats
    columns: Floats
    identities: Floats

    @property
    def diagonal(self) -> float:
        """Target letters less query letters before the middle of the similar part."""
        (a, b), (c, d) = self.query, self.target
        return (c + d - a - b) / 2


class _Words(NamedTuple):
    """Words that a sequence has once, sorted, with their places; and those it has more often."""

    words: NDArray[np.uint32]
    places: Ints
    repeated: NDArray[np.uint32]


def resemblance(query: Letters, target: Letters, nucleotides: bool = True) -> Resemblance | None:
    """What two sequences (uint8, ASCII letters) have in common; None if no more than by chance.

    Takes time linear in both lengths: 0.1 s for two of 5 million letters.  ``nucleotides``: are
    letters A, C, G and T, all others being unknown?  Else they are any letters.  Repeats are no
    anchors: sequences of nothing else resemble nothing.
    """
    k, shortest = (K if nucleotides else OTHER_K), min(len(query), len(target))
    bits = 0 if shortest <= SHORT else max(3, (shortest // SAMPLES).bit_length())
    there, here = (_words(one, bits, nucleotides) for one in (target, query))
    rows, columns, known = _anchors(here, there)
    chain = _rising(columns)
    letters = 4.0 if nucleotides else 20.0
    by_chance = len(query) * len(target) / letters**k / 2**bits
    if len(chain) < LEAST + TIMES * 2 * sqrt(by_chance):
        return None
    rows, columns = rows[chain], columns[chain]
    changes, changed = _gaps(query, target, rows, columns, bits, nucleotides)
    return _described(len(query), len(target), k, rows, columns, known, (changes, changed))


def _words(letters: Letters, bits: int, nucleotides: bool, last: int = K) -> _Words:
    """The sample of one in ``2**bits`` words, of nucleotides by their ``last`` letters alone."""
    found, places = [], []
    k, most = (K if nucleotides else OTHER_K), np.uint32(0xFFFFFFFF >> bits)
    for start in range(0, len(letters) - k + 1, PIECE):
        some = letters[start : start + PIECE + k - 1]
        words = _nucleotide_words(some, last) if nucleotides else other_words(some)
        kept = np.flatnonzero(words * MIX <= most)
        if nucleotides:
            kept = _without_others(some, kept)
        found.append(words[kept])
        places.append(kept + start)
    if not found:
        none = np.zeros(0, np.uint32)
        return _Words(none, np.zeros(0, np.int64), none)
    words, first, counts = np.unique(np.concatenate(found), return_index=True, return_counts=True)
    once = counts == 1
    return _Words(words[once], np.concatenate(places)[first[once]], words[~once])


#: Codes of nucleotides; all other letters have 4.
_CODES = bytes(
    dict(zip(b"AaCcGgTtUu", (0, 0, 1, 1, 2, 2, 3, 3, 3, 3), strict=True)).get(one, 4)
    for one in range(256)
)


def _nucleotide_words(letters: Letters, last: int) -> NDArray[np.uint32]:
    """All words of K nucleotides, by their ``last`` letters.  Those with other letters mean
    nothing."""
    codes = np.frombuffer(letters.tobytes().translate(_CODES), np.uint8) & np.uint8(3)
    return kmers(codes) & np.uint32((1 << 2 * last) - 1)


def _without_others(letters: Letters, kept: Ints) -> Ints:
    """The places among ``kept`` of words of nothing but nucleotides."""
    text = letters.tobytes().translate(_CODES)
    if b"\4" not in text:
        return kept
    before = np.concatenate([[0], np.cumsum(np.frombuffer(text, np.uint8) == 4)])
    return np.asarray(kept[before[kept + K] == before[kept]])


def other_words(letters: Letters, k: int = OTHER_K) -> NDArray[np.uint32]:
    """All words of ``k`` letters along the last axis, five bits each: whatever their case."""
    codes = letters & np.uint8(31)
    count = codes.shape[-1] - k + 1
    pairs = codes[..., :-1].astype(np.uint16) << np.uint16(5)
    pairs |= codes[..., 1:]
    words = pairs[..., :count].astype(np.uint32)
    for at in range(2, k - 1, 2):
        words <<= np.uint32(10)
        words |= pairs[..., at : count + at]
    if k % 2:
        words <<= np.uint32(5)
        words |= codes[..., k - 1 : count + k - 1]
    return words


def _anchors(here: _Words, there: _Words) -> tuple[Ints, Ints, Ints]:
    """The places in query and target of the words that both have once, by place in the query; and
    the places in the query of all words that the target might have had once."""
    _, a, b = np.intersect1d(here.words, there.words, assume_unique=True, return_indices=True)
    rows, columns = here.places[a], there.places[b]
    order = np.argsort(rows)
    known = here.places[~np.isin(here.words, there.repeated, assume_unique=True)]
    return rows[order], columns[order], np.sort(known)


def _rising(values: Ints) -> Ints:
    """Where the longest rising subsequence is (Fredman 1975, Discrete Math 11, 29-35)."""
    least: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values.tolist()):
        at = bisect_left(least, value)
        before.append(ends[at - 1] if at else -1)
        if at == len(least):
            least.append(value)
            ends.append(place)
        else:
            least[at], ends[at] = value, place
    found, place = [], ends[-1] if ends else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return np.array(found[::-1], np.int64)


def _gaps(
    query: Letters, target: Letters, rows: Ints, columns: Ints, bits: int, nucleotides: bool
) -> tuple[float, float]:
    """Gaps for each letter of the query, and letters of a gap: by all words of some parts."""
    if not bits:
        return _steps(rows, columns)
    most = max(1, min(PARTS, int((rows[-1] - rows[0]) * MOST_PARTS) // PART))
    at = np.linspace(0, len(rows) - 1, most + 2)[1:-1].astype(int)
    found = []
    for row, column in zip(rows[at].tolist(), columns[at].tolist(), strict=True):
        here = _words(query[row : row + PART], 0, nucleotides, PART_K)
        there = _words(target[column : column + PART + PART // 16], 0, nucleotides, PART_K)
        r, c, _ = _anchors(here, there)
        chain = _rising(c)
        if len(chain) > PART // 50:
            found.append(_steps(r[chain], c[chain]))
    if not found:
        return 0.0, 1.0
    gaps = float(np.mean([one[0] for one in found]))
    letters = float(np.mean([one[0] * one[1] for one in found]))
    return gaps, letters / gaps if gaps else 1.0


def _steps(rows: Ints, columns: Ints) -> tuple[float, float]:
    """Steps from diagonal to diagonal for each row, and how long one is; not those so long that
    nothing but a rearrangement explains them."""
    steps = np.abs(np.diff(columns - rows))
    steps = steps[(steps > 0) & (steps <= LONG)]
    return len(steps) / max(1, int(rows[-1] - rows[0])), float(steps.mean()) if len(steps) else 1.0


def _described(
    m: int, n: int, k: int, rows: Ints, columns: Ints, known: Ints, gaps: tuple[float, float]
) -> Resemblance:
    """What a chain of anchors says.  ``known``: places in the query of words that may be found."""
    spacing = (rows[-1] - rows[0]) / max(1, len(rows) - 1)
    first = int(min(rows[0], columns[0], BEYOND * k + 3 * spacing))
    last = int(min(m - rows[-1], n - columns[-1], BEYOND * k + 3 * spacing))
    pieces = max(1, min(PIECES, len(rows) // PIECE_ANCHORS))
    cuts = np.unique(np.linspace(0, len(rows) - 1, pieces + 1).astype(int))
    # a long stretch without an anchor is a piece of its own
    long = np.flatnonzero(np.diff(rows) > 20 * spacing + EMPTY)
    steps = np.abs(np.diff(columns - rows))
    long = np.concatenate([long, np.flatnonzero(steps > LONG + np.diff(rows) * DRIFT)])
    cuts = np.unique(np.concatenate([cuts, long, long + 1]))
    places, across = rows[cuts].astype(float), columns[cuts].astype(float)
    seen = np.diff(np.searchsorted(known, rows[cuts]))
    shared = np.diff(cuts) - (np.isin(cuts[:-1], long) & (np.diff(cuts) == 1))
    identities = (np.minimum(1.0, shared / np.maximum(1, seen))) ** (1 / k)
    places[0], across[0] = places[0] - first, across[0] - first
    places[-1], across[-1] = places[-1] + last, across[-1] + last
    sizes = np.diff(places)
    alike = identities > 0
    return Resemblance(
        identity=float(np.average(identities[alike], weights=sizes[alike])),
        query=(int(places[0]), int(places[-1])),
        target=(int(across[0]), int(across[-1])),
        collinear=float(sizes[alike].sum()) / m,
        gaps=gaps[0],
        gap_letters=gaps[1],
        rows=places,
        columns=across,
        identities=identities,
    )
