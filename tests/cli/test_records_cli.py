"""Bad records: found before a result is printed, or left out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from test_cli import A, B, fails, fasta, process, run

from pysw_cl.cli import records
from pysw_cl.cli.records import Records
from pysw_cl.errors import SequenceError
from pysw_cl.sequences.sequence import Sequence

BAD = (("good", A), ("empty", ""), ("fine", B), ("odd", "ACG!T"), ("gap", "AC-T"))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (("odd", "ACG!T"), "letter '!' at position 4"),
        (("empty", ""), "record 'empty' of"),
        (("gap", "AC-T"), "the gap character '-' at position 3"),
    ],
)
@pytest.mark.parametrize("side", ["query", "target"])
@pytest.mark.parametrize("keep", [0, 1 << 20])
def test_nothing_is_printed_before_a_bad_record(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    bad: tuple[str, str],
    words: str,
    side: str,
    keep: int,
) -> None:
    monkeypatch.setattr(records, "KEEP", keep)
    good, path = fasta(tmp_path / "a.fa", ("a", A)), fasta(tmp_path / "bad.fa", ("fine", A), bad)
    said = fails(capsys, "align", *([path, good] if side == "query" else [good, path]))
    assert words in said and bad[0] in said


def test_a_bad_record_of_a_pipe_is_met_later(tmp_path: Path) -> None:
    good = fasta(tmp_path / "a.fa", ("a", A))
    many = "".join(f">t{k}\n{A}\n" for k in range(5000)) + ">odd\nAC!T\n"
    done = process("align", good, "-", input=many.encode())
    assert done.returncode == 1
    assert done.stdout.count(b"\n") == 5000  # what came before is not lost
    assert done.stderr.startswith(b"pysw-cl: target odd: letter '!' at position 3")


@pytest.mark.parametrize("side", ["query", "target"])
@pytest.mark.parametrize("piped", [False, True])
def test_skip_bad(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, side: str, piped: bool
) -> None:
    good = fasta(tmp_path / "a.fa", ("a", A), ("b", B))
    sound = fasta(tmp_path / "sound.fa", BAD[0], BAD[2])
    mixed = fasta(tmp_path / "mixed.fa", *BAD)

    def argv(path: str) -> list[str]:
        return [path, good] if side == "query" else [good, path]

    expected = run(capsys, "align", *argv(sound))[1]
    assert expected.count("\n") == 4
    if piped:
        done = process("align", "--skip-bad", *argv("-"), input=Path(mixed).read_bytes())
        code, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
    else:
        code, out, err = run(capsys, "align", "--skip-bad", *argv(mixed))
    assert (code, out) == (0, expected)
    where = "standard input" if piped else mixed
    first, second, third, last = err.splitlines()
    assert first == (
        f"pysw-cl: left out: record 'empty' of {where} (line 3) has no sequence; it needs at least "
        "one letter"
    )
    assert second.startswith(f"pysw-cl: left out: {side} odd: letter '!' at position 4 of the")
    assert third.startswith(f"pysw-cl: left out: the record 'gap' of {where} (line 9) has the gap")
    assert last == "pysw-cl: 3 records were left out"


@pytest.mark.parametrize("packed", [False, True])
def test_fastq_is_read_wherever_fasta_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, packed: bool
) -> None:
    """And its bad records are named with their line, or left out."""
    good = fasta(tmp_path / "a.fa", ("a", A), ("b", B))
    reads = tmp_path / "reads"
    text = f"@a\n{A}\n+\n{'I' * len(A)}\n@bad\nACGT\n+\nIII\n@b\n{B}\n+\n{'I' * len(B)}\n@end\nAC"
    reads.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    expected = run(capsys, "align", good, good)[1]
    assert expected.count("\n") == 4
    done = process("align", "--skip-bad", "-", good, input=reads.read_bytes())
    said = [("standard input", done.returncode, done.stdout.decode(), done.stderr.decode())]
    for argv in ((str(reads), good), (good, str(reads))):
        said.append((str(reads), *run(capsys, "align", "--skip-bad", *argv)))
    for where, code, out, err in said:
        assert (code, out) == (0, expected)
        assert err.splitlines() == [
            f"pysw-cl: left out: record 'bad' of {where} (line 5) has 4 letters and 3 qualities "
            "(line 8); it needs one quality a letter, in one line",
            f"pysw-cl: left out: record 'end' of {where} (line 13) is cut off: the file ends after "
            "2 of its 4 lines",
            "pysw-cl: 2 records were left out",
        ]
    assert "(line 5) has 4 letters and 3 qualities" in fails(capsys, "align", good, str(reads))


def test_skip_bad_keeps_pairs_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    queries = fasta(tmp_path / "q.fa", ("q1", A), ("q2", ""), ("q3", A), ("q4", A))
    targets = fasta(tmp_path / "t.fa", ("t1", A), ("t2", B), ("t3", "AC!T"), ("t4", B))
    options = ["--pairs", "--skip-bad", "--output", "score"]
    code, out, err = run(capsys, "align", *options, queries, targets)
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()[1:]]
    assert [(line[0], line[2]) for line in lines] == [("q1", "t1"), ("q4", "t4")]
    assert err.endswith("pysw-cl: 2 records were left out\n")


def test_one_record_or_all_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, bad = fasta(tmp_path / "a.fa", ("a", A)), fasta(tmp_path / "bad.fa", ("odd", "A!"))
    code, out, err = run(capsys, "align", "--skip-bad", good, bad)
    assert (code, out) == (0, "")
    assert err.endswith("\npysw-cl: 1 record was left out\n")
    assert run(capsys, "align", "--skip-bad", good, good)[2] == ""


def test_only_letters_in_the_range_count(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    odd = fasta(tmp_path / "a.fa", ("a", "ACGT!"), ("b", "ACGTT"))
    code, out, _ = run(capsys, "align", odd, odd, "--query-range", "1-4", "--target-range", "1-4")
    assert (code, out.count("\n")) == (0, 4)
    short = fasta(tmp_path / "b.fa", ("a", "ACGTA"), ("b", "ACG"))
    said = fails(capsys, "align", odd, short, "--query-range", "1-4", "--target-range", "1-4")
    assert "--target-range 1-4 goes past the end of target b" in said  # before the first result


def test_a_file_of_many_letters_is_read_again_and_its_bad_records_are_named_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def check(record: Sequence, again: bool) -> None:
        if record.name == "fine":
            raise SequenceError("not fine")

    path = fasta(tmp_path / "x.fa", *BAD)
    for keep in (0, records.KEEP):
        monkeypatch.setattr(records, "KEEP", keep)
        told: list[SequenceError] = []
        side = Records(path, check, told.append)
        for _ in range(2):
            names = [None if record is None else record.name for record in side.read()]
            assert names == ["good", None, None, "odd", None]
        assert side.count == 5
        assert len(told) == 3


@pytest.mark.parametrize("options", ["", "--top 1", "--mode global --max-cost none"])
def test_letters_that_are_scored_as_others_are_counted_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: str
) -> None:
    path = fasta(tmp_path / "p.fa", ("a", "MKUVLUAO"), ("b", "MKVLAU"), ("c", "MKVLA"))
    command = ["align", "--matrix", "BLOSUM62", "--output", "score", *options.split()]
    code, _, err = run(capsys, *command, path, path)
    assert code == 0
    assert err == (
        "pysw-cl: warning: letters outside the alphabet of BLOSUM62 were scored as others: U as C "
        "(6), O as X (2)\n"
    )
