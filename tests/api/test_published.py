"""Published examples by value, for every way this package has to align a pair.

Each aligner takes (query, target, scoring, mode, free_ends), the sequences as text, and gives an
object with ``score``, ``query_start``, ``query_end``, ``target_start``, ``target_end`` and
``moves`` (first move first).  A new engine joins by one line in ``ALIGNERS``.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aligning import align_case, case_of, ends, moves, needs_lanes
from Bio import Align
from helpers import FreeEnds, encode, make_scoring, match_scoring, rescore
from numpy.typing import NDArray
from whole_reference import ReferenceAlignment, align_reference

import pysw_cl
from pysw_cl.engines.registry import engine_for
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.tiles.edges import Border
from pysw_cl.tiles.tile import TileJob

Aligner = Callable[[str, str, Scoring, str, FreeEnds], Any]

PENALISED: FreeEnds = (False, False, False, False)
FREE: FreeEnds = (True, True, True, True)

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("PYSW_CL_TEST_DATA", _BESIDE))
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="PYSW_CL_TEST_DATA names no folder with the larger test data"
)
OWN_DATA = Path(__file__).resolve().parents[1] / "data"


def reference(
    query: str, target: str, scoring: Scoring, mode: str, free_ends: FreeEnds
) -> ReferenceAlignment:
    return align_reference(
        encode(query, scoring), encode(target, scoring), scoring, mode, free_ends
    )


@dataclass(frozen=True)
class Found:
    """A result of ``align`` in this file's terms."""

    score: int | float
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    moves: NDArray[np.uint8]


def device(query: str, target: str, scoring: Scoring, mode: str, free_ends: FreeEnds) -> Found:
    """``align`` with the plan that the device gets by default."""
    found = align_case(case_of(query, target, scoring), mode, free_ends)
    assert {kind.split("/")[0] for kind in found.stats.cells} <= {"wavefront", "held"}
    return Found(found.score, *ends(found), moves(found))


def tiles(query: str, target: str, scoring: Scoring, mode: str, free_ends: FreeEnds) -> Found:
    """``align`` with that plan, but no matrix is held whole."""
    plan = {"held.score_cells": 0, "held.path_cells": 0}
    found = align_case(case_of(query, target, scoring), mode, free_ends, plan=plan)
    assert {kind.split("/")[0] for kind in found.stats.cells} == {"wavefront"}
    return Found(found.score, *ends(found), moves(found))


#: Plans of the row scan in each of its forms.
ROWSCANS: dict[str, dict[str, Any]] = {
    "rowscan": {"engine": "rowscan"},
    "three launches": {"engine": "rowscan", "form": "three-launch", "T": 4, "alpha": 2},
}


def needs_form(name: str) -> None:
    """Skip where the device does not run the lanes of a form of the row scan."""
    if "form" in ROWSCANS.get(name, {}):
        needs_lanes("scalar32")


def rowscan(name: str) -> Aligner:
    """``align`` by a form of the row scan; paths are the wavefront's."""

    def by(query: str, target: str, scoring: Scoring, mode: str, free_ends: FreeEnds) -> Found:
        needs_form(name)
        case = case_of(query, target, scoring)
        found = align_case(case, mode, free_ends, plan=ROWSCANS[name])
        assert "rowscan" in {kind.split("/")[0] for kind in found.stats.cells}
        return Found(found.score, *ends(found), moves(found))

    return by


ALIGNERS = [
    *(pytest.param(rowscan(name), id=name) for name in ROWSCANS),
    pytest.param(reference, id="reference"),
    pytest.param(device, id="device"),
    pytest.param(tiles, id="tiles"),
]

every_aligner = pytest.mark.parametrize("align", ALIGNERS)


def check_rescored(found: Any, query: str, target: str, scoring: Scoring) -> None:
    """The path consumes what the coordinates say and scores what was said."""
    part_q = encode(query[found.query_start : found.query_end], scoring)
    part_t = encode(target[found.target_start : found.target_end], scoring)
    assert rescore(part_q, part_t, scoring, found.moves) == found.score


def cigar(moves: NDArray[np.uint8]) -> str:
    """SAM's letters, M for both kinds of diagonal: I consumes query, D consumes target."""
    return "".join(f"{len(list(run))}{'MDI'[move]}" for move, run in groupby(moves.tolist()))


