"""The line that says that kernels are built."""

from __future__ import annotations

import io
import time

from pysw_cl.cli.builds import BuildLine, builds_shown
from pysw_cl.opencl import builds


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, text: str) -> bool:
    """Is the text there, at the latest after some seconds?"""
    last = time.monotonic() + 10
    while text not in stream.getvalue() and time.monotonic() < last:
        time.sleep(0.01)
    return text in stream.getvalue()


def visible(text: str) -> str:
    """What a terminal of one line shows after this text."""
    line: list[str] = []
    place = 0
    for letter in text:
        if letter == "\r":
            place = 0
        else:
            line[place : place + 1] = [letter]
            place += 1
    return "".join(line).rstrip()


def test_a_long_build_is_shown_and_wiped() -> None:
    stream = Terminal()
    with builds_shown(stream), builds.expecting(3):
        first = builds.begun("device", "one")
        assert stream.getvalue() == ""  # not at once
        assert drawn(stream, "building kernels for this device, once: 1 of at most 3")
        builds.ended(first)
        assert visible(stream.getvalue()) == ""
        second = builds.begun("device", "two")  # a second has passed: at once
        assert drawn(stream, "2 of at most 3")
        assert "2 of at most 3" in visible(stream.getvalue())
        builds.ended(second)
    assert visible(stream.getvalue()) == ""


def test_a_short_build_leaves_no_trace() -> None:
    stream = Terminal()
    line = BuildLine(stream, delay=5)
    with builds.listening(line):
        builds.ended(builds.begun("device", "one"))
    line.close()
    assert stream.getvalue() == ""


def test_what_ends_a_run_wipes_the_line() -> None:
    stream = Terminal()
    line = BuildLine(stream, delay=0)
    with builds.listening(line):
        builds.begun("device", "one")
        assert drawn(stream, "1 of at most 1")
    line.close()
    assert visible(stream.getvalue()) == ""


def test_nothing_is_said_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with builds_shown(stream):
        assert builds.begun("device", "one") is None
    assert stream.getvalue() == ""
