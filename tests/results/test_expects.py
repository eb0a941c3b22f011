"""Expect values and bit scores in files and tables: their digits are those of BLAST+ 2.12.0."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from Bio import SearchIO
from writing import PLAN, PROTEIN, named, written

import pysw_cl
from pysw_cl.errors import InputError, InputWarning
from pysw_cl.results.formats.columns import TableRows
from pysw_cl.results.formats.writer import bits_text, expect_text, row_of

#: What blast_formatter prints of these values of an archive, with -outfmt 6 and 0.
EXPECTS = """
    0.0 0.0 0.0 | 1e-300 0.0 0.0 | 9.9e-181 0.0 0.0 | 1.1e-180 1.10e-180 1e-180
    9.99e-100 9.99e-100 1e-99 | 9.996e-100 1.00e-99 1e-99 | 1.23e-50 1.23e-50 1e-50
    9.999e-5 1.00e-04 1e-04 | 0.000899 8.99e-04 9e-04 | 0.0009 0.001 0.001 | 0.00095 0.001 0.001
    0.0999 0.100 0.100 | 0.12 0.12 0.12 | 0.999 1.00 1.00 | 3.4 3.4 3.4 | 9.94 9.9 9.9
    9.99 10.0 10.0 | 11.5 12 12 | 12 12 12 | 1234 1234 1234 | 1.234e8 123400000 123400000
"""
#: The same of bit scores, with -outfmt 6, without the blank before one of a single digit.
BITS = """
    5 5.0 | 7.7 7.7 | 9.94 9.9 | 9.96 10.0 | 61.35 61.4 | 99.84 99.8 | 99.89 99.9 | 99.91 99
    100.5 100 | 182.7 182 | 999.9 999 | 1234.5 1234 | 99998.9 99998 | 99999.5 1.000e+05
    100000 1.000e+05 | 123456 1.235e+05
