"""A batch of pairs that the device computes, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from ...opencl.buffers import Buffers
from ...opencl.device import Runtime
from .kept import Ints, RetainedMemory

Words = NDArray[np.uint32]

#: The highest score of an end in each row and each column of the pairs of a batch: a line of lanes
#: for each, and the first lines of each group (n x 2).
Tops = tuple[NDArray[np.signedinteger[Any]], NDArray[np.int64]]


class Running(AbstractContextManager["Running"]):
    """A batch that is being computed; `finish` waits for it, and gives its memory back.
    ``at_once``: copies to the host are enqueued behind the kernels.  Else they wait for `finish`,
    and go beside the kernels of the next batch.  Results are in the order of the pairs."""

    #: Numbers x pairs: score, query end, target end, matches, columns, or the first of these, and
    #: last whether there is a wrong letter, unless codes of the letters were there.
    found: Ints
    #: With paths, TRACED x pairs: starts, matches, columns, runs, and score of the path.
    traced: Ints | None = None
    #: The runs of all paths in turn, as BAM has them, and what writes them into their room.
    runs: Words | None = None
    packed: Callable[[Words], None] | None = None
    tops: Tops | None = None

    def __init__(self, runtime: Runtime, memory: RetainedMemory, at_once: bool) -> None:
        self._runtime, self._memory, self._at_once = runtime, memory, at_once
        self.buffers = Buffers(runtime)
        #: Buffers that it gives back, by name.
        self._lent: dict[str, Any] = {}
        self._events: list[Any] = []
        self._later: list[tuple[NDArray[Any], Any, int]] = []

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is not None:
            self._free()

    def lend(self, name: str, size: int) -> Any:
        """A buffer of the retained memory, until the batch is finished."""
        self._lent[name] = self._memory.lend(name, size)
        return self._lent[name]

    def array(self, name: str, shape: tuple[int, ...]) -> Ints:
        """An array for what is fetched: it is the batch's until the next one is finished."""
        return np.empty(shape, np.int32) if self._at_once else self._memory.host(name, shape)

    def fetch_to(self, out: NDArray[Any], buffer: Any, start: int = 0) -> None:
        """Fill ``out`` from byte ``start`` of the buffer on, before `finish` returns."""
        if not self._at_once:
            self._later.append((out, buffer, start))
        elif out.size:
            queue = self._runtime.queue
            copy = cl.enqueue_copy(queue, out, buffer, src_offset=start, is_blocking=False)
            self._events.append(copy)

    def view(self, buffer: Any, count: int) -> Words:
        """The first ``count`` words of a buffer in the host's memory, while `finish` runs."""
        map_buffer: Any = cl.enqueue_map_buffer
        given = self._runtime.queue, buffer, cl.map_flags.READ, 0, (count,), np.uint32
        words: Words
        words, event = map_buffer(*given, is_blocking=False)
        self._events.append(event)
        return words

    def begin(self) -> None:
        """All commands are enqueued; the device begins."""
        if not self._at_once:
            self._events.append(cl.enqueue_marker(self._runtime.queue))
        self._runtime.queue.flush()

    def finish(self, room: Callable[[int], Words] | None = None) -> None:
        """Wait for the batch and give its memory back; DeviceError if the device failed.
        ``room(n)`` gives an array for the n words of all runs, which are not read without it."""
        try:
            with self._runtime.failing():
                cl.wait_for_events(self._events)
                for out, buffer, start in self._later:
                    self.read(out, buffer, start)
            if self.packed is not None and self.traced is not None and room is not None:
                self.runs = room(int(self.traced[4].sum(dtype=np.int64)))
                self.packed(self.runs)
        finally:
            self._free()

    def read(self, out: NDArray[Any], buffer: Any, start: int = 0) -> None:
        """Fill ``out`` now, on a queue beside that of the kernels that run."""
        if out.size:
            queue = self._runtime.beside(0).queue
            cl.enqueue_copy(queue, out, buffer, src_offset=start, is_blocking=True)

    def _free(self) -> None:
        self.packed = None  # which holds a buffer
        self._memory.take_back(self._lent)
        self._lent = {}
        self.buffers.free()


def gather(view: Words, ends: NDArray[np.int64], counts: Ints, out: Words) -> None:
    """Write the words that end at ``ends``, so many of each, and give ``view`` back."""
    places = np.arange(len(out))
    places += np.repeat(ends - counts.cumsum(dtype=np.int64), counts)
    view.take(places, out=out, mode="clip")
    view.base.release()  # type: ignore[union-attr]
