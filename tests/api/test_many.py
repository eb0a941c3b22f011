"""``align_many``: every pair has the result of ``align``, whatever it is batched with."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from aligning import NO_FREE_ENDS
from helpers import ALL_FREE_ENDS, match_scoring, random_scoring
from many import LANES, OUTPUTS, align_many_stats, as_text, check, options, random_pairs, skip_lanes
from tuned import tuned

import pysw_cl
from pysw_cl.drivers import batch, batch_layout
from pysw_cl.drivers.options import FIELDS
from pysw_cl.drivers.prepared import Batch
from pysw_cl.errors import InputError, RangeError, ScoringError, SequenceError
from pysw_cl.folders import kernel_source
from pysw_cl.opencl.device import get_runtime
from pysw_cl.sequences.sequence import Sequence

SIZES = [(1, 60), (5, 30), (40, 12), (100, 30), (70, 60)]


def try_random(seed: list[int], lanes: str, count: int, longest: int) -> None:
    """One random scoring in both modes, with random free ends."""
    rng = np.random.default_rng(seed)
    scoring = random_scoring(rng, int(rng.choice([2, 3, 4, 4, 4, 20, 24])))
    cases = random_pairs(rng, scoring, count, longest)
    check(cases, "local", NO_FREE_ENDS, lanes)
    check(cases, "global", ALL_FREE_ENDS[rng.integers(16)], lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_random_pairs(lanes: str, size: tuple[int, int]) -> None:
    skip_lanes(lanes)
    for seed in range(6):
        try_random([seed, *size], lanes, *size)


@pytest.mark.long
@pytest.mark.parametrize("lanes", LANES)
def test_many_random_pairs(lanes: str) -> None:
    skip_lanes(lanes)
    for seed in range(600):
        try_random([7, seed], lanes, 80, [3, 12, 30, 60, 120][seed % 5])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("free_ends", ALL_FREE_ENDS, ids=str)
def test_free_ends(lanes: str, free_ends: tuple[bool, bool, bool, bool]) -> None:
    skip_lanes(lanes)
    rng = np.random.default_rng(5)
    for gaps in ((2, 1), (0, 1), (3, 0), (0, 0)):
        cases = random_pairs(rng, match_scoring(2, -1, *gaps), 40, 20)
        check(cases, "global", free_ends, lanes)


@pytest.mark.parametrize("lanes", LANES)
def test_scores_of_all_signs(lanes: str) -> None:
    """Halves of 32-bit words: an addition to a negative number may carry into the other one."""
    skip_lanes(lanes)
    rng = np.random.default_rng(13)
    for match in (-3, -1, 0, 1, 3):
        for mismatch in (match - 4, match - 1, match, match + 1):
            cases = random_pairs(rng, match_scoring(match, mismatch, 3, 1), 30, 20)
            check(cases, "local", NO_FREE_ENDS, lanes)
            check(cases, "global", NO_FREE_ENDS, lanes)


@pytest.mark.parametrize("lanes", LANES)
def test_ties_of_repeats(lanes: str) -> None:
    skip_lanes(lanes)
    rng = np.random.default_rng(11)
    for gaps in ((1, 1), (0, 1), (0, 0), (4, 0)):
        scoring = match_scoring(1, -1, *gaps, letters="AC")
        cases = random_pairs(rng, scoring, 130, 25)
        check(cases, "local", NO_FREE_ENDS, lanes)


@pytest.mark.parametrize("output", OUTPUTS)
def test_same_as_align(output: str) -> None:
    """With ambiguity letters, a wildcard, lower case, U, halves, and a matrix with shared codes."""
    rng = np.random.default_rng(3)
    letters = np.array(list("ACGTUNRacgtn"))
    some = [["".join(rng.choice(letters, k)) for k in rng.integers(1, 40, 2)] for _ in range(70)]
    proteins = np.array(list("ARNDBZX*JUO"))
    others = [["".join(rng.choice(proteins, k)) for k in (17, 25)] for _ in range(70)]
    cases: list[tuple[Any, dict[str, Any]]] = [
        (some, {}),
        (some, {"wildcard": "N", "mode": "global"}),
        (some, {"sub_score": (1, 0.5), "gap_cost": (2.5, 0.5)}),
        (some, {"sub_score": (-1, -1), "mode": "global", "free_ends": (True, False)}),
        (some, {"sub_score": (0, -1), "gap_cost": 0}),
        (others, {"sub_score": "BLOSUM62", "gap_cost": (10, 1)}),
        (others, {"sub_score": "PAM250", "gap_cost": (9.5, 0.5), "wildcard": "X"}),
    ]
    for pairs, given in cases:
        given["allow_odd_scoring"] = True
        rows = pysw_cl.align_many(pairs, output=output, **given)
        for row, (a, b) in zip(rows, pairs, strict=True):
            one = pysw_cl.align(a, b, plan={"engine": "reference"}, **given)
            for name in FIELDS[output]:
                assert row[name] == getattr(one, name), (given, name, a, b)
        alone = pysw_cl.align_many(pairs[:5], output=output, plan={"engine": "reference"}, **given)
        assert alone.dtype == rows.dtype
        assert (alone == rows[:5]).all()


def test_dtypes() -> None:
    rows = pysw_cl.align_many([("ACGT", "ACGA")], output="path")
    assert rows.dtype.names == FIELDS["path"]
    assert rows["score"].dtype == np.int64
    assert rows["cigar"].dtype == object
    assert rows[0]["cigar"] == "3="
    halves = pysw_cl.align_many([("ACGT", "ACGA")], sub_score=(0.5, -1))
    assert halves["score"].dtype == np.float64
    assert halves["score"].tolist() == [1.5]


def test_no_pairs() -> None:
    for output in OUTPUTS:
        rows = pysw_cl.align_many([], output=output, progress=lambda done, total: None)
        assert rows.shape == (0,)
        assert rows.dtype.names == FIELDS[output]


def test_kinds_of_sequences() -> None:
    text = [("ACGTAC", "CGTA"), ("AAA", "CAAC")]
    expected = pysw_cl.align_many(text, output="path")
    kinds = [
        [tuple(s.encode() for s in pair) for pair in text],
        [[bytearray(a.encode()), b] for a, b in text],
        [(np.frombuffer(a.encode(), np.uint8), memoryview(b.encode())) for a, b in text],
        [(Sequence("x", "", np.frombuffer(a.encode(), np.uint8)), b.encode()) for a, b in text],
        np.array(text, object),
        (pair for pair in text),
    ]
    for pairs in kinds:
        assert (pysw_cl.align_many(pairs, output="path") == expected).all()  # type: ignore[arg-type]


def mixed(rng: np.random.Generator) -> tuple[list[tuple[str, str]], Any]:
    scoring = match_scoring(1, -3, 3, 2)
    return as_text(random_pairs(rng, scoring, 300, 90)), scoring


@pytest.mark.parametrize("output", OUTPUTS)
def test_cuts_do_not_matter(output: str) -> None:
    rng = np.random.default_rng(1)
    pairs, scoring = mixed(rng)
    given = {"output": output, **options(scoring)}
    expected = pysw_cl.align_many(pairs, **given)
    small = {"pairs.cpu_pairs": 37, "pairs.gpu_pairs": 37, "pairs.most_letters": 1000}
    small |= {"pairs.cpu_moves": 1 << 14, "pairs.gpu_moves": 1 << 14, "pairs.counted_cells": 3000}
    small |= {"pairs.moves_share": 0.0}
    with tuned(small):
        assert (pysw_cl.align_many(pairs, **given) == expected).all()
    order = rng.permutation(len(pairs))
    again = pysw_cl.align_many([pairs[k] for k in order], **given)
    assert (again == expected[order]).all()


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_same_sequences_again_and_again(output: str) -> None:
    """All against all: letters are laid out once, and results are those of other objects."""
    rng = np.random.default_rng(8)
    texts = ["".join(rng.choice(list("ACGT"), int(k))) for k in rng.integers(1, 90, 25)]
    texts[3] *= 9
    pairs = [(a, b) for a in texts for b in texts]
    one_by_one = [(f"{a} "[:-1], f"{b} "[:-1]) for a, b in pairs]
    expected = pysw_cl.align_many(one_by_one, output=output)
    assert (pysw_cl.align_many(pairs, output=output) == expected).all()
    with tuned({"pairs.cpu_pairs": 300, "pairs.gpu_pairs": 300, "pairs.longest": 80}):
        assert (pysw_cl.align_many(pairs, output=output) == expected).all()
    part, _, _ = next(batch_layout.parts(pairs, 10**6, 10**6, 10**6))
    assert sorted(part.text.tobytes()) == sorted("".join(texts).encode())


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("strand", ["plus", "both"])
def test_letters_that_are_joined_already(output: str, strand: str) -> None:
    rng = np.random.default_rng(9)
    pairs, _ = mixed(rng)
    halves = [half.encode() for pair in pairs for half in pair]
    bounds = np.cumsum([0, *map(len, halves)])
    joined = Batch.joined(b"".join(halves), bounds)
    assert len(joined) == len(pairs) and joined[-1:] == [tuple(halves[-2:])]
    expected = pysw_cl.align_many(pairs, output=output, strand=strand)
    assert (pysw_cl.align_many(joined, output=output, strand=strand) == expected).all()
    small = {"pairs.cpu_pairs": 37, "pairs.gpu_pairs": 37, "pairs.most_letters": 1000}
    with tuned(small | {"pairs.longest": 80}):
        assert (pysw_cl.align_many(joined, output=output, strand=strand) == expected).all()


def test_moves_of_every_compute_unit() -> None:
    """A batch of paths has a group for each compute unit, if memory allows."""
    pairs = [("ACGT" * 50, "ACGA" * 50)] * 640
    given = {"output": "path", "mode": "global"}
    with tuned({"pairs.cpu_moves": 1, "pairs.gpu_moves": 1}):
        _, many = align_many_stats(pairs, **given)
        with tuned({"pairs.cpu_moves": 1, "pairs.gpu_moves": 1, "pairs.moves_share": 0.0}):
            _, one = align_many_stats(pairs, **given)
    units = get_runtime("auto").info.compute_units
    assert units == 1 or many.launches < one.launches


@pytest.mark.parametrize("output", OUTPUTS)
def test_large_pairs_are_aligned_alone(output: str) -> None:
    rng = np.random.default_rng(2)
    pairs, scoring = mixed(rng)
    given = {"output": output, **options(scoring)}
    expected, stats = align_many_stats(pairs, **given)
    assert {kind.split("/")[0] for kind in stats.cells} == {"batch"}
    with tuned({"pairs.longest": 80}):
        long, stats = align_many_stats(pairs, **given)
    assert (long == expected).all()
    assert {kind.split("/")[0] for kind in stats.cells} - {"held", "wavefront"} == {"batch"}
    assert len(stats.cells) > 1
    with tuned({"pairs.alone_cells": 3000, "pairs.cpu_mates": 90, "pairs.gpu_mates": 90}):
        lonely, stats = align_many_stats(pairs, **given)
    assert (lonely == expected).all()
    assert {kind.split("/")[0] for kind in stats.cells} - {"held", "wavefront"} == {"batch"}
    assert len(stats.cells) > 1


def test_one_long_pair_among_short_ones() -> None:
    rng = np.random.default_rng(6)
    pairs, scoring = mixed(rng)
    long = "".join(rng.choice(list("ACGT"), 50_000))
    pairs.insert(100, (long, long[20_000:20_300]))
    rows, stats = align_many_stats(pairs, output="ends", **options(scoring))
    assert rows[100].tolist() == (300, 20_300, 300)
    assert {kind.split("/")[0] for kind in stats.cells} - {"held", "wavefront"} == {"batch"}
    assert len(stats.cells) > 1


def test_lonely() -> None:
    part = batch_layout.Part(
        np.arange(5),
        np.zeros(0, np.uint8),
        np.array([[0, m, 0, 10] for m in (100, 10, 60, 49, 300)], np.int32),
    )
    assert batch.lonely(part, 99, 2).tolist() == [False, False, False, False, True]
    assert batch.lonely(part, 99, 3).tolist() == [True, False, False, False, True]
    assert batch.lonely(part, 5000, 3).tolist() == [False] * 5


def test_large_pairs_that_fill_lanes_of_their_own_are_not_lonely() -> None:
    """A lane of a GPU sweeps so many cells while it aligns a pair alone."""
    part, _, _ = next(batch_layout.parts([(b"A" * 20, b"A" * 50)] * 5, 9, 10**6, 10**6))
    assert part.cells.tolist() == [1000] * 5
    assert batch.lonely(part, 99, 100).all()
    assert batch.lonely(part, 99, 100, 249).all()  # five pairs, each with four others
    assert not batch.lonely(part, 99, 100, 250).any()
    assert not batch.lonely(part, 99, 4, 1).any()  # the others are enough for all pairs


def test_order_keeps_every_pair() -> None:
    rng = np.random.default_rng(0)
    rows = np.zeros((1000, 4), np.int32)
    rows[:, [1, 3]] = rng.integers(1, 32_000, (1000, 2))
    part = batch_layout.Part(np.arange(1000), np.zeros(0, np.uint8), rows)
    ordered = part.in_order(16)
    assert sorted(ordered.index.tolist()) == list(range(1000))
    assert (ordered.pairs == rows[ordered.index]).all()
    groups = ordered.pairs[: 1000 // 16 * 16].reshape(-1, 16, 4)
    waste = (groups[:, :, 1].max(1) * groups[:, :, 3].max(1).astype(float)).sum() * 16
    assert waste < 1.6 * part.cells.sum()


def fails(error: type[Exception], pattern: str, pairs: Any, **given: Any) -> None:
    with pytest.raises(error, match=pattern):
        pysw_cl.align_many(pairs, **given)


def test_errors_name_the_pair() -> None:
    good = ("ACGT", "ACG")
    fails(SequenceError, "^pair 2: the query is empty", [good, good, ("", "A"), ("A", "")])
    fails(SequenceError, "^pair 1: the target is empty", [good, ("A", "")])
    fails(
        SequenceError,
        r"^pair 1: letter 'J' at position 3 of the target",
        [good, ("A", "AAJ"), ("J", "A")],
    )
    fails(SequenceError, "^pair 0: the query has the non-ASCII", [("AÄ", "A")])
    fails(SequenceError, "^pair 1: the query has the gap", [good, ("A-C", "A")])
    for odd, what in ((5, "a int"), (np.array(5), "an array of int64")):  # they have no length
        for progress in (None, lambda done, total: None):
            wrong = f"^pair 1: the target is {what}"
            fails(SequenceError, wrong, [good, ("A", odd)], progress=progress)
    fails(SequenceError, "^pair 1: the query is empty", [(b"A", "A"), (b"", "A")])
    fails(InputError, r"^pair 1 must be \(query, target\), not 'AC'", [good, "AC"])
    fails(InputError, "^pair 1 must be", [good, ("A", "C", "G")])
    fails(InputError, "^pair 0 must be", [5])
    fails(InputError, "^pair 1 must be", [good, np.array(5)])
    fails(InputError, "iterable of", "ACGT")
    fails(InputError, "iterable of", 7)
    costly = {"mode": "global", "gap_cost": (0, 1_000_000)}
    fails(RangeError, "^pair 1: a global comparison", [good, ("A" * 900, "C" * 900)], **costly)


def test_errors_of_options() -> None:
    good = [("ACGT", "ACG")]
    fails(InputError, "mode must be", good, mode="semi")
    fails(InputError, "output must be", good, output="all")
    fails(InputError, "progress must be", good, progress=3)
    fails(InputError, "free_ends takes", good, free_ends=3)
    fails(ScoringError, "wildcard", good, wildcard="Q")
    fails(InputError, "is not one of", good, plan={"lane": 3})


def test_wrong_letters_of_a_long_pair() -> None:
    with tuned({"pairs.longest": 10}):
        fails(SequenceError, "^pair 1: letter 'J'", [("A", "A"), ("A" * 20 + "J", "A")])


@pytest.mark.parametrize("engine", ["wavefront", "reference"])
def test_progress(engine: str) -> None:
    pairs, scoring = mixed(np.random.default_rng(4))
    total = sum(len(a) * len(b) for a, b in pairs)
    seen: list[tuple[int, int]] = []
    given: dict[str, Any] = {"plan": {"engine": engine}, **options(scoring)}
    with tuned({"pairs.cpu_pairs": 50, "pairs.gpu_pairs": 50, "pairs.alone_cells": 7000}):
        pysw_cl.align_many(pairs, progress=lambda *p: seen.append(p), **given)
    assert seen == sorted(seen)
    assert len(seen) > 4
    assert seen[-1] == (total, total)

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        pysw_cl.align_many(pairs, progress=stop, **given)


def test_lane_files_have_the_same_names() -> None:
    def names(file: str) -> set[str]:
        text = kernel_source(f"batch/{file}.clh")
        functions = set(re.findall(r"^INLINE [\w ]+?(\w+)\(", text, re.M))
        macros = set(re.findall(r"^#define (\w+)", text, re.M))
        return (
            functions
            | macros
            | set(re.findall(r"^typedef .*?(\w+)(?: __attribute__.*)?;", text, re.M))
        )

    inner = {"bytes_t", "words_t", "b16", "b32", "b16_anywhere", "w4", "SPLIT_LANE", "bytes_split"}
    inner |= {"zip_low", "zip_high", "zips_low", "zips_high"}
    assert names("vector") - inner == names("scalar")
    more = {"OWN_PAIR_SCORES", "PACKED_OPERATION", "packed_truth", "packed_differ", "match"}
    more |= {
        "pair_scores_of",
        "pair_score",
        "lv_of_halves",
        "lv_of_bytes",
        "lv_bits",
        "lv_from_bits",
    }
    assert names("packed") - more == names("scalar")
    for file in ("compare", "lookup", "profile", "table", "positions", "position_words"):
        needed = {"subs_row", "subs_panel", "SCORE_ARGS", "SCORE_BEGIN", "PROFILE_BYTES"}
        assert needed <= names(file)
