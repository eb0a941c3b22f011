"""E-values of hits: their order, what is left out, and scorings that are fitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl import Searcher, search
from pysw_cl.api import statistics
from pysw_cl.database.selection import Best
from pysw_cl.errors import InputError, InputWarning, ScoringError


def proteins(count: int, seed: int, most: int) -> list[str]:
    """Random ones with lengths from half of ``most`` on."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(most // 2, most + 1, count)
    return ["".join(rng.choice(list("ARNDCQEGHILKMFPSTWYV"), size)) for size in sizes]


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fits of few pairs, which nobody else finds."""
    for name, value in {"SUBJECTS": 60, "TRACED": 320, "MOST_CELLS": 10**7}.items():
        monkeypatch.setattr(statistics, name, value)
    monkeypatch.setattr(statistics, "_known", {})
    monkeypatch.setenv("PYSW_CL_PROFILES", str(tmp_path / "profiles"))


def facts(hits: Any) -> list[tuple[Any, ...]]:
    return [(hit.number, hit.score, hit.expect, hit.bits) for hit in hits]


@pytest.mark.parametrize("seed", range(4))
def test_the_best_are_the_first_by_evalue(seed: int, monkeypatch: Any) -> None:
    """Among all scores, with any limits, however the database is divided.  Many subjects are parts
    of others, so that short ones with a lower score have a lower E-value."""
    rng = np.random.default_rng(seed)
    (query,) = proteins(1, seed, 90)
    targets = proteins(60, seed + 50, 200)
    for _ in range(140):
        at, size = int(rng.integers(0, 80)), int(rng.integers(4, 60))
        own = query[at : at + size]
        targets.append("".join(rng.permutation([own, *proteins(1, int(rng.integers(999)), 400)])))
        targets.append(own[:-1] + "W")
    gaps = ((11, 1), (9, 1), (7, 2))[seed % 3]
    law = pysw_cl.score_statistics("BLOSUM62", gaps)
    letters = sum(map(len, targets))
    common: dict[str, Any] = {"output": "score", "gap_cost": gaps}
    (every,) = search(query, targets, top=None, evalues="none", **common)
    scores, numbers = np.array([h.score for h in every]), np.array([h.number for h in every])
    lengths = np.array([len(targets[k]) for k in numbers])
    keys = law.log_evalues(scores, len(query), lengths, letters)
    order = np.lexsort((numbers, -scores, keys))
    wanted = [(numbers[k], scores[k], float(np.exp(keys[k]))) for k in order]
    by_score = [hit.number for hit in every]
    assert [w[0] for w in wanted] != by_score  # or this shows little
    limits: list[dict[str, Any]] = [{"top": k} for k in (1, 3, 17, 100, None)]
    limits += [{"top": None, "max_evalue": e} for e in (1e-12, 1e-3, 5.0, 0)]
    limits += [{"top": 9, "min_bits": 30}, {"top": None, "min_score": 60, "max_evalue": 1.0}]
    for part in (1 << 29, 500):
        monkeypatch.setattr("pysw_cl.database.passes.PART", part)
        with Searcher(targets, gap_cost=gaps) as s:
            for limit in limits:
                (hits,) = s.search(query, output="score", **limit)
                good = [
                    w for w in wanted
                    if w[2] <= limit.get("max_evalue", np.inf)
                    and law.bits(w[1]) >= limit.get("min_bits", -np.inf)
                    and w[1] >= limit.get("min_score", 1)
                ]  # fmt: skip
                found = [(hit.number, hit.score, hit.expect) for hit in hits]
                assert found == [
                    (number, score, pytest.approx(expect, rel=1e-9))
                    for number, score, expect in good[: limit["top"]]
                ]


@pytest.mark.parametrize("evalues", ["auto", "library"])
def test_limits_are_those_that_hits_say(evalues: Any) -> None:
    """The limits that a hit says of itself leave it in, however logarithms are rounded."""
    query, *targets = proteins(160, 12, 70)
    with Searcher([*targets, query]) as s:
        (every,) = s.search(query, top=None, evalues=evalues, output="score")
        for hit in every[:60]:
            limits: list[dict[str, Any]] = [{"max_evalue": hit.expect}, {"min_bits": hit.bits}]
            for limit in limits:
                (hits,) = s.search(query, top=None, evalues=evalues, output="score", **limit)
                most, least = limit.get("max_evalue", np.inf), limit.get("min_bits", -np.inf)
                good = [one for one in every if one.expect <= most and one.bits >= least]
                assert facts(hits) == facts(good) and hit.number in [one.number for one in hits]


def test_a_share_of_letters_is_exact() -> None:
    """0.55 * 100 is more than 55."""
    (query,) = proteins(1, 13, 100)
    query = query.ljust(100, "W")
    for letters in (7, 14, 28, 55, 56, 57):
        for share in (letters / 100, (letters + 1) / 100):
            (hits,) = search(query, [query[:letters]], output="path", min_coverage=share)
            assert len(hits) == (share == letters / 100)


def test_evalues_of_any_scores_order_hits() -> None:
    """Also where what is left of the subjects is no number: a long query, and parts of it."""
    (query,) = proteins(1, 14, 160_000)
    query = query[:80_000]
    targets = [query[:5000], query[:6000], query[200:5700], *proteins(2, 15, 900)]
    (every,) = search(query, targets, top=None, output="score")
    assert [hit.number for hit in every[:3]] == [1, 2, 0]
    for top in (1, 2, 3, 4):
        (hits,) = search(query, targets, top=top, ties=True, output="score")
        assert facts(hits) == facts(every[:top])


def test_ties_are_equal_evalues() -> None:
    targets = ["MKVLAWHEAG", "CCCCCCCCCC", "MKVLAWHEAG", "MKVLAWHEAA", "MKVLAWHEAG"]
    (hits,) = search("MKVLAWHEAG", targets, top=1, ties=True)
    assert [hit.number for hit in hits] == [0, 2, 4]
    (hits,) = search("MKVLAWHEAG", targets, top=1, ties=True, exclude_self=True)
    assert hits[0].number == 3  # plain letters have no names, so equal letters are the query's own


def test_the_size_of_the_database_may_be_another() -> None:
    targets = proteins(20, 3, 100)
    query = targets[4]
    (own,), (larger,) = (search(query, targets, db_letters=size) for size in (None, 10**9))
    times = 10**9 / sum(map(len, targets))
    for one, other in zip(own, larger, strict=True):
        assert other.expect == pytest.approx(one.expect * times)
        assert (one.bits, one.number) == (other.bits, other.number)


def test_hits_are_chosen_by_their_paths() -> None:
    """The best ones of those that are long and alike enough are found, however many are not."""
    rng = np.random.default_rng(8)
    (query,) = proteins(1, 4, 60)
    targets = []
    for k in range(120):
        letters = list(query[k % 20 :] if k % 2 else query)
        for _ in range(k % 13 * 3):
            letters[rng.integers(len(letters))] = "W"
        targets.append("".join(letters))
    common: dict[str, Any] = {"output": "path", "evalues": "auto"}
    (every,) = search(query, targets, top=None, **common)
    for identity, coverage, top in ((0.8, None, 5), (None, 0.9, 40), (0.7, 0.5, None), (1, 1, 3)):
        good = [
            hit for hit in every
            if hit.identity >= (identity or 0)
            and hit.query_end - hit.query_start >= (coverage or 0) * len(query)
        ]  # fmt: skip
        limits = {"min_identity": identity, "min_coverage": coverage, "top": top}
        (hits,) = search(query, targets, **limits, **common)
        assert facts(hits) == facts(good[:top]) and hits


def test_a_query_may_be_left_out() -> None:
    named = [pysw_cl.Sequence(f"p{k}", "", np.frombuffer(letters.encode(), np.uint8))
             for k, letters in enumerate(proteins(12, 6, 40))]  # fmt: skip
    again = pysw_cl.Sequence("p3", "", named[5].letters)  # another one with its name
    db = [*named, again]
    for k, hits in enumerate(search(named, db, top=4, exclude_self=True)):
        (every,) = search(named[k], db, top=5)
        assert facts(hits) == [one for one in facts(every) if one[0] != k][:4]
    (hits,) = search(named[3], db, top=None, exclude_self=True, min_score=30)
    assert 12 not in [hit.number for hit in hits] or named[3].letters is not again.letters
    soft = pysw_cl.Sequence("p3", "", np.char.lower(named[3].letters.view("S1")).view(np.uint8))
    (hits,) = search(soft, db, top=None, exclude_self=True)
    assert 3 not in [hit.number for hit in hits]  # case does not count


def test_further_alignments_of_a_subject() -> None:
    (one, two), (rest,) = proteins(2, 7, 40), proteins(1, 8, 60)
    one, two = one.ljust(30, "A"), two.ljust(30, "C")
    targets = [rest, two + rest + one, one]
    (hits,) = search(one + two, targets, alignments=3, output="path", max_evalue=1e-3)
    assert [hit.number for hit in hits] == [2, 1, 1]
    wanted = pysw_cl.align_top(one + two, targets[1], k=2, sub_score="BLOSUM62", gap_cost=(11, 1))
    assert [(hit.score, hit.cigar) for hit in hits[1:]] == [(x.score, x.cigar) for x in wanted]
    law = pysw_cl.score_statistics("BLOSUM62", (11, 1))
    letters = sum(map(len, targets))
    for hit in hits:
        expect = law.evalues(hit.score, len(one + two), len(hit.target), letters)
        assert hit.expect == pytest.approx(float(expect)) and hit.rescore() == hit.score
    for wrong in ({"alignments": 2}, {"alignments": 2, "output": "path", "mode": "global"}):
        with pytest.raises(InputError):
            search("MKV", targets, **wrong)  # type: ignore[arg-type]


def test_other_scorings_are_fitted_once() -> None:
    """By their own scores and the composition of the database; kept for other processes."""
    rng = np.random.default_rng(2)
    targets = ["".join(rng.choice(list("ACGT"), 300, p=[0.4, 0.1, 0.1, 0.4])) for _ in range(30)]
    query = targets[3][50:150]
    common: dict[str, Any] = {"sub_score": (2, -3), "gap_cost": (5, 2)}
    (hits,) = search(query, targets, **common)
    assert hits[0].number == 3 and hits[0].expect < 1e-30
    law = pysw_cl.score_statistics(
        **common, composition={"A": 0.4, "C": 0.1, "G": 0.1, "T": 0.4}, device="cpu"
    )
    even = pysw_cl.score_statistics(**common)
    assert law.lambda_ < even.lambda_ < 0.7 and even.source == "fitted to random pairs"
    assert 0 < even.lambda_error < 0.1 * even.lambda_
    statistics._known.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_fitted", None)
        assert pysw_cl.score_statistics(**common) == even
    # U is T, and a letter's case does not count
    small = [text.lower().replace("t", "u") for text in targets]
    assert facts(next(search(query, small, **common))) == facts(hits)


def test_position_matrices_have_a_law_of_their_own() -> None:
    rng, letters = np.random.default_rng(1), "ARNDCQEGHILKMFPSTWYV"
    scores = rng.integers(-6, 3, (50, 20))
    scores[np.arange(50), rng.integers(0, 20, 50)] = 7
    matrix = pysw_cl.PositionMatrix(scores, letters, "A" * 50, "profile")
    law = pysw_cl.score_statistics(matrix, (9, 1))
    assert 0 < law.lambda_ < 1 and law.k > 0
    best = "".join(letters[k] for k in scores.argmax(1))
    (hits,) = search(matrix, [*proteins(20, 5, 100), best], gap_cost=(9, 1))
    assert hits[0].number == 20 and hits[0].expect < 1e-6 < hits[1].expect


def test_results_of_other_functions_have_evalues() -> None:
    targets = proteins(20, 3, 100)
    (hits,) = search(targets[4], targets, gap_cost=(11, 1))
    letters = sum(map(len, targets))
    for hit in hits:
        alone = pysw_cl.align(targets[4], targets[hit.number], sub_score="BLOSUM62")
        assert alone.evalue(letters) == hit.evalue(letters) == pytest.approx(hit.expect)
        assert alone.evalue() == pytest.approx(hit.expect * len(targets[hit.number]) / letters)
    dna = pysw_cl.align("ACGTTGCA", "GACGTTGCAT")
    law = pysw_cl.score_statistics()
    assert dna.evalue(1000, law) == float(law.evalues(dna.score, 8, 10, 1000))
    for wrong in (dna, pysw_cl.align("MKV", "MKV", sub_score="BLOSUM62", mode="global")):
        with pytest.raises(InputError, match="score_statistics"):
            wrong.evalue()


def test_refused_where_no_law_holds() -> None:
    targets = proteins(5, 3, 30)
    for scores, gaps, word in (
        ((1, -1), 0, "linear phase"), ((5, -1), (5, 2), "on average"),
        ((3, -1), (5, 2), "less than 0"),
    ):  # fmt: skip
        with pytest.raises(ScoringError, match=word):
            pysw_cl.score_statistics(scores, gaps)
        dna = ["ACGTTGCA", "GATTACA"]
        with pytest.raises(ScoringError, match=word):
            list(search("ACGT", dna, sub_score=scores, gap_cost=gaps, max_evalue=1))
        with pytest.warns(InputWarning, match="no E-values"):
            (hits,) = search("ACGT", dna, sub_score=scores, gap_cost=gaps)
        assert hits[0].expect is None and hits[0].bits is None
    for wrong, word in (
        ({"max_evalue": -1}, "from 0 on"), ({"min_identity": 2}, "from 0 to 1"),
        ({"min_coverage": 0.5}, "need a path"), ({"evalues": "some"}, "evalues must be"),
        ({"db_letters": 0}, "db_letters"), ({"max_evalue": 1, "mode": "global"}, "library"),
        ({"max_evalue": 1, "evalues": "none"}, "need E-values"), ({"alignments": 0}, "alignments"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=word):
            search("MKV", targets, **wrong)  # type: ignore[arg-type]
    for composition in ({}, {"A": -1}, {"AC": 1}, {"A": 0}, {"A": np.nan}):
        with pytest.raises(InputError, match="composition"):
            pysw_cl.score_statistics((1, -3), composition=composition)


def test_a_composition_may_lack_letters() -> None:
    law = pysw_cl.score_statistics((1, -3), composition={"A": 1, "T": 1, "C": 0})
    assert law.lambda_ < pysw_cl.score_statistics((1, -3)).lambda_
    with pytest.raises(ScoringError, match="on average"):
        pysw_cl.score_statistics((1, -3), composition={"A": 1})


def test_small_databases() -> None:
    """Of one sequence, of equal ones, shorter than the query, and empty ones."""
    for targets in (["MKV"], ["MKVLAW"] * 5, ["M"], []):
        (hits,) = search("MKVLAWHEAG", targets, top=3, output="path")
        assert len(hits) == min(3, len(targets))
        assert all(hit.expect is not None and hit.expect > 0 for hit in hits)


def test_few_scores_are_looked_at(monkeypatch: Any) -> None:
    """The bound leaves out what cannot be among the best."""
    looked = list[int]()
    known = Best._keys
    monkeypatch.setattr(
        Best,
        "_keys",
        lambda self, scores, ranks: looked.append(len(ranks)) or known(self, scores, ranks),
    )
    (query,) = proteins(1, 2, 300)
    (hits,) = search(query, [query, *proteins(3000, 9, 300)], top=1, output="score")
    assert hits[0].number == 0 and sum(looked) < 100


@pytest.mark.parametrize("mode", ["local", "global"])
def test_evalues_by_the_scores_of_the_search(mode: Any, monkeypatch: Any) -> None:
    """They order hits in any mode, whatever the parts of the database are; limits cut the list."""
    targets = proteins(400, 3, 120)
    queries = [targets[7], targets[100][:50]]
    common: dict[str, Any] = {"mode": mode, "evalues": "library", "output": "score"}
    whole = list(search(queries, targets, top=None, min_score=-(10**4), **common))
    for hits in whole:
        assert len(hits) == len(targets)
        keys = [(hit.expect, -hit.score, hit.number) for hit in hits]
        assert keys == sorted(keys)
    assert whole[0][0].number == 7 and whole[0][0].expect < 1e-3
    for part in (1 << 29, 2000):
        monkeypatch.setattr("pysw_cl.database.passes.PART", part)
        with Searcher(targets, mode=mode) as s:
            for limit in ({"top": 5}, {"top": 3, "ties": True}, {"max_evalue": 2.0, "top": None},
                          {"min_bits": 9.0, "top": None}):  # fmt: skip
                asked = {"min_score": -(10**4), **common, **limit}
                del asked["mode"]
                for hits, every in zip(s.search(queries, **asked), whole, strict=True):
                    good = [
                        hit for hit in every
                        if hit.expect <= limit.get("max_evalue", np.inf)
                        and hit.bits >= limit.get("min_bits", 0)
                    ]  # fmt: skip
                    top = limit["top"] or len(good)
                    assert facts(hits) == facts(good[:top])
    with pytest.raises(ScoringError, match="need 100 sequences"):
        list(search("MKV", targets[:50], evalues="library"))


def test_alignments_that_vary_little_have_evalues() -> None:
    """Of nucleotides whose gaps cost much all local alignments are about as long as they score."""
    rng = np.random.default_rng(1)
    targets = ["".join(rng.choice(list("ACGT"), 400)) for _ in range(60)]
    common: dict[str, Any] = {"sub_score": (1, -3), "gap_cost": (5, 2)}
    (hits,) = search(targets[0][:100], targets, max_evalue=1e-3, **common)
    assert [(hit.number, hit.score) for hit in hits] == [(0, 100)]
    law = pysw_cl.score_statistics(**common)
    assert law.alpha >= 0 and law.sigma >= 0
    assert np.isfinite(law.log_evalues(np.arange(1, 300), 300, 300, 1e6)).all()


def test_fits_do_not_depend_on_the_unit_of_scores() -> None:
    law = pysw_cl.score_statistics((1, -3), (5, 2))
    for times in (2, 10, 100):
        other = pysw_cl.score_statistics((times, -3 * times), (5 * times, 2 * times))
        assert other.lambda_ * times == pytest.approx(law.lambda_, rel=1e-6)
        assert other.k == pytest.approx(law.k, rel=1e-6)
    # few scores are odd, in halves
    between = [pysw_cl.score_statistics((1, -2), (gap, 1)).lambda_ for gap in (2, 2.5, 3)]
    assert between[0] * 0.98 < between[1] < between[2] * 1.02


def test_what_cannot_be_fitted_is_tried_once(monkeypatch: Any) -> None:
    tried = list[int]()
    known = statistics._fitted

    def fitted(*given: Any) -> Any:
        tried.append(1)
        raise ScoringError("no law")

    monkeypatch.setattr(statistics, "_fitted", fitted)
    for _ in range(3):
        with pytest.raises(ScoringError, match="no law"):
            pysw_cl.score_statistics((3, -4), (6, 2))
    assert len(tried) == 1
    monkeypatch.setattr(statistics, "_fitted", known)


@pytest.mark.parametrize("change", [
    {"lambda_": "x"}, {"k": None}, {"k": -1}, {"lambda_": 0}, {"a": float("nan")}, {"source": 5},
])  # fmt: skip
def test_damaged_fits_are_made_anew(change: dict[str, Any], tmp_path: Path) -> None:
    law = pysw_cl.score_statistics((2, -3), (5, 2))
    (file,) = (tmp_path / "profiles" / "statistics").glob("*.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    statistics._known.clear()
    assert pysw_cl.score_statistics((2, -3), (5, 2)) == law
    assert json.loads(file.read_text())["k"] == law.k


def test_odd_numbers() -> None:
    targets = ["MKV", "MKVLAW"]
    for db in ([], [""]):
        for limit in ({"max_evalue": 1}, {"min_score": 0}, {"min_bits": 5}):
            assert len(next(search("MKV", db, **limit))) <= len(db)  # type: ignore[arg-type]
    (hits,) = search("MKVLAWHEAG", ["", "MKVLAW"], alignments=2, output="path", min_score=0)
    assert {hit.number for hit in hits} == {0, 1}
    assert next(search("MKV", targets, min_bits=1e308)) == []
    assert len(next(search("MKV", targets, min_bits=-1e308))) == 2
    assert len(next(search("MKV", targets, max_evalue=1e300, db_letters=10**18))) == 2
    for wrong in (10**19, 10**400, 0, 2.5):
        with pytest.raises(InputError, match="db_letters"):
            search("MKV", targets, db_letters=wrong)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="db_letters"):
            hits[0].evalue(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="statistics"):
        hits[0].evalue(5, "x")  # type: ignore[arg-type]
    for composition in ({1: 0.5}, {b"A": 1}, {"A": 1j}, [("A", 1)], "ACGT", 5, {"A": "x"},
                        {"A": 10**400}, {"": 1, "AC": 1}):  # fmt: skip
        with pytest.raises(InputError, match="composition"):
            pysw_cl.score_statistics((1, -3), composition=composition)  # type: ignore[arg-type]


def test_why_there_are_no_evalues_is_said_once(recwarn: pytest.WarningsRecorder) -> None:
    """By each searcher, however many passes there are."""
    dna = ["ACGTTGCA", "GATTACA"]
    with Searcher(dna, (5, -1), (5, 2)) as s:
        for _ in range(3):
            list(s.search(["ACGT"] * 3, top=None))
        assert sum("no E-values" in str(one.message) for one in recwarn.list) == 1
        with pytest.raises(ScoringError, match="on average"):
            list(s.search("ACGT", max_evalue=1))
