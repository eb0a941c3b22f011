"""Sequences from Python objects, as arrays of ASCII letters."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from ..errors import SequenceError
from .alphabet import (
    COMPLEMENT,
    GAPS,
    NUCLEIC,
    PIECE,
    PRINTABLE,
    Letters,
    first_outside,
    looks_like_path,
    show_byte,
    translated,
)
from .lent import Lent, kept, refuse_masked

#: Where a sequence of any alphabet will do.
ANY: Any = object()
#: The bytes that may be letters.
GOOD = bytes(PRINTABLE)


@dataclass(frozen=True, eq=False)
class Sequence:
    """A named sequence of letters: ``len(s)``, ``s[3]`` (a str of one letter), ``s[10:20]`` (a
    `Sequence` of the same name), ``for letter in s``, ``"ACG" in s``, ``str(s)``.  It is equal to
    one with the same letters, case included, whatever their names, and to a str of them."""

    #: Its name, or "".
    name: str
    #: The rest of its header in a file, or "".
    description: str
    #: A one-dimensional uint8 array of ASCII letters; in upper case if read from a file.
    #: Those of a buffer that may change are a copy of it, or, if they are many, a read-only view:
    #: then whatever reads them again raises SequenceError if they have changed.
    letters: Letters
    #: Its qualities as FASTQ writes them, a uint8 array of ASCII characters (Phred score + 33; Cock
    #: et al. 2010, Nucleic Acids Res 38, 1767-1771), one a letter; None if it has none.
    quality: Letters | None = None
    #: What its letters stand for, an `Alphabet`; None: they are plain ones.
    alphabet: Any = None
    #: What looks whether the letters have changed; None: they cannot.
    _lent: Lent | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_line(self.letters, "letters")
        owner: Any = self.letters.base
        if self._lent is None and type(owner) is not bytes:
            vars(self)["letters"], vars(self)["_lent"] = kept(self.letters)
        if self.quality is None:
            return
        _check_line(self.quality, "qualities")
        if self.quality.flags.writeable:
            object.__setattr__(self, "quality", np.frombuffer(self.quality.tobytes(), np.uint8))
        if len(self.quality) != len(self.letters):
            raise SequenceError(
                f"a Sequence has {len(self.letters):,} letters and {len(self.quality):,} "
                "qualities; give one quality a letter, or None"
            )

    def read(self, start: int = 0, stop: int | None = None) -> Letters:
        """The letters from ``start`` up to ``stop`` (None: all from there on).  Raises
        SequenceError if they have changed since they were first read."""
        if self._lent is not None:
            end = len(self.letters) if stop is None else stop
            self._lent.look(start, end, f"sequence {self.name}".rstrip())
        return self.letters[start:stop]

    def __len__(self) -> int:
        return len(self.letters)

    def __repr__(self) -> str:
        return f"Sequence({self.name!r}, {len(self)} letters)"

    def __str__(self) -> str:
        return self.read().tobytes().decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (chr(letter) for letter in self.read())

    def __contains__(self, text: object) -> bool:
        if not isinstance(text, str | Sequence):
            return False
        return str(text).encode("latin-1", "replace") in self.read().tobytes()

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence: ...

    def __getitem__(self, place: int | slice) -> str | Sequence:
        if not isinstance(place, slice):
            return chr(self.letters[operator.index(place)])
        return self._with(self.read()[place], place)

    def _with(self, letters: Letters, place: slice) -> Sequence:
        """It with other letters, and the qualities of a place."""
        quality = None if self.quality is None else np.ascontiguousarray(self.quality[place])
        return replace(self, letters=np.ascontiguousarray(letters), quality=quality, _lent=None)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str(self) == other
        if not isinstance(other, Sequence):
            return NotImplemented
        return self.alphabet == other.alphabet and np.array_equal(self.read(), other.read())

    def __hash__(self) -> int:
        return hash(str(self))

    def reverse_complement(self) -> Sequence:
        """The other strand, with the same name; see the function `reverse_complement`."""
        check_alphabet(self.alphabet, None, "sequence")
        letters = _other_strand(self.read(), f"sequence {self.name and repr(self.name)}".rstrip())
        return self._with(letters, slice(None, None, -1))


def check_alphabet(given: Any, wanted: Any, what: str) -> None:
    """Raise SequenceError for a sequence of another `Alphabet` than is ``wanted``, or `ANY`."""
    if wanted is ANY or given == wanted:
        return
    wrong = f"and sub_score is for {wanted}"
    if given is None:
        wrong += "; its method sequence makes sequences of that"
    elif wanted is None:
        wrong = (
            "where plain letters are expected; in comparisons give sub_score=(matrix, alphabet), "
            "or alphabet.scores(match, mismatch)"
        )
    raise SequenceError(f"the {what} is a sequence of {given or 'plain letters'}, {wrong}")


def _check_line(letters: Any, what: str) -> None:
    """Raise SequenceError unless the letters or qualities of a sequence are in such an array."""
    if type(letters) is not np.ndarray:
        refuse_masked(letters, f"array of {what}")
    if not isinstance(letters, np.ndarray) or letters.dtype != np.uint8 or letters.ndim != 1:
        raise SequenceError(f"the {what} of a Sequence are a one-dimensional uint8 array")


def as_letters(x: Any, what: str = "sequence", alphabet: Any = ANY) -> Letters:
    """The letters of ``x`` as a contiguous uint8 array of ASCII values, in their case.

    ``x`` is a str, bytes, bytearray, memoryview, one-dimensional uint8 array of ASCII letters (not
    codes), a `Sequence`, or a scikit-bio (or Biopython) sequence; ``what`` names it in messages.
    With an ``alphabet`` it is what `Alphabet` says; None: it is none of an alphabet.  The array may
    share memory with ``x``.  Raises SequenceError for another type or shape, and for what
    `check_letters` finds wrong."""
    letters = _raw_letters(x, what, alphabet)
    check_letters(letters, what)
    return letters


def as_sequence(
    x: Any, what: str = "sequence", check: bool = True, alphabet: Any = ANY
) -> Sequence:
    """``x`` as a `Sequence`; see `as_letters`.  The name is a scikit-bio sequence's or a Biopython
    SeqRecord's, or empty.  Without ``check``, the caller has to call `check_letters`."""
    if isinstance(x, Sequence):
        check_alphabet(x.alphabet, alphabet, what)
        after_pickling = x._lent is None and x.letters.flags.writeable
        given: Sequence = replace(x) if after_pickling else x
        if check:
            check_letters(given.read(), what)
        return given
    letters = (as_letters if check else _raw_letters)(x, what, alphabet)
    name = description = ""
    metadata = getattr(x, "metadata", None)
    if isinstance(metadata, dict):
        name, description = (str(metadata.get(key) or "") for key in ("id", "description"))
    elif hasattr(x, "letter_annotations"):  # Biopython's SeqRecord, which repeats the name
        name, description = ("" if t.startswith("<unknown") else t for t in (x.id, x.description))
        description = description.removeprefix(name).strip()
    return Sequence(name, description, letters, alphabet=None if alphabet is ANY else alphabet)


