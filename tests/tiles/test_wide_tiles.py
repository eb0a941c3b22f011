"""Pairs too long for one tile, where only its sides are a limit: rows of wide tiles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from helpers import mutated

import pysw_cl
from pysw_cl.planning.geometry import tile_shape

SIDE, CELLS = 1 << 23, 1 << 46


def test_shapes() -> None:
    assert tile_shape(5_000_000, 5_000_000, CELLS, 2_534_400) == (5_000_000, 5_000_000)
    assert tile_shape(33_000_000, 47_000_000, CELLS, 2_534_400) == (2_534_400, 27_765_445)
    assert tile_shape(1000, 250_000_000, CELLS, 2_534_400) == (1000, SIDE)
    assert tile_shape(33_000_000, 47_000_000, CELLS // 4, 2048) == (SIDE // 2, SIDE // 2)


@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.parametrize("length", [4096 + 100, 5000])
def test_results_are_those_of_any_tiles(mode: str, length: int) -> None:
    """Whole tiles and a small rest, or even ones; rows and columns for the path inside them."""
    rng = np.random.default_rng(length)
    codes = rng.integers(0, 4, length).astype(np.uint8)
    relative = np.concatenate([codes[2000:], mutated(rng, codes, length, 4)])
    a, b = (np.frombuffer(b"ACGT", np.uint8)[side] for side in (codes, relative))
    how = {"mode": mode, "max_cost": None, "prune": False}
    right = pysw_cl.align(a.tobytes(), b.tobytes(), **how)
    seen = []
    plan = {"B": 2, "T": 64, "alpha": 16, "tile_cells": 1 << 23, "sweep.longest_side": 512}
    progress = {"progress": lambda done, total: seen.append(done)}
    found = pysw_cl.align(a.tobytes(), b.tobytes(), **how, plan=plan, **progress)
    assert (found.score, found.cigar) == (right.score, right.cigar)
    assert (found.query_start, found.target_start) == (right.query_start, right.target_start)
    tiles = [two - one for one, two in pairwise(seen) if two > one]
    assert 2048 * (len(b) // 2) in tiles
