"""Device memory: buffers of one job, counted, and what is kept of them from job to job."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar
from weakref import WeakSet, finalize

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ..errors import DeviceMemoryError
from ..planning.sizes import pooled_bytes
from .device import Runtime

K = TypeVar("K")
#: Flags of a buffer, and of one that starts as a copy.
READ_WRITE, COPY = cl.mem_flags.READ_WRITE, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
#: Lets other threads of this core go first, where the system can.
_let_others = getattr(os, "sched_yield", lambda: None)
#: A request for a buffer: an array that it starts as a copy of, or a number of bytes.
Asked = NDArray[Any] | int
#: The largest buffer in a thread's pool.
POOLED_BYTES = 1 << 23
#: The most buffers that a pool keeps from job to job, and how many times its largest all may take.
MOST_POOLED, MOST_POOLED_TIMES = 256, 8
#: Bytes of a constant that a pool keeps, constants that it keeps, and those that it has seen once.
CONSTANT_BYTES, MOST_CONSTANTS, MOST_SEEN = 1 << 16, 64, 1024
#: The one large buffer that a pool keeps: bytes that it may always have, at most, and that share of
#: the device's memory in between.  A driver takes milliseconds to make one and to release it.
LARGE_BYTES, MOST_LARGE_BYTES, LARGE_SHARE = 1 << 26, 1 << 30, 1 / 64
#: Buffers of pools, by their id.  Kernels may stay bound to them from job to job.
LASTING: dict[int, Any] = {}


def _drop(*kept: dict[Any, Any], release: bool = False) -> None:
    """Forget the buffers of a pool, or ``release`` them."""
    for buffers in kept:
        for buffer in buffers.values():
            LASTING.pop(id(buffer), None)
            if release:
                buffer.release()
        buffers.clear()


class Pool:
    """Buffers of a thread that are kept from job to job, and used by one job at a time.  The k-th
    request of a job gets an earlier job's k-th buffer if that is large enough.  Buffers are
    released only all together, because a driver may wait until the device is idle before it
    releases one.  Constants, by what they hold, and one large buffer are kept, too."""

    #: Does a job use it now?
    lent = False

    def __init__(self, runtime: Runtime, most: int = POOLED_BYTES) -> None:
        self._runtime, self._most = runtime, most
        #: By the number of the request in a job, and the size; the sizes for each request.
        self._kept: dict[tuple[int, int], Any] = {}
        self._sizes: dict[int, list[int]] = {}
        self.bytes = 0  # of all
        self._constants: dict[bytes, Any] = {}
        self._seen: set[int] = set()
        #: The large buffer, by its size, if there is one.
        self._large: dict[int, Any] = {}
        self._large_lent = False
        share = int(LARGE_SHARE * runtime.device.global_mem_size)
        self._most_large = min(max(LARGE_BYTES, share), MOST_LARGE_BYTES)
        finalize(self, _drop, self._kept, self._constants).atexit = False
        self._asked = 0  # requests of the job so far

    def begin(self) -> None:
        """A job begins: all buffers are free."""
        if len(self._kept) > MOST_POOLED or self.bytes > MOST_POOLED_TIMES * self._most:
            self.forget()
        if len(self._constants) > MOST_CONSTANTS or len(self._seen) > MOST_SEEN:
            _drop(self._constants, release=True)
            self._seen.clear()
        self._asked, self._large_lent = 0, False

    def forget(self) -> None:
        _drop(self._kept, self._constants, self._large, release=True)
        self._sizes.clear()
        self.bytes = 0

    def part(self, size: int) -> Any:
        """A buffer of at least so many bytes; None if it would be too large."""
        if not 0 < size <= self._most:
            return None
        self._asked += 1
        wanted, sizes = pooled_bytes(size, self._most), self._sizes.setdefault(self._asked, [])
        found = min((one for one in sizes if one >= wanted), default=wanted)
        if found not in sizes:
            made = cl.Buffer(self._runtime.context, READ_WRITE, wanted)
            self._kept[self._asked, wanted] = LASTING[id(made)] = made
            self.bytes += wanted
            sizes.append(wanted)
        return self._kept[self._asked, found]

    def constant(self, array: NDArray[Any]) -> Any:
        """A buffer with a copy of ``array``; None if it is too large, or was never asked for."""
        if not 0 < array.nbytes <= CONSTANT_BYTES:
            return None
        key = array.tobytes()
        if key not in self._constants:
            if hash(key) not in self._seen:
                self._seen.add(hash(key))
                return None
            # not made from host memory: some drivers let the next launch wait until nothing runs
            made = cl.Buffer(self._runtime.context, READ_WRITE, array.nbytes)
            cl.enqueue_copy(self._runtime.queue, made, np.ascontiguousarray(array))
            self._constants[key] = LASTING[id(made)] = made
        self._asked += 1  # as the request was when it was not known yet, so that others keep theirs
        return self._constants[key]

    def large(self, size: int) -> Any:
        """The large buffer, once a job; None if it may not have this size."""
        if not POOLED_BYTES < size <= self._most_large or self._large_lent:
            return None
        found = next((one for has, one in self._large.items() if has >= size), None)
        if found is None:
            _drop(self._large, release=True)
            with suppress(cl.Error):
                found = self._large[size] = cl.Buffer(self._runtime.context, READ_WRITE, size)
        self._large_lent = found is not None
        return found


class RetainedBuffers:
    """Device memory that outlives jobs: one large buffer, which saves the page failures of new
    memory, and edges, which stay where they were computed while they are referenced."""

    def __init__(self) -> None:
        self._kept: Any = None
        #: Edges, each with the ``buffer`` that it is in.
        self.edges: WeakSet[Any] = WeakSet()

    @property
    def edge_bytes(self) -> int:
        """Bytes of the edges that are still referenced."""
        return sum({id(edge.buffer): edge.buffer.size for edge in self.edges}.values())

    def take(self, size: int) -> Any:
        """Take out the kept buffer if it has ``size`` bytes; else release it."""
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


class Buffers(AbstractContextManager["Buffers"]):
    """Allocates buffers for one job and frees them together; ``bytes`` is their size.

    ``small``: take small ones from this thread's pool, where a copy costs less than a new buffer.
    ``pool``: take them from this pool.  ``retained``: the source of those that outlive the job
    (:meth:`lasting`).  ``aside``: kernels are launched on another queue: :meth:`send` waits."""

    def __init__(
        self,
        runtime: Runtime,
        small: bool = False,
        retained: RetainedBuffers | None = None,
        pool: Pool | None = None,
        aside: bool = False,
    ) -> None:
        self.runtime, self._retained, self._aside = runtime, retained, aside
        self._held: list[Any] = []
        self._sent: list[Any] = []
        self._named: dict[int | str, Any] = {}
        self._pool: Pool | None = None
        self.bytes = 0
        if small and runtime.traits.pooled:
            pool = runtime.kept("pool", lambda: Pool(runtime))
        if pool is not None and not pool.lent:
            pool.lent, self._pool = True, pool
            pool.begin()

    def free(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.lent, self._pool = False, None
        for buffer in self._held:
            buffer.release()
        for known in (self._held, self._sent, self._named):
            known.clear()
        self.bytes = 0

    __exit__ = free

    def of(self, array: NDArray[Any]) -> Any:
        """A buffer that starts as a copy of ``array``."""
        return self.several({0: array})[0]

    def sent(self, array: NDArray[Any]) -> Any:
        """A buffer that a copy of ``array`` is sent to.  (On some drivers the launch that first
        uses one that is made from host memory waits until nothing runs.)"""
        buffer = self.empty(array.nbytes)
        self.write(buffer, array)
        return buffer

    def empty(self, size: int) -> Any:
        """A buffer of ``size`` bytes with undefined contents."""
        return self.several({0: size})[0]

    def several(self, asked: Mapping[K, Asked], new: bool = False) -> dict[K, Any]:
        """Buffers by name.  ``new``: none of a pool.  Raises DeviceMemoryError."""
        made: dict[K, Any] = {}
        pool, device = None if new else self._pool, self.runtime.device
        context, limit = self.runtime.context, int(device.global_mem_size)
        with suppress(cl.Error):  # more than one allocation may have is an error, too
            for name, one in asked.items():
                size = one.nbytes if isinstance(one, np.ndarray) else max(one, 4)
                self.bytes += size
                buffer = None if pool is None else pool.part(size)
                if buffer is None and self.bytes > limit:
                    break
                if buffer is not None and isinstance(one, np.ndarray):
                    self.write(buffer, one)
                elif buffer is None:
                    if isinstance(one, np.ndarray):
                        buffer = cl.Buffer(context, COPY, hostbuf=np.ascontiguousarray(one))
                    else:
                        buffer = cl.Buffer(context, READ_WRITE, size)
                    self._held.append(buffer)
                made[name] = buffer
        if len(made) < len(asked):
            there, piece = limit / 2**20, int(device.max_mem_alloc_size) / 2**20
            raise DeviceMemoryError(
                f"{self.runtime.info.name} ran out of memory: {self.bytes / 2**20:,.1f} MiB "
                f"needed, {there:,.1f} MiB there, {piece:,.1f} MiB in one piece; other programs "
                "may hold some, and smaller tiles need less (plan: tile_cells, "
                "traceback_tile_cells)"
            )
        return made

    def constant(self, array: NDArray[Any]) -> Any:
        """A buffer like :meth:`of`'s, which no kernel writes: a pool has it from job to job."""
        with self.runtime.failing():
            kept = None if self._pool is None else self._pool.constant(array)
        return self.of(array) if kept is None else self._counted(kept, array.nbytes)

    def large(self, size: int) -> Any:
        """A buffer like :meth:`empty`'s: a pool has one large one from job to job."""
        kept = None if self._pool is None else self._pool.large(size)
        return self.empty(size) if kept is None else self._counted(kept, size)

    def _counted(self, buffer: Any, size: int) -> Any:
        self.bytes += size
        return buffer

    def offset(self, size: int) -> Any:
        """A buffer like :meth:`empty`'s that is freed when it is no longer referenced."""
        self.several({0: size}, new=True)
        return self._held.pop()

    def named(self, name: int | str, size: int) -> Any:
        """The buffer of this name, with at least ``size`` bytes: another one if it had fewer."""
        if name in self._named:
            if self._named[name].size >= size:
                return self._named[name]
            buffer = self._named.pop(name)
            self._held.remove(buffer)
            self.bytes -= buffer.size
            buffer.release()
        self._named |= self.several({name: size}, new=True)
        return self._named[name]

    def lasting(self, size: int) -> Any:
        """A buffer of at least ``size`` bytes that is not freed with the others.  Its last user
        gives it to `RetainedBuffers.give`."""
        kept = None if self._retained is None else self._retained.take(size)
        return self.offset(size) if kept is None else self._counted(kept, kept.size)

    def write(self, buffer: Any, array: NDArray[Any], offset: int = 0) -> None:
        """Enqueue the copy of ``array`` to a buffer from byte ``offset`` on."""
        queue = self.runtime.queue
        try:
            if not array.size:
                return
            if array.strides == (0,):  # one number, repeated
                size = len(array) * array.itemsize
                cl.enqueue_fill_buffer(queue, buffer, array[:1].copy(), offset, size)
                return
            host = np.ascontiguousarray(array)
            copy = cl.enqueue_copy(queue, buffer, host, dst_offset=offset, is_blocking=False)
        except cl.Error as error:
            raise self.runtime.failed(error) from None
        self._sent.append(copy)  # this keeps the array alive

    def move(self, source: Any, start: int, to: Any, place: int, count: int) -> None:
        """Enqueue the copy of ``count`` 32-bit numbers from one buffer to another."""
        with self.runtime.failing():
            queue, of, at = self.runtime.queue, 4 * start, 4 * place
            cl.enqueue_copy(queue, to, source, src_offset=of, dst_offset=at, byte_count=4 * count)

    def send(self) -> None:
        """Wait for copies, where kernels are launched on another queue (``aside``)."""
        if self._aside:
            with self.runtime.failing():
                self.runtime.queue.finish()

    def read(
        self, buffer: Any, count: int, offset: int = 0, dtype: Any = np.int32, into: Any = None
    ) -> NDArray[Any]:
        """``count`` items of a buffer from item ``offset``, when all before is done."""
        out: NDArray[Any] = np.empty(count, dtype) if into is None else into[:count]
        if count:
            start = offset * out.itemsize
            try:  # an error in a kernel often shows only here
                queue, polled = self.runtime.queue, self.runtime.traits.polled_seconds
                copy = cl.enqueue_copy(queue, out, buffer, src_offset=start, is_blocking=not polled)
                latest = time.perf_counter() + polled
                while time.perf_counter() < latest and copy.command_execution_status > 0:
                    _let_others()  # no sleep: it ends sooner than a thread falls asleep
                copy.wait()
            except cl.Error as error:
                raise self.runtime.failed(error) from None
        return out


def read_beside(
    runtime: Runtime, buffer: Any, count: int, place: int, dtype: Any = np.int32
) -> NDArray[Any]:
    """``count`` numbers of a buffer from ``place`` on, whatever is enqueued on other queues."""
    with Buffers(runtime.beside(0)) as buffers:
        return buffers.read(buffer, count, place, dtype)
