"""Sets of sequences: in memory, in slices, and mapped from files."""

from __future__ import annotations

import array
import pickle
from pathlib import Path

import numpy as np
import pytest

import pysw_cl
from pysw_cl import SequenceSet
from pysw_cl.errors import InputError, SequenceError
from pysw_cl.sequences.sequence import Sequence

TEXTS = ["ACGT", "C", "GGTTAACC", "T"]


def texts(some: SequenceSet) -> list[str]:
    return [one.tobytes().decode() for one in some]


def test_items_slices_and_names() -> None:
    named = [
        Sequence(f"s{k}", "", np.frombuffer(t.encode(), np.uint8)) for k, t in enumerate(TEXTS)
    ]
    for some in (SequenceSet.from_sequences(TEXTS), SequenceSet.from_sequences(named)):
        assert texts(some) == TEXTS and some.lengths.tolist() == [4, 1, 8, 1]
        assert texts(some[1:3]) == TEXTS[1:3] and texts(some[::2]) == TEXTS[::2]
        assert np.shares_memory(some[2], some.letters) and np.shares_memory(some[1:][1], some[2])
    assert [some[2:].name(k) for k in range(2)] == ["s2", "s3"]
    assert SequenceSet.from_sequences(TEXTS).name(0) == ""
    assert len(SequenceSet.from_sequences([])) == 0
    with pytest.raises(InputError, match="goes forward"):
        some[::-1]
    with pytest.raises(InputError, match="not str"):
        SequenceSet.from_sequences("ACGT")
    with pytest.raises(SequenceError, match="sequence number 1"):
        SequenceSet.from_sequences(["A", 3])


def test_what_is_in_a_set() -> None:
    some = SequenceSet.from_sequences([*TEXTS, "C"])
    assert "C" in some and b"GGTTAACC" in some and "G" not in some and 3 not in some
    assert (some.index("C"), some.index("C", 2), some.count("C"), some.count("A")) == (1, 4, 2, 0)
    for place in ((2, 4), (0, 1)):
        with pytest.raises(ValueError, match="no sequence"):
            some.index("C", *place)


def test_a_slice_is_pickled_without_the_letters_of_others() -> None:
    some = SequenceSet.from_sequences(["A" * 100_000, *TEXTS, "G" * 100_000])[1:-1]
    kept = pickle.dumps(some)
    assert len(kept) < 1000 and texts(pickle.loads(kept)) == TEXTS
    assert texts(pickle.loads(pickle.dumps(some[:0]))) == []


def test_letters_are_bytes() -> None:
    wide = np.frombuffer(b"ACGTACGT", np.uint8).view(np.int32)
    for letters in (wide, memoryview(wide), array.array("i", wide)):
        with pytest.raises(InputError, match="they must be uint8"):
            SequenceSet.from_arrays(letters, [0, 2])
    assert texts(SequenceSet.from_arrays(memoryview(b"ACGT").cast("c"), [0, 2])) == ["AC"]


@pytest.mark.parametrize("letters", [3, 400])
def test_the_text_of_sequences_in_any_order(letters: int) -> None:
    """Short ones are gathered, long ones copied; texts, bytes and arrays make the same set."""
    rng = np.random.default_rng(letters)
    every = ["".join(rng.choice([*"ACGT"], letters + k)) for k in range(9)]
    arrays = [np.frombuffer(text.encode(), np.uint8) for text in every]
    order = rng.integers(0, 9, 20)
    for given in (every, [text.encode() for text in every], arrays, [*arrays[:3], *every[3:]]):
        some = SequenceSet.from_sequences(given).take(order)
        assert some.text().tobytes().decode() == "".join(every[k] for k in order)
    with pytest.raises(SequenceError, match="sequence number 1 "):
        SequenceSet.from_sequences([arrays[0], arrays[1][:0]])
    with pytest.raises(SequenceError, match="sequence number 1 "):
        SequenceSet.from_sequences([arrays[0], arrays[1].astype(np.int64)])


