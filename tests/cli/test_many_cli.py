"""``pysw-cl align`` with several records: which pairs are aligned, in which order, and which
results are printed; through the batch engine and one by one alike."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from test_cli import A, B, fails, fasta, process, run

from pysw_cl.cli import align as command, batches, records
from pysw_cl.cli.records import Records, every_pair
from pysw_cl.sequences.sequence import Sequence

LETTERS = "ACGT"


def texts(count: int, seed: int) -> list[str]:
    """Nucleotides of very different lengths, nine of ten as in the others."""
    rng, base = np.random.default_rng(seed), np.random.default_rng(0).integers(0, 4, 400)
    found = []
    for k in range(count):
        length = int(rng.integers(1, 200)) if k % 7 else 400
        codes = base[:length].copy()
        wrong = rng.random(length) < 0.1
        codes[wrong] = rng.integers(0, 4, int(wrong.sum()))
        found.append("".join(LETTERS[code] for code in codes))
    return found


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Six queries and nine targets."""
    queries = [(f"q{k}", text) for k, text in enumerate(texts(6, 1))]
    targets = [(f"t{k}", text) for k, text in enumerate(texts(9, 2))]
    targets[4] = ("none", "N" * 5)  # no alignment with anything
    return fasta(tmp_path / "q.fa", *queries), fasta(tmp_path / "t.fa", *targets)


@pytest.fixture
def tiny_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few pairs."""
    for name, value in (("FIRST_PAIRS", 2), ("MOST_PAIRS", 5), ("MOST_CELLS", 1 << 19)):
        monkeypatch.setattr(batches, name, value)


def pair_by_pair(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *argv: str
) -> tuple[int, str, str]:
    """What is printed without the batch engine."""
    with monkeypatch.context() as patch:
        patch.setattr(batches, "in_batches", partial(command.one_by_one, saved=None))
        return run(capsys, *argv)


# The batch engine


def test_parts_of_records_are_compared_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Positions are those of the whole records, on both strands."""
    some = [(text * 150)[: 150 + 20 * k] for k, text in enumerate(texts(9, 3))]
    query = fasta(tmp_path / "q.fa", *[(f"q{k}", text[:160]) for k, text in enumerate(some[:3])])
    target = fasta(tmp_path / "t.fa", *[(f"t{k}", text) for k, text in enumerate(some)])
    ranges = ["--query-range", "21-", "--target-range", "31-110"]
    for options in ([], ["--output", "ends"], ["--mode", "global", "--max-cost", "none"]):
        argv = ["align", query, target, *ranges, "--strand", "both", "--outfmt", "tsv", *options]
        out = pair_by_pair(monkeypatch, capsys, *argv)
        with monkeypatch.context() as patch:
            patch.setattr(command, "one_by_one", None)
            assert run(capsys, *argv) == out
        assert out[0] == 0 and out[1].count("\n") > 20


@pytest.mark.usefixtures("tiny_parts")
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--outfmt tsv",
        "--outfmt pair",
        "--output ends",
        "--output score",
        "--output ends --outfmt pair",
        "--mode global --free-ends 1,0 --output score",
        "--match 2 --mismatch -3.5 --gap-open 2.5 --outfmt tsv",
        "--pairs",
        "--top 2",
        "--top 100 --output score",
        "--top 3 --outfmt tsv --min-score 20",
        "--min-score 20",
        "--min-score 20 --output ends",
        "--strand both --top 1 --outfmt tsv",
        "--target-range 2-2 --outfmt tsv",
        "--query-range 1-1 --target-range 2- --strand both --outfmt pair",
        "--mode global --query-range 1-1 --output ends --max-cost none",
    ],
)
def test_the_same_bytes_as_pair_by_pair(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    files: tuple[str, str],
    options: str,
) -> None:
    query, target = files if "--pairs" not in options else (files[1], files[1])
    argv = ["align", query, target, *options.split()]
    code, out, err = pair_by_pair(monkeypatch, capsys, *argv)
    assert (code, err) == (0, "")
    assert out.count("\n") > 5

    def alone(*_: object) -> None:
        raise AssertionError("a pair was aligned alone")

    monkeypatch.setattr(command, "one_by_one", alone)
    assert run(capsys, *argv) == (0, out, "")


