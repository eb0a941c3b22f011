"""Search on several devices: made-up engines that fail anywhere, and the CPU in two parts."""

from __future__ import annotations

import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from searching import Letters, expected, mixed, scores, subjects_of, vector

from pysw_cl import Searcher
from pysw_cl.database.passes import Asked
from pysw_cl.engines.search import together
from pysw_cl.engines.search.contract import Scores, SearchEngine
from pysw_cl.engines.search.together import Member, TogetherSearch
from pysw_cl.errors import DeviceError, DeviceMemoryError, RecomputedWarning
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.sequence_set import SequenceSet

Random = np.random.Generator


def score(query: Letters, one: Letters) -> int:
    """A number that depends on all letters; many are equal."""
    return int(query.sum()) * int(one.sum()) % 7


class Made(SearchEngine):
    """Scores that are made up, some queries ahead; it may fail at any call."""

    most_letters = 1 << 20

    def __init__(self, name: str, rng: Random, faults: float = 0.0, pause: float = 0.0) -> None:
        self.name, self.rng, self.faults, self.pause = name, rng, faults, pause
        self.cells, self.there, self.closed = Counter[str](), 0, False
        self.thread = threading.current_thread()

    def meet(self) -> None:
        assert threading.current_thread() is self.thread and not self.closed
        time.sleep(self.pause)
        if self.rng.random() < self.faults:
            kind = DeviceMemoryError if self.rng.random() < 0.5 else DeviceError
            raise kind(f"{self.name} failed")

    def hold(self, subjects: SequenceSet) -> Any:
        self.meet()
        assert len(subjects) and subjects.lengths.sum() == len(subjects.letters)
        self.there += 1
        return subjects

    def scores(
        self, queries: Iterable[Letters], held: Any, done: Callable[[int], None]
    ) -> Iterator[Scores]:
        self.meet()  # it begins at once
        return self.made(queries, held)

    def made(self, queries: Iterable[Letters], held: Any) -> Iterator[Scores]:
        own, waiting = np.empty(len(held), np.int32), deque[Letters]()
        for query in [*queries, None] if self.rng.random() < 0.1 else iter(queries):
            if query is not None:
                waiting.append(query)
            while len(waiting) > 2:
                yield self.take(waiting.popleft(), held, own)
        while waiting:
            yield self.take(waiting.popleft(), held, own)

    def take(self, query: Letters, held: Any, own: Scores) -> Scores:
        self.meet()
        own[:] = [score(query, one) for one in held]
        self.cells["made"] += len(query) * len(held.letters)
        return own

    def free(self, held: Any) -> None:
        self.meet()
        self.there -= 1

    def close(self) -> None:
        self.closed = True


def sequences(rng: Random, count: int, most: int) -> list[Letters]:
    return [rng.integers(65, 91, int(rng.integers(1, most + 1))).astype(np.uint8)
            for _ in range(count)]  # fmt: skip


def wild(engine: TogetherSearch, rng: Random) -> None:
    """Let shares be of any sizes, at any time."""

    def shares(subjects: SequenceSet) -> list[tuple[Member, int]]:
        stops = np.sort(rng.integers(0, len(subjects) + 1, len(engine.members) - 1))
        order = rng.permutation(len(engine.members)).tolist()
        ends = [*stops.tolist(), len(subjects)]
        return [(engine.members[k], end) for k, end in zip(order, ends, strict=True)]

    wrong = engine._wrong
    engine._shares = shares  # type: ignore[method-assign]
    engine._wrong = lambda held, left: wrong(held, left) or bool(rng.random() < 0.2)  # type: ignore[method-assign]


