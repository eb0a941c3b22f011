"""All places of a query in a subject: against a plain search for the best one, again and again."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from test_search_strands import turned

import pysw_cl
from pysw_cl import search
from pysw_cl.database import places
from pysw_cl.errors import InputError

PRIMER: dict[str, Any] = {"mode": "global", "free_ends": (True, False), "output": "path"}
PRIMER |= {"evalues": "none"}
CODES = {"R": "AG", "Y": "CT", "N": "ACGT", "W": "AT", "K": "GT"}
Site = tuple[Any, ...]


def random(rng: np.random.Generator, length: int, letters: str = "ACGT") -> str:
    return "".join(rng.choice(list(letters), length))


def changed(rng: np.random.Generator, text: str, most: int) -> str:
    """With some letters changed, left out or put in."""
    found = list(text)
    for _ in range(int(rng.integers(0, most + 1))):
        at = int(rng.integers(0, len(found)))
        found[at] = ("", random(rng, 1), found[at] + random(rng, 1))[int(rng.integers(0, 3))]
    return "".join(found)


def plainly(query: str, target: str, strand: str, least: float, **scoring: Any) -> list[Site]:
    """The best place in any free part of the target, by `align`, as long as it is good enough."""
    strands = ("plus", "minus") if strand == "both" else (strand,)
    free, found = [(one, 0, len(target)) for one in strands], list[Site]()
    while True:
        best: Any = None
        for one, start, stop in free:
            if start == stop:
                continue
            r = pysw_cl.align(
                *(query, target), mode="global", free_ends=(True, False), strand=one,
                target_range=(start, stop), **scoring,
            )  # fmt: skip
            key = -r.score, one != "plus", r.target_end
            if r.score >= least and r.target_start < r.target_end and (not best or key < best[0]):
                best = key, (one, start, stop), r
        if best is None:
            return found
        (one, start, stop), r = best[1:]
        free.remove((one, start, stop))
        free += [(one, start, r.target_start), (one, r.target_end, stop)]
        found.append((r.score, one, r.target_start, r.target_end, r.query_start, r.cigar))


def sites(hits: Any) -> list[Site]:
    return [
        (hit.score, hit.strand, hit.target_start, hit.target_end, hit.query_start, hit.cigar)
        for hit in hits
    ]


@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
@pytest.mark.parametrize("seed", range(4))
def test_each_place_is_the_best_of_what_is_left(strand: str, seed: int, monkeypatch: Any) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(places, "LETTERS", int(rng.choice([1, 40, 4096])))
    monkeypatch.setattr(places, "LEAST", int(rng.choice([1, 4])))
    scoring = {"sub_score": [(1, -1), (2, -3), (5, -4)][seed % 3], "gap_cost": (2, 1)}
    if seed == 3:
        scoring["gap_cost"] = (6, 0)  # nothing bounds a path
    query = random(rng, int(rng.integers(4, 14)))
    parts = [random(rng, int(rng.integers(0, 30)), "ACG") for _ in range(25)]
    for k in range(len(parts)):  # sites side by side, on either strand
        one = changed(rng, query, 2)
        parts[k] += (one, turned(one), one * 2, "")[int(rng.integers(0, 4))]
    target, least = "".join(parts), len(query) * scoring["sub_score"][0] * 0.4
    known = plainly(query, target, strand, least, **scoring)
    asked = {**PRIMER, **scoring, "strand": strand, "min_score": least, "alignments": 10_000}
    hits, other = search([query, query], [random(rng, 50), target], **asked)
    assert sites(hits) == sites(other)
    own = [hit for hit in hits if hit.number == 1]
    assert len(own) > 4
    assert sites(own) == known
    for hit in own:
        assert hit.rescore() == hit.score
        assert hit.to_dict()["target_end"] <= len(target)
    few = next(search(query, [target], **{**asked, "alignments": 3}))
    assert sites(few) == known[:3]
    for one in {hit.strand for hit in own}:
        spans = sorted(hit[2:4] for hit in known if hit[1] == one)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_primers_with_degenerate_bases_on_both_strands() -> None:
    """Planted sites with mismatches are found, and nothing else that is as good."""
    rng = np.random.default_rng(8)
    genome = list(random(rng, 300_000))
    primers = {"a": "GGRTGYCCRAARAAYCAWAC", "b": "ACNTTKGARYTGTCRCTGCTA"}
    planted = dict[tuple[str, str, int], int]()
    for k in range(24):
        name = "ab"[k % 2]
        site = [rng.choice(list(CODES.get(c, c))) for c in primers[name]]
        wrong = rng.choice([i for i, c in enumerate(primers[name]) if c in "ACGT"], k % 4, False)
        for i in wrong:
            site[i] = rng.choice([c for c in "ACGT" if c != site[i]])
        text = "".join(site) if k % 3 else turned("".join(site))
        at = 12_000 * k + 77
        genome[at : at + len(text)] = text
        planted[name, "plus" if k % 3 else "minus", at] = len(text) - 2 * (k % 4)
    asked = {**PRIMER, "iupac": "match", "strand": "both", "alignments": 50, "min_score": 14}
    asked |= {"sub_score": (1, -1), "gap_cost": (5, 2)}
    queries = [pysw_cl.Sequence(*(name, "", np.frombuffer(one.encode(), np.uint8)))
               for name, one in primers.items()]  # fmt: skip
    found = {}
    for hits in search(queries, ["".join(genome)], **asked):
        for hit in hits:
            if set(hit.cigar) <= set("0123456789=X"):
                found[hit.query.name, hit.strand, hit.target_start] = hit.score
    assert {key: found.get(key) for key in planted} == planted
    assert all(score < 17 for key, score in found.items() if key not in planted)


def test_five_million_letters_take_seconds() -> None:
    rng = np.random.default_rng(9)
    genome, query = list(random(rng, 5_000_000)), random(rng, 24)
    for k in range(20):
        genome[240_000 * k + 9 : 240_000 * k + 33] = query if k % 2 else turned(query)
    began = time.perf_counter()
    asked = {**PRIMER, "strand": "both", "alignments": 20, "min_score": 20}
    (hits,) = search(query, ["".join(genome)], sub_score=(1, -3), gap_cost=(5, 2), **asked)
    assert len(hits) == 20
    assert {hit.cigar for hit in hits} == {"24="}
    assert time.perf_counter() - began < 20


def test_what_is_refused_and_position_matrices() -> None:
    asked = {**PRIMER, "alignments": 3, "sub_score": (1, -1), "gap_cost": (2, 1)}
    for wrong in ({}, {"free_ends": True, "min_score": 3}, {"free_ends": False, "min_score": 3}):
        with pytest.raises(InputError, match="for mode='global' with free_ends"):
            search("ACG", ["ACG"], **{**asked, **wrong})
    (hits,) = search("ACG", ["", "ACGACG"], **asked, min_score=-50)
    assert [(hit.number, hit.target_start) for hit in hits[:2]] == [(1, 0), (1, 3)]
    matrix = pysw_cl.PositionMatrix(np.eye(4, dtype=int) * 4 - 2, "ACGT", query="ACGT")
    (hits,) = search([matrix], ["TTACGTTTTACTTACCTT"], **asked, min_score=2)
    assert [(hit.score, hit.target_start) for hit in hits] == [(8, 2), (4, 9), (4, 13)]


def test_the_shell(capsys: Any, tmp_path: Any) -> None:
    from pysw_cl.cli.main import main

    (tmp_path / "p.fa").write_text(">p\nGATTRCA\n")
    (tmp_path / "t.fa").write_text(">t\nCCCGATTACAGGGATTGCACCTGTAATCAAA\n")
    how = "search --mode global --free-ends 1,0 --strand both --iupac match --stats none -q".split()
    how += "--match 1 --mismatch -1 --alignments 9 --min-score 5 --outfmt".split()
    assert main([*how, "tsv", str(tmp_path / "p.fa"), str(tmp_path / "t.fa")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 3
