"""Default gap costs, and the phase of local scorings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from helpers import spy

import pysw_cl
from pysw_cl.api import advice
from pysw_cl.api.advice import is_linear, mean_global_score
from pysw_cl.errors import PhaseWarning
from pysw_cl.scoring.matrices import ALIASES, USUAL_GAPS, matrix_lines
from pysw_cl.scoring.scoring import make_scoring


def test_default_gap_costs() -> None:
    """Those of the matrix, in BLAST's and scikit-bio's convention; (3, 2) without any."""
    gaps = {
        name: (s := make_scoring(name)).gap_open * 100 + s.gap_extend for name in matrix_lines()
    }
    assert gaps == {
        name: open_ * 100 + extend
        for name in matrix_lines()
        for open_, extend in [USUAL_GAPS.get(name, (3, 2))]
    }
    assert (make_scoring("blosum62").gap_open, make_scoring("BLOSUM62").gap_extend) == (11, 1)
    assert all(make_scoring(alias).gap_open == 12 for alias in ALIASES)
    for given in ((1, -3), ([[1, -1], [-1, 1]], "AB")):
        assert (make_scoring(given).gap_open, make_scoring(given).gap_extend) == (3, 2)
    assert make_scoring("BLOSUM62", (3, 2)).gap_open == 3
    assert pysw_cl.align("MKWVT", "MKWVT", sub_score="BLOSUM62").scoring.gap_open == 11
    scores = pysw_cl.align_many([("MKWWVT", "MKVT")], sub_score="BLOSUM62", mode="global")["score"]
    assert scores.tolist() == [5 + 5 + 4 + 5 - 13]


@pytest.mark.parametrize("name", USUAL_GAPS)
def test_defaults_are_in_the_logarithmic_phase(name: str) -> None:
    """For this package's units: twice the letters tell more, and a clear distance from 0."""
    scoring = make_scoring(name)
    mean, error = mean_global_score(scoring, 800)
    assert mean < -10 * error and not is_linear(scoring)


def test_the_default_is_in_the_logarithmic_phase() -> None:
    mean, error = mean_global_score(make_scoring())
    assert mean < -10 * error and not is_linear(make_scoring())


@pytest.mark.parametrize(
    ("sub_score", "gap_cost", "linear"),
    [
        ((1, -3), (3, 2), False),
        ((1, -1), (2, 1), False),
        ((2, -1), (2, 1), True),
        ((1, -1), 1, True),
        ("BLOSUM62", (3, 2), True),
        ("BLOSUM62", (9, 1), False),
        ("BLOSUM80", (10, 1), True),  # thirds of a bit: BLAST's costs are for half bits
        ("NUC.4.4", (10, 0.5), True),
        (([[1, -3], [-3, 1]], "AB"), 5, False),
        (([[3, -1], [-1, 3]], "AB"), 1, True),
    ],
)
def test_phases(sub_score: Any, gap_cost: Any, linear: bool) -> None:
    assert is_linear(make_scoring(sub_score, gap_cost)) is linear


def test_scores_are_global_ones() -> None:
    """Of the estimate's own recurrence, against `align`."""
    for sub_score, gaps in (("BLOSUM62", (3, 2)), ((2, -1), (0, 1)), ((1, -3), (3, 0))):
        scoring = make_scoring(sub_score, gaps)
        rng = np.random.default_rng(4)
        letters = np.frombuffer(b"ACGT", np.uint8)
        for n in (1, 2, 3, 37):
            drawn = rng.choice(letters, (2, n, 3))
            codes = scoring.query_encoding[drawn[0]], scoring.target_encoding[drawn[1]]
            found = advice._global_scores(scoring, *codes)
            pairs = [(drawn[0, :, k].tobytes(), drawn[1, :, k].tobytes()) for k in range(3)]
            given: dict[str, Any] = {"sub_score": sub_score, "gap_cost": gaps, "mode": "global"}
            assert found.tolist() == pysw_cl.align_many(pairs, **given)["score"].tolist()


def test_a_phase_is_estimated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    spy(monkeypatch, advice, "_global_scores", lambda *given: calls.append(given))
    for _ in range(3):
        is_linear(make_scoring((7, -6), (5, 5)))
    assert len(calls) <= 1


def test_small_calls_are_never_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The phase is estimated when a scoring has compared many cells, and only locally."""
    calls: list[Any] = []
    spy(monkeypatch, advice, "_global_scores", lambda *given: calls.append(given))
    monkeypatch.setattr(advice, "_linear", {})
    monkeypatch.setattr(advice, "_compared", {})
    given: dict[str, Any] = {"sub_score": (2, -1), "gap_cost": (2, 1)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysw_cl.align("ACGT", "ACGT", **given)
        pysw_cl.align_many([("ACGT", "ACGT")], **given)
        pysw_cl.align_top("ACGT", "ACGT", **given)
        monkeypatch.setattr(advice, "PHASE_CELLS", 100)
        pysw_cl.align("ACGT" * 9, "ACGT" * 9, mode="global", **given)
        assert not calls
    with pytest.warns(PhaseWarning, match="linear phase") as caught:
        pysw_cl.align("ACGT" * 9, "ACGT" * 9, **given)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysw_cl.align("ACGT" * 9, "ACGT" * 9, **given)  # said once
