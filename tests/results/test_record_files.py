"""Readers: what was written comes back, files of others, and damaged lines."""

from __future__ import annotations

import gzip
import io
import lzma
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from writing import PLAN, named, random_results, written

import pysw_cl
from pysw_cl.errors import FormatError, InputError
from pysw_cl.results.aligned_pair import FIELDS


def back(text: str, format: str, **how: Any) -> list[Any]:
    return list(pysw_cl.read(io.StringIO(text), format, **how))


@pytest.mark.parametrize("format", ["paf", "sam", "blast6", "blast7"])
def test_what_was_written_comes_back(format: str) -> None:
    results = [
        r for r in random_results(120, sub_score=(2, -1.5)) if r.target_start != r.target_end
    ]
    results = [r for r in results if r.query_start != r.query_end]
    columns = ["std", "qlen", "slen", "score", "nident", "btop", "sstrand"]
    how: dict[str, Any] = {"fields": columns} if format.startswith("blast") else {}
    text = written(results, format, **how)
    given = {"fields": columns} if format == "blast6" else {}
    found = back(text, format, **given)
    assert len(found) == len(results) > 80
    for record, r in zip(found, results, strict=True):
        assert {name: getattr(record, name) for name in FIELDS} == r.to_dict()
        assert record.runs == r.runs


def test_letters_of_a_table_say_the_path() -> None:
    results = [r for r in random_results(60) if r.columns]
    fields = ["qaccver", "saccver", "qstart", "qend", "sstart", "send", "qseq", "sseq", "sstrand"]
    found = back(written(results, "7", fields=fields), "7")
    assert [record.runs for record in found] == [r.runs for r in results]
    assert [record.query_name for record in found] == [r.query.name for r in results]
    assert found[0].score is found[0].query_length is found[0].matches is None


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.LettersWarning")
@pytest.mark.parametrize(
    ("query", "target", "how", "cigar"),
    [
        ("ACGUacgNNU", "ACGTACGNNT", {}, "7=2X1="),
        ("ACRGT", "ACRGT", {"sub_score": "NUC.4.4"}, "5="),
        ("ACNGT", "ACNGU", {"wildcard": "N"}, "2=1X2="),
        ("ACNGRA", "ACWGUa", {"iupac": "match"}, "4=1X1="),
        ("MKNUcX", "MKNCCX", {"sub_score": "BLOSUM62"}, "3=1X2="),
        ("MKNX", "mknx", {"sub_score": "BLOSUM62", "wildcard": "X"}, "3=1X"),
        ("GAT5ACEA", "GAT5ACEA", {"unknown": "N", "sub_score": (2, -1)}, "3=1X2=1X1="),
    ],
)
def test_letters_match_as_they_are_scored(
    query: str, target: str, how: dict[str, Any], cigar: str
) -> None:
    """By the scoring that is given; else by one that gives the matches of the line."""
    r = pysw_cl.align(named("q", query), named("t", target), mode="global", plan=PLAN, **how)
    assert r.cigar == cigar
    places = ["qstart", "qend", "sstart", "send"]
    for format in ("6", "7"):
        for fields, given in (
            ([*places, "qseq", "sseq"], how), (["std", "qseq", "sseq"], {}), (["std", "btop"], {}),
        ):  # fmt: skip
            text = written(r, format, fields=fields)
            assert back(text, format, fields=fields, **given)[0].runs == r.runs
    if not how.keys() & {"wildcard", "iupac"} and how.get("sub_score") != "NUC.4.4":
        text = written(r, "7", fields=[*places, "qseq", "sseq"])
        assert back(text, "7")[0].runs == r.runs


def test_letters_that_no_scoring_has() -> None:
    table = "\t".join(["1", "4"] * 2)
    fields = ["qstart", "qend", "sstart", "send", "qseq", "sseq"]
    with pytest.raises(FormatError, match="line 1: letter 'E' at position 2 of the aligned"):
        back(f"{table}\tAEGT\tACGT\n", "6", fields=fields, sub_score=(1, -1))
    with pytest.raises(FormatError, match="line 1: letter a blank"):
        back(f"{table}\tA GT\tACGT\n", "6", fields=fields)
    with pytest.raises(InputError, match="paf has no choice of wildcard"):
        back("", "paf", wildcard="N")


