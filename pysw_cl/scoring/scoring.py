"""Scorings: substitution scores and gap costs, and the codes that letters become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ScoringError, SequenceError
from ..sequences.alphabet import (
    MAX_LETTERS,
    NO_CODE,
    Letters,
    Table,
    encoding_table,
    first_outside,
    show_byte,
    translated,
)
from .arguments import gap_costs, shown, substitution_scores

__all__ = ["NO_CODE", "SCORE_LIMIT", "Scoring", "make_scoring"]

#: Every score and gap cost, after scaling, is smaller than this.
SCORE_LIMIT = 1 << 20


@dataclass(frozen=True, eq=False)
class Scoring:
    """Integer scores of one comparison.  A gap of k letters costs ``gap_open + k * gap_extend``."""

    #: ``matrix[q, t]`` (int32, at most 33 x 33): the score of query code q and target code t.
    matrix: NDArray[np.int32]
    #: (match, mismatch) if every entry of the matrix is "match if q == t else mismatch", else None.
    #: Letters that never match then have different codes in query and target.
    match_mismatch: tuple[int, int] | None
    #: The cost of opening a gap, 0 or more.
    gap_open: int
    #: The cost of each letter of a gap, 0 or more.
    gap_extend: int
    #: The alphabet.
    letters: str
    #: The code of each byte of a query (uint8, 256 entries); NO_CODE outside the alphabet.
    query_encoding: Table
    #: The code of each byte of a target, likewise.
    target_encoding: Table
    #: 1 or 2: the user's scores are these integers divided by it.
    scale: int = 1
    #: The letters that match nothing, not even themselves: ambiguity letters with (match,
    #: mismatch), and the wildcard.  Any other letter is '=' to itself, whatever it scores.
    never_match: str = ""

    def facts(self) -> dict[str, Any]:
        """All fields as JSON; an array as its type and its values."""

        def plain(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return {"dtype": value.dtype.str, "values": value.tolist()}
            return [int(v) for v in value] if isinstance(value, tuple) else value

        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Scoring:
        """The scoring from the result of :meth:`facts`."""

        def real(value: Any) -> Any:
            if isinstance(value, dict):
                return np.array(value["values"], value["dtype"])
            return tuple(value) if isinstance(value, list) else value

        return cls(**{name: real(value) for name, value in facts.items()})

    @property
    def highest(self) -> int:
        """The highest substitution score."""
        return int(self.matrix.max())

    @property
    def lowest(self) -> int:
        """The lowest substitution score."""
        return int(self.matrix.min())

    def encode_query(self, letters: Letters) -> NDArray[np.uint8]:
        """The codes (uint8, same length) of a query's letters (uint8, ASCII).

        Raises SequenceError that names the first letter outside the alphabet and its 1-based
        position.
        """
        return self._encode(self.query_encoding, letters, "query")

    def encode_target(self, letters: Letters) -> NDArray[np.uint8]:
        """The codes of a target's letters; see `encode_query`."""
        return self._encode(self.target_encoding, letters, "target")

    def _encode(self, table: Table, letters: Letters, what: str) -> NDArray[np.uint8]:
        codes = translated(table, letters)
        if codes.max(initial=0) == NO_CODE:
            self.check_letters(letters, what)
        return codes

    def pair_scores(self, query: Letters, target: Letters) -> NDArray[np.int32]:
        """The scores of query letters with as many target letters, pair by pair.  Raises
        SequenceError as `encode_query` does."""
        indices = self.encode_query(query).astype(np.uint16) * np.uint16(self.matrix.shape[1])
        indices += self.encode_target(target)
        return self.matrix.ravel().take(indices)

    def check_letters(self, letters: Letters, what: str, first: int = 0) -> None:
        """Raise SequenceError for the first letter outside the alphabet, with its 1-based position.

        ``letters`` follow the first ``first`` letters of the sequence ``what``."""
        position = first_outside(self._allowed, letters)
        if position is not None:
            raise SequenceError(
                f"letter {show_byte(int(letters[position]))} at position {first + position + 1} of "
                f"the {what} is not in the alphabet {self.letters}; correct the {what} or choose a "
                "substitution matrix that has this letter"
            )

    @cached_property
    def _allowed(self) -> bytes:
        """Every byte that is a letter of the alphabet."""
        return np.flatnonzero(self.query_encoding != NO_CODE).astype(np.uint8).tobytes()

    def match_tables(self) -> tuple[Table, Table]:
        """Two tables (uint8, 256 entries) for query and target letters: a pair of letters is a
        match ('=' in a CIGAR) if its entries are equal.

        Equal letters match, whatever they score, but not those of ``never_match``.  Case is folded,
        and in nucleotide alphabets U is T.
        """
        return self._match_tables

    @cached_property
    def _match_tables(self) -> tuple[Table, Table]:
        ids = range(len(self.letters))
        target_ids = [MAX_LETTERS if self.letters[k] in self.never_match else k for k in ids]
        return encoding_table(self.letters, ids), encoding_table(self.letters, target_ids)

    def clamped(self) -> Scoring:
        """The same scoring with substitution scores of at least -(2 (gap_open + gap_extend) + 1).

        Two gaps of one letter always score more than such a pair.  So scores, ends and paths of
        every alignment stay the same, ties included."""
        floor = -(2 * (self.gap_open + self.gap_extend) + 1)
        pair = self.match_mismatch
        if pair is not None:
            pair = (max(pair[0], floor), max(pair[1], floor))
        return replace(self, matrix=np.maximum(self.matrix, np.int32(floor)), match_mismatch=pair)


