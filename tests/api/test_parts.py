"""``align_parts``: the rows of ``align_many``, from an iterator that is not read ahead."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.api.parts import DonePart, PartLimits, align_parts, alignments_of
from pysw_cl.drivers.options import ManyOptions, Resources
from pysw_cl.errors import DeviceError, InputError, PyswError, SequenceError
from pysw_cl.results.formats.columns import PLACES
from pysw_cl.sequences.sequence import Sequence

Pairs = list[tuple[str, str]]


def some_pairs(count: int, longest: int = 40) -> Pairs:
    """Random pairs; every one but the first has the query of the one before or another."""
    rng = np.random.default_rng(1)

    def text() -> str:
        return "".join(rng.choice(list("ACGT"), int(rng.integers(1, longest + 1))))

    query, pairs = text(), []
    for _ in range(count):
        query = text() if rng.random() < 0.1 else query
        pairs.append((query, text()))
    return pairs


def parts_of(pairs: Any, limits: PartLimits, **asked: Any) -> Iterator[DonePart]:
    """The parts, with default resources."""
    return align_parts(pairs, ManyOptions(**asked), Resources(), limits)


@pytest.mark.parametrize("output", ["score", "path"])
@pytest.mark.parametrize("strand", ["plus", "both"])
@pytest.mark.parametrize(
    "limits",
    [PartLimits(), PartLimits(pairs=1), PartLimits(pairs=17), PartLimits(letters=300),
     PartLimits(cells=5000)],
    ids=str,
)  # fmt: skip
def test_rows_are_those_of_align_many(limits: PartLimits, output: str, strand: str) -> None:
    pairs = some_pairs(90 if limits.pairs > 1 else 9)
    parts = list(parts_of(iter(pairs), limits, output=output, strand=strand))
    assert [pair for part in parts for pair in part.pairs] == pairs
    assert np.concatenate([part.numbers for part in parts]).tolist() == list(range(len(pairs)))
    rows = np.concatenate([part.rows for part in parts])
    assert (rows == pysw_cl.align_many(pairs, output=output, strand=strand)).all()
    for part in parts:
        assert len(part.numbers) == len(part.pairs) == len(part.rows) <= limits.pairs
        assert part.stats.total_cells >= sum(len(a) * len(b) for a, b in part.pairs)


@pytest.mark.parametrize("output", ["score", "path"])
def test_parts_with_a_least_score(output: str) -> None:
    """Numbers, pairs and rows are those of the pairs that reach it."""
    pairs = some_pairs(90)
    parts = list(parts_of(iter(pairs), PartLimits(pairs=17), output=output, min_score=7))
    rows = np.concatenate([part.rows for part in parts])
    wanted = pysw_cl.align_many(pairs, output=output, min_score=7)
    assert rows.tolist() == wanted.tolist() and 0 < len(rows) < len(pairs)
    for part in parts:
        assert part.numbers.tolist() == part.rows["pair"].tolist()
        assert part.pairs == [pairs[k] for k in part.numbers.tolist()]


def test_one_part_is_read_at_a_time() -> None:
    """The input may be endless: no pair of the next part is read before a part is given."""
    read = 0

    def endless() -> Iterator[tuple[str, str]]:
        nonlocal read
        while True:
            read += 1
            yield "ACGTACGT", "ACGTTACGT"

    for limits, most in (
        (PartLimits(pairs=25), 25),
        (PartLimits(letters=170), 10),
        (PartLimits(cells=72 * 4), 4),
    ):
        read = 0
        for count, part in enumerate(parts_of(endless(), limits), 1):
            assert read == count * most
            assert len(part.rows) == most
            if count == 4:
                break


def test_a_pair_larger_than_the_limits() -> None:
    large = ("ACGT" * 500, "ACGT" * 400)
    pairs = [("ACGT", "ACG"), large, ("AC", "ACG"), ("GT", "CGT")]
    parts = list(parts_of(pairs, PartLimits(letters=100, cells=1000)))
    assert [len(part.rows) for part in parts] == [2, 2]
    assert [row["score"] for part in parts for row in part.rows] == [3, 1600, 2, 2]


def test_nothing_to_align() -> None:
    assert list(parts_of([], PartLimits())) == []


def test_one_bad_pair_is_named_by_its_number() -> None:
    """The parts before it are given; its number is that in the whole input."""
    pairs: list[Any] = some_pairs(50)
    pairs[33] = ("ACGT", "AC!T")
    given = []
    words = r"^pair 33: letter '!' at position 3 of the target"
    with pytest.raises(SequenceError, match=words) as e:
        for part in parts_of(pairs, PartLimits(pairs=10)):
            given.append(part)
    assert e.value.pair == 33
    assert [int(part.numbers[0]) for part in given] == [0, 10, 20]
    pairs[33] = "AC"
    with pytest.raises(InputError, match=r"^pair 33 must be"):
        list(parts_of(pairs, PartLimits(pairs=10)))


def test_bad_pairs_are_left_out() -> None:
    pairs: list[Any] = some_pairs(60)
    good = list(range(60))
    for k, bad in {7: ("ACGT", ""), 8: ("A-T", "ACG"), 30: 5, 59: (b"ACG", "AC\N{BULLET}")}.items():
        pairs[k] = bad
        good.remove(k)
    pairs[41:43] = [("ACGJ", "AC"), ("ACG", "JJ")]
    good = [k for k in good if k not in (41, 42)]
    told: list[tuple[int, Any, PyswError]] = []
    parts = list(
        align_parts(
            iter(pairs),
            ManyOptions(output="path"),
            Resources(),
            PartLimits(pairs=8),
            lambda *bad: told.append(bad),
        )
    )
    assert np.concatenate([part.numbers for part in parts]).tolist() == good
    rows = np.concatenate([part.rows for part in parts])
    assert (rows == pysw_cl.align_many([pairs[k] for k in good], output="path")).all()
    assert [bad[0] for bad in told] == [7, 8, 30, 41, 42, 59]
    assert all(bad[1] is pairs[bad[0]] for bad in told)
    messages = [str(bad[2]) for bad in told]
    assert not any("pair 0" in message for message in messages)
    assert messages[0] == "the target is empty; it needs at least one letter"
    assert messages[2] == "a pair must be (query, target), not 5"


def test_a_part_of_bad_pairs_only() -> None:
    pairs = [("", "A"), ("C", ""), ("ACGT", "ACGT")]
    told: list[int] = []
    parts = align_parts(
        pairs, ManyOptions(), Resources(), PartLimits(pairs=2), lambda k, *_: told.append(k)
    )
    assert [part.numbers.tolist() for part in parts] == [[2]]
    assert told == [0, 1]


def test_other_errors_are_not_a_pair_s() -> None:
    """An error of the device or of the caller's callback ends the run."""

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(align_parts(some_pairs(5), ManyOptions(), Resources(progress=stop)))
    with pytest.raises(DeviceError, match="matches no usable device") as error:
        list(align_parts(some_pairs(5), ManyOptions(), Resources(device="no such device")))
    assert error.value.pair is None


