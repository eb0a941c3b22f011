"""``align_many`` with strands: every row is what ``align`` finds with the same strand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers import ALL_FREE_ENDS
from many import LANES, align_many_stats, plan_of, skip_lanes
from tuned import tuned

import pysw_cl
from pysw_cl.drivers.options import FIELDS, fields_of
from pysw_cl.errors import InputError, SequenceError

STRANDS = ["minus", "both"]
OUTPUTS = ["score", "ends", "matches", "path"]
COMPLEMENTS = str.maketrans("ACGTRYKMacgt", "TGCAYRMKtgca")

Pairs = list[tuple[str, str]]


def complement(text: str) -> str:
    """The reverse complement."""
    return text.translate(COMPLEMENTS)[::-1]


def some_pairs(seed: int, count: int, longest: int, letters: str = "ACGT") -> Pairs:
    """Pairs of which some are related on the plus strand, some on minus, and some on neither.
    Palindromes score the same on both."""
    rng = np.random.default_rng(seed)

    def text(most: int) -> str:
        return "".join(rng.choice(list(letters), int(rng.integers(1, most + 1))))

    pairs = []
    for k in range(count):
        query = text(longest)
        near = {0: query, 1: complement(query), 2: ""}[k % 3]
        if k % 5 == 0:
            query = near = query + complement(query)
        pairs.append((query, text(9) + near[: len(near) - k % 2] + text(9)))
    return pairs


def shown(output: str) -> str:
    """The output of `align` that has the values of this output of `align_many`."""
    return output if output in ("score", "ends") else "path"


@cache
def aligned_alone(strand: str, output: str) -> tuple[list[Any], Pairs]:
    """Some pairs by `align`, with the plan that the device gets by default."""
    pairs = some_pairs(1, 70, 40)
    return [pysw_cl.align(*pair, strand=strand, output=output) for pair in pairs], pairs


def check(
    pairs: Pairs, strand: str, output: str, alone: list[Any] | None = None, **given: Any
) -> np.ndarray[Any, Any]:
    """Each row has the values of `align`, field by field; -1 where that has None.  ``alone``: what
    `align` found."""
    rows = pysw_cl.align_many(pairs, strand=strand, output=output, **given)
    assert rows.dtype.names == fields_of(output, strand)
    for k, (query, target) in enumerate(pairs):
        if alone is None:
            one = pysw_cl.align(query, target, strand=strand, output=shown(output), **given)
        else:
            one = alone[k]
        for name in fields_of(output, strand):
            value = getattr(one, name)
            assert rows[name][k] == (-1 if value is None else value), (
                f"{name} of pair {k}, {query} {target}: {rows[name][k]} instead of {value}, "
                f"{strand=} {output=} {given}"
            )
    return rows


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("strand", STRANDS)
def test_is_align(strand: str, output: str, lanes: str) -> None:
    skip_lanes(lanes)
    alone, pairs = aligned_alone(strand, shown(output))
    with plan_of(lanes) as plan:
        rows = check(pairs, strand, output, alone, plan=plan)
    assert set(rows["strand"].tolist()) == ({"minus"} if strand == "minus" else {"plus", "minus"})


@pytest.mark.parametrize("strand", STRANDS)
def test_global_with_free_ends(strand: str) -> None:
    pairs = some_pairs(2, 30, 25)
    for k, free_ends in enumerate(ALL_FREE_ENDS):
        check(pairs, strand, OUTPUTS[k % 4], mode="global", free_ends=free_ends)


def test_plus_among_equals() -> None:
    """A palindrome, and a pair without an alignment."""
    pairs = [("ACGT", "TTACGTTT"), ("AAAA", "CCCC"), ("AACC", "GGTT"), ("AACC", "AACC")]
    rows = check(pairs, "both", "path")
    assert rows["strand"].tolist() == ["plus", "plus", "minus", "plus"]


def test_ambiguity_letters_and_case() -> None:
    pairs = some_pairs(3, 40, 30, "ACGTRYKMacgt")
    check(pairs, "both", "path")
    check(pairs, "minus", "ends")
    check(pairs, "both", "matches", wildcard="N")


def test_halves() -> None:
    check(some_pairs(4, 30, 30), "both", "path", sub_score=(1, -1.5), gap_cost=(2.5, 0.5))


def test_the_reference_engine() -> None:
    plan = {"engine": "reference"}
    for output in OUTPUTS:
        check(some_pairs(5, 12, 15), "both", output, plan=plan)


@pytest.mark.parametrize("strand", STRANDS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_pairs_that_are_aligned_alone(strand: str, output: str) -> None:
    """Long sequences, large pairs, and pairs whose matches would be counted forward."""
    pairs = some_pairs(6, 40, 90)
    expected = pysw_cl.align_many(pairs, strand=strand, output=output)
    for values in (
        {"pairs.longest": 80},
        {"pairs.alone_cells": 3000, "pairs.cpu_mates": 90, "pairs.gpu_mates": 90},
        {"pairs.counted_cells": 3000},
        {"pairs.cpu_pairs": 7, "pairs.gpu_pairs": 7},
    ):
        with tuned(values):
            assert (pysw_cl.align_many(pairs, strand=strand, output=output) == expected).all()


def test_paths_are_computed_on_one_strand_only() -> None:
    pairs = some_pairs(7, 200, 60)
    cells = sum(len(a) * len(b) for a, b in pairs)
    for output, sweeps in (("score", 2), ("ends", 2), ("matches", 3), ("path", 3)):
        with tuned({"pairs.far": 1 << 20}):
            assert align_many_stats(pairs, output=output, strand="both")[1].total_cells == (
                sweeps * cells
            )
        calls: list[int] = []

        def tell(done: int, total: int, calls: list[int] = calls, most: int = sweeps) -> None:
            assert total == most * cells
            calls.append(done)

        _, stats = align_many_stats(pairs, output=output, strand="both", progress=tell)
        near = 0.1 * cells if sweeps == 3 else 0  # ends of long targets are found first
        assert abs(stats.total_cells - sweeps * cells) <= near
        assert calls[-1] == sweeps * cells
        assert calls == sorted(calls)


def test_rows_of_plus_are_as_ever() -> None:
    for output in OUTPUTS:
        rows = pysw_cl.align_many([("ACGT", "ACGT")], output=output, strand="plus")
        assert rows.dtype.names == FIELDS[output]


def test_errors() -> None:
    with pytest.raises(InputError, match="strand must be"):
        pysw_cl.align_many([("ACGT", "ACGT")], strand="down")
    with pytest.raises(InputError, match="takes nucleotides"):
        pysw_cl.align_many([("ACGT", "ACGT")], strand="both", sub_score="BLOSUM62")
    for strand in STRANDS:
        with pytest.raises(SequenceError, match=r"^pair 1: letter 'Z' at position 3 of the query"):
            pysw_cl.align_many([("ACGT", "ACGT"), ("ACZT", "ACGT")], strand=strand)
    # a letter whose complement is not in the alphabet, and one that only its complement is in
    some = (np.eye(5), "ACGTR")
    for query, words in (("ACRT", "which is not in the alphabet"), ("ACYT", "letter 'Y' at")):
        with pytest.raises(SequenceError, match=f"^pair 0: .*{words}"):
            pysw_cl.align_many([(query, "ACGT")], strand="minus", sub_score=some)
        with pytest.raises(SequenceError, match=words):
            pysw_cl.align(query, "ACGT", strand="minus", sub_score=some)