def _plain(value: Any) -> Any:
    """A key for a value that is a string, a number or a tuple of numbers; else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(type(part) in (int, float) for part in value):
        return tuple((type(part), part) for part in value)
    return (type(value), value) if type(value) in (int, float) else None


_made: dict[Any, Scoring] = {}


def cached_scoring(sub_score: Any, gap_cost: Any, wildcard: str | None = None) -> Scoring:
    """As :func:`make_scoring`; the scoring of plain numbers and names is made once."""
    key = (_plain(sub_score), _plain(gap_cost), wildcard or "")
    if None in key or not isinstance(key[2], str):
        return make_scoring(sub_score, gap_cost, wildcard)
    if key not in _made:
        scoring = make_scoring(sub_score, gap_cost, wildcard)
        for array in (scoring.matrix, scoring.query_encoding, scoring.target_encoding):
            array.setflags(write=False)
        if len(_made) >= 64:
            _made.clear()
        _made[key] = scoring
    return _made[key]


def make_scoring(
    sub_score: Any = (1, -3), gap_cost: Any = (3, 2), wildcard: str | None = None
) -> Scoring:
    """The scoring for what a user gives.

    ``sub_score``: (match, mismatch), the name of a matrix (NCBI's and scikit-bio's names), a
    scikit-bio ``SubstitutionMatrix``, or (array, letters) with a square array of up to 32
    letters, rows for the query.  With (match, mismatch) the letters are A C G T, U = T, and the
    IUPAC ambiguity letters, which never match, not even themselves.
    ``gap_cost``: (open, extend), or one number for a linear cost (open 0): a gap of length k
    costs ``gap_open + k * gap_extend``, both given as positive numbers.
    ``wildcard``: one letter that scores 0 against everything and counts as a match with nothing.

    All numbers may be integers or halves; with a half anywhere, all are doubled and ``scale`` is
    2.  Raises ScoringError for anything else, for numbers of 2**20 or more, and for an alphabet
    that cannot be used.
    """
    values, letters, never = substitution_scores(sub_score)
    gaps = gap_costs(gap_cost)
    largest = max(np.abs(values).max(), gaps.max())
    if largest < SCORE_LIMIT and not (_whole(values * 2) and _whole(gaps * 2)):
        raise ScoringError("substitution scores and gap costs must be whole numbers or halves")
    scale = 1 if _whole(values) and _whole(gaps) else 2
    if largest * scale >= SCORE_LIMIT:
        raise ScoringError(
            f"substitution scores and gap costs must be smaller than {SCORE_LIMIT // scale}; "
            f"got {largest:.12g}"
        )
    matrix = np.rint(values * scale).astype(np.int32)
    if wildcard is not None:
        index = _wildcard_index(wildcard, letters)
        matrix[index, :] = 0
        matrix[:, index] = 0
        never = "".join(c for k, c in enumerate(letters) if c in never or k == index)
    gap_open, gap_extend = (round(float(g) * scale) for g in gaps)
    pair, unmatched = _match_mismatch(matrix, [c in never for c in letters])
    if pair is not None:
        select = _select_scoring(pair, letters, unmatched, gap_open, gap_extend, scale)
        return replace(select, never_match=never)
    codes, firsts = _merge_equal(matrix)
    table = encoding_table(letters, codes)
    return Scoring(
        matrix=np.ascontiguousarray(matrix[np.ix_(firsts, firsts)]),
        match_mismatch=None,
        gap_open=gap_open,
        gap_extend=gap_extend,
        letters=letters,
        query_encoding=table,
        target_encoding=table,
        scale=scale,
        never_match=never,
    )


def _select_scoring(
    pair: tuple[int, int],
    letters: str,
    never: list[bool],
    gap_open: int,
    gap_extend: int,
    scale: int,
) -> Scoring:
    """A scoring by compare-and-select.  All letters that never match share one code in the query
    and another one in the target."""
    count = never.count(False)
    order = np.cumsum([not alone for alone in never]) - 1
    query = [count if alone else int(k) for alone, k in zip(never, order, strict=True)]
    target = [count + 1 if alone else int(k) for alone, k in zip(never, order, strict=True)]
    size = count + 2 if any(never) else count
    matrix = np.where(np.eye(size, dtype=bool), np.int32(pair[0]), np.int32(pair[1]))
    return Scoring(
        matrix=matrix,
        match_mismatch=pair,
        gap_open=gap_open,
        gap_extend=gap_extend,
        letters=letters,
        query_encoding=encoding_table(letters, query),
        target_encoding=encoding_table(letters, target),
        scale=scale,
    )


def _match_mismatch(
    matrix: NDArray[np.int32], never: list[bool]
) -> tuple[tuple[int, int] | None, list[bool]]:
    """(match, mismatch) and which letters never match, if these two scores make up the matrix;
    None and ``never`` otherwise."""
    size = len(matrix)
    diagonal = np.diagonal(matrix)
    others = matrix[~np.eye(size, dtype=bool)]
    mismatch = int(others[0]) if size > 1 else int(diagonal[0])
    matches = {int(v) for v in diagonal} - {mismatch}
    alone = np.array(never)
    if (others != mismatch).any() or len(matches) > 1 or (diagonal[alone] != mismatch).any():
        return None, never
    if not matches:
        return (mismatch, mismatch), never
    match = matches.pop()
    return (match, mismatch), [bool(v) for v in alone | (diagonal == mismatch)]


def _merge_equal(matrix: NDArray[np.int32]) -> tuple[list[int], list[int]]:
    """The code of every letter, and the first letter of every code.  Letters with the same row and
    column share a code."""
    seen: dict[bytes, int] = {}
    codes: list[int] = []
    firsts: list[int] = []
    for k in range(len(matrix)):
        key = matrix[k].tobytes() + matrix[:, k].tobytes()
        if key not in seen:
            seen[key] = len(firsts)
            firsts.append(k)
        codes.append(seen[key])
    return codes, firsts


def _wildcard_index(wildcard: Any, letters: str) -> int:
    """The index of the wildcard, in any accepted spelling, among ``letters``."""
    if not isinstance(wildcard, str) or len(wildcard) != 1:
        raise ScoringError(f"wildcard must be one letter, not {shown(wildcard)}")
    table = encoding_table(letters, range(len(letters)))
    index = int(table[ord(wildcard)]) if ord(wildcard) < 128 else NO_CODE
    if index == NO_CODE:
        raise ScoringError(f"wildcard {wildcard!r} is not in the alphabet {letters}")
    return index


def _whole(values: NDArray[np.float64]) -> bool:
    return bool((values == np.rint(values)).all())
