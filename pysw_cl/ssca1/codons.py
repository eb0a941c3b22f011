"""The codons of SSCA#1, their similarity, and how sequences of them are printed.

A codon is three bases, of which a is 0, g 1, c 2 and t 3; its code is 16 b0 + 4 b1 + b2."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences.coded import Alphabet

#: Codes of codons (uint8).
Codons = NDArray[np.uint8]
#: The codons of each amino acid, and of the stop, in the benchmark's order.
ACIDS = {
    acid: codons.split()
    for acid, codons in {
        "A": "gct gcc gca gcg",
        "C": "tgt tgc",
        "D": "gat gac",
        "E": "gaa gag",
        "F": "ttt ttc",
        "G": "ggt ggc gga ggg",
        "H": "cat cac",
        "I": "att atc ata",
        "K": "aaa aag",
        "L": "ttg tta ctt ctc cta ctg",
        "M": "atg",
        "N": "aat aac",
        "P": "cct ccc cca ccg",
        "Q": "caa cag",
        "R": "cgt cgc cga cgg aga agg",
        "S": "tct tcc tca tcg agt agc",
        "T": "act acc aca acg",
        "V": "gtt gtc gta gtg",
        "W": "tgg",
        "Y": "tat tac",
        "*": "taa tag tga",
    }.items()
}
#: The codons by their codes.
CODONS = ["".join(bases) for bases in product("agct", repeat=3)]
#: The alphabet of comparisons: symbol k is the codon with the code k.
ALPHABET = Alphabet(CODONS)
_ACID_OF = {codon: acid for acid, codons in ACIDS.items() for codon in codons}
#: The amino acid of each code (ASCII).
ACID = np.frombuffer("".join(_ACID_OF[codon] for codon in CODONS).encode(), np.uint8)
#: The three bases of each code (ASCII, 64 x 3).
BASES = np.frombuffer("".join(CODONS).encode(), np.uint8).reshape(64, 3)
#: What is printed in the place of a codon in a gap.
GAP = ord("-")


def encode(acids: str, first: bool = False) -> Codons:
    """The codons of amino acids: the last one of each, or the ``first``."""
    return np.array([CODONS.index(ACIDS[acid][0 if first else -1]) for acid in acids], np.uint8)


def similarity(exact: int = 5, similar: int = 4, other: int = -3) -> NDArray[np.float64]:
    """The scores of all pairs of codons (64 x 64): of equal ones, of others of the same amino acid,
    and of those of different ones."""
    scores = np.where(ACID[:, None] == ACID, float(similar), float(other))
    np.fill_diagonal(scores, exact)
    return scores


def printed(codes: Codons, ops: Any, gap: str) -> tuple[str, str]:
    """The amino acids and the bases of a sequence in an alignment, with hyphens in its gaps.

    ``ops``: the operation of each column, of which ``gap`` leaves out this sequence."""
    here = np.frombuffer(ops.encode(), np.uint8) != ord(gap)
    acids, bases = np.full(len(here), GAP, np.uint8), np.full((len(here), 3), GAP, np.uint8)
    acids[here], bases[here] = ACID[codes], BASES[codes]
    return acids.tobytes().decode(), bases.tobytes().decode()
