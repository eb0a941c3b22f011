"""Every form of every argument of scikit-bio's `pair_align`, right or wrong: the plugin finds the
same, or refuses it in the same words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("skbio", "0.7.4")

from skbio import DNA, RNA, Protein, Sequence, SubstitutionMatrix, TabularMSA
from skbio_cases import same

import pysw_cl.skbio as ours
from pysw_cl.errors import InputError
from pysw_cl.skbio.pairs import ORIGINAL

THEIRS = ORIGINAL["pair_align"]
IDENTITY = SubstitutionMatrix.identity


class OwnDNA(DNA):
    """A class of somebody's own."""


SEQUENCES: list[tuple[Any, Any]] = [
    ("", ""), ("A", ""), ("", "A"), ("A", "A"), ("ACGT", "AGT"), ("acgt", "AcGT"), ("\u00e9", "e"),
    ("\x00\x01", "\x01"), ("\x7f", "\x80"), ("ACGT" * 300, "ACGA" * 300),
    (b"ACGT", b"AGT"), (bytearray(b"ACGT"), bytearray(b"AGT")),
    (memoryview(b"AC"), memoryview(b"A")),
    (["A", "C"], ["C", "A"]), (("A", "C"), ("C", "A")), ([1.5, 2.5], [2.5, 1.5, 9.0]),
    ([True, False], [False]), ([-1, 10**12], [10**12]), (range(3), range(2)), (["a", 1], ["a", 1]),
    ([None, 1], [1, None]), ([[1, 2], [3]], [[1, 2]]), ([(1, 2), (3, 4)], [(1, 2)]),
    (np.array(["a", "bb"]), np.array(["bb"])), (np.array([1.0, np.nan]), np.array([np.nan, 1.0])),
    (np.array([200, 5], np.uint8), np.array([200], np.uint8)), (np.zeros((2, 2)), np.zeros((2, 2))),
    (np.array([-1, 5], np.int8), np.array([5], np.int8)), (np.array(5), np.array(5)),
    (np.array(list("ACGT")), np.array(list("AGT"))), (np.array([b"A", b"C"]), np.array([b"C"])),
    (Sequence("xyz"), Sequence("xz")), (DNA("ACGT"), RNA("ACGU")), (DNA("ACGT"), "ACGT"),
    (DNA("AC-GT"), DNA("A.CGT")), (OwnDNA("ACGT"), OwnDNA("AGT")), (OwnDNA("ACGT"), DNA("AGT")),
    (DNA(""), DNA("A")), (DNA("acgt", lowercase=True), DNA("ACgt", lowercase="x")),
    (DNA("ACRYN"), DNA("ACGTN")), (Protein("MKUO*X"), Protein("MKCX")),
    (Protein("M-K"), Protein("MK")),
    (TabularMSA([DNA("ACGT")]), TabularMSA([DNA("ACG")])),
    (None, None), ("A", None), (5, 5), (5, "A"), ({"A": 1}, {"A": 1}), ({"A"}, {"A"}),
]  # fmt: skip
SCORES: list[Any] = [
    (1.0, -1.0), (1, -1), [2, -3], np.array([2, -1]), (True, False), ("1", "-1"), (-1, -2), (0, 0),
    (-0.0, 0.0), (0.1, -0.1), (np.nan, -1), (1, np.inf), (1e30, -1), (1, -1e-30), (1 << 23, -1),
    "NUC.4.4", "BLOSUM62", "nuc.4.4", "NONE", "", None, 5, (1,), (1, 2, 3), (1 + 0j, -1),
    {1: 2, 3: 4},
    IDENTITY("ACGT", 1, -2), IDENTITY("ACGT", 1, -2, dtype="float64"), IDENTITY("ACGU", 1, -2),
    IDENTITY(["a", "bb"], 1, -1), IDENTITY("\u03b1\u03b2", 1, -1),
]  # fmt: skip
GAPS: list[Any] = [
    2, 2.0, (5, 2), [5, 2], np.array([3, 1]), np.array(2), np.float64(2.5), (0, np.int8(3)),
    (0.5, 0.25), True, 0, (0, 0), -0.0, "2", ("5", "2"), "x", None, (2,), (1, 2, 3), -1, (-1, 2),
    (2, -1), np.inf, (np.inf, 1), np.nan, 1e30, 0.1, 1e-40, 1 << 24,
]  # fmt: skip
ENDS: list[Any] = [
    True, False, None, 1, 0, 2, "ab", "", (True, False), [1, 0], (1,), (1, 0, 1), (2, 0), (None, 1),
    (True, False, False, True), np.array([True, False]), np.bool_(True), np.array(True),
]  # fmt: skip
OTHERS: dict[str, list[Any]] = {
    "mode": ["local", "Global", None, 1, ""],
    "trim_ends": [True, None, "x", 2],
    "max_paths": [0, 1, 2, None, True, False, 1.0, -1, 1.5, "1", np.int64(1)],
    "atol": [0, None, True, 1e-9, 0.49, 0.5, 1, np.inf, -1, np.nan, "a", [1], 1e39, 1e-50],
    "keep_matrices": [True, 0, "x", None],
}


