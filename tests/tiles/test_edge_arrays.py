"""Edges that are written in segments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.tiles.edges import CopiedEdge, Edge, EdgeArray


@pytest.mark.parametrize("prepared", [False, True])
def test_cells_that_were_not_written_are_unreachable(prepared: bool) -> None:
    array, cells = EdgeArray(12), np.arange(24, dtype=np.int32).reshape(2, 12)
    with ThreadPoolExecutor(1) as thread:
        if prepared:
            array.prepare(thread)
        array.write(2, Edge(*cells[:, :3]))
        array.write(7, Edge(*cells[:, 4:9]))
        array.prepare(thread)  # of one that has its arrays
    wanted = np.full((2, 12), UNREACHABLE, np.int32)
    wanted[:, 2:5], wanted[:, 7:12] = cells[:, :3], cells[:, 4:9]
    found = array.read(0, 12)
    np.testing.assert_array_equal([found.h, found.x], wanted)


def test_a_whole_edge_that_is_written_again() -> None:
    """The arrays of whoever wrote it first stay as they are, also where others were prepared."""
    array, whole = EdgeArray(5), Edge(*np.zeros((2, 5), np.int32))
    with ThreadPoolExecutor(1) as thread:
        array.prepare(thread)
        array.write(0, whole)
        array.prepare(thread)
        array.write(3, Edge(*np.ones((2, 2), np.int32)))
    assert array.read(0, 5).h.tolist() == [0, 0, 0, 1, 1] and not whole.h.any()


def test_memory_that_is_used_again() -> None:
    room = np.zeros((2, 4), np.int32)
    array, edge = EdgeArray(4), CopiedEdge(*room)
    array.write(0, edge)
    read = edge.read(1, 3)
    room[:] = 7
    assert not array.read(0, 4).h.any() and not read.h.any() and edge.h.all()
