"""Search on both strands of nucleotides: against a plain recurrence and `align_many`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from test_database_search import engine_of
from whole_reference import align_reference

import pysw_cl
from pysw_cl import Searcher, Sequence, search
from pysw_cl.database import passes as searching
from pysw_cl.engines.search.together import TogetherSearch
from pysw_cl.errors import InputError, InputWarning, SequenceError
from pysw_cl.scoring.scoring import make_scoring

COMPLEMENT = str.maketrans("ACGTURYKMacgtn", "TGCAAYRMKtgcan")
STRANDS = ("plus", "minus", "both")
DNA: dict[str, Any] = {"sub_score": (2, -3), "gap_cost": (3, 1)}
COLUMNS = ["score", "strand", "query_start", "query_end", "target_start", "target_end", "cigar"]


def turned(text: str) -> str:
    return text.translate(COMPLEMENT)[::-1]


def related(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Queries, palindromes among them, and targets with parts of them on either strand."""
    rng = np.random.default_rng(seed)

    def random(most: int) -> str:
        return "".join(rng.choice(list("ACGTN"), rng.integers(1, most), p=[0.24] * 4 + [0.04]))

    queries = ["GAATTC", "ACGTURYKM", *(random(50) for _ in range(5))]
    targets = ["GAATTC", "A", *(random(90) for _ in range(count))]
    for k in range(count):
        part = queries[k % len(queries)][k % 3 :].replace("U", "T")
        targets.append(random(30) + (turned(part) if k % 2 else part.lower()) + random(30))
    return queries, [*targets, *targets[: count // 2]]


@pytest.mark.parametrize("ends", ["local", (0, 0, 0, 0), (0, 0, 1, 1), (1, 0, 0, 1)])
@pytest.mark.parametrize("strand", STRANDS)
def test_hits_are_those_of_pairs(ends: Any, strand: Any) -> None:
    """`align_many` agrees, and scores are those of the recurrence, also where the target is so long
    that it is compared alone."""
    queries, targets = related(20, 3)
    targets += ["ACGTTGCA" * 400 + turned(queries[3]), "GATTACA" * 300 + queries[4] + "C" * 60]
    asked = {**DNA, "strand": strand, "mode": "local" if ends == "local" else "global"}
    free = (False,) * 4 if ends == "local" else tuple(map(bool, ends))
    asked |= {"free_ends": free}
    scoring = make_scoring(*DNA.values())
    pairs = [(query, target) for query in queries for target in targets]
    rows = pysw_cl.align_many(pairs, output="path", **asked)
    known = dict(zip(pairs, rows, strict=True))
    how: dict[str, Any] = {"top": None, "min_score": -100_000, "output": "path"}
    found = search(queries, targets, **asked, **how, evalues="none")
    for query, hits in zip(queries, found, strict=True):
        assert sorted(hit.number for hit in hits) == list(range(len(targets)))
        for hit in hits:
            row = known[query, str(hit.target)]
            said = [getattr(hit, name) for name in COLUMNS if name != "strand" or strand != "plus"]
            assert said == [row[name] for name in COLUMNS if name in (row.dtype.names or ())]
            assert hit.strand == (row["strand"] if strand != "plus" else "plus")
            assert hit.rescore() == hit.score
            if len(hit.target) < 100:
                sides = [query, turned(query)][strand == "minus" : 1 + (strand != "plus")]
                scores = [
                    align_reference(
                        scoring.encode(np.frombuffer(side.encode(), np.uint8), "query"),
                        scoring.encode(np.frombuffer(str(hit.target).encode(), np.uint8), "target"),
                        *(scoring, asked["mode"], free),
                    ).score
                    for side in sides
                ]
                assert hit.score == max(scores)


@pytest.mark.parametrize("strand", STRANDS)
@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_what_is_chosen_does_not_depend_on_parts(
    strand: Any, output: Any, monkeypatch: Any
) -> None:
    """Nor on the number of hits that are asked for; of equal strands it is plus."""
    queries, targets = related(60, 5)
    common: dict[str, Any] = {**DNA, "strand": strand, "output": output}
    every = list(search(queries, targets, top=None, **common))
    fields = ["number", "score", "strand", "expect", *COLUMNS[2:]][
        : None if output == "path" else 4
    ]
    rows = [[[getattr(hit, x) for x in fields] for hit in hits] for hits in every]
    assert any(row[2] == "minus" for own in rows for row in own) == (strand != "plus")
    if strand == "both":
        (palindrome,) = (hit for hit in every[0] if hit.number == 0)
        assert palindrome.strand == "plus"
        plus, minus = (list(search(queries, targets, top=None, **{**common, "strand": x}))
                       for x in ("plus", "minus"))  # fmt: skip
        for both, *sides in zip(every, plus, minus, strict=True):
            scores = [{hit.number: (hit.score, hit.expect) for hit in side} for side in sides]
            for hit in both:
                sides_of = [side.get(hit.number, (0, 0)) for side in scores]
                score, expect = max(sides_of)
                assert hit.score == score
                assert hit.strand == ("minus" if sides_of[1][0] > sides_of[0][0] else "plus")
                assert hit.expect == pytest.approx(2 * expect)
    for top, part, ties in ((3, None, False), (5, 900, False), (4, 300, True)):
        if part is not None:
            made = searching.search_engine
            monkeypatch.setattr(searching, "search_engine", lambda *a, n=part: engine_of(n, *a))
        found = list(search(queries, targets, top=top, ties=ties, **common))
        if part is not None:
            monkeypatch.setattr(searching, "search_engine", made)
        for hits, own in zip(found, rows, strict=True):
            some = [[getattr(hit, x) for x in fields] for hit in hits]
            assert some == own[: len(some)]
            assert len(some) == min(top, len(own)) or (
                ties and own[len(some) - 1][3] == own[top - 1][3]
            )
    limit = rows[3][2][3]
    found = list(search(queries, targets, top=None, max_evalue=limit, **common))
    assert [len(hits) for hits in found] == [sum(row[3] <= limit for row in own) for own in rows]


def test_several_devices_and_further_alignments(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, targets = related(40, 7)
    asked: dict[str, Any] = {**DNA, "strand": "both", "output": "path", "evalues": "none"}
    asked |= {"alignments": 3, "min_score": 8, "top": 4}
    one = [list(map(repr, hits)) for hits in search(queries, targets, **asked)]
    made = searching.search_engine
    with monkeypatch.context() as patch:
        together = lambda *given: TogetherSearch("ab", lambda _: made(*given))  # noqa: E731
        patch.setattr(searching, "search_engine", together)
        two = [list(map(repr, hits)) for hits in search(queries, targets, **asked)]
    assert one == two
    for hits in search(queries, targets, **asked):
        for number in {hit.number for hit in hits}:
            own = [hit for hit in hits if hit.number == number]
            known = pysw_cl.align_top(
                hits.query, targets[number], k=3, min_score=8, strand="both", **DNA
            )
            assert [(x.score, x.cigar, x.strand) for x in own] == [
                (x.score, x.cigar, x.strand) for x in known
            ]


def test_progress_counts_both_strands_and_empty_targets_are_turned() -> None:
    told: list[tuple[int, int]] = []
    tell = lambda done, total: told.append((done, total))  # noqa: E731
    asked: dict[str, Any] = {**DNA, "top": None, "min_score": -99, "evalues": "none"}
    with pytest.warns(InputWarning, match="without letters"):
        s = Searcher(
            ["ACG", "", "TTT"], mode="global", free_ends=(0, 0, 1, 0), strand="minus", **DNA
        )
    (hits,) = s.search("AAACC", top=None, min_score=-99, output="path", progress=tell)
    assert told[-1] == (30, 30)
    (empty,) = (hit for hit in hits if not len(hit.target))
    assert (empty.strand, empty.query_start, empty.query_end, empty.score) == ("minus", 0, 0, 0)
    told.clear()
    list(search("AAACC", ["ACG", "TTT"], strand="both", progress=tell, **asked))
    assert told[-1] == (60, 60)


def test_what_has_no_strands() -> None:
    with pytest.raises(InputError, match="strand='both' takes nucleotides"):
        search("MKV", ["MKV"], strand="both")
    with pytest.raises(InputError, match="strand must be"):
        search("ACG", ["ACG"], strand="up", **DNA)
    matrix = pysw_cl.PositionMatrix(np.eye(4, dtype=int) * 5 - 3, "ACGT", query="ACGT")
    with pytest.raises(InputError, match="strand='minus' cannot stand beside a position matrix"):
        list(search([matrix], ["ACGTT"], strand="minus", **DNA))
    bad = Sequence("x", "", np.frombuffer(b"ACRT", np.uint8))
    scores = (np.eye(5, dtype=int) * 2 - 1, "ACGTR")
    with pytest.raises(SequenceError, match=r"query x: .*position 3 .*becomes 'Y'"):
        list(search(bad, ["ACGTT"], sub_score=scores, gap_cost=(3, 1), strand="both"))


def test_the_shell(capsys: Any, tmp_path: Any) -> None:
    from pysw_cl.cli.main import main

    (tmp_path / "q.fa").write_text(">q\nGATTACAGGC\n")
    (tmp_path / "t.fa").write_text(">t\nCCCGCCTGTAATCAAA\n")
    files = [str(tmp_path / "q.fa"), str(tmp_path / "t.fa")]
    how = [
        "search",
        "--match",
        "1",
        "--mismatch",
        "-3",
        "--stats",
        "none",
        "--strand",
        "both",
        "-q",
    ]
    assert main([*how, "--outfmt", "tsv", *files]) == 0
    assert re.search("\t-\t|minus", capsys.readouterr().out)
    assert main([*how[:1], "--strand", "both", *files]) == 2
    assert "takes nucleotides" in capsys.readouterr().err
