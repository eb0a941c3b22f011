"""The codons of SSCA#1, their similarity, and how sequences of them are printed.

A codon is three bases, of which a is 0, g 1, c 2 and t 3; its code is 16 b0 + 4 b1 + b2."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..sequences.coded import Alphabet

#: Codes of codons (uint8).
Codons = NDArray[np.uint8]
#: The codons of each amino acid, and of the stop, in the benchmark's order.
ACIDS = {
    row[0]: row[1:].split()
    for row in (
        "A gct gcc gca gcg, C tgt tgc, D gat gac, E gaa gag, F ttt ttc, G ggt ggc gga ggg, "
        "H cat cac, I att atc ata, K aaa aag, L ttg tta ctt ctc cta ctg, M atg, N aat aac, "
        "P cct ccc cca ccg, Q caa cag, R cgt cgc cga cgg aga agg, S tct tcc tca tcg agt agc, "
        "T act acc aca acg, V gtt gtc gta gtg, W tgg, Y tat tac, * taa tag tga"
    ).split(", ")
}
#: The codons by their codes.
CODONS = ["".join(bases) for bases in product("agct", repeat=3)]
#: The alphabet of comparisons: symbol k is the codon with the code k.
ALPHABET = Alphabet(CODONS)
_ACID_OF = {codon: acid for acid, codons in ACIDS.items() for codon in codons}
#: The amino acid of each code (ASCII).
ACID = np.frombuffer("".join(_ACID_OF[codon] for codon in CODONS).encode(), np.uint8)
#: What is printed for the letter of a codon, and for a gap.
PRINTED = {"-": ("-", "---")}
PRINTED |= {letter: (_ACID_OF[c], c) for letter, c in zip(ALPHABET.letters, CODONS, strict=True)}
#: The three bases of each code (ASCII, 64 x 3).
BASES = np.frombuffer("".join(CODONS).encode(), np.uint8).reshape(64, 3)


def encode(acids: str, first: bool = False) -> Codons:
    """The codons of amino acids: the last one of each, or the ``first``."""
    return np.array([CODONS.index(ACIDS[acid][0 if first else -1]) for acid in acids], np.uint8)


def similarity() -> NDArray[np.float64]:
    """The scores of all pairs of codons (64 x 64): equal ones 5, of one amino acid 4, others -3."""
    scores = np.where(ACID[:, None] == ACID, 4.0, -3.0)
    np.fill_diagonal(scores, 5)
    return scores


def printed(text: str) -> tuple[str, str]:
    """The amino acids and the bases of letters that stand for codons, with hyphens in gaps."""
    acids, codons = zip(*(PRINTED[letter] for letter in text), strict=True)
    return "".join(acids), "".join(codons)
