"""The progress bar and the time left, on a clock of their own."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest

import pysw_cl
from pysw_cl.api import bar
from pysw_cl.api.bar import ProgressBar, duration, told
from pysw_cl.drivers.progress import PairProgress, RunProgress, Stage
from pysw_cl.errors import InputError
from pysw_cl.planning.model.times import GENERIC
from pysw_cl.planning.plan import Plan

G = 10**9


class Drawn:
    """A bar that is drawn into a string when the test says so, by a clock that the test moves."""

    made: ClassVar[list[Drawn]] = []
    now = 0.0

    def __init__(self) -> None:
        Drawn.now, self.stream = 0.0, io.StringIO()
        self.bar = ProgressBar(self.stream)
        self.made.append(self)

    def tell(
        self, done: int, total: int, left: float | None = None, name: str = "score", now: float = -1
    ) -> None:
        """Report cells, without a pruned one, and draw."""
        left = total - done if left is None else left
        self.told(now, done, total, Stage(name, 1, 2, done, left))

    def told(self, now: float, *what: Any) -> None:
        """Report something, at some time, and draw."""
        Drawn.now = Drawn.now if now < 0 else now
        self.bar(*what)
        self.bar._draw()

    @property
    def lines(self) -> list[str]:
        """What was drawn, line by line."""
        return [line for line in re.split(r"[\r\n]", self.stream.getvalue()) if line.strip()]

    @property
    def shares(self) -> list[float]:
        """The shares that were drawn."""
        return [float(re.search(r"([\d.]+)%", line)[1]) for line in self.lines]  # type: ignore[index]


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No bar is drawn by itself, and those of a test are closed, because tqdm draws an open one
    below another."""
    monkeypatch.setattr(bar, "DELAY", 1e6)
    monkeypatch.setattr(bar, "monotonic", lambda: Drawn.now)
    yield
    while Drawn.made:
        Drawn.made.pop().bar.close()


def test_a_line() -> None:
    it = Drawn()
    it.bar(0, 4 * G, Stage("score", 1, 2, 0, 4 * G))
    it.bar.close()
    assert it.stream.getvalue() == ""  # a short run shows nothing
    it = Drawn()
    it.bar(0, 4 * G, Stage("score", 1, 2, 0, 4 * G))
    it.tell(G, 4 * G, now=1.0)
    assert it.lines[0].startswith("score 1 of 2:  25.0%|")
    assert it.lines[0].rstrip().endswith("| 1.00 GCUPS, 0:03 left")
    it.tell(4 * G, 4 * G, name="path", now=2.0)
    assert "path" in it.lines[-1] and "100.0%" in it.lines[-1] and "0:00 left" in it.lines[-1]
    it.bar.close()
    assert it.stream.getvalue().endswith(" \r")  # wiped


def test_the_share_never_falls() -> None:
    it = Drawn()
    for k, done in enumerate((5, 9, 7, 8, 10)):
        it.tell(done, 10, now=float(k))
    assert it.shares == sorted(it.shares) and it.shares[:2] == [50, 90] and it.shares[-1] == 100


def test_what_an_earlier_run_did_is_no_speed() -> None:
    it = Drawn()
    it.told(5.0, 6 * G, 10 * G, Stage("score", 1, 1, 0, 4 * G))
    assert it.lines[-1].startswith("score:  60.0%|") and "GCUPS" not in it.lines[-1]
    it.told(7.0, 8 * G, 10 * G, Stage("score", 1, 1, 2 * G, 2 * G))
    assert "80.0%" in it.lines[-1] and it.lines[-1].rstrip().endswith("1.00 GCUPS, 0:02 left")


