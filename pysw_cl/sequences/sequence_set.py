"""Many sequences in one array of letters, with their names: in memory, or mapped from files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, SequenceError, is_iterable
from .alphabet import Letters, first_outside
from .lent import Lent, kept, refuse_masked
from .sequence import GOOD, as_letters, as_sequence

Lengths = NDArray[np.int64]
#: Sequences of so many letters, and so many letters in all at most, are copied letter by letter.
SHORT, MOST = 256, 1 << 22


class SequenceSet(Sequence[Letters]):
    """Sequences whose letters lie one after the other in one array (uint8, ASCII), made by
    `from_sequences`, `from_arrays` or `open`.  Two sets of as many sequences make a `Batch`.

    Sequence ``k`` is ``letters[starts[k]:ends[k]]``, and neither an item nor a slice is a copy.
    ``starts`` and ``ends`` are int64 arrays that rise; other letters may lie between sequences."""

    letters: Letters
    starts: Lengths
    ends: Lengths
    _names: SequenceSet | None
    _lent: Lent | None

    def __init__(self) -> None:
        raise InputError("a SequenceSet is made by from_sequences, from_arrays or open")

    @classmethod
    def of(
        cls,
        letters: Letters,
        starts: Lengths,
        ends: Lengths,
        names: SequenceSet | None = None,
        lent: Lent | None = None,
    ) -> SequenceSet:
        """The set of what is checked: starts and ends rise, and lie in the letters."""
        made = cls.__new__(cls)
        made.letters, made.starts, made.ends = letters, starts, ends
        made._names, made._lent = names, lent
        return made

    @classmethod
    def from_sequences(cls, sequences: Iterable[Any]) -> SequenceSet:
        """The set of some sequences, each as `align` takes one: their letters are copied.  Those of
        `read_sequences` keep their names.  Raises SequenceError for what is no sequence."""
        if isinstance(sequences, str | bytes | bytearray) or not is_iterable(sequences):
            kind = type(sequences).__name__
            raise InputError(f"sequences must be an iterable of sequences, not {kind}")
        sequences = list(sequences)
        if (text := _text_of(sequences)) is not None:
            plain = cls._joined(text, sequences)
            if plain.lengths.all() and first_outside(GOOD, plain.letters) is None:
                return plain
        every = [
            as_sequence(x, f"sequence number {k}", alphabet=None) for k, x in enumerate(sequences)
        ]
        names = [one.name.encode(errors="replace") for one in every]
        named = cls._joined(b"".join(names), names) if any(names) else None
        return cls._joined(b"".join(one.letters.tobytes() for one in every), every, named)

    @classmethod
    def _joined(cls, text: bytes, each: list[Any], names: SequenceSet | None = None) -> SequenceSet:
        bounds = np.cumsum([0, *map(len, each)], dtype=np.int64)
        return cls.of(np.frombuffer(text, np.uint8), bounds[:-1], bounds[1:], names)

    @classmethod
    def from_arrays(cls, letters: Any, offsets: Any, what: str = "sequence") -> SequenceSet:
        """The set of sequences that are in arrays, as Arrow's string columns are.

        ``letters`` is a uint8 array (or anything with that buffer) of ASCII letters, and
        ``offsets`` integers, one more than there are sequences: sequence k is
        ``letters[offsets[k]:offsets[k + 1]]``.  At most 65,536 letters that may change are copied,
        and more are not: if these have changed when they are read again, SequenceError is raised.
        Raises InputError for offsets that fall or leave the letters."""
        refuse_masked(letters, f"array of {what} letters", InputError)
        refuse_masked(offsets, f"array of {what} offsets", InputError)
        try:
            text, item = np.frombuffer(letters, np.uint8), memoryview(letters).itemsize
            places = np.asarray(offsets)
        except (TypeError, ValueError, BufferError) as error:
            raise InputError(f"the {what} letters and offsets must be arrays: {error}") from None
        kind = getattr(letters, "dtype", np.uint8)
        if kind != np.uint8 or item > 1:
            kind = f"numbers of {item} bytes" if kind == np.uint8 else kind
            raise InputError(f"the {what} letters are an array of {kind}; they must be uint8")
        if places.ndim != 1 or not len(places) or places.dtype.kind not in "iu":
            must = "a one-dimensional array of integers, one more than there are sequences"
            raise InputError(f"the {what} offsets must be {must}")
        places = places.astype(np.int64)
        if (places[1:] < places[:-1]).any() or places[0] < 0 or places[-1] > len(text):
            must = f"rise, from 0 at least to {len(text):,}, the letters, at most"
            raise InputError(f"the {what} offsets must {must}")
        text, lent = kept(text)
        if lent is not None and places[0] < places[-1]:
            lent.look(int(places[0]), int(places[-1]), "Batch")
        return cls.of(text, places[:-1], places[1:], lent=lent)

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, key: int) -> Letters: ...
    @overload
    def __getitem__(self, key: slice) -> SequenceSet: ...
    def __getitem__(self, key: int | slice) -> Any:
        if not isinstance(key, slice):
            return self.read(int(self.starts[key]), int(self.ends[key]))
        if key.step is not None and key.step < 1:
            raise InputError("a slice of a SequenceSet goes forward")
        names = None if self._names is None else self._names[key]
        return SequenceSet.of(self.letters, self.starts[key], self.ends[key], names, self._lent)

    def take(self, numbers: Lengths) -> SequenceSet:
        """The set of the sequences with these numbers, in any order, without names."""
        some = self.starts[numbers], self.ends[numbers]
        return SequenceSet.of(self.letters, *some, lent=self._lent)

    def text(self) -> Letters:
        """A copy of the letters of all, at least one sequence, in turn."""
        sizes = self.lengths
        ends = sizes.cumsum()
        if self._lent is not None or ends[-1] > min(SHORT * len(self), MOST):
            return np.concatenate([*self])
        places = np.repeat(self.starts - ends + sizes, sizes)
        letters: Letters = self.letters[places + np.arange(ends[-1])]
        return letters

    def alone(self) -> SequenceSet:
        """The same, at least one, without names and with no other letters: those where they are, if
        the sequences follow each other there, else a copy."""
        begin = np.append(0, np.flatnonzero(self.starts[1:] != self.ends[:-1]) + 1)
        runs = self.starts[begin], self.ends[np.append(begin[1:], len(self)) - 1]
        parts = [self.read(*run) for run in zip(*(one.tolist() for one in runs), strict=True)]
        ends = self.lengths.cumsum()
        letters = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return SequenceSet.of(letters, ends - self.lengths, ends)

    def _places(self, value: Any) -> list[int]:
        """The numbers of the sequences that have the letters of ``value``."""
        try:
            letters = as_letters(value)
        except SequenceError:
            return []
        same = np.flatnonzero(self.lengths == len(letters)).tolist()
        return [k for k in same if np.array_equal(self[k], letters)]

    def __contains__(self, value: object) -> bool:
        return bool(self._places(value))

    def count(self, value: Any) -> int:
        """How many sequences have these letters."""
        return len(self._places(value))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The number of the first sequence that has these letters, or InputError, a ValueError."""
        some = range(len(self))[start:stop]
        for k in self._places(value):
            if k in some:
                return k
        raise InputError("no sequence of the set has these letters")

    def __reduce__(self) -> Any:  # without the letters of others
        first, last = (int(self.starts.min()), int(self.ends.max())) if len(self) else (0, 0)
        letters = np.frombuffer(self.read(first, last).tobytes(), np.uint8)
        return SequenceSet.of, (letters, self.starts - first, self.ends - first, self._names)

    def __repr__(self) -> str:
        return f"<SequenceSet of {len(self):,} sequences, {int(self.lengths.sum()):,} letters>"

    @property
    def lengths(self) -> Lengths:
        """The letters of each sequence (int64, n)."""
        return self.ends - self.starts

    def name(self, k: int) -> str:
        """The name of sequence ``k``; "" where there are none."""
        return "" if self._names is None else self._names[k].tobytes().decode()

    def read(self, start: int, stop: int) -> Letters:
        """The letters from ``start`` up to ``stop``.  Raises SequenceError if they have changed."""
        if self._lent is not None:
            self._lent.look(start, stop, "Batch")
        return self.letters[start:stop]

    def save(self, folder: str | Path) -> None:
        """Write the set to a folder, which is made, for `open`."""
        place = Path(folder)
        bounds = np.concatenate([[0], self.lengths.cumsum()]).astype("<i8")
        try:
            place.mkdir(parents=True, exist_ok=True)
            for name in ("offsets", "names/offsets"):  # until all is written there is no set
                (place / name).unlink(missing_ok=True)
            _replace(place / "letters", b"".join(one.tobytes() for one in self))
            if self._names is not None:
                self._names.save(place / "names")
            _replace(place / "offsets", bounds.tobytes())
        except OSError as error:
            raise InputError(f"{place} cannot hold sequences: {error}") from None

    @classmethod
    def open(cls, folder: str | Path) -> SequenceSet:
        """The set that `save` wrote, mapped into memory: letters are read when they are needed, and
        several processes share them.  Raises InputError where there is none, or it is cut."""
        place = Path(folder)
        try:
            bounds = np.fromfile(place / "offsets", "<i8")
            size = (place / "letters").stat().st_size
        except OSError as error:
            raise InputError(f"{place} has no sequences that were saved: {error}") from None
        if not len(bounds) or bounds[0] != 0 or (np.diff(bounds) < 0).any() or bounds[-1] != size:
            raise InputError(f"the sequences in {place} are damaged: save them again")
        letters = np.memmap(place / "letters", np.uint8, "r") if size else np.empty(0, np.uint8)
        names = cls.open(place / "names") if (place / "names/offsets").exists() else None
        if names is not None and len(names) != len(bounds) - 1:
            raise InputError(f"the sequences in {place} are damaged: save them again")
        return cls.of(letters, bounds[:-1], bounds[1:], names)


def _text_of(sequences: list[Any]) -> bytes | None:
    """The letters of sequences that are all texts, all bytes or all arrays of letters."""
    kinds = set(map(type, sequences))
    if kinds == {str}:
        return text.encode() if (text := "".join(sequences)).isascii() else None
    if kinds == {np.ndarray} and {(x.dtype.char, x.ndim) for x in sequences} == {("B", 1)}:
        return np.concatenate(sequences).tobytes()
    return b"".join(sequences) if kinds == {bytes} else None


def _replace(path: Path, content: bytes) -> None:
    """Write a file in the place of one that may be mapped, which stays as it is for who has it."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.replace(path)
