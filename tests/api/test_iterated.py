"""``align_many`` with an iterable that is no list: it is read and aligned in lists."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from many import OUTPUTS, align_many_stats

import pysw_cl
from pysw_cl.api import many as module, parts
from pysw_cl.api.parts import PartLimits, in_lists
from pysw_cl.errors import InputError, LettersWarning, SequenceError

PAIRS = [("ACGTTGCA"[k % 5 :] * (1 + k % 3), "TTGACGTGCA"[: 4 + k % 6]) for k in range(50)]


@pytest.fixture(autouse=True)
def short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMITS", PartLimits(pairs=7, cells=None))


def test_lists_are_bounded() -> None:
    for limits, most in (
        (PartLimits(pairs=7, cells=None), 7),
        (PartLimits(letters=60, cells=None), 24),
    ):
        found = list(in_lists(iter(PAIRS), limits))
        assert list(chain.from_iterable(found)) == PAIRS and len(found) > 3
        assert max(map(len, found)) <= most
    many = list(in_lists((("ACGT", "AC") for _ in range(5000)), PartLimits(pairs=2000, cells=None)))
    assert [len(some) for some in many] == [2000, 2000, 1000]


def test_long_sequences_are_read_one_by_one() -> None:
    long = "A" * (parts.SHORT + 1)
    read: list[int] = []

    def pairs() -> Iterator[tuple[str, str]]:
        for k in range(9):
            read.append(k)
            yield (long, "A") if k > 4 else ("A", "A")

    lists = in_lists(pairs(), PartLimits(letters=len(long), cells=None))
    lengths = []
    for some in lists:
        lengths.append(sum(pair[0] is long for pair in some))
    assert sum(lengths) == 4 and len(lengths) >= 2


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("given", [{}, {"min_score": 4}, {"strand": "both"}], ids=str)
def test_rows_are_those_of_a_list(output: str, given: dict[str, Any]) -> None:
    expected, cost = align_many_stats(PAIRS, output=output, **given)
    found, stats = align_many_stats(iter(PAIRS), output=output, **given)
    assert found.dtype == expected.dtype and (found == expected).all()
    assert stats.total_cells == cost.total_cells
    with_progress: list[tuple[int, int]] = []
    told = pysw_cl.align_many(
        iter(PAIRS), output=output, progress=lambda *p: with_progress.append(p), **given
    )
    assert (told == expected).all() and with_progress[-1][0] == with_progress[-1][1]
    assert len(pysw_cl.align_many(iter([]), output=output, **given)) == 0


def test_pairs_are_forgotten() -> None:
    class Text(str):
        pass

    alive: weakref.WeakSet[Text] = weakref.WeakSet()
    most = [0]

    def pairs() -> Iterator[tuple[Text, str]]:
        for query, target in PAIRS:
            text = Text(query)
            alive.add(text)
            most[0] = max(most[0], len(alive))
            yield text, target

    assert (pysw_cl.align_many(pairs()) == pysw_cl.align_many(PAIRS)).all()
    assert most[0] <= 16


def test_errors_and_warnings_are_of_the_whole_input() -> None:
    with pytest.raises(SequenceError, match=r"^pair 30: letter '!' at position 2") as found:
        pysw_cl.align_many(("A!", "A") if k == 30 else ("A", "A") for k in range(50))
    assert found.value.pair == 30
    with pytest.raises(InputError, match=r"^pair 23 must be"):
        pysw_cl.align_many(5 if k == 23 else ("A", "A") for k in range(50))
    given = {"sub_score": "BLOSUM62"}
    with pytest.warns(LettersWarning, match=r"U as C \(20\)") as said:
        pysw_cl.align_many((("MKUW", "MKW") for _ in range(20)), **given)
    assert len(said) == 1 and said[0].filename == __file__
