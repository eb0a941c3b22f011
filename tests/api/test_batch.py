"""`Batch`: prepared pairs have the results of the pairs that they were made from, every time."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from many import LANES, OUTPUTS, align_many_stats, plan_of, skip_lanes
from tuned import tuned

import pysw_cl
from pysw_cl import Batch
from pysw_cl.drivers.batch_layout import ROOM, Row
from pysw_cl.engines.batch import kept
from pysw_cl.errors import DeviceMemoryError, InputError, LettersWarning, SequenceError

Pairs = list[tuple[str, str]]
DNA, PROTEIN = "ACGTN", "ARNDCQEGHILKMFPSTWYV"
PROTEINS = {"sub_score": "BLOSUM62"}
#: Parts and batches of few pairs, so that there are many, and some pairs are aligned alone.
SMALL = {"pairs.cpu_pairs": 37, "pairs.gpu_pairs": 37, "pairs.cpu_moves": 1, "pairs.gpu_moves": 1}
SMALL |= {"pairs.moves_share": 0.0, "pairs.longest": 80}


def some_pairs(seed: int, letters: str = DNA, count: int = 90, longest: int = 90) -> Pairs:
    """Pairs of which every second one is related."""
    rng = np.random.default_rng(seed)
    texts = [
        "".join(rng.choice(list(letters), int(k))) for k in rng.integers(1, longest, 2 * count)
    ]
    halves = zip(texts[0::2], texts[1::2], strict=True)
    return [(a, a[1:] + b[:9] if k % 2 else b) for k, (a, b) in enumerate(halves)]


def arrays_of(pairs: Pairs) -> list[Any]:
    """Letters and offsets of queries and of targets, each after letters of no sequence."""
    found: list[Any] = []
    for side in zip(*pairs, strict=True):
        text = "".join(side).encode()
        found.append(np.frombuffer(b"!!" + text, np.uint8))
        found.append(np.cumsum([2, *map(len, side)]).astype(np.int32))
    return found


def progress_of(batch: Batch) -> list[tuple[int, int]]:
    """What a progress callback is told."""
    seen: list[tuple[int, int]] = []
    pysw_cl.align_many(batch, progress=lambda done, total: seen.append((done, total)))
    return seen


@pytest.mark.parametrize(
    ("lanes", "output"), [("vector", one) for one in OUTPUTS] + [(one, "path") for one in LANES[1:]]
)
def test_results_are_those_of_the_pairs(lanes: str, output: str) -> None:
    """The first time, and when codes are kept; with batches of other kinds in between."""
    skip_lanes(lanes)
    cases: list[tuple[Pairs, dict[str, Any]]] = [
        (some_pairs(1), {}),
        (some_pairs(2), {"mode": "global", "free_ends": (True, False)}),
        (some_pairs(3), {"strand": "both"}),
        (some_pairs(4), {"strand": "minus", "min_score": 5}),
        (some_pairs(5, PROTEIN), PROTEINS),
        ([(a * 9, a * 9) for a, _ in some_pairs(6, count=70)], {"sub_score": (5, -4)}),
    ]
    with plan_of(lanes) as plan:
        # what is kept of a batch is alike for all lanes
        for pairs, given in cases if lanes == LANES[0] else cases[1:4]:
            _check_results(pairs, {"output": output, "plan": plan, **given})


def _check_results(pairs: Pairs, how: dict[str, Any]) -> None:
    """Batches of these pairs have the same results again and again."""
    expected = pysw_cl.align_many(pairs, **how)
    for batch in (Batch.from_sequences(iter(pairs)), Batch.from_arrays(*arrays_of(pairs))):
        for _ in range(3):
            assert (pysw_cl.align_many(batch, **how) == expected).all()
        with tuned(SMALL):
            for _ in range(2):
                assert (pysw_cl.align_many(batch, **how) == expected).all()
        score = pysw_cl.align_many(batch, **{**how, "output": "score", "min_score": None})
        assert len(score) == len(pairs)


def test_codes_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[bool] = []
    lend = kept.KeptCodes.lend

    def watched(self: Any, first: int, count: int) -> Any:
        lent = lend(self, first, count)
        there.append(lent is not None and lent.there)
        return lent

    monkeypatch.setattr(kept.KeptCodes, "lend", watched)
    batch = Batch.from_sequences(some_pairs(7))
    with tuned({"pairs.cpu_pairs": 64, "pairs.gpu_pairs": 64}):
        for output in ("score", "path", "ends"):
            pysw_cl.align_many(batch, output=output)
    count = len(there) // 3
    assert there == [False] * count + [True] * 2 * count and batch.kept_bytes > 0
    scores = pysw_cl.align_many(batch, sub_score=(2, -3))
    assert (scores == pysw_cl.align_many(some_pairs(7), sub_score=(2, -3))).all()
    batch.free()
    assert batch.kept_bytes == 0
    assert (pysw_cl.align_many(batch) == pysw_cl.align_many(some_pairs(7))).all()


def test_without_memory_for_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = some_pairs(8)
    expected = pysw_cl.align_many(pairs, output="ends")
    batch = Batch.from_sequences(pairs)
    with tuned({"pairs.kept_share": 0.0}):
        assert (pysw_cl.align_many(batch, output="ends") == expected).all()
    assert batch.kept_bytes == 0

    def full(*_: Any) -> Any:
        raise DeviceMemoryError("full")

    monkeypatch.setattr(kept, "KeptCodes", full)
    assert (pysw_cl.align_many(batch, output="ends") == expected).all()
    assert batch.kept_bytes == 0


def test_a_wrong_letter_is_named_every_time() -> None:
    batch = Batch.from_sequences([("ACGT", "ACGT"), ("ACGT", "AC!T"), ("", "A")])
    for _ in range(3):
        with pytest.raises(SequenceError, match=r"^pair 2: the query is empty"):
            pysw_cl.align_many(batch)
    pairs = [("ACGT", "ACGT"), ("ACGT", "ACJT")]
    for strand in ("plus", "both"):
        batch = Batch.from_sequences(pairs)
        for _ in range(3):
            with pytest.raises(SequenceError, match=r"^pair 1: letter 'J' at position 3 of the t"):
                pysw_cl.align_many(batch, strand=strand)
        found = pysw_cl.align_many(batch, strand=strand, unknown="N")
        assert (found == pysw_cl.align_many(pairs, strand=strand, unknown="N")).all()


def test_letters_are_counted_every_time() -> None:
    pairs = [("MKWUV", "MKOW"), ("MKWUV", "MKW")]
    with pytest.warns(LettersWarning) as said:
        pysw_cl.align_many(pairs, **PROTEINS)
    batch = Batch.from_sequences(pairs)
    for _ in range(2):
        with pytest.warns(LettersWarning) as again:
            pysw_cl.align_many(batch, **PROTEINS)
        assert [str(one.message) for one in again] == [str(one.message) for one in said]
        assert again[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysw_cl.align_many(Batch.from_sequences([("MKW", "MKV")]), **PROTEINS)


def test_a_batch_is_a_sequence_of_pairs() -> None:
    pairs = some_pairs(9, count=5)
    expected = [(a.encode(), b.encode()) for a, b in pairs]
    for batch in (Batch.from_sequences(pairs), Batch.from_arrays(*arrays_of(pairs))):
        assert list(batch) == expected and batch[1:3] == expected[1:3] and batch[-1] == expected[-1]
        assert repr(batch) == "<Batch of 5 pairs>"
        assert list(Batch.from_sequences(batch)) == expected
        again = pickle.loads(pickle.dumps(batch))
        assert (pysw_cl.align_many(again) == pysw_cl.align_many(pairs)).all()
        rows = pysw_cl.align_many(batch, output="path")
        assert pysw_cl.to_dicts(rows, batch) == pysw_cl.to_dicts(rows, expected)
        total = sum(len(a) * len(b) for a, b in pairs)
        assert progress_of(batch)[-1] == (total, total)
        alone = pysw_cl.align_many(batch, plan={"engine": "reference"})
        assert (alone == pysw_cl.align_many(pairs)).all()


def test_no_pairs() -> None:
    for batch in (Batch.from_sequences([]), Batch.from_arrays(b"", [0], b"AC", [1])):
        for output in OUTPUTS:
            assert len(pysw_cl.align_many(batch, output=output)) == 0


def test_with_an_aligner() -> None:
    pairs = some_pairs(10, PROTEIN)
    batch = Batch.from_sequences(pairs)
    with pysw_cl.Aligner("BLOSUM62") as aligner:
        expected = aligner.align_many(pairs, output="path", min_score=9)
        for _ in range(2):
            assert (aligner.align_many(batch, output="path", min_score=9) == expected).all()


def test_what_is_no_batch() -> None:
    for given in ("ACGT", 7):
        with pytest.raises(InputError, match=r"pairs must be an iterable of \(query, target\)"):
            Batch.from_sequences(given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^pair 1 must be \(query, target\)"):
        Batch.from_sequences([("A", "C"), "AC"])
    with pytest.raises(SequenceError, match=r"^pair 1: the target is a int"):
        Batch.from_sequences([("A", "C"), ("A", 5)])
    with pytest.raises(SequenceError, match=r"^pair 0: the query has the non-ASCII"):
        Batch.from_sequences([("Ä", "C")])
    good = np.frombuffer(b"ACGT", np.uint8), [0, 2, 4]
    wrong: list[tuple[Any, Any, str]] = [
        (good[0], [0, 4], "2 queries and 1 targets"),
        (good[0], [0, 3, 2], "target offsets must rise"),
        (good[0], [0, 2, 5], "target offsets must rise"),
        (good[0], [-1, 2, 4], "target offsets must rise"),
        (good[0], [0.0, 2.0, 4.0], "array of integers"),
        (good[0], [], "array of integers"),
        (good[0].astype(np.int64), [0, 2, 4], "they must be uint8"),
        ("ACGT", [0, 2, 4], "target letters and offsets must be arrays"),
    ]
    for letters, offsets, message in wrong:
        with pytest.raises(InputError, match=message):
            Batch.from_arrays(*good, letters, offsets)


def test_statistics_are_those_of_the_pairs() -> None:
    pairs = some_pairs(11)
    batch = Batch.from_sequences(pairs)
    for _ in range(2):
        # a Batch remembers how much of its pairs is near their ends: that may not count here
        with tuned({"pairs.near_share": 0}):
            _, stats = align_many_stats(batch, output="path")
            cells = align_many_stats(pairs, output="path")[1].total_cells
        # which pairs have their ends found first is decided for all of a prepared part at once
        assert abs(stats.total_cells - cells) < 0.01 * cells
        with tuned({"pairs.near_share": 0, "pairs.far": 1 << 20}):
            _, stats = align_many_stats(batch, output="path")
            assert stats.total_cells == align_many_stats(pairs, output="path")[1].total_cells


def test_letters_in_a_row_ask_for_little_more_memory_than_they_need() -> None:
    """Also if the first ones are much longer than the others, or shorter."""
    row, texts = Row(), [b"ACGT" * n for n in (3_000_000, 1, 0, 5, 40_000_000, 7)]
    for k, text in enumerate(texts):
        row.add(text, 1_000_000 - k)
        assert len(row.letters.base) <= 2 * len(row.letters) + ROOM  # type: ignore[arg-type]
    assert row.letters.tobytes() == b"".join(texts)
    assert len(Row().letters) == 0
