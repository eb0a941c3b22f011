"""The file of a database: the sealed file of `checkpoint/container.py` with the columns below, so
that whatever its size it is opened at once, and read where it is needed.

A column of texts is their bytes one after the other, and where each begins and the last one ends
(int64).  Columns lie in the file as they are in memory, in pieces with a checksum each, which is
compared when a piece is read first."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..checkpoint.container import Piece, Pieces, SealedFile
from ..errors import FormatError
from ..sequences.parallel import in_threads
from ..sequences.sequence import Sequence

Ints = NDArray[np.int64]
#: The version of the format, which the facts of a file have.
FORMAT = 1
#: The columns of texts, in the order of the longest sequence first, among equals that of their
#: sources; "records" has the number of each sequence in these.
TEXTS = ("letters", "names", "descriptions")
#: Bytes of a piece.
PIECE = 1 << 24


class Spool:
    """Texts in the order in which they come, in a file without a name, and their lengths."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._lengths = file, array("q")

    def add(self, text: Any) -> None:
        self._lengths.append(len(text))
        self._file.write(text)

    @property
    def lengths(self) -> Ints:
        return np.frombuffer(self._lengths, np.int64)

    def in_order(self, order: Ints) -> Iterator[bytes]:
        """The texts in another order, joined, about a piece at a time."""
        self._file.flush()
        size, lengths = self._file.tell(), self.lengths
        if isinstance(self._file, BytesIO):
            source: Any = self._file.getbuffer()
        else:
            source = np.memmap(self._file, np.uint8, "r").data if size else b""
        starts, found, held = lengths.cumsum() - lengths, list[Any](), 0
        for start, length in zip(starts[order], lengths[order], strict=True):
            found.append(source[start : start + length])
            held += length
            if held >= PIECE:
                yield b"".join(found)
                found, held = [], 0
        yield b"".join(found)


def write_database(sequences: Iterable[Sequence], file: IO[bytes], sources: list[str]) -> None:
    """Write the file of a database with these sequences, which may be empty; they are read once.

    What is read waits in files without a name beside ``file``, or in memory if it is one there.
    ``sources``: what they come from."""
    with ExitStack() as stack:
        spools = {}
        for column in TEXTS:
            own: Any = BytesIO()
            if not isinstance(file, BytesIO):
                own = stack.enter_context(TemporaryFile(dir=Path(file.name).resolve().parent))
            spools[column] = Spool(own)
        for one in sequences:
            names = [x.encode("utf-8", "surrogateescape") for x in (one.name, one.description)]
            for spool, text in zip(spools.values(), (one.read(), *names), strict=True):
                spool.add(text)
        pieces, lengths = Pieces(file), spools["letters"].lengths
        order, counts = np.argsort(-lengths, kind="stable"), np.zeros(256, np.int64)
        _put(pieces, "records", order)  # numbers come first, so that they lie at multiples of 8
        for name, spool in spools.items():
            _put(pieces, f"{name} offsets", np.append(0, spool.lengths[order].cumsum()))
        for name, spool in spools.items():
            start = 0
            for text in spool.in_order(order):
                part = np.frombuffer(text, np.uint8)
                _put(pieces, name, part, start)
                start += len(part)
                if name == "letters":
                    counts += np.bincount(part, minlength=256)
    letters = {chr(code): int(count) for code, count in enumerate(counts) if count}
    facts = {"database": FORMAT, "sequences": len(order), "letters": letters, "sources": sources}
    pieces.end({"facts": facts})
    file.flush()


def _put(pieces: Pieces, name: str, values: NDArray[Any], start: int = 0) -> None:
    little, step = values.astype(values.dtype.newbyteorder("<")), PIECE // values.itemsize
    for at in range(0, len(values), step):
        some = little[at : at + step]
        pieces.put(name, start + at, len(some), some.tobytes())


class DatabaseFile(SealedFile):
    """Reads the file of a database, or with ``content`` one in memory.  Raises FormatError if it is
    not sound, or something else."""

    error = FormatError
    advice = "make it again with pysw-cl makedb"

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        self._content = content
        super().__init__(path)
        if (version := self.facts.get("database")) is None:
            raise FormatError(f"{path} is no database, but a file of a checkpoint")
        if version != FORMAT:
            raise FormatError(
                f"{path} is a database of format {version}, and this version reads format "
                f"{FORMAT}; {self.advice}"
            )
        self.bytes = np.frombuffer(content or b"", np.uint8)
        if content is None:
            self.bytes = np.memmap(path, np.uint8, "r")

    def _opened(self) -> Any:
        return super()._opened() if self._content is None else BytesIO(self._content)

    def _payload(self, piece: Piece) -> Any:  # another file may have taken the name since
        return self.bytes[piece.offset : piece.offset + piece.size].data


class Column:
    """A column of a file, of numbers of some ``kind``: ``values`` as they lie there, and `look`,
    which is called before they are read."""

    def __init__(self, file: DatabaseFile, name: str, kind: Any = np.uint8) -> None:
        self._file, self._pieces = file, file.named(name)
        self._starts = [piece.start for piece in self._pieces]
        #: The numbers of the pieces that nobody has looked at.
        self._unseen = {*range(len(self._pieces))}
        start = self._pieces[0].offset if self._pieces else 0
        stop = start + sum(piece.size for piece in self._pieces)
        self.values: NDArray[Any] = file.bytes[start:stop].view(kind)

    def look(self, start: int, stop: int, what: str = "") -> None:
        """Raise FormatError if a piece with values from ``start`` up to ``stop`` has changed."""
        if self._unseen:
            first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)
            new = self._unseen.intersection(range(first, last))
            list(in_threads(self._file.read, [self._pieces[k] for k in sorted(new)]))
            self._unseen -= new

    def read(self, start: int, stop: int) -> NDArray[Any]:
        self.look(start, stop)
        return self.values[start:stop]
