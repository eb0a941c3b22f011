"""The pairs of bench/thesis.py with what they give, and what CUDAlign's authors published."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import ROOT, Ends, pysw_cl

from pysw_cl.errors import InternalError
from pysw_cl.folders import shipped

#: Letters of the random pairs to which the formula is fitted: each length with each other.
LENGTHS = {
    "short": (5_000, 10_000, 20_000),
    "cpu": (20_000, 50_000, 150_000),
    "gpu": (100_000, 300_000, 1_000_000),
}
#: One more of them, on a GPU.
LARGEST = 5_000_000, 5_000_000


@dataclass(frozen=True)
class Pair:
    """Two sequences at hand, and what comparing them gives: +1/-3, a gap of k costs 3 + 2 k."""

    name: str
    query: str
    target: str
    #: (m, n) before the files are read.
    sizes: tuple[int, int]
    #: Score, query end, target end.
    expected: Ends
    #: Who has found that, too.
    source: str


#: Smallest first.  `source` says who found the result beside the wavefront engine.
PAIRS = (
    Pair(
        "mitochondria, human x chimpanzee",
        "NC_012920.1",
        "GU112745.1",
        (16_569, 16_558),
        (10642, 16569, 15989),
        "the row scan",
    ),
    Pair(
        "SARS-CoV-2 x SARS-CoV",
        "NC_045512.2",
        "AY390556.1",
        (29_903, 29_760),
        (6240, 29874, 29760),
        "parasail",
    ),
    Pair(
        "human herpesvirus 6B x 4",
        "NC_000898.1",
        "NC_007605.1",
        (162_114, 171_823),
        (18, 41058, 44353),
        "CUDAlign",
    ),
    Pair(
        "Helicobacter pylori, G27 x Gambia94/24",
        "NC_011333.1",
        "NC_017371.1",
        (1_652_982, 1_709_911),
        (667114, 1460364, 1466453),
        "its path, re-scored",
    ),
    Pair(
        "Escherichia coli, MG1655 x DH1 as deposited",
        "NC_000913.3",
        "NC_017625.1",
        (4_641_652, 4_630_707),
        (5232, 2731485, 4348140),
        "CUDAlign 4.0.2",
    ),
)


@dataclass(frozen=True)
class Printed:
    """A run of CUDAlign that its authors published: local, +1/-3, first gap 5, next gaps 2."""

    board: str
    what: str
    m: int
    n: int
    seconds: float
    gcups: float | None
    source: str


#: Only what abstracts say.  The thesis (Sandes 2011, University of Brasilia) prints a table of each
#: pair's scores, times and MCUPS and its constants c1 to c4 for the GTX 285; these figures belong
#: here as soon as someone copies them from the thesis itself.
PRINTED = (
    Printed(
        "GTX 280",
        "score and end",
        33_000_000,
        47_000_000,
        21 * 3600,
        20.375,
        "Sandes & de Melo 2010, PPoPP, 137-146: abstract (the GCUPS are its peak)",
    ),
    Printed(
        "GTX 285",
        "alignment",
        33_000_000,
        47_000_000,
        18.5 * 3600,
        None,
        "Sandes & de Melo 2011, IPDPS, 1199-1211: abstract",
    ),
)


def letters(name: str, data: Path) -> bytes | None:
    """The sequence of an accession: from the folder ``data``, or what comes with the package and
    its tests.  None if it is in none of them."""
    places = [data / "dna", ROOT / "tests" / "data"]
    files = [place / f"{name}.fasta{end}" for place in places for end in ("", ".gz")]
    with suppress(InternalError):  # it is none of the examples
        files.append(shipped("examples", f"{name}.fasta"))
    for file in files:
        if file.is_file():
            record: Any = next(iter(pysw_cl.read_sequences(file)))
            return bytes(record.letters.tobytes())
    return None
