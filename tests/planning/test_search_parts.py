"""What a search is made of: spaces, records of runs, and intervals of ratios."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from pysw_cl.errors import InternalError, ProfileError
from pysw_cl.planning.tuning.runner import Runner
from pysw_cl.planning.tuning.search import interval
from pysw_cl.planning.tuning.strategies import Space, Values


def runs(path: Path, values: Values, *outcomes: float | str, key: str = "k") -> list[float | None]:
    """Seconds of runs, which give these outcomes where the file has none."""
    new = iter(outcomes)

    def measure(values: Values) -> float:
        outcome = next(new)
        if isinstance(outcome, str):
            raise InternalError(outcome)
        return outcome

    runner = Runner(measure, path=path, key=key)
    return [runner.run(runner.of(values)) for _ in range(2)]


def test_runs_are_of_a_key(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    assert runs(path, {"B": 3, "x": 0.5}, 0.1, "wrong", key="here") == [0.1, None]
    assert runs(path, {"B": 4}, 0.25, 0.5, key="there") == [0.25, 0.5]
    assert runs(path, {"x": 0.5, "B": 3}, key="here") == [0.1, None]
    assert runs(path, {"B": 4}, 0.7, 0.8, key="here") == [0.7, 0.8]
    first = json.loads(path.read_text().splitlines()[0])
    assert first.pop("took") > 0
    assert first == {"key": "here", "values": {"B": 3, "x": 0.5}, "seconds": 0.1}


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
    for _ in range(2):
        assert runs(path, {"B": 1}, 0.5, 0.25) == [0.5, 0.25]


def test_runs_that_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot be kept there"):
        runs(tmp_path, {"B": 1})
    (tmp_path / "file").touch()
    with pytest.raises(ProfileError, match="give another file"):
        runs(tmp_path / "file" / "records", {"B": 1}, 0.5)


def test_what_may_be_tried() -> None:
    assert Space({"B": (4, 1, 2)}, {"B": 3}).candidates["B"] == [1, 2, 3, 4]
    space = Space(
        {"B": (1, 2, 4), "T": (1, 2, 3, 4)},
        {"B": 1, "T": 2},
        ("T",),
        lambda values: values["B"] * values["T"] <= 8,
    )
    assert len(space.every()) == 10
    assert [v["T"] for v in space.line(space.start, "T")] == [1, 3, 4]
    assert [tuple(v.values()) for v in space.neighbours(space.start, ["B", "T"])] == [
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
