"""Search: scores against other programs, the order of hits, parts, threads, and odd input."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ALL_FREE_ENDS, IMPORTS
from whole_reference import _end, align_reference, border

import pysw_cl
from pysw_cl import Database, Searcher, Sequence, Stage, search
from pysw_cl.api.advice import Tally
from pysw_cl.api.search_engine import search_engine
from pysw_cl.database import passes as searching
from pysw_cl.errors import InputError, InputWarning, LettersWarning, RangeError, SequenceError
from pysw_cl.scoring.scoring import make_scoring

DATA = Path(os.environ.get("PYSW_CL_TEST_DATA", "/nowhere")) / "protein"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="PYSW_CL_TEST_DATA names no folder")
AMINO = "ARNDCQEGHILKMFPSTWYV"
#: What is compared of a hit.
Row = tuple[Any, ...]


def proteins(count: int, seed: int, most: int = 90) -> list[str]:
    """Proteins of any lengths up to ``most``, some alike, some the same."""
    rng = np.random.default_rng(seed)
    base = "".join(rng.choice(list(AMINO), most))
    found = []
    for k in range(count):
        length = int(rng.integers(1, most + 1))
        found.append("".join(rng.choice(list(AMINO), length)) if k % 3 else base[:length])
    return [*found, *found[: count // 4]]


def engine_of(most: int, *asked: Any) -> Any:
    """An engine that holds so many letters at most."""
    engine = search_engine(*asked)
    engine.most_letters = most
    return engine


def rows(hits: list[pysw_cl.Hit]) -> list[Row]:
    return [
        (
            *(one.number, one.score, one.query_start, one.query_end),
            *(one.target_start, one.target_end, one.cigar, str(one.target)),
        )
        for one in hits
    ]


def reference(query: str, target: str, mode: str, free: Any, scoring: Any) -> Row:
    """Score, places and columns of the best alignment."""
    if not target:  # one column of cells
        h, local = np.zeros((len(query) + 1, 1), np.int64), mode == "local"
        h[1:, 0] = border(len(query), local or free[2], scoring)[0]
        end, _ = _end(h, local, *free[1::2])
        start = end if local or free[2] else 0
        return h[end, 0], start, end, 0, 0, end - start
    codes = [
        scoring.encode(np.frombuffer(text.encode(), np.uint8), what)
        for text, what in ((query, "query"), (target, "target"))
    ]
    known = align_reference(*codes, scoring, mode, free)
    places = known.query_start, known.query_end, known.target_start, known.target_end
    return known.score, *places, len(known.moves)


@pytest.mark.parametrize("mode", ["local", "global", "free"])
def test_every_hit_is_that_of_the_reference(mode: str) -> None:
    targets, queries = [*proteins(25, 1, 40), "", ""], ["MKVLAWHEAGAW", "W", *proteins(2, 2, 30)]
    scoring = make_scoring("BLOSUM62", (4, 1))
    ends = ALL_FREE_ENDS if mode == "free" else [(False,) * 4]
    asked: dict[str, Any] = {"sub_score": "BLOSUM62", "gap_cost": (4, 1)}
    asked["mode"] = "local" if mode == "local" else "global"
    for free in ends:
        asked |= {"free_ends": free}
        with pytest.warns(InputWarning, match="2 sequences of the database without letters"):
            s = Searcher(targets, **asked)
        how: Any = {"top": None, "min_score": -10_000, "output": "path", "evalues": "none"}
        found = list(s.search(queries, **how))
        assert [len(hits) for hits in found] == [len(targets)] * len(queries)
        for query, hits in zip(queries, found, strict=True):
            assert str(hits.query) == query
            keys = [(-one.score, one.number) for one in hits]
            assert keys == sorted(keys)
            for hit in hits:
                known = reference(query, targets[hit.number], asked["mode"], free, scoring)
                assert (hit.score, *rows([hit])[0][2:6], hit.columns) == known, (query, hit, free)
                assert hit.rescore() == hit.score
        s.close()


@needs_data
@pytest.mark.parametrize("matrix", ["BLOSUM62", "BLOSUM45", "PAM250"])
def test_scores_are_those_of_parasail(matrix: str) -> None:
    parasail = pytest.importorskip("parasail")
    sample = DATA / "swissprot201401_sample.fasta.gz"
    targets = list(islice(pysw_cl.read_sequences(sample), 0, None, 331))
    queries = list(islice(pysw_cl.read_sequences(DATA / "queries_parasail_extra.fasta"), 6))
    assert len(targets) > 300
    table = getattr(parasail, matrix.lower())
    asked: dict[str, Any] = {"top": None, "min_score": 0, "output": "score", "evalues": "none"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LettersWarning)
        found = list(search(queries, targets, sub_score=matrix, gap_cost=(11, 1), **asked))
    for query, hits in zip(queries, found, strict=True):
        text = str(query)
        for hit in hits:
            target = str(hit.target).replace("U", "C").replace("O", "X")
            assert hit.score == parasail.sw_scan_16(text, target, 12, 1, table).score
        assert len(hits) == len(targets)


@pytest.mark.parametrize("output", ["score", "path"])
def test_hits_do_not_depend_on_parts(output: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    targets, queries = proteins(60, 3), proteins(5, 4)
    asked = {"output": output, "top": 7}
    whole = list(map(rows, search(queries, targets, **asked)))
    everything = list(map(rows, search(queries, targets, output=output, top=None)))
    for some, every in zip(whole, everything, strict=True):
        assert some == every[:7]
    for most, part in ((1 << 28, 100), (1 << 28, 1), (300, 100), (2, 100)):
        monkeypatch.setattr(searching, "search_engine", partial(engine_of, most))
        monkeypatch.setattr(searching, "PART", part)
        monkeypatch.setattr(searching, "RESIDENT", 2)
        assert list(map(rows, search(queries, targets, **asked))) == whole
        with Searcher(targets) as s:
            for _ in range(2):
                assert list(map(rows, s.search(iter(queries), **asked))) == whole
            assert s._held == [] if most < 1000 else len(s._held) > 5


def test_ties_go_by_the_place_in_the_source() -> None:
    rng = np.random.default_rng(5)
    targets = ["MKVLAWHEAG"] * 5 + ["MKVLAWHEA"] * 4 + ["MKVLAWHE" + "P" * k for k in range(9)]
    for _ in range(5):
        order = rng.permutation(len(targets))
        shuffled = [targets[k] for k in order]
        every = next(search("MKVLAWHEAG", shuffled, top=None))
        assert [one.number for one in every[:5]] == sorted(np.flatnonzero(order < 5).tolist())
        for top, ties in ((1, 5), (4, 5), (5, 5), (6, 9), (9, 9), (18, 18), (19, 18)):
            (plain,) = search("MKVLAWHEAG", shuffled, top=top)
            (tied,) = search("MKVLAWHEAG", shuffled, top=top, ties=True)
            assert rows(plain) == rows(every)[:top] and rows(tied) == rows(every)[:ties]
        scores = {one.score for one in every}
        for least in scores:
            some = next(search("MKVLAWHEAG", shuffled, top=None, min_score=least))
            assert rows(some) == [row for row in rows(every) if row[1] >= least]
            two = next(search("MKVLAWHEAG", shuffled, top=2, min_score=least))
            assert rows(two) == rows(some)[:2]


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("most", [8, 400])
def test_position_matrices(most: int, mode: Any) -> None:
    """Among plain queries, with scores and gap costs of their own."""
    rng, letters = np.random.default_rng(15), "ARNDCQEGHILKMFPSTWYVX"
    targets, scores = proteins(40, 14, 90), rng.integers(-most, most + 1, (70, len(letters)))
    matrix = pysw_cl.PositionMatrix(scores, letters, targets[3][:70].ljust(70, "A"), "profile")
    asked: dict[str, Any] = {"mode": mode, "gap_cost": (9, 2)}
    queries = [targets[1], matrix, matrix[5:20], targets[2]]
    how: Any = {"top": None, "min_score": -(10**6), "output": "path", "evalues": "none"}
    found = list(search(queries, targets, **how, **asked))
    for query, hits in zip(queries, found, strict=True):
        plain = {} if isinstance(query, pysw_cl.PositionMatrix) else {"sub_score": "BLOSUM62"}
        pairs = [(query, target) for target in targets]
        table = pysw_cl.align_many(pairs, output="path", **plain, **asked)
        assert len(hits) == len(targets)
        for hit in hits:
            row = table[hit.number]
            assert (hit.score, hit.cigar) == (row["score"], row["cigar"])
    assert found[1].query.name == "profile"
    other = pysw_cl.PositionMatrix(scores[:, :4], "ACDE")
    with pytest.raises(SequenceError, match=r"letter '[A-Z]' at position"):
        list(search(other, targets))


def test_halves_and_nucleotides() -> None:
    hits = next(search("MKVLAWHEAG", ["MKVLAGGWHEAG", "W"], gap_cost=(9.5, 0.5), output="path"))
    one = pysw_cl.align("MKVLAWHEAG", "MKVLAGGWHEAG", sub_score="BLOSUM62", gap_cost=(9.5, 0.5))
    assert (hits[0].score, hits[0].cigar) == (one.score, one.cigar)
    assert next(search("MKVLAWHEAG", ["W"], min_score=11.5, gap_cost=(9.5, 0.5))) == []
    (hits,) = search("ACGTTGCA", ["GGG", "TTGC", "ACGUUGCA"], sub_score=(1, -3))
    assert [(one.number, one.score) for one in hits] == [(2, 8), (1, 4), (0, 1)]


def test_results_are_those_of_other_functions(tmp_path: Path) -> None:
    queries = [Sequence("q", "a query", np.frombuffer(b"MKVLAWHEAGAW", np.uint8))]
    targets = [Sequence(f"t{k}", "", np.frombuffer(one.encode(), np.uint8))
               for k, one in enumerate(proteins(9, 6))]  # fmt: skip
    (hits,) = search(queries, targets, output="path", top=3, evalues="none")
    assert hits.query is queries[0] and len(hits) == 3 and isinstance(hits[0], pysw_cl.Alignment)
    assert pysw_cl.to_numpy(hits)["target_name"].tolist() == [one.target.name for one in hits]
    pysw_cl.write(hits, tmp_path / "a.paf")
    assert [one.cigar for one in pysw_cl.read(tmp_path / "a.paf")] == [one.cigar for one in hits]
    alone = pysw_cl.align(queries[0], hits[0].target, sub_score="BLOSUM62")
    assert str(hits[0]) == str(alone)
    if pytest.importorskip("pandas"):
        assert pysw_cl.to_pandas(hits)["score"].tolist() == [one.score for one in hits]
    pytest.importorskip("Bio")
    assert hits[0].to_biopython().score == hits[0].score


def test_threads_and_processes_share_a_database(tmp_path: Path) -> None:
    targets, queries = proteins(40, 7), proteins(6, 8)
    path = tmp_path / "a.pswdb"
    Database.create(path, targets)
    wanted = [rows(hits) for hits in search(queries, path)]
    with Searcher(path) as s, ThreadPoolExecutor(4) as pool:
        every = [pool.submit(lambda: [rows(hits) for hits in s.search(queries)]) for _ in range(8)]
        assert all(one.result() == wanted for one in every)
        assert s.stats.total_cells >= 8 * sum(map(len, queries)) * s.db.total_letters
        s.close()
        assert [rows(hits) for hits in s.search(queries)] == wanted  # it can go on
    code = (
        "import pysw_cl, sys\n"
        "for hits in pysw_cl.search(sys.argv[2:], sys.argv[1]):\n"
        "    print([(one.number, one.score) for one in hits])"
    )
    environment = {**os.environ, "PYTHONPATH": IMPORTS}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), *queries],
            stdout=subprocess.PIPE, env=environment, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    said = "".join(f"{[row[:2] for row in some]}\n" for some in wanted)
    assert [child.communicate()[0] for child in children] == [said, said]


def test_progress_tells_of_all_cells() -> None:
    told = list[tuple[int, int, Stage]]()

    def progress(done: int, total: int, stage: Stage) -> None:
        told.append((done, total, stage))

    targets, queries = proteins(20, 9), proteins(3, 10)
    list(search(iter(queries), targets, progress=progress))
    cells = sum(map(len, queries)) * sum(map(len, targets))
    told = [one for one in told if one[2].name == "pairs"]
    assert told[0][:2] == (0, cells) and told[-1][:2] == (cells, cells)
    assert str(told[-1][2]) == f"{len(queries) * len(targets)} of 75 pairs"
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)


def test_long_sequences() -> None:
    rng = np.random.default_rng(11)
    giant = "".join(rng.choice(list(AMINO), 100_000))
    targets = [*proteins(6, 12), giant[30_000:65_000], giant[500:560]]
    (hits,) = search(giant, targets, top=2, output="path")
    assert [(one.number, one.query_start, one.cigar) for one in hits] == [
        (len(targets) - 2, 30_000, "35000="),
        (len(targets) - 1, 500, "60="),
    ]


def test_odd_input() -> None:
    targets = proteins(5, 13)
    assert list(search([], targets)) == [] and next(search("MKV", [])) == []
    for wrong, said in (
        (["MKV", "AC#"], "query number 1: letter '#' at position 3 of the query is not in"),
        (["MKV", ""], "query number 1 is empty"),
        (3, "queries must be a sequence or an iterable of them, not a int"),
        ("proteins.fa", "looks like the name of a file; read_sequences reads"),
    ):
        with pytest.raises(InputError, match=said):
            list(search(wrong, targets))
    with pytest.raises(SequenceError, match=r"'#' at position 2 of the record '' \(number 7\)"):
        search("MKV", [*targets, "A#"])
    with pytest.warns(LettersWarning, match=r"others as X \(1\)"):
        assert len(next(search("MK#", [*targets, "A#"], unknown="X"))) > 0
    with pytest.raises(RangeError, match="query number 0: a local comparison of 3,000 x 9,000"):
        list(search(["A" * 3000], ["A" * 9000], sub_score=(1_000_000, -1), gap_cost=(5, 1)))
    for options, said in (
        ({"top": 0}, "top must be a whole number of at least 1"),
        ({"ties": 2}, "ties must be True or False"),
        ({"min_score": "5"}, "min_score must be a number or None"),
        ({"output": "matches"}, "output must be one of|output must be 'score'"),
        ({"free_ends": True}, "free_ends is for mode='global'"),
    ):
        with pytest.raises(InputError, match=said):
            search("MKV", targets, **options)  # type: ignore[arg-type]
    alphabet = pysw_cl.Alphabet(["Ala", "Cys"])
    with pytest.raises(InputError, match="a Database has plain letters"):
        search("MKV", targets, sub_score=alphabet.scores(1, -1))


@pytest.mark.parametrize("unknown", ["error", "X"])
def test_letters_are_counted_as_others_are(unknown: str) -> None:
    scoring = make_scoring("BLOSUM62", unknown=unknown)
    for text in ("ACUUo*", "ACGTACGTACGT", "uuOOJj", "AC#1"[: 2 if unknown == "error" else 4]):
        one, other = Tally(scoring), Tally(scoring)
        one.add(np.frombuffer(text.encode(), np.uint8))
        other.add_counts(Database.from_sequences([text]).letters)
        assert +one.counts == +other.counts
        assert (one.letters, one.nucleotides) == (other.letters, other.nucleotides)


def test_hits_are_given_pass_by_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "RESIDENT", 2)
    taken = list[str]()

    def queries() -> Iterator[str]:
        for one in proteins(8, 14):
            taken.append(one)
            yield one

    found = search(queries(), proteins(5, 15))
    next(found)
    assert len(taken) == 2
    assert len(list(found)) == len(taken) - 1 == 9


def test_a_part_is_sent_while_the_one_before_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[str]()

    def made(*asked: Any) -> Any:
        engine = engine_of(300, *asked)
        hold, scores, free = engine.hold, engine.scores, engine.free

        def begun(queries: Any, held: Any, done: Any) -> Any:
            told.append("begin")
            yield from scores(queries, held, done)
            told.append("end")

        def eager(*given: Any) -> Any:
            found = begun(*given)
            first = [next(found)]
            return chain(first, found)

        engine.scores = eager
        engine.hold = lambda part: (told.append("hold"), hold(part))[1]
        engine.free = lambda part: (told.append("free"), free(part))[1]
        return engine

    monkeypatch.setattr(searching, "search_engine", made)
    targets = proteins(40, 16)
    whole = list(map(rows, search("MKVLAWHEAG", targets, device="cpu")))
    parts = told.count("hold")
    assert parts > 4 and told.count("free") == parts and len(whole) == 1
    middle = [
        "hold",
        "begin",
        *["hold", "end", "begin"],
        *["free", "hold", "end", "begin"] * (parts - 2),
    ]
    assert told == [*middle, "end", "free", "free"]


def test_a_query_too_long_for_the_lanes_goes_by_pairs() -> None:
    targets = proteins(30, 18)
    with Searcher(targets, device="cpu") as s:
        known = rows(next(s.search("MKVLAWHEAG" * 5)))
        s._engine._most_scratch = 1  # type: ignore[union-attr]
        assert rows(next(s.search("MKVLAWHEAG" * 5))) == known
        assert not any(name.startswith("search") for name in s._engine.cells)  # type: ignore[union-attr]


def test_a_searcher_is_not_used_by_its_own_progress() -> None:
    with Searcher(proteins(30, 19)) as s:
        with pytest.raises(InputError, match="by its own progress"):
            list(s.search("MKVLAWHEAG", progress=lambda done, _: s.close() if done else None))
        assert len(next(s.search("MKVLAWHEAG"))) > 0
