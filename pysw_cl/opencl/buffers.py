"""Device memory of one tile, accounted for and with an error that says what was needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError
from .device import Runtime


class Buffers:
    """Allocates buffers for one job and frees them together; ``bytes`` is what they hold."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._held: list[Any] = []
        self.bytes = 0

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        """Release every buffer."""
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

        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return self._make(array.nbytes, flags, np.ascontiguousarray(array))

    def empty(self, size: int) -> Any:
        """A buffer of ``size`` bytes with nothing in it yet."""
        import pyopencl as cl

        return self._make(max(size, 4), cl.mem_flags.READ_WRITE, None)

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
