"""BLAST's text for people: its lines are those that BLAST+ 2.12.0 wrote."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from writing import PLAN, named, random_results, written

import pysw_cl

#: blastp -comp_based_stats 0 -seg no -outfmt 0, without blanks at the ends of lines.
BLASTP = """
                                                                      Score     E
Sequences producing significant alignments:                          (Bits)  Value

s1 first subject                                                      119     6e-42
s2 second one, with a long description that does not fit into a l...  65.1    2e-20


>s1 first subject
Length=97

 Score = 119 bits (298),  Expect = 6e-42
 Identities = 60/78 (77%), Positives = 61/78 (78%), Gaps = 5/78 (6%)

Query  1   PWPPTYEQTSVQDPICNWRVMPVQVATNRR---EGVAPLPYETGISANPHFWNHLGTIAN  57
           PW   YEQT VQDPIC WRVMP QV TNRR   EGVAPLPYETGIS NPHFWNHLGT AN
Sbjct  13  PWWTCYEQTYVQDPICCWRVMPNQVKTNRRYCMEGVAPLPYETGISRNPHFWNHLGTSAN  72

Query  58  YDMDIMNAAEERSMMFNY  75
           YDM  M+AA ER  MFNY
Sbjct  73  YDM--MHAAIERKPMFNY  88


>s2 second one, with a long description that does not fit into
a line of the table
Length=95

 Score = 65.1 bits (157),  Expect = 2e-20
 Identities = 36/59 (61%), Positives = 39/59 (66%), Gaps = 4/59 (7%)

Query  17  NWRVMPVQVATNRREGVAPLPYETGISANPHFWNHLGTIANYDMDIMNAAEERSMMFNY  75
           NWR    QVATN REGVAPL  +TGI ANPHF N LGT  N D D+M AAE R    N+
Sbjct  6   NWR----QVATNSREGVAPLYNDTGIYANPHFNNDLGTACNQDPDMMFAAEYRCSKRNH  60
"""
#: blastn -task blastn -dust no.
BLASTN = """
Query= n1

Length=90
                                                                      Score     E
Sequences producing significant alignments:                          (Bits)  Value

m1 minus strand                                                       104     4e-28


>m1 minus strand
Length=103

 Score = 104 bits (114),  Expect = 4e-28
 Identities = 69/76 (91%), Gaps = 2/76 (3%)
 Strand=Plus/Minus

Query  1   TAGACCTGCATACCGGCTCATTCTTCATGTGCAACCTAGGGAGAATGTGTACATACGCTC  60
           |||||||||||| || | ||||||||||||||||||||||  ||||||||||||||||||
Sbjct  93  TAGACCTGCATAGCGCCGCATTCTTCATGTGCAACCTAGG--GAATGTGTACATACGCTC  36

Query  61  TTACTGCGGTCGCGTC  76
           | ||||||||||| ||
Sbjct  35  TCACTGCGGTCGCTTC  20
"""
QUERY = named("q1", "PWPPTYEQTSVQDPICNWRVMPVQVATNRREGVAPLPYETGISANPHFWNHLGTIANYDMDIMNAAEERSMMFNY")
FIRST = (
    "EHLNILAFDCGDPWWTCYEQTYVQDPICCWRVMPNQVKTNRRYCMEGVAPLPYETGISRNPHFWNHLGTSANYDMMHAAIERKPMFNY"
    "CYRASKIRA"
)
SECOND = (
    "VNSNINWRQVATNSREGVAPLYNDTGIYANPHFNNDLGTACNQDPDMMFAAEYRCSKRNHQDPSHEFMTSLVPLNRHVRHYKIYACMP"
    "EAHGCRD"
)
WORDS = "second one, with a long description that does not fit into a line of the table"
SUBJECTS = named("s1", FIRST, "first subject"), named("s2", SECOND, WORDS)
KNOWN = (6.17e-42, 119.0), (1.65e-20, 65.1)


def lines_of(text: str) -> str:
    """Without blanks at the ends of lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def protein_results() -> list[pysw_cl.Alignment]:
    found = [pysw_cl.align(QUERY, one, sub_score="BLOSUM62", plan=PLAN) for one in SUBJECTS]
    both = zip(found, KNOWN, strict=True)
    return [replace(r, expect=expect, bits=bits) for r, (expect, bits) in both]