def test_a_line_of_minimap2() -> None:
    """M in the CIGAR, tags of all types, and no tags at all."""
    line = (
        "read\t20\t2\t14\t-\tchr\t90\t40\t53\t10\t14\t60\ttp:A:P\tAS:i:9\tde:f:0.1\tcs:Z::4*ac:6-aa"
    )
    (record,) = back(f"{line}\tcg:Z:6M2D5M1I\n", "paf")
    assert record[:9] == ("read", 20, 2, 14, "minus", "chr", 90, 40, 53)
    assert (record.score, record.matches, record.cigar) == (9, 10, "6M2D5M1I")
    assert record.more == {"mapq": 60, "tp": "P", "AS": 9, "de": 0.1, "cs": ":4*ac:6-aa"}
    (record,) = back("\t".join(line.split("\t")[:12]) + "\r\n", "paf")
    assert record.runs is record.score is None and record.identity == 10 / 14
    assert back("read\t20" + "\t0\t0\t*\t*" + "\t0" * 6 + "\trl:i:0\n", "paf") == []


def test_a_line_of_bwa() -> None:
    """Clips of both kinds, M, skipped letters, lines without an alignment."""
    header = "@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:100\n@CO\tfree text\n"
    cigar, letters = "3H5S4M1I3M2D2M10N1M2S", "AAAAAGATTACAGATTCA"
    line = f"r\t16\tchr1\t11\t60\t{cigar}\t*\t0\t0\t{letters}\t*\tNM:i:4\tAS:i:30"
    nothing = "x\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*\n"
    (record,) = back(f"{header}{nothing}{line}\n", "sam")
    assert record[:9] == ("r", 21, 2, 13, "minus", "chr1", 100, 10, 32)
    assert record.cigar == "4M1I3M2D2M10N1M"
    assert (record.score, record.matches, record.columns) == (30, 9, 13)
    assert record.more["flag"] == 16


def test_skipped_letters_are_no_gap() -> None:
    """N, as spliced reads have it, is neither a gap nor a column, in SAM and in PAF."""
    (record,) = back("r\t0\tt\t4\t60\t3=9N4=\t*\t0\t0\tACGTACG\t*\tNM:i:0\n", "sam")
    assert record[7:9] == (3, 19) and (record.matches, record.columns) == (7, 7)
    assert record.runs.in_gaps()[0] == 0 and record.cigar == "3=9N4="
    line = "r\t7\t0\t7\t+\tt\t99\t3\t19\t7\t7\t60\tcg:Z:3M9N4M\n"
    assert back(line, "paf")[0].cigar == "3M9N4M"


def test_a_path_of_the_tag_cg() -> None:
    """BAM holds 65,535 operations; the path of a longer one is in CG, and CIGAR has its place."""
    start = "q\t0\tt\t3\t60\t10S10N\t*\t0\t0\tACGTACGTAC\t*\tNM:i:1\t"
    (record,) = back(f"{start}CG:B:I,96,24,55\n", "sam")
    assert record[:4] == ("q", 10, 0, 10) and record[7:9] == (2, 12)
    assert (record.cigar, record.matches, record.columns) == ("6=1X3=", 9, 10)
    assert record.more == {"flag": 0, "mapq": 60, "NM": 1}
    for tags, words in (
        ("AS:i:9", "the CIGAR 10S10N stands for one in the tag CG:B:I, which is not there"),
        ("CG:B:I,96,24", "the tag CG and the CIGAR 10S10N have different lengths"),
        ("CG:B:I,96,25,55", "line 1: no 9"),
        ("CG:B:I,96,x", "'x'"),
    ):
        with pytest.raises(FormatError, match=words):
            back(f"{start}{tags}\n", "sam")


@pytest.mark.skipif(shutil.which("samtools") is None, reason="needs samtools")
def test_samtools_takes_a_path_of_many_operations(tmp_path: Path) -> None:
    """More than BAM's field of a CIGAR holds, to BAM and back."""
    n, cigar = 35_000, "1=1X" * 35_000
    row = (-n, 0, 2 * n, 0, 2 * n, n, 2 * n, cigar)
    names = ("score", *FIELDS[2:4], *FIELDS[7:9], "matches", "columns")
    rows = np.array([row], [*((name, np.int64) for name in names), ("cigar", object)])
    given = [(named("q", "AC" * n), named("t", "AG" * n))]
    sam, bam = tmp_path / "x.sam", tmp_path / "x.bam"
    pysw_cl.write(rows, sam, pairs=given)
    subprocess.run(["samtools", "view", "-b", "-o", bam, sam], check=True, timeout=60)
    done = subprocess.run(["samtools", "view", bam], capture_output=True, text=True, timeout=60)
    (record,) = back(done.stdout, "sam")
    assert (record.cigar, record.matches) == (cigar, n)


