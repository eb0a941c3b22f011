"""The k-mer prefilter: what it leaves out, by a plain comparison of all k-mers."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from test_database_search import engine_of
from test_search_strands import related, turned

import pysw_cl
from pysw_cl import Searcher, search
from pysw_cl.database import passes as searching, prefilter
from pysw_cl.errors import InputError

DNA: dict[str, Any] = {"sub_score": (2, -3), "gap_cost": (5, 2)}


def kmers(text: str, k: int, alphabet: str) -> set[str]:
    """The words of letters that match themselves."""
    text = text.upper().replace("U", "T")
    found = {text[i : i + k] for i in range(len(text) - k + 1)}
    return {one for one in found if set(one) <= set(alphabet)}


def left(targets: list[str], queries: list[str], k: int, alphabet: str = "ACGT") -> set[int]:
    """The numbers of the targets that share a word with any of these."""
    own = set().union(*(kmers(one, k, alphabet) for one in queries))
    return {n for n, one in enumerate(targets) if own & kmers(one, k, alphabet)}


def facts(hits: Any) -> list[tuple[Any, ...]]:
    return [(x.number, x.score, x.strand, x.cigar, x.expect, x.bits) for x in hits]


@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
@pytest.mark.parametrize("k", [1, 4, 7, 17])
def test_hits_are_those_of_the_whole_search_that_share_a_word(
    k: int, strand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts of the database and of the letters that are looked up at once, too."""
    queries, targets = related(60, 11)
    queries = [one for one in queries if len(one) >= k]
    monkeypatch.setattr(prefilter, "PIECE", 64)
    asked: dict[str, Any] = {**DNA, "strand": strand, "output": "path", "top": None}
    every = list(search(queries, targets, **asked))
    asked |= {"prefilter": "kmer", "kmer_length": k}
    found = list(map(facts, search(queries, targets, **asked)))
    for query, hits, own in zip(queries, every, found, strict=True):
        sides = [query, turned(query)][strand == "minus" : 1 + (strand != "plus")]
        kept = left(targets, sides, k)
        assert own == [x for x in facts(hits) if x[0] in kept]
    assert k in (1, 17) or 0 < sum(map(len, found)) < sum(map(len, every))
    made = searching.search_engine
    with monkeypatch.context() as patch:
        patch.setattr(searching, "search_engine", lambda *a: engine_of(300, *a))
        patch.setattr(prefilter, "FLAGS", 40)
        assert list(map(facts, search(queries, targets, **asked))) == found
    assert made is searching.search_engine
    few = list(map(facts, search(queries, targets, **{**asked, "top": 3})))
    assert few == [own[:3] for own in found]


def test_proteins_global_scores_and_what_matches_nothing() -> None:
    rng = np.random.default_rng(4)
    targets = [
        "".join(rng.choice(list("ARNDCQEGHILKMFPSTWYVX"), n)) for n in rng.integers(1, 60, 90)
    ]
    targets = [one.lower() if n % 2 else one for n, one in enumerate(targets)]
    with pytest.warns(pysw_cl.errors.InputWarning, match="without letters"):
        s = Searcher([*targets, ""], mode="global", free_ends=True)
    asked: dict[str, Any] = {"top": None, "output": "score"}
    for query in ("ARNXXMKVLAW", targets[5], "XXXXX"):
        (every,) = s.search(query, **asked)
        (found,) = s.search(query, prefilter="kmer", kmer_length=2, **asked)
        kept = left(targets, [query], 2, "ARNDCQEGHILKMFPSTWYV")
        assert facts(found) == [x for x in facts(every) if x[0] in kept]
        assert {hit.number for hit in found} == kept
    assert 0 < s.stats.left_out < s.stats.prefiltered == 3 * sum(map(len, targets))
    assert "% of the letters left out" in str(s.stats)
    s.close()


def test_it_is_named_where_the_mode_is_said() -> None:
    said = "heuristic: only targets that share 5 letters in a row with the query"
    (hits,) = search("MKVLAWHEAGAW", ["MKVLAWHEAGAW"], output="path", prefilter="kmer")
    assert said in str(hits[0])
    for name in ("blast7", "blast0", "pair", "maf"):
        file = StringIO()
        pysw_cl.write(hits, file, format=name)
        assert said in file.getvalue(), name
        (every,) = search("MKVLAWHEAGAW", ["MKVLAWHEAGAW"], output="path")
        pysw_cl.write(every, file := StringIO(), format=name)
        assert "heuristic" not in file.getvalue()


def test_what_is_refused() -> None:
    for wrong, said in (
        ({"prefilter": "mer"}, "prefilter must be"), ({"kmer_length": 4}, "goes with prefilter"),
        ({"prefilter": "kmer", "kmer_length": 0}, "kmer_length"),
        ({"prefilter": "kmer", "evalues": "library"}, "needs all scores"),
        ({"prefilter": "kmer", "kmer_length": 13}, "at most 12 with"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            list(search("MKVLAWHEAGAWMK", ["MKVLA"], **wrong))
    with pytest.raises(InputError, match="query number 0: 3 letters, and the k-mers of prefilter"):
        list(search("MKV", ["MKVLA"], prefilter="kmer"))
    matrix = pysw_cl.PositionMatrix(np.eye(4, dtype=int) * 5 - 3, "ACGT", query="ACGT")
    with pytest.raises(InputError, match="position matrix"):
        list(search([matrix], ["ACGTT"], prefilter="kmer", **DNA))


def test_the_shell(capsys: Any, tmp_path: Any) -> None:
    from pysw_cl.cli.main import main

    (tmp_path / "q.fa").write_text(">q\nMKVLAWHEAGAW\n")
    (tmp_path / "t.fa").write_text(">t\nMKVLAWHEAGAW\n>u\nMKVL\n")
    files = [str(tmp_path / "q.fa"), str(tmp_path / "t.fa")]
    assert main(["search", "-q", "-v", "--prefilter", "kmer", "--outfmt", "blast7", *files]) == 0
    told = capsys.readouterr()
    assert "# Database: 2 targets; heuristic: only targets that share 5 letters" in told.out
    assert "# 1 hits found" in told.out
    assert "25.0% of the letters left out" in told.err
