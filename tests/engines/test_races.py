"""Many small tiles by several groups at once: what depends on who is first shows in some."""

from __future__ import annotations

import numpy as np
import pytest
from aligning import needs_lanes
from helpers import match_scoring, mutated, random_codes

from pysw_cl.engines.plans import make_plan
from pysw_cl.engines.reference import ReferenceEngine
from pysw_cl.engines.wavefront.engine import WavefrontEngine
from pysw_cl.opencl.device import get_runtime
from pysw_cl.tiles.edges import Border
from pysw_cl.tiles.tile import TileJob

TILES = 250


@pytest.mark.parametrize("lanes", ["vector32", "scalar32"])
@pytest.mark.parametrize(("form", "B", "chunk"), [("ticketed", 3, 5), ("two-phase", 3, 1)])
def test_groups_in_any_order(lanes: str, form: str, B: int, chunk: int) -> None:
    needs_lanes(lanes)
    runtime = get_runtime("auto")
    # (a compiler takes three times as long for four work-items, most in one launch)
    T = 2 if (lanes, form) == ("scalar32", "ticketed") else 4
    plan = make_plan(
        runtime, {"lanes": lanes, "form": form, "T": T, "alpha": 2, "B": B, "chunk": chunk}
    )
    engine, reference = WavefrontEngine(runtime, plan), ReferenceEngine()
    scoring = match_scoring(2, -1, 2, 1)
    rng = np.random.default_rng(7)
    for turn in range(TILES):
        query = random_codes(rng, int(rng.integers(60, 160)), 4)
        target = mutated(rng, query, int(rng.integers(60, 160)), 4)
        floor = (None, 0)[turn % 2]
        border = Border(floor == 0, scoring.gap_open, scoring.gap_extend)
        edges = border.read(0, len(target)), border.read(0, len(query))
        job = TileJob(query, target, scoring, floor, 0, *edges, best=True)
        wanted, found = reference.tile(job), engine.tile(job)
        assert found.hits == wanted.hits
        assert wanted.bottom is not None
        assert found.bottom is not None
        np.testing.assert_array_equal(found.bottom.h, wanted.bottom.h)
        np.testing.assert_array_equal(found.right.h, wanted.right.h)
