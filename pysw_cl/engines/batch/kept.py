"""What stays on the device: the codes of prepared pairs from call to call, memory from batch to
batch."""

from __future__ import annotations

import atexit
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DeviceMemoryError
from ...opencl.buffers import Buffers
from ...opencl.device import Runtime

Letters = NDArray[np.uint8]


class KeptCodes:
    """The codes of pairs on a device, a row of lanes for each letter, group after group.

    ``text`` and ``pairs``: as `BatchEngine.start` takes them.  ``sizes``: the bytes of each
    group."""

    def __init__(
        self, runtime: Runtime, text: Letters, pairs: NDArray[np.int32], sizes: NDArray[np.int64]
    ) -> None:
        self.text, self.pairs = text, pairs
        self.bytes = int(sizes.sum())
        self._places = np.cumsum(sizes) - sizes
        self._begun, self._there = (np.zeros(len(sizes), np.bool_) for _ in range(2))
        #: It goes with the last reference.
        self.buffer = Buffers(runtime).offset(self.bytes)
        self._lock = threading.Lock()
        _all.add(self)

    def lend(self, first: int, count: int) -> LentCodes | None:
        """The codes of ``count`` groups from group ``first`` on; None while another batch makes
        them."""
        some = slice(first, first + count)
        with self._lock:
            there = bool(self._there[some].all())
            if not there and self._begun[some].any():
                return None
            self._begun[some] = True
        return LentCodes(self, some, there, self._places[some])

    def made(self, groups: slice) -> None:
        """The codes of these groups are there."""
        self._there[groups] = True


_all: weakref.WeakSet[KeptCodes] = weakref.WeakSet()


@atexit.register
def _forget() -> None:
    """Release buffers at exit, before the drivers are unloaded."""
    for codes in list(_all):
        codes.buffer.release()


@dataclass(frozen=True)
class LentCodes:
    """The kept codes of consecutive groups, as a batch makes or uses them."""

    of: KeptCodes
    groups: slice
    #: Are they there?  Else the batch makes them.
    there: bool
    #: The first byte of each group.
    places: NDArray[np.int64]

    def done(self) -> None:
        """The batch has run, and all letters have codes."""
        self.of.made(self.groups)


@dataclass
class KeptStore:
    """What is kept of prepared pairs; engines of several threads may use it at once."""

    _codes: dict[Any, KeptCodes] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    @property
    def bytes(self) -> int:
        """The memory of devices that it takes."""
        return sum(codes.bytes for codes in self._codes.values())

    def get(
        self,
        runtime: Runtime,
        key: Any,
        text: Letters,
        pairs: NDArray[np.int32],
        sizes: NDArray[np.int64],
        most: int,
    ) -> KeptCodes | None:
        """The codes of these pairs that are kept under ``key`` (see `KeptCodes`); made first if
        there are none.  None where memory lacks, or more than ``most`` bytes would be kept."""
        with self._lock:
            found = self._codes.get(key)
            if found is not None and found.text is text and np.array_equal(found.pairs, pairs):
                return found
            self._codes.pop(key, None)
            if self.bytes + int(sizes.sum()) > most:
                return None
            try:
                found = self._codes[key] = KeptCodes(runtime, text, pairs, sizes)
            except DeviceMemoryError:
                return None
        return found

    def free(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._codes.clear()


class RetainedMemory:
    """Device memory that is kept from batch to batch, because one queue runs them in order."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._owners: dict[str, Buffers] = {}
        self._buffers: dict[str, Any] = {}
        self._text: NDArray[np.uint8] | None = None

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(owner.bytes for owner in self._owners.values())

    def free(self) -> None:
        """Give it back."""
        for owner in self._owners.values():
            owner.free()

    def get(self, name: str, size: int) -> Any:
        """The buffer of this name, with at least ``size`` bytes."""
        owner = self._owners.get(name)
        if owner is None or owner.bytes < size:
            if owner is not None:
                owner.free()  # the driver keeps it while a batch uses it
            owner = self._owners[name] = Buffers(self._runtime)
            self._buffers[name] = owner.empty(size)
        return self._buffers[name]

    def letters(self, text: NDArray[np.uint8]) -> Any:
        """The letters on the device; successive batches with the same ``text`` share them."""
        if self._text is not text:
            if "text" in self._owners:
                self._owners["text"].free()  # the driver keeps it while a batch uses it
            self._owners["text"] = Buffers(self._runtime)
            self._buffers["text"], self._text = self._owners["text"].of(text), text
        return self._buffers["text"]
