"""Fixtures of several test modules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from saving import tight


@pytest.fixture
def small() -> Iterator[None]:
    """Runs with a checkpoint of small jobs save many rows."""
    with tight():
        yield
