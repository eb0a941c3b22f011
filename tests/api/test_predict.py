"""`predict` and `plan`: what they say, and that the engines do what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.api.calibrate_similar import mutated
from pysw_cl.engines.choose_device import device_for, seconds_on
from pysw_cl.errors import InputError, PlanError
from pysw_cl.opencl.device import Runtime, get_runtime, runtimes_to_choose_from
from pysw_cl.planning.memory_parts import DeviceFacts
from pysw_cl.planning.profiles.profile import Profile
from pysw_cl.planning.profiles.store import save
from pysw_cl.scoring.scoring import cached_scoring

DNA = cached_scoring((1, -3), (3, 2), None, "error")


def random_pair(m: int, n: int) -> tuple[bytes, bytes]:
    rng = np.random.default_rng([m, n])
    letters = np.frombuffer(b"ACGT", np.uint8)
    return letters[rng.integers(0, 4, m)].tobytes(), letters[rng.integers(0, 4, n)].tobytes()


@pytest.mark.parametrize(
    ("m", "n", "options", "way"),
    [
        (100, 300, {}, "held"),
        (3000, 5000, {}, "strips"),
        (600, 500_000, {}, "sections"),
        (900, 2000, {"plan": {"engine": "rowscan"}}, "rows"),
        (2000, 900, {"mode": "global"}, "strips"),
    ],
)
def test_what_is_predicted_is_what_runs(m: int, n: int, options: dict[str, Any], way: str) -> None:
    said = pysw_cl.predict(m, n, **options)
    assert said.way == way and said.cells == m * n
    low, high = said.interval
    assert 0 < low < said.seconds < high and said.gcups > 0 and said.source
    found = pysw_cl.align(*random_pair(m, n), output="score", max_cost=None, **options)
    lanes = {"held": "held", "rows": "rowscan"}.get(way, "wavefront")
    assert all(kind.startswith(lanes) for kind in found.stats.cells)
    assert said.memory == pytest.approx(found.stats.device_bytes, rel=0.05)


def test_more_takes_longer() -> None:
    seconds = [pysw_cl.predict(n, n).seconds for n in (500, 2000, 20_000, 10**6, 10**8)]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("wrong", [0, -5, 1.5, "a", None, True])
def test_wrong_lengths(wrong: Any) -> None:
    with pytest.raises(InputError):
        pysw_cl.predict(wrong, 100)


def test_wrong_options() -> None:
    with pytest.raises(PlanError, match="not one of"):
        pysw_cl.predict(100, 100, plan={"C": 5})
    with pytest.raises(InputError, match="mode"):
        pysw_cl.plan(100, 100, mode="sideways")


def test_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pysw_cl.predict(3000, 4000).too_large is None
    small = replace(DeviceFacts.of(get_runtime("auto")), memory=1000, largest=1000)
    monkeypatch.setattr(DeviceFacts, "of", classmethod(lambda cls, runtime: small))
    said = pysw_cl.predict(3000, 4000).too_large
    assert said is not None and "device memory are needed" in said


def test_a_plan_says_why() -> None:
    chosen = pysw_cl.plan(1024, 4_000_000)
    assert chosen.prediction.way == "sections"
    best, second = chosen.alternatives[0], chosen.second
    assert second is not None and best.seconds <= second.seconds
    said = str(chosen)
    for word in ("sections side by side", "alpha=", "B=", "profile:", "second best:", "8 bits"):
        assert word in said, said


def test_the_profile_decides(profile_folder: Any) -> None:
    """Its parameters make plans, its times choose and predict."""
    runtime = get_runtime("auto")
    identity, lanes = runtime.identity, runtime.info.lanes
    before = pysw_cl.predict(5000, 6000)
    slow = {f"wavefront/{lanes}": {"column": 1e-5, "row": 0.0}}
    save(Profile(identity, "", {f"wavefront/{lanes}": {"chunk": 64}}, slow, 0.5))
    said = pysw_cl.predict(5000, 6000)
    assert said.seconds > 20 * before.seconds and "the user's" in said.source
    assert said.plan.chunk == 64 and said.plan.alpha == max(said.plan.alphas)  # fewest columns
    assert said.interval[1] == pytest.approx(1.5 * said.seconds)


def test_odd_times_do_no_harm(profile_folder: Any) -> None:
    """A profile decides how long a run takes, never what it gives, nor whether it ends."""
    runtime = get_runtime("auto")
    lanes = runtime.info.lanes
    a, b = random_pair(700, 800)
    wanted = pysw_cl.align(a, b)
    for times in (
        {f"wavefront/{lanes}": {"column": 0.0, "row": 0.0}, "path": {"row": 0.0}},
        {f"wavefront/{lanes}": {"8@1": 0.0, "@": 1.0, "x@2": 1.0, "8@0": 5.0, "8@": 2.0}},
        {"call": {}, "rowscan": {}, f"wavefront/{lanes}": {}, "moves/vector32": {}},
    ):
        save(Profile(runtime.identity, "", {}, times, 0.5))
        assert pysw_cl.align(a, b, mode="global", output="score").score is not None
        found = pysw_cl.align(a, b)
        assert (found.score, found.cigar) == (wanted.score, wanted.cigar)
        assert pysw_cl.predict(700, 800).seconds >= 0 and str(pysw_cl.plan(700, 800))


class _Device:
    """Stands for a runtime, with a time of its own for each cell."""

    def __init__(self, runtime: Runtime, cell: float, used: bool) -> None:
        self._runtime, self.programs = runtime, {1: 1} if used else {}
        times = {
            "wavefront": {"column": 1024 * cell, "row": 0.0},
            "held": {"cell": cell, "launch": 1e-3 if cell > 1e-11 else 1e-2},
            "call": {"call": 1e-3 if cell > 1e-11 else 1e-2},
        }
        self._profile = Profile(replace(runtime.identity, driver=str(cell)), "", {}, times)

    def profile(self) -> tuple[Profile, str]:
        return self._profile, "made here"

    def kept(self, name: str, make: Any) -> Any:
        return make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


def test_small_jobs_and_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The near device begins sooner, the fast one is done sooner; builds count."""
    runtime = get_runtime("auto")
    fast, near = _Device(runtime, 1e-13, True), _Device(runtime, 1e-10, True)
    from pysw_cl.engines import choose_device

    monkeypatch.setattr(choose_device, "runtimes_to_choose_from", lambda device: [fast, near])
    assert device_for("auto", 200, 300, DNA, "local") is near
    assert device_for("auto", 100_000, 100_000, DNA, "local") is fast
    fast.programs = {}
    assert device_for("auto", 20_000, 20_000, DNA, "local") is near
    assert device_for("auto", 10**6, 10**6, DNA, "local") is fast
    assert seconds_on(fast, 100, 100, DNA, "local") > 1  # type: ignore[arg-type]


