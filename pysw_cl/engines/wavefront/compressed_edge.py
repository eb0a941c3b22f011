"""Compressed edges, which stay on the device in less than half of their size."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...errors import InternalError
from ...opencl.buffers import Buffers, read_beside
from ...opencl.device import Runtime
from ...opencl.program import BoundKernel, KernelSpec
from ...planning.sizes import EDGE_HEAD, GROUP_CELLS, compressed_words
from ...tiles.edges import DeviceEdge, Edge, Ints, Source, repeated

CELLS, HEAD = GROUP_CELLS, EDGE_HEAD
#: A base below `RAW` is `INT_MIN` plus the index of a raw group, which is stored uncompressed.
INT_MIN, RAW = -(1 << 31), -(1 << 31) + (1 << 27)
#: Work-items of a work-group.
GROUP = 128
#: Cells that are copied to the host at once; each takes 8 bytes on the device.
PIECE = 1 << 22

FILES = "base.clh", "wavefront/compressed_edge.cl"
COMPRESS, EXPAND = (
    KernelSpec(name, FILES, tuple(f"compressed groups:int {own} h_at:long x_at:long".split()))
    for name, own in (
        ("compress_edge", "raw_capacity:int count:int unreachable:int source"),
        ("expand_edge", "first:int stride:int count:int gaps:int to"),
    )
)


class CompressedEdge(Source):
    """An edge that the device compresses without loss, and keeps.

    A cell takes 3.25 bytes instead of 8, and a quarter of a byte more for raw groups.  A group of
    16 cells is stored raw if its H are more than 65,535 apart or an X is more than 255 below its H.
    Unreachable cells, which may have drifted, get an edge's sentinel.

    Raises DeviceError if the device has not enough memory."""

    def __init__(self, runtime: Runtime, cells: DeviceEdge) -> None:
        self._runtime, self._length = runtime, len(cells)
        self._groups, raw_capacity, self._shorts, words = compressed_words(len(cells))
        self.bytes = 4 * words
        with Buffers(runtime) as buffers:
            self.buffer = buffers.offset(self.bytes)
            buffers.write(self.buffer, repeated(0, 1))
            kernel = BoundKernel(runtime, COMPRESS, {})
            kernel.bind(compressed=self.buffer, groups=self._groups, raw_capacity=raw_capacity)
            kernel.bind(count=len(cells), unreachable=cells.may_be_unreachable)
            kernel.bind(source=cells.buffer, h_at=cells.h_place, x_at=cells.x_place)
            kernel.launch(-(-len(cells) // (CELLS * GROUP)), GROUP)
            #: Is there memory for all raw groups?  If not, nothing can be read.
            self.fits = int(buffers.read(self.buffer, 1)[0]) <= raw_capacity

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int) -> Edge:
        h, x = np.empty((2, stop - start), np.int32)
        for at in range(start, stop, PIECE):
            count = min(PIECE, stop - at)
            with Buffers(self._runtime, small=True) as buffers:
                cells = buffers.empty(8 * count)
                self.give(at, count, cells, 0, count)
                found = buffers.read(cells, 2 * count)
            h[at - start :][:count], x[at - start :][:count] = found[:count], found[count:]
        return Edge(h, x)

    def read_h(self, start: int, stop: int, step: int = 1) -> Ints:
        count = max(0, -(-(stop - start) // step))
        with Buffers(self._runtime, small=True) as buffers:
            cells = buffers.empty(4 * count)
            self.give(start, count, cells, 0, None, step)
            return buffers.read(cells, count)

    def h_at(self, cell: int) -> int:
        """As of any `Source`.  Does not wait for what is enqueued."""
        read = partial(read_beside, self._runtime, self.buffer, 1)
        base = int(read(HEAD + cell // CELLS)[0])
        if base < RAW:
            raw = self._shorts + 12 * self._groups + 2 * CELLS * (base - INT_MIN)
            return int(read(raw + cell % CELLS)[0])
        return base + int(read(2 * self._shorts + cell, np.uint16)[0])

    def give(
        self, start: int, count: int, to: Any, h_at: int, x_at: int | None = None, step: int = 1
    ) -> None:
        """Enqueue the expansion of ``count`` cells, every step-th one after the first ``start``,
        into another buffer: H from the place ``h_at`` on and, if given, X from ``x_at`` (int32)."""
        if start < 0 or start + (count - 1) * step >= self._length:
            raise InternalError(f"an edge has {self._length} cells, not {count} from {start}")
        if count == 0:
            return
        kernel = BoundKernel(self._runtime, EXPAND, {})
        kernel.bind(compressed=self.buffer, groups=self._groups, first=start, stride=step)
        kernel.bind(to=to, h_at=h_at, x_at=x_at or 0, gaps=x_at is not None, count=count)
        kernel.launch(-(-count // GROUP), GROUP)