def test_a_build_is_shown_and_is_no_speed() -> None:
    it = Drawn()
    it.told(0.0, 0, 8 * G, Stage("building kernels", 1, 3))  # from disk, perhaps, in a moment
    assert not it.lines
    it.told(1.0, 0, 8 * G, Stage("building kernels", 2, 3))
    assert it.lines[-1].startswith("building kernels for this device, once: 2 of at most 3  0:01")
    it.tell(0, 8 * G, now=31.0)
    it.tell(2 * G, 8 * G, now=33.0)
    it.bar(2 * G, 8 * G, Stage("building kernels", 3, 3))
    it.tell(2 * G, 8 * G, now=53.0)
    it.tell(4 * G, 8 * G, now=55.0)
    assert "50.0%|" in it.lines[-1] and "1.00 GCUPS, 0:04 left" in it.lines[-1]


def test_it_moves_between_reports() -> None:
    """By the speed, and not beyond what will probably be told."""
    it = Drawn()
    for k in range(3):
        it.told(10.0 * k, k * G, 10 * G, Stage("pairs", 100 * k, 1000, k * G, (10 - k) * G))
    for now, share in ((25.0, 25.0), (28.0, 28.0), (40.0, 29.0)):
        Drawn.now = now
        it.bar._draw()
        assert f" {share}%|" in it.lines[-1] and "| 200 of 1,000 pairs" in it.lines[-1]
    it.told(41.0, 3 * G, 10 * G, Stage("pairs", 300, 1000, 3 * G, 7 * G))
    assert " 30.0%|" in it.lines[-1]


def test_a_run_of_which_nothing_is_known_is_alive() -> None:
    it = Drawn()
    it.bar(0, 10 * G, Stage("pairs", 0, 1000, 0, 10 * G))
    Drawn.now = 7.0
    it.bar._draw()
    assert "  0.0%|" in it.lines[-1] and it.lines[-1].rstrip().endswith("| 0 of 1,000 pairs, 0:07")


def test_work_in_seconds_has_a_share_and_no_speed() -> None:
    it = Drawn()
    for now in (0.0, 6.0, 12.0):
        done = round(100 * now)
        it.told(now, done, 6000, Stage("tuning x", 1, 2, done, 6000 - done, 100.0))
    assert it.lines[-1].startswith("tuning x 1 of 2:  20.0%|")
    assert it.lines[-1].rstrip().endswith("| 0:48 left")


def test_many_pairs_in_one_call() -> None:
    it = Drawn()
    for k in range(5):
        done = k * G
        it.told(2.0 * k, done, 10 * G, Stage("pairs", 100 * k, 1000, done, 10 * G - done))
    assert " 40.0%|" in it.lines[-1]
    assert "| 400 of 1,000 pairs, 50 pairs/s, 0.50 GCUPS, 0:12 left" in it.lines[-1]


def test_many_calls_are_one_run() -> None:
    """Parts of a known whole: the share is that of all, and goes on from part to part."""
    for cells in (40 * G, None):
        it = Drawn()
        it.bar.expect(pairs=4000, cells=cells)
        for part in range(4):
            it.bar.begin()
            for k in range(5):
                done, now = 2 * k * G, Drawn.now + 0.5
                it.told(now, done, 8 * G, Stage("pairs", 200 * k, 800, done, 8 * G - done))
            assert f"{800 * (part + 1):,} of 4,000 pairs" in it.lines[-1]
        assert it.shares == sorted(it.shares) and it.shares[-1] == 80.0
        assert "0:02 left" in it.lines[-1] or "0:03 left" in it.lines[-1]
        it.bar.close()


def test_pairs_one_by_one() -> None:
    it = Drawn()
    it.bar.expect(pairs=4)
    for _ in range(3):
        it.bar.begin()
        for done in (0, 5, 10):
            it.tell(done, 10, now=Drawn.now + 1)
    assert it.shares == sorted(it.shares) and it.shares[2::3] == [25, 50, 75]
    assert "score 1 of 2: " in it.lines[-1] and "3 of 4 pairs" in it.lines[-1]
    it.bar.close()
    it = Drawn()  # nobody knows how many
    for _ in range(3):
        it.bar.begin()
        it.tell(5, 10, now=Drawn.now + 1)
    assert "2 pairs" in it.lines[-1] and "%" not in it.lines[-1]


