"""``pysw-cl makedb`` and ``pysw-cl search``."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from test_cli import fails, fasta, process, run
from test_signals import COMMAND, started

import pysw_cl

PROTEINS = [
    ("p0", "MKVLAWHEAGMWGHEE"),
    ("p1", "PAWHEAE"),
    ("twice", "HEAGAWGHEE"),
    ("p3", ""),
    ("twice", "HEAGAWGHEE"),
    ("p5", "WWWWWWWW"),
]
QUERIES = [("q0", "HEAGAWGHEE"), ("q1", "PAWHEAE"), ("q2", "CCC")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Queries and a database."""
    source = fasta(tmp_path / "p.fa", *PROTEINS)
    pysw_cl.Database.create(tmp_path / "p.pswdb", pysw_cl.Database(source))
    return fasta(tmp_path / "q.fa", *QUERIES), str(tmp_path / "p.pswdb")


def usage(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    return err


def names(out: str) -> list[list[str]]:
    return [line.split("\t")[0:9:5] for line in out.splitlines()]


def test_makedb(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source, more = (fasta(tmp_path / name, *PROTEINS) for name in ("p.fa", "more.fa"))
    made = str(tmp_path / "a.pswdb")
    code, out, err = run(capsys, "makedb", source, more, "-o", made)
    assert (code, out) == (0, "") and err == f"pysw-cl: {made}: 12 sequences, 102 letters\n"
    db = pysw_cl.Database(made)
    assert [(one.name, str(one)) for one in db] == PROTEINS * 2 and db.sources == [source, more]
    code, out, _ = run(capsys, "makedb", "--info", made)
    assert code == 0 and "lengths: 0 to 16, median 8" in out and f"  from {more}\n" in out
    assert "letters: A " in out


def test_a_list_of_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source, made = fasta(tmp_path / "p.fa", *PROTEINS), str(tmp_path / "a.pswdb")
    (tmp_path / "names").write_text("twice\n\nother\np0 and more\n")
    code, _, err = run(
        capsys, "makedb", source, "--names", str(tmp_path / "names"), "-o", made, "-q"
    )
    assert (code, err) == (0, "pysw-cl: warning: 1 name is of no sequence, such as 'other'\n")
    assert [one.name for one in pysw_cl.Database(made)] == ["p0", "twice", "twice"]
    wrong = "makedb", source, "--names", "nowhere", "-o", made
    assert "nowhere: cannot be read: No such file" in fails(capsys, *wrong)


def test_pairs_have_the_evalues_of_a_search(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    query = fasta(tmp_path / "one.fa", QUERIES[0])
    source = fasta(tmp_path / "full.fa", *(one for one in PROTEINS if one[1]))
    same = "--matrix", "BLOSUM62", "--db-letters", "1000", "--outfmt", "6", query, source
    code, searched, _ = run(capsys, "search", *same)
    aligned = run(capsys, "align", *same)[1]
    assert code == 0 and sorted(aligned.splitlines()) == sorted(searched.splitlines())
    text = run(capsys, "align", "--top", "1", *same)[1]
    assert text == next(line for line in aligned.splitlines(True) if "\ttwice\t" in line)
    assert "at least 1, not 0" in usage(capsys, "align", query, source, "--db-letters", "0")
    code, out, err = run(capsys, "align", "--mode", "global", *same)
    assert code == 0 and "in mode 'global'" in err and "\t-1\t0\n" in out


def test_queries_without_hits(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    for least, counts in (("50", [1, 0, 0]), ("500", [0, 0, 0])):
        argv = "search", *files, "--top", "1", "--min-score", least, "--outfmt"
        said = run(capsys, *argv, "7")[1].splitlines()
        found = [line for line in said if line.endswith("hits found")]
        assert found == [f"# {count} hits found" for count in counts]
        assert said.count("# Database: 6 targets") == 3
        assert run(capsys, *argv, "0")[1].count("No hits found") == counts.count(0)
        assert run(capsys, *argv, "a3m")[1].endswith("\0>q1\nPAWHEAE\n\0>q2\nCCC\n")


def test_hits_are_the_same_from_a_database_and_its_source(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str]
) -> None:
    queries, db = files
    code, out, err = run(capsys, "search", *files)
    assert code == 0 and "1 sequence of the database without letters, 'p3' first" in err
    assert names(out) == [
        *(["q0", name] for name in ("twice", "twice", "p0", "p1", "p5")),
        *(["q1", name] for name in ("p1", "p0", "twice", "twice", "p5")),
    ]
    for other in ([queries, db[:-5] + "fa"], ["--threads", "1", *files], ["--top", "all", *files]):
        assert run(capsys, "search", *other)[1] == out
    with Path(queries).open("rb") as stream:
        assert process("search", "-", db, stdin=stream).stdout.decode() == out
    ends = run(capsys, "search", "--output", "ends", "--top", "1", *files)[1].splitlines()
    assert [line.split("\t")[:6:2] for line in ends] == [
        ["query", "target", "strand"], ["q0", "twice", "+"], ["q1", "p1", "+"]
    ]  # fmt: skip
    tied = run(capsys, "search", "--top", "1", "--ties", *files)[1]
    assert names(tied) == [["q0", "twice"], ["q0", "twice"], ["q1", "p1"]]


def test_formats_and_files(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    out = str(tmp_path / "hits.b7")
    assert run(capsys, "search", "--top", "2", "-o", out, *files)[:2] == (0, "")
    text = Path(out).read_text()
    assert text.count("# Database: 6 targets\n") == 3 and "# BLAST processed 3 queries" in text
    _, _, err = run(capsys, "search", "-v", "--mode", "global", "--min-score", "5", *files)
    assert "18 pairs:" in err and "GCUPS" in err
    dna = fasta(tmp_path / "dna.fa", ("d0", "ACGTACGT"), ("d1", "TTTTACGT"))
    sam = run(capsys, "search", "--stats", "none", "--match", "1", "--outfmt", "sam", dna, dna)[1]
    assert sam.count("@SQ") == 2 and sam.count("AS:i:8") == 2
    hole = fasta(tmp_path / "hole.fa", ("d0", "ACGTACGT"), ("empty", ""))
    asked = ["search", "--stats", "none", "--match", "1", "--outfmt", "sam"]
    assert "empty" not in run(capsys, *asked, dna, hole)[1]


def test_what_is_wrong(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    queries, db = files
    empty, odd = tmp_path / "empty.fa", fasta(tmp_path / "odd.fa", ("a", "AC"), ("b", "AC#A"))
    empty.touch()
    assert "no FASTA or FASTQ record" in fails(capsys, "search", str(empty), queries)
    assert "query b: letter '#' at position 3" in fails(capsys, "search", odd, queries)
    said = fails(capsys, "search", queries, odd)
    assert f"'#' at position 3 of the record 'b' (number 2) of {odd} is not" in said
    assert "--unknown-as X" in said
    assert run(capsys, "search", "--unknown-as", "X", queries, odd)[0] == 0
    (tmp_path / "cut.pswdb").write_bytes(Path(db).read_bytes()[:-9])
    assert "damaged: its end is missing; make it" in fails(
        capsys, "search", queries, f"{tmp_path}/cut.pswdb"
    )
    assert "cannot be read" in fails(capsys, "search", queries, f"{tmp_path}/none.pswdb")
    assert "No space left" in fails(capsys, "makedb", db, "-o", "/dev/full")
    for argv, message in (
        (["makedb", db], "give either -o FILE"),
        (["makedb", "--info", "-o", "x", db], "give either -o FILE"),
        (
            ["search", "--matrix", "PAM250", "--match", "2", *files],
            "--matrix cannot go with --match",
        ),
        (["search", "--top", "0", *files], "'0' is not a whole number of at least 1"),
        (["search", "-", "-"], "cannot both be standard input"),
        (["makedb", queries, "-o", queries], "is FILE, which would be overwritten"),
        (["makedb", db, "--names", queries, "-o", queries], "is NAMES, which would be overwritten"),
        (["search", "-o", db, "--outfmt", "paf", *files], "is DB, which would be overwritten"),
        (["search", "--output", "ends", "--outfmt", "paf", *files], "needs --output path"),
        (["search", "--free-ends", "1", *files], "free_ends is for mode='global'"),
    ):
        assert message in usage(capsys, *argv)


def test_an_interrupted_makedb_leaves_what_was_there(tmp_path: Path) -> None:
    fasta(tmp_path / "p.fa", *PROTEINS)
    (tmp_path / "a.pswdb").write_text("old")
    os.mkfifo(tmp_path / "pipe")  # nobody writes
    child = started([*COMMAND, "makedb", "p.fa", "pipe", "-o", "a.pswdb"], tmp_path)
    until = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 4 and time.monotonic() < until:
        time.sleep(0.01)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (128 + signal.SIGTERM, "pysw-cl: terminated\n")
    assert {path.name for path in tmp_path.iterdir()} == {"p.fa", "a.pswdb", "pipe"}
    assert (tmp_path / "a.pswdb").read_text() == "old"


def test_several_devices(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    known = run(capsys, "search", "--device", "cpu", *files)
    assert known[1] and run(capsys, "search", "--device", "all", *files) == known
    assert run(capsys, "search", "--device", "all", "--threads", "1", *files) == known
    code, out, err = run(capsys, "search", "--device", "cpu,cpu", *files)
    assert (code, out) == (1, "") and "name it once" in err


def test_evalues(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """In every format with a place for them; hits are chosen by them and by their paths."""
    asked = ["search", "--top", "all", *files]
    rows = [line.split("\t") for line in run(capsys, *asked, "--outfmt", "6")[1].splitlines()]
    assert rows[0][:2] == ["q0", "twice"] and float(rows[0][10]) < 1 < float(rows[0][11])
    header, *table = run(capsys, *asked, "--output", "ends", "--outfmt", "tsv")[1].splitlines()
    assert header.split("\t")[-2:] == ["evalue", "bits"]
    assert [float(line.split("\t")[-2]) for line in table[:2]] == pytest.approx(
        [float(row[10]) for row in rows[:2]], rel=0.05
    )
    less = [line.split("\t") for line in run(
        capsys, *asked, "--outfmt", "6", "--max-evalue", "1e-2", "--min-coverage", "0.9"
    )[1].splitlines()]  # fmt: skip
    wanted = [row for row in rows if float(row[10]) <= 1e-2]
    assert [row for row in wanted if int(row[7]) - int(row[6]) > 8] == [
        row for row in less if row[0] == "q0"
    ]
    more = run(capsys, *asked, "--outfmt", "6", "--db-letters", "1000000000")[1].splitlines()
    assert float(more[0].split("\t")[10]) > 100 * float(rows[0][10])
    none = run(capsys, *asked, "--outfmt", "6", "--stats", "none")[1].splitlines()
    assert {tuple(line.split("\t")[10:]) for line in none} == {("-1", "0")}
    assert "from 0 to 1" in usage(capsys, *asked, "--min-identity", "90")
    assert "library" in usage(capsys, *asked, "--mode", "global", "--max-evalue", "1")


def test_formats_of_searches(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    """Columns of choice, BLAST's text with the size of the database, the sequences of the hits."""
    shown = "tsv query target evalue"
    code, out, _ = run(capsys, "search", "--top", "1", "--outfmt", shown, *files)
    assert code == 0
    header, *lines = (line.split("\t") for line in out.splitlines())
    assert header == ["query", "target", "evalue"]
    assert [line[0] for line in lines] == ["q0", "q1"] and all(float(line[2]) > 0 for line in lines)
    err = usage(capsys, "search", "--stats", "none", "--outfmt", shown, *files)
    assert "a column of these results must be one of" in err and "not 'evalue'" in err
    code, out, _ = run(capsys, "search", "--outfmt", "0", *files)
    assert code == 0 and out.count("           6 sequences; 51 total letters\n") == 3
    assert "(Bits)  Value" in out and ",  Expect = " in out
    out = str(tmp_path / "set.fa")
    how = ["--output", "score", "--outfmt", "hits"]
    assert run(capsys, "search", *how, "-o", out, *files)[0] == 0
    found = [(one.name, str(one)) for one in pysw_cl.read_sequences(out)]
    assert sorted(found) == [PROTEINS[k] for k in (0, 1, 5, 2)]


def test_a_picture(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "x.svg"
    code, out, _ = run(capsys, "search", "--plot", str(picture), "--outfmt", "6", *files)
    assert code == 0 and out.startswith("q0\t")
    text = picture.read_text()
    assert "<!-- q0: 10 letters, " in text and "<!-- q2: 3 letters, 0 of 0 hits -->" in text
    err = usage(capsys, "search", "--plot", str(picture), "--output", "ends", *files)
    assert "--plot needs --output path" in err
    err = usage(capsys, "search", "--plot", files[0], *files)
    assert f"--plot {files[0]} is QUERIES, which would be overwritten" in err
