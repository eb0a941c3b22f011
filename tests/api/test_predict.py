"""`predict` and `plan`: what they say, and that the engines do what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import InputError, PlanError
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning.profiles.profile import Profile, save
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
    said = pysw_cl.predict(m, n, output="score", **options)
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
    small = replace(get_runtime("auto").facts, memory=1000, largest=1000)
    monkeypatch.setattr(Runtime, "facts", small)
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


def similar_pair(length: int, changed: float = 0.05) -> tuple[Any, Any]:
    rng = np.random.default_rng(length)
    query, other = rng.choice(np.frombuffer(b"ACGT", np.uint8), (2, length))
    target = np.where(rng.random(length) < 4 / 3 * changed, other, query)
    return query, np.delete(target, np.arange(500, length, 500))  # 0.2% are left out


def test_sequences_that_are_similar_prune_and_have_a_path() -> None:
    query, target = similar_pair(30_000)
    other = random_pair(30_000, len(target))[1]
    score = {"output": "score"}
    size = pysw_cl.predict(30_000, len(target), **score)
    unlike, like = (pysw_cl.predict(query, one, **score) for one in (other, target))
    assert unlike.parts == size.parts and unlike.memory == size.memory
    assert like.parts["sweep"] < 0.9 * unlike.parts["sweep"]
    whole = pysw_cl.predict(query, target, prune=False, **score)
    assert whole.parts["sweep"] >= max(like.parts["sweep"], size.parts["sweep"])
    assert whole.parts["host"] == size.parts["host"]
    paths = [pysw_cl.predict(query, one).parts["path"] for one in (other, target)]
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
