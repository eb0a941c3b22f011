"""The progress bar and the time left, on a clock of their own."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest

import pysw_cl
from pysw_cl.api.bar import ProgressBar, Speed, duration, told
from pysw_cl.drivers.progress import PairProgress, RunProgress, Stage
from pysw_cl.errors import InputError
from pysw_cl.planning.model.times import GENERIC, Machine
from pysw_cl.planning.plan import Plan

G = 10**9


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """The bars of a test are closed, because tqdm draws an open one below another."""
    yield
    while Drawn.made:
        Drawn.made.pop().bar.close()


class Drawn:
    """A bar that is drawn into a string, by a clock that the test moves."""

    made: ClassVar[list[Drawn]] = []

    def __init__(self, **how: Any) -> None:
        self.now, self.stream = 0.0, io.StringIO()
        self.bar = ProgressBar(self.stream, clock=lambda: self.now, ticks=None, **how)
        self.made.append(self)

    def tell(self, done: int, total: int, left: float | None = None, name: str = "score") -> None:
        """Report cells, without a pruned one."""
        self.bar(done, total, Stage(name, 1, 2, done, total - done if left is None else left))

    @property
    def lines(self) -> list[str]:
        """What was drawn, line by line."""
        return [line for line in re.split(r"[\r\n]", self.stream.getvalue()) if line.strip()]


def test_a_line() -> None:
    it = Drawn()
    it.tell(0, 4 * G)
    it.now = 0.4
    it.tell(G, 4 * G)
    it.bar.close()
    assert it.stream.getvalue() == ""  # a short run shows nothing
    it = Drawn()
    it.tell(0, 4 * G)
    it.now = 1.0
    it.tell(G, 4 * G)
    it.tell(2 * G, 4 * G)  # too soon after the last one
    assert len(it.lines) == 1
    assert it.lines[0].startswith("score 1 of 2:  25.0%|")
    assert it.lines[0].rstrip().endswith("| 1.00 GCUPS, 0:03 left")
    it.now = 2.0
    it.tell(4 * G, 4 * G, name="path")
    assert "path" in it.lines[-1] and "100.0%" in it.lines[-1] and "0:00 left" in it.lines[-1]
    it.bar.close()
    assert it.stream.getvalue().endswith(" \r")  # wiped


def test_the_share_never_falls() -> None:
    it = Drawn(delay=0, interval=0)
    for k, done in enumerate((5, 9, 7, 8, 10)):
        it.now = float(k)
        it.tell(done, 10)
    shares = [float(re.search(r"([\d.]+)%", line)[1]) for line in it.lines]  # type: ignore[index]
    assert shares == [50, 90, 90, 90, 100]


def test_what_an_earlier_run_did_is_no_speed() -> None:
    it = Drawn(delay=0)
    it.now = 5.0
    it.bar(6 * G, 10 * G, Stage("score", 1, 1, 0, 4 * G))
    assert it.lines[-1].startswith("score:  60.0%|") and "GCUPS" not in it.lines[-1]
    it.now = 7.0
    it.bar(8 * G, 10 * G, Stage("score", 1, 1, 2 * G, 2 * G))
    assert "80.0%" in it.lines[-1] and it.lines[-1].rstrip().endswith("1.00 GCUPS, 0:02 left")


def test_waiting_is_shown_and_is_no_speed() -> None:
    it = Drawn(delay=0)
    it.bar.wait("reading a.fa")
    it.now = 29.0
    it.bar.wait("building kernels 1 of 3")  # from disk, perhaps, in a moment
    assert len(it.lines) == 1 and it.lines[0].startswith("reading a.fa")
    it.now = 30.0
    it.bar.wait("building kernels 2 of 3")
    assert it.lines[-1].startswith("building kernels 2 of 3  0:01")
    it.now = 31.0
    it.tell(0, 8 * G)
    it.now = 33.0
    it.tell(2 * G, 8 * G)
    it.bar(2 * G, 8 * G, Stage("building kernels", 3, 3))
    it.now = 53.0
    it.tell(2 * G, 8 * G)
    it.now = 55.0
    it.tell(4 * G, 8 * G)
    assert "50.0%|" in it.lines[-1] and "1.00 GCUPS, 0:04 left" in it.lines[-1]


def test_it_moves_between_reports() -> None:
    """By the speed, and not beyond what will probably be told."""
    it = Drawn(delay=0, interval=0)
    it.bar.wait("x")
    for k in range(3):
        it.now = 10.0 * k
        it.bar(k * G, 10 * G, Stage("pairs", 100 * k, 1000, k * G, (10 - k) * G))
    for now, share in ((25.0, 25.0), (28.0, 28.0), (40.0, 29.0)):
        it.now = now
        it.bar._draw(now)
        assert f" {share}%|" in it.lines[-1] and "| 200 of 1,000 pairs" in it.lines[-1]
    it.now = 41.0
    it.bar(3 * G, 10 * G, Stage("pairs", 300, 1000, 3 * G, 7 * G))
    assert " 30.0%|" in it.lines[-1]


def test_a_run_of_which_nothing_is_known_is_alive() -> None:
    it = Drawn(delay=0, interval=0)
    it.bar(0, 10 * G, Stage("pairs", 0, 1000, 0, 10 * G))
    it.bar._draw(7.0)
    assert "  0.0%|" in it.lines[-1] and it.lines[-1].rstrip().endswith("| 0 of 1,000 pairs, 0:07")


def test_work_in_seconds_has_a_share_and_no_speed() -> None:
    it = Drawn(delay=0, interval=0)
    for now in (0.0, 6.0, 12.0):
        it.now = now
        stage = Stage("tuning x", 1, 2, now, 60 - now, 1.0, True)
        it.bar(round(100 * now), 6000, stage)
    assert it.lines[-1].startswith("tuning x 1 of 2:  20.0%|")
    assert it.lines[-1].rstrip().endswith("| 0:48 left")


def test_many_pairs_in_one_call() -> None:
    it = Drawn(delay=0)
    for k in range(5):
        it.now = 2.0 * k
        done = k * G
        it.bar(done, 10 * G, Stage("pairs", 100 * k, 1000, done, 10 * G - done))
    assert " 40.0%|" in it.lines[-1]
    assert "| 400 of 1,000 pairs, 50 pairs/s, 0.50 GCUPS, 0:12 left" in it.lines[-1]


def test_many_calls_are_one_run() -> None:
    """Parts of a known whole: the share is that of all, and goes on from part to part."""
    for cells in (40 * G, None):
        it = Drawn(delay=0, interval=0)
        it.bar.expect(pairs=4000, cells=cells)
        for part in range(4):
            it.bar.begin()
            for k in range(5):
                it.now += 0.5
                done = 2 * k * G
                it.bar(done, 8 * G, Stage("pairs", 200 * k, 800, done, 8 * G - done))
            assert f"{800 * (part + 1):,} of 4,000 pairs" in it.lines[-1]
        shares = [float(re.search(r"([\d.]+)%", one)[1]) for one in it.lines]  # type: ignore[index]
        assert shares == sorted(shares) and shares[-1] == 80.0
        assert "0:02 left" in it.lines[-1] or "0:03 left" in it.lines[-1]
        it.bar.close()


def test_pairs_one_by_one() -> None:
    it = Drawn(delay=0, interval=0)
    it.bar.expect(pairs=4)
    for _ in range(3):
        it.bar.begin()
        for done in (0, 5, 10):
            it.now += 1.0
            it.tell(done, 10)
    shares = [float(re.search(r"([\d.]+)%", line)[1]) for line in it.lines]  # type: ignore[index]
    assert shares == [0, 12.5, 25, 25, 37.5, 50, 50, 62.5, 75]
    assert "score 1 of 2: " in it.lines[-1] and "3 of 4 pairs" in it.lines[-1]
    it.bar.close()
    it = Drawn(delay=0, interval=0)  # nobody knows how many
    for _ in range(3):
        it.bar.begin()
        it.now += 1.0
        it.tell(5, 10)
    assert "2 pairs" in it.lines[-1] and "%" not in it.lines[-1]


def test_hidden_while_something_else_is_written() -> None:
    it = Drawn(delay=0)
    it.tell(1, 10)
    with it.bar.hidden():
        assert it.stream.getvalue().endswith(" \r")
        it.stream.write("RESULT\n")
    assert it.lines[-2] == "RESULT" and "10.0%" in it.lines[-1]
    it.now = 1.0
    with it.bar.hidden(0.5):
        it.stream.write("RESULT\n")
    it.now = 1.2
    it.tell(2, 10)
    assert it.lines[-1] == "RESULT"
    it.now = 1.6
    it.tell(3, 10)
    assert "30.0%" in it.lines[-1]


def test_it_is_drawn_though_nothing_is_reported() -> None:
    stream = io.StringIO()
    bar = ProgressBar(stream, delay=0, interval=0, ticks=0.01)
    bar(1, 10, Stage("score", 1, 1, 1, 9))
    written = len(stream.getvalue())
    for _ in range(500):
        if len(stream.getvalue()) > 2 * written:
            break
        bar._closed.wait(0.01)
    bar.close()
    assert len(stream.getvalue()) > 2 * written
    assert bar._ticker is not None
    bar._ticker.join(10)
    assert not bar._ticker.is_alive()


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


def test_the_time_left_begins_with_the_prediction() -> None:
    left = Speed()
    left.predicted = 100.0
    assert left.seconds(1000, 0) is None  # nothing was told
    left.told(0, 0)
    assert left.seconds(1000, 0) == 10
    assert left.seconds(1000, 4) == 6
    assert left.at(4) is None
    left.told(50, 5)  # a tenth of what was predicted: that counts from now on
    assert left.seconds(950, 5) == pytest.approx(95)


def test_the_predicted_speed_comes_from_the_profile() -> None:
    plan, run = Plan(B=2), RunProgress(lambda done, total, stage: None)
    PairProgress(run, plan, (5000, 6000), False)
    assert run.speed is None  # nobody measured this device
    times = GENERIC.having({"wavefront/vector": {"column": 0.0, "row": 1e-6}})
    PairProgress(run, replace(plan, machine=Machine(times)), (2048 * 64, 10**6), False)
    assert run.speed == pytest.approx(2 * 64 / 1e-6, rel=0.1)


def test_the_speed_is_that_of_the_last_seconds() -> None:
    left = Speed()
    for k in range(101):  # 10 a second, then 2
        left.told(k, k / 10)
    for k in range(1, 21):
        left.told(100 + k, 10 + k / 2)
    assert left.at(20.0) == pytest.approx(2, rel=0.01)
    assert left.seconds(30, 20.0) == pytest.approx(15, rel=0.01)


def test_it_counts_down_between_reports_and_then_waits() -> None:
    left = Speed()
    for k in range(5):
        left.told(k, 2.0 * k)
    assert left.seconds(10, 8.0) == 20
    assert left.seconds(10, 9.0) == 19
    assert left.seconds(10, 10.0) == 18
    late = left.seconds(10, 30.0)  # no report for long: the run is slower
    assert late is not None and late > 40
