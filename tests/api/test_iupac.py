"""``iupac="match"``: what comparisons find is what their definition finds, however computed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import parasail
import pytest
from Bio.Align import PairwiseAligner, substitution_matrices
from degenerate import COMMON, LETTERS, best, matches, texts, turned
from helpers import ALL_FREE_ENDS
from many import LANES, plan_of, skip_lanes
from saving import Enough, key, options as small_job, stop_at, tight
from suboptimal import pairs_of
from tuned import tuned
from writing import named

import pysw_cl
from pysw_cl.drivers.options import FIELDS

#: Matrices are held whole, or swept, by each engine.
PLANS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"engine": "reference"}),
    ({}, {"engine": "rowscan"}),
    ({"held.score_cells": 0, "held.path_cells": 0}, {"lanes": "vector", "T": 4, "alpha": 2}),
    ({"held.score_cells": 0, "held.path_cells": 0}, {"lanes": "scalar32", "T": 2, "alpha": 2}),
]
#: Scores, gap costs and the wildcard.
SCORINGS: list[dict[str, Any]] = [
    {},
    {"scores": (2, -1), "gap": (0, 1)},
    {"scores": (5, -4), "gap": (10, 1), "wildcard": "N"},
]
MODES: list[tuple[str, Any]] = [("local", (False,) * 4)]
MODES += [("global", free) for free in (*ALL_FREE_ENDS[:3], *ALL_FREE_ENDS[3::4])]


def asked(how: dict[str, Any]) -> dict[str, Any]:
    """A scoring as the package takes it."""
    given = {"scores": (1, -3), "gap": (3, 2), "wildcard": None, **how}
    named = {"sub_score": given["scores"], "gap_cost": given["gap"], "wildcard": given["wildcard"]}
    return {**named, "iupac": "match"}


def values(found: Any) -> dict[str, Any]:
    return {name: getattr(found, name) for name in FIELDS["path"]}


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_align(plan: tuple[dict[str, Any], dict[str, Any]], mode: str) -> None:
    rng = np.random.default_rng(1)
    with tuned(plan[0]):
        for k, (a, b) in enumerate(texts(rng, 36, 30)):
            how, free = SCORINGS[k % 3], ALL_FREE_ENDS[k % 16] if mode == "global" else (False,) * 4
            found = pysw_cl.align(a, b, mode=mode, free_ends=free, plan=plan[1], **asked(how))
            assert values(found) == best(a, b, mode, free, **how), (a, b, how)
            assert found.rescore() == found.score
            assert found.identity == (found.matches / found.columns if found.columns else None)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("how", SCORINGS, ids=str)
def test_many(lanes: str, how: dict[str, Any]) -> None:
    """Every output in a CPU's usual lanes, those that tell the most in others (which letters match
    does not depend on it), matches counted forward and along stored moves, prepared pairs twice."""
    skip_lanes(lanes)
    outputs = [*FIELDS] if lanes == "vector" else ["matches", "path"]
    pairs = texts(np.random.default_rng(2), 90, 40)
    for mode, free in MODES:
        expected = [best(a, b, mode, free, **how) for a, b in pairs]
        given = {**asked(how), "mode": mode, "free_ends": free}
        batch = pysw_cl.Batch.from_sequences(pairs)
        with plan_of(lanes) as plan:
            for output in outputs:
                for forward in (False, True)[: 1 + (output == "matches")]:
                    with tuned({"pairs.counted_cells": 0 if forward else 1 << 20}):
                        for some in (pairs, batch, batch):
                            rows = pysw_cl.align_many(some, output=output, plan=plan, **given)
                            for k, row in enumerate(rows):
                                one = {name: row[name] for name in FIELDS[output]}
                                assert one == {name: expected[k][name] for name in one}, pairs[k]


def test_strands() -> None:
    rng = np.random.default_rng(3)
    pairs = [(a if k % 3 else turned(a), b) for k, (a, b) in enumerate(texts(rng, 60, 35))]
    both = pysw_cl.align_many(pairs, output="path", strand="both", iupac="match")
    minus = pysw_cl.align_many(pairs, output="matches", strand="minus", iupac="match")
    counts = {"plus": 0, "minus": 0}
    for (a, b), row, other in zip(pairs, both, minus, strict=True):
        plus, back = best(a, b), best(turned(a), b)
        strand = "minus" if back["score"] > plus["score"] else "plus"
        expected = back if strand == "minus" else plus
        start, end = expected["query_start"], expected["query_end"]
        if strand == "minus":
            expected |= {"query_start": len(a) - end, "query_end": len(a) - start}
        counts[strand] += 1
        assert {name: row[name] for name in FIELDS["path"]} == expected and row["strand"] == strand
        found = pysw_cl.align(a, b, strand="both", iupac="match")
        assert values(found) == expected and found.strand == strand
        assert (other["score"], other["matches"]) == (back["score"], back["matches"])
    assert min(counts.values()) > 9


def test_large_pairs_against_parasail() -> None:
    """Tiles, special rows, bands and every width of lanes."""
    rng = np.random.default_rng(4)
    matrix = parasail.matrix_create(LETTERS, 0, 0)
    for q, a in enumerate(LETTERS):
        for t, b in enumerate(LETTERS):
            matrix[q, t] = 2 if matches(a, b) else -3
    a = "".join(rng.choice(list(COMMON.upper()), 3000))
    parts = [c if rng.random() < 0.9 else rng.choice(list(LETTERS)) for c in a]
    b = "".join(parts[:1000] + parts[1100:2000] + parts[500:700] + parts[2000:])
    for mode, function in (("local", "sw_trace_scan_32"), ("global", "nw_trace_scan_32")):
        expected = getattr(parasail, function)(a, b, 5, 1, matrix).score
        for plan in ({}, {"engine": "rowscan"}, {"tile_cells": 1 << 16}):
            found = pysw_cl.align(
                a, b, mode=mode, sub_score=(2, -3), gap_cost=(4, 1), iupac="match", plan=plan
            )
            assert found.score == found.rescore() == expected
            columns = zip(*found.aligned, found.path.columns().tobytes(), strict=True)
            for x, y, op in columns:
                assert "-" in (x, y) or (chr(op) == "=") == matches(x, y)
            assert found.matches == found.runs.count("=")


def test_scores_are_those_of_biopython() -> None:
    letters = "ACGTRYSWKMBDHVN"
    table = np.array([[1.0 if matches(a, b) else -2.0 for b in letters] for a in letters])
    aligner = PairwiseAligner(mode="global", open_gap_score=-3, extend_gap_score=-1)
    aligner.substitution_matrix = substitution_matrices.Array(letters, 2, table)
    pairs = texts(np.random.default_rng(5), 40, 60, letters)
    found = pysw_cl.align_many(
        pairs, mode="global", sub_score=(1, -2), gap_cost=(2, 1), iupac="match"
    )
    assert found["score"].tolist() == [aligner.score(a, b) for a, b in pairs]


def test_top_and_second_best() -> None:
    rng = np.random.default_rng(6)
    primer, filler = "ACGTRYACNGT", "".join(rng.choice(list("ACGT"), 60))
    target = filler[:20] + "ACGTACACTGT" + filler[20:40] + "ACGTGTACAGT" + filler[40:]
    first, second = pysw_cl.align_top(primer, target, k=2, iupac="match")
    assert [(one.score, one.cigar, one.target_start) for one in (first, second)] == [
        (11, "11=", 20), (11, "11=", 51),
    ]  # fmt: skip
    found = pysw_cl.align(primer, target, second_best=True, iupac="match")
    assert (found.score, found.second_best) == (11, 11)
    rows = pysw_cl.align_many([(primer, target)], output="path", second_best=True, iupac="match")
    assert (rows["score"], rows["second_best"]) == (11, 11)
    for a, b in texts(rng, 8, 40):
        expected = best(a, b)
        results = pysw_cl.align_top(a, b, k=5, iupac="match")
        if results:
            assert values(results[0]) == expected
        used = [pair for one in results for pair in pairs_of(one)]
        assert len(used) == len({*used}) and all(one.rescore() == one.score for one in results)


@pytest.mark.parametrize("plan", [{}, {"engine": "rowscan"}, {"engine": "reference"}], ids=str)
def test_ends_and_their_paths(plan: dict[str, Any]) -> None:
    """Some paths are traced in boxes, many at once."""
    rng = np.random.default_rng(7)
    for a, b in texts(rng, 6, 120):
        given = {"sub_score": (2, -2), "iupac": "match", "plan": plan}
        ends = pysw_cl.best_ends(a, b, k=60, **given)
        prefixes = [(a[:i], b[:j]) for _, i, j in ends.tolist()]
        for boxes in ({}, {"boxes.sides": 1, "boxes.more": 0, "boxes.alone": 0}):
            with tuned(boxes):
                paths = pysw_cl.trace_ends(a, b, ends, **given)
            for (score, i, j), (x, y), path in zip(ends.tolist(), prefixes, paths, strict=True):
                assert (path.score, path.query_end, path.target_end) == (score, i, j)
                expected = best(x, y, scores=(2, -2))
                assert path.rescore() == score
                if [expected[name] for name in FIELDS["ends"]] == [score, i, j]:
                    assert values(path) == expected


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_search(mode: str, output: Any) -> None:
    rng = np.random.default_rng(8)
    pairs = texts(rng, 70, 30)
    targets, queries = [b for _, b in pairs], [a for a, _ in pairs[:4]]
    free = (False, False, True, True) if mode == "global" else (False,) * 4
    given = {"mode": mode, "free_ends": free, "sub_score": (1, -3), "iupac": "match"}
    found = pysw_cl.search(queries, targets, top=12, output=output, evalues="none", **given)
    for a, hits in zip(queries, found, strict=True):
        every = [best(a, b, mode, free) for b in targets]
        order = sorted(range(len(every)), key=lambda k: (-every[k]["score"], k))[:12]
        order = [k for k in order if mode == "global" or every[k]["score"] > 0]
        assert [hit.number for hit in hits] == order
        for hit in hits:
            names = FIELDS[output] if output != "path" else FIELDS["path"]
            assert {name: getattr(hit, name) for name in names} == {
                name: every[hit.number][name] for name in names
            }
    with pysw_cl.Searcher(targets, (1, -3), iupac="match", mode=mode, free_ends=free) as searcher:
        (hits,) = searcher.search(queries[0], top=1, evalues="none")
        assert hits[0].number == max(
            range(len(targets)),
            key=lambda k: (best(queries[0], targets[k], mode, free)["score"], -k),
        )


@pytest.mark.parametrize("plan", [None, {"engine": "reference"}], ids=str)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_a_search_with_a_position_matrix_among_its_queries(mode: Any, plan: Any) -> None:
    """Which has scores of its own."""
    own = pysw_cl.PositionMatrix(np.where(np.eye(4), 3, -2), "ACGT", "ACGT")
    targets, given = ["TTACGTAA", "ACAT", "GGGT"], {"mode": mode, "plan": plan, "top": None}
    how = {"sub_score": (1, -3), "iupac": "match", "wildcard": "B", "unknown": "N"}
    found = [*pysw_cl.search([own, "ACRT"], targets, **given, **how)]
    alone = [
        *pysw_cl.search(own, targets, **given),
        *pysw_cl.search("ACRT", targets, **given, **how),
    ]
    assert [[key(hit) for hit in hits] for hits in found] == [
        [key(hit) for hit in hits] for hits in alone
    ]
    assert found[1][0].score == best("ACRT", targets[found[1][0].number], mode)["score"]


def test_score_matrix_aligner_and_paths() -> None:
    pairs = texts(np.random.default_rng(9), 9, 25)
    sequences = [b for _, b in pairs]
    found = pysw_cl.score_matrix(sequences, mode="global", iupac="match")
    expected = [[best(a, b, "global")["score"] for b in sequences] for a in sequences]
    assert found.tolist() == expected
    aligner = pysw_cl.Aligner((2, -3), mode="global", iupac="match")
    paths = pysw_cl.align_paths(pairs, sub_score=(2, -3), mode="global", iupac="match")
    for (a, b), cigar in zip(pairs, paths.cigar, strict=True):
        wanted = best(a, b, "global", scores=(2, -3))
        assert values(aligner.align(a, b)) == wanted and cigar == wanted["cigar"]
    assert aligner.align_many(pairs)["score"].tolist() == paths["score"].tolist()
    assert pysw_cl.predict(*pairs[0], iupac="match").seconds > 0


@pytest.mark.parametrize("mode", ["local", "global"])
def test_checkpoints(mode: str, tmp_path: Path) -> None:
    """A run that is interrupted goes on by the same rule, and a finished one is read."""
    rng = np.random.default_rng(10)
    a = "".join(rng.choice(list(COMMON), 260))
    b = a[:80] + "".join(rng.choice(list("ACGT"), 20)) + a[90:]
    given = {"mode": mode, "iupac": "match", "wildcard": "B", "strand": "both"}
    expected = key(pysw_cl.align(a, b, **given))
    with tight():
        with pytest.raises(Enough):
            pysw_cl.align(a, b, checkpoint=tmp_path, progress=stop_at(4), **given, **small_job())
        with pytest.raises(pysw_cl.errors.CheckpointError):
            pysw_cl.align(a, b, checkpoint=tmp_path, **{**given, "iupac": "mismatch"})
        assert key(pysw_cl.resume(tmp_path)) == expected
    finished = pysw_cl.resume(tmp_path)
    assert key(finished) == expected and finished.scoring.sets
    assert finished.rescore() == finished.score


def test_files_have_the_same_matches() -> None:
    query = named("primer", "ACRYNGTTT")
    target = named("t", "GGACGCAGCTTGG")
    found = pysw_cl.align(query, target, mode="global", free_ends=(True, False), iupac="match")
    assert (found.cigar, found.matches, found.score) == ("6=1X2=", 8, 5)

    def written(format: str, **how: Any) -> str:
        stream = io.StringIO()
        pysw_cl.write(found, stream, format, **how)
        return stream.getvalue()

    sam = written("sam").splitlines()[-1].split("\t")
    assert sam[5] == "6=1X2=" and {"NM:i:1", "MD:Z:6C2"} <= {*sam}
    assert "IUPAC letters match that have a base in common" in written("sam")
    paf = written("paf").split("\t")
    assert paf[9:11] == ["8", "9"]
    assert "||||||.||" in str(found) or "|||||| ||" in str(found)
    fields = ["std", "nident", "btop"]
    row = written("blast6", fields=fields).split("\t")
    assert (row[4], row[12], row[13].strip()) == ("1", "8", "6TC2")
    for fields, given in (
        (["std", "qseq", "sseq"], {}),
        (["std", "btop"], {}),
        (["qstart", "qend", "sstart", "send", "qseq", "sseq"], {"iupac": "match"}),
    ):
        text = written("blast6", fields=fields)
        (record,) = pysw_cl.read(io.StringIO(text), "blast6", fields=fields, **given)
        assert record.runs == found.runs


def test_gaps_go_to_the_left_as_far_as_the_score_is_the_same() -> None:
    given = {"mode": "global", "iupac": "match", "sub_score": (1, -1), "gap_cost": (1, 1)}
    found = pysw_cl.align("GARRC", "GAAARRC", **given)
    moved = found.left_aligned()
    assert moved.score == moved.rescore() == found.score and moved.matches == found.matches
    assert moved.cigar == pysw_cl.align("GARRC", "GAAARRC", left_align=True, **given).cigar
    rows = pysw_cl.align_many([("GARRC", "GAAARRC")], output="path", left_align=True, **given)
    assert rows["cigar"].tolist() == [moved.cigar] and moved.cigar == "1=2D4="


@pytest.mark.parametrize("function", ["align", "align_many", "align_top", "best_ends", "search"])
def test_it_goes_with_no_matrix(function: str) -> None:
    given: tuple[Any, ...] = ("ACGT", "ACGT") if function != "align_many" else ([("A", "C")],)
    with pytest.raises(pysw_cl.errors.ScoringError, match="iupac='match' goes with sub_score="):
        [*getattr(pysw_cl, function)(*given, sub_score="NUC.4.4", iupac="match")]
    matrix = pysw_cl.PositionMatrix(np.ones((3, 4)), "ACGT")
    with pytest.raises(pysw_cl.errors.InputError, match="iupac='match' cannot stand beside"):
        pysw_cl.align(matrix, "ACGT", iupac="match")
