"""The command line of clusters, without one: what is refused, and what is said of workers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from test_cli import fails, run
from test_usage import refused

from pysw_cl import __version__
from pysw_cl.cluster import check, survey, workers
from pysw_cl.cluster.check import faults
from pysw_cl.cluster.survey import Survey
from pysw_cl.errors import ClusterError
from pysw_cl.planning.facts import UNLIMITED

FACTS = replace(UNLIMITED, memory=80 << 30)
GOOD = Survey(__version__, "", "some GPU", True, 500 << 30, None, FACTS, gcups=100.0)
GOOD = replace(GOOD, limit=8 << 30, used=1 << 30)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("a b --mode global --max-cost 5", "--cluster cannot go with --max-cost N"),
        ("a b --alignments 3", "--alignments cannot go with --cluster"),
        ("a b --stop-after 2h", "--disk-size and --stop-after go with --checkpoint"),
    ],
)
def test_what_does_not_go_together(
    capsys: pytest.CaptureFixture[str], options: str, words: str
) -> None:
    assert words in refused(capsys, "align", "--cluster", "tcp://host:8786", *options.split())


def test_no_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    assert "no scheduler answers at here" in fails(capsys, "cluster", "check", "here")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"version": "0.0.1"}, "has pysw_cl 0.0.1, and here is"),
        ({"fault": "no usable OpenCL device"}, "cannot compute this: no usable OpenCL device"),
        ({"version": "unknown", "fault": "TypeError: x"}, "cannot compute this: TypeError: x"),
        ({"threads": 4}, "computes 4 tasks at once .* --nthreads 1"),
        ({"disk": 1 << 30}, "has 1.0 GiB free in the folder"),
        ({"shared": False, "disk": 0}, "does not see the folder, so letters and edges are sent"),
        ({"used": 6 << 30}, "takes 6.0 of the 8.0 GiB .* --memory-limit"),
        ({"ahead": -2.5}, "has a clock that is off by -2.5 s"),
        ({"gcups": 9.0}, "computes 9.00 GCUPS, others 100.00"),
    ],
)
def test_faults(other: dict[str, Any], words: str) -> None:
    found = {"a": GOOD, "b": replace(GOOD, **other), "c": GOOD}
    (said,) = faults(found, 20)
    assert re.match(f"worker b {words}", said)


def test_no_faults() -> None:
    unlimited = replace(GOOD, limit=0, disk=0, shared=None, ahead=0.9, gcups=50.0)
    assert list(faults({"a": GOOD, "b": unlimited}, 20)) == []
    (said,) = faults({"a": GOOD}, 3)
    assert "when 4 workers ended" in said and "allowed-failures to 20" in said


class FakeWorkers:
    """Workers that say what they are given."""

    def __init__(self, said: dict[str, Survey]) -> None:
        self.said = said

    def count(self) -> int:
        return len(self.said)

    def answers(self, task: Any, *_: Any) -> dict[str, Any]:
        if task is check.measured:
            return {name: {"gcups": one.gcups} for name, one in self.said.items()}
        return {name: task() for name in self.said} if task.__name__ == "time" else {**self.said}

    def setting(self, name: str) -> int:
        assert name == "distributed.scheduler.allowed-failures"
        return 20


def test_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"tcp://x:1": GOOD, "tcp://y:2": Survey(__version__, "no device")}

    @contextmanager
    def fakes(address: str) -> Iterator[FakeWorkers]:
        yield FakeWorkers(said)

    monkeypatch.setattr(workers, "workers_of", fakes)
    assert run(capsys, "cluster", "check", "tcp://s:8786") == (
        1,
        "worker     version  device    memory    free disk  GCUPS   clock   threads\n"
        f"tcp://x:1  {__version__}    some GPU  80.0 GiB  500.0 GiB  100.00  +0.0 s  1\n"
        f"tcp://y:2  {__version__}    -         -         -          -       +0.0 s  1\n"
        "worker tcp://y:2 cannot compute this: no device\n",
        "",
    )
    said.clear()
    monkeypatch.setattr(survey, "ANSWER", 0)
    assert "the cluster has had no workers for 0 s" in fails(
        capsys, "cluster", "check", "tcp://s:8786"
    )


def test_errors_of_a_cluster_are_errors_of_the_package() -> None:
    assert issubclass(ClusterError, RuntimeError)
