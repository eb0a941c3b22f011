"""What a search is made of: spaces, records of runs, and intervals of ratios."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from pysw_cl.errors import PlanError, ProfileError
from pysw_cl.planning.tuning.race import interval
from pysw_cl.planning.tuning.records import Records, Run
from pysw_cl.planning.tuning.space import Dimension, Space


def test_records_are_of_a_key(tmp_path: Path) -> None:
    path = tmp_path / "new" / "records.jsonl"
    here, there = Records(path, "here"), Records(path, "there")
    runs = [Run({"B": 3, "x": 0.5}, 2.0, 0.1), Run({"B": 3, "x": 0.5}, 1.0, failure="wrong")]
    for run in runs:
        here.add(run)
    there.add(Run({"B": 4}, 1.0, 0.25))
    assert list(Records(path, "here")) == Records(path, "here").of({"x": 0.5, "B": 3}) == runs
    assert [run.values for run in Records(path, "there")] == [{"B": 4}]
    assert list(Records(path, "elsewhere")) == []
    assert Records(path, "here").of({"B": 4}) == []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"key": "here", "values": {"B": 3, "x": 0.5}, "took": 2.0, "seconds": 0.1}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "[1]",
        "null",
        '{"key": "k"}',
        '{"key": "k", "values": {"B": 1}, "took": 1.0}',
        '{"key": "k", "values": {"B": 1}, "took": 1.0, "seconds": 0}',
        '{"key": "k", "values": {"B": 1}, "took": 1.0, "seconds": NaN}',
        '{"key": "k", "values": {"B": "1"}, "took": 1.0, "seconds": 1.0}',
        '{"key": "k", "values": {"B": 1}, "took": 1.0, "failure": "bored"}',
        '{"key": "k", "values": {"B": 1}, "took": 1.0, "seco',
        "\xff",
    ],
)
def test_lines_that_are_no_runs_are_passed_over(line: str, tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(line.encode("latin-1"))
    records = Records(path, "k")
    assert list(records) == []
    records.add(Run({"B": 1}, 1.0, 0.5))
    assert list(Records(path, "k")) == [Run({"B": 1}, 1.0, 0.5)]


def test_records_that_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot be read"):
        Records(tmp_path, "k")
    (tmp_path / "file").touch()
    with pytest.raises(ProfileError, match="give another file"):
        Records(tmp_path / "file" / "records", "k").add(Run({"B": 1}, 1.0, 0.5))


def test_a_space_is_checked() -> None:
    B = Dimension("B", (1, 2, 4))
    assert Space((B,), {"B": 3}).dimensions[0].candidates == (1, 2, 3, 4)
    for candidates in ((), (1, 1), (2, 1)):
        with pytest.raises(PlanError, match="must rise"):
            Dimension("B", candidates)
    for start in ({}, {"T": 1}, {"B": 1, "T": 1}):
        with pytest.raises(PlanError, match="same names"):
            Space((B,), start)
    with pytest.raises(PlanError, match="impossible: too many"):
        Space((B,), {"B": 4}, lambda values: "too many" if values["B"] > 3 else None)
    space = Space(
        (B, Dimension("T", (1, 2, 3, 4), builds=True)),
        {"B": 1, "T": 2},
        lambda values: "too many" if values["B"] * values["T"] > 8 else None,
    )
    assert len(space.every()) == 10
    assert [v["T"] for v in space.line(space.start, "T")] == [1, 3, 4]
    assert [space.key(v) for v in space.neighbours(space.start, ["B", "T"])] == [
        *((2, 2), (1, 1), (1, 3)),
        *((2, 1), (2, 3)),
    ]


@pytest.mark.parametrize("count", [3, 5, 8, 40])
def test_intervals_hold_nine_times_in_ten(count: int) -> None:
    draw, held = random.Random(count), 0
    for _ in range(400):
        ratio = interval([draw.gauss(0.05, 0.1) for _ in range(count)])
        assert ratio.low <= ratio.centre <= ratio.high
        held += ratio.low <= 0.05 <= ratio.high
    assert held >= 0.87 * 400
