"""`pysw_cl.skbio` against scikit-bio itself: scores, paths, errors, and what is delegated."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

pytest.importorskip("skbio", "0.7.4")

import skbio.alignment
from skbio import DNA, RNA, Protein, SubstitutionMatrix
from skbio_cases import drawn, same

import pysw_cl
import pysw_cl.skbio as ours
from pysw_cl.errors import DeviceError, InputError
from pysw_cl.skbio import pairs
from pysw_cl.skbio.pairs import ORIGINAL

THEIRS = ORIGINAL["pair_align"]


def check_random(seed: int, count: int) -> None:
    rng, before = np.random.default_rng(seed), sum(ours.DELEGATED.values())
    for _ in range(count):
        a, b, given = drawn(rng)
        assert same(THEIRS(a, b, **given), ours.pair_align(a, b, **given)), (a, b, given)
    assert sum(ours.DELEGATED.values()) == before


def test_random_pairs() -> None:
    check_random(1, 400)


@pytest.mark.long
def test_many_random_pairs() -> None:
    check_random(2, 100_000)


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [
        (DNA("ACGNTT"), DNA("ACGNTA"), {}),  # N matches N
        (RNA("ACGUU"), RNA("AGGU"), {"mode": "local"}),
        (Protein("PKKKRKV"), Protein("PAAKRVKLD"), {"sub_score": "BLOSUM62", "gap_cost": (11, 1)}),
        (Protein("PKKUKRKV"), Protein("PAAKRUVKLD"), {"sub_score": "BLOSUM62"}),  # U as X
        ("The Cat", "the cat!", {"free_ends": False}),
        ("quick brown fox".split(), "slow brown fox".split(), {"sub_score": (1, -1)}),
        ([1, 2, 3, 500], [2, 3, 500, 7], {}),
        ("\u03b1\u03b2\u03b3", "\u03b2\u03b3\u03b4", {}),
        (np.array([5, 6, 7], np.uint8), np.array([6, 7, 9], np.uint8), {}),
        ("ACGT", "ACGT", {"sub_score": SubstitutionMatrix.identity("ACGT", 1, -2)}),
        ("AAAA", "CCCC", {"mode": "local"}),
        ("A", "C", {"free_ends": True, "trim_ends": True}),
    ],
)
def test_letters_as_scikit_bio_takes_them(a: Any, b: Any, given: dict[str, Any]) -> None:
    before = dict(ours.DELEGATED)
    assert same(THEIRS(a, b, **given), ours.pair_align(a, b, **given))
    assert dict(ours.DELEGATED) == before


@pytest.mark.parametrize(
    ("why", "given"),
    [
        ("max_paths", {"max_paths": 2}),
        ("max_paths", {"max_paths": None}),
        ("keep_matrices", {"keep_matrices": True}),
        ("infinite", {"gap_cost": np.inf}),
        ("infinite", {"sub_score": (1, -np.inf)}),
        ("negative gap cost", {"gap_cost": -1}),
        ("not whole", {"sub_score": (0.1, -0.3)}),
        ("large scores", {"sub_score": (1 << 21, -1)}),
        ("atol", {"atol": 0.5}),
        ("totals", {"gap_cost": (1 << 19, 1 << 19)}),
    ],
)
def test_what_goes_to_scikit_bio(why: str, given: dict[str, Any]) -> None:
    before = ours.DELEGATED[why]
    a = "ACGTTACGGACTTTTACG"
    found = ours.pair_align(a, "ACGTACGGACG", **given)
    expected = THEIRS(a, "ACGTACGGACG", **given)
    assert found.score == expected.score and len(found.paths) == len(expected.paths)
    assert ours.DELEGATED[why] == before + 1


def test_more_symbols_than_letters() -> None:
    before = ours.DELEGATED["symbols"]
    for count, theirs in ((64, 0), (65, 1)):
        words = [str(k) for k in range(count)]
        assert same(THEIRS(words, words[::-1]), ours.pair_align(words, words[::-1]))
        assert ours.DELEGATED["symbols"] == before + theirs


@pytest.mark.parametrize(
    ("args", "given"),
    [
        (("", "A"), {}),
        (("A", b"A"), {}),
        (("A", DNA("A")), {}),
        (("A", "A"), {"mode": "semi"}),
        (("A", "A"), {"free_ends": (True, False, True)}),
        (("A", "A"), {"atol": -1}),
        (("A", "A"), {"sub_score": "NONE"}),
        (("A", "A"), {"sub_score": (1, 2, 3)}),
        (("A", "A"), {"gap_cost": (1, 2, 3)}),
        (("AB", "A"), {"sub_score": SubstitutionMatrix.identity("AC", 1, -1)}),
        (("A", "A"), {"sub_score": None}),
    ],
)
def test_what_scikit_bio_refuses_is_refused_alike(args: Any, given: dict[str, Any]) -> None:
    with pytest.raises(Exception) as theirs:
        THEIRS(*args, **given)
    with pytest.raises(InputError) as found:
        ours.pair_align(*args, **given)
    built_in = next(b for b in type(theirs.value).__mro__ if b.__module__ == "builtins")
    assert isinstance(found.value, built_in)
    assert str(found.value) == str(theirs.value)


def test_the_wrappers_have_their_defaults() -> None:
    for name in ("pair_align_nucl", "pair_align_prot"):
        kind = DNA if name.endswith("nucl") else Protein
        a, b = kind("GATCGTC"), kind("ATCGCTC")
        assert same(ORIGINAL[name](a, b), getattr(ours, name)(a, b))
        assert same(ORIGINAL[name](a, b, gap_cost=3), getattr(ours, name)(a, b, gap_cost=3))


def test_signatures() -> None:
    """scikit-bio's arguments, kinds and defaults, and ``device``."""
    for name in (*ORIGINAL, "multi_align"):
        theirs = ORIGINAL.get(name) or getattr(skbio.alignment, name)
        wanted = [
            (p.name, p.kind, p.default) for p in inspect.signature(theirs).parameters.values()
        ]
        found = inspect.signature(getattr(ours, name)).parameters
        if name in ("pair_align", "multi_align"):
            assert found["device"].kind is inspect.Parameter.KEYWORD_ONLY
            assert found["device"].default == "auto"
        assert [(p.name, p.kind, p.default) for p in found.values() if p.name != "device"] == wanted
    assert ours.align_score is skbio.alignment.align_score


def test_devices() -> None:
    for function in (ours.pair_align, ours.pair_align_nucl):
        assert function("ACGT", "ACGT", device="cpu").score > 0
        with pytest.raises(DeviceError):
            function("ACGT", "ACGT", device="no such device")


def test_a_path_that_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is computed again in the general way, which has its own check."""
    given = {"mode": "local", "gap_cost": (5, 2), "sub_score": (2, -3)}
    expected = THEIRS("GATTACA", "GATACA", **given)
    broken: list[int] = []
    of_held = pairs.Path.of_held

    def wrong(found: Any, problem: Any) -> Any:
        path = of_held(found, problem)
        if path is not None:
            broken.append(1)
            path.moves = [moves[::-1][: len(moves) // 2] for moves in path.moves]
        return path

    monkeypatch.setattr(pairs.Path, "of_held", wrong)
    assert same(expected, ours.pair_align("GATTACA", "GATACA", **given))
    held = pysw_cl.align("GATTACA", "GATACA").stats.cells
    assert broken or not any(kind.startswith("held") for kind in held)
