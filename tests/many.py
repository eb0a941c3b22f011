"""``pysw_cl.align_many`` as its tests use it: batches of random pairs, and one check of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from aligning import sub_score
from helpers import Case, FreeEnds, decode, random_pair, read_moves
from tuned import tuned
from whole_reference import ReferenceAlignment, align_reference

from pysw_cl.api.many import align_many_with
from pysw_cl.drivers.options import FIELDS, ManyOptions, Resources
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.lane_sets import LANE_SETS, PACKED_ITEMS
from pysw_cl.results.stats import Stats
from pysw_cl.scoring.scoring import Scoring, made_of

OUTPUTS = list(FIELDS)
#: Work-items with two pairs each, as GPUs have them, with plain 32-bit lanes for all else.
PACKED = "packed pairs"
#: Lanes of CPU vectors of all widths and of 32 bits, and work-items.
LANES = ["vector", "vector32", "scalar32", PACKED]
Pairs = list[tuple[str, str]]
#: What the reference engine found, by the letters, the scoring, the mode and the free ends.
_known: dict[tuple[Any, ...], dict[str, Any]] = {}


def align_many_stats(pairs: Any, **given: Any) -> tuple[Any, Stats]:
    """`align_many`, and what it cost."""
    return align_many_with(pairs, made_of(ManyOptions, given), made_of(Resources, given))


def skip_lanes(lanes: str) -> None:
    """Skip a test of lanes that the device at hand does not run."""
    runtime = get_runtime("auto")
    if lanes.startswith("vector") and runtime.info.kind != "cpu":
        pytest.skip(f"{lanes} lanes are for CPUs, and {runtime.info.name} is none")
    if lanes in runtime.traits.refused_lanes:
        pytest.skip(f"{lanes} lanes: {runtime.facts.why['refused_lanes']}")


@contextmanager
def plan_of(lanes: str) -> Iterator[dict[str, Any]]:
    """A plan with these lanes.  Pairs that are aligned alone have few work-items of few rows, for
    the compiler's sake."""
    few = {"T": 2, "alpha": 2}
    if lanes != PACKED:
        yield {"lanes": lanes, **(few if lanes == "scalar32" else {})}
        return
    plain = LANE_SETS["scalar32"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LANE_SETS, "scalar32", replace(plain, pairs=PACKED_ITEMS))
        yield {"lanes": "scalar32", **few}


def random_pairs(
    rng: np.random.Generator, scoring: Scoring, count: int, longest: int
) -> list[Case]:
    """Related, repetitive and unrelated pairs with lengths from 1 to ``longest``."""
    size = len(scoring.letters)
    lengths = rng.integers(1, longest + 1, (count, 2)).tolist()
    return [Case(*random_pair(rng, size, m, n), scoring) for m, n in lengths]


def as_text(cases: list[Case]) -> Pairs:
    """Cases as letters."""
    return [(decode(c.query, c.scoring), decode(c.target, c.scoring)) for c in cases]


def options(scoring: Scoring) -> dict[str, Any]:
    """A scoring as ``align_many`` takes it."""
    affine = (scoring.gap_open, scoring.gap_extend)
    gaps = affine if scoring.gap_open else scoring.gap_extend
    return {"sub_score": sub_score(scoring), "gap_cost": gaps, "allow_odd_scoring": True}


def row_of(found: ReferenceAlignment, pair: tuple[str, str], scoring: Scoring) -> dict[str, Any]:
    """All that ``align_many`` may give for a pair."""
    query, target = (np.frombuffer(text.encode(), np.uint8) for text in pair)
    letters = (
        query[found.query_start : found.query_end],
        target[found.target_start : found.target_end],
    )
    runs, _ = read_moves(found.moves, *letters, scoring)
    return {
        "score": found.score,
        "query_start": found.query_start,
        "query_end": found.query_end,
        "target_start": found.target_start,
        "target_end": found.target_end,
        "matches": runs.count("="),
        "columns": len(found.moves),
        "cigar": runs.cigar,
    }


def expected_rows(
    cases: list[Case], pairs: Pairs, mode: str, free_ends: FreeEnds
) -> list[dict[str, Any]]:
    """What the reference engine finds of each pair, which other lanes are compared with, too."""
    scoring = cases[0].scoring
    gaps = scoring.gap_open, scoring.gap_extend
    how = sha256(scoring.matrix.tobytes()).digest(), scoring.letters, gaps, mode, free_ends
    for case, pair in zip(cases, pairs, strict=True):
        if (*pair, how) not in _known:
            found = align_reference(case.query, case.target, scoring, mode, free_ends)
            _known[(*pair, how)] = row_of(found, pair, scoring)
    return [_known[(*pair, how)] for pair in pairs]


def outputs_of(lanes: str, scoring: Scoring) -> list[str]:
    """The outputs that are asked for with these lanes: all of them in a CPU's usual lanes, and in
    all lanes where scores are by match and mismatch with affine gaps.  Other scores and gaps have
    those that tell the most: each output builds a kernel, and this does not depend on the other."""
    by_comparison = scoring.source.compared() is not None and len(scoring.letters) <= 4
    usual = by_comparison and scoring.gap_open > 0
    return OUTPUTS if usual or lanes == "vector" else ["matches", "path"]


def check(
    cases: list[Case],
    mode: str,
    free_ends: FreeEnds,
    lanes: str,
    outputs: list[str] | None = None,
) -> list[Stats]:
    """Every output of every pair is the reference's, letter for letter; matches both as they are
    counted along stored moves and forward.  ``outputs`` None: those of :func:`outputs_of`."""
    scoring, pairs = cases[0].scoring, as_text(cases)
    if outputs is None:
        outputs = outputs_of(lanes, scoring)
    expected = expected_rows(cases, pairs, mode, free_ends)
    stats = []
    for output, forward in [(output, False) for output in outputs] + [("matches", True)]:
        if output not in outputs:
            continue
        counted = {"pairs.counted_cells": 0 if forward else 1 << 20}
        with tuned(counted), plan_of(lanes) as plan:
            rows, cost = align_many_stats(
                pairs,
                mode=mode,
                free_ends=free_ends,
                output=output,
                plan=plan,
                **options(scoring),
            )
        assert rows.dtype.names == FIELDS[output]
        for k, row in enumerate(rows):
            for name in FIELDS[output]:
                assert row[name] == expected[k][name], (
                    f"{name} {row[name]} instead of {expected[k][name]}: {output} {mode} "
                    f"{free_ends} {lanes} pair {k} of {len(pairs)} {pairs[k]} "
                    f"gaps={scoring.gap_open},{scoring.gap_extend} "
                    f"matrix={scoring.matrix.tolist()}"
                )
        stats.append(cost)
    return stats