# --- SSCA#1: the worked pair of Khajeh-Saeed, Poole & Perot (2010) -------------------------------

SSCA1_QUERY, SSCA1_TARGET = "AAUGCCAUUGCCGG", "CAGCCUCGCUUAG"
SSCA1 = match_scoring(5, -3, gap_open=8, gap_extend=1, letters="ACGU")

#: H of the pair, one row a query letter, one column a target letter.
SSCA1_TABLE = """
    0  5  0  0  0  0  0  0  0  0  0  5  0
    0  5  2  0  0  0  0  0  0  0  0  5  2
    0  0  2  0  0  5  0  0  0  5  5  0  2
    0  0  5  0  0  0  2  5  0  0  2  2  5
    5  0  0 10  5  0  5  0 10  1  0  0  0
    5  2  0  5 15  6  5  4  5  7  1  0  0
    0 10  1  0  6 12  3  2  1  2  4  6  0
    0  1  7  0  5 11  9  1  0  6  7  1  3
    0  0  0  4  4 10  8  6  0  5 11  4  1
    0  0  5  0  3  1  7 13  4  3  2  8  9
    5  0  0 10  5  0  6  4 18  9  8  7  6
    5  2  0  5 15  6  5  4  9 15  6  5  4
    0  2  7  0  6 12  3 10  8  6 12  3 10
    0  0  7  4  5  3  9  8  7  5  3  9  8
"""


def by_definition(query: str, target: str, scoring: Scoring) -> list[list[int]]:
    """Smith & Waterman's own recurrence: every gap length tried at every cell."""
    h = [[0] * (len(target) + 1) for _ in range(len(query) + 1)]

    def cost(length: int) -> int:
        return scoring.gap_open + length * scoring.gap_extend

    for i, a in enumerate(encode(query, scoring).tolist(), 1):
        for j, b in enumerate(encode(target, scoring).tolist(), 1):
            h[i][j] = max(
                0,
                h[i - 1][j - 1] + int(scoring.matrix[a, b]),
                *(h[i - k][j] - cost(k) for k in range(1, i + 1)),
                *(h[i][j - k] - cost(k) for k in range(1, j + 1)),
            )
    return [row[1:] for row in h[1:]]


def test_ssca1_table() -> None:
    table = [[int(x) for x in line.split()] for line in SSCA1_TABLE.strip().splitlines()]
    assert by_definition(SSCA1_QUERY, SSCA1_TARGET, SSCA1) == table
    found = reference(SSCA1_QUERY, SSCA1_TARGET, SSCA1, "local", PENALISED)
    assert found.matrices.h[1:, 1:].tolist() == table


@pytest.mark.parametrize("name", ROWSCANS)
def test_ssca1_rows(name: str) -> None:
    """The row scan computes the published table row by row: each is the bottom edge of a tile."""
    needs_form(name)
    table = [[int(x) for x in line.split()] for line in SSCA1_TABLE.strip().splitlines()]
    engine = engine_for("auto", ROWSCANS[name])
    query, target = encode(SSCA1_QUERY, SSCA1), encode(SSCA1_TARGET, SSCA1)
    border = Border(True, SSCA1.gap_open, SSCA1.gap_extend)
    for row, wanted in enumerate(table, 1):
        top, left = border.read(0, len(target)), border.read(0, row)
        job = TileJob(query[:row], target, SSCA1, 0, 0, top, left)
        bottom = engine.tile(job).bottom
        assert bottom is not None
        assert bottom.h.tolist() == wanted


@pytest.mark.parametrize("name", ["default", *ROWSCANS])
def test_ssca1_best_ends(name: str) -> None:
    """Kernel 1: the highest cells of the published table, of which there are fewer than 200."""
    needs_form(name)
    plan = ROWSCANS.get(name)
    table = np.array([[int(x) for x in line.split()] for line in SSCA1_TABLE.strip().splitlines()])
    cells = [(-table[i, j], i + 1, j + 1) for i, j in np.argwhere(table > 0)]
    wanted = [(-score, i, j) for score, i, j in sorted(cells)]
    for k in (1, 10, 200):
        found = pysw_cl.best_ends(
            SSCA1_QUERY, SSCA1_TARGET, k=k, sub_score=(5, -3), gap_cost=(8, 1), plan=plan
        )
        assert found.tolist() == wanted[:k]
    assert 10 < len(wanted) < 200