"""


def table(text: str) -> list[list[str]]:
    return [part.split() for part in text.replace("\n", "|").split("|") if part.strip()]


@pytest.mark.parametrize(("value", "in_table", "in_text"), table(EXPECTS))
def test_expect_values_have_the_digits_of_blast(value: str, in_table: str, in_text: str) -> None:
    assert (expect_text(float(value)), expect_text(float(value), 0)) == (in_table, in_text)


@pytest.mark.parametrize(("value", "text"), table(BITS))
def test_bit_scores_have_the_digits_of_blast(value: str, text: str) -> None:
    assert bits_text(float(value)) == text


def found(expect: float | None = 1.234567891e-50, bits: float | None = 182.7654321) -> Any:
    query, target = named("q", "GATTACA"), named("s", "TTGATTACATT")
    return replace(pysw_cl.align(query, target, plan=PLAN), expect=expect, bits=bits)


def test_every_format_says_them() -> None:
    r, without = found(), found(None, None)
    fields = ["evalue", "bitscore"]
    assert written(r, "6", fields=fields) == "1.23e-50\t182\n"
    assert written(without, "6", fields=fields) == "-1\t0\n"
    tags = "\tEV:f:1.234567891e-50\tBS:f:182.7654321"
    for name in ("paf", "sam"):
        assert written(r, name) == written(without, name).removesuffix("\n") + tags + "\n"
    header, line = (one.split("\t") for one in written(r, "tsv").splitlines())
    assert dict(zip(header, line, strict=True))["evalue"] == "1.234567891e-50"
    assert [header[-1], line[-1]] == ["bits", "182.7654321"]
    assert "evalue" not in written(without, "tsv") + written(without, "jsonl")
    said = json.loads(written(r, "jsonl"))
    assert (said["evalue"], said["bits"]) == (r.expect, r.bits)
    assert "# E-value:     1.23e-50, 182 bits\n" in written(r, "pair")
    assert "E-value" not in written(without, "pair")
    assert "expect=1.2e-50" in repr(r)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-200, 0.03, 12.0, 4e7])
def test_they_are_read_back(value: float) -> None:
    r = found(value, 41.5)
    for name in ("paf", "sam"):
        (one,) = pysw_cl.read(io.StringIO(written(r, name)), name)
        assert (one.more["EV"], one.more["BS"]) == (value, 41.5)
    (one,) = pysw_cl.read(io.StringIO(written(r, "7")), "blast7")
    assert one.more["evalue"] == float(expect_text(value))
    (theirs,) = SearchIO.read(io.StringIO(written(r, "7")), "blast-tab", comments=True).hsps
    assert (theirs.evalue, theirs.bitscore) == (float(expect_text(value)), 41.5)


def test_tables() -> None:
    both = [found(), found(3.5, 11.25)]
    assert pysw_cl.to_dicts(both)[1]["evalue"] == 3.5
    assert pysw_cl.to_pandas(both)["bits"].tolist() == [182.7654321, 11.25]
    assert pysw_cl.to_numpy(both)["evalue"].dtype == np.float64
    assert "bits" not in pysw_cl.to_dicts([*both, found(None, None)])[0]


def test_rows_of_a_table_have_them() -> None:
    """A search has them as columns of its table."""
    r = found()
    fields = {"score": r.score, "expect": r.expect, "bits": r.bits}
    rows = np.array([tuple(fields.values())], [(name, np.float64) for name in fields])
    common = {"mode": r.mode, "scoring": r.scoring, "free_ends": r.free_ends}
    (row,) = TableRows([(r.query, r.target)], rows, common)
    assert (row.expect, row.bits) == (r.expect, r.bits)
    made = row.alignment()
    assert (made.expect, made.bits) == (r.expect, r.bits)
    assert row_of(made)[:-1] == row[:-1]


def test_pairs_have_them_with_db_letters() -> None:
    """Those of `Alignment.evalue`, from alignments and from the array of `align_many`."""
    query = named("q", "HEAGAWGHEE")
    pairs = [(query, named("s", "PAWHEAE")), (query, named("t", "WAWGHEW"))]
    how: dict[str, Any] = {"sub_score": "BLOSUM62", "plan": PLAN}
    results = [pysw_cl.align(*pair, **how) for pair in pairs]
    law = pysw_cl.score_statistics("BLOSUM62")
    rows = pysw_cl.align_many(pairs, output="path", **how)
    fields = ["query", "evalue", "bits"]
    text = written(results, "tsv", fields=fields, db_letters=10**6)
    assert text == written(rows, "tsv", pairs=pairs, fields=fields, db_letters=10**6, **how)
    values = [list(map(float, line.split("\t")[1:])) for line in text.splitlines()[1:]]
    assert values == [[r.evalue(10**6, law), float(law.bits(r.score))] for r in results]
    for name in ("6", "0", "paf", "jsonl"):
        some = written(iter(results), name, db_letters=10**6)
        assert some == written(rows, name, pairs=pairs, db_letters=10**6, **how)
        assert some != written(results, name)
    known = [replace(r, expect=0.5, bits=9.0) for r in results]  # as hits have them
    assert written(known, "paf", db_letters=10**6) == written(known, "paf")
    with pytest.raises(InputError, match="db_letters must be a whole number of at least 1"):
        written(results, "6", db_letters=0)


def test_pairs_that_no_law_is_for() -> None:
    for mode, scores, says in (("global", (1, -3), "mode 'global'"), ("local", (5, -1), "average")):
        how: dict[str, Any] = {"mode": mode, "sub_score": scores, "plan": PLAN}
        results = [pysw_cl.align("ACGT", target, **how) for target in ("A", "C")]
        with pytest.warns(InputWarning, match=says) as warned:
            assert written(results, "6", db_letters=9) == written(results, "6")
        assert len(warned) == 1


def test_pairs_with_a_position_matrix() -> None:
    scores = np.random.default_rng(3).integers(-5, 4, (30, 4))
    query = pysw_cl.PositionMatrix(scores, "ACGT", "ACGTAC" * 5)
    r = pysw_cl.align(query, "ACGTTGCA" * 5, gap_cost=(2.5, 1), plan=PLAN)
    law = pysw_cl.score_statistics(query, (2.5, 1))
    (line,) = written(r, "tsv", fields=["evalue"], db_letters=999).splitlines()[1:]
    assert float(line) == r.evalue(999, law)


def test_a_position_matrix_without_letters() -> None:
    """Its letters are X, which its scores need not have; there are no matches."""
    query = pysw_cl.PositionMatrix([[5, -4, -4, -4], [-4, 5, -4, -4], [-4, -4, 5, -4]], "ACGT")
    r = pysw_cl.align(query, "TACGT", plan=PLAN)
    assert written(r, "a3m") == ">query\nXXX\n>target/2-4\nACG\n"
    assert "NNN" in written(r, "sam")
    text = written(r, "0")
    assert "Query  1  XXX  3\n" in text and "\n Gaps = 0/3 (0%)\n" in text
    for name in ("tsv", "paf", "6"):
        with pytest.raises(InputError, match=r"no matches: a PositionMatrix has them with query="):
            written(r, name)


def test_a_part_of_an_alignment_has_none() -> None:
    """They are those of the whole score."""
    r = replace(pysw_cl.align("HEAGAWGHEE", "PAWHEAE", **PROTEIN, plan=PLAN), expect=0.5, bits=9.0)
    assert r[:3].expect is r[:3].bits is None
    assert r.left_aligned().expect == 0.5
