"""Builds of kernels, as progress callbacks and the bar are told of them."""

from __future__ import annotations

import threading
from typing import Any

from pysw_cl.api.bar import told
from pysw_cl.drivers.progress import Stage
from pysw_cl.opencl import builds


def test_a_callback_with_a_stage_is_told_of_builds() -> None:
    stages: list[Stage] = []

    def progress(done: int, total: int, stage: Stage) -> None:
        stages.append(stage)

    with told(progress), builds.expecting(3):
        builds.begun("device", "one")
        builds.begun("device", "two")
    assert [(one.name, one.number, one.of) for one in stages] == [
        ("building kernels", 1, 3),
        ("building kernels", 2, 3),
    ]
    assert stages[0].work_left is None
    builds.begun("device", "three")
    assert len(stages) == 2


def test_a_callback_without_a_stage_and_other_threads_are_not() -> None:
    calls: list[Any] = []
    with told(lambda done, total: calls.append(done)), builds.expecting(1):
        builds.begun("device", "one")
    with told(lambda done, total, stage: calls.append(stage)):
        thread = threading.Thread(target=lambda: builds.begun("device", "one"))
        thread.start()
        thread.join()
    assert not calls


def test_what_is_kept_is_not_built() -> None:
    calls: list[Any] = []
    with told(lambda done, total, stage: calls.append(stage)), builds.expecting(2):
        builds.begun("device", "one", kept=True)
        assert not calls
        builds.begun("device", "two")
    assert [str(stage) for stage in calls] == ["building kernels 2 of 2"]
