"""Device memory that a thread keeps from job to job: parts of one arena, or a pool of buffers."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from weakref import finalize

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ..planning.sizes import pooled_bytes
from .device import Runtime

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

#: A request for a buffer: an array that it starts as a copy of, or a number of bytes.
Asked = NDArray[Any] | int

#: Buffers of arenas and pools, by their id.  Kernels may stay bound to them from job to job.
LASTING: dict[int, Any] = {}


def _drop(*kept: dict[Any, Any], release: bool = False) -> None:
    """Forget the buffers of an arena or a pool, or ``release`` them."""
    for buffers in kept:
        for buffer in buffers.values():
            LASTING.pop(id(buffer), None)
            if release:
                buffer.release()
        buffers.clear()


def sizes_of(asked: Iterable[Asked]) -> list[int]:
    """The bytes of buffers, 4 at least unless they are an array's."""
    return [one.nbytes if isinstance(one, np.ndarray) else max(one, 4) for one in asked]


def new_buffer(runtime: Runtime, asked: Asked) -> Any:
    """A buffer with a copy of an array, or of so many bytes with undefined contents."""
    if isinstance(asked, np.ndarray):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(runtime.context, flags, hostbuf=np.ascontiguousarray(asked))
    return cl.Buffer(runtime.context, cl.mem_flags.READ_WRITE, asked)


class Arena:
    """One buffer of a thread, used by one job at a time.

    Arrays of the host are at its start.  They are collected in one array of the host, which
    :meth:`send` copies at once.  Buffers without initial contents are at its end.  Its parts are
    forgotten with it, when its thread has ended.
    """

    #: Does a job use it now?
    lent = False

    def __init__(self, runtime: Runtime) -> None:
        self._queue, self._buffer = runtime.queue, new_buffer(runtime, ARENA_BYTES)
        self._host = np.zeros(ARENA_BYTES, np.uint8)
        self._align = runtime.facts.part_align
        self._parts: dict[tuple[int, int], Any] = {}
        finalize(self, _drop, self._parts).atexit = False
        self._low, self._high = 0, ARENA_BYTES  # the free bytes

    def begin(self) -> None:
        """A job begins, so all bytes are free.  Parts may be dropped only now, because a kernel
        may be bound to one during a job."""
        if len(self._parts) > MOST_PARTS:
            self.forget()
        self._low, self._high = 0, ARENA_BYTES

    def forget(self) -> None:
        """Drop the parts."""
        _drop(self._parts)

    def parts(self, asked: Iterable[Asked], sizes: list[int]) -> list[Any]:
        """A part for each request of so many bytes; None for one that does not fit."""
        found = []
        for one, size in zip(asked, sizes, strict=True):
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
        """Release the buffers."""
        _drop(self._kept, self._constants, self._large, release=True)
        self._sizes.clear()
        self.bytes = 0

    def parts(self, asked: Iterable[Asked], sizes: list[int]) -> list[Any]:
        """A buffer for each request, of at least its bytes; None for one that is too large."""
        return [self._part(size) if 0 < size <= self._most else None for size in sizes]

    def _part(self, size: int) -> Any:
        self._asked += 1
        wanted, sizes = pooled_bytes(size, self._most), self._sizes.setdefault(self._asked, [])
        found = min((one for one in sizes if one >= wanted), default=wanted)
        if found not in sizes:
            made = new_buffer(self._runtime, wanted)
            self._kept[self._asked, wanted] = LASTING[id(made)] = made
            self.bytes += wanted
            sizes.append(wanted)
        return self._kept[self._asked, found]

    def constant(self, array: NDArray[Any]) -> Any:
        """A buffer with a copy of ``array``, which no kernel writes; None if it is too large, or
        was never asked for."""
        if not 0 < array.nbytes <= CONSTANT_BYTES:
            return None
        key = array.tobytes()
        if key not in self._constants:
            if hash(key) not in self._seen:
                self._seen.add(hash(key))
                return None
            made = new_buffer(self._runtime, array)
            self._constants[key] = LASTING[id(made)] = made
        self._asked += 1  # as the request was when it was not known yet, so that others keep theirs
        return self._constants[key]

    def large(self, size: int) -> Any:
        """The large buffer, once a job; None if it is too small for these ``size`` bytes, and may
        not become larger."""
        if not POOLED_BYTES < size <= self._most_large or self._large_lent:
            return None
        found = next((one for has, one in self._large.items() if has >= size), None)
        if found is None:
            _drop(self._large, release=True)
            with suppress(cl.Error):
                found = self._large[size] = new_buffer(self._runtime, size)
        self._large_lent = found is not None
        return found


def small_buffers(runtime: Runtime) -> Arena | Pool | None:
    """An arena or a pool; None if an arena is no small part of the device's memory."""
    if int(runtime.device.global_mem_size) <= 16 * ARENA_BYTES:
        return None
    return Arena(runtime) if runtime.traits.arena else Pool(runtime)
