"""An edge that was packed on the device is the one that was taken, whatever it holds."""

from __future__ import annotations

import numpy as np
import pytest

from pysw_cl.engines.wavefront.compressed_edge import CELLS, CompressedEdge
from pysw_cl.errors import InternalError
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.tiles.edges import DeviceEdge, Edge

#: Most raw blocks of a short edge.
RAW_BLOCKS = 64


def real_edge(
    rng: np.random.Generator, length: int, opening: int, jumps: int = 0, lost: bool = False
) -> Edge:
    """Cells whose neighbours are as far apart as matches and gaps bring them; so many ``jumps``
    between them, and runs of unreachable cells that have drifted."""
    h = rng.integers(-1000, 1 << 20) + np.cumsum(rng.integers(-5 - opening % 20, 6, length))
    for at in rng.integers(0, length, jumps):
        h[at:] += int(rng.choice([-(1 << 29), -300, 3000, -65535, 65535, 65536, 1 << 28]))
    h = np.clip(h, -(1 << 30), (1 << 31) - 1)
    x = h - rng.integers(0, opening + 1, length)
    for _ in range(jumps):
        first, count = int(rng.integers(0, length)), int(rng.integers(1, 90))
        run = slice(first, first + count)
        h[run] = x[run] = UNREACHABLE
        if lost:
            h[run] -= rng.integers(0, 1 << 20, len(h[run]))
            x[run] += rng.integers(-(1 << 20), 1 << 20, len(x[run]))
    return Edge(h.astype(np.int32), x.astype(np.int32))


def any_edge(rng: np.random.Generator, length: int) -> Edge:
    """Cells that hold anything, so that no block of them fits bytes."""
    low, high = -(1 << 31), (1 << 31) - 1
    return Edge(*rng.integers(low, high, (2, length), np.int32, endpoint=True))


def same(found: Edge, wanted: Edge) -> None:
    np.testing.assert_array_equal(found.h, wanted.h)
    np.testing.assert_array_equal(found.x, wanted.x)


def compressed(runtime: Runtime, edge: Edge, lost: bool = False) -> CompressedEdge:
    """An edge whose cells are in a buffer, H and X at odd places; are unreachable ones ``lost``?"""
    h_at, x_at = 3, 3 + len(edge) + 7
    cells = np.full(x_at + len(edge) + 1, 99, np.int32)
    cells[h_at:][: len(edge)] = edge.h
    cells[x_at:][: len(edge)] = edge.x
    with Buffers(runtime) as buffers:
        buffer = buffers.of(cells)
        there = DeviceEdge(len(edge), buffer, h_at, x_at, lambda *_: edge.h, lost)
        return CompressedEdge(runtime, there)


@pytest.mark.parametrize("lost", [False, True])
def test_an_edge_comes_back_as_it_was(lost: bool) -> None:
    """Whole, in parts, some of its H, and in another buffer."""
    runtime, rng = get_runtime("auto"), np.random.default_rng(5 + lost)
    for case in range(100):
        length = int(rng.choice([1, 15, 16, 17, 33, int(rng.integers(1, 5001))]))
        opening = int(rng.choice([0, 1, 11, 200, 255]))
        if case % 10 == 9:
            length, opening = min(length, RAW_BLOCKS * CELLS), 300  # what bytes do not hold
        edge = real_edge(rng, length, opening, int(rng.integers(0, 7)), lost)
        packed = compressed(runtime, edge, lost)
        wanted = edge.restored() if lost else edge
        assert len(packed) == length
        same(packed.read(0, length), wanted)
        for _ in range(3):
            start, stop = sorted(int(k) for k in rng.integers(0, length + 1, 2))
            same(packed.read(start, stop), wanted.read(start, stop))
            step = int(rng.choice([1, 2, 8, 13, 16, 6000]))
            found = packed.read_h(start, stop, step)
            np.testing.assert_array_equal(found, wanted.h[start:stop:step])
        room, (h_at, x_at) = 2 * length + 20, (5, 5 + stop - start + 4)
        with Buffers(runtime) as buffers:
            to = buffers.of(np.full(room, 7, np.int32))
            packed.give(start, stop - start, to, h_at, x_at)
            cells = np.full(room, 7, np.int32)
            cells[h_at:][: stop - start] = wanted.h[start:stop]
            cells[x_at:][: stop - start] = wanted.x[start:stop]
            np.testing.assert_array_equal(buffers.read(to, room), cells)


