"""The search for the fastest values, on a surface of times that is known: no device."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, inf, nan
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

import pytest

from pysw_cl.planning.tuning import runner
from pysw_cl.planning.tuning.runner import FAILURES, Runner
from pysw_cl.planning.tuning.search import search
from pysw_cl.planning.tuning.strategies import Exhaustive, Ranking, Space, Strategy, Values

#: Compute units of the device that is made up, and strips of its matrix at T = 64 and alpha = 8.
UNITS, STRIPS = 30, 3000
#: Errors by the kind of failure that they are.
ERRORS = {kind: error for error, kind in FAILURES.items()}
KINDS = list(ERRORS)


class Found(NamedTuple):
    """What a search found."""

    values: Values | None
    seconds: float | None
    start_seconds: float | None
    measured: int
    runs: int
    failed: dict[str, int]
    spent: float


@dataclass(frozen=True)
class RandomSearch:
    """Values at random, eight in a round, ``count`` in all.  ``seed`` decides which."""

    count: int
    seed: int = 0

    def rounds(self, space: Space, ranking: Ranking) -> Iterator[Sequence[Values]]:
        """See `Strategy`."""
        every = space.every()
        drawn = random.Random(self.seed).sample(every, min(self.count, len(every)))
        for first in range(0, len(drawn), 8):
            yield drawn[first : first + 8]


def surface(values: Values) -> float:
    """Seconds, in the shape of CUDAlign's (Sandes & de Melo; thesis 2011, figure 6.1): fast where B
    is a multiple of the units, slow where one more group needs another round; a higher alpha costs
    less a row until it no longer fits the registers."""
    B, T, alpha, chunk = (values[name] for name in ("B", "T", "alpha", "chunk"))
    resident = 6 if alpha <= 16 else 4 if alpha <= 24 else 2
    rounds = -(-B // (UNITS * resident)) if UNITS * resident < B else 1
    spread = -(-B // UNITS) * UNITS / B  # some units have a group more than others
    hidden = 1 - exp(-min(B / UNITS, resident) * T / 160)
    row = 1 + 3 / alpha + (0.6 if alpha > 20 else 0.0)
    strips = STRIPS * 512 / (T * alpha)
    fill = 1 + B * (T + chunk) / (strips / B * 40_000 + 1e5) / 10
    report = 1 + 12 / chunk
    return 0.004 * row * spread * fill * report * (1 + 0.02 * rounds) / hidden


def fits(values: Values) -> bool:
    """Does the device have registers enough?"""
    return values["T"] * values["alpha"] <= 4096


def key(values: Values) -> tuple[float, ...]:
    return tuple(values[name] for name in ("alpha", "T", "B", "chunk"))


def device_space(**start: float) -> Space:
    """The dimensions of a strip engine; candidates of B between multiples of the units, too."""
    return Space(
        {
            "alpha": (4, 6, 8, 10, 12, 16, 20, 24, 32),
            "T": (32, 64, 128),
            "B": tuple(UNITS * k // 3 for k in range(1, 31)),
            "chunk": (16, 32, 64, 128, 256, 512, 1024),
        },
        {"B": UNITS, "T": 64, "alpha": 8, "chunk": 256, **start},
        ("alpha", "T"),
        fits,
    )


SPACE = device_space()
TABLE = {key(values): surface(values) for values in SPACE.every()}
BEST = min(TABLE.values())


class Device:
    """What is measured: a surface with noise, failures, and a clock that runs and builds move."""

    def __init__(
        self,
        space: Space = SPACE,
        times: Callable[[Values], float] = surface,
        noise: float = 0.0,
        seed: int = 0,
        build: float = 0.0,
    ) -> None:
        self.space, self.times, self.noise, self.build = space, times, noise, build
        self.random = random.Random(seed)
        self.now = self.slow = 0.0
        self.calls: list[Values] = []
        self.failed: list[Values] = []
        self.builds: list[tuple[float, ...]] = []
        #: Calls before it is killed.
        self.left = inf

    def measure(self, values: Values) -> float:
        if len(self.calls) >= self.left:
            raise KeyboardInterrupt
        self.calls.append(values)
        if self.space.build(values) not in self.builds:
            self.builds.append(self.space.build(values))
            self.now += self.build
        kind = self.fails(values)
        if kind is not None:
            self.failed.append(values)
            raise ERRORS[kind](kind)
        self.slow += self.random.gauss(-self.slow / 50, self.noise / 10)  # for a while
        scatter = self.random.uniform(-self.noise, self.noise)
        seconds = self.times(values) * exp(self.slow) * (1 + scatter) * self.disturbed()
        self.now += seconds
        return seconds

    def fails(self, values: Values) -> str | None:
        return None

    def disturbed(self) -> float:
        return 1.0

    def search(
        self,
        budget: float = inf,
        strategy: Strategy | None = None,
        path: Path | None = None,
    ) -> Found:
        with mock.patch.object(runner, "time", SimpleNamespace(monotonic=lambda: self.now)):
            ran = Runner(self.measure, path, "one", self.space.build)
            best = search(self.space, ran, budget, strategy)
        seconds = ran.seconds(best) if best is not None else None
        before = ran.seconds(self.space.start)
        return Found(best, seconds, before, len(ran.tried), ran.runs, ran.failed, ran.spent)


def share(found: Found) -> float:
    """How much of the best speed was found."""
    assert found.values is not None
    return BEST / surface(found.values)


def small_space(**start: float) -> Space:
    """Two dimensions of the same surface."""
    fixed = {"T": 128, "chunk": 512}
    return Space(
        {"B": range(15, 301, 15), "alpha": (8, 12, 16, 20, 24), "T": (), "chunk": ()},
        {"B": 30, "alpha": 8, **fixed, **start},
        ("alpha",),
        fits,
    )


def test_the_best_of_a_table_is_found() -> None:
    device = Device()
    found = device.search()
    assert found.values is not None
    assert TABLE[key(found.values)] == BEST == found.seconds
    assert found.start_seconds == surface(SPACE.start)
    assert found.measured == len({key(values) for values in device.calls}) < len(TABLE) / 20
    assert (found.failed, found.runs) == ({}, len(device.calls))
    assert found.spent == pytest.approx(device.now)


@pytest.mark.parametrize("start", [{"B": 37, "chunk": 16}, {"B": 300, "T": 32, "alpha": 24}])
def test_it_is_found_from_elsewhere(start: dict[str, float]) -> None:
    """Also where the start is no candidate."""
    space = device_space(**start)
    found = Device(space).search()
    assert share(found) >= 0.99
    assert found.start_seconds == surface(space.start)


def test_noise_costs_a_percent_at_most() -> None:
    """Runs scatter by 10% to both sides, and by some more from one while to the next."""
    shares = [share(Device(noise=0.1, seed=seed).search()) for seed in range(6)]
    assert mean(shares) >= 0.99
    assert min(shares) >= 0.97


def test_small_noise_costs_nothing_to_speak_of() -> None:
    shares = [share(Device(noise=0.01, seed=seed).search()) for seed in range(8)]
    assert min(shares) >= 0.99


def test_disturbed_runs_do_not_matter() -> None:
    """One run in twenty takes twice as long."""

    class Disturbed(Device):
        def disturbed(self) -> float:
            return 2.0 if self.random.random() < 0.05 else 1.0

    assert min(share(Disturbed(noise=0.02, seed=seed).search()) for seed in range(6)) >= 0.99


def test_two_searches_agree() -> None:
    times = [
        surface(found.values)
        for seed in range(8)
        if (found := Device(noise=0.03, seed=seed).search()).values
    ]
    assert max(times) <= 1.02 * min(times)


@pytest.mark.parametrize("worse", [0.01, 0.03])
def test_nothing_slower_than_the_start_is_found(worse: float) -> None:
    """Where all others are a little slower."""
    space = small_space(B=120, alpha=20)

    def flat(values: Values) -> float:
        return 0.01 if values == space.start else 0.01 * (1 + worse)

    for seed in range(6):
        found = Device(space, flat, noise=0.03, seed=seed).search()
        assert found.values == space.start
        assert found.seconds == found.start_seconds


def test_gains_beyond_noise_are_taken_and_others_left() -> None:
    """A single value is faster than all others: by 20%, or by less than what is worth it."""
    space = small_space(B=120, alpha=20)
    for gain, taken in ((0.2, True), (0.002, False)):

        def times(values: Values, gain: float = gain) -> float:
            return 0.01 * (1 - gain) if values["B"] == 135 and values["alpha"] == 20 else 0.01

        found = [Device(space, times, 0.03, seed).search().values for seed in range(4)]
        assert (sum(values != space.start for values in found) >= 3) is taken


class Failing(Device):
    """One value in five always fails, in any way, and one run in two hundred."""

    def fails(self, values: Values) -> str | None:
        kinds = random.Random(str(sorted(values.items())))
        if kinds.random() < 0.2 and values != self.space.start:
            return kinds.choice(KINDS)
        return self.random.choice(KINDS) if self.random.random() < 0.005 else None


@pytest.mark.parametrize("seed", range(4))
def test_failures_are_passed_over(seed: int) -> None:
    device = Failing(noise=0.02, seed=seed)
    found = device.search()
    sound = [values for values in SPACE.every() if Failing().fails(values) is None]
    assert found.values is not None
    assert found.values not in device.failed
    assert surface(found.values) <= 1.05 * min(map(surface, sound))
    assert len(device.failed) == len({key(values) for values in device.failed})
    assert sum(found.failed.values()) == len(device.failed)
    assert set(found.failed) <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_that_fails_is_not_chosen(kind: str) -> None:
    class NoStart(Device):
        def fails(self, values: Values) -> str | None:
            return kind if values == self.space.start else None

    device = NoStart(small_space())
    found = device.search()
    assert share(found) >= 0.99
    assert (found.start_seconds, found.failed) == (None, {kind: 1})
    assert device.calls.count(device.space.start) == 1


def test_what_fails_at_last_is_not_chosen() -> None:
    """The best and the start run well until the last race."""

    class Late(Device):
        def fails(self, values: Values) -> str | None:
            late = self.calls.count(values) > 8
            return "wrong" if late and values in (best.values, self.space.start) else None

    best = Device(small_space()).search()
    device = Late(small_space(), noise=0.02)
    found = device.search()
    assert found.values is not None
    assert found.values not in (best.values, device.space.start)
    assert best.values in device.failed
    assert share(found) >= 0.9


def test_nothing_is_found_where_everything_fails() -> None:
    class Broken(Device):
        def fails(self, values: Values) -> str | None:
            return "launch"

    device = Broken(small_space())
    found = device.search()
    assert (found.values, found.seconds, found.start_seconds) == (None, None, None)
    assert found.failed == {"launch": found.measured}
    assert len(device.calls) == found.measured


@pytest.mark.parametrize("budget", [0.0, 0.05, 0.5, 3.0, 15.0, 40.0])
@pytest.mark.parametrize("build", [0.0, 0.3, 5.0])
def test_the_budget_is_kept(budget: float, build: float) -> None:
    device = Device(noise=0.01, build=build)
    found = device.search(budget)
    first = build + 0.03  # nothing was known before it
    assert device.now <= max(budget + 0.03, first)
    assert found.spent == pytest.approx(device.now)
    assert surface(found.values or SPACE.start) <= surface(SPACE.start)
    assert (device.calls[0], found.values is None) == (SPACE.start, False)
    if device.builds:
        assert len(device.builds) <= max(1, budget / max(build, 1e-9))
    if budget >= 15 and build < 1:
        assert share(found) >= 0.98
    if budget >= 3 and build < 1:
        assert surface(found.values or SPACE.start) < 0.5 * surface(SPACE.start)


def test_what_needs_no_build_comes_first() -> None:
    device = Device(build=5.0)
    device.search()
    builds = [SPACE.build(values) for values in device.calls]
    first = next(k for k, build in enumerate(builds) if build != builds[0])
    tried = device.calls[:first]
    assert min(len({values[name] for values in tried}) for name in ("B", "chunk")) >= 5
    best = min(map(surface, tried))  # all that this build has is taken before the next
    assert best <= 1.01 * min(
        surface(values) for values in SPACE.every() if SPACE.build(values) == builds[0]
    )


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    """After any run: it ends in the same way, and nothing is measured twice."""

    def device() -> Device:
        return Failing(small_space(), noise=0.02, build=0.5, seed=3)

    whole = device()
    wanted = whole.search(3.0, path=tmp_path / "whole")
    for killed in range(0, len(whole.calls), 9):
        path, again = tmp_path / f"{killed}", device()
        again.left = killed
        with pytest.raises(KeyboardInterrupt):
            again.search(3.0, path=path)
        with path.open("ab") as file:
            file.write(b'\n{"key": "one", "values": {"B": 3')
        again.left = inf
        found = again.search(3.0, path=path)
        assert found == wanted
        assert again.calls == whole.calls
    calls = len(again.calls)
    assert again.search(3.0, path=path) == wanted
    assert len(again.calls) == calls
    assert again.search(80.0, path=path).spent > 3.0


@pytest.mark.parametrize("seconds", [0.0, -1.0, nan, inf])
def test_times_that_cannot_be(seconds: float) -> None:
    ran = Runner(lambda values: seconds)
    assert search(small_space(), ran, 1.0) is None
    assert set(ran.failed) == {"wrong"}


def test_strategies_can_be_replaced() -> None:
    space = small_space()
    best = min(space.every(), key=surface)
    everything = Device(space, noise=0.01)
    assert everything.search(strategy=Exhaustive()).values == best
    assert {key(v) for v in everything.calls} == {key(v) for v in space.every()}
    assert surface(Device(space).search(strategy=RandomSearch(40)).values or {}) < 1.1 * BEST
    drawn = [Device(space) for _ in range(3)]
    for device, seed in zip(drawn, (1, 1, 2), strict=True):
        assert device.search(strategy=RandomSearch(10, seed=seed)).measured <= 11
    assert drawn[0].calls == drawn[1].calls != drawn[2].calls

    class Upward:
        """One more group, as long as that is faster."""

        def rounds(self, space: Space, ranking: Ranking) -> Iterator[list[Values]]:
            values = space.start
            while values == ranking()[0]:
                values = {**values, "B": values["B"] + 15}
                yield [values]

    uphill = Device(space).search(strategy=Upward())
    assert uphill.values == space.start  # B = 45 is slower: between two multiples
