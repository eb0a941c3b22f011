"""Prepared pairs: letters and places in arrays, which no call takes apart again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.kept import KeptStore
from ..errors import InputError, is_iterable, shown
from ..planning.pair_batch import filled
from ..sequences.sequence_set import SequenceSet
from .batch_layout import PIECE, Lengths, PartOf, Row, alike, as_halves, joined, lengths_of, part_of

#: Pairs that are looked at together, and as how many letters those that lie between sequences
#: count at most, before the sequences are copied.
BLOCK, MOST_BETWEEN = 1 << 16, 2.0


class Batch(Sequence[tuple[bytes, bytes]]):
    """Pairs of sequences that are prepared for `align_many`, which takes a Batch in the place of
    pairs, any number of times, with any options.

    What is made of the letters for a device stays there from call to call: a byte a letter, as long
    as the Batch lives, or until `free`.  So does the memory that the last call worked in, if it is
    at most a sixteenth of the device's.  A Batch is a sequence of (query, target), as bytes, so
    whatever takes pairs takes it.  Several threads may use one at once.  It can be pickled."""

    #: Are pairs aligned again and again, so that engines keep their codes?
    again = True

    def __init__(self, queries: SequenceSet, targets: SequenceSet) -> None:
        for side in (queries, targets):
            if not isinstance(side, SequenceSet):
                raise InputError(f"a Batch is made of two SequenceSets, not of {shown(side)}")
        if len(queries) != len(targets):
            many = f"{len(queries):,} queries and {len(targets):,} targets"
            raise InputError(f"there are {many}; give as many of both")
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
        from 0.  Letters outside an alphabet are found when they are aligned."""
        check_pairs(pairs)
        if isinstance(pairs, Batch):
            return cls(pairs._queries, pairs._targets)
        listed = pairs if isinstance(pairs, list | tuple) else list(pairs)
        row, sizes = Row(), list[Lengths]()
        for first in range(0, len(listed), PIECE):
            texts = alike(as_halves(listed[first : first + PIECE], first), first)
            row.add(joined(texts, texts, first), -(-(len(listed) - first) // PIECE))
            sizes.append(lengths_of(texts).ravel())
        return cls.joined(row.letters, np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])))

    @classmethod
    def joined(cls, text: bytes | NDArray[np.uint8], bounds: Lengths) -> Batch:
        """The Batch of letters (ASCII) that are joined already, queries and targets in turn.
        ``bounds``: where each begins in ``text``, and where the last one ends."""
        letters = np.frombuffer(text, np.uint8)
        starts, ends = bounds[:-1], bounds[1:]
        return cls(*(SequenceSet.of(letters, starts[k::2], ends[k::2]) for k in range(2)))

    @classmethod
    def from_arrays(
        cls, query_letters: Any, query_offsets: Any, target_letters: Any, target_offsets: Any
    ) -> Batch:
        """The Batch of queries and targets that are in arrays, as Arrow's string columns are.

        See `SequenceSet.from_arrays`, which also says what it raises; InputError for offsets that
        are not as many for queries as for targets, too."""
        queries = SequenceSet.from_arrays(query_letters, query_offsets, "query")
        return cls(queries, SequenceSet.from_arrays(target_letters, target_offsets, "target"))

    def __len__(self) -> int:
        return len(self._queries.starts)

    @overload
    def __getitem__(self, key: int) -> tuple[bytes, bytes]: ...
    @overload
    def __getitem__(self, key: slice) -> list[tuple[bytes, bytes]]: ...
    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            return [self[k] for k in range(len(self))[key]]
        return self._queries[key].tobytes(), self._targets[key].tobytes()

    def __repr__(self) -> str:
        return f"<Batch of {len(self):,} pairs>"

    def __reduce__(self) -> Any:
        return Batch, (self._queries, self._targets)

    @property
    def lengths(self) -> Lengths:
        """The letters of queries and targets (int64, n x 2)."""
        return np.stack([self._queries.lengths, self._targets.lengths], axis=1)

    @property
    def kept_bytes(self) -> int:
        """The memory of devices that is kept for the next call."""
        return self.store.bytes

    def free(self) -> None:
        """Free that memory; the next call makes it again."""
        self.store.free()

    def pieces(self) -> Iterator[NDArray[np.uint8]]:
        """The letters of all pairs, in some order."""
        for first in range(0, len(self), BLOCK):
            yield from self.laid_out(first, min(first + BLOCK, len(self)), 1)[0]

    def parts(self, most_pairs: int, most_letters: int, longest: int) -> list[PartOf]:
        """See `batch_layout.parts`.  They are made once."""
        key = (most_pairs, most_letters, longest)
        if key not in self._parts:
            found, first, every = list[PartOf](), 0, self.lengths
            while first < len(self):
                lengths = every[first : first + most_pairs]
                _, count, *_ = filled(lengths.sum(axis=1), most_letters)  # of long ones, too
                regions, starts = self.laid_out(first, first + count)
                text = regions[0] if len(regions) == 1 else np.concatenate(regions)
                found.append(part_of(text, starts, lengths[:count], first, longest, self.again))
                first += count
            self._parts = {key: found}
        return self._parts[key]

    def laid_out(
        self, first: int, stop: int, most: float = MOST_BETWEEN
    ) -> tuple[list[NDArray[np.uint8]], Lengths]:
        """Letters with the sequences of the pairs from ``first`` to ``stop``, in one array or two
        that follow each other, and where queries and targets begin in them (n x 2).  They are
        copied if they would be ``most`` times as many with what lies between them."""
        sides = self._queries[first:stop], self._targets[first:stop]
        spans = [(int(side.starts.min()), int(side.ends.max())) for side in sides]
        both = min(spans)[0], max(end for _, end in spans)
        apart = sum(end - start for start, end in spans)
        if sides[0].letters is sides[1].letters and both[1] - both[0] <= apart:
            spans, apart = [both], both[1] - both[0]
        lengths = np.concatenate([side.lengths for side in sides])
        if apart > most * lengths.sum():
            starts = (lengths.cumsum() - lengths).reshape(2, -1).T
            return [np.concatenate([side.text() for side in sides])], starts
        regions = [side.read(*span) for side, span in zip(sides, spans, strict=False)]
        ahead = [0] if len(spans) == 1 else [0, len(regions[0])]
        starts = np.stack([side.starts for side in sides], axis=1)
        begin = np.array([start for start, _ in spans], np.int64) - np.array(ahead, np.int64)
        return regions, starts - begin


def check_pairs(pairs: Any) -> None:
    """Raise InputError for what is no iterable of pairs, as one text is none."""
    if isinstance(pairs, str | bytes | bytearray) or not is_iterable(pairs):
        kind = type(pairs).__name__
        raise InputError(f"pairs must be an iterable of (query, target), not {kind}")