def test_hidden_while_something_else_is_written() -> None:
    it = Drawn()
    it.tell(1, 10)
    with it.bar.hidden():
        assert it.stream.getvalue().endswith(" \r")
        it.stream.write("RESULT\n")
    assert it.lines[-2] == "RESULT" and "10.0%" in it.lines[-1]
    with it.bar.hidden(0.5):
        it.stream.write("RESULT\n")
    assert it.lines[-1] == "RESULT"


def test_it_is_drawn_though_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bar, "DELAY", 0)
    monkeypatch.setattr(bar, "TICK", 0.01)
    it = Drawn()
    it.bar(1, 10, Stage("score", 1, 1, 1, 9))
    for _ in range(500):
        if len(it.lines) > 2:
            break
        it.bar._closed.wait(0.01)
    it.bar.close()
    assert len(it.lines) > 2


def test_true_draws_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with told(True) as run:
        assert run.staged
    for nothing in (None, False):
        with told(nothing) as run:
            assert not run.watched
    plan = {"engine": "reference"}
    assert pysw_cl.align("GATTACA", "GATTACA", plan=plan, progress=True).score == 7
    assert pysw_cl.align_many([("GATTACA", "GATTACA")], plan=plan, progress=True)["score"] == [7]
    assert len(pysw_cl.align_top("GATTACA", "GATTACA", k=1, plan=plan, progress=True)) == 1
    assert capsys.readouterr().out == ""
    with pytest.raises(InputError, match="progress must be True, a function or None, not 'bar'"):
        pysw_cl.align("A", "A", progress="bar")  # type: ignore[arg-type]


def test_duration() -> None:
    assert [duration(s) for s in (0, 59.6, 61, 3599, 3725)] == [
        "0:00",
        "1:00",
        "1:01",
        "59:59",
        "1:02:05",
    ]


# The time left


def left(it: Drawn, now: float) -> str:
    """The time left that is shown, or that passed."""
    Drawn.now = now
    it.bar._draw()
    return it.lines[-1].rstrip().rsplit(", ", 1)[-1].split("| ")[-1]


def test_the_time_left_begins_with_the_prediction() -> None:
    it = Drawn()
    it.bar(0, 1000, Stage("score", 1, 1, 0, 1000, 100.0))
    assert left(it, 0.0) == "0:10 left"
    assert left(it, 4.0) == "0:06 left"
    it.told(5.0, 50, 1000, Stage("score", 1, 1, 50, 950, 100.0))  # that counts from now on
    assert left(it, 5.0) == "1:35 left"


def test_the_predicted_speed_comes_from_the_profile() -> None:
    plan, run = Plan(B=2), RunProgress(lambda done, total, stage: None)
    PairProgress(run, plan, (5000, 6000), False)
    assert run.speed is None  # nobody measured this device
    times = GENERIC.having({"wavefront/vector": {"column": 0.0, "row": 1e-6}})
    PairProgress(run, replace(plan, machine=times), (2048 * 64, 10**6), False)
    assert run.speed == pytest.approx(2 * 64 / 1e-6, rel=0.1)


def test_the_speed_is_that_of_the_last_seconds() -> None:
    it = Drawn()
    for k in range(101):  # 10 a second, then 2
        it.tell(k, 150, now=k / 10)
    for k in range(1, 21):
        it.tell(100 + k, 150, now=10 + k / 2)
    assert left(it, 20.0) == "0:15 left"


def test_it_counts_down_between_reports_and_then_waits() -> None:
    it = Drawn()
    for k in range(5):
        it.tell(k, 14, now=2.0 * k)
    assert [left(it, now) for now in (8.0, 9.0, 10.0)] == ["0:20 left", "0:19 left", "0:18 left"]
    assert left(it, 30.0) > "0:32 left"  # no report for long: the run is slower
