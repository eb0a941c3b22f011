"""Edges that stay on the device in less than half of their size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DeviceError, InternalError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...scoring.scoring import Scoring
from ...tiles.edges import Edge, Ints, Source

#: cl/wavefront/compressed_edge.cl's: cells of a block, and 32-bit numbers before the blocks.
CELLS, HEAD = 16, 16
#: A base below `RAW` is `INT_MIN` and the number of a raw block.
INT_MIN, RAW = -(1 << 31), -(1 << 31) + (1 << 27)
#: Blocks that may be raw: this many, or one of so many if that is more.
LEAST_RAW, BLOCKS_A_RAW = 64, 32
#: Bytes of a cell, with room for raw blocks.
CELL_BYTES = 3.5
#: How far an H may be above the lowest of its block, and an X below its H.
MOST_RISE, MOST_GAP = 65535, 255
#: Work-items of a group.
GROUP = 128
#: Cells that pass between host and device at a time: 8 bytes each of memory on the device.
PIECE = 1 << 22

PACK = KernelSpec(
    "compress_edge",
    ("base.clh", "wavefront/compressed_edge.cl"),
    (
        *("compressed", "groups:int", "raw_capacity:int", "first:int", "again:int", "count:int"),
        "unreachable:int",
        *("source", "h_at:long", "x_at:long"),
    ),
)
UNPACK = KernelSpec(
    "expand_edge",
    ("base.clh", "wavefront/compressed_edge.cl"),
    (
        *("compressed", "groups:int", "first:int", "stride:int", "count:int", "gaps:int"),
        *("to", "h_at:long", "x_at:long"),
    ),
)


def holds(scoring: Scoring) -> bool:
    """Do blocks hold all that a sweep computes?  Over k steps along a row or a column H rises by at
    most k (highest + extend) + open and falls by less (`Bounds.fits16`).  Only where cells are
    unreachable or pruned may a block be raw."""
    rise = (CELLS - 1) * (max(0, scoring.highest) + scoring.gap_extend) + scoring.gap_open
    return rise <= MOST_RISE and scoring.gap_open <= MOST_GAP


class CompressedEdge(Source):
    """A run of edge cells on the device, 3.25 bytes a cell instead of 8, and a quarter of a byte
    for those that are stored as they are: blocks of 16 cells whose H are more than 65,535 apart, or
    an X more than 255 below its H.  What is read is what was taken, to the last bit.

    A sink (:meth:`write`) and a source (:meth:`read`).  Segments come in order, without gaps; one
    that starts at 0 begins anew.  They may come on any queue of the context, one after the other,
    and what is asked for comes after them.  ``lost``: unreachable cells may have drifted; they are
    unreachable cells as an edge has them from here on.

    Raises DeviceError if the device has no memory for it.
    """

    def __init__(self, runtime: Runtime, length: int, lost: bool, piece: int = PIECE) -> None:
        self.lost, self._piece = lost, piece
        self._runtime, self._length = runtime, length
        self._blocks = max(1, -(-length // CELLS))
        self._room = max(LEAST_RAW, -(-self._blocks // BLOCKS_A_RAW))
        self._shorts = HEAD + -(-self._blocks // 4) * 4  # where the 16 bits of H begin
        words = self._shorts + 3 * self._blocks * CELLS // 4 + 2 * self._room * CELLS
        self.bytes = 4 * words
        self.buffer = Buffers(runtime).offset(self.bytes)
        self._done = 0  # cells that were taken
        self._tail: Edge | None = None  # cells of a block that the host has not filled yet
        self._last: tuple[Any, Any] | None = None  # the last take's queue and event
        self._fits: bool | None = None
        for spec in (PACK, UNPACK):
            BoundKernel(runtime, spec, {})  # built now: a take must not wait

    def __len__(self) -> int:
        return self._length

    def take(
        self, start: int, buffer: Any, h_at: int, x_at: int, count: int,
        runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        """Enqueue the packing of ``count`` cells that follow the first ``start`` ones, a multiple
        of 16; their H and X lie in ``buffer`` from places (of int32) ``h_at`` and ``x_at`` on."""
        if start % CELLS:
            raise InternalError(f"a packed edge takes no cells from {start} on")
        self._tail = None
        self._take(start, start, buffer, h_at, x_at, count, runtime or self._runtime)

    def _take(
        self, start: int, begin: int, buffer: Any, h_at: int, x_at: int, count: int,
        runtime: Runtime,
    ) -> None:  # fmt: skip
        """Pack cells from ``begin`` on, where a block begins, of which those from ``start`` on are
        new."""
        import pyopencl as cl

        stop = begin + count
        if start not in (0, self._done) or stop > self._length:
            raise InternalError(
                f"a packed edge of {self._length} cells that has {self._done} took {start}..{stop}"
            )
        self._follow(runtime)
        self._done, self._fits = stop, None
        try:
            if start == 0:
                zero = np.zeros(1, np.int32)
                cl.enqueue_fill_buffer(runtime.queue, self.buffer, zero, 0, zero.nbytes)
            if begin == stop:
                return
        except cl.Error as error:
            raise DeviceError(f"{runtime.info.name} failed: {error}") from None
        kernel = BoundKernel(runtime, PACK, {})
        kernel.bind(compressed=self.buffer, groups=self._blocks, raw_capacity=self._room)
        kernel.bind(unreachable=self.lost)
        kernel.bind(first=begin // CELLS, again=begin < start, count=count)
        kernel.bind(source=buffer, h_at=h_at, x_at=x_at)
        groups = -(-count // (CELLS * GROUP))
        self._last = runtime.queue, kernel.launch(groups, GROUP)

    def _follow(self, runtime: Runtime) -> None:
        """What is enqueued from here on comes after the last take, whatever queue that was on."""
        import pyopencl as cl

        if self._last is None or self._last[0] == runtime.queue:
            return
        try:
            self._last[0].flush()
            cl.enqueue_barrier(runtime.queue, wait_for=[self._last[1]])
        except cl.Error as error:
            raise DeviceError(f"{runtime.info.name} failed: {error}") from None

    def write(self, start: int, edge: Edge) -> None:
        """Pack the cells that follow the first ``start`` ones, whatever number that is."""
        if start % CELLS:
            if self._tail is None or start != self._done:
                raise InternalError(f"a packed edge has no cells of the host's before {start}")
            edge = self._tail.joined(edge)
        begin, count = start - start % CELLS, len(edge)
        for at in range(0, max(count, 1), self._piece):
            part = edge.part(at, min(at + self._piece, count))
            with Buffers(self._runtime, small=True) as buffers:
                sent = buffers.empty(8 * len(part))
                buffers.write(sent, part.h)
                buffers.write(sent, part.x, 4 * len(part))
                buffers.send()
                place = begin + at
                at_x, new = len(part), max(start, place)
                self._take(new, place, sent, 0, at_x, len(part), self._runtime)
        whole = count - count % CELLS
        tail = edge.part(whole, count)
        self._tail = Edge(tail.h.copy(), tail.x.copy())

    @property
    def ok(self) -> bool:
        """Is there room for all blocks that are stored as they are?  If not, nothing can be read.
        Waits for the device when asked first after cells were taken."""
        if self._fits is None:
            if self._last is None:
                return True
            self._follow(self._runtime)
            with Buffers(self._runtime) as buffers:
                self._fits = int(buffers.read(self.buffer, 1)[0]) <= self._room
        return self._fits

    def read(self, start: int, stop: int) -> Edge:
        """Cells ``start+1 .. stop``; waits for the device."""
        h, x = np.empty((2, stop - start), np.int32)
        for at in range(start, stop, self._piece):
            count = min(self._piece, stop - at)
            with Buffers(self._runtime, small=True) as buffers:
                cells = buffers.empty(8 * count)
                buffers.send()
                self.give(at, count, cells, 0, count)
                found = buffers.read(cells, 2 * count)
            h[at - start :][:count], x[at - start :][:count] = found[:count], found[count:]
        return Edge(h, x)

    def read_h(self, start: int, stop: int, step: int = 1) -> Ints:
        """H of every step-th of the cells ``start+1 .. stop``, the first included; waits for the
        device, which selects them."""
        count = max(0, -(-(stop - start) // step))
        with Buffers(self._runtime, small=True) as buffers:
            cells = buffers.empty(4 * count)
            buffers.send()
            self._unpack(start, step, count, (cells, 0, None), self._runtime)
            return buffers.read(cells, count)

    def h_at(self, cell: int) -> int:
        """H of the cell that follows the first ``cell`` ones; waits for nothing else that is
        enqueued, so that it must be there."""
        with Buffers(self._runtime.beside(0)) as buffers:
            base = int(buffers.read(self.buffer, 1, HEAD + cell // CELLS)[0])
            if base < RAW:
                place = (
                    self._shorts + 12 * self._blocks + 2 * CELLS * (base - INT_MIN) + cell % CELLS
                )
                return int(buffers.read(self.buffer, 1, place)[0])
            return base + int(buffers.read(self.buffer, 1, 2 * self._shorts + cell, np.uint16)[0])

    def give(
        self, start: int, count: int, buffer: Any, h_at: int, x_at: int,
        runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        """Enqueue the copy of ``count`` cells that follow the first ``start`` ones to another
        buffer: H and X to places (of int32) from ``h_at`` and ``x_at`` on.  It waits only where
        :attr:`ok` does."""
        self._unpack(start, 1, count, (buffer, h_at, x_at), runtime or self._runtime)

    def _unpack(
        self, start: int, step: int, count: int, to: tuple[Any, int, int | None], runtime: Runtime
    ) -> None:
        """Enqueue the copy of every step-th cell to places of a buffer, of X if there is one."""
        if start < 0 or (count and start + (count - 1) * step >= self._done):
            raise InternalError(f"a packed edge has {self._done} cells, not {count} from {start}")
        if not self.ok:
            raise InternalError("a packed edge has no room for the cells that it took")
        if count == 0:
            return
        self._follow(runtime)
        buffer, h_at, x_at = to
        kernel = BoundKernel(runtime, UNPACK, {})
        kernel.bind(compressed=self.buffer, groups=self._blocks, first=start, stride=step)
        kernel.bind(count=count)
        kernel.bind(to=buffer, h_at=h_at, x_at=x_at or 0, gaps=x_at is not None)
        kernel.launch(-(-count // GROUP), GROUP)