def test_the_lines_of_blastp() -> None:
    text = lines_of(written(protein_results(), "0"))
    assert text.startswith(f"BLASTP pysw_cl {pysw_cl.__version__}\n\n\nDatabase: 2 targets\n")
    assert f"Query= q1\n\nLength=75{BLASTP}" in text
    assert "matrix BLOSUM62; a gap of length k costs 11 + k * 1" in text.splitlines()[-3]


def test_the_lines_of_blastn_on_the_minus_strand() -> None:
    letters = "TAGACCTGCATACCGGCTCATTCTTCATGTGCAACCTAGGGAGAATGTGTACATACGCTCTTACTGCGGTCGCGTC"
    query = named("n1", f"{letters}TAATAATATACATT")
    target = (
        "CACCCGAACTAAGTTTGTCGAAGCGACCGCAGTGAGAGCGTATGTACACATTCCCTAGGTTGCACATGAAGAATGCGGCGCTATG"
        "CAGGTCTAAACCTTGGTC"
    )
    subject = named("m1", target, "minus strand")
    how: dict[str, Any] = {
        "sub_score": (2, -3),
        "gap_cost": (5, 2),
        "strand": "minus",
        "plan": PLAN,
    }
    r = replace(pysw_cl.align(query, subject, **how), expect=3.64e-28, bits=104.0)
    assert BLASTN in lines_of(written(r, "blast0"))


def test_several_queries_and_results_without_expect_values() -> None:
    known, other = protein_results()[0], named("q2", "PWPPTYEQTSVQDPI")
    short = pysw_cl.align(other, SUBJECTS[0], sub_score="BLOSUM62", plan=PLAN)
    nothing = pysw_cl.align(named("q3", "WWW"), named("s3", "GGG"), sub_score="BLOSUM62", plan=PLAN)
    text = written([known, short, nothing], "0", width=7)
    assert [text.count(line) for line in ("BLASTP ", "\nQuery= ", "\n Score = ")] == [3, 3, 2]
    assert " bits (298),  Expect = 6e-42\n" in text and f"\n Score = {short.score}\n" in text
    assert f"\n{'s1 first subject':70}{short.score}\n" in text
    assert "\nQuery= q3\n\nLength=3\n\n\n***** No hits found *****\n" in text
    assert "\nQuery  1   PWPPTYE  7\n           PW   YE\nSbjct  13  PWWTCYE  19\n" in text


def test_the_letters_and_positions_of_random_results() -> None:
    """Each block, put together, is what the table of BLAST says."""
    results = [r for r in random_results(60) if r.matches and r.columns]
    fields = ["qseq", "sseq", "qstart", "qend", "sstart", "send"]
    table = [line.split("\t") for line in written(results, "6", fields=fields).splitlines()]
    parts = written(results, "0", width=11).split("\n Score = ")[1:]
    assert len(parts) == len(table) > 30
    for part, row in zip(parts, table, strict=True):
        found = []
        for name in ("Query  ", "Sbjct  "):
            lines = [line.split()[1:] for line in part.splitlines() if line.startswith(name)]
            found.append(("".join(line[1] for line in lines), lines[0][0], lines[-1][2]))
            first = np.array([int(line[0]) for line in lines[1:]])
            last = np.array([int(line[2]) for line in lines[:-1]])
            has_letters = [bool(line[1].strip("-")) for line in lines[1:]]
            assert (abs(first - last) == has_letters).all()
        (query, i0, i1), (subject, j0, j1) = found
        assert [query, subject, i0, i1, j0, j1] == row


def test_biopython_reads_it() -> None:
    search = pytest.importorskip("Bio.SearchIO")
    try:
        import Bio.SearchIO.BlastIO.blast_text  # noqa: F401
    except ImportError:
        pytest.skip("this Biopython has no reader of BLAST's text")
    results = protein_results()
    (found,) = search.parse(io.StringIO(written(results, "0")), "blast-text")
    assert (found.id, found.seq_len, len(found)) == ("q1", 75, 2)
    for hit, r in zip(found, results, strict=True):
        (hsp,) = hit
        assert (hit.id, hit.description) == (r.target.name, r.target.description)
        assert (hsp.query_start, hsp.query_end) == (r.query_start, r.query_end)
        assert (hsp.hit_start, hsp.hit_end) == (r.target_start, r.target_end)
        assert (hsp.ident_num, hsp.bitscore_raw) == (r.matches, r.score)