def test_what_the_batch_engine_cannot_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, files: tuple[str, str]
) -> None:
    def together(*_: object) -> None:
        raise AssertionError("pairs went to the batch engine")

    monkeypatch.setattr(batches, "in_batches", together)
    one = ["--plan", "engine=reference", "--output", "score"]
    for options in (
        ["--mode", "global", "--max-cost", "9"],
        ["--alignments", "1"],
    ):
        assert run(capsys, "align", *files, *options, *one)[0] == 0
    monkeypatch.setattr("pysw_cl.cli.output.PATIENCE", 0.0)
    options = ["--alignments", "1", "--output", "score"]
    code, _, err = run(capsys, "align", *files, *options)
    assert code == 0
    assert err.count("one after the other") == 1 and "with --alignments" in err


def test_parts_are_limited_and_grow() -> None:
    def record(length: int) -> Sequence:
        return Sequence("x", "", np.full(length, 65, np.uint8))

    small, large = record(10), record(1 << 16)
    sizes = [len(part) for part in batches.parts(iter([(small, small)] * 40_000))]
    assert sizes == [1 << 12, 1 << 13, 1 << 14, 40_000 - 7 * (1 << 12)]
    sizes = [len(part) for part in batches.parts(iter([(large, large)] * 4))]
    assert sizes == [1, 1, 2]  # 2**32 cells a pair
    whole = [(small, record(10)) for _ in range(9)]
    assert [pair for part in batches.parts(iter(whole)) for pair in part] == whole
    assert list(batches.parts(iter([]))) == []


def test_parts_hold_few_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_LETTERS", 100)
    query, targets = Sequence("q", "", np.full(40, 65, np.uint8)), []
    for _ in range(7):
        targets.append(Sequence("t", "", np.full(20, 65, np.uint8)))
    parts = list(batches.parts((query, target) for target in targets))
    assert [len(part) for part in parts] == [3, 3, 1]


