"""An edge that was packed on the device is the one that was taken, whatever it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from pysw_cl.engines.wavefront.compressed_edge import CELLS, PIECE, CompressedEdge
from pysw_cl.errors import InternalError
from pysw_cl.opencl.buffers import Buffers
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.scoring.precision import UNREACHABLE
from pysw_cl.tiles.edges import Border, Edge

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


class OnDevice:
    """An edge's cells in a buffer, H and X at odd places."""

    def __init__(self, buffers: Buffers, edge: Edge) -> None:
        self.h_at, self.x_at = 3, 3 + len(edge) + 7
        cells = np.full(self.x_at + len(edge) + 1, 99, np.int32)
        cells[self.h_at :][: len(edge)] = edge.h
        cells[self.x_at :][: len(edge)] = edge.x
        self.buffer = buffers.of(cells)

    def pack(
        self, packed: CompressedEdge, start: int, count: int, runtime: Runtime | None = None
    ) -> None:
        packed.take(start, self.buffer, self.h_at + start, self.x_at + start, count, runtime)


def packed_in_segments(
    rng: np.random.Generator, runtime: Runtime, edge: Edge, lost: bool, piece: int = PIECE
) -> CompressedEdge:
    """An edge that the device packed, or the host sent, a few segments at a time."""
    packed = CompressedEdge(runtime, len(edge), lost, piece)
    start, device = 0, bool(rng.integers(0, 2))
    with Buffers(runtime) as buffers:
        there = OnDevice(buffers, edge)
        while start < len(edge):
            count = min(int(rng.integers(1, len(edge) + 1)), len(edge) - start)
            if device and start + count < len(edge):
                count = -(-count // CELLS) * CELLS
                count = min(count, len(edge) - start)
            if device:
                there.pack(packed, start, count)
            else:
                packed.write(start, edge.read(start, start + count))
            start += count
        assert packed.ok
    return packed


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
        packed = packed_in_segments(rng, runtime, edge, lost)
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
    packed = packed_in_segments(rng, runtime, edge, False)
    same(packed.read(0, len(edge)), edge)
    np.testing.assert_array_equal(packed.read_h(0, len(edge), 8), edge.h[::8])
    assert packed.bytes == packed.buffer.size
    assert packed.bytes / len(edge) < 3.6


def test_more_than_one_piece() -> None:
    """What passes between host and device does so a piece at a time."""
    assert PIECE % CELLS == 0
    runtime, rng = get_runtime("auto"), np.random.default_rng(2)
    for length in (63, 64, 65, 1000):
        edge = real_edge(rng, length, 11, 2)
        same(packed_in_segments(rng, runtime, edge, False, 64).read(0, length), edge)


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
    packed = CompressedEdge(runtime, len(edge), False)
    packed.write(0, edge)
    same(packed.read(0, len(edge)), edge)


def test_too_many_blocks_that_do_not_fit() -> None:
    """One more than there is room for makes it useless until it is taken anew."""
    runtime, rng = get_runtime("auto"), np.random.default_rng(3)
    length = (RAW_BLOCKS + 40) * CELLS
    full, rest = any_edge(rng, RAW_BLOCKS * CELLS), Edge(*np.zeros((2, 40 * CELLS), np.int32))
    packed = CompressedEdge(runtime, length, False)
    packed.write(0, full)
    assert packed.ok
    packed.write(len(full), rest)
    same(packed.read(0, length), full.joined(rest))
    packed.write(0, full)
    packed.write(len(full), any_edge(rng, CELLS))
    assert not packed.ok
    for ask in (lambda: packed.read(0, 1), lambda: packed.read_h(0, 9, 2)):
        with pytest.raises(InternalError, match="no room"):
            ask()
    packed.write(0, any_edge(rng, length))
    assert not packed.ok
    zero = Border(True, 3, 1).read(0, length)
    packed.write(0, zero)
    assert packed.ok
    same(packed.read(0, length), zero)


def test_a_block_that_is_written_bit_by_bit_is_one_raw_block() -> None:
    runtime, rng = get_runtime("auto"), np.random.default_rng(4)
    edge = any_edge(rng, RAW_BLOCKS * CELLS)
    packed = CompressedEdge(runtime, len(edge), False)
    for start in range(0, len(edge), 3):
        packed.write(start, edge.read(start, min(start + 3, len(edge))))
    assert packed.ok
    same(packed.read(0, len(edge)), edge)


def test_segments_on_several_queues() -> None:
    """They follow each other, and who reads follows them."""
    first = get_runtime("auto")
    queues = [cl.CommandQueue(first.context, first.device) for _ in range(3)]
    runtimes = [first, *(Runtime(first.device, first.info, first.context, q) for q in queues)]
    rng = np.random.default_rng(6)
    for _ in range(5):
        edge = real_edge(rng, 3000, 11, 5)
        packed = CompressedEdge(first, len(edge), False)
        with Buffers(first) as buffers:
            there = OnDevice(buffers, edge)
            for k, start in enumerate(range(0, len(edge), 480)):
                count = min(480, len(edge) - start)
                there.pack(packed, start, count, runtimes[(k + 1) % len(runtimes)])
            same(packed.read(0, len(edge)), edge)
            to = buffers.empty(8 * len(edge))
            packed.give(0, len(edge), to, 0, len(edge), runtimes[2])
            queues[1].finish()
            np.testing.assert_array_equal(
                buffers.read(to, 2 * len(edge)), np.append(edge.h, edge.x)
            )


def test_cells_that_nobody_gave() -> None:
    runtime = get_runtime("auto")
    packed = CompressedEdge(runtime, 100, False)
    assert packed.ok
    assert len(packed.read(0, 0)) == len(packed.read_h(0, 0)) == 0
    zero: Any = Edge(*np.zeros((2, 64), np.int32))
    packed.write(0, zero)
    with Buffers(runtime) as buffers:
        there = OnDevice(buffers, zero)
        for start, count in ((48, 16), (80, 16), (64, 48), (8, 8)):  # twice, a gap, too many, odd
            with pytest.raises(InternalError):
                there.pack(packed, start, count)
    for start, stop in ((0, 65), (-1, 3), (64, 65)):
        with pytest.raises(InternalError):
            packed.read(start, stop)
    assert packed.read_h(0, 64, 63).tolist() == [0, 0]
    none = CompressedEdge(runtime, 0, True)
    none.write(0, Edge.unreachable(0))
    assert len(none) == len(none.read(0, 0)) == 0 and none.ok


def test_it_is_a_source_and_a_sink() -> None:
    """An array takes one as it takes an edge that was kept."""
    edge = Border(False, 5, 2).read(0, 50)
    packed = CompressedEdge(get_runtime("auto"), 50, True)
    for start in (0, 7, 20, 48):
        packed.write(start, edge.read(start, {0: 7, 7: 20, 20: 48, 48: 50}[start]))
    same(packed.read(0, 50), edge)
