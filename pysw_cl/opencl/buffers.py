"""Device memory: buffers of one job, counted; an allocation error says how much was needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from weakref import WeakSet, finalize

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, DeviceMemoryError
from ..planning.sizes import pooled_bytes
from ..tiles.edges import DeviceEdge
from .device import Runtime
from .facts import facts_of

#: Bytes of a thread's arena, whose parts serve as the buffers of small tiles.
ARENA_BYTES = 4 << 20
#: The most parts that an arena keeps from job to job.
MOST_PARTS = 512
#: The largest buffer in a thread's pool.
POOLED_BYTES = 1 << 23
#: The most buffers that a pool keeps from job to job, and how many times its largest all may take.
MOST_POOLED, MOST_POOLED_TIMES = 256, 8

#: The most bytes of a constant that a pool keeps, how many it keeps, and of how many it knows that
#: they were asked for once.
CONSTANT_BYTES, MOST_CONSTANTS, MOST_SEEN = 1 << 16, 64, 1024
#: The one large buffer that a pool keeps: bytes that it may always have, at most, and that share of
#: the device's memory in between.  A driver takes milliseconds to make one and to release it.
LARGE_BYTES, MOST_LARGE_BYTES, LARGE_SHARE = 1 << 26, 1 << 30, 1 / 64

K = TypeVar("K")
#: A request for a buffer: an array that it starts as a copy of, or a number of bytes.
Asked = NDArray[Any] | int

#: Buffers of arenas and pools, by their id.  Kernels may stay bound to them from job to job.
LASTING: dict[int, Any] = {}


def _drop(buffers: dict[Any, Any]) -> None:
    """Forget the buffers of an arena or a pool."""
    for buffer in buffers.values():
        LASTING.pop(id(buffer), None)
    buffers.clear()


def _release(buffers: dict[Any, Any]) -> None:
    """Release buffers now, and forget them."""
    for buffer in buffers.values():
        LASTING.pop(id(buffer), None)
        buffer.release()
    buffers.clear()


def _dropped_with(owner: Any, buffers: dict[Any, Any]) -> None:
    """The buffers are forgotten when their arena or pool is: when its thread has ended."""
    finalize(owner, _drop, buffers).atexit = False


def _size(asked: Asked) -> int:
    """The bytes of a buffer, 4 at least unless they are an array's."""
    return asked.nbytes if isinstance(asked, np.ndarray) else max(asked, 4)