def test_a_part_does_not_wait_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Sequence("x", "", np.full(10, 65, np.uint8))
    times = iter([0.0, 0.1, 0.2, 1.3, 1.4, 1.5])
    monkeypatch.setattr(batches, "monotonic", lambda: next(times))
    parts = batches.parts(iter([(one, one)] * 4))
    assert [len(part) for part in parts] == [3, 1]


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Pairs are not held: a part is computed before the next is made."""
    made = 0

    def pairs() -> Iterator[tuple[Sequence, Sequence]]:
        nonlocal made
        one = Sequence("x", "", np.full(10, 65, np.uint8))
        while True:
            made += 1
            yield one, one

    parts = batches.parts(pairs())
    for _ in range(20):
        part = next(parts)
        assert len(part) <= batches.MOST_PAIRS
    assert made <= 20 * batches.MOST_PAIRS


def test_an_error_names_the_records(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    many = fasta(tmp_path / "a.fa", ("a", A), ("odd", "ACG!T"))
    done = process("align", many, "-", input=b">b\nACGT\n>c\nAC!T\n")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"query odd: letter '!' at position 4" in done.stderr


# Which pairs


@pytest.mark.parametrize("keep", [0, 1 << 20])
def test_every_query_with_every_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keep: int
) -> None:
    monkeypatch.setattr(records, "KEEP", keep)
    queries = fasta(tmp_path / "q.fa", ("q1", A), ("q2", B), ("q3", A[2:]))
    targets = fasta(tmp_path / "t.fa", ("t1", B), ("t2", A))
    sides = [Records(path, lambda record, again: None) for path in (queries, targets)]
    names = [(query.name, target.name) for query, target in every_pair(*sides)]
    assert names == [(q, t) for q in ("q1", "q2", "q3") for t in ("t1", "t2")]


def columns(out: str, *names: str) -> list[tuple[str, ...]]:
    """Some columns of a table, by name."""
    head, *lines = (line.split("\t") for line in out.splitlines())
    where = [head.index(name) for name in names]
    return [tuple(line[k] for k in where) for line in lines]


def test_a_line_for_every_pair(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    queries = fasta(tmp_path / "q.fa", ("q1", A), ("q2", B))
    targets = fasta(tmp_path / "t.fa", ("t1", B), ("t2", A))
    code, out, _ = run(capsys, "align", queries, targets, "--output", "score")
    assert code == 0
    names = columns(out, "query", "target")
    assert names == [(q, t) for q in ("q1", "q2") for t in ("t1", "t2")]


@pytest.mark.parametrize("pipe", ["", "query", "target"])
def test_pairs(tmp_path: Path, pipe: str) -> None:
    queries = fasta(tmp_path / "q.fa", ("q1", A), ("q2", B), ("q3", A))
    targets = fasta(tmp_path / "t.fa", ("t1", B), ("t2", A), ("t3", A))
    argv = ["-" if pipe == "query" else queries, "-" if pipe == "target" else targets]
    text = Path(queries if pipe == "query" else targets).read_bytes()
    done = process("align", "--pairs", "--outfmt", "tsv", *argv, input=text)
    assert (done.returncode, done.stderr) == (0, b"")
    names = columns(done.stdout.decode(), "query", "target")
    assert names == [("q1", "t1"), ("q2", "t2"), ("q3", "t3")]


@pytest.mark.parametrize("more", ["query", "target"])
def test_pairs_of_files_with_different_numbers_of_records(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, more: str
) -> None:
    three = fasta(tmp_path / "three.fa", ("x", A), ("y", B), ("z", A))
    one = fasta(tmp_path / "one.fa", ("a", A))
    argv = [three, one] if more == "query" else [one, three]
    counts = "3 and {} has 1" if more == "query" else "1 and {} has 3"
    wanted = f"record i of TARGET, but {{}} has {counts}; "
    wanted += "without --pairs every query is aligned with every target\n"
    assert wanted.format(*argv) in fails(capsys, "align", "--pairs", *argv)
    piped = ["-" if path == three else path for path in argv]
    done = process("align", "--pairs", *piped, input=Path(three).read_bytes())
    assert done.returncode == 1
    names = ["standard input" if path == "-" else path for path in piped]
    assert wanted.format(*names) in done.stderr.decode()


# Which results


def test_least_score(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    _, every, _ = run(capsys, "align", *files, "--output", "score")
    head, *lines = every.splitlines(keepends=True)
    scores = sorted(int(line.split("\t")[-1]) for line in lines)
    least = scores[len(scores) // 2]
    kept = [line for line in lines if int(line.split("\t")[-1]) >= least]
    assert 0 < len(kept) < len(lines)
    options = ["--output", "score", "--min-score", str(least)]
    assert run(capsys, "align", *files, *options) == (0, head + "".join(kept), "")
    options = ["--output", "score", "--min-score", "100000"]
    assert run(capsys, "align", *files, *options) == (0, head, "")
    assert run(capsys, "align", *files, "--min-score", "100000") == (0, "", "")


def test_best_targets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    queries = fasta(tmp_path / "q.fa", ("q1", "AAAAAAAA"), ("q2", "CCCCCC"))
    targets = fasta(
        tmp_path / "t.fa",
        *[("c3", "CCC"), ("a2", "AA"), ("a5", "AAAAA"), ("a2b", "GAAG"), ("c3b", "TCCC")],
        *[("a9", "AAAAAAAAA"), ("c1", "CG"), ("a2c", "CAA")],
    )
    best = {"q1": ["a9", "a5", "a2", "a2b", "a2c"], "q2": ["c3", "c3b", "c1", "a2c"]}
    for count in (1, 3, 4):
        for output in ("score", "path"):
            options = ["--top", str(count), "--output", output, "--outfmt", "tsv"]
            code, out, err = run(capsys, "align", queries, targets, *options)
            assert (code, err) == (0, "")
            wanted = [(query, name) for query in best for name in best[query][:count]]
            assert columns(out, "query", "target") == wanted


def test_best_targets_of_a_stream(tmp_path: Path) -> None:
    query = fasta(tmp_path / "q.fa", ("q", "AAAAAAAA"))
    many = "".join(f">t{k}\n{'A' * (k % 8 + 1)}\n" for k in range(200)).encode()
    options = ["--top", "3", "--outfmt", "tsv"]
    done = process("align", *options, query, "-", input=many)
    assert (done.returncode, done.stderr) == (0, b"")
    names = columns(done.stdout.decode(), "target", "score")
    assert names == [("t7", "8"), ("t15", "8"), ("t23", "8")]


def test_the_old_meaning_of_top(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one = fasta(tmp_path / "a.fa", ("a", A))
    expected = run(capsys, "align", one, one)
    code, out, err = run(capsys, "align", one, one, "--top", "5")
    assert (code, out) == expected[:2]
    assert err == (
        "pysw-cl: note: --top keeps the best targets of each query; for several alignments of one "
        "pair, which it once gave, there is --alignments\n"
    )


def test_no_alignment_is_no_line_of_paf(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ones, twos = fasta(tmp_path / "a.fa", ("a", "AAA")), fasta(tmp_path / "b.fa", ("b", "CCC"))
    assert run(capsys, "align", ones, twos) == (0, "", "")
    code, out, _ = run(capsys, "align", ones, twos, "--outfmt", "tsv")
    assert code == 0
    assert out.splitlines()[1] == "a\t3\tb\t3\t+\t0\t0\t0\t0\t0\t0\t0\t0.0000\t*"
