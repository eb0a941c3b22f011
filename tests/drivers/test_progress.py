"""The progress bar, on a clock of its own."""

from __future__ import annotations

import io

from pysw_cl.cli.progress import Estimate, ProgressBar, duration


def test_progress_bar() -> None:
    now, stream = [0.0], io.StringIO()
    bar = ProgressBar(stream, clock=lambda: now[0])
    bar(0, 4 * 10**9)
    now[0] = 0.4
    bar(10**9, 4 * 10**9)
    bar.clear()
    assert stream.getvalue() == ""  # a short run shows nothing
    now[0] = 1.0
    bar(10**9, 4 * 10**9)
    bar(2 * 10**9, 4 * 10**9)  # too soon after the last one
    drawn = stream.getvalue()
    assert drawn == "\r[#######.......................]  25.0%     1.00 GCUPS  0:03 left"
    now[0] = 2.0
    bar(4 * 10**9, 4 * 10**9)
    assert stream.getvalue().endswith("100.0%     2.00 GCUPS  0:00 left")
    bar.clear()
    assert stream.getvalue().endswith("\r" + " " * (len(drawn) - 1) + "\r")


def test_what_an_earlier_run_did_is_no_speed() -> None:
    now, stream = [5.0], io.StringIO()
    bar = ProgressBar(stream, clock=lambda: now[0], delay=0)
    bar(6 * 10**9, 10 * 10**9)  # nothing to tell a speed by
    assert stream.getvalue().endswith(" 60.0%")
    now[0] = 7.0
    bar(8 * 10**9, 10 * 10**9)
    assert stream.getvalue().endswith("80.0%     1.00 GCUPS  0:02 left")


def test_the_first_cells_tell_the_speed_only_while_there_are_no_others() -> None:
    estimate = Estimate()
    assert estimate.seconds_left(0, 100, 10.0) is None
    assert estimate.seconds_left(4, 100, 26.0) == 24 * 16.0
    assert estimate.seconds_left(4, 100, 28.0) == 24 * 18.0
    assert estimate.seconds_left(8, 100, 39.0) == 23 * 13.0
    assert estimate.seconds_left(12, 100, 52.0) == 22 * 13.0


def test_duration() -> None:
    assert [duration(s) for s in (0, 59.6, 61, 3599, 3725)] == [
        "0:00",
        "1:00",
        "1:01",
        "59:59",
        "1:02:05",
    ]


def test_many_runs_share_a_line() -> None:
    now = [0.0]
    stream = io.StringIO()
    bar = ProgressBar(stream, clock=lambda: now[0])
    for count in range(1, 4):
        bar.begin(f"pair {count} ")
        bar(0, 1000)
        now[0] += 0.3
        bar(1000, 1000)
    bar.clear()
    assert "pair 1 " not in stream.getvalue()  # before the delay
    assert "\rpair 2 [" in stream.getvalue()
    assert "pair 3 [" in stream.getvalue()
