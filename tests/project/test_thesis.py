"""The thesis's tables (bench/thesis.py): the constants are those of the times, and no wrong result
is timed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pysw_cl

HERE = Path(__file__).resolve().parents[1]
NAMES = "cases thesis thesis_blast thesis_cases thesis_tables".split()
SIZES = [(m, n) for m in (5_000, 40_000, 900_000) for n in (7_000, 50_000, 1_000_000)]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The files of bench/ as modules."""
    monkeypatch.syspath_prepend(str(HERE.parent / "bench"))
    yield SimpleNamespace(**{name: import_module(name) for name in NAMES})
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("known", [(0.01, 3e-8, 5e-8, 2.5e-13), (0, 4e-7, 1e-8, 5e-11)])
def test_constants_are_found_again(bench: Any, known: tuple[float, ...]) -> None:
    times = {size: bench.thesis_tables.formula(known, *size) for size in SIZES}
    found = bench.thesis_tables.fit_constants(times)
    assert found == pytest.approx(known, rel=1e-6, abs=1e-12)


def test_constants_of_noisy_times_predict_other_sizes(bench: Any) -> None:
    known = 0.01, 3e-8, 5e-8, 2.5e-13
    tables, rng = bench.thesis_tables, np.random.default_rng(4)
    times = {size: tables.formula(known, *size) * rng.uniform(0.98, 1.02) for size in SIZES}
    found = tables.fit_constants(times)
    for size in [(10_000, 600_000), (300_000, 20_000), (4_000_000, 5_000_000)]:
        assert tables.formula(found, *size) == pytest.approx(tables.formula(known, *size), rel=0.05)


def test_no_constant_is_below_zero(bench: Any) -> None:
    times = {size: bench.thesis_tables.formula((-1e-4, 3e-8, 5e-8, 1e-12), *size) for size in SIZES}
    found = bench.thesis_tables.fit_constants(times)
    assert found[0] == 0
    assert min(found[1:]) > 0


@pytest.mark.parametrize("sizes", [[(1, 2), (3, 4), (5, 7)], [(10, n) for n in range(1, 9)]])
def test_sizes_that_do_not_tell_the_constants(bench: Any, sizes: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="c1 to c4 need times of four sizes"):
        bench.thesis_tables.fit_constants(dict.fromkeys(sizes, 1.0))


def test_numbers_of_blocks(bench: Any) -> None:
    assert bench.thesis_tables.numbers_of_blocks(2, 1) == [1, 2, 3, 4, 5, 6, 8]
    assert bench.thesis_tables.numbers_of_blocks(1, 1) == [1, 2, 3, 4]
    found = bench.thesis_tables.numbers_of_blocks(132, 12)
    assert {66, 132, 198, 12 * 132, 12 * 132 - 66, 16 * 132} <= set(found)


def predict(m: int, n: int, **options: Any) -> SimpleNamespace:
    """A stand-in."""
    seconds = 1e-9 * m * n
    return SimpleNamespace(seconds=seconds, interval=(0.9 * seconds, 1.1 * seconds))


@pytest.fixture
def short(bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The shortest run there is: one pair, one time each."""
    monkeypatch.setattr(pysw_cl, "predict", predict, raising=False)
    arguments = ["thesis.py", "--short", "--runs", "1", "--most", "3e8"]
    arguments += ["--data", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    return arguments


def test_the_tables(
    bench: Any,
    short: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    short += ["--pictures", str(tmp_path), "--json", str(tmp_path / "x.json")]
    assert bench.thesis.main() == 0
    said, left = capsys.readouterr()
    for title in (
        "(table 6.4)",
        "(table 6.5)",
        "(tables 6.6 to 6.8)",
        "(table 6.9)",
        "(table 6.10)",
    ):
        assert title in said
    assert "| 16,569 | 16,558 | 10,642 | 16,569, 15,989 |" in said
    assert "blastn is not installed here" in said
    assert "| GTX 285, 33 x 47 MBP, alignment | 18.5 h |" in said
    assert "herpesvirus 6B x 4: left out, more than 3e+08 cells" in left
    assert (tmp_path / "x.json").stat().st_size > 1000
    assert len(list(tmp_path.glob("thesis-*.svg"))) == 2


def test_a_wrong_result_is_no_figure(
    bench: Any, short: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    pair = bench.thesis.PAIRS[0]
    wrong = SimpleNamespace(**{**vars(pair), "expected": (10643, *pair.expected[1:])})
    monkeypatch.setattr(bench.thesis, "PAIRS", (wrong,))
    assert bench.thesis.main() == 1
    assert "expected (10643, " in capsys.readouterr().err


def test_sequences_that_are_missing_are_named(bench: Any, tmp_path: Path, capsys: Any) -> None:
    names = [pair.query for pair, _ in bench.thesis.at_hand(tmp_path, 1e14)]
    assert names == ["NC_012920.1", "NC_000898.1"]  # the examples, and the data of the tests
    assert (
        "Escherichia coli, MG1655 x DH1 as deposited: left out, not in" in capsys.readouterr().err
    )


def test_blastn_finds_no_more_than_the_optimum(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shutil.which("blastn")
    if program is None:
        pytest.skip("needs blastn")
    pair = bench.thesis.PAIRS[0]
    sequences = tuple(bench.thesis.letters(name, tmp_path) for name in (pair.query, pair.target))
    row: dict[str, Any] = {"score": pair.expected[0], "alignment_seconds": 1.0, "seconds": 1.0}
    told = bench.thesis_blast.blast_table([(pair, sequences)], [row])
    assert row["blast_score"] == 10643  # an N counts -2 there, not -3
    assert "| 10,643 |" in told
    found = row["blast_seconds"], (row["blast_score"], 1, 1)
    monkeypatch.setattr(bench.thesis_blast, "blast", lambda *_: found)
    with pytest.raises(bench.cases.WrongResult, match="10643 is at most"):
        bench.thesis_blast.blast_table([(pair, sequences)], [{**row, "score": 10000}])
