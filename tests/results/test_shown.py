"""What results and plans say of themselves where Python or a notebook shows them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import pysw_cl
from pysw_cl.errors import InputError

PLAN = {"engine": "reference"}


def test_one_line_says_what_it_is() -> None:
    found: list[Any] = [
        pysw_cl.predict(1000, 2000),
        pysw_cl.plan(1000, 2000),
        pysw_cl.align("ACGT", "ACGT").plan,
        pysw_cl.align("ACGT", "ACGT", plan=PLAN).plan,
        pysw_cl.devices()[0],
    ]
    begins = ["<Prediction 1,000 x 2,000: ", "<Choice for 1,000 x 2,000: "]
    begins += ["<Plan wavefront on ", "<Plan reference on ", "<Device 0:0 "]
    for one, begin in zip(found, begins, strict=True):
        assert repr(one).startswith(begin)
        assert len(repr(one)) < 250
        assert "\n" not in repr(one) and "Tuning" not in repr(one)


def test_without_a_path() -> None:
    """An attribute is None, and what needs the path says so."""
    found = pysw_cl.align("ACGT", "ACGT", output="score", plan=PLAN)
    names = ("cigar", "matches", "columns", "identity", "positives", "query_start", "query_end")
    assert [getattr(found, name) for name in (*names, "runs")] == [None] * 8
    for use in (
        lambda: found.aligned,
        lambda: found[1:],
        found.rescore,
        found.region,
        found.pair_scores,
        found.aligned_pairs,
        found.coordinate_map,
        found.identities,
        found.left_aligned,
        found.to_skbio,
        found.to_biopython,
        found.to_paf,
    ):
        with pytest.raises(InputError, match="align with output='path'"):
            use()


def test_plain_letters_have_one_name() -> None:
    stream = io.StringIO()
    pysw_cl.write(pysw_cl.align("ACGT", "ACGT", plan=PLAN), stream, "jsonl")
    said = json.loads(stream.getvalue())
    assert (said["query_name"], said["target_name"]) == ("query", "target")
