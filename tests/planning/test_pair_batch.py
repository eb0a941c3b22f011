"""What a pair batch takes on a device is the sum of its execution's buffers."""

from __future__ import annotations

import numpy as np
import pytest

from pysw_cl.engines.batch.engine import BatchEngine
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.pair_batch import WANTS, Groups
from pysw_cl.scoring.scoring import Scoring, make_scoring

SCORINGS = make_scoring((2, -3), (4, 1)), make_scoring("BLOSUM62", (10, 1))


@pytest.mark.parametrize("how", WANTS)
@pytest.mark.parametrize("local", [True, False])
def test_buffers_are_what_is_allocated(how: str, local: bool) -> None:
    if how == "starts" and not local:
        pytest.skip("only local paths have starts")
    number = 2 * sorted(WANTS).index(how) + local  # each has other widths and scores
    widths = LANE_SETS[get_runtime("auto").info.lanes].pairs.widths
    rng, scoring = np.random.default_rng(number), SCORINGS[number // 2 % 2]
    _check(rng, scoring.clamped(), local, how, widths[number % len(widths)])


def _check(rng: np.random.Generator, scoring: Scoring, local: bool, how: str, width: int) -> None:
    runtime = get_runtime("auto")
    engine = BatchEngine(runtime, runtime.info.lanes, scoring, local, 0)
    lengths = rng.integers(1, 60, (int(rng.integers(1, 300)), 2))
    letters = rng.choice(list(b"ACGT"), int(lengths.sum())).astype(np.uint8)
    starts = (lengths.cumsum() - lengths.ravel()).reshape(-1, 2)
    pairs = np.stack([starts, lengths], 2).reshape(-1, 4).astype(np.int32)
    groups = Groups(pairs, engine.lanes.pairs(width), engine.lanes.columns(width))
    tops = how == "ends" and bool(rng.integers(2))
    execution = engine.execution(groups, width, how, tops)
    batch = engine.start(letters, pairs, execution)
    batch.finish(lambda words: np.empty(words, np.uint32))
    assert engine.peak_bytes == sum(execution.buffers.values()) + len(letters)
    engine.close()
