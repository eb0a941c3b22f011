"""Search of long subjects in pieces: against parasail, with paths as long as they can be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import match_scoring
from searching import FREE_ENDS, Counted, expected, letters, mixed, subjects_of, vector

from pysw_cl.engines.batch.scores import FREE_QUERY
from pysw_cl.engines.common import FreeEnd
from pysw_cl.engines.search.pieces import InPieces
from pysw_cl.planning import search

DNA = letters("ACGT")


def spread(query: Any, gap: int, rng: Any) -> Any:
    """The letters of a query with a few others between them."""
    parts = []
    for letter in query:
        others = DNA[letter != DNA]
        parts += [letter[None], rng.choice(others, int(rng.integers(0, gap + 1)))]
    return np.concatenate(parts)


@pytest.fixture
def few_kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Mixed lanes have rows that are built soon, for queries of any length."""
    monkeypatch.setattr(search, "ITEMS", (32,))
    monkeypatch.setattr(search, "ROWS", (4,))
    search.SearchGeometry.of.cache_clear()
    yield
    search.SearchGeometry.of.cache_clear()


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["vector", "mixed", "free"])
def test_scores_are_those_of_whole_subjects(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scoring = match_scoring(*[(5, -4, 1, 1), (2, -3, 5, 2), (9, -1, 0, 1)][seed % 3])
    ends, function = (FREE_QUERY, FREE_ENDS[FREE_QUERY]) if kind == "free" else (None, "sw")
    pairs = Counted(scoring)
    pairs.of = partial(expected, scoring=scoring, function=function)  # type: ignore[method-assign]
    inner = mixed(scoring, pairs) if kind == "mixed" else vector(scoring, ends, pairs)
    engine = InPieces(inner, scoring.clamped(), ends is None, int(ends or 0))
    inner.streams = int(rng.integers(1, 60))
    lengths = [*rng.integers(1, 40, 30), *rng.integers(1000, 3000, 3), 9000, 9000]
    subjects = [rng.choice(DNA, n) for n in lengths]
    cut = 0
    for longest in (12, 30, 9, 700, 25):
        queries = [rng.choice(DNA, n) for n in rng.integers(1, longest + 1, 3)]
        for one in subjects[-5:]:  # relatives anywhere, also at the borders of pieces
            for query in queries[:2]:
                some = spread(query, 3, rng)[: len(one) // 4]
                at = int(rng.integers(0, len(one) - len(some) + 1))
                one[at : at + len(some)] = some
        held_set = subjects_of(subjects)
        held = engine.hold(held_set)
        done: list[int] = []
        for asked in (queries, queries[:1], []):
            found = [one.copy() for one in engine.scores(asked, held, done.append)]
            for query, scores in zip(asked, found, strict=True):
                assert (scores == expected(query, list(held_set), scoring, function)).all()
        assert sum(done) == sum(map(len, [*queries, queries[0]])) * len(held_set.letters)
        cut += held.reach > 0
        engine.free(held)
    assert cut >= 2
    engine.close()


def test_no_pieces_where_nothing_bounds_paths() -> None:
    subjects = subjects_of([np.resize(DNA, 5000), np.resize(DNA, 40)])
    for scoring, ends in ((match_scoring(1, -3, 3, 0), None), (match_scoring(1, -3, 3, 2), 0)):
        inner = vector(scoring, None if ends is None else FreeEnd(0))
        engine = InPieces(inner, scoring.clamped(), ends is None, int(ends or 0))
        held = engine.hold(subjects)
        assert len(list(engine.scores([DNA], held, lambda cells: None))) == 1
        assert held.reach == 0
        engine.close()


def test_pieces_stay_while_they_are_good_enough_and_few_letters_are_not_cut() -> None:
    scoring, rng = match_scoring(2, -3, 5, 2), np.random.default_rng(3)
    genome = subjects_of([rng.choice(DNA, 40_000)])
    others = subjects_of([rng.choice(DNA, n) for n in (2000, *[300] * 400)])
    inner = vector(scoring)
    inner.streams, holds, hold = 8, list[int](), inner.hold

    def counted(subjects: Any) -> Any:
        holds.append(len(subjects))
        return hold(subjects)

    inner.hold = counted  # type: ignore[method-assign]
    engine = InPieces(inner, scoring.clamped(), True, 0)
    for subjects, wanted in ((genome, [1, 8, 8]), (others, [401])):
        held = engine.hold(subjects)
        for m in (25, 150, 25, 150, 60, 1, 150):
            (found,) = engine.scores([rng.choice(DNA, m)], held, lambda cells: None)
            assert len(found) == len(subjects)
        assert holds == wanted
        holds.clear()
        engine.free(held)
    engine.close()
