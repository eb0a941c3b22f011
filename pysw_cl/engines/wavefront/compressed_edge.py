"""Compressed edges, which stay on the device in less than half of their size."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InternalError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.sizes import EDGE_HEAD, GROUP_CELLS, compressed_words
from ...tiles.edges import Edge, Ints, Source

CELLS, HEAD = GROUP_CELLS, EDGE_HEAD
#: A base below `RAW` is `INT_MIN` plus the index of a raw group, which is stored uncompressed.
INT_MIN, RAW = -(1 << 31), -(1 << 31) + (1 << 27)
#: Work-items of a work-group.
GROUP = 128
#: Cells that are copied between host and device at once; each takes 8 bytes on the device.
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


class CompressedEdge(Source):
    """A lossless compressed edge on the device: a sink (:meth:`write`) and a source (:meth:`read`).

    A cell takes 3.25 bytes instead of 8, and a quarter of a byte more for raw groups.  A group of
    16 cells is stored raw if its H are more than 65,535 apart or an X is more than 255 below its H.

    Segments arrive in order, without gaps; a segment at 0 starts again.  They may arrive on any
    queue of the context, one after the other, and reads wait for all of them.
    ``may_be_unreachable``: unreachable cells may have drifted; they get an edge's sentinel here.

    Raises DeviceError if the device has not enough memory.
    """

    def __init__(
        self, runtime: Runtime, length: int, may_be_unreachable: bool, piece: int = PIECE
    ) -> None:
        self.may_be_unreachable, self._piece = may_be_unreachable, piece
        self._runtime, self._length = runtime, length
        self._groups, self._raw_capacity, self._shorts, words = compressed_words(length)
        self.bytes = 4 * words
        self.buffer = Buffers(runtime).offset(self.bytes)
        self._done = 0  # cells stored so far
        self._tail: Edge | None = None  # cells of an incomplete group that the host has written
        self._last: tuple[Any, Any] | None = None  # the queue and the event of the last `take`
        self._fits: bool | None = None
        for spec in (PACK, UNPACK):
            BoundKernel(
                runtime, spec, {}
            )  # build it now, so that `take` need not wait for the compiler

    def __len__(self) -> int:
        return self._length

    def take(
        self, start: int, buffer: Any, h_at: int, x_at: int, count: int,
        runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        """Enqueue the compression of ``count`` cells after the first ``start`` ones, a multiple of
        16.  Their H and X are in ``buffer`` from places (of int32) ``h_at`` and ``x_at`` on."""
        if start % CELLS:
            raise InternalError(f"a compressed edge takes no cells from {start} on")
        self._tail = None
        self._take(start, start, buffer, h_at, x_at, count, runtime or self._runtime)

    def _take(
        self, start: int, begin: int, buffer: Any, h_at: int, x_at: int, count: int,
        runtime: Runtime,
    ) -> None:  # fmt: skip
        """Enqueue the compression of cells from ``begin`` on, where a group begins.  Cells from
        ``start`` on are new."""
        import pyopencl as cl

        stop = begin + count
        if start not in (0, self._done) or stop > self._length:
            raise InternalError(
                f"a compressed edge of {self._length} cells, {self._done} of them there, was given "
                f"cells {start}..{stop}"
            )
        self._follow(runtime)
        self._done, self._fits = stop, None
        if start == 0:
            zero = np.zeros(1, np.int32)
            with runtime.failing:
                cl.enqueue_fill_buffer(runtime.queue, self.buffer, zero, 0, zero.nbytes)
        if begin == stop:
            return
        kernel = BoundKernel(runtime, PACK, {})
        kernel.bind(compressed=self.buffer, groups=self._groups, raw_capacity=self._raw_capacity)
        kernel.bind(unreachable=self.may_be_unreachable)
        kernel.bind(first=begin // CELLS, again=begin < start, count=count)
        kernel.bind(source=buffer, h_at=h_at, x_at=x_at)
        groups = -(-count // (CELLS * GROUP))
        self._last = runtime.queue, kernel.launch(groups, GROUP)

    def _follow(self, runtime: Runtime) -> None:
        """Make later commands of this queue wait for the last :meth:`take`, on any queue."""
        import pyopencl as cl

        if self._last is None or self._last[0] == runtime.queue:
            return
        with runtime.failing:
            self._last[0].flush()
            cl.enqueue_barrier(runtime.queue, wait_for=[self._last[1]])

    def write(self, start: int, edge: Edge) -> None:
        """Compress the cells that follow the first ``start`` ones, which may be any number."""
        if start % CELLS:
            if self._tail is None or start != self._done:
                raise InternalError(
                    f"the host wrote no cells of this compressed edge before {start}"
                )
            edge = self._tail.joined(edge)
        begin, count = start - start % CELLS, len(edge)
        for at in range(0, max(count, 1), self._piece):
            part = edge.read(at, min(at + self._piece, count))
            with Buffers(self._runtime, small=True) as buffers:
                sent = buffers.empty(8 * len(part))
                buffers.write(sent, part.h)
                buffers.write(sent, part.x, 4 * len(part))
                buffers.send()
                place = begin + at
                at_x, new = len(part), max(start, place)
                self._take(new, place, sent, 0, at_x, len(part), self._runtime)
        whole = count - count % CELLS
        tail = edge.read(whole, count)
        self._tail = Edge(tail.h.copy(), tail.x.copy())

    @property
    def ok(self) -> bool:
        """Is there memory for all raw groups?  If not, nothing can be read.  The first call after a
        :meth:`take` waits for the device."""
        if self._fits is None:
            if self._last is None:
                return True
            self._follow(self._runtime)
            with Buffers(self._runtime) as buffers:
                self._fits = int(buffers.read(self.buffer, 1)[0]) <= self._raw_capacity
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
        """H of every step-th of cells ``start+1 .. stop``, beginning with the first.  The device
        selects them; waits for it."""
        count = max(0, -(-(stop - start) // step))
        with Buffers(self._runtime, small=True) as buffers:
            cells = buffers.empty(4 * count)
            buffers.send()
            self._expand(start, step, count, (cells, 0, None), self._runtime)
            return buffers.read(cells, count)

    def h_at(self, cell: int) -> int:
        """H of the cell that follows the first ``cell`` ones.  It must have been stored already:
        this does not wait for other queues."""
        with Buffers(self._runtime.beside(0)) as buffers:
            base = int(buffers.read(self.buffer, 1, HEAD + cell // CELLS)[0])
            if base < RAW:
                place = (
                    self._shorts + 12 * self._groups + 2 * CELLS * (base - INT_MIN) + cell % CELLS
                )
                return int(buffers.read(self.buffer, 1, place)[0])
            return base + int(buffers.read(self.buffer, 1, 2 * self._shorts + cell, np.uint16)[0])

    def give(
        self, start: int, count: int, buffer: Any, h_at: int, x_at: int,
        runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        """Enqueue the expansion of ``count`` cells after the first ``start`` ones into another
        buffer: H and X to places (of int32) from ``h_at`` and ``x_at`` on.  Waits only if
        :attr:`ok` does."""
        self._expand(start, 1, count, (buffer, h_at, x_at), runtime or self._runtime)

    def _expand(
        self, start: int, step: int, count: int, to: tuple[Any, int, int | None], runtime: Runtime
    ) -> None:
        """Enqueue the expansion of every step-th cell to a buffer: H and, if it has a place, X."""
        if start < 0 or (count and start + (count - 1) * step >= self._done):
            raise InternalError(
                f"a compressed edge has {self._done} cells, not {count} from {start}"
            )
        if not self.ok:
            raise InternalError("a compressed edge has no room for its raw groups")
        if count == 0:
            return
        self._follow(runtime)
        buffer, h_at, x_at = to
        kernel = BoundKernel(runtime, UNPACK, {})
        kernel.bind(compressed=self.buffer, groups=self._groups, first=start, stride=step)
        kernel.bind(count=count)
        kernel.bind(to=buffer, h_at=h_at, x_at=x_at or 0, gaps=x_at is not None)
        kernel.launch(-(-count // GROUP), GROUP)
