"""Letters in the memory of a caller, who may change it while results still need them: a few are
copied; of many a checksum is kept, and compared where they are read again."""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, SequenceError
from .alphabet import Letters
from .parallel import in_threads

#: At most so many letters are copied: it takes a few microseconds.
SMALL = 1 << 16
#: Letters of one checksum; pieces that a thread reads in turn.
PIECE, IN_TURN = 1 << 17, 64


class Own(bytearray):
    """A buffer that nobody changes once it is a sequence."""


class Lent:
    """Many letters that their owner may change."""

    def __init__(self, letters: Letters) -> None:
        self._letters = letters
        #: The checksum of each piece; 0: nobody has read it.
        self._sums = np.zeros(-(-len(letters) // PIECE), np.uint64)

    def look(self, start: int, stop: int, what: str) -> None:
        """Keep the checksums of the letters ``[start, stop)`` at first, then compare them.  Raises
        SequenceError for letters of the ``what`` that have changed."""
        first, last = start // PIECE, -(-stop // PIECE)
        turns = [slice(k, min(k + IN_TURN, last)) for k in range(first, last, IN_TURN)]
        for turn, sums in zip(turns, in_threads(self._read, turns), strict=True):
            known = self._sums[turn]
            if ((known != sums) & (known != 0)).any():
                raise SequenceError(
                    f"the letters of the {what} have changed in the caller's memory since they "
                    "were first read; give a copy, bytes(letters), if that memory is used again"
                )
            known[:] = sums

    def _read(self, pieces: slice) -> NDArray[np.uint64]:
        """The checksums of some pieces: sums of words by weights; of the rest at the end, CRC."""
        some = self._letters[pieces.start * PIECE : pieces.stop * PIECE]
        whole = len(some) // PIECE * PIECE
        words = np.ascontiguousarray(some[:whole]).view(np.uint64).reshape(-1, PIECE // 8)
        rest = [zlib.crc32(some[whole:].tobytes())] if whole < len(some) else []
        return np.concatenate([words @ _weights(), np.array(rest, np.uint64)]).clip(1)


@cache
def _weights() -> NDArray[np.uint64]:
    """Odd numbers without a pattern."""
    return np.frombuffer(hashlib.shake_128(b"").digest(PIECE), np.uint64) | np.uint64(1)


def kept(letters: Letters) -> tuple[Letters, Lent | None]:
    """The letters as a result may keep them, and what looks for changes (None: none can be)."""
    if not _may_change(letters):
        return letters, None
    if len(letters) <= SMALL:
        return np.frombuffer(letters.tobytes(), np.uint8), None
    view = letters.view()
    view.flags.writeable = False
    return view, Lent(view)


def _may_change(letters: Letters) -> bool:
    owner: Any = letters
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    if owner is None or isinstance(owner, bytes):
        return False
    try:
        owner = memoryview(owner).obj
        return not isinstance(owner, Own) and not memoryview(owner).readonly
    except TypeError:  # not known
        return True


def refuse_masked(x: Any, what: str, error: type[InputError] = SequenceError) -> None:
    """Raise ``error`` for a masked array, whose mask would be lost."""
    if isinstance(x, np.ma.MaskedArray):
        raise error(f"the {what} is a masked array; take out what is masked (compressed())")
