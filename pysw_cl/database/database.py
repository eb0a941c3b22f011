"""Databases: sequences in the order of their lengths, in memory or mapped from a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from io import BytesIO
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..checkpoint.container import is_sealed
from ..errors import InputError, file_name, is_iterable, printable
from ..planning.pair_batch import filled
from ..results.formats import PACKED
from ..results.formats.files import written
from ..scoring.scoring import Scoring
from ..sequences.reading import read_records
from ..sequences.sequence import Sequence, as_sequence, check_letters
from ..sequences.sequence_set import SequenceSet
from .file import TEXTS, Column, DatabaseFile, Ints, write_database

#: What messages call a database without a file.
IN_MEMORY = Path("the database")


class Database:
    """Sequences that queries are searched in.  ``len(db)``, ``db[k]``, a `Sequence`, and ``for one
    in db`` go by the order of their source.

    ``path``: a file that `create` or ``pysw-cl makedb`` has made, which is mapped into memory: it
    is there at once whatever its size, letters are read when they are needed, and processes share
    them.  Or a file of FASTA or FASTQ, plain or compressed, which is read into memory.  FASTA
    records without letters are kept.

    Raises FileError for a file that cannot be read, and FormatError for one that is damaged or
    something else.  What lies in a database is compared with its checksums when it is first read;
    `check` reads all of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = file_name(path, "path")
        where = "standard input" if name == "-" else printable(name)
        if is_sealed(Path(name)):
            self._open(DatabaseFile(Path(name)))
        else:
            self._open(DatabaseFile(IN_MEMORY, _content(read_records(name), [where])))

    @classmethod
    def from_sequences(cls, sequences: Iterable[Any]) -> Database:
        """The database of some sequences, each as `align` takes one, in memory.  Raises
        SequenceError for what is no sequence."""
        return cls._of(_content(_checked(sequences), []))

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], sequences: Iterable[Any], sources: Iterable[str] = ()
    ) -> Database:
        """Write a database of some sequences to a file, and open it.

        The file appears, or takes the place of another one, when it is complete; who has that one
        open keeps it.  Sequences are read once and wait on the disk, beside the file, so that they
        may be more than memory holds.  ``sources``: what they come from, to be shown.  Raises
        InputError for the name of a compressed file, FileError for one that cannot be written, and
        SequenceError for what is no sequence."""
        place = Path(file_name(path, "path"))
        packed = place.suffix.lower() in PACKED
        if packed or str(place) in ("-", "/dev/stdout"):
            kind = f"not compressed; leave out {place.suffix}" if packed else "a file of its own"
            raise InputError(f"{path}: a database is mapped into memory, so it is {kind}")
        with written(place, binary=True) as file:
            write_database(_checked(sequences), file, [*map(str, sources)])
            os.fsync(file.fileno())
        return cls(place)

    @classmethod
    def _of(cls, content: bytes) -> Database:
        """The database in memory with the content of a file."""
        made = cls.__new__(cls)
        made._open(DatabaseFile(IN_MEMORY, content))
        return made

    def _open(self, file: DatabaseFile) -> None:
        self._file, self.path = file, None if file.path is IN_MEMORY else file.path
        #: What the sequences come from.
        self.sources: list[str] = file.facts["sources"]
        #: How often each letter comes.
        self.letters: dict[str, int] = file.facts["letters"]
        self._records = Column(file, "records", "<i8")
        self._texts = {
            name: (Column(file, f"{name} offsets", "<i8"), Column(file, name)) for name in TEXTS
        }

    def __len__(self) -> int:
        return len(self._records.values)

    def __getitem__(self, number: int) -> Sequence:
        return self.sequence(int(self._ranks[range(len(self))[index(number)]]))

    def __iter__(self) -> Iterator[Sequence]:
        return map(self.sequence, self._ranks.tolist())

    def __repr__(self) -> str:
        where = "" if self.path is None else f" in {self.path}"
        return f"<Database of {len(self):,} sequences, {self.total_letters:,} letters{where}>"

    def __reduce__(self) -> Any:
        if self.path is not None:
            return Database, (self.path.absolute(),)
        return Database._of, (self._file.bytes.tobytes(),)

    def in_memory(self) -> Database:
        return Database._of(self._file.bytes.tobytes())

    @cached_property
    def digest(self) -> str:
        """What tells databases apart, by their checksums."""
        said = json.dumps([self._file.facts, self._file.pieces])
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def total_letters(self) -> int:
        """The letters of all sequences."""
        return sum(self.letters.values())

    @cached_property
    def by_length(self) -> SequenceSet:
        """The sequences without their names, the longest first."""
        offsets, letters = self._texts["letters"]
        bounds, looked = offsets.read(0, len(self) + 1), cast("Any", letters)
        return SequenceSet.of(letters.values, bounds[:-1], bounds[1:], lent=looked)

    @cached_property
    def in_order(self) -> SequenceSet:
        """The sequences without their names, in the order of their source."""
        return self.by_length.take(self._ranks)

    @cached_property
    def full(self) -> int:
        """How many sequences have letters."""
        return int(np.searchsorted(self.by_length.starts, self.total_letters))

    @property
    def longest(self) -> int:
        """The letters of the longest sequence."""
        return int(self.by_length.lengths[:1].sum())

    @cached_property
    def _ranks(self) -> Ints:
        """The place of each sequence by length."""
        return np.argsort(self.records(slice(None)))

    def records(self, ranks: Any) -> Ints:
        """The places in the source of the sequences with these ``ranks`` by length (an index)."""
        return np.asarray(self._records.read(0, len(self))[ranks])

    def sequence(self, rank: int) -> Sequence:
        """The sequence with this rank by length, from 0 for the longest."""
        parts = []
        for offsets, column in self._texts.values():
            parts.append(column.read(*offsets.read(rank, rank + 2).tolist()).tobytes())
        letters, *names = parts
        name, description = (text.decode("utf-8", "surrogateescape") for text in names)
        return Sequence(name, description, np.frombuffer(letters, np.uint8))

    def check(self) -> None:
        """Read all, and raise FormatError if any of it has changed since it was written."""
        self._file.check()

    def check_letters(self, scoring: Scoring) -> None:
        """Raise SequenceError, with record and position, for a letter outside an alphabet."""
        if scoring.knows(np.frombuffer("".join(self.letters).encode(), np.uint8)):
            return
        first = next(k for k, one in enumerate(self.in_order) if not scoring.knows(one))
        one, where = self[first], self.path or ", ".join(self.sources) or IN_MEMORY
        what = f"record {one.name!r} (number {first + 1:,}) of {where}"
        scoring.check_letters(one.letters, what)

    def parts(
        self, most_letters: int, first: int = 0, stop: int | None = None
    ) -> Iterator[SequenceSet]:
        """The sequences that have letters, or those of some ranks, in parts of so many letters, or
        of one."""
        some = self.by_length[first : self.full if stop is None else stop]
        for start, end in pairwise(filled(some.lengths, most_letters)):
            yield some[start:end].alone()


def records_of(path: str) -> Iterator[Sequence]:
    """The sequences of a database, or of a file, those without letters included, in order."""
    return iter(Database(path)) if is_sealed(Path(path)) else read_records(path)


def _checked(sequences: Iterable[Any]) -> Iterator[Sequence]:
    """Sequences of any kinds, with their names; those without letters, too."""
    if isinstance(sequences, str | bytes | bytearray | Sequence) or not is_iterable(sequences):
        kind = type(sequences).__name__
        raise InputError(f"sequences must be an iterable of sequences, not a {kind}")
    if isinstance(sequences, SequenceSet):
        of = sequences
        sequences = (Sequence(of.name(k), "", one) for k, one in enumerate(of))
    for k, one in enumerate(sequences):
        found = as_sequence(one, f"sequence number {k}", check=False, alphabet=None)
        if len(found):
            check_letters(found.letters, f"sequence number {k}")
        yield found


def _content(sequences: Iterable[Sequence], sources: list[str]) -> bytes:
    file = BytesIO()
    write_database(sequences, file, sources)
    return file.getvalue()