def reverse_complement(x: Any) -> Any:
    """The other strand of ``x``, with IUPAC's complements (Nomenclature Committee of the IUB 1985,
    Nucleic Acids Res 13, 3021-3030), in its case.

    ``x`` is what `as_letters` takes; the result is of the same kind for str, bytes, bytearray and
    arrays, bytes for a memoryview, and a `Sequence` with the name of ``x`` otherwise.  U becomes A,
    and A becomes T, so that the other strand of RNA is DNA: ``align(reverse_complement(a), b)`` is
    ``align(a, b, strand="minus")``.  Raises SequenceError for a letter that is no nucleotide."""
    if not isinstance(x, str | bytes | bytearray | memoryview | np.ndarray):
        return as_sequence(x, check=False).reverse_complement()
    found = _other_strand(_raw_letters(x, "sequence"), "sequence")
    if isinstance(x, np.ndarray):
        return found
    if isinstance(x, str):
        return found.tobytes().decode("ascii")
    return bytearray(found) if isinstance(x, bytearray) else found.tobytes()


def _other_strand(letters: Letters, what: str) -> Letters:
    """The reverse complement of these letters of the ``what``, which are checked."""
    check_letters(letters, what)
    k = first_outside(NUCLEIC, letters)
    if k is not None:
        raise SequenceError(
            f"the {what} has {show_byte(int(letters[k]))} at position {k + 1}, which is no "
            "nucleotide; only A, C, G, T, U and IUPAC's letters for several have a complement"
        )
    return translated(COMPLEMENT, letters[::-1])


