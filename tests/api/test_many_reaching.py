"""`align_many` with a least score: rows of the pairs that reach it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from test_threads import related

import pysw_cl
from pysw_cl.api import pair_aligner as module
from pysw_cl.errors import InputError, LettersWarning, SequenceError

REFERENCE = {"engine": "reference"}


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """Related and unrelated pairs of many scores."""
    rng = np.random.default_rng(8)
    found = [related(rng, int(rng.integers(8, 80))) for _ in range(120)]
    return [*found, *[(a, b[::-1]) for a, b in found]]


@pytest.mark.parametrize("output", ["score", "ends", "matches", "path"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "global"},
        {"strand": "both"},
        {"strand": "minus"},
        {"gap_cost": (2, 0.5)},
        {"plan": REFERENCE},
    ],
)
def test_rows_are_those_of_all_pairs(
    pairs: list[tuple[str, str]], output: str, options: dict[str, Any]
) -> None:
    if options.get("plan"):
        pairs = pairs[::24]
    rows = pysw_cl.align_many(pairs, output=output, **options)
    least = float(np.median(rows["score"]))
    for min_score in (least, least + 0.5, -1e9, 1e9):
        kept = np.flatnonzero(rows["score"] >= min_score)
        found = pysw_cl.align_many(pairs, output=output, min_score=min_score, **options)
        assert found.dtype.names == ("pair", *rows.dtype.names)
        assert found["pair"].tolist() == kept.tolist()
        for name in rows.dtype.names:
            assert found[name].tolist() == rows[name][kept].tolist()
            assert found.dtype[name] == rows.dtype[name]


def test_paths_are_computed_for_these_pairs_only(
    pairs: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []
    real = module.BatchDriver._begin

    def watched(self: Any, part: Any, how: str, wanted: str = "") -> Any:
        seen.append((how, len(part)))
        return real(self, part, how, wanted)

    monkeypatch.setattr(module.BatchDriver, "_begin", watched)
    options: dict[str, Any] = {
        "output": "path",
        "mode": "global",
        "plan": {"pairs.unchosen_cells": 0},
    }
    found = pysw_cl.align_many(pairs, min_score=-50, **options)
    assert seen == [("score", len(pairs)), ("cigar", len(found))] and 0 < len(found) < len(pairs)
    assert found["cigar"].tolist() == [
        row["cigar"] for row in pysw_cl.align_many(pairs, **options) if row["score"] >= -50
    ]
    seen.clear()
    pysw_cl.align_many(pairs, min_score=30)
    assert seen == [("score", len(pairs))]


@pytest.mark.parametrize("options", [{}, {"strand": "both"}, {"plan": REFERENCE}])
@pytest.mark.parametrize("output", ["score", "path"])
def test_progress_ends_with_all(
    pairs: list[tuple[str, str]], output: str, options: dict[str, Any]
) -> None:
    told: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, stage: Any) -> None:
        told.append((done, total, str(stage)))

    some = pairs[::30]
    pysw_cl.align_many(some, output=output, min_score=20, progress=progress, **options)
    assert told[0][0] == 0 and told[-1][0] == told[-1][1]
    assert told[-1][2] == f"{len(some)} of {len(some)} pairs"
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert {total for _, total, _ in told} == {told[0][1]}


def test_a_pair_that_is_wrong_has_its_own_number() -> None:
    with pytest.raises(SequenceError, match=r"^pair 2: letter '!'") as found:
        pysw_cl.align_many([("A", "C"), ("A", "A"), ("A!", "A")], output="path", min_score=1)
    assert found.value.pair == 2


@pytest.mark.parametrize("least", ["7", True, float("nan"), float("inf"), [1]])
def test_what_is_no_score(least: Any) -> None:
    with pytest.raises(InputError, match="min_score must be a number or None"):
        pysw_cl.align_many([("A", "A")], min_score=least)


def test_no_pairs_and_warnings() -> None:
    assert pysw_cl.align_many([], output="path", min_score=1).dtype.names[0] == "pair"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pysw_cl.align_many([("MKUW", "MKW")], sub_score="BLOSUM62", output="path", min_score=1)
    assert [one.category for one in said] == [LettersWarning] and said[0].filename == __file__
