"""Device memory of one tile, accounted for and with an error that says what was needed."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError
from ..tiles.edges import DeviceEdge
from .device import Runtime

#: Bytes of a thread's arena: a small tile's buffers are parts of it, which are there already.
ARENA_BYTES = 4 << 20
#: Parts that an arena keeps from job to job.
MOST_PARTS = 512
#: The largest buffer that a thread's pool keeps, and how many.
POOLED_BYTES = 1 << 18
MOST_POOLED = 256

#: Parts of arenas by their id: buffers that last, which kernels may stay bound to.
LASTING: dict[int, Any] = {}


def part_align(runtime: Runtime) -> int:
    """Bytes of which a part of a buffer begins at a multiple."""
    return max(128, int(runtime.device.mem_base_addr_align) // 8)


class Arena:
    """One buffer of a thread, lent to one job at a time.  What the host gives lies at its start,
    with a copy on the host that is sent at once; what it does not give lies at its end."""

    def __init__(self, runtime: Runtime) -> None:
        import pyopencl as cl

        self._queue = runtime.queue
        self._buffer = cl.Buffer(runtime.context, cl.mem_flags.READ_WRITE, ARENA_BYTES)
        self._host = np.zeros(ARENA_BYTES, np.uint8)
        self._align = part_align(runtime)
        self._parts: dict[tuple[int, int], Any] = {}
        self._low, self._high = 0, ARENA_BYTES
        self.lent = False

    def begin(self) -> None:
        """All of it is free again.  Parts are forgotten only now: a kernel may be bound to one."""
        if len(self._parts) > MOST_PARTS:
            self.forget()
        self._low, self._high = 0, ARENA_BYTES

    def forget(self) -> None:
        """Drop the parts."""
        for part in self._parts.values():
            LASTING.pop(id(part), None)
        self._parts.clear()

    def part(self, size: int, array: NDArray[Any] | None) -> Any:
        """A part of ``size`` bytes, with a copy of ``array``; None if there is no room."""
        room = -(-size // self._align) * self._align
        if not 0 < room <= self._high - self._low:
            return None
        if array is None:
            self._high -= room
            return self._part(self._high, size)
        start, self._low = self._low, self._low + room
        self._host[start : start + size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return self._part(start, size)

    def _part(self, start: int, size: int) -> Any:
        if (start, size) not in self._parts:
            part = self._buffer.get_sub_region(start, size)
            self._parts[start, size] = LASTING[id(part)] = part
        return self._parts[start, size]

    def send(self) -> None:
        """Enqueue the copy of what the host gave."""
        import pyopencl as cl

        if self._low:
            host = self._host[: self._low]
            cl.enqueue_copy(self._queue, self._buffer, host, is_blocking=False)


class Pool:
    """Buffers of a thread that are kept, lent to one job at a time: the k-th that a job asks for is
    the one of its size, or a larger one, that another job's k-th was.  None is released before all
    are, for which a driver may wait until nothing runs."""

    def __init__(self, runtime: Runtime, most: int = POOLED_BYTES) -> None:
        self._runtime, self._most = runtime, most
        self._kept: dict[tuple[int, int], Any] = {}
        self._sent: list[Any] = []
        self._asked = 0
        self.lent = False

    def begin(self) -> None:
        """All of it is free again."""
        if len(self._kept) > MOST_POOLED:
            self.forget()
        self._asked = 0
        self._sent.clear()

    def forget(self) -> None:
        """Drop the buffers."""
        for buffer in self._kept.values():
            LASTING.pop(id(buffer), None)
            buffer.release()
        self._kept.clear()

    @property
    def bytes(self) -> int:
        """What the buffers take."""
        return sum(size for _, size in self._kept)

    def part(self, size: int, array: NDArray[Any] | None) -> Any:
        """A buffer of at least ``size`` bytes, with a copy of ``array``; None if that is much."""
        import pyopencl as cl

        if not 0 < size <= self._most:
            return None
        self._asked += 1
        key = self._asked, min(1 << max(10, (size - 1).bit_length()), self._most)
        if key not in self._kept:
            key = min((old for old in self._kept if old[0] == key[0] and old > key), default=key)
        if key not in self._kept:
            made = cl.Buffer(self._runtime.context, cl.mem_flags.READ_WRITE, key[1])
            self._kept[key] = LASTING[id(made)] = made
        buffer = self._kept[key]
        if array is not None:
            host = np.ascontiguousarray(array)
            copy = cl.enqueue_copy(self._runtime.queue, buffer, host, is_blocking=False)
            self._sent.append(copy)  # it holds the array
        return buffer

    def send(self) -> None:
        """Nothing is left to send."""


class RetainedBuffers:
    """What outlives jobs: one large buffer that goes from job to job (new memory is page faults on
    first use), and edges that stay where they were computed as long as anybody has them."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self.edges: WeakSet[DeviceEdge] = WeakSet()

    @property
    def edge_bytes(self) -> int:
        """Memory of the edges that somebody still has."""
        return sum({id(edge.buffer): edge.buffer.size for edge in self.edges}.values())

    def take(self, size: int) -> Any:
        """The buffer that is kept, if it has ``size`` bytes; else it is released."""
        while self._kept:
            buffer = self._kept.pop()
            if buffer.size >= size:
                return buffer
            buffer.release()
        return None

    def give(self, buffer: Any) -> None:
        """A buffer that no kernel uses any more."""
        if self._kept:
            buffer.release()
        else:
            self._kept.append(buffer)


