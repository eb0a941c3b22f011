"""``best_fits`` against the last row of the reference's matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from whole_reference import align_reference

import pysw_cl
from pysw_cl.api import fits
from pysw_cl.drivers.problem import FreeEnds
from pysw_cl.errors import DeviceError, InputError, SequenceError
from pysw_cl.scoring.scoring import make_scoring

ACGT = np.frombuffer(b"ACGT", np.uint8)
SCORES: list[Any] = [
    ((1, -3), (3, 2)),
    ((5, -3), (8, 1)),
    ((1.5, -1), (0.5, 0.5)),
    ((2, -2), (3, 0)),
]


def letters(seed: int, length: int) -> bytes:
    return np.random.default_rng(seed).choice(ACGT, length).tobytes()


def by_definition(a: bytes, b: bytes, separation: int, least: float, scores: Any) -> Any:
    """All ends of the whole query that score enough and are apart: (score, end)."""
    scoring = make_scoring(*scores)
    codes = (scoring.query_encoding[np.frombuffer(a, np.uint8)],
             scoring.target_encoding[np.frombuffer(b, np.uint8)])  # fmt: skip
    row = align_reference(*codes, scoring, "global", FreeEnds(True, True)).matrices.h[-1]
    ends = [(row[j] / scoring.scale, j) for j in range(1, len(row))]
    kept: list[tuple[float, int]] = []
    for score, end in sorted(ends, key=lambda one: (-one[0], one[1])):
        if score >= least and all(abs(end - other) >= max(1, separation) for _, other in kept):
            kept.append((score, end))
    return kept


@pytest.mark.parametrize(("engine", "separation"), [("auto", 0), ("auto", 5), ("reference", 5)])
def test_the_best_places_in_order(
    engine: str, separation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of windows with many equal scores, too, of which few are looked at, and of one window."""
    monkeypatch.setattr(fits, "WINDOWS", 1000)
    plan = None if engine == "auto" else {"engine": engine}
    for case, scores in enumerate(SCORES[: 4 if plan is None else 1]):
        target = letters(case, 300) * 2 + b"ACGT" * 40
        queries = [letters(case + 5, 3), b"ACGTACG", target[100:112], letters(9, 25), b"A"]
        how: dict[str, Any] = {"sub_score": scores[0], "gap_cost": scores[1], "min_score": 2}
        wanted = [by_definition(one, target, separation, 2, scores) for one in queries]
        for k in (1, 4, 1000):
            found = pysw_cl.best_fits(
                queries, target, k=k, min_separation=separation, plan=plan, **how
            )
            for number, ends in enumerate(wanted):
                rows = found[found["query"] == number]
                assert rows[["score", "target_end"]].tolist() == ends[:k], (case, number, k)
        assert (np.diff(found["query"]) >= 0).all()
        for row in found[:: max(1, len(found) // 40)]:
            part = target[: row["target_end"]]
            best = pysw_cl.align(
                queries[row["query"]], part, mode="global", free_ends=(True, False, False, False),
                sub_score=scores[0], gap_cost=scores[1],
            )  # fmt: skip
            assert (best.score, best.target_start, best.cigar) == tuple(
                row[["score", "target_start", "cigar"]]
            )


@pytest.mark.parametrize(
    "small",
    [{"LANE_LETTERS": 20}, {"PAIRS": 3, "EACH": 1}, {"PAIR_LETTERS": 1}, {"ROW_LETTERS": 200}],
)
def test_however_much_is_computed_at_once(
    small: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long sequences are swept one by one, and others in parts; the places are the same."""
    target = letters(3, 400) + b"A" * 60
    queries = [letters(k, 3 + 4 * k) for k in range(7)] + [b"AAAA", target[100:130]]
    how: dict[str, Any] = {"k": 5, "min_separation": 3, "sub_score": (2, -2), "gap_cost": (3, 1)}
    wanted = pysw_cl.best_fits(queries, target, **how)
    for name, value in {"WINDOWS": 30, **small}.items():
        monkeypatch.setattr(fits, name, value)
    assert pysw_cl.best_fits(queries, target, **how).tolist() == wanted.tolist()


def test_symbols_and_bad_input() -> None:
    words = pysw_cl.Alphabet([f"w{k}" for k in range(64)])
    target, query = np.arange(60, dtype=np.uint8), np.arange(20, 24, dtype=np.uint8)
    found = pysw_cl.best_fits([query, query[:2]], target, sub_score=words.scores(1, -1), k=1)
    assert found[["query", "score", "target_start", "cigar"]].tolist() == [
        (0, 4, 20, "4="),
        (1, 2, 20, "2="),
    ]
    assert len(pysw_cl.best_fits([], "ACGT")) == 0 == len(pysw_cl.best_fits(["CC"], "AAAAA"))
    with pytest.raises(SequenceError, match="query number 1"):
        pysw_cl.best_fits(["ACGT", ""], "ACGT")
    with pytest.raises(SequenceError, match="target"):
        pysw_cl.best_fits(["ACGT"], "AC!T")
    with pytest.raises(InputError, match="min_separation"):
        pysw_cl.best_fits(["ACGT"], "ACGT", min_separation=-1)
    assert len(pysw_cl.best_fits(["CC"], "CCACC", min_separation=1 << 70)) == 1
    with pytest.raises(InputError, match="queries must be a list, not 'ACGT'"):
        pysw_cl.best_fits("ACGT", "ACGT")
    for device in (["cpu"], "all", "0:0,0:1"):
        with pytest.raises(DeviceError, match="means several devices"):
            pysw_cl.best_fits(["ACGT"], "ACGT", device=device)
