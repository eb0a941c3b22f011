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
GAPS: list[Any] = [2, 2.5, 1, 0, (5, 2), (3, 0), (0, 1), (0.5, 0.25), [2, 1], np.float32(1.5)]
ENDS: list[Any] = [True, False, (True, False), [False, True], 1, np.bool_(False), np.array([1, 0])]
#: Kinds of symbols: letters, and what makes a sequence of a list of them.
TEXTS: list[tuple[str, Any]] = [
    ("ACGT", str), ("AC", str), ("ACGTN", DNA), ("ACGTRYKMSWN", DNA), ("ACGUN", RNA), ("ab", str),
    ("Aa#", str), ("ARNDCQEGHILKMFPSTWYVBZXUO*", Protein), ("\u03b1\u03b2c", str),
]  # fmt: skip


def same(given: Any, found: Any) -> bool:
    """Are two results equal in all that they say, types included?"""
    if type(given) is not type(found) or type(given.score) is not type(found.score):
        return False
    if given.score != found.score or (given.paths is None) != (found.paths is None):
        return False
    if given.matrices is not None or found.matrices is not None:
        return False
    if len(given.paths or []) != len(found.paths or []):
        return False
    return all(map(same_path, given.paths or [], found.paths or []))


def same_path(given: Any, found: Any) -> bool:
    """Are two paths equal, the types of their arrays included?"""
    arrays = [
        (getattr(a, name) for a in (given, found)) for name in ("lengths", "states", "ranges")
    ]
    return (
        type(given) is type(found)
        and given.shape == found.shape
        and str(given) == str(found)
        and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in arrays)
    )


def drawn_scores(rng: np.random.Generator, letters: str, made: Any) -> Any:
    """Match and mismatch, or a matrix: symmetric or not, of 32 or 64 bits, whole or with parts."""
    if rng.random() < 0.6:
        return SCORES[rng.integers(len(SCORES))]
    if made is Protein and rng.random() < 0.7:
        return ["BLOSUM62", "BLOSUM50", "PAM250"][rng.integers(3)]
    if made is Protein:  # symbols that the matrix lacks become X
        letters = "ARNDCQEGHILKMFPSTWYVX"
    if made is DNA and rng.random() < 0.3:
        return "NUC.4.4"
    if made is DNA or made is RNA:
        letters += "N" * ("N" not in letters)
    step = [1, 0.5, 0.125][rng.integers(3)]
    values = rng.integers(-6, 6, (len(letters),) * 2) * step
    np.fill_diagonal(values, rng.integers(0, 9, len(letters)) * step)
    if rng.random() < 0.5:
        values = (values + values.T) / 2
    kind = ["float32", "float64"][rng.integers(2)]
    return SubstitutionMatrix(letters, values.astype(kind))


def drawn_texts(rng: np.random.Generator, letters: str, made: Any) -> tuple[Any, Any]:
    """Two sequences of these letters, often with a common part: str, or what ``made`` makes."""
    most = rng.choice([4, 12, 40, 300], p=[0.3, 0.4, 0.27, 0.03])
    m, n = (int(k) for k in rng.integers(1, most, 2))
    if rng.random() < 0.002:  # more than a small matrix
        m, n = m + 1050, n + 1010
    a, b = ("".join(rng.choice(list(letters), k)) for k in (m, n))
    if rng.random() < 0.4:
        b = a[: int(rng.integers(1, m + 1))] + b
    return made(a), made(b)


def drawn(rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    """A small pair with many ties, and arguments."""
    letters, made = TEXTS[rng.integers(len(TEXTS))]
    scores = drawn_scores(rng, letters, made)
    a, b = drawn_texts(rng, letters, made)
    plain = isinstance(scores, tuple) and made is str
    if plain and rng.random() < 0.3:  # words, numbers, lists
        kinds: list[Any] = [
            list,
            lambda text: [ord(c) * 7 - 900 for c in text],
            lambda text: [c * 3 for c in text],
            lambda text: np.array([ord(c) % 100 for c in text]),
        ]
        kind = kinds[rng.integers(len(kinds))]
        a, b = kind(a), kind(b)
    four = tuple(bool(k) for k in rng.random(4) < 0.5)
    return a, b, {
        "mode": ["global", "local"][rng.integers(2)],
        "sub_score": scores,
        "gap_cost": GAPS[rng.integers(len(GAPS))],
        "free_ends": [*ENDS, four, four, four][rng.integers(len(ENDS) + 3)],
        "trim_ends": bool(rng.random() < 0.4),
        "max_paths": int(rng.random() < 0.9),
        "atol": [1e-5, 0, None, 0.03][rng.integers(4)],
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
