"""The random campaign (bench/campaign.py): it draws what it says, sees what is wrong, and what it
once found stays right."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pysw_cl
from pysw_cl.opencl.device import get_runtime

HERE = Path(__file__).resolve().parents[1]
FOUND = sorted((HERE / "data" / "campaign").glob("*.json"))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """bench/campaign.py, and the files beside it, as modules."""
    monkeypatch.syspath_prepend(str(HERE.parent / "bench"))
    names = "cases campaign campaign_draw campaign_run campaign_shrink".split()
    import campaign

    yield campaign
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Puts another function in the place of `align`."""

    def put(other: Any) -> None:
        monkeypatch.setattr(pysw_cl, "align", other)

    return put


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_was_found_once(bench: Any, file: Path) -> None:
    """Thin targets: in packed lanes of 32-bit words a gap along the last column was a point too
    dear here and there."""
    for case in bench.cases_in(file):
        outcome = bench.check(case, "auto", "auto")
        assert (outcome.kind, outcome.message) == ("same", "")


def drawn(bench: Any, count: int) -> list[Any]:
    draw = bench.Draw(get_runtime("auto"), [3, 1])
    return [draw.case() for _ in range(count)]


def test_everything_is_drawn(bench: Any) -> None:
    cases = drawn(bench, 1500)
    seen = Counter(feature for case in cases for feature in case.features)
    groups = Counter(feature.partition(" ")[0] for feature in seen)
    assert {"entry", "plan", "scoring", "mode", "output", "shape", "letters", "size"} <= set(groups)
    for name in "align many top ends saved".split():
        assert seen[f"entry {name}"] > 50
    for name in "grid band pace batch boxes ahead chain".split():
        if name not in ("ahead", "chain") or get_runtime("auto").info.lanes != "scalar32":
            assert seen[f"limits {name}"] > 5, name
    for name in ("n < T", "m < T", "n = 1", "m = 1", "n near T", "n < T, many strips"):
        assert seen[f"size {name}"] > 20, name
    for name in ("free ends", "strand both", "ranges", "resumed", "max_cost", "no pruning"):
        assert seen[name] > 10, name
    again = drawn(bench, 50)
    assert again == cases[:50]  # a seed says all
    for case in again:
        assert type(case).of(case.text()) == case


def test_a_wrong_result_is_seen_and_made_small(
    bench: Any, broken: Callable[[Any], None], tmp_path: Path
) -> None:
    """An align that is a point off wherever the target has three C in a row."""
    align = pysw_cl.align

    def wrong(a: str, b: str, **options: Any) -> Any:
        found = align(a, b, **options)
        return replace(found, score=found.score + 1) if "CCC" in b else found

    case = bench.Case(
        "align",
        [["GATTACAGATTACAGATTACA" * 3, "GATTACAGACCCTACAGATTTACA" * 3]],
        {"mode": "global", "strand": "plus", "output": "score"},
        {"B": 2},
        {"band.least_rows": 16},
    )
    assert bench.check(case, "auto", "auto").kind == "same"
    broken(wrong)
    outcome = bench.check(case, "auto", "auto")
    assert outcome.kind == "different"
    assert outcome.message.startswith("result 0: score ")
    small = bench.shrunk(case, lambda one: bench.check(one, "auto", "auto").wrong, 60)
    assert (small.plan, small.tuning) == ({}, {})
    assert small.pairs[0][1] == "CCC"
    assert len(small.pairs[0][0]) == 1
    found = bench.Found(outcome.kind, outcome.message, case, small)
    bench._write(found, tmp_path / "one.json")
    assert bench.cases_in(tmp_path / "one.json") == [small, case]
    assert json.loads((tmp_path / "one.json").read_text())["version"] == pysw_cl.__version__
    assert bench.replay([tmp_path / "one.json"], "auto", "auto") == 2
    broken(align)
    assert bench.replay([tmp_path / "one.json"], "auto", "auto") == 0


@pytest.mark.parametrize("output", ["path", "ends"])
def test_a_result_that_says_too_little_is_wrong(
    bench: Any, output: str, broken: Callable[[Any], None]
) -> None:
    align = pysw_cl.align
    case = bench.Case("align", [["GATTACA", "GATTTACA"]], {"output": output, "mode": "global"})
    assert bench.check(case, "auto", "auto").kind == "same"
    for less in ("score", "ends"):
        if less == output:
            continue
        broken(lambda *pair, less=less, **how: align(*pair, **{**how, "output": less}))
        outcome = bench.check(case, "auto", "auto")
        assert outcome.kind == "different"
        assert "missing, not" in outcome.message


def test_a_result_that_was_computed_again_is_wrong(
    bench: Any, broken: Callable[[Any], None]
) -> None:
    align = pysw_cl.align

    def again(*args: Any, **options: Any) -> Any:
        found = align(*args, **options)
        found.stats.recomputed += 1
        return found

    broken(again)
    case = bench.Case("align", [["GATTACA", "GATTTACA"]], {"output": "path"})
    assert bench.check(case, "auto", "auto").kind == "recomputed"
    refused = replace(case, pairs=[["GATTACA", "GAT!ACA"]])
    assert not bench.check(refused, "auto", "auto").wrong


def test_cases_of_every_kind_are_right(bench: Any) -> None:
    """A dozen of them, in this process; the campaign itself tries more."""
    for case in drawn(bench, 12):
        outcome = bench.check(case, "auto", "auto")
        assert not outcome.wrong, (outcome.message, case.text())


def test_a_process_that_dies_is_told(bench: Any, tmp_path: Path) -> None:
    """Processes of their own, a seed each; the table adds them up."""
    tally = bench.campaign("auto", "auto", 0.0, 1, 1, tmp_path)
    assert (tally.cases, tally.wrong) == (0, [])
    tally = bench.campaign("no such device", "auto", 60.0, 1, 2, tmp_path)
    assert [(one.kind, one.case) for one in tally.wrong] == [("crash", None)] * 2
    assert "ended with 1" in tally.wrong[0].message
    assert json.loads((tmp_path / "campaign-1-1.json").read_text())["case"] is None
    worker = bench.Worker.started("auto", "auto", [1, 0], time.time() + 60)
    worker.case = bench.Case("align", [["A", "C"]])
    worker.process.kill()
    lost = worker.lost("crash", "no answer")
    assert (lost.kind, lost.case) == ("crash", worker.case)