def test_a_long_edge_takes_little_memory() -> None:
    runtime, rng = get_runtime("auto"), np.random.default_rng(1)
    edge = real_edge(rng, 100_003, 11, 100)
    packed = compressed(runtime, edge)
    same(packed.read(0, len(edge)), edge)
    np.testing.assert_array_equal(packed.read_h(0, len(edge), 8), edge.h[::8])
    assert packed.bytes == packed.buffer.size
    assert packed.bytes / len(edge) < 3.6


def test_more_than_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes to the host does so a piece at a time."""
    monkeypatch.setattr("pysw_cl.engines.wavefront.compressed_edge.PIECE", 64)
    runtime, rng = get_runtime("auto"), np.random.default_rng(2)
    for length in (63, 64, 65, 1000):
        edge = real_edge(rng, length, 11, 2)
        same(compressed(runtime, edge).read(0, length), edge)


def test_bytes_at_their_limits() -> None:
    """Blocks that just fit and that just do not; bases as low as they may be."""
    runtime = get_runtime("auto")
    low = -(1 << 31)
    most = (1 << 16) - 1
    ups = [(0, 0), (most, 255), (most + 1, 0), (0, 256), (0, -1), (most, 256)]
    bases = [0, -128, UNREACHABLE, (1 << 31) - 2 - most, low, low + (1 << 27) - 1, low + (1 << 27)]
    h = np.repeat(np.array([base for base in bases for _ in ups], np.int64), CELLS)
    x = h.copy()
    for k, (up, down) in enumerate(ups * len(bases)):
        h[k * CELLS + k % CELLS] += up
        x[k * CELLS + k % CELLS] = h[k * CELLS + k % CELLS] - down
    edge = Edge(h.astype(np.int32), x.astype(np.int32))  # an X may wrap around
    same(compressed(runtime, edge).read(0, len(edge)), edge)


def test_too_many_blocks_that_do_not_fit() -> None:
    """One more than there is room for makes it useless."""
    runtime, rng = get_runtime("auto"), np.random.default_rng(3)
    full, rest = any_edge(rng, RAW_BLOCKS * CELLS), Edge(*np.zeros((2, 40 * CELLS), np.int32))
    packed = compressed(runtime, full.joined(rest))
    assert packed.fits
    same(packed.read(0, len(packed)), full.joined(rest))
    assert not compressed(runtime, full.joined(any_edge(rng, CELLS)).joined(rest)).fits
    assert not compressed(runtime, any_edge(rng, len(packed))).fits


def test_single_cells() -> None:
    """H of one cell, in groups of both kinds."""
    runtime, rng = get_runtime("auto"), np.random.default_rng(4)
    edge = any_edge(rng, 3 * CELLS).joined(real_edge(rng, 100, 11, 1))
    packed = compressed(runtime, edge)
    assert [packed.h_at(k) for k in range(len(edge))] == edge.h.tolist()


def test_cells_that_are_not_there() -> None:
    packed = compressed(get_runtime("auto"), Edge(*np.zeros((2, 64), np.int32)))
    assert len(packed.read(0, 0)) == len(packed.read_h(0, 0)) == 0
    for start, stop in ((0, 65), (-1, 3), (64, 65)):
        with pytest.raises(InternalError):
            packed.read(start, stop)
    assert packed.read_h(0, 64, 63).tolist() == [0, 0]