class Arena:
    """One buffer of a thread, used by one job at a time.

    Arrays of the host are at its start.  They are collected in one array of the host, which
    :meth:`send` copies at once.  Buffers without initial contents are at its end.
    """

    def __init__(self, runtime: Runtime) -> None:
        import pyopencl as cl

        self._queue = runtime.queue
        self._buffer = cl.Buffer(runtime.context, cl.mem_flags.READ_WRITE, ARENA_BYTES)
        self._host = np.zeros(ARENA_BYTES, np.uint8)
        self._align = facts_of(runtime).part_align
        self._parts: dict[tuple[int, int], Any] = {}
        _dropped_with(self, self._parts)
        self._low, self._high = 0, ARENA_BYTES  # the free bytes
        #: Does a job use it now?
        self.lent = False

    def begin(self) -> None:
        """A job begins, so all bytes are free.  Parts may be dropped only now, because a kernel
        may be bound to one during a job."""
        if len(self._parts) > MOST_PARTS:
            self.forget()
        self._low, self._high = 0, ARENA_BYTES

    def forget(self) -> None:
        """Drop the parts."""
        _drop(self._parts)

    def parts(self, asked: Iterable[Asked]) -> list[Any]:
        """A part for each request; None for one that does not fit."""
        found = []
        for one in asked:
            size = _size(one)
            padded, part = -(-size // self._align) * self._align, None
            if 0 < padded <= self._high - self._low:
                if isinstance(one, np.ndarray):
                    start, self._low = self._low, self._low + padded
                    host = np.ascontiguousarray(one).reshape(-1).view(np.uint8)
                    self._host[start : start + size] = host
                else:
                    start = self._high = self._high - padded
                part = self._parts.get((start, size))
                if part is None:
                    part = self._parts[start, size] = self._buffer.get_sub_region(start, size)
                    LASTING[id(part)] = part
            found.append(part)
        return found

    def send(self) -> None:
        """Enqueue the copy of the host's arrays."""
        import pyopencl as cl

        if self._low:
            host = self._host[: self._low]
            cl.enqueue_copy(self._queue, self._buffer, host, is_blocking=False)


class Pool:
    """Buffers of a thread that are kept from job to job, and used by one job at a time.

    Buffers are reused in the order of requests: the k-th request of a job gets an earlier job's
    k-th buffer if that is large enough.  They are released only all together, because a driver may
    wait until the device is idle before it releases one.  Constants are kept by what they hold, and
    so is one large buffer.
    """

    def __init__(self, runtime: Runtime, most: int = POOLED_BYTES) -> None:
        self._runtime, self._most = runtime, most
        #: By the number of the request in a job, and the size.
        self._kept: dict[tuple[int, int], Any] = {}
        #: The sizes that there are for each request, and the bytes of all.
        self._sizes: dict[int, list[int]] = {}
        self.bytes = 0
        self._constants: dict[bytes, Any] = {}
        self._seen: set[int] = set()
        self._large: Any = None
        self._large_lent = False
        share = int(LARGE_SHARE * runtime.device.global_mem_size)
        self._most_large = min(max(LARGE_BYTES, share), MOST_LARGE_BYTES)
        _dropped_with(self, self._kept)
        _dropped_with(self, self._constants)
        self._sent: list[Any] = []
        self._asked = 0  # requests of the job so far
        #: Does a job use it now?
        self.lent = False

    def begin(self) -> None:
        """A job begins: all buffers are free."""
        if len(self._kept) > MOST_POOLED or self.bytes > MOST_POOLED_TIMES * self._most:
            self.forget()
        if len(self._constants) > MOST_CONSTANTS or len(self._seen) > MOST_SEEN:
            _release(self._constants)
            self._seen.clear()
        self._asked, self._large_lent = 0, False
        self._sent.clear()

    def forget(self) -> None:
        """Drop the buffers."""
        _release(self._kept)
        self._sizes.clear()
        self.bytes = 0
        _release(self._constants)
        if self._large is not None:
            self._large.release()
            self._large = None

    def parts(self, asked: Iterable[Asked]) -> list[Any]:
        """A buffer for each request; None for one that is too large."""
        return [self._part(one) for one in asked]

    def _part(self, asked: Asked) -> Any:
        """A buffer of at least the bytes that are asked for, or None."""
        import pyopencl as cl

        size = _size(asked)
        if not 0 < size <= self._most:
            return None
        self._asked += 1
        wanted, sizes = pooled_bytes(size, self._most), self._sizes.setdefault(self._asked, [])
        found = min((one for one in sizes if one >= wanted), default=None)
        if found is None:
            made = cl.Buffer(self._runtime.context, cl.mem_flags.READ_WRITE, wanted)
            self._kept[self._asked, wanted] = LASTING[id(made)] = made
            self.bytes += wanted
            sizes.append(wanted)
        buffer = self._kept[self._asked, found or wanted]
        if isinstance(asked, np.ndarray):
            self._copy(buffer, asked)
        return buffer

    def constant(self, array: NDArray[Any]) -> Any:
        """A buffer with a copy of ``array``, which no kernel writes; None if it is too large, or
        was never asked for."""
        import pyopencl as cl

        if not 0 < array.nbytes <= CONSTANT_BYTES:
            return None
        key = array.tobytes()
        if key not in self._constants:
            if hash(key) not in self._seen:
                self._seen.add(hash(key))
                return None
            made = cl.Buffer(self._runtime.context, cl.mem_flags.READ_WRITE, array.nbytes)
            self._copy(made, array)
            self._constants[key] = LASTING[id(made)] = made
        self._asked += 1  # as the request was when it was not known yet, so that others keep theirs
        return self._constants[key]

    def large(self, size: int) -> Any:
        """The large buffer, once a job; None if it is too small for these ``size`` bytes, and may
        not become larger."""
        import pyopencl as cl

        if not POOLED_BYTES < size <= self._most_large or self._large_lent:
            return None
        if self._large is None or self._large.size < size:
            if self._large is not None:
                self._large.release()
                self._large = None
            try:
                self._large = cl.Buffer(self._runtime.context, cl.mem_flags.READ_WRITE, size)
            except cl.Error:
                return None
        self._large_lent = True
        return self._large

    def _copy(self, buffer: Any, array: NDArray[Any]) -> None:
        import pyopencl as cl

        host = np.ascontiguousarray(array)
        copy = cl.enqueue_copy(self._runtime.queue, buffer, host, is_blocking=False)
        self._sent.append(copy)  # this keeps the array alive

    def send(self) -> None:
        """Does nothing: arrays were sent at once."""


class RetainedBuffers:
    """Device memory that outlives jobs: one large buffer, which saves the page faults of new
    memory, and edges, which stay where they were computed while they are referenced."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self.edges: WeakSet[DeviceEdge] = WeakSet()

    @property
    def edge_bytes(self) -> int:
        """Bytes of the edges that are still referenced."""
        if not self.edges:
            return 0
        return sum({id(edge.buffer): edge.buffer.size for edge in self.edges}.values())

    def take(self, size: int) -> Any:
        """Take out the kept buffer if it has ``size`` bytes; else release it and return None."""
        while self._kept:
            buffer = self._kept.pop()
            if buffer.size >= size:
                return buffer
            buffer.release()
        return None

    def give(self, buffer: Any) -> None:
        """Keep a buffer that no kernel uses any more, or release it if there is one already."""
        if self._kept:
            buffer.release()
        else:
            self._kept.append(buffer)


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
        self._runtime = runtime
        self._retained = retained
        self._held: list[Any] = []
        self._sent: list[Any] = []
        self._kept: Arena | Pool | None = None
        self._aside = aside
        self.bytes = 0
        kept: Arena | Pool | None = pool
        if small:
            kept = runtime.arena(_small_buffers)
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
        import pyopencl as cl

        size = _size(asked)
        self.bytes += size
        flags = int(cl.mem_flags.READ_WRITE)
        if self.bytes > int(self._runtime.device.global_mem_size):
            raise self._lacking()
        try:
            if isinstance(asked, np.ndarray):
                flags, host = flags | cl.mem_flags.COPY_HOST_PTR, np.ascontiguousarray(asked)
                buffer = cl.Buffer(self._runtime.context, flags, hostbuf=host)
            else:
                buffer = cl.Buffer(self._runtime.context, flags, size)
        except cl.Error:  # INVALID_BUFFER_SIZE (more than one allocation may have) included
            raise self._lacking() from None
        self._held.append(buffer)
        return buffer

    def _lacking(self) -> DeviceMemoryError:
        """The error of a device that lacks the memory of these buffers."""
        device = self._runtime.device
        limit, piece = int(device.global_mem_size), int(device.max_mem_alloc_size)
        return DeviceMemoryError(
            f"{self._runtime.info.name} ran out of memory: {self.bytes / 2**20:,.1f} MiB needed, "
            f"{limit / 2**20:,.1f} MiB there, {piece / 2**20:,.1f} MiB in one piece; smaller tiles "
            "need less (plan: tile_cells, traceback_tile_cells)"
        )

    def of(self, array: NDArray[Any]) -> Any:
        """A buffer that starts as a copy of ``array``."""
        return self.several({0: array})[0]

    def several(self, asked: Mapping[K, Asked]) -> dict[K, Any]:
        """Buffers by name: as of :meth:`of` for arrays, as of :meth:`empty` for sizes."""
        import pyopencl as cl

        parts: list[Any] = [None] * len(asked)
        if self._kept is not None:
            try:
                parts = self._kept.parts(asked.values())
            except cl.Error as error:
                raise self._failed(error) from None
        made = dict(zip(asked, parts, strict=True))
        for name, one in asked.items():
            if made[name] is None:
                made[name] = self._make(one)
            else:
                self.bytes += _size(one)
        return made

    def constant(self, array: NDArray[Any]) -> Any:
        """A buffer like :meth:`of`'s, which no kernel writes: a pool has it from job to job."""
        if not isinstance(self._kept, Pool):
            return self.of(array)
        kept = self._of_pool(self._kept.constant, array, array.nbytes)
        return self.of(array) if kept is None else kept

    def large(self, size: int) -> Any:
        """A buffer like :meth:`empty`'s: a pool has one large one from job to job."""
        kept = None
        if isinstance(self._kept, Pool):
            kept = self._of_pool(self._kept.large, size, size)
        return self.empty(size) if kept is None else kept

    def empty(self, size: int) -> Any:
        """A buffer of ``size`` bytes with undefined contents."""
        return self.several({0: size})[0]

    def offset(self, size: int) -> Any:
        """A buffer like :meth:`empty`'s that is freed when it is no longer referenced."""
        made = self._make(size)
        self._held.remove(made)
        return made

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
        if kept is not None:
            self.bytes += kept.size
            return kept
        made = self._make(size)
        self._held.remove(made)
        return made

    def _failed(self, error: Exception) -> DeviceError:
        """The error of a device that failed."""
        return DeviceError(f"{self._runtime.info.name} failed: {error}")

    def _of_pool(self, ask: Callable[[Any], Any], what: Any, size: int) -> Any:
        """The answer of the arena or pool: a buffer, of which ``size`` bytes count, or None."""
        import pyopencl as cl

        try:
            part = ask(what)
        except cl.Error as error:
            raise self._failed(error) from None
        if part is not None:
            self.bytes += size
        return part

    def write(self, buffer: Any, array: NDArray[Any], offset: int = 0) -> None:
        """Enqueue the copy of ``array`` to a buffer from byte ``offset`` on."""
        import pyopencl as cl

        queue = self._runtime.queue
        try:
            if array.strides == (0,) and len(array):  # one number, repeated
                size = len(array) * array.itemsize
                cl.enqueue_fill_buffer(queue, buffer, array[:1].copy(), offset, size)
                return
            array = np.ascontiguousarray(array)
            copy = cl.enqueue_copy(queue, buffer, array, dst_offset=offset, is_blocking=False)
        except cl.Error as error:
            raise self._failed(error) from None
        self._sent.append(copy)  # this keeps the array alive

    def move(self, source: Any, start: int, to: Any, place: int, count: int) -> None:
        """Enqueue the copy of ``count`` 32-bit numbers from one buffer to another."""
        import pyopencl as cl

        queue, size = self._runtime.queue, 4 * count
        try:
            cl.enqueue_copy(
                queue, to, source, src_offset=4 * start, dst_offset=4 * place, byte_count=size
            )
        except cl.Error as error:
            raise self._failed(error) from None

    def send(self) -> None:
        """Enqueue the copies to the device that are still pending."""
        import pyopencl as cl

        try:
            if self._kept is not None:
                self._kept.send()
            if self._aside:
                self._runtime.queue.finish()
        except cl.Error as error:
            raise self._failed(error) from None

    def read(self, buffer: Any, count: int, offset: int = 0, dtype: Any = np.int32) -> NDArray[Any]:
        """``count`` items of a buffer from item ``offset``; waits for the queue."""
        import pyopencl as cl

        out = np.empty(count, dtype)
        if count:
            start = offset * out.itemsize
            try:
                cl.enqueue_copy(self._runtime.queue, out, buffer, src_offset=start).wait()
            except cl.Error as error:  # an error in a kernel often shows only here
                raise self._failed(error) from None
        return out


def _small_buffers(runtime: Runtime) -> Arena | Pool | None:
    """An arena or a pool; None if an arena is no small part of the device's memory."""
    if int(runtime.device.global_mem_size) <= 16 * ARENA_BYTES:
        return None
    return Arena(runtime) if runtime.traits.arena else Pool(runtime)
