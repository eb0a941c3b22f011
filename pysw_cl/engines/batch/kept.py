"""What stays on the device: codes of prepared pairs between calls, memory between batches."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from ...errors import DeviceMemoryError
from ...opencl.device import Runtime

if TYPE_CHECKING:
    from ...opencl.buffers import Buffers

Letters = NDArray[np.uint8]
Ints = NDArray[np.int32]


class KeptCodes:
    """The codes of pairs on a device, a row of lanes for each letter, group after group.  ``text``
    and ``pairs``: as `BatchEngine.start` takes them.  ``sizes``: the bytes of each group.  The
    pairs and the places of groups are kept, too."""

    def __init__(
        self, runtime: Runtime, text: Letters, pairs: Ints, sizes: NDArray[np.int64]
    ) -> None:
        from ...opencl.buffers import Buffers  # not before a device is used

        self.text, self.pairs = text, pairs
        #: The first byte of each group.
        self.places = np.cumsum(sizes) - sizes
        self._begun, self.there = (np.zeros(len(sizes), np.bool_) for _ in range(2))
        self._buffers = Buffers(runtime)
        self.buffer = self._buffers.empty(int(sizes.sum()))
        self.pairs_buffer, self.places_buffer = map(self._buffers.of, (pairs, self.places))
        self.bytes = self._buffers.bytes
        self._lock = threading.Lock()
        finalize(self, self._buffers.free)  # at exit, too: before the drivers are unloaded

    def lend(self, first: int, count: int) -> LentCodes | None:
        """The codes of ``count`` groups from ``first`` on; None while another batch makes them."""
        some = slice(first, first + count)
        with self._lock:
            there = bool(self.there[some].all())
            if not there and self._begun[some].any():
                return None
            self._begun[some] = True
        return LentCodes(self, some, there)


class LentCodes(NamedTuple):
    """The kept codes of consecutive groups, as a batch makes or uses them."""

    of: KeptCodes
    groups: slice
    #: Are they there?  Else the batch makes them.
    there: bool

    @property
    def all(self) -> bool:
        return self.groups == slice(0, len(self.of.there))

    def done(self) -> None:
        """The batch has run, and all letters have codes."""
        self.of.there[self.groups] = True


@dataclass
class KeptStore:
    """What is kept of prepared pairs; engines of several threads may use it at once."""

    _codes: dict[Any, KeptCodes] = field(default_factory=dict)
    _memory: dict[Any, RetainedMemory] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    @property
    def bytes(self) -> int:
        """The memory of devices that it takes."""
        return sum(one.bytes for kept in (self._codes, self._memory) for one in kept.values())

    def take_memory(self, runtime: Runtime) -> RetainedMemory | None:
        """Take out the memory that the batches of an earlier call used."""
        with self._lock:
            return self._memory.pop(runtime.context, None)

    def keep_memory(self, runtime: Runtime, memory: RetainedMemory, most: int) -> None:
        """Keep that memory for the next call, or free it: if it is more than ``most`` bytes, or
        still in use, or if codes are not kept either."""
        with self._lock:
            wanted = self._codes and runtime.context not in self._memory
            if wanted and memory.bytes <= most and not memory.loans:
                self._memory[runtime.context] = memory
                return
        memory.free()

    def get(
        self,
        runtime: Runtime,
        key: Any,
        text: Letters,
        pairs: Ints,
        sizes: NDArray[np.int64],
        most: int,
    ) -> KeptCodes | None:
        """The codes of these pairs that are kept under ``key`` (see `KeptCodes`); made first if
        there are none.  None where memory lacks, or more than ``most`` bytes would be kept."""
        key = (runtime.context, id(text), len(pairs), key)  # kept codes keep their text
        with self._lock:
            found = self._codes.get(key)
            if found is not None:
                if found.pairs is pairs or np.array_equal(found.pairs, pairs):
                    return found
                del self._codes[key]
            if sum(codes.bytes for codes in self._codes.values()) + int(sizes.sum()) > most:
                return None
            try:
                found = self._codes[key] = KeptCodes(runtime, text, pairs, sizes)
            except DeviceMemoryError:
                return None
        return found

    def free(self) -> None:
        with self._lock:
            self._codes.clear()
            for memory in self._memory.values():
                memory.free()
            self._memory.clear()


class RetainedMemory:
    """Device memory that is kept from batch to batch, because one queue runs them in order."""

    def __init__(self, runtime: Runtime) -> None:
        from ...opencl.buffers import Buffers

        self._own = Buffers(runtime)
        self._host: dict[str, Ints] = {}
        self.loans = 0  # buffers that are lent now
        self._free: dict[str, list[Any]] = {}
        self._text: Letters | None = None
        #: `Buffers.named` (the driver keeps a buffer that is released while a batch uses it).
        self.get, self.free = self._own.named, self._own.free
        finalize(self, self.free)

    @property
    def bytes(self) -> int:
        return self._own.bytes

    def host(self, name: str, shape: tuple[int, ...]) -> Ints:
        """An array of the host, until it is asked for again: new memory costs more than a copy."""
        count = prod(shape)
        if name not in self._host or self._host[name].size < count:
            self._host[name] = np.empty(count, np.int32)
        return self._host[name][:count].reshape(shape)

    def lend(self, name: str, size: int) -> Any:
        """A buffer of at least ``size`` bytes for one batch, which gives it back (`take_back`)."""
        self.loans += 1
        free = self._free.setdefault(name, [])
        fits = [k for k, buffer in enumerate(free) if buffer.size >= size]
        if fits:
            return free.pop(min(fits, key=lambda k: free[k].size))
        return self._own.empty(size)

    def take_back(self, lent: Mapping[str, Any]) -> None:
        """No command uses these buffers any more, by their names."""
        self.loans -= len(lent)
        for name, buffer in lent.items():
            self._free[name].append(buffer)

    def sent(self, name: str, array: NDArray[Any], batch: Buffers) -> Any:
        """The buffer of this name, with a copy of ``array``.  ``batch``: the buffers of the batch
        that needs it, which keep the array until it is copied.  (A buffer that is made with its
        contents may wait for the kernel that runs.)"""
        buffer = self.get(name, array.nbytes)
        batch.write(buffer, array)
        return buffer

    def letters(self, text: Letters, batch: Buffers) -> Any:
        """The letters on the device; successive batches with the same ``text`` share them."""
        if self._text is not text:
            self._text = None  # in case the copy fails
            self.sent("text", text, batch)
            self._text = text
        return self.get("text", text.nbytes)
