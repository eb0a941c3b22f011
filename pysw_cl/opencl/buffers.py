"""Device memory: buffers of one job, counted; an allocation error says how much was needed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ..errors import DeviceMemoryError
from .device import Runtime
from .pools import Arena, Asked, Pool, new_buffer, sizes_of, small_buffers

K = TypeVar("K")


class RetainedBuffers:
    """Device memory that outlives jobs: one large buffer, which saves the page faults of new
    memory, and edges, which stay where they were computed while they are referenced."""

    def __init__(self) -> None:
        self._kept: Any = None
        #: Edges, each with the ``buffer`` that it is in.
        self.edges: WeakSet[Any] = WeakSet()

    @property
    def edge_bytes(self) -> int:
        """Bytes of the edges that are still referenced."""
        if not self.edges:
            return 0
        return sum({id(edge.buffer): edge.buffer.size for edge in self.edges}.values())

    def take(self, size: int) -> Any:
        """Take out the kept buffer if it has ``size`` bytes; else release it and return None."""
        kept, self._kept = self._kept, None
        if kept is None or kept.size >= size:
            return kept
        kept.release()
        return None

    def give(self, buffer: Any) -> None:
        """Keep a buffer that no kernel uses any more, or release it if there is one already."""
        if self._kept is None:
            self._kept = buffer
        else:
            buffer.release()


class Buffers:
    """Allocates buffers for one job and frees them together; ``bytes`` is their size.

    ``small``: take small buffers from this thread's arena or pool; :meth:`send` must then be called
    before a kernel runs.  ``pool``: take buffers from this pool.  ``retained``: the source of
    buffers that outlive the job (:meth:`lasting`).  ``aside``: kernels are launched on another
    queue, so :meth:`send` waits for copies.
    """

    def __init__(
        self,
        runtime: Runtime,
        small: bool = False,
        retained: RetainedBuffers | None = None,
        pool: Pool | None = None,
        aside: bool = False,
    ) -> None:
        self._runtime, self._retained, self._aside = runtime, retained, aside
        self._held: list[Any] = []
        self._sent: list[Any] = []
        self._kept: Arena | Pool | None = None
        self.bytes = 0
        kept = runtime.kept("arena", lambda: small_buffers(runtime)) if small else pool
        if kept is not None and not kept.lent:
            kept.lent, self._kept = True, kept
            kept.begin()

    def __enter__(self) -> Buffers:
        return self

    def free(self, *_: object) -> None:
        """Release every buffer."""
        if self._kept is not None:
            self._kept.lent, self._kept = False, None
        for buffer in self._held:
            buffer.release()
        self._held.clear()
        self._sent.clear()
        self.bytes = 0

    __exit__ = free

    def _make(self, asked: Asked) -> Any:
        size = sizes_of([asked])[0]
        self.bytes += size
        device, buffer = self._runtime.device, None
        limit = int(device.global_mem_size)
        if self.bytes <= limit:
            with suppress(cl.Error):  # more than one allocation may have is an error, too
                one = asked if isinstance(asked, np.ndarray) else size
                buffer = new_buffer(self._runtime, one)
        if buffer is None:
            there, piece = limit / 2**20, int(device.max_mem_alloc_size) / 2**20
            raise DeviceMemoryError(
                f"{self._runtime.info.name} ran out of memory: {self.bytes / 2**20:,.1f} MiB "
                f"needed, {there:,.1f} MiB there, {piece:,.1f} MiB in one piece; smaller tiles "
                "need less (plan: tile_cells, traceback_tile_cells)"
            )
        self._held.append(buffer)
        return buffer

    def of(self, array: NDArray[Any]) -> Any:
        """A buffer that starts as a copy of ``array``."""
        return self.several({0: array})[0]

    def empty(self, size: int) -> Any:
        """A buffer of ``size`` bytes with undefined contents."""
        return self.several({0: size})[0]

    def several(self, asked: Mapping[K, Asked]) -> dict[K, Any]:
        """Buffers by name: as of :meth:`of` for arrays, as of :meth:`empty` for sizes."""
        if self._kept is None:
            return {name: self._make(one) for name, one in asked.items()}
        sizes = sizes_of(asked.values())
        try:
            parts = self._kept.parts(asked.values(), sizes)
        except cl.Error as error:
            raise self._runtime.failed(error) from None
        made, pool = dict(zip(asked, parts, strict=True)), isinstance(self._kept, Pool)
        for (name, one), part, size in zip(asked.items(), parts, sizes, strict=True):
            if part is None:
                made[name] = self._make(one)
                continue
            self.bytes += size
            if pool and isinstance(one, np.ndarray):
                self.write(part, one)
        return made

    def constant(self, array: NDArray[Any]) -> Any:
        """A buffer like :meth:`of`'s, which no kernel writes: a pool has it from job to job."""
        if not isinstance(self._kept, Pool):
            return self.of(array)
        with self._runtime.failing():
            kept = self._kept.constant(array)
        return self.of(array) if kept is None else self._counted(kept, array.nbytes)

    def large(self, size: int) -> Any:
        """A buffer like :meth:`empty`'s: a pool has one large one from job to job."""
        kept = self._kept.large(size) if isinstance(self._kept, Pool) else None
        return self.empty(size) if kept is None else self._counted(kept, size)

    def _counted(self, buffer: Any, size: int) -> Any:
        self.bytes += size
        return buffer

    def offset(self, size: int) -> Any:
        """A buffer like :meth:`empty`'s that is freed when it is no longer referenced."""
        self._make(size)
        return self._held.pop()

    def again(self, buffer: Any, size: int) -> Any:
        """``buffer`` (one of these, or None) if it has ``size`` bytes; else a new one, and
        ``buffer`` is released."""
        if buffer is not None:
            if buffer.size >= size:
                return buffer
            self._held.remove(buffer)
            self.bytes -= buffer.size
            buffer.release()
        return self._make(size)

    def lasting(self, size: int) -> Any:
        """A buffer of at least ``size`` bytes that is not freed with the others.  Its last user
        gives it to `RetainedBuffers.give`."""
        kept = None if self._retained is None else self._retained.take(size)
        return self.offset(size) if kept is None else self._counted(kept, kept.size)

    def write(self, buffer: Any, array: NDArray[Any], offset: int = 0) -> None:
        """Enqueue the copy of ``array`` to a buffer from byte ``offset`` on."""
        queue = self._runtime.queue
        try:
            if array.strides == (0,) and len(array):  # one number, repeated
                size = len(array) * array.itemsize
                cl.enqueue_fill_buffer(queue, buffer, array[:1].copy(), offset, size)
                return
            host = np.ascontiguousarray(array)
            copy = cl.enqueue_copy(queue, buffer, host, dst_offset=offset, is_blocking=False)
        except cl.Error as error:
            raise self._runtime.failed(error) from None
        self._sent.append(copy)  # this keeps the array alive

    def move(self, source: Any, start: int, to: Any, place: int, count: int) -> None:
        """Enqueue the copy of ``count`` 32-bit numbers from one buffer to another."""
        with self._runtime.failing():
            queue, of, at = self._runtime.queue, 4 * start, 4 * place
            cl.enqueue_copy(queue, to, source, src_offset=of, dst_offset=at, byte_count=4 * count)

    def send(self) -> None:
        """Enqueue the copies to the device that are still pending."""
        try:
            if isinstance(self._kept, Arena):
                self._kept.send()
            if self._aside:
                self._runtime.queue.finish()
        except cl.Error as error:
            raise self._runtime.failed(error) from None

    def read(self, buffer: Any, count: int, offset: int = 0, dtype: Any = np.int32) -> NDArray[Any]:
        """``count`` items of a buffer from item ``offset``; waits for the queue."""
        out = np.empty(count, dtype)
        if count:
            start = offset * out.itemsize
            try:  # an error in a kernel often shows only here
                cl.enqueue_copy(self._runtime.queue, out, buffer, src_offset=start).wait()
            except cl.Error as error:
                raise self._runtime.failed(error) from None
        return out


def read_beside(
    runtime: Runtime, buffer: Any, count: int, place: int, dtype: Any = np.int32
) -> NDArray[Any]:
    """Read ``count`` numbers of a buffer from ``place`` on, without waiting for what is enqueued on
    other queues."""
    with Buffers(runtime.beside(0)) as buffers:
        return buffers.read(buffer, count, place, dtype)