@pytest.mark.parametrize("seed", range(60))
def test_shares_of_any_sizes_and_faults_anywhere(seed: int, monkeypatch: Any) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(together, "WORTH", 0.0 if seed % 2 else 1e9)
    monkeypatch.setattr(together, "PIECE", int(rng.integers(1, 200)))
    monkeypatch.setattr(together, "MEASURED", 1e-9)
    monkeypatch.setattr(together, "MOST_AHEAD", int(rng.integers(1, 9)))
    faults, made = [0.0, 0.02, 0.2][seed % 3], list[Made]()

    def make(name: str) -> Made:
        own = np.random.default_rng([seed, ord(name)])
        last = name == "a"  # it never fails
        made.append(Made(name, own, 0 if last else faults, float(own.random()) / 2000))
        return made[-1]

    engine = TogetherSearch("abcd"[: int(rng.integers(2, 5))], make)
    if seed % 4:
        wild(engine, rng)
    parts = [subjects_of(sequences(rng, int(rng.integers(1, 40)), 12)) for _ in range(3)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        held = [engine.hold(one) for one in parts]
        for _ in range(4):
            queries, told = sequences(rng, int(rng.integers(1, 20)), 9), list[int]()
            for part, one in zip(parts, held, strict=True):
                rows = engine.scores(iter(queries), one, told.append)
                for query, found in zip(queries, rows, strict=True):
                    assert found.tolist() == [score(query, one) for one in part]
            letters = sum(len(part.letters) for part in parts)
            assert sum(told) == sum(map(len, queries)) * letters
        for one in held:
            engine.free(one)
    assert len(said) == len(engine.failed) and all(
        one.category is RecomputedWarning for one in said
    )
    assert faults or not said
    left = [one.device for one in engine.members]
    assert sorted([*left, *engine.failed]) == sorted(one.name for one in made)
    assert all(one.there == 0 for one in made if one.name in left)
    engine.close()
    deadline = time.monotonic() + 5
    while not all(one.closed for one in made) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert all(one.closed for one in made)


def test_the_last_one_gone_is_the_error() -> None:
    rng = np.random.default_rng(1)
    engine = TogetherSearch("ab", lambda name: Made(name, rng))
    held = engine.hold(subjects_of(sequences(rng, 9, 9)))
    for one in engine.members:
        one.engine.faults = 1.0  # type: ignore[attr-defined]
    with (
        pytest.warns(RecomputedWarning, match="a failed"),
        pytest.raises(DeviceError, match="b failed"),
    ):
        list(engine.scores(sequences(rng, 2, 9), held, lambda cells: None))
    engine.close()


def test_other_errors_and_a_caller_that_stops() -> None:
    rng = np.random.default_rng(2)
    engine = TogetherSearch("ab", lambda name: Made(name, rng))
    wild(engine, rng)
    held = engine.hold(subjects_of(sequences(rng, 9, 9)))
    rows = engine.scores(sequences(rng, 20, 9), held, lambda cells: None)
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert len(list(engine.scores(sequences(rng, 20, 9), held, lambda cells: None))) == 20

    def told(cells: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(engine.scores(sequences(rng, 20, 9), held, told))
    for one in engine.members:
        one.engine.meet = lambda: 1 / 0  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError):
        engine.hold(subjects_of(sequences(rng, 9, 9)))
    engine.close()


@pytest.mark.parametrize("slow", [0.004, 0.5])
def test_shares_follow_the_speed(slow: float, monkeypatch: Any) -> None:
    """A second device gets what suits its speed; one that would not help gets nothing."""
    monkeypatch.setattr(together, "WORTH", 0.0)
    monkeypatch.setattr(together, "PIECE", 500)
    monkeypatch.setattr(together, "MEASURED", 1e-9)
    rng = np.random.default_rng(3)

    class Timed(Made):
        def take(self, query: Letters, held: Any, own: Scores) -> Scores:
            speed = 4e6 if self.name == "a" else 4e6 * slow
            time.sleep(len(query) * len(held.letters) / speed)
            return own

    engine = TogetherSearch("ab", lambda name: Timed(name, rng))
    held = engine.hold(subjects_of(sequences(rng, 400, 100)))
    queries = [np.full(9, 65, np.uint8)] * 12
    for _ in range(3):
        list(engine.scores(queries, held, lambda cells: None))
    letters = {one.member.device: len(one.subjects.letters) for one in held.shares}
    if slow < together.LEAST_SHARE:
        assert [*letters] == ["a"]
    else:
        assert 0.2 < letters["b"] / sum(letters.values()) < 0.45
    engine.close()


def halves() -> list[Any]:
    """Two parts of the CPU."""
    device = get_runtime("cpu").device
    if device.max_compute_units < 2:
        pytest.skip("the CPU has one core")
    equally = cl.device_partition_property.EQUALLY
    return list(device.create_sub_devices([equally, device.max_compute_units // 2, 0])[:2])


def proteins(rng: Random, count: int) -> list[str]:
    """Proteins of which many are the same."""
    some = ["".join(rng.choice(list("ARNDCQEGHILKMFPSTWYV"), int(m)))
            for m in rng.integers(1, 90, count // 3)]  # fmt: skip
    return [some[k] for k in rng.integers(0, len(some), count)]


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("most", [1 << 28, 700])
def test_hits_are_the_same_bytes(mode: Any, most: int, monkeypatch: Any) -> None:
    """Whatever the shares are, for a database that stays or streams, with faults, too."""
    rng, both = np.random.default_rng(4), halves()
    targets, queries = proteins(rng, 80), proteins(rng, 8)
    asked: dict[str, Any] = {"top": 9, "output": "path"}
    monkeypatch.setattr("pysw_cl.database.passes.PART", 1500)

    def rows(searcher: Searcher) -> list[list[Any]]:
        return [[(one.number, one.score, one.cigar, one.query_start) for one in hits]
                for hits in searcher.search(queries, **asked)]  # fmt: skip

    with Searcher(targets, mode=mode, device="cpu") as s:
        known = rows(s)
    for seed in range(4):
        with Searcher(targets, mode=mode, device=both) as s:
            engine = s._ready(Asked(s._options, None, None))
            assert isinstance(engine, TogetherSearch)
            engine.most_letters = most
            wild(engine, np.random.default_rng(seed))
            assert rows(s) == rows(s) == known
            assert s.stats.total_cells > 0 and not s.stats.failed
            if seed < 1:
                continue
            runtime = engine.members[seed % 2].device
            with monkeypatch.context() as patch, warnings.catch_warnings():
                warnings.simplefilter("ignore", RecomputedWarning)
                calls = iter(range(seed * 5))

                def failing(self: Runtime, own: Any = Runtime.failing, gone: Any = runtime,
                            calls: Any = calls) -> Any:  # fmt: skip
                    if self.device == gone.device and next(calls, None) is None:
                        raise DeviceError("gone")
                    return own(self)

                patch.setattr(Runtime, "failing", failing)
                assert rows(s) == rows(s) == known
            assert s.stats.failed == [runtime.info.name], str(s.stats)


def test_engines_of_two_kinds() -> None:
    """That of GPUs computes ahead; its shares change in the midst of it."""
    rng, scoring = np.random.default_rng(7), make_scoring("BLOSUM62", (10, 1))
    amino = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)
    some = [amino[rng.integers(0, 20, int(m))] for m in rng.integers(1, 60, 40)]
    subjects, queries = subjects_of(some), some[:15]
    known = [expected(query, list(subjects), scoring).tolist() for query in queries]
    for seed in range(4):
        engine = TogetherSearch([mixed, vector], lambda make: make(scoring))
        wild(engine, np.random.default_rng(seed))
        held = engine.hold(subjects)
        for _ in range(2):
            found = [one.tolist() for one in engine.scores(queries, held, lambda cells: None)]
            assert found == known
        assert {one.split("/")[1] for one in engine.cells} == {"mixed", "vector"}
        engine.close()


def test_threads_share_a_searcher_on_several_devices() -> None:
    rng = np.random.default_rng(5)
    targets, query = proteins(rng, 60), proteins(rng, 3)[:1]
    found = list[Any]()
    with Searcher(targets, device=halves()) as s:
        wild(s._ready(Asked(s._options, None, None)), rng)  # type: ignore[arg-type]
        threads = [
            threading.Thread(target=lambda: found.append(next(s.search(query))[0].score))
            for _ in range(6)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(found) == 6 and len(set(found)) == 1
        s.close()
        assert next(s.search(query))[0].score == found[0]


def test_the_contract() -> None:
    rng = np.random.default_rng(6)
    some = sequences(rng, 30, 20)
    engine = TogetherSearch("ab", lambda name: Made(name, rng))
    found = scores(engine, some[:3], subjects_of(some))
    assert [len(one) for one in found] == [30] * 3
