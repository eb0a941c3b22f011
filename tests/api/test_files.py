"""``write``: what it takes, where it writes, and what it refuses."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from writing import PLAN, named, random_pairs, random_results, written

import pysw_cl
from pysw_cl.errors import FormatError, InputError


def test_what_it_takes() -> None:
    results = random_results(6)
    text = "".join(written(r, "paf") for r in results)
    for given in (results, tuple(results), iter(results), [results[:2], [results[2:]]]):
        assert written(given, "paf") == text
    assert written([], "paf") == written([[]], "paf") == ""
    assert written([], "tsv") == "\t".join(
        "query query_length target target_length strand score query_start query_end target_start "
        "target_end matches columns identity cigar\n".split(" ")
    )
    other = pysw_cl.align("ACGT", "ACGT", output="ends", plan=PLAN)
    for format, words in (("tsv", "has no matches: all"), ("paf", "PAF needs a"), ("maf", "MAF")):
        with pytest.raises(InputError, match=words):
            written([results[0], other], format)
    for wrong in ("text", 5, None):
        with pytest.raises(InputError, match=r"results are alignments or the array of align_many"):
            written(wrong, "paf")
    with pytest.raises(InputError, match="pairs goes with the array of align_many"):
        written(results, "paf", pairs=[])
    with pytest.raises(InputError, match="gap_cost goes with the array of align_many"):
        written(results, "paf", gap_cost=3)


def test_an_iterator_is_written_while_it_goes_on() -> None:
    stream = io.StringIO()

    def results() -> Iterator[pysw_cl.Alignment]:
        for count, r in enumerate(random_results(3, mode="global", free_ends=False)):
            assert stream.getvalue().count("\n") == count
            yield r

    pysw_cl.write(results(), stream, "jsonl")
    assert stream.getvalue().count("\n") == 3


@pytest.mark.parametrize("output", ["score", "ends", "matches", "path"])
@pytest.mark.parametrize("strand", ["plus", "both"])
def test_the_array_of_align_many(output: str, strand: str) -> None:
    """With what `align_many` was given; device, plan and output may be among it."""
    pairs = random_pairs(20)
    how: dict[str, Any] = {"gap_cost": 1, "strand": strand, "plan": PLAN}
    rows = pysw_cl.align_many(pairs, output=output, **how)
    for format in ("tsv", "jsonl"):
        text = written(rows, format, pairs=pairs, output=output, **how)
        assert text.count("\n") == 20 + (format == "tsv")
        if output != "matches":
            alone = [pysw_cl.align(*pair, output=output, **how) for pair in pairs]
            assert text == written(alone, format)
    if output == "matches":
        shown = written(rows, "tsv", pairs=pairs).splitlines()[3].split("\t")
        assert shown[9:12] == [
            str(rows[2]["matches"]), str(rows[2]["columns"]),
            f"{rows[2]['matches'] / rows[2]['columns']:.4f}",
        ]  # fmt: skip
    if output != "path":
        with pytest.raises(InputError, match=f"for output '{output}' there is tsv"):
            written(rows, "paf", pairs=pairs)


def test_plain_letters_and_names() -> None:
    pairs = [("ACGTACGT", b"ACGTACG"), ("GATTACA", b"GATTACA")]
    rows = pysw_cl.align_many(pairs, output="path", plan=PLAN)
    first = written(rows, "paf", pairs=pairs).split("\t")
    assert (first[0], first[1], first[5], first[6]) == ("query", "8", "target", "7")
    text = written(rows, "sam", pairs=pairs, names=[("a b", "x"), ("c", "y")])
    assert "@SQ\tSN:x\tLN:7\n@SQ\tSN:y\tLN:7\n" in text
    assert [line.split("\t")[0] for line in text.splitlines()[-2:]] == ["a_b", "c"]
    named_pairs = [(named("c", "ACGT"), named("d", "ACGT"))]
    rows = pysw_cl.align_many(named_pairs, output="path", plan=PLAN)
    for format in ("paf", "jsonl", "sam"):
        text = written(rows, format, pairs=named_pairs, names=[("e", "f")])
        assert text == written(rows, format, pairs=[(named("e", "ACGT"), named("f", "ACGT"))])


def test_pairs_of_other_tables() -> None:
    pairs = random_pairs(3)
    rows = pysw_cl.align_many(pairs, output="path", plan=PLAN)
    with pytest.raises(InputError, match="has 3 rows, and there are no pairs; give those"):
        written(rows, "paf")
    with pytest.raises(InputError, match="align_many has no argument 'gap'"):
        written(rows, "paf", pairs=pairs, gap=3)
    with pytest.raises(InputError, match="has 3 rows, and there are 2 pairs"):
        written(rows, "paf", pairs=pairs[:2])
    with pytest.raises(InputError, match="has 3 rows, and there are 1 names"):
        written(rows, "paf", pairs=pairs, names=[("a", "b")])
    with pytest.raises(InputError, match="with a field 'score'"):
        written(rows[["matches"]], "tsv", pairs=pairs)


def test_rows_that_reach_a_score_are_of_their_pairs() -> None:
    """``pairs`` and ``names`` are all that were aligned, as for `to_pandas`."""
    pairs = random_pairs(20)
    names = [(f"a{k}", f"b{k}") for k in range(20)]
    rows = pysw_cl.align_many(pairs, output="path", min_score=12, plan=PLAN)
    assert 3 < len(rows) < 20
    for given in ({}, {"names": names}):
        text = written(rows, "paf", pairs=pairs, min_score=12, **given)
        which = {"names": [names[k] for k in rows["pair"]]} if given else {}
        alone = [pairs[k] for k in rows["pair"]]
        plain = pysw_cl.align_many(alone, output="path", plan=PLAN)
        assert text == written(plain, "paf", pairs=alone, **which)
    assert written(rows[:0], "paf", pairs=pairs) == ""
    last = rows["pair"][-1]
    for what, given in (("pairs", {"pairs": pairs[:3]}), ("names", {"names": names[:3]})):
        with pytest.raises(InputError, match=f"a row is of pair {last}, and there are 3 {what}"):
            written(rows, "paf", **{"pairs": pairs, **given})


def test_more_rows_than_are_text_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts and their seams: of tables, of rows, and of queries that go on in the next part."""
    query = named("q", "GATTACA")
    pairs = [*random_pairs(20), *((query, named(f"u{k}", "GATTACA")) for k in range(9))]
    rows = pysw_cl.align_many(pairs, output="path", plan=PLAN)
    alone = [pysw_cl.align(*pair, plan=PLAN) for pair in pairs]
    formats = ("paf", "tsv", "sam", "6", "7", "maf")
    whole = [written(rows, format, pairs=pairs) for format in formats]
    monkeypatch.setattr("pysw_cl.results.formats.columns.AT_ONCE", 4)
    assert [written(rows, format, pairs=pairs) for format in formats] == whole
    assert [written(alone, format) for format in formats] == whole
    assert [written(iter(alone), format) for format in formats] == whole


