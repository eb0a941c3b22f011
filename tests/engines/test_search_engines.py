"""The search contract: every engine gives the reference's scores, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers import ALL_FREE_ENDS
from searching import subjects_of
from whole_reference import align_reference

from pysw_cl.api.search_engine import search_engine
from pysw_cl.drivers.options import Resources, SearchOptions
from pysw_cl.engines.search.contract import SearchEngine
from pysw_cl.sequences.alphabet import Letters

#: The engines: each is made of options and resources.
ENGINES: dict[str, Callable[[SearchOptions, Resources], SearchEngine]] = {"chosen": search_engine}
AMINO = "ARNDCQEGHILKMFPSTWYVBZX*"
SCORINGS: list[dict[str, Any]] = [
    {"sub_score": "BLOSUM62"},
    {"sub_score": "PAM250", "gap_cost": (0, 3)},
    {"sub_score": "BLOSUM62", "gap_cost": (9.5, 0.5)},
    {"sub_score": (np.array([[90, -90], [-90, 60]]), "AR"), "gap_cost": (50, 7)},
]


@pytest.fixture(params=ENGINES)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., SearchEngine]]:
    made = list[SearchEngine]()

    def make(**options: Any) -> SearchEngine:
        made.append(ENGINES[request.param](SearchOptions(**options), Resources()))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def sequences(count: int, most: int, letters: str, seed: int) -> list[Letters]:
    """Sequences of letters in either case, some with a common part, the longest first."""
    rng = np.random.default_rng(seed)
    common = rng.choice(list(letters), most)
    found = []
    for k in range(count):
        one = rng.choice(
            list(letters if k % 4 else letters.lower()), int(rng.integers(1, most + 1))
        )
        if k % 3 == 0:
            one[: len(one) // 2] = common[: len(one) // 2]
        found.append(np.frombuffer("".join(one).encode(), np.uint8))
    return sorted(found, key=len, reverse=True)


def reference(query: Letters, subject: Letters, options: SearchOptions) -> int:
    codes = options.scoring.encode(query, "query"), options.scoring.encode(subject, "target")
    return align_reference(*codes, options.scoring, options.mode, options.free).score


def check(make: Callable[..., SearchEngine], sizes: tuple[int, int, int], **given: Any) -> None:
    """Compare two parts, which are held together, with the reference.  ``sizes``: subjects, and the
    longest query and subject."""
    options, (count, m, n) = SearchOptions(**given), sizes
    letters = min(options.scoring.letters, AMINO, key=len)
    queries, every = sequences(4, m, letters, 1)[::-1], sequences(count, n, letters, 2)
    engine, parts = make(**given), (every[: count // 3], every[count // 3 :])
    held = [engine.hold(subjects_of(some)) for some in parts]
    for _ in range(2):  # they stay
        for some, on_device in zip(parts, held, strict=True):
            done = list[int]()
            scores = engine.scores(queries, on_device, done.append)
            for query, found in zip(queries, scores, strict=True):
                assert found.dtype == np.int32 and found.shape == (len(some),)
                assert found.tolist() == [reference(query, one, options) for one in some]
            assert sum(done) == sum(map(len, queries)) * sum(map(len, some))
    assert sum(engine.cells.values()) >= 2 * sum(map(len, queries)) * sum(map(len, every))
    for on_device in held:
        engine.free(on_device)


@pytest.mark.parametrize("given", SCORINGS, ids=str)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_scores(make: Callable[..., SearchEngine], mode: str, given: dict[str, Any]) -> None:
    check(make, (70, 40, 60), mode=mode, **given)


@pytest.mark.parametrize("free", ALL_FREE_ENDS[1:], ids=str)
def test_free_ends(make: Callable[..., SearchEngine], free: Any) -> None:
    check(make, (20, 15, 25), mode="global", free_ends=free)


def test_scores_that_outgrow_narrow_lanes(make: Callable[..., SearchEngine]) -> None:
    check(make, (30, 500, 700), sub_score=SCORINGS[3]["sub_score"], gap_cost=(50, 7))


def test_a_part_of_one_subject(make: Callable[..., SearchEngine]) -> None:
    for n in (1, 2, 300):
        check(make, (3, 7, n))


def test_a_long_query_and_a_long_subject(make: Callable[..., SearchEngine]) -> None:
    rng = np.random.default_rng(3)
    giant = np.frombuffer("".join(rng.choice(list(AMINO[:20]), 40_000)).encode(), np.uint8)
    engine = make(sub_score="BLOSUM62")
    each = SearchOptions().scoring.pair_scores(giant, giant)
    own = [int(each[:k].sum()) for k in (40_000, 35_000, 10)]
    held = engine.hold(subjects_of([giant, giant[:35_000], giant[:10]]))
    (found,) = engine.scores([giant], held, lambda _: None)
    assert found.tolist() == own
