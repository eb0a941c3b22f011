"""Fixtures of several test modules."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import pytest
from machines import Machine, machines
from saving import tight

from pysw_cl.drivers import ends
from pysw_cl.planning.profiles import profile as store
from pysw_cl.planning.profiles.profile import VARIABLE

#: No test reads or writes the profiles of whoever runs it, nor do processes that tests start.  It
#: is set before test modules are imported, because some keep an environment for their processes.
PROFILES = tempfile.TemporaryDirectory(prefix="pysw-cl-profiles-")
os.environ[VARIABLE] = PROFILES.name


def pytest_configure(config: pytest.Config) -> None:
    """Several processes take the files in order.  (By the number of their tests, as pytest-xdist
    sorts them, files of few long tests would be last, and all processes but one would be idle.)"""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.fixture(autouse=True, scope="session")
def profiles_apart() -> Iterator[None]:
    """The folder of profiles goes with the session."""
    yield
    PROFILES.cleanup()


@pytest.fixture
def swept_for_ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The cells of each sweep of `best_ends`, as they come."""
    swept: list[int] = []
    sweep = ends.sweep

    def counted(engine: Any, whole: Any, *given: Any, **how: Any) -> Any:
        swept.append(prod(whole.shape))
        return sweep(engine, whole, *given, **how)

    monkeypatch.setattr(ends, "sweep", counted)
    return swept


@pytest.fixture
def profile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's folder of profiles: one of this test that does not exist yet.  Only the profile of
    any device ships."""
    folder = tmp_path / "deep" / "profiles"
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "none")
    store._shipped.cache_clear()
    store.changes[0] += 1
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setattr(store, "_warned", set())
    yield folder
    store._shipped.cache_clear()
    store.changes[0] += 1


@pytest.fixture
def shipped_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of profiles that ship, with nothing in it."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(store, "SHIPPED", folder)
    store._shipped.cache_clear()
    yield folder
    store._shipped.cache_clear()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Makes PyOpenCL find the platforms that it is called with."""
    return machines(monkeypatch)


@pytest.fixture
def small() -> Iterator[None]:
    """Runs with a checkpoint of small jobs save many rows."""
    with tight():
        yield