def test_calls_of_about_one_size_share_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """To make it takes longer than to align a short pair."""
    from pysw_cl.engines import choose_device

    runtime, asked = get_runtime("auto"), list[tuple[int, int]]()

    def seconds(_: Runtime, m: int, n: int, *__: Any) -> float:
        asked.append((m, n))
        return 1.0

    monkeypatch.setattr(choose_device, "runtimes_to_choose_from", lambda device: [runtime] * 2)
    monkeypatch.setattr(choose_device, "seconds_on", seconds)
    monkeypatch.setattr(choose_device, "_chosen", {})
    for m, n in ((2000, 31), (1985, 31), (2047, 31), (2048, 31), (2000, 30), (0, 1)):
        assert device_for("auto", m, n, DNA, "local") is runtime
    assert asked[::2] == asked[1::2] == [(1984, 31), (2048, 31), (1984, 30), (0, 1)]


def test_who_leaves_the_choice_to_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtimes_to_choose_from("cpu") == runtimes_to_choose_from(get_runtime("auto")) == []
    for variable in ("PYSW_CL_DEVICE", "PYOPENCL_CTX"):
        monkeypatch.delenv(variable, raising=False)
    kinds = [runtime.info.kind for runtime in runtimes_to_choose_from(" Auto ")]
    assert kinds and len(set(kinds)) == len(kinds)
    monkeypatch.setenv("PYSW_CL_DEVICE", "0:0")
    assert runtimes_to_choose_from("auto") == []


def similar_pair(length: int, changed: float = 0.05) -> tuple[Any, Any]:
    rng = np.random.default_rng(length)
    query = rng.choice(np.frombuffer(b"ACGT", np.uint8), length)
    return query, mutated(query, changed, rng)


def test_sequences_that_are_similar_prune_and_have_a_path() -> None:
    query, target = similar_pair(30_000)
    other = random_pair(30_000, len(target))[1]
    size = pysw_cl.predict(30_000, len(target))
    unlike, like = pysw_cl.predict(query, other), pysw_cl.predict(query, target)
    assert unlike.parts == size.parts and unlike.memory == size.memory
    assert like.parts["sweep"] < 0.9 * unlike.parts["sweep"]
    assert pysw_cl.predict(query, target, prune=False).parts == size.parts
    paths = [pysw_cl.predict(query, one, output="path").parts["path"] for one in (other, target)]
    assert 0 < 5 * paths[0] < paths[1]
    assert like.parts["path"] == 0
    ends = {"query_range": (10_000, 20_000), "target_range": (0, 5000)}
    part = pysw_cl.predict(query, target, output="path", **ends)
    assert part.shape == (10_000, 5000) and part.parts["path"] < paths[1] / 5


def test_both_strands_count() -> None:
    query, target = similar_pair(30_000)
    minus = pysw_cl.reverse_complement(query)
    one, both = pysw_cl.predict(30_000, 20_000), pysw_cl.predict(30_000, 20_000, strand="both")
    assert both.parts["sweep"] == pytest.approx(2 * one.parts["sweep"])
    assert both.parts["host"] == pytest.approx(2 * one.parts["host"])
    plus = pysw_cl.predict(query, target).parts["sweep"]
    for strand, given in (("minus", minus), ("both", minus), ("both", query)):
        found = pysw_cl.predict(given, target, strand=strand).parts["sweep"]
        assert plus <= found < 1.5 * plus + 1e-9  # the first score prunes most of the other
    assert pysw_cl.predict(minus, target).parts["sweep"] > plus


def test_proteins_and_small_ones() -> None:
    rng = np.random.default_rng(4)
    query = rng.choice(np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8), 3000)
    for sides in ((query, query), (query[:50], query), (query[:1], query[:1])):
        found = pysw_cl.predict(*sides, sub_score="BLOSUM62", output="path")
        assert found.seconds > 0 and found.shape == tuple(map(len, sides))
    assert pysw_cl.predict("ACGTNN" * 800, "ACG" * 1600, mode="global", output="path").seconds > 0


@pytest.mark.parametrize(
    ("sides", "options", "word"),
    [
        ((100, "ACGT"), {}, "two lengths or two sequences"),
        (("ACGT", ""), {}, "target"),
        (("ACGJ", "ACGT"), {}, "J"),
        ((100, 100), {"query_range": (0, 5)}, "go with sequences"),
        (("ACGT", "ACGT"), {"query_range": (3, 9)}, "query_range"),
    ],
)
def test_wrong_sequences(sides: Any, options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        pysw_cl.predict(*sides, **options)