def _raw_letters(x: Any, what: str, alphabet: Any = ANY) -> Letters:
    if isinstance(x, Sequence):
        check_alphabet(x.alphabet, alphabet, what)
        return x.read()
    if alphabet is not ANY and alphabet is not None:
        return np.asarray(alphabet.encode(x, what))
    if isinstance(x, str):
        try:
            return np.frombuffer(x.encode("ascii"), np.uint8)
        except UnicodeEncodeError as error:
            raise SequenceError(
                f"the {what} has the non-ASCII character {x[error.start]!r} at position "
                f"{error.start + 1}; sequences are ASCII letters"
            ) from None
    if isinstance(x, bytes | bytearray):
        return np.frombuffer(x, np.uint8)
    if isinstance(x, memoryview):
        if x.format not in ("B", "c") or x.ndim != 1:
            raise SequenceError(f"the {what} is a memoryview of {x.format!r}; it must be of bytes")
        return np.frombuffer(bytes(x) if not x.contiguous else x, np.uint8)
    values = getattr(x, "values", None)
    if isinstance(values, np.ndarray) and values.dtype == "S1":
        return np.ascontiguousarray(values).view(np.uint8)
    if isinstance(x, np.ndarray):
        refuse_masked(x, what)
        if x.dtype != np.uint8 or x.ndim != 1:
            raise SequenceError(
                f"the {what} is an array of {x.dtype} and shape {x.shape}; it must be a "
                "one-dimensional uint8 array of ASCII letters"
            )
        return np.ascontiguousarray(x)
    if isinstance(x, os.PathLike):
        raise SequenceError(
            f"the {what} is the name of a file; read_sequences reads the sequences of one"
        )
    if hasattr(type(x), "__bytes__"):
        try:
            return np.frombuffer(bytes(x), np.uint8)
        except Exception as error:  # such as Biopython's Seq of a length alone
            raise SequenceError(f"the {what} has no letters to be read: {error}") from error
    one = " (read_sequences gives the records of a file one by one: take one of them)"
    raise SequenceError(
        f"the {what} is a {type(x).__name__}; give str, bytes, a uint8 array of ASCII letters or "
        f"a scikit-bio sequence{one if isinstance(x, list | tuple | Iterator) else ''}"
    )


def check_letters(letters: Letters, what: str, first: int = 0, from_file: bool = False) -> None:
    """Raise SequenceError unless these are printable ASCII letters, one at least, no gaps;
    ``first`` letters come before them.  Those not ``from_file`` may name a file by mistake."""
    if len(letters) == 0:
        raise SequenceError(f"the {what} is empty; it needs at least one letter")
    k = first_outside(GOOD, letters)
    if k is None:
        return
    byte, where = int(letters[k]), f"at position {first + k + 1}"
    if not from_file and looks_like_path(letters[:PIECE].tobytes().decode("latin-1")):
        wrong = "looks like the name of a file; read_sequences reads the sequences of one"
    elif not from_file and first == 0 and letters[0] == ord(">"):
        wrong = "begins with '>', as a FASTA record does; give its letters only"
    elif chr(byte) in GAPS:
        wrong = f"has the gap character {chr(byte)!r} {where}; take the gaps out before aligning"
    else:
        codes = "; give ASCII letters, not codes" if letters[:PIECE].max() <= 32 else ""
        wrong = f"has {show_byte(byte)} {where}, which is not a letter{codes}"
    raise SequenceError(f"the {what} {wrong}")
