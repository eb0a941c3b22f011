"""NCBI's parameters of local alignments of proteins.

They are those of BLAST+ for its matrices and gap costs, found by simulation (Altschul, Bundschuh,
Olsen & Hwa 2001, Nucleic Acids Res 29, 351-361; Park, Sheetlin, Ma, Madden & Spouge 2012, BMC Res
Notes 5:286), as BLAST+ 2.16 has them (blast_stat.c of the NCBI C++ Toolkit)."""

from __future__ import annotations

from functools import cache

from ..matrices import matrix_lines
from ..scoring import Scoring
from .law import ScoreStatistics


@cache
def table() -> dict[str, list[list[float]]]:
    """Of each matrix a and alpha of alignments without gaps, and then of each gap cost: open,
    extend (a gap of k letters costs open + k * extend), lambda, K, a, alpha, sigma."""
    found = {}
    for name, line in matrix_lines("statistics").items():
        own = [*map(float, line.split())]
        found[name] = [own[:2], *(own[k : k + 7] for k in range(2, len(own), 7))]
    return found


def published(scoring: Scoring) -> ScoreStatistics | None:
    """NCBI's law for a scoring, or None."""
    if scoring.scale != 1 or scoring.name not in table():
        return None
    (free_a, free_alpha), *rows = table()[scoring.name]
    for opening, extend, lam, k, a, alpha, sigma in rows:
        if (opening, extend) == (scoring.gap_open, scoring.gap_extend):
            two_gaps = 2 * (opening + extend)
            b, beta = two_gaps * (free_a - a), two_gaps * (free_alpha - alpha)
            tau = two_gaps * (free_alpha - sigma)
            return ScoreStatistics(lam, k, a, b, alpha, beta, sigma, tau, "NCBI's")
    return None
