"""Alphabets: letters, their accepted spellings, and tables that map bytes to codes.

Letters are ASCII bytes.  Case is folded unless an alphabet has both cases of some letter, and in
a nucleotide alphabet U and T are one letter unless it lists both."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Letters = NDArray[np.uint8]
Table = NDArray[np.uint8]

#: What messages call the bytes that nobody sees.
_BLANKS = {9: "a tab", 10: "a line break", 13: "a line break", 32: "a blank"}
#: The entry of an encoding table for a byte that is not a letter of the alphabet.
NO_CODE = 255
#: The four nucleotides (U is T), and the IUPAC letters for more than one.
NUCLEOTIDES, AMBIGUITY = "ACGT", "RYSWKMBDHVN"
#: What each of them stands for, in that order: a set of nucleotides, each of which is a bit.
BASES = {
    "A": 1, "C": 2, "G": 4, "T": 8, "R": 5, "Y": 10, "S": 6, "W": 9, "K": 12, "M": 3, "B": 14,
    "D": 13, "H": 11, "V": 7, "N": 15,
}  # fmt: skip
#: Characters for a gap, which are no letters, and the codes of the other printable ASCII ones.
GAPS = "-."
PRINTABLE = [code for code in range(33, 127) if chr(code) not in GAPS]
#: The most letters that a substitution matrix may have.
MAX_LETTERS = 64
#: Letters processed at once, for the caches; so many or more are translated two at a time.
PIECE, LONG = 1 << 20, 1 << 13

_LETTERS, _OTHERS = b"ATUCGRYKMBVDH", b"TAAGCYRMKVBHD"
#: The bytes that have a complement.
NUCLEIC = _LETTERS + b"SWN" + _LETTERS.lower() + b"swn"
#: IUPAC's complement of every nucleotide letter, in its case (uint8, 256 entries): A becomes T, and
#: T and U become A.  Other bytes, S, W and N are mapped to themselves.
COMPLEMENT: Table = np.frombuffer(
    bytes.maketrans(_LETTERS + _LETTERS.lower(), _OTHERS + _OTHERS.lower()), np.uint8
)


def folds_case(letters: str) -> bool:
    """Is case folded, because the alphabet has no letter in both cases?"""
    return not any(c.swapcase() != c and c.swapcase() in letters for c in letters)


def is_nucleotide(letters: str) -> bool:
    """Is the alphabet A, C, G, T (or U) with any IUPAC ambiguity letters and no others?"""
    found = set(letters.upper().replace("U", "T"))
    return set(NUCLEOTIDES) <= found <= set(NUCLEOTIDES + AMBIGUITY)


def spellings(letters: str) -> list[tuple[str, int]]:
    """Every accepted spelling of the letters, with the index of its letter."""
    found = [(c, k) for k, c in enumerate(letters)]
    if is_nucleotide(letters):
        twins = {"T": "U", "t": "u", "U": "T", "u": "t"}
        found += [(twins[c], k) for c, k in found if c in twins and twins[c] not in letters]
    if folds_case(letters):
        found += [(c.swapcase(), k) for c, k in found if c.swapcase() != c]
    return found


def encoding_table(letters: str, codes: Iterable[int], unknown: str = "") -> Table:
    """The table (uint8, 256 entries) that maps every spelling of ``letters[k]`` to ``codes[k]``,
    every other letter to the code of ``unknown``, if there is one, and all else to NO_CODE."""
    table, by_letter = np.full(256, NO_CODE, np.uint8), list(codes)
    for spelling, k in spellings(letters):
        table[ord(spelling)] = by_letter[k]
    if unknown:
        table[[code for code in PRINTABLE if table[code] == NO_CODE]] = table[ord(unknown)]
    return table


def translated(table: Table, letters: Letters) -> Letters:
    """``table[letters]``, which may be read-only, without NumPy's index of 8 bytes a letter."""
    mapping, n = table.tobytes(), len(letters)
    if n < LONG:
        return np.frombuffer(bytes_of(letters).translate(mapping), np.uint8)
    out, of_pairs = np.empty(n + n % 2, np.uint8), _of_pairs(mapping)
    for start in range(0, n - 1, PIECE):
        some = np.ascontiguousarray(letters[start : start + PIECE])
        pairs = some[: len(some) // 2 * 2].view(np.uint16)
        of_pairs.take(pairs, out=out[start : start + 2 * len(pairs)].view(np.uint16), mode="clip")
    out[n - 1] = table[letters[-1]]
    out.flags.writeable = False
    return out[:n]


@lru_cache(16)
def _of_pairs(mapping: bytes) -> NDArray[np.uint16]:
    """The 256 bytes of ``mapping`` as a table of two letters, which are 16-bit numbers there."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.uint8)
    return np.frombuffer(mapping, np.uint8)[every].view(np.uint16)


def bytes_of(letters: Letters) -> bytes:
    """Letters as bytes; not a copy if the array is a whole bytes object."""
    whole = letters.base
    if isinstance(whole, bytes) and len(whole) == len(letters) and letters.strides == (1,):
        return whole
    return letters.tobytes()


def first_outside(allowed: bytes, letters: Letters) -> int | None:
    """The 0-based position of the first letter that is not among ``allowed``, or None."""
    for start in range(0, len(letters), PIECE):
        some = letters[start : start + PIECE]
        if len(some) >= 2 * LONG:  # the least and the greatest byte are known ten times as soon
            between = bytes(range(int(some.min()), int(some.max()) + 1))
            if not between.translate(None, allowed):
                continue
        part = some.tobytes()
        others = part.translate(None, allowed)
        if others:
            return start + part.index(others[:1])
    return None


def show_byte(byte: int) -> str:
    """A byte for a message: its letter if it can be printed, a blank by its name, or its number."""
    return _BLANKS.get(byte, repr(chr(byte)) if 32 < byte < 127 else f"byte {byte}")


def looks_like_path(text: str) -> bool:
    """Does a text that is no sequence look like the name of a file?"""
    kinds = r"\.(fa|fasta|fna|faa|ffn|fq|fastq|txt|seq)(\.(gz|bz2|xz|zst))?$"
    return bool(re.search(rf"[/\\]|{kinds}", text, re.IGNORECASE))
