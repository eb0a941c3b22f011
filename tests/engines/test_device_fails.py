"""A call of OpenCL fails once: the device does its work again, and the result is the same."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from failing import failing
from saving import key

import pysw_cl
from pysw_cl.errors import DeviceError, RecomputedWarning

SMALL: dict[str, Any] = {"lanes": "vector", "T": 8, "alpha": 2, "chunk": 16, "B": 2}
SMALL |= {"form": "ticketed", "tile_cells": 1 << 12}
#: Special lines of several tiles, which are read when a tile is done.
FINE: dict[str, Any] = SMALL | {"traceback.least_side": 20, "traceback.pieces": 9}
JOBS: dict[str, dict[str, Any]] = {
    "held": {},
    "tiles": {"plan": SMALL},
    "global": {"plan": SMALL, "mode": "global", "max_cost": None},
    "band": {"plan": SMALL, "mode": "global"},
    "both": {"plan": SMALL, "strand": "both"},
    "ends": {"plan": SMALL, "output": "ends"},
    "rows": {"plan": {"engine": "rowscan"}, "output": "ends"},
    "path": {"plan": {"engine": "rowscan"}},
    "lines": {"plan": FINE},
    "lines of all cells": {"plan": FINE, "mode": "global", "max_cost": None},
}


def pair(seed: int) -> tuple[str, str]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, 300)
    b = np.where(rng.random(300) < 0.1, rng.integers(0, 4, 300), a)
    return tuple("".join("ACGT"[one] for one in codes) for codes in (a, b))  # type: ignore[return-value]


@pytest.mark.parametrize("name", JOBS)
def test_one_call_fails(name: str) -> None:
    needs_lanes("vector")
    how, rng, (a, b) = JOBS[name], np.random.default_rng(len(name)), pair(len(name))
    with failing() as calls:
        wanted = pysw_cl.align(a, b, **how)
    assert wanted.stats.retried == 0 and calls.calls
    for first in rng.choice(calls.calls, min(8, calls.calls), replace=False) + 1:
        with failing(first=int(first)) as one, warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            found = pysw_cl.align(a, b, **how)
        assert key(found) == key(wanted) and not found.stats.recomputed
        told = [one.message for one in given if one.category is RecomputedWarning]
        assert one.failed == found.stats.retried == len(told) == 1, (first, calls.calls)
        assert "the device is gone" in str(told[0]) and "1 times done again" in str(found.stats)


@pytest.mark.parametrize("plan", [SMALL, {"engine": "rowscan"}], ids=["wavefront", "rowscan"])
def test_one_call_of_several_alignments_fails(plan: dict[str, Any]) -> None:
    needs_lanes("vector")
    rng, (a, b) = np.random.default_rng(2), pair(2)
    with failing() as calls:
        wanted = pysw_cl.align_top(a, b, k=3, plan=plan)
    for first in rng.choice(calls.calls, 8, replace=False) + 1:
        with failing(first=int(first)) as one, pytest.warns(RecomputedWarning, match="is gone"):
            found = pysw_cl.align_top(a, b, k=3, plan=plan)
        assert [*map(key, found)] == [*map(key, wanted)] and one.failed == 1
        assert sum(each.stats.retried for each in found) == 1, (first, calls.calls)


def test_all_calls_fail(tmp_path: Path) -> None:
    """The error says where the work can go on."""
    needs_lanes("vector")
    a, b = pair(1)
    with (
        failing(first=40, forever=True),
        pytest.raises(DeviceError, match=r"the device is gone.*continue with pysw_cl\.resume"),
    ):
        pysw_cl.align(a, b, plan=SMALL, checkpoint=tmp_path / "kept", disk_size=1 << 16)
    assert key(pysw_cl.resume(tmp_path / "kept")) == key(pysw_cl.align(a, b, plan=SMALL))
