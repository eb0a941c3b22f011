"""The map of a sweep."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from pysw_cl.tiles.tile import Area
from pysw_cl.tiles.tile_map import TileMap


@pytest.mark.parametrize("top", [7, 0, nan])
def test_one_tile(top: float) -> None:
    """The short way gives what the long one gives."""
    tops = {} if np.isnan(top) else {Area(0, 5, 0, 9): int(top)}
    long, short = TileMap.of((5, 9), tops, ()), TileMap.of_one((5, 9), top)
    for name in ("rows", "columns", "scores", "pruned"):
        one, other = getattr(long, name), getattr(short, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other, equal_nan=True)
    assert short.facts() == long.facts()
