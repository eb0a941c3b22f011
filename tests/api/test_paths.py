"""``align_paths``: the paths that ``align_many`` finds, as arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tuned import tuned

import pysw_cl
from pysw_cl.errors import InputError, LettersWarning, SequenceError
from pysw_cl.results.cigar import Runs
from pysw_cl.results.pair_paths import LONGEST_RUN, PairPaths, PathWords

OPS = "MIDNSHP=X"


def some_pairs(letters: str) -> list[tuple[str, str]]:
    rng = np.random.default_rng(1)
    pairs = []
    for k in range(120):
        a = "".join(rng.choice(list(letters), int(rng.integers(1, 90))))
        b = "".join(c for c in a if rng.random() > 0.1) or "A"
        pairs.append((a, b if k % 3 else "".join(rng.permutation(list(a)))))
    return pairs


@pytest.mark.parametrize(
    ("letters", "given"),
    [
        ("ACGT", {}),
        ("ACGT", {"mode": "global", "strand": "both"}),
        ("ACGT", {"sub_score": (5, -4), "gap_cost": (1.5, 1)}),
        ("ARNDCQEGHILKMFPSTWYV", {"sub_score": "BLOSUM62"}),
        ("ACGT", {"plan": {"engine": "reference"}}),
    ],
    ids=str,
)
def test_paths_are_those_of_align_many(letters: str, given: dict[str, Any]) -> None:
    """In any order: pairs that outgrow their lanes, or are aligned alone, come later."""
    pairs = some_pairs(letters)
    expected = pysw_cl.align_many(pairs, output="path", **given)
    for some in (pairs, iter(pairs), pysw_cl.Batch.from_sequences(pairs)):
        small = {"pairs.cpu_moves": 1, "pairs.gpu_moves": 1, "pairs.moves_share": 0.0}
        with tuned({**small, "pairs.cpu_pairs": 40, "pairs.gpu_pairs": 40, "pairs.longest": 80}):
            found = pysw_cl.align_paths(some, **given)
        assert len(found) == len(pairs) and repr(found) == "<PairPaths of 120 pairs>"
        table = found.table()
        assert table.dtype == expected.dtype and (table == expected).all()
        assert found["cigar"].tolist() == expected["cigar"].tolist()
        assert found["score"].tolist() == expected["score"].tolist()
        assert found.runs.dtype == np.uint32 and found.offsets.dtype == np.int64
        for k, cigar in enumerate(expected["cigar"]):
            words = found.runs[found.offsets[k] : found.offsets[k + 1]].tolist()
            assert [(OPS[word & 15], word >> 4) for word in words] == list(Runs.of_cigar(cigar))


def test_text_is_made_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from pysw_cl.results import pair_paths

    made: list[int] = []
    real = pair_paths.text_of

    def watched(words: Any, offsets: Any) -> Any:
        made.append(len(offsets) - 1)
        return real(words, offsets)

    monkeypatch.setattr(pair_paths, "text_of", watched)
    found = pysw_cl.align_paths([("ACGT", "ACGT"), ("ACGT", "TTTT")])
    assert found.rows["columns"].tolist() == [4, 1] and found.runs.tolist() == [4 << 4 | 7, 23]
    assert made == []
    assert found.cigar is found["cigar"] and found.cigar.tolist() == ["4=", "1="]
    assert made == [2]


def test_paths_in_any_order() -> None:
    paths = PathWords(4)
    words = np.array([3 << 4 | 7, 10 << 4 | 8, 2 << 4 | 1], np.uint32)
    paths.add(np.array([3, 1]), words, np.array([1, 2], np.int32))
    paths.put(0, Runs.of_cigar("7D"))
    paths.put(3, Runs.of_cigar("8=1I"))
    assert PairPaths({}, *paths.joined()).cigar.tolist() == ["7D", "10X2I", "", "8=1I"]
    assert PairPaths({}, *PathWords(2).joined()).cigar.tolist() == ["", ""]
    assert len(PairPaths({"score": np.zeros(0)}, *PathWords(0).joined()).runs) == 0


def test_runs_longer_than_a_word_holds() -> None:
    paths, cigars = PathWords(4), ["3=300000000D2=", "", "536870910I1X", "268435455D268435455I"]
    for k, cigar in enumerate(cigars):
        paths.put(k, Runs.of_cigar(cigar))
    words, offsets = paths.joined()
    assert offsets.tolist() == [0, 4, 4, 7, 9]
    assert [word >> 4 for word in words.tolist()[1:3]] == [LONGEST_RUN, 300_000_000 - LONGEST_RUN]
    assert PairPaths({}, words, offsets).cigar.tolist() == cigars


def test_columns() -> None:
    found = pysw_cl.align_paths([("ACGT", "ACGT")])
    assert found["query_end"].tolist() == [4] and found.rows["query_end"].tolist() == [4]
    with pytest.raises(KeyError, match="no column 'matched', but score, query_start"):
        found["matched"]


def test_errors_and_warnings() -> None:
    assert len(pysw_cl.align_paths([])) == 0
    with pytest.raises(InputError, match="iterable of"):
        pysw_cl.align_paths("ACGT")
    with pytest.raises(SequenceError, match=r"^pair 1: letter '!'"):
        pysw_cl.align_paths([("A", "A"), ("A!", "A")])
    for some in ([("MKUW", "MKW")], pysw_cl.Batch.from_sequences([("MKUW", "MKW")])):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            pysw_cl.align_paths(some, sub_score="BLOSUM62")
        assert [one.category for one in said] == [LettersWarning]
        assert said[0].filename == __file__
