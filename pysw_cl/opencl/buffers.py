"""Device memory of one tile, accounted for and with an error that says what was needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError
from .device import Runtime

#: Bytes of a thread's arena: a small tile's buffers are parts of it, which are there already.
ARENA_BYTES = 4 << 20
#: Parts that an arena keeps from job to job.
MOST_PARTS = 512

#: Parts of arenas by their id: buffers that last, which kernels may stay bound to.
LASTING: dict[int, Any] = {}


class Arena:
    """One buffer of a thread, lent to one job at a time.  What the host gives lies at its start,
    with a copy on the host that is sent at once; what it does not give lies at its end."""

    def __init__(self, runtime: Runtime) -> None:
        import pyopencl as cl

        self.buffer = cl.Buffer(runtime.context, cl.mem_flags.READ_WRITE, ARENA_BYTES)
        self.host = np.zeros(ARENA_BYTES, np.uint8)
        self.align = max(128, int(runtime.device.mem_base_addr_align) // 8)
        self.parts: dict[tuple[int, int], Any] = {}
        self.lent = False

    def forget(self) -> None:
        """Drop the parts."""
        for part in self.parts.values():
            LASTING.pop(id(part), None)
        self.parts.clear()

    def part(self, start: int, size: int) -> Any:
        """The sub-buffer of ``size`` bytes at ``start``, made once."""
        if (start, size) not in self.parts:
            part = self.buffer.get_sub_region(start, size)
            self.parts[start, size] = LASTING[id(part)] = part
        return self.parts[start, size]


class Buffers:
    """Allocates buffers for one job and frees them together; ``bytes`` is what they hold.

    ``small``: take what fits from this thread's arena; :meth:`send` must then be called before a
    kernel runs.
    """

    def __init__(self, runtime: Runtime, small: bool = False) -> None:
        self._runtime = runtime
        self._held: list[Any] = []
        self._arena: Arena | None = None
        self._low = self._high = 0
        self.bytes = 0
        if small and runtime.advice["arena"] and _large(runtime):
            arena = runtime.arena(Arena)
            if not arena.lent:
                if len(arena.parts) > MOST_PARTS:  # not later: a kernel may be bound to one
                    arena.forget()
                arena.lent, self._arena, self._high = True, arena, ARENA_BYTES

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Release every buffer."""
        if self._arena is not None:
            self._arena.lent, self._arena = False, None
        for buffer in self._held:
            buffer.release()
        self._held.clear()
        self.bytes = 0

    def _make(self, size: int, flags: int, host: NDArray[Any] | None) -> Any:
        import pyopencl as cl

        self.bytes += size
        device = self._runtime.device
        limit, piece = int(device.global_mem_size), int(device.max_mem_alloc_size)
        needed = DeviceError(
            f"{self._runtime.info.name} ran out of memory: {self.bytes / 2**20:,.1f} MiB needed, "
            f"{limit / 2**20:,.1f} MiB there, {piece / 2**20:,.1f} MiB in one piece; smaller tiles "
            "need less (plan: tile_cells, walk_cells)"
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

        arena, size = self._arena, array.nbytes
        if arena is not None and 0 < size <= self._high - self._low:
            start, self._low = self._low, self._low + _up(size, arena.align)
            arena.host[start : start + size] = (
                np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            )
            self.bytes += size
            return arena.part(start, size)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return self._make(size, flags, np.ascontiguousarray(array))

    def empty(self, size: int) -> Any:
        """A buffer of ``size`` bytes with nothing in it yet."""
        import pyopencl as cl

        arena, size = self._arena, max(size, 4)
        if arena is not None and _up(size, arena.align) <= self._high - self._low:
            self._high -= _up(size, arena.align)
            self.bytes += size
            return arena.part(self._high, size)
        return self._make(size, cl.mem_flags.READ_WRITE, None)

    def send(self) -> None:
        """Enqueue the copy of what the host gave to the arena."""
        import pyopencl as cl

        if self._arena is None or not self._low:
            return
        device, host = self._arena.buffer, self._arena.host[: self._low]
        try:
            cl.enqueue_copy(self._runtime.queue, device, host, is_blocking=False)
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


def _up(size: int, align: int) -> int:
    """``size`` rounded up to a multiple of ``align``."""
    return -(-size // align) * align
