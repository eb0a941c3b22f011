"""What tests of chains share: chains on any device and in any matrix, and what happened in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from helpers import device_has, spy
from saving import key, tight
from tuned import tuned

import pysw_cl
from pysw_cl.engines.wavefront.pipeline import RunningPipeline
from pysw_cl.opencl.buffers import LASTING
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.plan import Plan
from pysw_cl.tiles.tile import TileJob

#: Strips of 8 and of 48 rows, and lanes whose rows depend on the size of a tile.
PLANS: dict[str, dict[str, Any]] = {
    "vector": {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 7, "B": 3},
    "wider": {"lanes": "vector", "T": 16, "alpha": 3, "chunk": 40, "B": 2},
    "packed": {"lanes": "packed", "alpha": 3, "chunk": 32, "B": 4},
}
every_plan = pytest.mark.parametrize("lanes", list(PLANS))


def plan_of(lanes: str) -> dict[str, Any]:
    """A plan, where the device has its lanes."""
    wishes = PLANS[lanes]
    needs_lanes(wishes["lanes"])
    warp = {"T": 2 * get_runtime("auto").traits.warp_width} if lanes == "packed" else {}
    return {"form": "ticketed", **wishes, **warp}


def least_rows(lanes: str) -> int:
    """Rows that a tile has at least, and whose multiple it has, in a chain of these lanes."""
    plan = plan_of(lanes)
    warps = get_runtime("auto").traits.schedulers if lanes == "packed" else 0
    return int(plan["T"] * plan["alpha"]) * max(1, warps)


def by_size(alpha: int, **more: Any) -> Plan:
    """A plan whose lanes have at most so many rows, by the size of a tile."""
    needs_lanes("vector")
    return Plan(T=4, alpha=alpha, chunk=7, B=8, **more)


@dataclass
class Seen:
    """The chains that were begun, their tiles, the most that were begun and not asked for at once
    (and not known to be done either), and how long the longest was."""

    chains: list[RunningPipeline] = field(default_factory=list)
    tiles: int = 0
    begun: int = 0
    at_once: int = 0
    longest: int = 0
    shared: bool = False  # other threads have chains at work, too

    def nothing_held(self) -> bool:
        """Has every chain given back what it had?"""
        pools = [pool for chain in self.chains for _, pool in chain._sides]
        lasting = {id(part) for part in LASTING.values()}
        assert not any(id(part) in lasting for pool in pools for part in pool._kept.values())
        return not any(
            [chain._begun or chain._done or chain._own._held for chain in self.chains]
            + [pool._kept or pool.lent for pool in pools]
        )


@contextmanager
def chains() -> Iterator[Seen]:
    """Tiles follow each other on any device, whatever their size; small jobs have many bands."""
    seen = Seen()

    def made(self: RunningPipeline, *_: Any) -> None:
        seen.chains.append(self)

    def begun(_: None, self: RunningPipeline, job: TileJob) -> None:
        seen.tiles += 1
        seen.begun = max(seen.begun, len(self._begun))
        seen.at_once = max(seen.at_once, sum(not one.done for one in self._begun))
        seen.longest = max(seen.longest, self._count)

    with (
        tight(),
        tuned({"saving.least_times_beside": 0, "pipeline.least_cells": 0}),
        pytest.MonkeyPatch.context() as patch,
    ):
        device_has(patch, speculative=True)
        spy(patch, RunningPipeline, "__init__", made)
        spy(patch, RunningPipeline, "_begin", after=begun)
        yield seen


def letters(rng: np.random.Generator, m: int, n: int, alphabet: str = "ACGT") -> tuple[str, str]:
    """A sequence and a related one, a long gap apart."""
    size = len(alphabet)
    a = rng.integers(0, size, m)
    b = np.resize(a[rng.random(m) > 0.1], n)
    other = rng.random(n) < 0.1
    b[other] = rng.integers(0, size, int(other.sum()))
    b = np.roll(b, int(rng.integers(0, n))) if rng.random() < 0.5 else b
    return tuple("".join(alphabet[code] for code in codes) for codes in (a, b))  # type: ignore[return-value]


def both(seen: Seen, folder: Path, a: str, b: str, plan: Any, size: int, **how: Any) -> Any:
    """A result with a checkpoint, which is the one without."""
    how = {"device": "auto", "plan": plan, **how}
    found = pysw_cl.align(a, b, checkpoint=folder, disk_size=size, **how)
    wanted = pysw_cl.align(a, b, **how)
    assert key(found) == key(wanted), (a, b, how)
    assert seen.shared or seen.nothing_held()
    return found
