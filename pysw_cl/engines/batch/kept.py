"""The codes of pairs in the layout of a device's lanes, kept there from call to call."""

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
