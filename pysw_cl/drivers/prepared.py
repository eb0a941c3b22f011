"""Prepared pairs: letters and places in arrays, which no call takes apart again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.kept import KeptStore
from ..errors import InputError, is_iterable
from ..sequences.lent import Lent, kept, refuse_masked
from .batch_layout import (
    PIECE,
    Lengths,
    Part,
    PartOf,
    Row,
    as_halves,
    letters_of,
    rows_of,
)


@dataclass(frozen=True)
class Column:
    """Sequences of one side: ``letters`` (uint8, ASCII), and where each starts and ends in them.
    They follow each other."""

    letters: NDArray[np.uint8]
    starts: Lengths
    ends: Lengths
    #: What looks whether the letters have changed; None: they cannot.
    lent: Lent | None = None

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """The letters from ``start`` up to ``stop``.  Raises SequenceError if they have changed."""
        if self.lent is not None:
            self.lent.look(start, stop, "Batch")
        return self.letters[start:stop]


class Batch(Sequence[tuple[bytes, bytes]]):
    """Pairs of sequences that are prepared for `align_many`, which takes a Batch in the place of
    pairs, any number of times, with any options.

    What is made of the letters for a device stays there from call to call: a byte a letter, as long
    as the Batch lives, or until `free`.  So does the memory that the last call worked in, if it is
    at most a sixteenth of the device's.  A Batch is a sequence of (query, target), as bytes, so
    whatever takes pairs takes it.  Several threads may use one at once.  It can be pickled.
    """

    def __init__(self, queries: Column, targets: Column) -> None:
        self._queries, self._targets = queries, targets
        self._parts: dict[tuple[int, int, int], list[PartOf]] = {}
        #: What engines keep for the next call.
        self.store = KeptStore()
        #: What was found out about the letters, by what it depends on.
        self.known: dict[Any, Any] = {}

    @classmethod
    def from_sequences(cls, pairs: Iterable[Any]) -> Batch:
        """The Batch of some (query, target), each as `align` takes them.

        ``pairs`` is read once, and its sequences are copied.  Raises InputError for a value that is
        no pair, and SequenceError for one that is no sequence, with the number of the pair, counted
        from 0.  Letters outside an alphabet are found when they are aligned.
        """
        check_pairs(pairs)
        if isinstance(pairs, Batch):
            return cls(pairs._queries, pairs._targets)
        listed = pairs if isinstance(pairs, list | tuple) else list(pairs)
        row, sizes = Row(), list[Lengths]()
        for first in range(0, len(listed), PIECE):
            text, lengths = letters_of(as_halves(listed[first : first + PIECE], first), first)
            row.add(text, -(-(len(listed) - first) // PIECE))
            sizes.append(lengths)
        bounds = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
        return cls.joined(row.letters, bounds)

    @classmethod
    def joined(cls, text: bytes | NDArray[np.uint8], bounds: Lengths) -> Batch:
        """The Batch of letters (ASCII) that are joined already, queries and targets in turn.
        ``bounds``: where each begins in ``text``, and where the last one ends."""
        letters = np.frombuffer(text, np.uint8)
        starts, ends = bounds[:-1], bounds[1:]
        return cls(
            Column(letters, starts[0::2], ends[0::2]), Column(letters, starts[1::2], ends[1::2])
        )

    @classmethod
    def from_arrays(
        cls, query_letters: Any, query_offsets: Any, target_letters: Any, target_offsets: Any
    ) -> Batch:
        """The Batch of queries and targets that are in arrays, as Arrow's string columns are.

        ``..._letters`` are uint8 arrays (or anything with that buffer) of ASCII letters, one
        sequence after the other, and ``..._offsets`` integers, one more than there are pairs:
        sequence k is ``letters[offsets[k]:offsets[k + 1]]``.  At most 65,536 letters that may
        change are copied, and more are not: if these have changed when they are read again,
        SequenceError is raised.  Raises InputError for offsets that fall, that leave the letters,
        or that are not as many for queries as for targets.
        """
        queries = _column(query_letters, query_offsets, "query")
        targets = _column(target_letters, target_offsets, "target")
        if len(queries.starts) != len(targets.starts):
            raise InputError(
                f"there are {len(queries.starts):,} queries and {len(targets.starts):,} targets; "
                "give as many offsets for both"
            )
        return cls(queries, targets)

    def __len__(self) -> int:
        return len(self._queries.starts)

    @overload
    def __getitem__(self, key: int) -> tuple[bytes, bytes]: ...
    @overload
    def __getitem__(self, key: slice) -> list[tuple[bytes, bytes]]: ...
    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            return [self[k] for k in range(len(self))[key]]
        query, target = (
            side.read(int(side.starts[key]), int(side.ends[key])).tobytes()
            for side in (self._queries, self._targets)
        )
        return query, target

    def __repr__(self) -> str:
        return f"<Batch of {len(self):,} pairs>"

    def __getstate__(self) -> dict[str, Any]:
        return {"queries": self._queries, "targets": self._targets}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def lengths(self) -> Lengths:
        """The letters of queries and targets (int64, n x 2)."""
        sides = (self._queries, self._targets)
        return np.stack([side.ends - side.starts for side in sides], axis=1)

    @property
    def kept_bytes(self) -> int:
        """The memory of devices that is kept for the next call."""
        return self.store.bytes

    def free(self) -> None:
        """Free that memory; the next call makes it again."""
        self.store.free()

    def pieces(self) -> Iterator[NDArray[np.uint8]]:
        """The letters of all pairs, in some order."""
        yield from self._regions(0, len(self))

    def parts(self, most_pairs: int, most_letters: int, longest: int) -> list[PartOf]:
        """See `batch_layout.parts`.  They are made once."""
        key = (most_pairs, most_letters, longest)
        found = self._parts.get(key)
        if found is None:
            found = list(self._made(*key))
            self._parts = {key: found}
        return found

    def _made(self, most_pairs: int, most_letters: int, longest: int) -> Iterator[PartOf]:
        every, first = self.lengths, 0
        while first < len(self):
            lengths = every[first : first + most_pairs]
            ends = (lengths[:, 0] + lengths[:, 1]).cumsum()
            count = max(1, int(np.searchsorted(ends, most_letters, "right")))
            lengths, some = lengths[:count], slice(first, first + count)
            short = np.maximum(lengths[:, 0], lengths[:, 1]) <= longest
            regions = self._regions(first, first + count)
            text, apart = regions[0], len(regions) == 2
            if apart:
                text = np.concatenate(regions)
            begin = self._queries.starts[first]
            queries = self._queries.starts[some] - begin
            if apart:
                begin = self._targets.starts[first] - len(regions[0])
            targets = self._targets.starts[some] - begin
            starts = np.stack([queries[short], targets[short]], axis=1)
            index, taken = np.arange(first, first + count), lengths[short]
            part = Part(index[short], text, rows_of(starts, taken), self.store)
            yield part, lengths, index[~short]
            first += count

    def _regions(self, first: int, stop: int) -> list[NDArray[np.uint8]]:
        """Letters with all of the pairs from ``first`` to ``stop``."""
        queries, targets = self._queries, self._targets
        if first == stop:
            return []
        if queries.letters is targets.letters:
            return [queries.read(int(queries.starts[first]), int(targets.ends[stop - 1]))]
        return [
            side.read(int(side.starts[first]), int(side.ends[stop - 1]))
            for side in (queries, targets)
        ]


def _column(letters: Any, offsets: Any, what: str) -> Column:
    """A side from what `Batch.from_arrays` is given."""
    refuse_masked(letters, f"array of {what} letters", InputError)
    refuse_masked(offsets, f"array of {what} offsets", InputError)
    try:
        text = np.frombuffer(letters, np.uint8)
        places = np.asarray(offsets)
    except (TypeError, ValueError, BufferError) as error:
        raise InputError(f"the {what} letters and offsets must be arrays: {error}") from None
    if isinstance(letters, np.ndarray) and letters.dtype != np.uint8:
        raise InputError(f"the {what} letters are an array of {letters.dtype}; they must be uint8")
    if places.ndim != 1 or not len(places) or places.dtype.kind not in "iu":
        raise InputError(
            f"the {what} offsets must be a one-dimensional array of integers, one more than there "
            "are sequences"
        )
    places = places.astype(np.int64)
    if (places[1:] < places[:-1]).any() or places[0] < 0 or places[-1] > len(text):
        raise InputError(
            f"the {what} offsets must rise, from 0 at least to {len(text):,}, the letters, at most"
        )
    text, lent = kept(text)
    if lent is not None and places[0] < places[-1]:
        lent.look(int(places[0]), int(places[-1]), "Batch")
    return Column(text, places[:-1], places[1:], lent)


def check_pairs(pairs: Any) -> None:
    """Raise InputError for what is no iterable of pairs, as one text is none."""
    if isinstance(pairs, str | bytes | bytearray) or not is_iterable(pairs):
        kind = type(pairs).__name__
        raise InputError(f"pairs must be an iterable of (query, target), not {kind}")