@every_aligner
def test_ssca1_best(align: Aligner) -> None:
    found = align(SSCA1_QUERY, SSCA1_TARGET, SSCA1, "local", PENALISED)
    ends = found.query_start, found.query_end, found.target_start, found.target_end
    assert (found.score, ends) == (18, (3, 11, 2, 9))
    assert cigar(found.moves) == "3M1I4M"
    check_rescored(found, SSCA1_QUERY, SSCA1_TARGET, SSCA1)


# --- The worked pair of the CUDAlign thesis (Sandes 2011) ----------------------------------------

THESIS_QUERY, THESIS_TARGET = "AGTTCCGGAGG", "ACTTCCAGA"


@every_aligner
@pytest.mark.parametrize(
    ("match", "mismatch", "mode", "score", "end"),
    [
        (1, -2, "global", -7, (11, 9)),
        (1, -2, "local", 4, (6, 6)),
        (2, -1, "local", 12, (9, 9)),
    ],
)
def test_thesis_pair(
    align: Aligner, match: int, mismatch: int, mode: str, score: int, end: tuple[int, int]
) -> None:
    scoring = match_scoring(match, mismatch, gap_open=0, gap_extend=5)
    found = align(THESIS_QUERY, THESIS_TARGET, scoring, mode, PENALISED)
    assert (found.score, (found.query_end, found.target_end)) == (score, end)
    check_rescored(found, THESIS_QUERY, THESIS_TARGET, scoring)


# --- scikit-bio's documentation ------------------------------------------------------------------


def blosum62() -> Scoring:
    """BLOSUM62 with opening 11, extension 1; U and O become the matrix's ``*``."""
    biopython: Any = Align  # it has no types
    matrix = biopython.substitution_matrices.load("BLOSUM62")
    return make_scoring(np.array(matrix), 11, 1, letters="".join(matrix.alphabet))


@every_aligner
def test_scikit_bio_overlap(align: Aligner) -> None:
    query = "ACTACCAGATTACTTACGGATCAGGTACTTGCCAACAA"
    target = "CGAAACTACTAGATTACGGATCTTACTTTCCAGCAAGG"
    found = align(query, target, match_scoring(1, -1, 0, 2), "global", FREE)
    ends = found.query_start, found.query_end, found.target_start, found.target_end
    assert (found.score, ends) == (12, (0, 38, 4, 36))
    assert cigar(found.moves) == "13M4I6M2I13M"


@every_aligner
def test_scikit_bio_protein(align: Aligner) -> None:
    found = align("MKRTLKGHFVQWC", "MQMLKTHYAQTRN", blosum62(), "local", PENALISED)
    ends = found.query_start, found.query_end, found.target_start, found.target_end
    assert (found.score, ends, cigar(found.moves)) == (23, (4, 11, 3, 10), "7M")


@every_aligner
def test_scikit_bio_nucleotide(align: Aligner) -> None:
    found = align("GATCGTC", "ATCGCTC", match_scoring(2, -3, 5, 2), "global", FREE)
    assert (found.score, cigar(found.moves)) == (5, "4M1D2M")


# --- WFA2-lib's expected values ------------------------------------------------------------------


@cache
def wfa2_pairs() -> list[tuple[str, str]]:
    lines = (DATA / "expected/wfa2lib/wfa.utest.seq").read_text().split()
    return [(query[1:], target[1:]) for query, target in zip(lines[::2], lines[1::2], strict=True)]


