"""`pysw_cl.skbio` for many sequences and many pairs, and its routing of scikit-bio's own names."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
import unittest
from typing import Any

import numpy as np
import pytest

pytest.importorskip("skbio", "0.7.4")

import skbio.alignment
from helpers import IMPORTS
from skbio import DNA, RNA, Protein, SubstitutionMatrix, TabularMSA
from skbio_cases import TEXTS, drawn, drawn_scores, drawn_texts, same

import pysw_cl
import pysw_cl.skbio as ours
from pysw_cl.errors import DeviceError, InputError
from pysw_cl.planning.parameters import PairTuning
from pysw_cl.skbio import encoding
from pysw_cl.skbio.pairs import ORIGINAL

THEIRS = ORIGINAL["pair_align"]

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
        }
        same_msa(seqs, **given)
        tree = ours.multi_align(seqs, **given, keep_tree=True).tree
        again = ours.multi_align(seqs, guide_tree=tree)
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


REFUSED: list[tuple[Any, dict[str, Any]]] = [
    (["ACGT"], {}),
    ([], {}),
    (["AC-GT", "ACGT"], {}),
    ([b"ACG", b"ACG"], {}),
    (["A", 5], {}),
    (["A", ""], {}),
    ([DNA("ACG"), RNA("ACG")], {}),
    ([DNA("AC.G"), DNA("ACG")], {}),
    (["ACG", "ACT"], {"free_ends": (True, False)}),
    (["ACG", "ACT"], {"free_ends": 1}),
    (["ACG", "ACT"], {"gap_cost": -1}),
    (["ACG", "ACT"], {"gap_cost": np.inf}),
    (["ACG", "ACT"], {"sub_score": (1, np.nan)}),
    (["ACG", "ACT"], {"sub_score": SubstitutionMatrix("ACGT", np.arange(16.0).reshape(4, 4))}),
    (["ACG", "ACT"], {"sub_score": "NONE"}),
    (["ACG", "ACT"], {"atol": -1}),
    (["ACG", "ACT"], {"ids": ["a"]}),
    (["ACG", "ACT"], {"ids": ["a", "a"]}),
    (None, {}),
]


@pytest.mark.parametrize(("seqs", "given"), REFUSED)
def test_many_sequences_are_refused_alike(seqs: Any, given: dict[str, Any]) -> None:
    with pytest.raises(Exception) as theirs:
        skbio.alignment.multi_align(seqs, **given)
    built_in = next(b for b in type(theirs.value).__mro__ if b.__module__ == "builtins")
    for function in (ours.multi_align, ours.pair_dists):
        if function is ours.pair_dists and seqs is None:
            continue
        with pytest.raises(InputError) as found:
            function(seqs, **given)
        assert isinstance(found.value, built_in)
        assert str(found.value) == str(theirs.value)


def test_a_guide_tree_is_refused_alike() -> None:
    for tree in ("((0,1),2);", skbio.TreeNode.read(["((0,1),3);"])):
        with pytest.raises(Exception) as theirs:
            skbio.alignment.multi_align(["ACG", "ACT", "AC"], guide_tree=tree)
        with pytest.raises(InputError) as found:
            ours.multi_align(["ACG", "ACT", "AC"], guide_tree=tree)
        assert str(found.value) == str(theirs.value)


def same_msa(seqs: Any, **given: Any) -> Any:
    """Both functions find the same matrix to the last bit, tree and alignment; gives the matrix."""
    given |= {"keep_tree": True, "keep_distmat": True}
    expected, found = (f(seqs, **given) for f in (skbio.alignment.multi_align, ours.multi_align))
    assert np.array_equal(found.distmat.data, expected.distmat.data), (seqs, given)
    assert found.distmat.ids == expected.distmat.ids
    assert str(found.tree) == str(expected.tree)
    assert np.array_equal(found.path.lengths, expected.path.lengths)
    assert np.array_equal(found.path.states, expected.path.states)
    assert np.array_equal(found.path.ranges, expected.path.ranges)
    return expected.distmat


@pytest.mark.parametrize("seed", range(8))
def test_sequences_of_every_kind(seed: int) -> None:
    """Proteins, degenerate letters, words; matrices of 32 and 64 bits; `pair_dists` finds the same
    distances.  Nothing goes to scikit-bio."""
    rng, before = np.random.default_rng([seed, 7]), dict(ours.DELEGATED)
    for _ in range(5):
        letters, made = TEXTS[rng.integers(len(TEXTS))]
        seqs = [one for _ in range(4) for one in drawn_texts(rng, letters, made)][
            : rng.integers(2, 9)
        ]
        scores = drawn_scores(rng, letters, made)
        if isinstance(scores, SubstitutionMatrix):
            scores = SubstitutionMatrix(scores.alphabet, (scores.data + scores.data.T) / 2)
        given: dict[str, Any] = {
            "sub_score": scores,
            "gap_cost": [2, 2.5, 0, (5, 2), (0, 1), (3, 0)][rng.integers(6)],
            "free_ends": bool(rng.random() < 0.6),
        }
        distances = same_msa(seqs, **given)
        again = ours.pair_dists(seqs, **given)
        assert np.array_equal(again.data, distances.data) and again.ids == distances.ids
    assert dict(ours.DELEGATED) == before


def test_other_containers_of_sequences() -> None:
    """A generator, a TabularMSA, an iterator of names; matrices by name."""
    seqs = [DNA("ACGTT"), DNA("AGGTT"), DNA("ACCTT")]
    expected = skbio.alignment.multi_align(seqs, keep_distmat=True)
    for given in ((one for one in seqs), TabularMSA(seqs), tuple(seqs)):
        found = ours.multi_align(given, keep_distmat=True)
        assert np.array_equal(found.distmat.data, expected.distmat.data)
    assert ours.pair_dists(TabularMSA(seqs), ids=iter("abc")).ids == ("a", "b", "c")
    same_msa([[1, 2, 500], [1, 500], [2, 500, 7]])
    same_msa([Protein("MKUV"), Protein("MKV"), Protein("MUV")], sub_score="BLOSUM62")


def test_distances_that_go_to_scikit_bio() -> None:
    for why, given in (("not whole", {"sub_score": (0.1, -0.3)}), ("atol", {"atol": 0.5})):
        before = ours.DELEGATED[why]
        same_msa(["ACGTTA", "ACGTA", "CGTTAA"], **given)
        assert ours.DELEGATED[why] == before + 1
    before = ours.DELEGATED["symbols"]
    words = [[str(k) for k in range(70)], [str(k) for k in range(69, 0, -1)]]
    assert ours.pair_dists(words).shape == (2, 2)
    assert ours.DELEGATED["symbols"] == before + 1


def test_distances_as_a_matrix() -> None:
    """`score_matrix` has the same bits, with integers and with halves."""
    rng = np.random.default_rng(6)
    for free in (True, False):
        for given in ({"gap_cost": 2}, {"sub_score": (1.5, -1), "gap_cost": (2, 0.5)}):
            seqs = ["".join(rng.choice(list("ACGT"), rng.integers(1, 40))) for _ in range(7)]
            how = {"sub_score": (1, -1), "free_ends": free, **given}
            expected = skbio.alignment.multi_align(seqs, keep_distmat=True, **how).distmat.data
            for plan in (None, {"engine": "reference"}):
                found = pysw_cl.score_matrix(
                    seqs, output="distance", mode="global", plan=plan, device="cpu", **how
                )
                assert np.array_equal(found, expected)


def test_distances_in_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    seqs = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(9)]
    expected = ours.pair_dists(seqs, gap_cost=(5, 2))
    monkeypatch.setattr("pysw_cl.database.matrix.PATHS", PairTuning(grid_pairs=7))
    assert np.array_equal(ours.pair_dists(seqs, gap_cost=(5, 2)).data, expected.data)


# Many pairs


def check_many_pairs(seed: int, count: int, most: int, kinds: Any) -> None:
    """The results of scikit-bio for each pair, in every mode; nothing goes to scikit-bio."""
    rng, before = np.random.default_rng(seed), dict(ours.DELEGATED)
    for _ in range(count):
        kind = kinds[rng.integers(len(kinds))]
        given = drawn(rng)[2] | {"sub_score": drawn_scores(rng, *kind)}
        pairs = [drawn_texts(rng, *kind) for _ in range(int(rng.integers(1, most)))]
        found = ours.pair_align_many(iter(pairs), **given)
        expected = [THEIRS(*pair, **given) for pair in pairs]
        assert len(found) == len(pairs)
        assert found.scores.tolist() == [one.score for one in expected]
        assert all(map(same, expected, found)), (pairs, given)
        assert same(expected[-1], found[-1]) and all(map(same, expected[:2], found[:2]))
    assert dict(ours.DELEGATED) == before


@pytest.mark.parametrize("kind", TEXTS, ids=repr)
def test_many_pairs(kind: Any) -> None:
    check_many_pairs(11, 8, 20, [kind])


@pytest.mark.long
def test_very_many_pairs() -> None:
    check_many_pairs(3, 250, 200, TEXTS)


def test_pairs_of_different_kinds() -> None:
    """Pairs that cannot be encoded or computed together are aligned one by one."""
    before = ours.DELEGATED["symbols"]
    words = [str(k) for k in range(70)]
    pairs: list[Any] = [("ACG", "AG"), (DNA("AC"), DNA("C")), (words, words), ([1, 2], [2])]
    found = ours.pair_align_many(pairs)
    assert all(same(THEIRS(*pair), one) for pair, one in zip(pairs, found, strict=True))
    assert ours.DELEGATED["symbols"] == before + 1
    assert len(ours.pair_align_many([])) == 0
    assert repr(found) == "<PairAlignResults, pairs: 4>"
    with pytest.raises(IndexError):
        found[4]


@pytest.mark.parametrize(
    ("pairs", "given", "message"),
    [
        ([("A", "C"), ("A", "")], {}, "pair 1: Sequence 2 has a length of zero."),
        ([("A", "C"), (DNA("A"), RNA("A"))], {}, "pair 1: Sequences are of different types."),
        ([("A", "C"), ("A", "C", "G")], {}, "pair 1 must be .query, target., not"),
        ([("A", "C"), None], {}, "pair 1 must be .query, target., not None"),
        ([("A", "C")], {"mode": "semi"}, "pair 0: Invalid mode: semi."),
        ([("A", "C")], {"max_paths": 2}, "max_paths must be 0 or 1"),
        ([("A", "C")], {"gap_cost": (1, 2, 3)}, "pair 0: too many values to unpack"),
    ],
)
def test_many_pairs_that_are_refused(pairs: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ours.pair_align_many(pairs, **given)


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


def test_the_device_of_a_block() -> None:
    """The innermost block decides; an exception ends a block, too; `install` is for the rest."""
    for name in ORIGINAL:
        with pytest.raises(DeviceError), ours.use("no such device"):
            with ours.use():
                assert getattr(skbio.alignment, name)(DNA("ACGT"), DNA("ACGT")).score > 0
            getattr(skbio.alignment, name)(DNA("ACGT"), DNA("ACGT"))
    assert not routed()
    ours.install("no such device")
    try:
        with ours.use("cpu"):
            assert routed()
        with pytest.raises(DeviceError):
            skbio.alignment.pair_align("ACGT", "ACGT")
    finally:
        ours.uninstall()
    assert skbio.alignment.pair_align("ACGT", "ACGT").score == 4
    assert inspect.signature(skbio.alignment.pair_align) == inspect.signature(THEIRS)


def test_threads_each_with_a_device() -> None:
    found: dict[int, list[float]] = {}
    pairs = [("GATTACA" * k, "GATACA" * k) for k in range(1, 20)]
    expected = [THEIRS(*pair).score for pair in pairs]

    def work(number: int) -> None:
        with ours.use("cpu" if number % 2 else "auto"):
            found[number] = [skbio.alignment.pair_align(*pair).score for pair in pairs]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), expected)


def test_without_scikit_bio() -> None:
    code = "import sys; sys.modules['skbio'] = None; import pysw_cl.skbio"
    environment = {**os.environ, "PYTHONPATH": IMPORTS}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert run.returncode == 1
    assert b"pysw_cl.skbio needs scikit-bio 0.7.4 or a later 0.7" in run.stderr


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


def test_scores_that_are_refused_are_looked_at_once() -> None:
    """Pairs that are handed to scikit-bio do not pay for it each time."""
    for _ in range(3):
        before = encoding._scores.cache_info()
        ours.pair_align("ACGT", "ACGA", sub_score=(1.1, -1.3))
    after = encoding._scores.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)
