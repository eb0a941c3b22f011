"""Tiles with fewer columns than a strip has lanes: lanes that have left share words, portions of
the bus and steps with lanes that have not entered yet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from aligning import needs_lanes
from contract_engines import assert_edge, assert_tile
from helpers import match_scoring, random_pair

from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.plan import FORMS
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.tiles.edges import Border
from pysw_cl.tiles.tile import TileJob

#: T stays what the device asks for where lanes are those of a warp.
LANES: dict[str, dict[str, Any]] = {
    "packed": {"alpha": 4, "chunk": 64},
    "warp32": {"alpha": 4, "chunk": 64},
    "vector": {"T": 16, "alpha": 3, "chunk": 20},
    "vector32": {"T": 8, "alpha": 2, "chunk": 10},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lanes", LANES)
def test_thin_tiles_of_a_matrix(lanes: str, form: str) -> None:
    """From the border of a global matrix one gap leads through all strips along the last column,
    so that an F that is wrong by one anywhere shows in the bottom edge."""
    needs_lanes(lanes)
    runtime = get_runtime("auto")
    plan = make_plan(runtime, {"lanes": lanes, "form": form, "B": 3, **LANES[lanes]})
    engine, reference = WavefrontEngine(runtime, plan), ReferenceEngine()
    rng = np.random.default_rng(14)
    strip = plan.T * plan.alpha
    for turn in range(60):
        widths = (1, 2, plan.T // 2, plan.T - 1, plan.T, plan.T + 1)
        m, n = int(rng.integers(1, 9 * strip)), widths[turn % len(widths)]
        match, mismatch = int(rng.integers(1, 7)), -int(rng.integers(1, 7))
        opening, extension = int(rng.integers(0, 19)), int(rng.integers(1, 6))
        scoring = match_scoring(match, mismatch, opening, extension, "ACG")
        local = turn % 5 == 4
        top, left = (Border(local, opening, extension).read(0, length) for length in (n, m))
        rows = tuple(range(strip, m, 3 * strip)) if turn % 3 == 0 else ()
        columns = (1, n - 1) if turn % 4 == 1 and n > 2 else ()
        job = TileJob(
            *random_pair(rng, 3, m, n), scoring, 0 if local else None, 0, top, left,
            best=local, rows=rows, columns=columns,
        )  # fmt: skip
        found, wanted = engine.tile(job), reference.tile(job)
        assert_tile(found, wanted, opening)
        for row, cells in wanted.rows.items():
            assert_edge(found.rows[row], cells, opening)
        for column, cells in wanted.columns.items():
            assert_edge(found.columns[column], cells, opening)


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("lanes", ["vector", "packed"])
def test_every_row_may_be_the_last_one(lanes: str, matrix: bool) -> None:
    """The bottom edge leaves the last strip at any lane and row, in blocks with masked lanes at
    both ends and without in between."""
    needs_lanes(lanes)
    runtime = get_runtime("auto")
    plan = make_plan(runtime, {"lanes": lanes, "B": 2, **LANES[lanes]})
    engine, reference = WavefrontEngine(runtime, plan), ReferenceEngine()
    rng = np.random.default_rng(15)
    scoring = make_scoring("BLOSUM62") if matrix else match_scoring(2, -3, 5, 2, "ACG")
    strip, opening, extension = plan.T * plan.alpha, scoring.gap_open, scoring.gap_extend
    for m in (*range(1, strip + 2), 2 * strip - 1, 3 * strip - plan.alpha):
        n = 2 * plan.T + 3 * plan.chunk + m % 7
        top, left = (Border(m % 3 == 0, opening, extension).read(0, k) for k in (n, m))
        if m % 3 == 1:  # a target that is free at its start
            top = Border(True, opening, extension).read(0, n)
        job = TileJob(
            *random_pair(rng, 20 if matrix else 3, m, n), scoring, None if m % 3 else 0, 0, top,
            left, best=not m % 3,
        )  # fmt: skip
        found, wanted = engine.tile(job), reference.tile(job)
        assert_tile(found, wanted, opening)