@needs_data
@every_aligner
@pytest.mark.parametrize(
    ("name", "match", "mismatch", "gap_open", "gap_extend"),
    [
        ("affine", 0, -4, 6, 2),
        ("affine.p0", 0, -1, 2, 1),
        ("affine.p1", 0, -3, 1, 4),
        ("affine.p2", 0, -5, 3, 2),
        ("affine.p3", 5, -1, 2, 1),
        ("affine.p4", 2, -3, 1, 4),
        ("affine.p5", 3, -5, 3, 2),
    ],
)
def test_wfa2_scores(
    align: Aligner, name: str, match: int, mismatch: int, gap_open: int, gap_extend: int
) -> None:
    lines = (DATA / f"expected/wfa2lib/test.{name}.alg").read_text().splitlines()
    scoring = match_scoring(match, mismatch, gap_open, gap_extend, letters="ACGTN")
    checked = 0
    for (query, target), line in zip(wfa2_pairs(), lines, strict=True):
        if max(len(query), len(target)) > 200 or checked == 40:
            continue
        checked += 1
        found = align(query, target, scoring, "global", PENALISED)
        assert found.score == int(line.split("\t")[0]), (query, target)
        check_rescored(found, query, target, scoring)
    assert checked >= 30


# --- parasail 1.3.4's protein scores -------------------------------------------------------------


def read_text(path: Path) -> str:
    """The text of a file, gzipped or not."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def read_fasta(path: Path) -> Iterator[tuple[str, str]]:
    """(accession, letters) of each record."""
    for record in read_text(path).split(">")[1:]:
        head, _, letters = record.partition("\n")
        yield head.split()[0], letters.replace("\n", "").upper()


@needs_data
@every_aligner
def test_parasail_protein_scores(align: Aligner) -> None:
    """The shortest proteins and those with U or O, against the two shortest queries."""
    scoring = blosum62()
    unusual = str.maketrans("UO", "**")
    queries = dict(read_fasta(DATA / "protein/queries_cudasw20.fasta"))
    database = dict(read_fasta(DATA / "protein/swissprot201401_small.fasta.gz"))
    table = read_text(DATA / "expected/parasail_protein_small_b62_first12_ext1.tsv.gz")
    (_, *names), *rows = (line.split("\t") for line in table.splitlines())
    expected = {row[0]: row[1:] for row in rows}
    by_length = sorted(database, key=lambda name: (len(database[name]), name))
    chosen = by_length[:30] + [x for x in by_length if set(database[x]) & set("UO")][:5]
    for query_name in sorted(queries, key=lambda name: len(queries[name]))[:2]:
        query = queries[query_name].translate(unusual)
        for name in chosen:
            target = database[name].translate(unusual)
            found = align(query, target, scoring, "local", PENALISED)
            score = int(expected[name][names.index(query_name)])
            assert found.score == score, (query_name, name)


# --- EMBOSS on human hemoglobin ------------------------------------------------------------------

#: Subunits alpha (P69905) and beta (P68871).
HBA = """
    MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAH
    KLRVDPVNFKLLSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR
"""
HBB = """
    MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLS
    ELHCDKLHVDPENFRLLGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH
"""


@pytest.mark.parametrize(
    ("mode", "free_ends", "score"), [("local", False, 293.5), ("global", True, 292.5)]
)
def test_emboss_hemoglobin(mode: str, free_ends: bool, score: float) -> None:
    """water and needle with their gap open 10.0, extend 0.5: ours is 9.5, 0.5."""
    alpha, beta = ("".join(text.split()) for text in (HBA, HBB))
    found = pysw_cl.align(
        alpha, beta, mode=mode, free_ends=free_ends, sub_score="BLOSUM62", gap_cost=(9.5, 0.5)
    )
    assert (found.score, found.rescore()) == (score, score)
    assert "reference" not in {kind.split("/")[0] for kind in found.stats.cells}


# --- CUDAlign's first pair: human herpesviruses 6B and 4 -----------------------------------------


def test_herpesviruses() -> None:
    """162 kb x 172 kb; the published end counts letters from 1, which is our half-open end."""
    query, target = (
        next(iter(read_fasta(OWN_DATA / f"{name}.fasta.gz")))[1]
        for name in ("NC_000898.1", "NC_007605.1")
    )
    assert (len(query), len(target)) == (162114, 171823)
    found = pysw_cl.align(query, target, sub_score=(1, -3), gap_cost=(3, 2))
    assert (found.score, found.rescore()) == (18, 18)
    assert (found.query_end, found.target_end) == (41058, 44353)
    assert found.stats.total_cells + found.stats.pruned >= len(query) * len(target)
