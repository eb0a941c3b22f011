"""The search for the fastest values, on a surface of times that is known: no device."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from math import exp, inf
from pathlib import Path

import pytest

from pysw_cl.errors import InternalError, PlanError, ProfileError
from pysw_cl.planning.tuning.race import Noise, interval
from pysw_cl.planning.tuning.records import KINDS, Failure, Records, Run
from pysw_cl.planning.tuning.search import Found, search
from pysw_cl.planning.tuning.space import Dimension, Space, Values
from pysw_cl.planning.tuning.strategies import Coordinate, Exhaustive, RandomSearch, Strategy

#: Compute units of the device that is made up, and strips of its matrix at T = 64 and alpha = 8.
UNITS, STRIPS = 30, 3000


def surface(values: Values) -> float:
    """Seconds, in the shape of CUDAlign's (Sandes & de Melo; thesis 2011, figure 6.1): fast where B
    is a multiple of the units, slow where one more group needs another round; a higher alpha costs
    less a row until it no longer fits the registers."""
    B, T, alpha, chunk = (values[name] for name in ("B", "T", "alpha", "chunk"))
    resident = 6 if alpha <= 16 else 4 if alpha <= 24 else 2
    rounds = -(-B // (UNITS * resident)) if B > UNITS * resident else 1
    spread = -(-B // UNITS) * UNITS / B  # some units have a group more than others
    hidden = 1 - exp(-min(B / UNITS, resident) * T / 160)
    row = 1 + 3 / alpha + (0.6 if alpha > 20 else 0.0)
    strips = STRIPS * 512 / (T * alpha)
    fill = 1 + B * (T + chunk) / (strips / B * 40_000 + 1e5) / 10
    report = 1 + 12 / chunk
    return 0.004 * row * spread * fill * report * (1 + 0.02 * rounds) / hidden


def too_large(values: Values) -> str | None:
    return "too many registers" if values["T"] * values["alpha"] > 4096 else None


def device_space(**start: float) -> Space:
    """The dimensions of a strip engine; candidates of B between multiples of the units, too."""
    return Space(
        (
            Dimension("alpha", (4, 6, 8, 10, 12, 16, 20, 24, 32), builds=True),
            Dimension("T", (32, 64, 128), builds=True),
            Dimension("B", tuple(UNITS * k // 3 for k in range(1, 31))),
            Dimension("chunk", (16, 32, 64, 128, 256, 512, 1024)),
        ),
        {"B": UNITS, "T": 64, "alpha": 8, "chunk": 256, **start},
        too_large,
    )


SPACE = device_space()
TABLE = {SPACE.key(values): surface(values) for values in SPACE.every()}
BEST = min(TABLE.values())


class Device:
    """What is measured: noise, failures, and a clock that runs and builds move on."""

    def __init__(
        self,
        noise: float = 0.0,
        seed: int = 0,
        build: float = 0.0,
        fails: Callable[[Values], str | None] = lambda values: None,
        drift: float = 0.0,
    ) -> None:
        self.noise, self.build, self.fails, self.drift = noise, build, fails, drift
        self.random = random.Random(seed)
        self.now = self.slow = 0.0
        self.built: list[tuple[float, ...]] = []
        self.calls: list[tuple[float, ...]] = []

    def clock(self) -> float:
        return self.now

    def measure(self, values: Values) -> float:
        self.calls.append(SPACE.key(values))
        if SPACE.build(values) not in self.built:
            self.built.append(SPACE.build(values))
            self.now += self.build
        kind = self.fails(values)
        if kind is not None:
            raise Failure(kind)
        self.slow += self.random.gauss(-self.slow / 50, self.drift)  # a clock that wanders
        seconds = surface(values) * exp(self.slow) * exp(self.random.gauss(0, self.noise))
        self.now += seconds
        return seconds

    def search(self, budget: float = inf, space: Space = SPACE, **how: object) -> Found:
        return search(space, self.measure, budget, clock=self.clock, **how)  # type: ignore[arg-type]
