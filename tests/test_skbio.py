"""`pysw_cl.skbio` against scikit-bio itself: scores, paths, errors, and what is delegated."""

from __future__ import annotations

import threading
import unittest
from typing import Any

import numpy as np
import pytest

pytest.importorskip("skbio", "0.7.4")

import skbio.alignment
from skbio import DNA, RNA, Protein, SubstitutionMatrix

import pysw_cl.skbio as ours
from pysw_cl.errors import InputError
from pysw_cl.skbio.pairs import ORIGINAL

THEIRS = ORIGINAL["pair_align"]
SCORES: list[Any] = [(1, -1), (2, -3), (0, -1), (1, 0), (1.5, -0.75), (1, 1), (3, -2.125)]
GAPS: list[Any] = [2, 2.5, 1, 0, (5, 2), (3, 0), (0, 1), (0.5, 0.25)]
ENDS: list[Any] = [True, False, (True, False), (False, True)]


def same(given: Any, found: Any) -> bool:
    """Are two results equal in all that they say?"""
    if given.score != found.score or (given.paths is None) != (found.paths is None):
        return False
    pairs = zip(given.paths or [], found.paths or [], strict=True)
    return len(given.paths or []) == len(found.paths or []) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in pairs
        for name in ("lengths", "states", "ranges")
    )


def drawn(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    """A small pair with many ties, and arguments."""
    letters = list(["ACGT", "AC", "ACGTN", "ab", "Aa#"][rng.integers(5)])
    m, n = (int(k) for k in rng.integers(1, rng.choice([4, 12, 40]), 2))
    a, b = ("".join(rng.choice(letters, k)) for k in (m, n))
    if rng.random() < 0.4:
        b = a[: int(rng.integers(1, m + 1))] + b
    if set(letters) <= set("ACGTN") and rng.random() < 0.3:
        a, b = DNA(a), DNA(b)
    four = tuple(bool(k) for k in rng.random(4) < 0.5)
    return a, b, {
        "mode": ["global", "local"][rng.integers(2)],
        "sub_score": SCORES[rng.integers(len(SCORES))],
        "gap_cost": GAPS[rng.integers(len(GAPS))],
        "free_ends": [*ENDS, four][rng.integers(5)],
        "trim_ends": bool(rng.random() < 0.4),
        "max_paths": int(rng.random() < 0.9),
    }  # fmt: skip


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
    words = [str(k) for k in range(40)]
    assert same(THEIRS(words, words[::-1]), ours.pair_align(words, words[::-1]))
    assert ours.DELEGATED["symbols"] == before + 1


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


# Many sequences


def family(rng: np.random.Generator) -> list[str]:
    letters = list(["ACGT", "AC", "A"][rng.integers(3)])
    base, found = rng.choice(letters, int(rng.integers(1, 40))), []
    for _ in range(int(rng.integers(2, 9))):
        one = np.where(rng.random(len(base)) < 0.2, rng.choice(letters, len(base)), base)
        found.append("".join(one[rng.random(len(one)) > 0.1]) or "A")
    return found


@pytest.mark.parametrize("seed", range(6))
def test_multi_align(seed: int) -> None:
    """The same distances to the last bit, the same tree, the same alignment."""
    rng = np.random.default_rng(seed)
    for _ in range(6):
        seqs = family(rng)
        given = {
            "sub_score": [(1, -1), (2, -3)][rng.integers(2)],
            "gap_cost": [2, 2.5, 1, (5, 2), 0][rng.integers(5)],
            "free_ends": bool(rng.random() < 0.6),
            "keep_tree": True,
            "keep_distmat": True,
        }
        expected = skbio.alignment.multi_align(seqs, **given)
        found = ours.multi_align(seqs, **given)
        assert np.array_equal(found.distmat.data, expected.distmat.data), (seqs, given)
        assert str(found.tree) == str(expected.tree)
        assert found.path.to_aligned(seqs) == expected.path.to_aligned(seqs)
        again = ours.multi_align(seqs, guide_tree=expected.tree)
        assert again.tree is None and again.distmat is None


def test_names_of_distances() -> None:
    seqs = [
        DNA(text, metadata={"id": name})
        for name, text in zip("xyz", ("ACGT", "ACG", "CGT"), strict=True)
    ]
    assert ours.pair_dists(seqs).ids == ("x", "y", "z")
    assert ours.pair_dists(seqs, ids="abc").ids == ("a", "b", "c")
    with pytest.raises(InputError, match="metric must be 'score'"):
        ours.pair_dists(seqs, metric="other")
    with pytest.raises(InputError, match="unique"):
        ours.pair_dists(seqs, ids="aab")


@pytest.mark.parametrize("seqs", [["ACGT"], [], ["AC-GT", "ACGT"], [b"ACG", b"ACG"], ["A", 5]])
def test_multi_align_refuses_alike(seqs: Any) -> None:
    with pytest.raises(Exception) as theirs:
        skbio.alignment.multi_align(seqs)
    with pytest.raises(InputError) as found:
        ours.multi_align(seqs)
    assert str(found.value) == str(theirs.value)


# Routing


def routed() -> bool:
    """Does scikit-bio's name compute here?  Symbols that are not ours tell."""
    before = ours.DELEGATED["max_paths"]
    skbio.alignment.pair_align("ACGT", "ACGT", max_paths=3)
    return ours.DELEGATED["max_paths"] > before


def test_routing() -> None:
    assert not routed()
    with ours.use():
        assert routed()
        with ours.use("cpu"):
            assert routed()
        assert routed()
        other: list[bool] = []
        thread = threading.Thread(target=lambda: other.append(routed()))
        thread.start()
        thread.join()
        assert other == [False]
    assert not routed()
    ours.install()
    try:
        assert routed()
    finally:
        ours.uninstall()
    assert not routed()


def test_scikit_bios_own_tests_pass() -> None:
    """From the installed package, with its names routed."""
    tests = pytest.importorskip("skbio.alignment.tests.test_pair")
    ours.install()
    try:
        for name in ORIGINAL:
            setattr(tests, name, getattr(skbio.alignment, name))
        suite = unittest.defaultTestLoader.loadTestsFromModule(tests)
        result = unittest.TestResult()
        suite.run(result)
    finally:
        ours.uninstall()
    assert result.testsRun > 30
    assert not result.failures and not result.errors, (result.failures, result.errors)
