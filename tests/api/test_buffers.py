"""What a caller does to a buffer later changes no result: it is as before, or it is refused."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import InputError, SequenceError
from pysw_cl.sequences.lent import PIECE, SMALL, Lent, Own, kept
from pysw_cl.sequences.sequence import Sequence

#: So many letters are not copied; they end in the middle of a piece.
MANY = 2 * PIECE + 1001
READ, OTHER = b"ACGTTGCAAC", b"GGGTACGTTA"
FORMS: list[Callable[[bytes], Any]] = [
    bytearray,
    lambda text: memoryview(bytearray(text)),
    lambda text: memoryview(bytearray(text)).toreadonly(),
    lambda text: np.array(bytearray(text)),
    lambda text: Sequence("read", "", np.array(bytearray(text))),
]


def owner(given: Any) -> Any:
    """The memory of a sequence, to write into."""
    if isinstance(given, Sequence):
        return given.letters
    return given.obj if isinstance(given, memoryview) else given


def overwrite(buffer: Any, text: bytes, at: int = 0) -> None:
    np.frombuffer(buffer, np.uint8)[at : at + len(text)] = np.frombuffer(text, np.uint8)


def written(found: Any, kind: str, **given: Any) -> str:
    stream = io.StringIO()
    pysw_cl.write(found, stream, kind, **given)
    return stream.getvalue()


@pytest.mark.parametrize("form", FORMS[:-1])
def test_a_short_buffer_is_copied(form: Callable[[bytes], Any]) -> None:
    query, target = form(READ), form(b"TT" + READ)
    right = pysw_cl.align(READ, b"TT" + READ)
    with pysw_cl.Aligner() as aligner:
        found = [
            pysw_cl.align(query, target),
            aligner.align(query, target),
            pysw_cl.align_top(query, target, k=1)[0],
            pysw_cl.trace_ends(query, target, pysw_cl.best_ends(query, target, k=1))[0],
        ]
    before = [written(right, kind) for kind in ("sam", "pair", "fasta", "jsonl")]
    for buffer in (query, target):
        overwrite(owner(buffer), OTHER)
    for one in found:
        assert (one.rescore(), one.aligned) == (one.score, right.aligned)
        assert [written(one, kind) for kind in ("sam", "pair", "fasta", "jsonl")] == before


def test_a_sequence_keeps_the_letters_it_was_made_of() -> None:
    buffer = np.array(bytearray(READ))
    given, copied = Sequence("q", "", buffer), Sequence("q", "", buffer[2:5], buffer[2:5])
    overwrite(buffer, OTHER)
    assert (str(given), str(copied)) == (READ.decode(), "GTT")
    assert copied.quality is not None and copied.quality.tobytes() == b"GTT"
    with pytest.raises(ValueError, match="read-only"):
        given.letters[0] = 65
    again = pickle.loads(pickle.dumps(given))
    found = pysw_cl.align(again, READ)
    again.letters.setflags(write=True)
    again.letters[:] = 65
    assert found.rescore() == found.score == 10


@pytest.mark.parametrize("form", FORMS)
def test_a_long_buffer_that_changed_is_refused(form: Callable[[bytes], Any]) -> None:
    rng = np.random.default_rng(1)
    text = rng.choice(list(b"ACGT"), MANY).astype(np.uint8).tobytes()
    target = form(text)
    start = MANY - 90
    buffer = np.frombuffer(text, np.uint8).copy()
    if isinstance(target, Sequence):
        target = Sequence("chr", "", buffer)
    else:
        buffer = np.frombuffer(owner(target), np.uint8)
    found = pysw_cl.align(text[start:], target, target_range=(start - 10, MANY))
    whole = pysw_cl.align(text[start:], target)
    kept_letters = found.target.letters
    assert np.shares_memory(kept_letters, buffer) and not kept_letters.flags.writeable
    assert found.rescore() == whole.rescore() == 90
    uses: list[Callable[[Any], Any]] = [
        lambda one: one.rescore(),
        lambda one: one.aligned,
        lambda one: one.positives,
        lambda one: one.region(),
        lambda one: one[3:9],
        lambda one: one._repr_html_(),
        lambda one: written(one, "pair"),
        lambda one: one.to_biopython(),
        lambda one: str(one.target),
    ]
    kept_letter = buffer[start + 5]
    buffer[start + 5] = ord("T") if kept_letter != ord("T") else ord("A")
    for use in uses:
        with pytest.raises(SequenceError, match="have changed in the caller's memory"):
            use(whole)
    buffer[start + 5] = kept_letter
    assert whole.rescore() == 90
    buffer[:9] = ord("N")  # nothing that the path needs
    assert found.rescore() == whole.rescore() == 90


def test_every_change_is_seen() -> None:
    rng = np.random.default_rng(2)
    letters = rng.choice(list(b"ACGT"), MANY).astype(np.uint8)
    lent = Lent(letters)
    lent.look(0, MANY, "target")
    saved = letters.copy()
    for change in (
        lambda: np.roll(saved, 8),
        lambda: np.roll(saved, PIECE),
        lambda: saved[::-1],
        lambda: np.concatenate([saved[8:16], saved[:8], saved[16:]]),
        lambda: np.concatenate([saved[:-1], saved[:1] + 1]),
    ):
        letters[:] = change()
        with pytest.raises(SequenceError, match="target have changed"):
            lent.look(0, MANY, "target")
        letters[:] = saved
        lent.look(0, MANY, "target")


def test_what_nobody_changes_costs_nothing() -> None:
    text = b"A" * MANY
    own = np.frombuffer(Own(text), np.uint8)
    own.setflags(write=False)
    apart = np.full(MANY, 65, np.uint8)
    apart.setflags(write=False)
    for letters in (np.frombuffer(text, np.uint8), own, apart, apart[5:]):
        assert kept(letters) == (letters, None)
    assert kept(np.full(SMALL, 65, np.uint8))[1] is None
    assert kept(np.full(SMALL + 1, 65, np.uint8))[1] is not None


def test_rows_are_written_with_the_letters_they_are_of() -> None:
    buffer, target = bytearray(READ), b"TT" + READ
    pairs: list[Any] = [(READ, target), (buffer, target)]
    rows = pysw_cl.align_many(pairs, output="path")
    assert written(rows, "sam", pairs=pairs)
    buffer[:] = OTHER
    with pytest.raises(InputError, match=r"row 1 has the score 10, but its path scores -?\d+ with"):
        written(rows, "sam", pairs=pairs)


@pytest.mark.parametrize("count", [10, MANY // 10])
def test_a_batch_of_arrays(count: int) -> None:
    """A short array is copied; a long one is refused when letters that have changed are needed."""
    queries, targets = np.array(bytearray(READ * count)), np.array(bytearray(OTHER * count))
    offsets = np.arange(0, 10 * count + 1, 10)
    batch = pysw_cl.Batch.from_arrays(queries, offsets, targets, offsets)
    later = pysw_cl.Batch.from_arrays(queries, offsets, targets, offsets)
    right = pysw_cl.align(READ, OTHER).score
    assert set(pysw_cl.align_many(batch)["score"].tolist()) == {right}
    queries[-10:] = ord("A")
    assert set(pysw_cl.align_many(batch)["score"].tolist()) == {right}
    if count == 10:
        assert set(pysw_cl.align_many(later)["score"].tolist()) == {right}
        assert later[9] == (READ, OTHER)
        return
    for use in (lambda: pysw_cl.align_many(later), lambda: later[count - 1]):
        with pytest.raises(SequenceError, match="letters of the Batch have changed"):
            use()


def test_masked_arrays_are_refused() -> None:
    """Their mask would be lost."""
    letters = np.ma.masked_equal(np.frombuffer(READ, np.uint8), ord("C"))
    offsets = np.ma.masked_equal(np.array([0, 10]), 10)
    plain, places = np.frombuffer(READ, np.uint8), np.array([0, 10])
    matrix = np.ma.masked_less(np.eye(4) * 2 - 1, 0)
    rows = pysw_cl.align_many([(READ, READ)])
    for wrong in (
        lambda: pysw_cl.align(letters, READ),
        lambda: pysw_cl.align_many([(READ, letters)]),
        lambda: pysw_cl.reverse_complement(letters),
        lambda: Sequence("x", "", letters),
        lambda: Sequence("x", "", plain, letters),
        lambda: pysw_cl.Batch.from_arrays(letters, places, plain, places),
        lambda: pysw_cl.Batch.from_arrays(plain, offsets, plain, places),
        lambda: pysw_cl.align(READ, READ, sub_score=(matrix, "ACGT")),
        lambda: pysw_cl.trace_ends(READ, READ, np.ma.array([[10, 10, 10]], mask=False)),
        lambda: pysw_cl.to_pandas(np.ma.array(rows)),
        lambda: written(np.ma.array(rows), "tsv", pairs=[(READ, READ)]),
    ):
        with pytest.raises(InputError, match="is a masked array; take out what is masked"):
            wrong()
