"""The search engines against parasail, and at the limits of their widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import make_scoring, match_scoring
from numpy.typing import NDArray
from searching import (
    FREE_ENDS,
    Counted,
    expected,
    letters,
    mixed,
    scores,
    subjects_of,
    vector,
)

from pysw_cl.engines.common import FreeEnd
from pysw_cl.engines.search.contract import SearchEngine
from pysw_cl.engines.search.mixed import limit
from pysw_cl.engines.search.vector import Streams
from pysw_cl.folders import kernel_source
from pysw_cl.planning import search
from pysw_cl.planning.pair_batch import filled
from pysw_cl.scoring.scoring import Scoring, cached_scoring

Letters = NDArray[np.uint8]
PROTEIN: Scoring = cached_scoring("BLOSUM62", (10, 1))
RESIDUES = letters("ARNDCQEGHILKMFPSTWYVBZX")
ENGINES = [vector, mixed]


def drawn(seed: int, count: int, longest: int, alphabet: Letters = RESIDUES) -> list[Letters]:
    """Sequences of 1 to ``longest`` letters."""
    rng = np.random.default_rng(seed)
    return [
        alphabet[rng.integers(0, len(alphabet), n)] for n in rng.integers(1, longest + 1, count)
    ]


def relatives(seed: int, of: Letters, count: int) -> list[Letters]:
    """Parts of a sequence with changes and gaps."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        a, b = sorted(rng.integers(0, len(of) + 1, 2))
        one = of[a : b + 1].copy()
        change = rng.random(len(one)) < 0.2
        one[change] = RESIDUES[rng.integers(0, 20, int(change.sum()))]
        found.append(np.concatenate([one[: len(one) // 2], one[len(one) // 2 + 3 :], of[:1]]))
    return found


def without_avx(name: str) -> str:
    """The text of a kernel file, as for a processor without these instructions."""
    return kernel_source(name).replace("__AVX2__", "__NONE__")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("m", [1, 2, 63, 200])
def test_local_scores_are_those_of_parasail(
    engine: Callable[[Scoring], SearchEngine], m: int
) -> None:
    query = np.resize(drawn(m, 1, 400)[0], m)
    subjects = subjects_of([*drawn(m + 1, 150, 90), *drawn(3, 2, 400), *relatives(2, query, 20)])
    (found,) = scores(engine(PROTEIN), [query], subjects)
    assert found.tolist() == expected(query, list(subjects), PROTEIN).tolist()


@pytest.mark.parametrize("ends", FREE_ENDS)
def test_other_modes_are_those_of_parasail(ends: FreeEnd) -> None:
    for seed, m in ((1, 1), (2, 40), (3, 150)):
        query = np.resize(drawn(seed, 1, 300)[0], m)
        subjects = subjects_of([*drawn(seed + 5, 90, 120), *relatives(seed, query, 20)])
        (found,) = scores(vector(PROTEIN, ends), [query], subjects)
        wanted = expected(query, list(subjects), PROTEIN, FREE_ENDS[ends])
        assert found.tolist() == wanted.tolist(), (ends, m)


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_of_tryptophan_at_the_limits(engine: Callable[..., SearchEngine]) -> None:
    """11 each: at the limits of 7, 8 and 11 bits, alone and inside other residues."""
    runs = [*range(9, 14), *range(19, 26), *range(183, 189)]
    frame = drawn(7, 1, 1)[0].repeat(30)
    alone = [letters("W" * n) for n in runs]
    inside = [np.concatenate([frame, one, frame]) for one in alone]
    subjects = subjects_of([*alone, *inside, *drawn(8, 60, 60)])
    for n in (10, 13, 22, 186, 190):
        pairs = Counted(PROTEIN)
        query = np.concatenate([frame[:5], letters("W" * n), frame[:7]])
        (found,) = scores(engine(PROTEIN, pairs=pairs), [query], subjects)
        wanted = expected(query, list(subjects), PROTEIN)
        assert found.tolist() == wanted.tolist(), n
        if engine is mixed:  # exactly those are computed again that 11 bits may not hold
            assert pairs.pairs == (wanted > limit(PROTEIN)).sum()


def test_runs_of_tryptophan_at_the_limits_of_16_bits() -> None:
    """A lane of 16 bits holds scores up to 65,512, because its lowest number stands for 0."""
    runs = [*range(5953, 5958), *range(2976, 2981)]
    subjects = subjects_of([*(letters("W" * n) for n in runs), *drawn(8, 3000, 300)])
    engine = vector(PROTEIN)
    (found,) = scores(engine, [letters("W" * 5970)], subjects)
    assert found[:10].tolist() == [11 * n for n in sorted(runs, reverse=True)]
    assert engine.cells["search/vector/32"] == 5970 * (5956 + 5957)


def test_a_long_subject_shares_its_lanes_with_none() -> None:
    """It goes on while the lanes beside it take many others; one that is longer than all others
    together is left to pairs."""
    query = np.resize(drawn(4, 1, 90)[0], 50)
    long = np.resize(drawn(5, 1, 500)[0], 2500)
    for count, alone in ((2000, 0), (20, 1)):
        pairs, subjects = Counted(PROTEIN), subjects_of([long, *drawn(6, count, 200)])
        (found,) = scores(vector(PROTEIN, pairs=pairs), [query], subjects)
        assert found.tolist() == expected(query, list(subjects), PROTEIN).tolist()
        assert (pairs.pairs > 0) == alone


def test_streams_have_each_subject_once() -> None:
    rng = np.random.default_rng(1)
    for count in (1, 63, 64, 65, 1000):
        lengths = np.sort(rng.lognormal(5, 1.5, count).astype(np.int64) + 1)[::-1]
        numbers = np.arange(count) + 7
        for chained in (False, True):
            streams = Streams.of(numbers, lengths, 64, chained)
            assert streams.order.tolist() == numbers.tolist()
            ends = np.concatenate([[0], np.cumsum(lengths)])[streams.bounds]
            lanes = np.diff(ends).reshape(-1, 64)
            assert (lanes.max(1) * 64 == streams.letters).all()
            cuts = filled(streams.letters, 5000)
            assert cuts[0] == 0 and cuts[-1] == len(lanes) and cuts == sorted({*cuts})


@pytest.mark.parametrize(
    ("items", "rows", "m"),
    [(16, 4, 40), *((*shape, m) for shape in ((8, 6), (16, 4), (32, 4)) for m in (129, 300))],
)
def test_strips_of_mixed_searches(
    items: int, rows: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries that need several strips, some beside others, because subjects are long.  (One
    strip alone is another program, which takes seconds to build, and other tests have it.)"""
    monkeypatch.setattr(search, "ITEMS", (items,))
    monkeypatch.setattr(search, "ROWS", (rows,))
    monkeypatch.setattr("pysw_cl.engines.search.mixed.LONG_SHARE", 0.0003)
    search.SearchGeometry.of.cache_clear()
    queries = [np.resize(drawn(seed, 1, 300)[0], m) for seed in (1, 2, 3)]
    subjects = subjects_of([*drawn(9, 41, 60), *drawn(10, 3, 300), *relatives(1, queries[1], 9)])
    found = scores(mixed(PROTEIN), queries, subjects)
    for query, one in zip(queries, found, strict=True):
        assert one.tolist() == expected(query, list(subjects), PROTEIN).tolist()
    search.SearchGeometry.of.cache_clear()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "scoring",
    [
        match_scoring(1, -3, 3, 2),
        match_scoring(2, -1, 0, 1),
        match_scoring(5, -4, 30, 0),
        make_scoring(np.array(PROTEIN.matrix[:20, :20]) * 20, 200, 25, "ARNDCQEGHILKMFPSTWYV"),
    ],
)
def test_other_scorings(engine: Any, scoring: Scoring) -> None:
    """Nucleotides, gaps that cost nothing to open or to extend, scores beyond a byte."""
    alphabet = letters(scoring.letters)
    query = np.resize(drawn(1, 1, 99, alphabet)[0], 70)
    subjects = subjects_of([*drawn(2, 80, 130, alphabet), query[10:60], query])
    (found,) = scores(engine(scoring), [query], subjects)
    assert found.tolist() == expected(query, list(subjects), scoring).tolist()


def test_lanes_without_instructions_of_their_own() -> None:
    """Sums that do not saturate, and scores without permutations of bytes."""
    query = np.resize(drawn(4, 1, 90)[0], 60)
    subjects = subjects_of([*drawn(6, 200, 90), *relatives(3, query, 20)])
    engine = vector(PROTEIN)
    engine.runtime = engine.runtime._with(programs={}, source_of=without_avx)
    (found,) = scores(engine, [query], subjects)
    assert found.tolist() == expected(query, list(subjects), PROTEIN).tolist()


@pytest.mark.parametrize("taken", [0, 1])
def test_searches_that_nobody_takes(taken: int) -> None:
    """What was begun before does not mix with what is begun then."""
    queries = [np.resize(drawn(seed, 1, 300)[0], 40) for seed in range(5)]
    subjects = subjects_of([*drawn(9, 30, 60), *relatives(1, queries[4], 9)])
    engine = mixed(PROTEIN)
    held = engine.hold(subjects)
    left = engine.scores(queries, held, lambda _: None)
    for _ in range(taken):
        next(left)
    for query, found in zip(queries[::-1], engine.scores(queries[::-1], held, print), strict=True):
        assert found.tolist() == expected(query, list(subjects), PROTEIN).tolist()
    engine.close()
