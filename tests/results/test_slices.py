"""Some columns of an alignment."""

from __future__ import annotations

import numpy as np
import pytest
from test_convert import random_results

import pysw_cl
from pysw_cl.errors import InputError


@pytest.mark.parametrize("strand", ["plus", "minus"])
def test_columns_of_random_alignments(strand: str) -> None:
    """Every slice says what the whole says of these columns, and scores what it says."""
    rng = np.random.default_rng(4)
    for whole in random_results(strand=strand, gap_cost=(1, 0.5)):
        pairs, texts = whole.aligned_pairs(), whole.aligned
        for _ in range(6):
            start, stop = rng.integers(-3, (whole.columns or 0) + 4, 2).tolist()
            columns = slice(start, stop)
            part = whole[columns]
            assert part.aligned == tuple(text[columns] for text in texts)
            assert part.aligned_pairs().tolist() == pairs[columns].tolist()
            assert part.score == part.rescore()
            assert part.query is whole.query and part.strand == strand
            for k, side in enumerate(("query", "target")):
                there = pairs[columns, k]
                there = there[there >= 0]
                span = getattr(part, f"{side}_start"), getattr(part, f"{side}_end")
                assert span[1] - span[0] == len(there)
                if len(there):
                    assert span == (there.min(), there.max() + 1)
            again = whole[columns][1:][:-1]
            assert again.aligned == tuple(text[1:-1] for text in part.aligned)


def test_all_columns_are_the_alignment() -> None:
    r = pysw_cl.align("GATTACAGATTACA", "GATTCAGATTTACA", gap_cost=1)
    assert r[:] == r and r[:].cigar == r.cigar and r[:].stats == pysw_cl.Stats()
    assert r.stats.seconds > 0
    assert (r[2:2].columns, r[2:2].query_start, r[2:2].score) == (0, r.query_start + 2, 0)
    empty = r[2:2]
    assert (empty.cigar, len(empty.runs or ()), empty == r[2:1]) == ("", 0, True)
    assert "# identity:    0/0" in str(empty) and "<pre" in empty._repr_html_()
    assert empty.aligned == ("", "") and empty.to_paf() == ""
    assert str(r[:5]) and repr(r[:5]) and r[:5].to_dict()["columns"] == 5


def test_a_gap_that_is_cut_opens_in_both_parts() -> None:
    r = pysw_cl.align("GATTACAGATTACA", "GATTACATTTGATTACA", mode="global", gap_cost=(2, 1))
    assert r.cigar == "7=3D7=" and r.score == 14 - 5
    parts = r[:9], r[9:]
    assert [one.cigar for one in parts] == ["7=2D", "1D7="]
    assert [one.score for one in parts] == [7 - 4, 7 - 3]


def test_megabases_are_cut_by_runs() -> None:
    """Not by columns: the work is that of the columns taken."""
    letters = np.frombuffer(b"ACGT" * 250_000, np.uint8)
    r = pysw_cl.align(letters, letters, max_cost=0, mode="global")
    assert r[500_000:500_010].query_start == 500_000
    assert r[-4:].cigar == "4="


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (3, "sliced by columns"),
        ("a", "sliced by columns"),
        (slice(0, 9, 2), "a step of 1, not 2"),
        (slice(0.5, 3), "whole numbers"),
        (slice(0, 3, 0), "whole numbers"),
    ],
)
def test_what_is_no_slice(columns: object, words: str) -> None:
    r = pysw_cl.align("GATTACAGATTACA", "GATTACAGATTACA")
    with pytest.raises(InputError, match=words):
        r[columns]  # type: ignore[index]
    with pytest.raises(TypeError, match="not iterable"):
        iter(r)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="output='path'"):
        pysw_cl.align("GATTACA", "GATTACA", output="ends")[1:3]