@pytest.mark.parametrize("strand", ["plus", "both"])
@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_rows_as_alignments(output: str, strand: str) -> None:
    """What prints an alignment prints the same."""
    pairs: Pairs = [*some_pairs(25), ("AAAA", "CCC")]
    asked = {"output": output, "strand": strand, "sub_score": (1, -1.5), "gap_cost": (2, 0.5)}
    options = ManyOptions(**asked)
    parts = align_parts(pairs, options, Resources(), PartLimits(pairs=10))
    found = [one for part in parts for one in alignments_of(part, options)]
    for pair, one in zip(pairs, found, strict=True):
        other = pysw_cl.align(*pair, **asked)
        for name in ("score", "mode", "strand", *PLACES, "cigar", "matches", "columns", "identity"):
            assert getattr(one, name) == getattr(other, name), f"{name} of {pair}"
        assert type(one.score) is type(other.score)
        if output == "path":
            assert str(one) == str(other)
            assert one.rescore() == one.score


def test_the_same_objects_again_and_again() -> None:
    """Records of a file, each query with all targets: the rows of plain text."""
    texts = [text for pair in some_pairs(12) for text in pair]
    records = [
        Sequence(str(k), "", np.frombuffer(t.encode(), np.uint8)) for k, t in enumerate(texts)
    ]
    pairs = [(records[i], records[j]) for i in range(4) for j in range(len(records))]
    parts = list(parts_of(iter(pairs), PartLimits(pairs=30), output="path"))
    plain = [(texts[i], texts[j]) for i in range(4) for j in range(len(records))]
    expected = pysw_cl.align_many(plain, output="path")
    assert (np.concatenate([part.rows for part in parts]) == expected).all()


def test_what_is_no_pair_is_not_read() -> None:
    """It may have no end."""
    pairs = [("ACGT", "ACGA"), repeat("A"), ("A", "A")]
    told: list[int] = []
    parts = align_parts(
        iter(pairs), ManyOptions(), Resources(), PartLimits(), lambda k, *_: told.append(k)
    )
    assert [part.numbers.tolist() for part in parts] == [[0, 2]] and told == [1]


def test_a_part_has_a_pair_at_least() -> None:
    for limits in (PartLimits(pairs=0), PartLimits(letters=0), PartLimits(cells=0)):
        assert len(list(parts_of(some_pairs(5), limits))) == 5
