"""The formats in the shell: all of them, their choices, and what they cannot hold."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from test_cli import A, B, fails, fasta, run
from test_usage import refused
from writing import named, written

import pysw_cl
from pysw_cl.results.formats import FORMATS


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    two = fasta(tmp_path / "a.fa", ("a", A), ("b", B), ("n", "NNNN"))
    return [two, fasta(tmp_path / "t.fa", ("t", B), ("u", A))]


@pytest.mark.parametrize("name", [*FORMATS, "6", "7"])
@pytest.mark.parametrize("options", [[], ["--strand", "both"], ["--max-cost", "none"]])
def test_all_of_them(
    capsys: pytest.CaptureFixture[str], files: list[str], name: str, options: list[str]
) -> None:
    """The text of `write`, whichever engine the pairs go through."""
    if "--max-cost" in options:
        options = [*options, "--mode", "global"]
    code, out, err = run(capsys, "align", *files, "--outfmt", name, *options)
    assert (code, err) == (0, "")
    strand = "both" if "both" in options else "plus"
    mode = "global" if "global" in options else "local"
    pairs = [
        (named(a, x), named(b, y))
        for a, x in (("a", A), ("b", B), ("n", "NNNN"))
        for b, y in (("t", B), ("u", A))
    ]
    results = [pysw_cl.align(*pair, strand=strand, mode=mode) for pair in pairs]
    expected = written(results, name)
    if name == "sam":
        shown = [line for line in out.splitlines() if line.startswith("@PG")]
        assert f"\tCL:pysw-cl align {files[0]} {files[1]} --outfmt sam" in shown[0]
        out = out.replace(shown[0].partition("\tCL:")[2].partition("\tDS:")[0], "").replace(
            "\tCL:", ""
        )
    assert out == expected


def test_columns_of_a_table(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    argv = ["align", *files, "--outfmt", "6 qseqid score"]
    code, out, _ = run(capsys, *argv)
    assert code == 0 and out.splitlines()[0].split("\t")[0] == "a"
    assert {line.count("\t") for line in out.splitlines()} == {1}
    for text, words in (
        ("6 qseqid what", "argument --outfmt: 'what' is not a column that is known here"),
        (
            "paf qseqid",
            "argument --outfmt: paf has no choice of fields; it is for tsv, blast6, blast7",
        ),
        ("", "argument --outfmt: '' is not a format"),
    ):
        assert words in refused(capsys, "align", "a", "b", "--outfmt", text)


def test_columns_of_tsv(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    argv = ["align", *files, "--outfmt", "tsv target cigar target_description"]
    code, out, _ = run(capsys, *argv)
    assert code == 0
    header, *lines = (line.split("\t") for line in out.splitlines())
    assert header == ["target", "cigar", "target_description"]
    assert {line[0] for line in lines} == {"t", "u"}
    (what, ends) = "tsv query what", "tsv query cigar"
    words = "argument --outfmt: a column of these results must be one of 'query', "
    assert words in refused(capsys, "align", "a", "b", "--outfmt", what)
    said = refused(capsys, "align", *files, "--outfmt", ends, "--output", "ends")
    assert "a column of these results must be one of" in said and "not 'cigar'" in said
    assert "not 'evalue'" in refused(capsys, "align", *files, "--outfmt", "tsv evalue")


@pytest.mark.parametrize("end", ["sam", "b6", "jsonl", "afa", "tsv", "bed", "PAF", "x1"])
def test_the_name_of_the_file_says_the_format(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str], end: str
) -> None:
    out = tmp_path / f"x.{end}"
    assert run(capsys, "align", *files, "-o", str(out))[0] == 0
    start = {"sam": "@HD", "b6": "a\tt\t", "jsonl": "{", "afa": ">a ", "tsv": "query\t"}
    start["bed"] = "t\t3\t"
    assert out.read_text().startswith(start.get(end, "a\t"))
    assert run(capsys, "align", *files, "-o", str(out), "--outfmt", "maf")[0] == 0
    assert out.read_text().startswith("##maf")


@pytest.mark.parametrize("end", ["bam", "csv", "txt", "xml", "fastq", "TXT.gz", "paf.zip"])
def test_names_of_files_that_are_not_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str], end: str
) -> None:
    """Nobody takes them for PAF; with --outfmt the name is the user's own."""
    out = tmp_path / f"x.{end}"
    wrong = end.lower().removesuffix(".gz").removeprefix("paf.")
    words = f"no .{wrong} is written here; let the name end in ."
    assert words in refused(capsys, "align", *files, "-o", str(out))
    assert words in refused(capsys, "align", *files, "-o", str(out), "--output", "score")
    assert not out.exists()
    assert run(capsys, "align", *files, "-o", str(out), "--outfmt", "tsv")[0] == 0
    assert out.exists()


@pytest.mark.parametrize("options", [[], ["--top", "1"], ["--target-range", "1-"]])
def test_qualities_of_fastq(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str], options: list[str]
) -> None:
    """They are in SAM, turned on the minus strand, whichever engine the pairs go through."""
    other, quality = pysw_cl.reverse_complement(A), "ABCDEFGHIJKLMN"
    reads = tmp_path / "reads.fq"
    reads.write_text(f"@x\n{A}\n+\n{quality}\n@y\n{other}\n+\n{quality}\n")
    argv = ["align", str(reads), files[1], "--strand", "both", "--outfmt", "sam", *options]
    code, out, err = run(capsys, *argv)
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines() if line[0] != "@"]
    shown = [(line[0], *line[9:11]) for line in lines if line[9] != "*"]
    assert shown == [("x", A, quality), ("y", A, quality[::-1])]


