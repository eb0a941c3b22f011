"""What tests of paths by tiles side by side share: plans, pairs of sequences, what happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from helpers import device_has, spy, tune, use_engine
from numpy.typing import NDArray
from saving import key

import pysw_cl
from pysw_cl.drivers import traceback
from pysw_cl.drivers.traceback import SpeculativeTraceback
from pysw_cl.engines import plans
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.engines.wavefront.tile_batch import WavefrontTileBatch
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.parameters import SPACE
from pysw_cl.tiles.contract import Part

PLANS: dict[str, dict[str, Any]] = {
    "vector": {"lanes": "vector", "T": 4, "alpha": 2, "chunk": 16, "B": 2},
    "packed": {"lanes": "packed", "alpha": 3, "chunk": 32, "B": 4},
}
every_plan = pytest.mark.parametrize("lanes", list(PLANS))


@dataclass
class Seen:
    """What happened in walks: cells of the grid walked one by one, sets of tiles of each level,
    crossings that were looked at and refused, launches with moves, what computed them."""

    alone: int = 0
    levels: list[int] = field(default_factory=list)
    looked: int = 0
    refused: int = 0
    traced: int = 0
    engines: list[WavefrontTileBatch] = field(default_factory=list)


def watched(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Tiles go side by side on any device, and only where a path's part of the matrix is."""
    device_has(monkeypatch, speculative=True)
    found = Seen()

    def step(*_: Any) -> None:
        found.alone += 1

    def looked(good: bool, *_: Any) -> None:
        found.looked, found.refused = found.looked + 1, found.refused + (not good)

    def checked(self: WavefrontTileBatch, level: Any, parts: list[Part], *_: Any) -> None:
        found.levels.append(level if isinstance(level, int) else -1)
        rows = self._works[True].letters["query"].size
        for part in parts:
            assert 0 <= part.area.row < part.area.row_end <= rows
            assert part.area.shape[0] % self.row_quantum == 0
            assert 0 <= part.area.column < part.area.column_end <= self.columns

    def traced(*_: Any) -> None:
        found.traced += 1

    spy(monkeypatch, traceback, "_step", step)
    spy(monkeypatch, SpeculativeTraceback, "_right", after=looked)
    spy(monkeypatch, WavefrontTileBatch, "_set", checked)
    spy(monkeypatch, WavefrontTileBatch, "__enter__", found.engines.append)
    spy(monkeypatch, WavefrontTileBatch, "trace", traced)
    return found


class OneByOne(WavefrontEngine):
    """An engine that computes no tiles side by side."""

    def tile_batch(self, *_: Any) -> None:
        return None


def plan_of(lanes: str) -> dict[str, Any]:
    needs_lanes(lanes)
    wishes = PLANS[lanes]
    warp = {"T": 2 * get_runtime("auto").traits.warp_width} if lanes == "packed" else {}
    return {"form": "ticketed", **wishes, **warp}


def constants(patch: pytest.MonkeyPatch, **more: Any) -> None:
    """Every level and stage on pairs of a few thousand letters; ``more``: other values of
    "speculation" and "traceback"."""
    values: dict[str, Any] = {"side": 128, "least_sides": 2, "pruned_side": 0, "slack": 20}
    values |= {"begun": 8, "margin": 2, "most_tiles": 1024}
    patch.setattr(plans, "PATH_SHARE", 0.0)  # path_bytes alone counts
    values |= {"least_side": 1100, **more}
    tune(patch, {named(name): value for name, value in values.items()})


def named(name: str) -> str:
    """A parameter by its dotted name."""
    return next(
        dotted for dotted in (f"speculation.{name}", f"traceback.{name}") if dotted in SPACE
    )


def text(codes: NDArray[Any], letters: str = "ACGT") -> str:
    return "".join(letters[code] for code in codes)


def pairs(kind: str, rng: np.random.Generator, length: int) -> tuple[str, str]:
    """Two related sequences."""
    letters = 2 if kind == "few letters" else 4
    a = rng.integers(0, letters, length)
    if kind == "repeats":
        a = np.resize(a[:97], length)
    b = a.copy()
    b[rng.integers(0, length, length // 20)] = rng.integers(0, letters, length // 20)
    for _ in range(length // 100):
        at = int(rng.integers(0, len(b)))
        b = np.delete(b, at) if rng.random() < 0.5 else np.insert(b, at, rng.integers(0, letters))
    if kind == "long gap":
        at = int(rng.integers(length // 4, 3 * length // 4))
        b = np.insert(b, at, rng.integers(0, letters, int(rng.integers(1, length // 3))))
    if kind == "rotated":
        b = np.roll(b, length // 3)
    if kind == "inside":
        a, b = (np.concatenate([s[:-300], rng.integers(0, letters, 700)]) for s in (a, b))
    if kind == "unrelated":
        b = rng.integers(0, letters, length)
    return text(a), text(b)


def both(
    seen: Seen, a: str, b: str, plan: dict[str, Any], **options: Any
) -> tuple[pysw_cl.Alignment, pysw_cl.Alignment]:
    """Side by side, and one by one."""
    options = {"output": "path", "device": "auto", "plan": plan, **options}
    found = pysw_cl.align(a, b, **options)
    with pytest.MonkeyPatch.context() as alone:
        use_engine(alone, OneByOne)
        before = seen.alone
        wanted = pysw_cl.align(a, b, **options)
        seen.alone = before
    assert key(found) == key(wanted), (a, b, options)
    return found, wanted


def related(rng: np.random.Generator, length: int) -> tuple[str, str]:
    return pairs("similar", rng, length)


HOW: dict[str, Any] = {"output": "path", "device": "auto"}
