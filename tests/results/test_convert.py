"""Results as other libraries have them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import InputError

A, B = "TTGATTACAGGCATTTACA", "GATTCCAGGCTTTTTTACAGG"


def random_results(count: int = 60, **given: Any) -> list[pysw_cl.Alignment]:
    rng, found = np.random.default_rng(9), []
    for _ in range(count):
        a = "".join(rng.choice(list("ACGT"), int(rng.integers(1, 60))))
        b = "".join(rng.choice(list("ACGT"), int(rng.integers(1, 60))))
        mode, strand = ["local", "global"][rng.integers(2)], ["plus", "minus"][rng.integers(2)]
        how = {"mode": mode, "strand": strand, "plan": {"engine": "reference"}, "gap_cost": 1}
        found.append(pysw_cl.align(a, a[len(a) // 2 :] + b, **{**how, **given}))
    return found


def complement(text: str) -> str:
    return text.translate(str.maketrans("ACGT", "TGCA"))


def test_aligned_letters_and_pairs() -> None:
    r = pysw_cl.align("GATTACA", "GATCA", mode="global", gap_cost=1)
    assert [text.replace("-", "") for text in r.aligned] == ["GATTACA", "GATCA"]
    for r in random_results():
        query, target = r.query.letters.tobytes().decode(), r.target.letters.tobytes().decode()
        pairs = r.aligned_pairs()
        assert pairs.shape == (r.columns, 2)
        for (q, t), left, right in zip(pairs.tolist(), *r.aligned, strict=True):
            there = "-" if q < 0 else query[q]
            assert left == (complement(there) if r.strand == "minus" else there)
            assert right == ("-" if t < 0 else target[t])
        for side, k in (("query", 0), ("target", 1)):
            both = pairs[(pairs >= 0).all(axis=1)]
            table = r.coordinate_map(side)
            assert table[both[:, k]].tolist() == both[:, 1 - k].tolist()
            assert (table >= 0).sum() == len(both)
    with pytest.raises(InputError, match="side must be"):
        r.coordinate_map("other")


def test_identities() -> None:
    r = pysw_cl.align(A, B, gap_cost=(1, 0))
    found = r.identities()
    assert found["blast"] == r.identity
    columns = sum(length for _, length in r.runs)
    gaps = sum(length for op, length in r.runs if op in "ID")
    runs = sum(1 for op, _ in r.runs if op in "ID")
    assert found["ungapped"] == r.matches / (columns - gaps)
    assert found["gap-compressed"] == r.matches / (columns - gaps + runs)
    assert found["shorter"] == r.matches / len(A)


def test_to_skbio() -> None:
    """scikit-bio has I and D the other way round."""
    pytest.importorskip("skbio")
    swapped = str.maketrans("ID=X", "DIMM")
    for r in random_results(strand="plus"):
        path = r.to_skbio()
        texts = [one.letters.tobytes().decode() for one in (r.query, r.target)]
        if r.columns:
            assert tuple(path.to_aligned(texts)) == r.aligned
        assert path.ranges.tolist() == [
            [r.query_start, r.query_end], [r.target_start, r.target_end],
        ]  # fmt: skip
    r = pysw_cl.align("GATTACA", "GATACAGG", mode="global")
    merged = r.cigar.translate(swapped)
    assert set(r.to_skbio().to_cigar()) <= set("0123456789MID") and "D" in merged
    with pytest.raises(InputError, match="no strand"):
        pysw_cl.align("AAAC", "GTTT", strand="minus").to_skbio()


def test_to_biopython() -> None:
    pytest.importorskip("Bio")
    for r in random_results():
        theirs = r.to_biopython()
        assert theirs.score == r.score
        if r.columns:
            assert (str(theirs[1]), str(theirs[0])) == r.aligned
            counts = theirs.counts()
            assert counts.identities == r.matches


def test_to_dict_and_paf() -> None:
    r = pysw_cl.align(A, B)
    said = r.to_dict()
    assert said["score"] == r.score and said["cigar"] == r.cigar and said["query_length"] == len(A)
    assert r.to_paf().split("\t")[1] == str(len(A))
    ends = pysw_cl.align(A, B, output="ends").to_dict()
    assert ends["query_end"] == r.query_end and ends["query_start"] is ends["cigar"] is None


def test_without_a_path() -> None:
    r = pysw_cl.align(A, B, output="ends")
    for name in ("aligned_pairs", "coordinate_map", "identities", "to_skbio", "to_biopython"):
        with pytest.raises(InputError, match="output='path'"):
            getattr(r, name)()


def test_results_are_equal_that_say_the_same() -> None:
    r = pysw_cl.align(A, B)
    again = pysw_cl.align(A, B, plan={"engine": "reference"})
    assert r == again and hash(r) == hash(again) and r.stats != again.stats
    assert r != pysw_cl.align(A, B + "A")
    for given in ({"gap_cost": 4}, {"mode": "global"}, {"output": "ends"}):
        assert r != pysw_cl.align(A, B, **given)
    for made in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
        assert made == r and made.rescore() == r.score and str(made) == str(r)