@pytest.mark.parametrize("options", [["--top", "1"], ["--min-score", "9"], ["--pairs"]])
def test_comments_count_what_was_searched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str]
) -> None:
    """Not what is printed: --top and --min-score leave out lines, not targets or queries."""
    queries = fasta(tmp_path / "q.fa", *((name, A) for name in "abc"), ("n", "NNNN"))
    targets = fasta(tmp_path / "t.fa", ("t", A), *((name, B) for name in "uvw"))
    code, out, err = run(capsys, "align", queries, targets, "--outfmt", "7", *options)
    assert (code, err) == (0, "")
    counted = [line for line in out.splitlines() if line.startswith("# Data")]
    if options == ["--pairs"]:
        assert counted == [f"# Database: {name}" for name in "tuvw"]
    else:
        assert set(counted) == {"# Database: 4 targets"}
    assert out.splitlines()[-1] == "# BLAST processed 4 queries"
    assert "# 1 hits found\n" in out  # BLAST's own words, by which readers know the line


def test_compressed(capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]) -> None:
    out = tmp_path / "x.sam.gz"
    assert run(capsys, "align", *files, "-o", str(out))[0] == 0
    assert gzip.decompress(out.read_bytes()).startswith(b"@HD")
    assert len(list(pysw_cl.read(out))) == 4


def test_what_a_format_cannot_hold(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    """It is wrong usage, and is said before a file is read."""
    for options, words in (
        ("--outfmt sam --matrix BLOSUM62", "sam holds nucleotides only"),
        ("-o x.sam --matrix BLOSUM62", "sam holds nucleotides only"),
        ("--outfmt sam --output score", "--outfmt sam needs --output path; for --output score"),
        ("-o x.maf --output ends", "-o x.maf is maf, which needs --output path; for"),
        (
            "--outfmt paf --width 60",
            "paf has no choice of width; it is for pair, blast0, fasta, hits",
        ),
        ("--outfmt fasta --limit 60", "fasta has no choice of limit; it is for pair"),
        ("--outfmt pair --limit 0", "argument --limit: '0' is not a whole number"),
    ):
        assert words in refused(capsys, "align", "none", "none", *options.split())
    text = run(capsys, "align", *files, "--outfmt", "pair", "--width", "4", "--limit", "6")[1]
    assert "# the first 6 of 14 columns" in text
    bad = fasta(tmp_path / "bad.fa", ("x(y)", A))
    said = fails(capsys, "align", files[0], bad, "--outfmt", "sam")
    assert "SAM cannot hold the target name 'x(y)'" in said
    twice = fasta(tmp_path / "twice.fa", ("x", A), ("x", B))
    said = fails(capsys, "align", files[0], twice, "--outfmt", "sam")
    assert "SAM cannot hold two targets with the name 'x'" in said


def test_targets_from_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, files: list[str]
) -> None:
    """The header of SAM lists them before the first result."""
    expected = run(capsys, "align", *files, "--outfmt", "sam")[1].splitlines()[3:]
    pipe = io.TextIOWrapper(io.BytesIO(Path(files[1]).read_bytes()))
    monkeypatch.setattr("sys.stdin", pipe)
    code, out, _ = run(capsys, "align", files[0], "-", "--outfmt", "sam")
    assert code == 0
    assert [line.split("\t")[1] for line in out.splitlines()[1:3]] == ["SN:t", "SN:u"]
    assert out.splitlines()[4:] == expected[1:]


def test_bad_targets_are_not_listed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    some = fasta(tmp_path / "some.fa", ("x", A), ("bad", "AC!T"), ("y", B))
    code, out, _ = run(capsys, "align", files[0], some, "--outfmt", "sam", "--skip-bad")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("@SQ")] == [
        f"@SQ\tSN:x\tLN:{len(A)}",
        f"@SQ\tSN:y\tLN:{len(B)}",
    ]


def test_primary_lines_with_a_choice_of_targets(
    capsys: pytest.CaptureFixture[str], files: list[str]
) -> None:
    for options in (["--top", "2"], ["--alignments", "2"], ["--pairs", "--skip-bad"]):
        pair = [files[0], files[0]] if "--pairs" in options else files
        code, out, _ = run(capsys, "align", *pair, "--outfmt", "sam", *options)
        flags: dict[str, list[int]] = {}
        for line in out.splitlines():
            if not line.startswith("@"):
                flags.setdefault(line.split("\t")[0], []).append(int(line.split("\t")[1]))
        assert code == 0 and set(flags) >= {"a", "b"}
        assert all([flag & 0x900 for flag in one].count(0) == 1 for one in flags.values())


def test_resume_and_plot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, job = fasta(tmp_path / "one.fa", ("x", A)), str(tmp_path / "job")
    assert run(capsys, "align", one, one, "--checkpoint", job)[0] == 0
    code, out, _ = run(capsys, "resume", job, "--outfmt", "sam")
    assert code == 0 and f"@SQ\tSN:x\tLN:{len(A)}" in out and f"\t{len(A)}=\t" in out
    code, out, _ = run(capsys, "resume", job, "--outfmt", "jsonl")
    assert json.loads(out)["cigar"] == f"{len(A)}="
    said = refused(
        capsys, "resume", job, "--outfmt", "paf", "--width", "5", command="pysw-cl resume"
    )
    assert "paf has no choice of width" in said
    pytest.importorskip("matplotlib")
    code, out, _ = run(capsys, "plot", one, one, str(tmp_path / "x.png"), "--outfmt", "sam")
    assert code == 0 and f"\t{len(A)}=\t" in out