@pytest.mark.parametrize(
    ("format", "line", "words"),
    [
        ("paf", "a\t1\t0\t1", "a line of PAF has at least 12 columns, not 4"),
        ("paf", "q\t9\t0\t9\t+\tt\t9\t0\tnine\t9\t9\t255", "'nine'"),
        ("paf", "q\t9\t0\t9\t*\tt\t9\t0\t9\t9\t9\t255", r"the strand is \+ or -, not '\*'"),
        ("paf", "q\t9\t0\t10\t+\tt\t9\t0\t9\t9\t9\t255", "coordinates leave their sequence"),
        ("paf", "q\t9\t0\t9\t+\tt\t9\t0\t9\t9\t9\t255\tcg:Z:8=", "different lengths"),
        ("paf", "q\t9\t0\t9\t+\tt\t9\t0\t9\t9\t9\t255\tcg:Z:9Q", "'9Q' is not a CIGAR"),
        ("paf", "q\t9\t0\t9\t+\tt\t9\t0\t9\t9\t9\t255\tcg", "'cg' is not a tag"),
        ("paf", "q\t9\t0\t9\t+\tt\t9\t0\t9\t9\t9\t255\tAS:i:x", "'x'"),
        ("paf", f"q\t9\t0\t9\t+\tt\t9\t0\t9\t9\t9\t255\tcg:Z:{9**30}=", "too large"),
        ("sam", "BAM\x01\x00\x00", "this is BAM; samtools view"),
        ("sam", "r\t0\tt\t1", "at least 11 columns, not 4"),
        ("sam", "r\tx\tt\t1\t0\t4M\t*\t0\t0\tACGT\t*", "'x'"),
        ("sam", "r\t0\tt\t1\t0\t5M\t*\t0\t0\tACGT\t*", "different numbers of letters"),
        ("sam", "r\t0\tt\t1\t0\t2M1S2M\t*\t0\t0\tACGTA\t*", "has clips inside"),
        ("sam", "r\t0\tt\t0\t0\t4M\t*\t0\t0\tACGT\t*", "leaves the target 't'"),
        ("sam", "r\t0\tt\t8\t0\t4M\t*\t0\t0\tACGT\t*", "leaves the target 't'"),
        ("blast6", "q\ts\t100", "the table has 12 columns, and the line 3"),
        ("blast6", "q\ts\t100\t4\t0\t0\t1\tfour\t1\t4\t0\t9", "'four'"),
        ("blast6", "q\ts\t100\t4\t0\t0\t0\t4\t1\t4\t0\t9", "positions count from 1"),
        ("blast7", "# Fields: query id, % identity\nq\t100", "says no coordinates"),
        ("blast7", "# Fields: q. start, q. end, s. start, s. end, BTOP\n1\t4\t1\t4\t3",
         "the path and the positions have different lengths"),
        ("blast7", "# Fields: q. start, q. end, s. start, s. end, BTOP\n1\t4\t1\t4\t3A",
         "btop has numbers and pairs"),
    ],
)  # fmt: skip
def test_damaged_lines(tmp_path: Path, format: str, line: str, words: str) -> None:
    """The error names the file and the line; the records before it are there."""
    start = {"sam": "@SQ\tSN:t\tLN:9\n", "paf": "", "blast6": "", "blast7": "# BLASTN 2\n"}[format]
    path = tmp_path / "damaged.txt"
    path.write_text(f"{start}\n{line}\n")
    number = (start + "\n" + line).count("\n") + 1
    with pytest.raises(FormatError, match=words) as error:
        list(pysw_cl.read(path, format))
    assert str(error.value).startswith(f"{path}: line {number}: ")


