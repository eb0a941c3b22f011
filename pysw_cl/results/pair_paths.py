"""The paths of many pairs in arrays, without a Python object for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cigar import runs_of_text

Ints = NDArray[np.int64]
#: BAM's codes of the operations (SAM specification, 4.2).
_BAM = np.zeros(256, np.uint32)
_BAM[list(b"MIDNSHP=X")] = np.arange(9)


@dataclass
class CigarText:
    """The CIGARs of ``count`` pairs as letters, as they arrive in any order."""

    count: int
    _texts: list[NDArray[np.uint8]] = field(default_factory=list)
    _pairs: list[Ints] = field(default_factory=list)
    _lengths: list[Ints] = field(default_factory=list)

    def add(self, pairs: Ints, letters: NDArray[np.uint8], starts: Ints, stops: Ints) -> None:
        """The CIGAR of ``pairs[i]`` is ``letters[starts[i]:stops[i]]`` (ASCII), which is copied.
        It takes the place of an earlier one."""
        lengths = np.maximum(stops - starts, 0)
        ends = lengths.cumsum()
        places = np.arange(int(ends[-1]) if len(ends) else 0)
        places += np.repeat(starts - (ends - lengths), lengths)
        self._texts.append(letters[places])
        self._pairs.append(pairs)
        self._lengths.append(lengths)

    def put(self, pair: int, cigar: str) -> None:
        """The CIGAR of one pair."""
        letters = np.frombuffer(cigar.encode("ascii"), np.uint8)
        self._texts.append(letters)
        self._pairs.append(np.array([pair]))
        self._lengths.append(np.array([len(letters)]))

    def joined(self) -> tuple[NDArray[np.uint8], Ints]:
        """All CIGARs in the order of the pairs, and where each begins, then where the last ends."""
        starts, lengths = np.zeros((2, self.count), np.int64)
        first = 0
        for text, pairs, sizes in zip(self._texts, self._pairs, self._lengths, strict=True):
            starts[pairs], lengths[pairs] = first + sizes.cumsum() - sizes, sizes
            first += len(text)
        text = np.concatenate([np.zeros(0, np.uint8), *self._texts])
        offsets = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        if len(text) != offsets[-1] or not np.array_equal(starts, offsets[:-1]):
            text = text[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)]
        return text, offsets

    def strings(self) -> NDArray[np.object_]:
        """The CIGARs (str) in the order of the pairs; "" where none came."""
        return strings_of(*self.joined())


def strings_of(text: NDArray[np.uint8], offsets: Ints) -> NDArray[np.object_]:
    """The strings ``text[offsets[k]:offsets[k + 1]]`` (ASCII)."""
    found = np.empty(len(offsets) - 1, object)
    letters, places = text.tobytes().decode("latin-1"), offsets.tolist()
    found[:] = [letters[a:b] for a, b in pairwise(places)]
    return found


class PairPaths:
    """What `align_paths` finds: a row for each pair, in order, and the paths in arrays.

    ``len(paths)`` is the number of pairs; ``paths["score"]`` is a column, and ``paths["cigar"]``
    that of the CIGARs.  `offsets` and `runs` are made when they are first read, and so is `cigar`.
    """

    #: A structured array: the fields of `align_many`'s "path" without the CIGAR.
    rows: NDArray[Any]

    def __init__(self, rows: NDArray[Any], text: NDArray[np.uint8], offsets: Ints) -> None:
        self.rows, self._text, self._places = rows, text, offsets

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<PairPaths of {len(self):,} pairs>"

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.cigar if name == "cigar" else self.rows[name]

    @cached_property
    def cigar(self) -> NDArray[np.object_]:
        """The CIGARs (str), SAM's extended ones."""
        return strings_of(self._text, self._places)

    @cached_property
    def _both(self) -> tuple[NDArray[np.uint32], Ints]:
        runs, offsets = runs_of_text(self._text, self._places)
        words: NDArray[np.uint32] = runs.lengths.astype(np.uint32) << np.uint32(4)
        words |= _BAM[runs.ops]
        return words, offsets

    @property
    def runs(self) -> NDArray[np.uint32]:
        """The runs of all paths in turn, as BAM has them (SAM specification, 4.2): the length times
        16, plus the operation, 1 for I, 2 for D, 7 for = and 8 for X."""
        return self._both[0]

    @property
    def offsets(self) -> Ints:
        """Where the runs of each path begin in `runs`, then where the last ones end."""
        return self._both[1]

    def table(self) -> NDArray[Any]:
        """The array that `align_many` gives with output "path"."""
        names = list(self.rows.dtype.names or ())
        kinds = [(name, self.rows.dtype[name]) for name in names]
        place = names.index("columns") + 1
        kinds.insert(place, ("cigar", np.dtype(object)))
        table = np.empty(len(self), kinds)
        for name in names:
            table[name] = self.rows[name]
        table["cigar"] = self.cigar
        return table
