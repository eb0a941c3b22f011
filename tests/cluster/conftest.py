"""A cluster of Dask on this host, for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def local_cluster() -> Iterator[Any]:
    """Two worker processes of one thread; nothing of it is left at the end."""
    config = pytest.importorskip("dask.config")
    distributed = pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")
    before = set(psutil.Process().children())
    more = {
        "threads_per_worker": 1,
        "processes": True,
        "memory_limit": None,
        "dashboard_address": ":0",
        "env": {"POCL_MAX_PTHREAD_COUNT": "1"},
    }
    own = config.set({"distributed.scheduler.allowed-failures": 20})
    with own, distributed.LocalCluster(n_workers=2, **more) as cluster:
        yield cluster
        new = set(psutil.Process().children()) - before
        # multiprocessing's own, of shared memory, stays for as long as this process
        new = {one for one in new if "resource_tracker" not in " ".join(one.cmdline())}
        assert len(new) == 2
    assert psutil.wait_procs(new, timeout=10)[1] == []
