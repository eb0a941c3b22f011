"""The law of scores: BLAST's own numbers, the bound by which hits are left out, and the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pysw_cl.database.selection import EValues
from pysw_cl.errors import ScoringError
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.scoring.statistics.fit import fitted_to
from pysw_cl.scoring.statistics.law import ScoreStatistics
from pysw_cl.scoring.statistics.library import LEAST, of_library
from pysw_cl.scoring.statistics.published import published, table

#: Raw score, letters of query and subject, what blastp 2.12 (-comp_based_stats 0 -seg no) prints of
#: a search in 1,406,070 letters with BLOSUM62, 11 + k.
BLAST = [
    (73, 144, 147, "0.004", "32.7"),
    (61, 144, 818, "0.25", "28.1"),
    (53, 144, 585, "2.6", "25.0"),
    (1037, 375, 378, "2.37e-141", "404"),
    (1023, 657, 512, "3.30e-133", "398"),
    (1069, 3005, 3550, "2.85e-117", "416"),
    (943, 4548, 715, "2.91e-110", "367"),
]


def law_of(name: str, gaps: tuple[int, int]) -> ScoreStatistics:
    found = published(make_scoring(name, gaps))
    assert found is not None
    return found


def test_published_numbers_are_those_of_blast() -> None:
    law = law_of("BLOSUM62", (11, 1))
    for score, m, n, evalue, bits in BLAST:
        wanted = float(evalue)
        assert float(law.evalues(score, m, n, 1_406_070)) == pytest.approx(wanted, rel=0.13)
        if wanted < 1e-9:
            assert f"{float(law.evalues(score, m, n, 1_406_070)):.2e}" == evalue
        assert float(law.bits(score)) == pytest.approx(float(bits), abs=1)


def test_every_row_of_the_table_is_found() -> None:
    """With its own matrix only: the names of matrices whose scores are others have none."""
    for name, (_, *rows) in table().items():
        for opening, extend, lambda_, k, *_ in rows:
            law = law_of(name, (int(opening), int(extend)))
            assert (law.lambda_, law.k) == (lambda_, k)
    for scores, gaps in (("BLOSUM62", (10, 2.5)), ("BLOSUM62", (3, 3)), ("BLOSUM80", (10, 1))):
        assert published(make_scoring(scores, gaps)) is None
    assert published(make_scoring((1, -3), (11, 1))) is None


def test_logarithms_go_on_where_evalues_are_zero() -> None:
    law = law_of("BLOSUM62", (11, 1))
    logs = law.log_evalues(np.array([100, 5000, 15_000]), 35_213, 35_213, 1e7)
    assert np.isfinite(logs).all() and (np.diff(logs) < 0).all()
    assert law.evalues(15_000, 35_213, 35_213, 1e7) == 0


@pytest.mark.parametrize("name, gaps", [
    ("BLOSUM62", (11, 1)), ("BLOSUM62", (9, 1)), ("PAM30", (9, 1)), ("BLOSUM45", (16, 1)),
])  # fmt: skip
def test_no_subject_below_the_least_score_has_a_lower_evalue(
    name: str, gaps: tuple[int, int]
) -> None:
    rng, law = np.random.default_rng(3), law_of(name, gaps)
    lengths = np.unique(np.r_[np.arange(1, 1000), np.geomspace(1000, 1e8, 500).astype(int)])
    below = 0
    for _ in range(150):
        m, n = np.exp(rng.uniform(0, 10, 2)).astype(int)
        letters, score = 10 ** rng.uniform(1, 11), int(rng.integers(1, 700))
        wanted = float(law.log_evalues(score, m, n, letters))
        if not np.isfinite(wanted):
            continue
        least = law.least_score(wanted, score, m, letters)
        assert 0 <= least <= score
        lower = np.arange(max(0, least - 40), least)
        every = law.log_evalues(lower[:, None], m, lengths, letters)
        assert (every > wanted).all()
        below += least < score
    assert below > 100


def test_logarithms_go_on_where_no_area_is_left() -> None:
    """Of long subjects that are in the query they are those of their places: each letter more of
    both lowers the E-value, as it did before the area was less than any number."""
    law = ScoreStatistics(1.375, 0.717, 1.0037, 0.28, 0.0, 1.364, 0.0, 1.364, "fitted")
    letters = np.unique(np.rint(np.geomspace(100, 10**6, 300)))
    logs = law.log_evalues(letters, 10**7, letters, 1e9)
    steps = np.diff(logs) / np.diff(letters)
    assert np.isfinite(logs).all() and (steps < -1.3).all()
    assert (law.a - 1) * letters[-1] > 40 * np.sqrt(
        law.beta
    )  # more than there is, by 40 deviations
    for k in (150, 200, 250, 299):
        least = law.least_score(float(logs[k]), 2 * letters[k], 10**7, 1e9)
        below = letters[letters < least]
        assert (law.log_evalues(below[:, None], 10**7, letters, 1e9) > logs[k]).all()


@pytest.mark.parametrize("scale", [1, 2])
def test_a_fit_finds_the_law_of_its_scores(scale: int) -> None:
    """Scores are drawn from a known law, and lengths of alignments from normal numbers."""
    rng, known = np.random.default_rng(5), law_of("BLOSUM62", (11, 1))
    m, n, units = 800, 1200, np.arange(1, 300 * scale)
    # the highest of Poisson many scores is below S with exp(-E(S))
    below = np.exp(-known.evalues(units / scale, m, n, n))
    scores = units[np.searchsorted(below, rng.random((20, 4000)))] - 1
    counts = np.stack([np.bincount(own, minlength=300 * scale) for own in scores])
    some = scores.ravel()[:4000] / scale + 30
    spread = np.sqrt(known.alpha * some + known.beta)
    taken = known.a * some + known.b + spread * rng.normal(size=(2, len(some)))
    traced = np.stack([some, *taken])
    found = fitted_to(counts, traced, scale, m, n, "drawn")
    assert found.a == pytest.approx(known.a, rel=0.1)
    assert found.alpha == pytest.approx(known.alpha, rel=0.3)
    assert 0.001 < found.lambda_error < 0.02 * known.lambda_
    assert abs(found.lambda_ - known.lambda_) < 3 * found.lambda_error
    assert abs(np.log(found.k / known.k)) < 3 * found.log_k_error + 0.1


def test_no_law_fits_equal_scores() -> None:
    counts = np.zeros((20, 50), np.int64)
    counts[:, 30] = 1000
    traced = np.stack([np.full(100, 30.0), np.full(100, 20.0), np.full(100, 20.0)])
    with pytest.raises(ScoringError, match="no law"):
        fitted_to(counts, traced, 1, 1000, 1000, "equal")


def drawn(kind: str, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Scores of unrelated subjects, as local or as global ones are, and their lengths."""
    lengths = np.sort(np.maximum(20, rng.gamma(2.24, 160, count)).astype(int))[::-1]
    if kind == "local":
        return np.rint(rng.gumbel(8 * np.log(lengths), 4)), lengths
    return np.rint(rng.normal(-100 - 0.9 * lengths, 6 + lengths / 30)), lengths


