"""Results as other libraries have them."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import IMPORTS

import pysw_cl
from pysw_cl.errors import InputError, InternalError

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


def test_scikit_bio_reads_the_same_path() -> None:
    """Its CIGAR, with I and D swapped and M for = and X; what it makes of that CIGAR; its rows."""
    skbio = pytest.importorskip("skbio")
    from skbio.alignment import PairAlignPath, TabularMSA

    for r in random_results(strand="plus"):
        path = r.to_skbio()
        ours = "".join(op * length for op, length in r.runs)
        swapped = ours.translate(str.maketrans("ID=X", "DIMM"))
        theirs = re.findall("([0-9]*)([MID])", path.to_cigar())
        assert "".join(op * int(length or 1) for length, op in theirs) == swapped
        if not r.columns:
            continue
        again = PairAlignPath.from_cigar(path.to_cigar())
        assert again.lengths.tolist() == path.lengths.tolist()
        assert again.states.tolist() == path.states.tolist()
        letters = [skbio.DNA(one.letters.tobytes()) for one in (r.query, r.target)]
        rows = TabularMSA.from_path_seqs(path, letters)
        assert tuple(map(str, rows)) == r.aligned


def test_to_biopython() -> None:
    """Its letters, counts and coordinates are those of the path, on either strand."""
    pytest.importorskip("Bio")
    for r in random_results():
        theirs = r.to_biopython()
        assert theirs.score == r.score
        assert (theirs.target.id, theirs.query.id) == ("target", "query")
        if not r.columns:
            continue
        assert (str(theirs[1]), str(theirs[0])) == r.aligned
        counts = theirs.counts()
        assert (counts.identities, counts.mismatches) == (r.matches, r.runs.count("X"))
        assert (counts.gaps, counts.aligned) == (r.runs.count("ID"), r.runs.count("=X"))
        pairs = r.aligned_pairs()
        both = pairs[(pairs >= 0).all(axis=1)]
        blocks = [
            (t, q)
            for (t, t_end), (q, q_end) in zip(*theirs.aligned.tolist(), strict=True)
            for t, q in zip(
                range(t, t_end),
                range(q, q_end) if q_end > q else range(q - 1, q_end - 1, -1),
                strict=True,
            )
        ]
        assert blocks == [(t, q) for q, t in both.tolist()]


def test_biopython_finds_and_writes_the_same() -> None:
    """Its own best alignment of a pair of proteins is equal; its SAM has our CIGAR."""
    align = pytest.importorskip("Bio.Align")
    theirs = align.PairwiseAligner(mode="local", open_gap_score=-12, extend_gap_score=-1)
    theirs.substitution_matrix = align.substitution_matrices.load("BLOSUM62")
    query, target = "MKWVTFISCPQLDGHNSAYSRGVERRDAHKSEVAHRF", "AWVTFISNSAYSRGVRRDAHKSEVAHKW"
    r = pysw_cl.align(query, target, sub_score=theirs.substitution_matrix)
    best = theirs.align(target, query)
    assert r.scoring.gap_open == 11 and len(best) == 1
    assert r.to_biopython() == best[0] and r.score == best[0].score
    assert r.to_biopython().coordinates.tolist() == best[0].coordinates.tolist()
    minus = pysw_cl.align("TTTGTAATCTTTTAA", "CCGATTACACC", strand="minus").to_biopython()
    line = format(minus, "sam").split("\t")
    assert line[:4] == ["query", "16", "target", "3"] and line[5] == "6S7M2S"
    assert line[9] == "TTAAAAGATTACAAA"


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
    with pytest.raises(InputError, match="output='path'"):
        r.aligned  # noqa: B018
    with pytest.raises(InputError, match="needs a path"):
        r.to_paf()
    assert "score" in str(r) and repr(r).startswith("<Alignment local")


def test_a_path_that_does_not_fit_the_places() -> None:
    r = pysw_cl.align(A, B)
    assert r.target_end is not None
    wrong = replace(r, target_end=r.target_end - 1)
    for name in ("aligned_pairs", "coordinate_map", "rescore"):
        with pytest.raises(InternalError, match=r"letters of a region of"):
            getattr(wrong, name)()


def test_results_are_equal_that_say_the_same() -> None:
    r = pysw_cl.align(A, B)
    again = pysw_cl.align(A, B, plan={"engine": "reference"})
    assert r == again and hash(r) == hash(again) and r.stats != again.stats
    assert r != pysw_cl.align(A, B + "A")
    for given in ({"gap_cost": 4}, {"mode": "global"}, {"output": "ends"}):
        assert r != pysw_cl.align(A, B, **given)


@pytest.mark.parametrize("how", [{}, {"output": "ends"}, {"strand": "both"}, {"gap_cost": 0.5}])
def test_copies_and_pickles_have_everything(how: dict[str, Any]) -> None:
    r = pysw_cl.align(A, B, kernel_times=True, **how)
    r.matches, r.scoring.highest  # noqa: B018 - what is kept once it is known
    for made in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
        assert made == r and str(made) == str(r) and repr(made) == repr(r)
        assert made.stats == r.stats and made.stats.kernel_seconds == r.stats.kernel_seconds
        assert made.plan == r.plan
        for name in ("rows", "columns", "scores", "pruned"):
            assert np.array_equal(getattr(made.tiles, name), getattr(r.tiles, name))
        if r.runs is not None:
            assert made.rescore() == r.score
    assert copy.deepcopy(r).query.letters is not r.query.letters


def test_a_pickle_is_read_by_another_process(tmp_path: Path) -> None:
    """Also one of letters in a file."""
    letters = tmp_path / "letters"
    letters.write_bytes(B.encode())
    r = pysw_cl.align(A, np.memmap(letters, np.uint8, "r"))
    (tmp_path / "result").write_bytes(pickle.dumps([r, r[2:9], *pysw_cl.align_top(A, B, k=2)]))
    letters.unlink()
    code = "import pickle, sys; print(*pickle.load(open(sys.argv[1], 'rb')), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "result")],
        env={**os.environ, "PYTHONPATH": IMPORTS},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = [r, r[2:9], *pysw_cl.align_top(A, B, k=2)]
    assert done.stdout == "".join(f"{one}\n" for one in shown)
