"""Fixtures of several test modules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from machines import Machine, machines
from saving import tight


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Makes PyOpenCL find the platforms that it is called with."""
    return machines(monkeypatch)


@pytest.fixture
def small() -> Iterator[None]:
    """Runs with a checkpoint of small jobs save many rows."""
    with tight():
        yield