@pytest.mark.parametrize("kind", ["local", "global"])
@pytest.mark.parametrize("count", [150, 5000])
def test_evalues_of_a_search_are_what_they_say(kind: str, count: int) -> None:
    """As many subjects have them as should; relatives, 1% of all, make them a little higher."""
    rng, low, found = np.random.default_rng(8), np.zeros(2), 0.0
    rounds = 100 if count < 1000 else 25
    for _ in range(rounds):
        scores, lengths = drawn(kind, count, rng)
        relatives = rng.choice(count, count // 100, replace=False)
        scores[relatives] += rng.uniform(600, 900, len(relatives))
        law = of_library(scores, lengths)
        others = np.setdiff1d(np.arange(count), relatives)
        letters = int(lengths.sum())
        logs = law.log_evalues(scores, 300, lengths, letters)
        low += [(logs[others] <= 0).sum(), (logs[others] <= np.log(10)).sum()]
        found += (logs[relatives] < np.log(0.1)).mean()
        twice = law.log_evalues(scores, 300, lengths, 2 * letters)
        assert np.allclose(twice, logs + np.log(2))
        bits = EValues(law, 1, 300, letters).bits(scores, logs)
        assert np.allclose(np.exp(logs), 300 * letters * 2.0**-bits)
    below_one, below_ten = low / rounds
    assert 0.35 < below_one < 1.6 and 6 < below_ten < 13
    assert found > (0.9 if count > 1000 else 0.8) * rounds


def test_no_subject_of_a_search_below_the_least_score_has_a_lower_evalue() -> None:
    rng = np.random.default_rng(9)
    for kind in ("local", "global"):
        scores, lengths = drawn(kind, 3000, rng)
        law, letters = of_library(scores, lengths), int(lengths.sum())
        logs = law.log_evalues(scores, 1, lengths, letters)
        for k in np.argsort(logs)[:200:7]:
            least = law.least_score(float(logs[k]), np.inf, 1, letters)
            assert least <= scores[k]
            assert (logs[scores < least] >= logs[k]).all()


def test_a_search_needs_scores_that_differ() -> None:
    lengths = np.full(LEAST, 30)
    with pytest.raises(ScoringError, match=f"need {LEAST} sequences"):
        of_library(np.arange(LEAST - 1.0), lengths[:-1])
    for scores in (np.zeros(LEAST), np.repeat([0.0, 9.0], LEAST // 2)):
        with pytest.raises(ScoringError, match="equal"):
            of_library(scores, lengths)