def test_large_numbers_and_negative_ones() -> None:
    """Beyond the numbers whose text is known."""
    pairs = [(named("q", "A" * 70_000 + "ACGT" * 3), named("t", "TTACGTACGTACGTT"))] * 300
    rows = pysw_cl.align_many(pairs[:1], output="path", plan={"engine": "reference"})
    rows = rows.repeat(300)
    text = written(rows, "paf", pairs=pairs)
    assert text == written(rows[:1], "paf", pairs=pairs[:1]) * 300
    assert text.split("\t")[1] == "70012"
    rows["score"] = -5
    assert "\tAS:i:-5\t" in written(rows, "paf", pairs=pairs)


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.paf"
    good = random_results(2)

    def results() -> Iterator[pysw_cl.Alignment]:
        yield from good
        raise RuntimeError("stop")

    for before in (None, "old"):
        with pytest.raises(RuntimeError, match="stop"):
            pysw_cl.write(results(), path)
        assert [p.name for p in tmp_path.iterdir()] == ([] if before is None else ["x.paf"])
        path.write_text("old")
    assert path.read_text() == "old"
    pysw_cl.write(good, str(path))
    assert path.read_text() == written(good, "paf")
    with pytest.raises(FormatError, match=r"nowhere.*cannot be written: No such file"):
        pysw_cl.write(good, tmp_path / "nowhere" / "x.paf")


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    results = random_results(2)
    pysw_cl.write(results, "-", "paf")
    assert capsys.readouterr().out == written(results, "paf")


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.sam", "@HD"), ("x.m8", "q0\t"), ("x.B7", "# BLASTN"), ("x.maf", "##maf"), ("x.fa", ">q0"),
     ("x.ndjson", "{"), ("x.pair", "# query"), ("x.tsv", "query\t"), ("x.paf", "q0\t")],
)  # fmt: skip
def test_the_name_says_the_format(tmp_path: Path, name: str, start: str) -> None:
    pysw_cl.write(random_results(1), tmp_path / name)
    assert (tmp_path / name).read_text().startswith(start)


def test_names_that_say_none(tmp_path: Path) -> None:
    for path in (tmp_path / "x.txt", tmp_path / "paf", "-"):
        with pytest.raises(InputError, match="give format="):
            pysw_cl.write([], path)
    with pytest.raises(InputError, match="'bam' is not a format; there are paf, tsv, "):
        pysw_cl.write([], tmp_path / "x.paf", "bam")


def test_names_of_files_and_of_records_in_any_letters(tmp_path: Path) -> None:
    """The file beside it has no longer name; bytes that are no UTF-8 are written as in URLs."""
    path = tmp_path / ("\N{GREEK SMALL LETTER ALPHA}" * 120 + ".paf")
    pysw_cl.write(pysw_cl.align(named("q\udcff", "ACGT"), named("t", "ACGT"), plan=PLAN), path)
    assert path.read_bytes().startswith(b"q%FF\t4\t")
    assert next(pysw_cl.read(path)).query_name == "q%FF"
