"""The generators of SSCA#1: random sequences with pairs in them that have to be found.

"ornl" and "spec" give those of the programs of Oak Ridge National Laboratory and of SPEC OMP2012
(372.smithwa), codon by codon; "paper" gives nucleotides (Khajeh-Saeed, Poole & Perot 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .codons import Codons, encode

#: What stands before and behind the inserted texts, in main and in match.
FLANKS = (("ACDEFG", "HIKLMN"), ("MNLKIH", "GFEDCA"))
#: Positions of ORNL's insertions keep so far from the end, and, seen one way, from each other.
APART = 32
#: Numbers of `rand` that are computed at once, the most that are; seeds have 32 bits.
STEP, SEEDS = 30, 1 << 32


class Pair(NamedTuple):
    """Texts of amino acids that are inserted in main and in match, and the score of their best
    alignment.  ``first``: those of match are encoded by the first codon of each, not the last."""

    main: str
    match: str
    score: int
    first: bool = False

    def codons(self, side: int, whole: bool = False) -> Codons:
        """Those of main (0) or match (1); ``whole``: with what stands around them."""
        before, behind = FLANKS[side] if whole else ("", "")
        return encode(before + (self.main, self.match)[side] + behind, self.first and side == 1)


ORNL_PAIRS = (
    Pair("*IDENTICAL*", "*IDENTICAL*", 55),
    Pair("*MISQRMATCHES*", "*MISRQMATCHES*", 54),
    Pair("*STARTGAPMIDSTEND*", "*STARTMIDSTGAPEND*", 53),
)
SPEC_PAIRS = (
    Pair("*SIMILARTESTS*", "*SIMILARTESTS*", 57, True),
    Pair("*PARTIALCASES*", "*PARTIALCASES*", 56, True),
    *ORNL_PAIRS,
    Pair("*EVENLESSWKDPALIGNS*", "*EVENLESSTVMFALIGNS*", 52, True),
)


@dataclass(frozen=True, eq=False)
class Data:
    """The two sequences, as codes (codons, or A, C, G and T), and what was inserted in them."""

    main: Codons
    match: Codons
    pairs: Sequence[Pair] = ()
    #: Where each pair was put, counted from 0: in main, and in match.
    inserted: Any = ((), ())

    def find(self, pair: Pair) -> list[int]:
        """Where the texts of a pair are whole in main and match; -1: nowhere."""
        sides = enumerate((self.main, self.match))
        return [side.tobytes().find(pair.codons(k).tobytes()) for k, side in sides]


class GlibcRandom:
    """The numbers of glibc's ``srand(seed)`` and ``rand()``."""

    def __init__(self, seed: int) -> None:
        table = [(seed or 1) - (SEEDS if seed >= SEEDS // 2 else 0)]
        for _ in range(30):
            table.append(16807 * table[-1] % ((1 << 31) - 1))
        self._last = np.array([*table[3:], *table[:3]], np.int64).astype(np.uint32)
        self.take(310)

    def take(self, count: int) -> NDArray[np.uint32]:
        """The next ``count`` numbers, below 2**31."""
        found = np.empty(31 + -(-count // STEP) * STEP, np.uint32)
        found[:31] = self._last
        for k in range(31, len(found), STEP):  # r[k] = r[k - 31] + r[k - 3]
            some = found[k : k + STEP].reshape(-1, 3)
            np.cumsum(found[k - 31 : k - 1].reshape(-1, 3), axis=0, dtype=np.uint32, out=some)
            some += found[k - 3 : k]
        self._last = found[count : count + 31].copy()
        return found[31 : 31 + count] >> np.uint32(1)


def ornl(length: int, seed: int, ranks: int) -> Data:
    """Sequences of ``length`` codons, which ``ranks`` processes make parts of.  Pairs overwrite
    what was there, also each other where they overlap."""
    if length < (least := max(4 * APART, ranks)):
        raise InputError(f"{ranks:,} ranks need {least:,} codons, not {length:,}")
    own = length // ranks
    made: dict[tuple[int, int], Any] = {}
    places: dict[tuple[int, int], list[int]] = {}
    for rank in range(ranks):
        numbers = GlibcRandom((seed + rank + 1) % SEEDS)
        for key in ((0, rank), (1, rank)):
            near = True
            while near:
                x, y, z = (numbers.take(3) % (own * ranks - APART)).tolist()
                near = any(0 <= one < APART for one in (x - y, x - z, y - z))
            places[key], made[key] = [x, y, z], (numbers.take(own) % 64).astype(np.uint8)
    main, match = (np.concatenate([made[side, r] for r in range(ranks)]) for side in (0, 1))
    inserted = [places[0, 0], places[1, 0]]  # the first process writes
    for side, codes in enumerate((main, match)):
        for pair, place in zip(ORNL_PAIRS, inserted[side], strict=True):
            text = pair.codons(side, True)
            codes[place : place + len(text)] = text
    return Data(main, match, ORNL_PAIRS, inserted)


def spec(length: int, seed: int) -> Data:
    """Sequences of ``length`` codons and what is inserted between them, never inside another
    text.  (In the C program a start of 0, one of 32,768, writes outside; here it is the first.)"""

    def shares(count: int, of: int) -> Any:  # of ``of``, rounded up
        drawn = random.randint(0, SEEDS, count, dtype=np.uint32).astype(np.int64)
        return -(-of * (drawn >> 17) // 32767)

    sides, inserted = [], []
    for side in (0, 1):
        random = np.random.RandomState(seed + 10 + side)  # MT19937
        sides.append(shares(length, 63).astype(np.uint8))
    for side in (0, 1):
        starts = np.maximum(shares(len(SPEC_PAIRS), length + 1) - 1, 0)
        for k, pair in enumerate(SPEC_PAIRS):
            text, start = pair.codons(side, True), int(starts[k])
            sides[side] = np.insert(sides[side], start, text)
            starts[starts >= start] += len(text)  # its own, too
            starts[k] = start
        inserted.append(starts.tolist())
    return Data(sides[0], sides[1], SPEC_PAIRS, inserted)


def paper(lengths: tuple[int, int], seed: int) -> Data:
    """Nucleotides at random: so many of match, the query, and of main."""
    random = np.random.default_rng(seed)
    match, main = (random.integers(0, 4, length, np.uint8) for length in lengths)
    return Data(main, match)