def test_files(tmp_path: Path) -> None:
    """The name says the format; gzip is known by content; standard input and streams."""
    results = random_results(9)
    text = written(results, "paf")
    count = text.count("\n")
    (tmp_path / "a.PAF").write_text(text)
    (tmp_path / "b.paf").write_bytes(gzip.compress(text.encode()))
    pysw_cl.write(results, tmp_path / "c.paf.gz")
    assert (tmp_path / "c.paf.gz").read_bytes()[:2] == b"\x1f\x8b"
    pysw_cl.write(results, tmp_path / "c.paf.xz")
    assert lzma.decompress((tmp_path / "c.paf.xz").read_bytes()).decode() == text
    for name in ("a.PAF", "b.paf", "c.paf.gz", "c.paf.xz"):
        assert len(list(pysw_cl.read(tmp_path / name))) == count > 5
    (tmp_path / "e.paf").write_bytes(lzma.compress(text.encode()))
    assert len(list(pysw_cl.read(tmp_path / "e.paf"))) == count
    (tmp_path / "d.paf").write_bytes(gzip.compress(text.encode())[:-20])
    with pytest.raises(FormatError, match=r"d\.paf: truncated or damaged gzip"):
        list(pysw_cl.read(tmp_path / "d.paf"))
    with pytest.raises(FormatError, match=r"none\.paf: cannot be read: No such file"):
        list(pysw_cl.read(tmp_path / "none.paf"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    r = pysw_cl.align(named("q", "ACGT"), named("t", "ACGT"), plan=PLAN)
    data = (written(r, "paf") + "x\n").encode()
    for given in (data, gzip.compress(data)):
        stdin = io.TextIOWrapper(io.BytesIO(given))
        monkeypatch.setattr("sys.stdin", stdin)
        records = pysw_cl.read("-", "paf")
        assert next(records).query_name == "q"
        with pytest.raises(FormatError, match="standard input: line 2: a line of PAF"):
            next(records)
        assert not stdin.buffer.closed


def test_formats_that_are_not_read() -> None:
    with pytest.raises(InputError, match="maf is written only; there are readers for paf, sam, "):
        pysw_cl.read("x.maf")
    with pytest.raises(InputError, match=r"the name 'x\.bam' says no format \(\.paf, "):
        pysw_cl.read("x.bam")
    with pytest.raises(InputError, match="a stream has no name"):
        pysw_cl.read(io.StringIO())
    with pytest.raises(InputError, match="paf has no choice of fields"):
        pysw_cl.read("x.paf", fields=["qseqid"])


def test_a_gap_alone_has_no_line_where_positions_are_inclusive() -> None:
    """A global path without a letter of one side: BLAST's tables and MAF have no place for it, SAM
    says that the query has no alignment, and PAF and FASTA hold it."""
    how: dict[str, Any] = {"mode": "global", "sub_score": (1, -9), "gap_cost": 1, "plan": PLAN}
    alone = pysw_cl.align(named("q", "AAG"), named("t", "CC"), free_ends=(True, False), **how)
    other = pysw_cl.align(named("q", "AAG"), named("u", "AAG"), **how)
    assert (alone.cigar, alone.query_end, alone.target_start) == ("3I", 3, alone.target_end)
    lines = written(alone, "7").splitlines()
    assert lines[3:] == ["# 0 hits found", "# BLAST processed 1 queries"]
    assert written(alone, "6") == "" and "\na " not in written(alone, "maf")
    assert "\nq\t4\t*\t0\t255\t*\t*\t0\t0\tAAG\t*\n" in written(alone, "sam")
    assert back(written(alone, "paf"), "paf")[0].cigar == "3I"
    assert written(alone, "fasta").count(">") == 2
    for format in ("6", "7", "sam"):
        assert [one.target_name for one in back(written([alone, other], format), format)] == ["u"]
    assert written([alone, other], "maf").count("\na ") == 1


def test_equal_letters_that_are_no_match_come_back() -> None:
    """N opposite N is a pair of btop, and X in the path."""
    r = pysw_cl.align(named("q", "ACNGTNA"), named("t", "ACNGTNA"), mode="global", plan=PLAN)
    assert r.cigar == "2=1X2=1X1="
    text = written(r, "7", fields=["std", "nident", "btop"])
    assert "\t2NN2NN1\n" in text
    assert [(one.cigar, one.matches) for one in back(text, "7")] == [(r.cigar, r.matches)]


@pytest.mark.parametrize("format", ["6", "7"])
def test_a_name_that_begins_as_a_comment(format: str) -> None:
    r = pysw_cl.align(named("#q", "GATTACA"), named("t", "GATTACA"), plan=PLAN)
    assert [one.query_name for one in back(written(r, format), format)] == ["#q"]
    assert back("#qseqid\tsseqid" + "\tx" * 10 + "\n" + written(r, "6"), "6")[0].query_end == 7
