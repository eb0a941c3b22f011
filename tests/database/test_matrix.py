"""All against all: `score_matrix` against pairs one by one, its inputs, files and errors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl import Database, SequenceSet, score_matrix
from pysw_cl.drivers.grid import Side, tiles
from pysw_cl.errors import InputError

DNA, PROTEIN = "ACGT", "ARNDCQEGHILKMFPSTWYV"
REFERENCE = {"engine": "reference"}
#: Tiles of a few pairs.
SMALL = {"pairs.grid_pairs": 37}


def some(seed: int, count: int, most: int, letters: str = DNA) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(letters, k=rng.randint(1, most))) for _ in range(count)]


def one_by_one(queries: Any, targets: Any, **options: Any) -> Any:
    pairs = [(a, b) for a in queries for b in targets]
    rows = pysw_cl.align_many(pairs, plan=REFERENCE, **options)
    return rows["score"].reshape(len(queries), len(targets))


HOW: list[dict[str, Any]] = [
    {},
    {"mode": "global"},
    {"mode": "global", "free_ends": True, "sub_score": (2, -1), "gap_cost": 1},
    {"mode": "global", "free_ends": (True, False, False, True)},
    {"sub_score": (1.5, -1), "gap_cost": (2, 0.5)},
    {"sub_score": "BLOSUM62", "wildcard": "X", "unknown": "X"},
    {"sub_score": (90, -40), "gap_cost": (100, 20)},
]


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.LettersWarning")
@pytest.mark.parametrize("plan", [None, SMALL, {"lanes": "vector32"}, REFERENCE])
@pytest.mark.parametrize("how", HOW, ids=str)
def test_all_scores_are_those_of_the_pairs(how: dict[str, Any], plan: Any) -> None:
    letters = PROTEIN + "1" if "unknown" in how else DNA
    queries, targets = some(1, 9, 60, letters), some(2, 14, 90, letters)
    expected = one_by_one(queries, targets, **how)
    found = score_matrix(queries, targets, plan=plan, device="cpu", **how)
    assert found.tolist() == expected.tolist()
    assert found.dtype == (
        np.int32 if "gap_cost" not in how or how["gap_cost"] != (2, 0.5) else float
    )
    own = score_matrix(queries, plan=plan, device="cpu", **how)
    assert own.tolist() == one_by_one(queries, queries, **how).tolist()


def test_a_matrix_that_is_not_symmetric() -> None:
    queries = some(3, 6, 20, "AC")
    scores = (np.array([[2, -3], [1, 2]]), "AC")
    found = score_matrix(queries, sub_score=scores, plan=SMALL, device="cpu")
    assert found.tolist() == one_by_one(queries, queries, sub_score=scores).tolist()
    assert (found != found.T).any()


def test_long_ones_and_many_shapes() -> None:
    long = some(4, 1, 3000)[0] * 2
    queries = [long, *some(5, 150, 3), long[:1500], "A"]
    targets = [long[40:], "C", long[900:3000]]
    for some_of, others in ((queries, targets), (targets, queries)):
        pairs = [(a, b) for a in some_of for b in others]
        expected = pysw_cl.align_many(pairs, device="cpu")["score"]
        found = score_matrix(some_of, others, plan=SMALL, device="cpu")
        assert found.ravel().tolist() == expected.tolist()


def test_each_pair_is_in_one_tile() -> None:
    for counts in ((5, 90), (90, 5), (40, 40), (1, 1)):
        sides = [
            Side(SequenceSet.from_sequences(some(k, count, 40))) for k, count in enumerate(counts)
        ]
        for rows, columns in (sides, (sides[0], sides[0])):
            seen = np.zeros((len(rows), len(columns)), int)
            for row, column in tiles(rows, columns, 30, 5000, 20):
                seen[slice(*row), slice(*column)] += 1
            same = rows is columns
            assert ((seen + (seen.T if same else 0)) >= 1).all()
            assert seen.max() == 1


def test_inputs_of_all_kinds(tmp_path: Any) -> None:
    letters = ["ACGTTG", "ACGA", "TTGACG", "A"]
    path = tmp_path / "some.fa"
    path.write_text("".join(f">same\n{one}\n" for one in letters))
    expected = score_matrix(letters, letters, device="cpu").tolist()
    kinds: list[Any] = [
        [one.encode() for one in letters],
        [np.frombuffer(one.encode(), np.uint8) for one in letters],
        iter(letters),
        SequenceSet.from_sequences(letters),
        Database.from_sequences(letters),
        Database.create(tmp_path / "some.pswdb", letters),
        path,
        str(path),
        tmp_path / "some.pswdb",
        [one.lower() for one in letters],
    ]
    for kind in kinds:
        assert score_matrix(kind, letters, device="cpu").tolist() == expected
    for kind in kinds[3:]:
        assert score_matrix(kind, device="cpu").tolist() == expected


def test_a_file_that_appears_when_it_is_complete(tmp_path: Any) -> None:
    queries, targets = some(6, 20, 30), some(7, 31, 30)
    out = tmp_path / "scores.npy"
    found = score_matrix(queries, targets, out=out, plan=SMALL, device="cpu")
    expected = score_matrix(queries, targets, device="cpu")
    assert isinstance(found, np.memmap)
    assert np.load(out).tolist() == found.tolist() == expected.tolist()

    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    other = tmp_path / "other.npy"
    with pytest.raises(KeyboardInterrupt):
        score_matrix(queries, targets, out=other, progress=stop, plan=SMALL, device="cpu")
    assert [one.name for one in tmp_path.iterdir()] == ["scores.npy"]
    with pytest.raises(InputError, match=r"\.npy"):
        score_matrix(queries, out=tmp_path / "scores.txt", device="cpu")


def test_progress_counts_all_cells_once() -> None:
    queries, told = some(8, 25, 40), list[tuple[int, int]]()
    distance = {"output": "distance", "mode": "global"}
    for how in ({"plan": SMALL}, {"plan": REFERENCE}, distance):
        for targets in (None, some(9, 7, 40)):
            told.clear()
            score_matrix(
                queries,
                targets,
                device="cpu",
                progress=lambda *some: told.append(some),
                **how,  # type: ignore[arg-type]
            )
            sizes = [sum(map(len, one)) for one in (queries, targets or queries)]
            cells = sizes[0] * sizes[1]
            if targets is None:
                cells = (cells + sum(len(one) ** 2 for one in queries)) // 2
            assert told[-1] == (cells, cells)


@pytest.mark.parametrize(
    ("queries", "match"),
    [
        (["ACGT", ""], "number 1 is empty"),
        (["ACGT", "ACJT"], "'J' at position 3 of the query number 1"),
        (["ACGT", "AC-T"], "gap character '-' at position 3"),
        ("no such file", "no such file"),
        (5, "must be an iterable"),
        ([5], "sequence number 0 is a int"),
    ],
)
def test_what_is_wrong_is_named(queries: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        score_matrix(queries, device="cpu")


def test_a_record_of_a_file_is_named(tmp_path: Any) -> None:
    path = tmp_path / "some.fa"
    path.write_text(">one\nACGT\n>two\nACJT\n")
    with pytest.raises(InputError, match=r"position 3 of the record 'two' \(number 2\)"):
        score_matrix(["ACGT"], path, device="cpu")
    path.write_text(">one\nACGT\n>two\n")
    with pytest.raises(InputError, match="record 'two' is empty"):
        score_matrix(path, device="cpu")


def test_none_and_one(tmp_path: Any) -> None:
    assert score_matrix([], ["ACGT"], device="cpu").shape == (0, 1)
    assert score_matrix([], device="cpu").shape == (0, 0)
    assert score_matrix(["ACGT"], device="cpu").tolist() == [[4]]
    assert score_matrix(["ACGT"], [], out=tmp_path / "a.npy", device="cpu").shape == (1, 0)
    distances = {"output": "distance", "mode": "global"}
    assert score_matrix(["ACGT"], device="cpu", **distances).tolist() == [[0]]  # type: ignore[arg-type]
    assert score_matrix([], device="cpu", **distances).shape == (0, 0)  # type: ignore[arg-type]


def test_options_that_do_not_go_together() -> None:
    for wrong in ({"output": "distance"}, {"output": "path"}, {"free_ends": True}):
        with pytest.raises(InputError):
            score_matrix(["ACGT"], device="cpu", **wrong)  # type: ignore[arg-type]
    with pytest.raises(pysw_cl.PyswError, match="score"):
        score_matrix(["A" * 300], sub_score=(1 << 24, -1), gap_cost=1, device="cpu")


@pytest.mark.parametrize("free", [True, False])
def test_distances_of_rows_are_those_of_pairs(free: bool) -> None:
    queries, targets = some(10, 8, 40), some(11, 5, 40)
    how: dict[str, Any] = {
        "output": "distance",
        "mode": "global",
        "free_ends": free,
        "device": "cpu",
    }
    both = score_matrix(queries + targets, **how)
    assert (both == both.T).all()
    assert (both.diagonal() == 0).all()
    found = score_matrix(queries, targets, **how)
    assert found.tolist() == both[:8, 8:].tolist()
    assert score_matrix(queries[:1], queries, **how)[0, 0] == 0
