"""Alphabets of symbols that are no ASCII letters, or whose case counts: codons, words, states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, SequenceError, is_iterable, shown
from .alphabet import MAX_LETTERS, NO_CODE, PRINTABLE, Letters, is_nucleotide
from .lent import refuse_masked
from .sequence import Sequence, check_alphabet

#: The letters that stand for symbols that are no single letters.
STAND_INS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/"
#: So many symbols are named in messages.
NAMED = 4


@dataclass(frozen=True)
class Alphabet:
    """Up to 64 symbols, of which sequences are made; each is a text of any length.

    With ``sub_score=(matrix, alphabet)``, a square array of so many rows, whatever compares
    sequences takes those of the alphabet: a `Sequence` that :meth:`sequence` made, an iterable of
    symbols (of a str each character is one), or a one-dimensional uint8 array of codes, which are
    the numbers of symbols, counted from 0.  Case counts, unless ``fold_case`` says that "a" and "A"
    are one symbol.

    Raises InputError for no symbol, over 64, one that is no printable text, and one given twice."""

    symbols: tuple[str, ...]
    fold_case: bool = False

    def __init__(self, symbols: Iterable[str], fold_case: bool = False) -> None:
        if not is_iterable(symbols):
            raise InputError(f"the symbols of an Alphabet are texts, not {shown(symbols)}")
        given = tuple(symbols)
        vars(self).update(symbols=given, fold_case=bool(fold_case))
        for symbol in given:
            if not isinstance(symbol, str) or not symbol or not symbol.isprintable():
                raise InputError(f"a symbol of an Alphabet is a text, not {shown(symbol)}")
        if not 1 <= len(given) <= MAX_LETTERS:
            raise InputError(f"an Alphabet has 1 to {MAX_LETTERS} symbols, not {len(given)}")
        for k, symbol in enumerate(given):
            if self._numbers[self._key(symbol)] != k:  # but that of the last one
                raise InputError(f"the symbol {symbol!r} stands twice in an Alphabet")

    def __repr__(self) -> str:
        first = ", ".join(self.symbols[:NAMED])
        more = f", ... of {len(self.symbols)} symbols" if len(self.symbols) > NAMED else ""
        return f"Alphabet({first}{more})"

    def _key(self, symbol: Any) -> Any:
        return symbol.casefold() if self.fold_case and isinstance(symbol, str) else symbol

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {self._key(symbol): k for k, symbol in enumerate(self.symbols)}

    @cached_property
    def letters(self) -> str:
        """The ASCII letter of each symbol, in results and in files: the symbols themselves where
        all of them are single letters, else stand-ins."""
        whole = "".join(self.symbols)
        own = len(whole) == len(self.symbols) and all(ord(c) in PRINTABLE for c in whole)
        if own and not (is_nucleotide(whole) and "U" in whole.upper()):  # U would be T
            return whole
        return STAND_INS[: len(self.symbols)]

    def encode(self, x: Any, what: str = "sequence") -> Letters:
        """The letters (see `letters`) of symbols or of codes; ``what`` names them in messages.
        Raises SequenceError for what is no symbol, with its 1-based position."""
        refuse_masked(x, what)
        if isinstance(x, Sequence):
            check_alphabet(x.alphabet, self, what)
            return x.read()
        if isinstance(x, np.ndarray) and x.dtype == np.uint8 and x.ndim == 1:
            codes = x
        elif is_iterable(x) and not isinstance(x, bytes | bytearray | memoryview | np.ndarray):
            x = list(x)
            try:
                numbers = map(self._numbers.get, map(self._key, x), repeat(NO_CODE))
                codes = np.fromiter(numbers, np.uint8, len(x))
            except TypeError as error:  # such as a list, which is no key
                raise SequenceError(f"the {what} is not made of symbols: {error}") from None
        else:
            raise SequenceError(
                f"the {what} is {shown(x)}; with an Alphabet it is a sequence of symbols, or a "
                "one-dimensional uint8 array of their codes"
            )
        bad = np.flatnonzero(codes >= len(self.symbols))
        if len(bad):
            k = int(bad[0])
            one = x[k].item() if isinstance(x, np.ndarray) else x[k]
            raise SequenceError(f"{shown(one)} at position {k + 1} of the {what} is not in {self}")
        return np.frombuffer(self.letters.encode(), np.uint8)[codes]

    def decode(self, letters: Letters | str) -> list[str]:
        """The symbols of letters, as results have them.  Raises InputError for other letters."""
        texts = letters if isinstance(letters, str) else letters.tobytes().decode("latin-1")
        by_letter = dict(zip(self.letters, self.symbols, strict=True))
        try:
            return [by_letter[letter] for letter in texts]
        except KeyError as error:
            place = texts.index(error.args[0]) + 1
            raise InputError(f"{error} at position {place} is no letter of {self}") from None

    def sequence(self, x: Any, name: str = "", description: str = "") -> Sequence:
        """A sequence of this alphabet, which is compared with others of the same alphabet only."""
        letters = np.frombuffer(self.encode(x).tobytes(), np.uint8)
        return Sequence(name, description, letters, alphabet=self)

    def scores(self, match: float, mismatch: float) -> tuple[NDArray[np.float64], Alphabet]:
        """A ``sub_score`` by which equal symbols score ``match`` and others ``mismatch``."""
        same = np.eye(len(self.symbols), dtype=np.bool_)
        return np.where(same, float(match), float(mismatch)), self
