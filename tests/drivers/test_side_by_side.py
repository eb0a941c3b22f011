"""Paths of pairs that are tiles of one launch are those of pairs that are aligned alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import device_has, spy
from speculating import every_plan, pairs, plan_of

import pysw_cl
from pysw_cl.engines.wavefront.tile_batch import WavefrontTileBatch
from pysw_cl.errors import SequenceError
from pysw_cl.sequences.sequence import reverse_complement

KINDS = ["similar", "inside", "long gap", "rotated", "few letters", "repeats", "unrelated"]
SCORINGS: list[dict[str, Any]] = [
    {"sub_score": (1, -3), "gap_cost": (3, 2)},
    {"sub_score": (2, -1), "gap_cost": 1},
    {"sub_score": (0.5, -0.5), "gap_cost": (5, 0.5)},
]
ALONE: dict[str, Any] = {"pairs.alone_cells": 0, "pairs.gpu_lane_cells": 1}
ALONE |= {"pairs.gpu_mates": 1 << 20, "pairs.cpu_mates": 1 << 20}
#: No pair is a tile of a launch of several.
NONE = {"pairs.tile_longest": 0}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tiles of each launch."""
    device_has(monkeypatch, speculative=True)
    found: list[int] = []
    spy(monkeypatch, WavefrontTileBatch, "paths", lambda _, parts: found.append(len(parts)))
    return found


def drawn(rng: np.random.Generator, count: int) -> list[tuple[str, str]]:
    lengths = rng.integers(1, 400, count)
    return [
        pairs(KINDS[k % len(KINDS)], rng, int(length) + 301 * (KINDS[k % len(KINDS)] == "inside"))
        if length >= 100
        else ("".join(rng.choice([*"ACGT"], length)), "".join(rng.choice([*"ACGT"], 60)))
        for k, length in enumerate(lengths)
    ]


@every_plan
@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("strand", ["plus", "minus", "both"])
def test_paths_are_those_of_pairs_alone(
    lanes: str, scoring: dict[str, Any], strand: str, parts: list[int]
) -> None:
    plan, rng = {**plan_of(lanes), **ALONE}, np.random.default_rng(3)
    some = drawn(rng, 24)
    if strand == "both":  # the scores of both strands are found together
        plan = {**plan_of(lanes), "pairs.group_moves": 1000}
        some[::3] = [(reverse_complement(a), b) for a, b in some[::3]]
    for output in ("path", "matches"):
        asked: dict[str, Any] = {"output": output, "strand": strand, **scoring}
        found = pysw_cl.align_many(some, device="auto", plan=plan, **asked)
        before = sum(parts)
        wanted = pysw_cl.align_many(some, device="auto", plan=plan | NONE, **asked)
        assert found.tolist() == wanted.tolist()
    assert before > 24


@every_plan
def test_limits_of_memory_and_size(lanes: str, parts: list[int]) -> None:
    plan, rng = {**plan_of(lanes), **ALONE}, np.random.default_rng(5)
    some = drawn(rng, 12)
    plan |= {"pairs.gpu_moves": 20_000, "pairs.moves_share": 0.0, "pairs.tile_longest": 350}
    found = pysw_cl.align_many(some, output="path", device="auto", plan=plan)
    wanted = pysw_cl.align_many(some, output="path", device="auto", plan=plan | NONE)
    assert found.tolist() == wanted.tolist()
    assert len(parts) > 1 and sum(parts) < 12


@every_plan
@pytest.mark.parametrize("strand", ["plus", "both"])
def test_the_pair_of_an_error_is_named(lanes: str, strand: Any, parts: list[int]) -> None:
    plan, some = {**plan_of(lanes), **ALONE}, [("ACGTACGT", "ACGTACGT")] * 3
    for wrong in (("ACG!", "ACGT"), ("ACGT", "AC!T")):
        asked: dict[str, Any] = {"output": "path", "plan": plan, "strand": strand}
        with pytest.raises(SequenceError, match=r"^pair 3: letter '!'"):
            pysw_cl.align_many([*some, wrong, *some], **asked)


@every_plan
def test_search(lanes: str, parts: list[int]) -> None:
    rng = np.random.default_rng(7)
    some = ["".join(rng.choice([*"ARNDCQEGHILKMFPSTWYV"], n)) for n in (90, 300, 41, 500, 120)]
    queries = [some[1][20:], some[3][:200] + some[0]]
    asked: dict[str, Any] = {"output": "path", "evalues": "none"}
    plan = {**plan_of(lanes), **ALONE}
    found = list(pysw_cl.search(queries, some, device="auto", plan=plan, **asked))
    wanted = list(pysw_cl.search(queries, some, device="auto", plan=plan | NONE, **asked))
    assert [[(h.score, h.cigar, h.number) for h in hits] for hits in found] == [
        [(h.score, h.cigar, h.number) for h in hits] for hits in wanted
    ]
    assert parts