def test_saved_sets_are_mapped(tmp_path: Path) -> None:
    some = SequenceSet.from_sequences(TEXTS)[1:]
    named = pysw_cl.read_sequences(_fasta(tmp_path))
    for number, one in enumerate((some, SequenceSet.from_sequences(named), some[:0], some[:1])):
        one.save(tmp_path / str(number))
        again = SequenceSet.open(tmp_path / str(number))
        assert texts(again) == texts(one)
        assert [again.name(k) for k in range(len(one))] == [one.name(k) for k in range(len(one))]
    assert isinstance(SequenceSet.open(tmp_path / "0").letters, np.memmap)
    for file, damage in (("letters", b"ACGT"), ("offsets", b"")):
        (tmp_path / "0" / file).write_bytes(damage)
        with pytest.raises(InputError, match="damaged"):
            SequenceSet.open(tmp_path / "0")
    with pytest.raises(InputError, match="no sequences"):
        SequenceSet.open(tmp_path / "none")


def test_a_set_that_is_open_stays_when_another_is_saved_there(tmp_path: Path) -> None:
    named = SequenceSet.from_sequences(pysw_cl.read_sequences(_fasta(tmp_path)))
    named.save(tmp_path / "s")
    opened = SequenceSet.open(tmp_path / "s")
    opened[1:].save(tmp_path / "s")
    assert texts(opened) == texts(named) and opened.name(0) == "first"
    SequenceSet.from_sequences(["A"]).save(tmp_path / "s")
    assert SequenceSet.open(tmp_path / "s").name(0) == ""


def test_sets_are_not_made_of_anything() -> None:
    with pytest.raises(InputError, match="from_arrays"):
        SequenceSet()
    with pytest.raises(InputError, match="two SequenceSets"):
        pysw_cl.Batch(["ACGT"], ["ACGT"])  # type: ignore[arg-type]
    coded = pysw_cl.Alphabet(["AAA", "CCC"]).sequence(["AAA"])
    with pytest.raises(SequenceError, match="plain letters are expected"):
        SequenceSet.from_sequences([coded])


def test_slices_of_one_set_against_each_other() -> None:
    """Also those whose queries lie behind their targets, and those with much between them."""
    rng = np.random.default_rng(1)
    some = ["".join(rng.choice(list("ACGT"), rng.integers(1, 40))) for _ in range(60)]
    every = SequenceSet.from_sequences(some)
    spread = np.full(1 << 16, ord("!"), np.uint8)
    at = np.sort(rng.choice(1600, 60, replace=False)) * 40
    for start, text in zip(at.tolist(), some, strict=True):
        spread[start : start + len(text)] = np.frombuffer(text.encode(), np.uint8)
    spread.flags.writeable = False
    apart = SequenceSet.of(spread, at, at + every.lengths)
    for whole in (every, apart):
        for one, other in ((slice(1, 60), slice(0, 59)), (slice(30, 60), slice(0, 30))):
            for step in (1, 3):
                first, last = (slice(x.start, x.stop, step) for x in (one, other))
                pairs = list(zip(some[first], some[last], strict=True))
                wanted = pysw_cl.align_many(pairs, output="path")
                found = pysw_cl.align_many(pysw_cl.Batch(whole[first], whole[last]), output="path")
                assert all((found[name] == wanted[name]).all() for name in ("score", "cigar"))


def _fasta(folder: Path) -> Path:
    path = folder / "some.fa"
    path.write_text(">first one\nACGT\n>zweite\nGGA\nTT\n")
    return path


def test_two_sets_are_a_batch(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    pairs = [
        tuple("".join(rng.choice(list("ACGT"), rng.integers(1, 90))) for _ in range(2))
        for _ in range(300)
    ]
    queries, targets = (SequenceSet.from_sequences(one) for one in zip(*pairs, strict=True))
    queries.save(tmp_path / "q")
    wanted = pysw_cl.align_many(pairs, output="path")
    for batch, some in (
        (pysw_cl.Batch(queries, targets), wanted),
        (pysw_cl.Batch(SequenceSet.open(tmp_path / "q"), targets), wanted),
        (pysw_cl.Batch(queries[50:], targets[50:]), wanted[50:]),
        (pickle.loads(pickle.dumps(pysw_cl.Batch(queries[::3], targets[::3]))), wanted[::3]),
    ):
        found = pysw_cl.align_many(batch, output="path")
        assert all((found[name] == some[name]).all() for name in ("score", "cigar"))
    with pytest.raises(InputError, match="as many of both"):
        pysw_cl.Batch(queries[1:], targets)