def said(function: Any, a: Any, b: Any, given: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The result or the exception, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = function(a, b, **given)
        except Exception as error:
            found = error
    return found, [(str(one.message), one.category) for one in told]


def alike(a: Any, b: Any, **given: Any) -> None:
    (theirs, told), (found, told_here) = (said(f, a, b, given) for f in (THEIRS, ours.pair_align))
    where = (a, b, given, theirs, found)
    assert told == told_here, where
    if isinstance(theirs, Exception):
        built_in = next(k for k in type(theirs).__mro__ if k.__module__ == "builtins")
        assert isinstance(found, InputError) and isinstance(found, built_in), where
        assert str(found) == str(theirs), where
    elif theirs.matrices is not None:
        both = zip(theirs.matrices, found.matrices, strict=True)
        assert all(np.array_equal(x, y, equal_nan=True) for x, y in both), where
    else:
        assert same(theirs, found) or (np.isnan(theirs.score) and np.isnan(found.score)), where


@pytest.mark.parametrize("pair", SEQUENCES)
def test_sequences_and_scores(pair: tuple[Any, Any]) -> None:
    for scores in SCORES:
        alike(*pair, sub_score=scores)
    alike(*pair, mode="local")
    alike(*pair, gap_cost=(2, 1), free_ends=False)


def arguments() -> Iterator[dict[str, Any]]:
    for mode in ("global", "local"):
        for gap in GAPS:
            yield from (
                {"gap_cost": gap, "mode": mode, "free_ends": free} for free in (True, False)
            )
        for ends in ENDS:
            for trim in (False, True):
                given = {"free_ends": ends, "trim_ends": trim, "mode": mode}
                yield from (given, {**given, "gap_cost": (3, 1)})
        yield from ({"sub_score": scores, "mode": mode} for scores in SCORES)
    for name, values in OTHERS.items():
        for value in values:
            yield from ({name: value}, {name: value, "gap_cost": (3, 0.5)})
            yield {"mode": "local", "gap_cost": (3, 1), name: value}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("ACGTTACG", "AGTTCG"),
        (DNA("ACGTTACG"), DNA("AGTTCG")),
        (["x", "yy"], ["yy", "x"]),
        ("A", "C"),
    ],
)
def test_arguments(a: Any, b: Any) -> None:
    for given in arguments():
        alike(a, b, **given)


def test_positions() -> None:
    """Arguments by position, and those that are refused, are scikit-bio's."""
    given = ("local", (1, -1), 2, True, False, 1, 1e-5, False)
    assert same(THEIRS("ACGT", "AGT", *given), ours.pair_align("ACGT", "AGT", *given))
    wrong: list[tuple[Any, Any]] = [
        (("A",), {}), (("A",), {"seq2": "A"}), (("A", "A"), {"bogus": 1}),
        (("A", "A", *given, 1), {}),
    ]  # fmt: skip
    for args, named in wrong:
        with pytest.raises(TypeError) as theirs:
            THEIRS(*args, **named)
        with pytest.raises(TypeError) as found:
            ours.pair_align(*args, **named)
        assert str(found.value) == str(theirs.value)
