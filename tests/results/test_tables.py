"""Results as dictionaries, arrays and DataFrames."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import InputError
from pysw_cl.sequences.sequence import as_sequence

A, B = "TTGATTACAGGCATTTACA", "GATTCCAGGCTTTTTTACAGG"
REFERENCE = {"engine": "reference"}


def named(name: str, letters: str) -> pysw_cl.Sequence:
    return pysw_cl.Sequence(name, "", as_sequence(letters).letters)


PAIRS = [(named("one", A), named("two", B)), (named("a <b>", "AAAA"), named("c d", "CCCC"))]


def test_alignments_become_rows() -> None:
    pd = pytest.importorskip("pandas")
    found = [pysw_cl.align(*pair, plan=REFERENCE) for pair in PAIRS]
    said = pysw_cl.to_dicts(found)
    assert said == [one.to_dict() for one in found]
    table = pysw_cl.to_pandas(found)
    assert list(table.columns) == list(said[0])
    assert table["query_name"].tolist() == ["one", "a <b>"]
    assert table["cigar"].tolist() == [found[0].cigar, ""]
    assert table["score"].dtype == table["query_start"].dtype == np.int64
    assert pd.api.types.is_string_dtype(table["query_name"])
    array = pysw_cl.to_numpy(found)
    assert array.dtype.names == tuple(said[0])
    assert array["identity"].tolist() == [found[0].identity, 0.0]
    # one alignment, a generator of some, further alignments
    assert found[0].to_pandas().equals(table[:1])
    assert found[0].to_numpy().tolist() == array[:1].tolist()
    assert pysw_cl.to_pandas(iter(found)).equals(table)
    top = pysw_cl.align_top(A, B, k=3, plan=REFERENCE)
    assert pysw_cl.to_pandas(top)["score"].tolist() == [one.score for one in top]


@pytest.mark.parametrize("output", ["score", "ends"])
def test_what_is_not_known(output: str) -> None:
    pd = pytest.importorskip("pandas")
    found = [pysw_cl.align(A, B, output=output, plan=REFERENCE), pysw_cl.align(A, B)]
    table = pysw_cl.to_pandas(found)
    assert table["query_start"].dtype == "Int64" and table["query_start"].isna().tolist() == [1, 0]
    assert table["identity"].isna().tolist() == table["cigar"].isna().tolist() == [True, False]
    assert table["query_end"].isna()[0] == (output == "score")
    array = pysw_cl.to_numpy(found)
    assert array["query_start"][0] == array["matches"][0] == -1 and array["cigar"][0] is None
    said = pysw_cl.to_dicts(found)[0]
    assert said == found[0].to_dict() and said["identity"] is said["query_start"] is None
    assert pd.isna(table["matches"][0]) and table["matches"][1] == found[1].matches


@pytest.mark.parametrize("strand", ["plus", "both"])
@pytest.mark.parametrize("output", ["score", "ends", "matches", "path"])
def test_rows_of_many_pairs(output: str, strand: str) -> None:
    pytest.importorskip("pandas")
    rows = pysw_cl.align_many(PAIRS, output=output, strand=strand)
    table = pysw_cl.to_pandas(rows, PAIRS)
    assert table["query_name"].tolist() == ["one", "a <b>"]
    assert table["target_length"].tolist() == [len(B), 4]
    for name in rows.dtype.names:
        unknown = [value == -1 for value in rows[name].tolist()]
        assert table[name].isna().tolist() == unknown
        known = [not one for one in unknown]
        assert table[name][known].tolist() == rows[name][known].tolist()
    assert ("identity" in table) == (output in ("matches", "path"))
    assert set(table.columns) - {"identity"} == {
        *rows.dtype.names, "query_name", "query_length", "target_name", "target_length",
    }  # fmt: skip
    if output == "path":  # the same table as from alignments
        alone = [pysw_cl.align(*pair, strand=strand, plan=REFERENCE) for pair in PAIRS]
        shared = [name for name in pysw_cl.to_dicts(alone)[0] if name in table]
        assert pysw_cl.to_pandas(alone)[shared].equals(table[shared])
    assert set(pysw_cl.to_pandas(rows).columns) <= {*rows.dtype.names, "identity"}


def test_rows_that_reach_a_score_have_their_names() -> None:
    pytest.importorskip("pandas")
    pairs = [PAIRS[1], PAIRS[0], PAIRS[1]]
    rows = pysw_cl.align_many(pairs, output="path", min_score=3)
    table = pysw_cl.to_pandas(rows, pairs)
    assert table[["pair", "query_name"]].values.tolist() == [[1, "one"]]
    with pytest.raises(InputError, match="of pair 1, and there are 1 pairs"):
        pysw_cl.to_pandas(rows, pairs[:1])


def test_pairs_of_every_kind() -> None:
    """Plain letters have no names; the same record in many pairs is looked at once."""
    skbio = pytest.importorskip("skbio")
    record = pytest.importorskip("Bio.SeqRecord").SeqRecord
    seq = pytest.importorskip("Bio.Seq").Seq
    dna = skbio.DNA("ACGT", metadata={"id": "dna"})
    pairs = [
        ("ACGT", b"ACG"),
        (dna, dna),
        (record(seq("ACGTT"), id="r", description="r of it"), seq("AC")),
        (np.frombuffer(b"ACGT", np.uint8), bytearray(b"AC")),
        (record(seq("ACGTT")), "A"),
    ]
    said = pysw_cl.to_dicts(pysw_cl.align_many(pairs), pairs)
    assert [one["query_name"] for one in said] == ["", "dna", "r", "", ""]
    assert [one["target_length"] for one in said] == [3, 4, 2, 2, 1]
    assert as_sequence(pairs[2][0]).description == "of it"


def test_scores_with_halves_and_empty_tables() -> None:
    pytest.importorskip("pandas")
    half = pysw_cl.align(A, B, gap_cost=0.5)
    whole = pysw_cl.align(A, B)
    assert pysw_cl.to_numpy([whole, half])["score"].tolist() == [whole.score, half.score]
    assert pysw_cl.to_numpy([whole])["score"].dtype == np.int64
    empty = pysw_cl.to_pandas([])
    assert len(empty) == 0 and "query_name" in empty
    assert len(pysw_cl.to_pandas(pysw_cl.align_many([], output="path"), [])) == 0
    assert pysw_cl.to_dicts(pysw_cl.align_many([])) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((["ACGT"],), "number 0 is a str"),
        (("ACGT",), "number 0 is a str"),
        ((3,), "number 0 is a int"),
        ((np.zeros(3),), "is a float64"),
        (("rows", PAIRS[:1]), "2 rows, and there are 1 pairs"),
        (("alignments", PAIRS), "alignments have their sequences"),
    ],
)
def test_what_is_no_result(given: tuple[Any, ...], words: str) -> None:
    results, *pairs = given
    if isinstance(results, str) and results in ("rows", "alignments"):
        made = {"rows": pysw_cl.align_many(PAIRS), "alignments": [pysw_cl.align(A, B)]}
        results = made[results]
    for convert in (pysw_cl.to_dicts, pysw_cl.to_numpy, pysw_cl.to_pandas):
        with pytest.raises(InputError, match=words):
            convert(results, *pairs)


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        pysw_cl.align(A, B).to_pandas()