class Buffers:
    """Allocates buffers for one job and frees them together; ``bytes`` is what they hold.

    ``small``: take what fits from what this thread keeps; :meth:`send` must then be called before
    a kernel runs.  ``pool``: take all that one buffer may hold from it.  ``room``: where the job
    looks for memory that outlives it.  ``aside``: kernels are launched on another queue, so that
    :meth:`send` has to wait for what was copied.
    """

    def __init__(
        self,
        runtime: Runtime,
        small: bool = False,
        room: RetainedBuffers | None = None,
        pool: Pool | None = None,
        aside: bool = False,
    ) -> None:
        self._runtime = runtime
        self._room = room or RetainedBuffers()
        self._held: list[Any] = []
        self._sent: list[Any] = []
        self._kept: Arena | Pool | None = None
        self._aside = aside
        self.bytes = 0
        kept: Arena | Pool | None = pool
        if small and _large(runtime):
            kept = runtime.arena(Arena if runtime.traits.arena else Pool)
        if kept is not None and not kept.lent:
            kept.lent, self._kept = True, kept
            kept.begin()

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Release every buffer."""
        if self._kept is not None:
            self._kept.lent, self._kept = False, None
        for buffer in self._held:
            buffer.release()
        self._held.clear()
        self._sent.clear()
        self.bytes = 0

    def _make(self, size: int, flags: int, host: NDArray[Any] | None) -> Any:
        import pyopencl as cl

        self.bytes += size
        device = self._runtime.device
        limit, piece = int(device.global_mem_size), int(device.max_mem_alloc_size)
        needed = DeviceError(
            f"{self._runtime.info.name} ran out of memory: {self.bytes / 2**20:,.1f} MiB needed, "
            f"{limit / 2**20:,.1f} MiB there, {piece / 2**20:,.1f} MiB in one piece; smaller tiles "
            "need less (plan: tile_cells, traceback_tile_cells)"
        )
        if self.bytes > limit:
            raise needed
        try:
            if host is not None:
                buffer = cl.Buffer(self._runtime.context, flags, hostbuf=host)
            else:
                buffer = cl.Buffer(self._runtime.context, flags, size)
        except cl.Error:  # INVALID_BUFFER_SIZE (more than one allocation may have) included
            raise needed from None
        self._held.append(buffer)
        return buffer

    def of(self, array: NDArray[Any]) -> Any:
        """A buffer that starts as a copy of ``array``."""
        import pyopencl as cl

        part = self._part(array.nbytes, array)
        if part is not None:
            return part
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return self._make(array.nbytes, flags, np.ascontiguousarray(array))

    def empty(self, size: int) -> Any:
        """A buffer of ``size`` bytes with nothing in it yet."""
        import pyopencl as cl

        size = max(size, 4)
        part = self._part(size, None)
        return self._make(size, cl.mem_flags.READ_WRITE, None) if part is None else part

    def offset(self, size: int) -> Any:
        """A buffer as :meth:`empty` makes it that goes when nobody has it any more."""
        import pyopencl as cl

        made = self._make(max(size, 4), cl.mem_flags.READ_WRITE, None)
        self._held.remove(made)
        return made

    def again(self, buffer: Any, size: int) -> Any:
        """``buffer``, one of these or None, if it has ``size`` bytes; else a new one instead."""
        import pyopencl as cl

        if buffer is not None:
            if buffer.size >= size:
                return buffer
            self._held.remove(buffer)
            self.bytes -= buffer.size
            buffer.release()
        return self._make(size, cl.mem_flags.READ_WRITE, None)

    def lasting(self, size: int) -> Any:
        """A buffer of at least ``size`` bytes that is not freed with the others; who has it at last
        gives it to the room."""
        import pyopencl as cl

        kept = self._room.take(size)
        if kept is not None:
            self.bytes += kept.size
            return kept
        made = self._make(size, cl.mem_flags.READ_WRITE, None)
        self._held.remove(made)
        return made

    def _part(self, size: int, array: NDArray[Any] | None) -> Any:
        import pyopencl as cl

        if self._kept is None:
            return None
        try:
            part = self._kept.part(size, array)
        except cl.Error as error:
            raise DeviceError(f"{self._runtime.info.name} failed: {error}") from None
        if part is not None:
            self.bytes += size
        return part

    def write(self, buffer: Any, array: NDArray[Any], offset: int = 0) -> None:
        """Enqueue the copy of ``array`` to a buffer from byte ``offset`` on."""
        import pyopencl as cl

        queue = self._runtime.queue
        try:
            if array.strides == (0,) and len(array):  # one number, seen many times
                size = len(array) * array.itemsize
                cl.enqueue_fill_buffer(queue, buffer, array[:1].copy(), offset, size)
                return
            array = np.ascontiguousarray(array)
            copy = cl.enqueue_copy(queue, buffer, array, dst_offset=offset, is_blocking=False)
        except cl.Error as error:
            raise DeviceError(f"{self._runtime.info.name} failed: {error}") from None
        self._sent.append(copy)  # it holds the array

    def move(self, source: Any, start: int, to: Any, place: int, count: int) -> None:
        """Enqueue the copy of 32-bit numbers from one buffer to another."""
        import pyopencl as cl

        queue, size = self._runtime.queue, 4 * count
        try:
            cl.enqueue_copy(
                queue, to, source, src_offset=4 * start, dst_offset=4 * place, byte_count=size
            )
        except cl.Error as error:
            raise DeviceError(f"{self._runtime.info.name} failed: {error}") from None

    def send(self) -> None:
        """Enqueue what is still to be copied to the device."""
        import pyopencl as cl

        try:
            if self._kept is not None:
                self._kept.send()
            if self._aside:
                self._runtime.queue.finish()
        except cl.Error as error:
            raise DeviceError(f"{self._runtime.info.name} failed: {error}") from None

    def read(self, buffer: Any, count: int, offset: int = 0, dtype: Any = np.int32) -> NDArray[Any]:
        """``count`` items of a buffer from item ``offset``; waits for the queue."""
        import pyopencl as cl

        out = np.empty(count, dtype)
        if count:
            start = offset * out.itemsize
            try:
                cl.enqueue_copy(self._runtime.queue, out, buffer, src_offset=start).wait()
            except cl.Error as error:  # what went wrong in a kernel often shows here
                raise DeviceError(f"{self._runtime.info.name} failed: {error}") from None
        return out


def _large(runtime: Runtime) -> bool:
    """Is an arena little of the device's memory?"""
    return int(runtime.device.global_mem_size) > 16 * ARENA_BYTES
