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
    """Integer scores of one comparison.

    ``matrix[q, t]`` (int32, at most 33 x 33) is the score of query code q against target code t.
    ``match_mismatch`` is (match, mismatch) where the matrix is exactly "match if q == t else
    mismatch" over codes (letters that never match have different codes on the two sides), else
    None.  A gap of k letters costs ``gap_open + k * gap_extend``.  ``query_encoding`` and
    ``target_encoding`` (uint8, 256 entries) map bytes to codes, NO_CODE for a letter outside the
    alphabet ``letters``.  Real scores are the integers divided by ``scale`` (1 or 2).
    ``never_match`` holds the letters declared to match nothing, not even themselves (ambiguity
    letters with (match, mismatch), the wildcard); others are '=' to themselves whatever they score.
    """

    matrix: NDArray[np.int32]
    match_mismatch: tuple[int, int] | None
    gap_open: int
    gap_extend: int
    letters: str
    query_encoding: Table
    target_encoding: Table
    scale: int = 1
    never_match: str = ""

    def facts(self) -> dict[str, Any]:
        """All fields as JSON can hold them: an array as its type and its values."""

        def plain(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return {"dtype": value.dtype.str, "values": value.tolist()}
            return [int(v) for v in value] if isinstance(value, tuple) else value

        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Scoring:
        """The scoring that :meth:`facts` was asked of."""

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
        """The scores of letters of a query with as many of a target, pair by pair.  Raises
        SequenceError as `encode_query`."""
        places = self.encode_query(query).astype(np.uint16) * np.uint16(self.matrix.shape[1])
        places += self.encode_target(target)
        return self.matrix.ravel().take(places)

    def check_letters(self, letters: Letters, what: str, first: int = 0) -> None:
        """Raise SequenceError that names the first letter outside the alphabet and its 1-based
        position, where ``first`` letters of the sequence ``what`` come before ``letters``."""
        allowed = np.flatnonzero(self.query_encoding != NO_CODE).astype(np.uint8).tobytes()
        position = first_outside(allowed, letters)
        if position is not None:
            raise SequenceError(
                f"letter {show_byte(int(letters[position]))} at position {first + position + 1} of "
                f"the {what} is not in the alphabet {self.letters}; correct the {what} or choose a "
                "substitution matrix that has this letter"
            )

    def match_tables(self) -> tuple[Table, Table]:
        """Two tables (uint8, 256 entries) for query and target letters: a pair of letters counts
        as a match ('=' in a CIGAR) where the entries are equal.

        That is: equal letters, case folded and U as T in nucleotide alphabets, whatever they score,
        but for those of ``never_match``.
        """
        return self._match_tables

    @cached_property
    def _match_tables(self) -> tuple[Table, Table]:
        ids = range(len(self.letters))
        target_ids = [MAX_LETTERS if self.letters[k] in self.never_match else k for k in ids]
        return encoding_table(self.letters, ids), encoding_table(self.letters, target_ids)

    def clamped(self) -> Scoring:
        """The same scoring with substitution scores not below -(2 (gap_open + gap_extend) + 1),
        where two gaps of one letter are always better than the pair: scores, ends and paths of
        every alignment stay the same, ties included."""
        floor = -(2 * (self.gap_open + self.gap_extend) + 1)
        pair = self.match_mismatch
        if pair is not None:
            pair = (max(pair[0], floor), max(pair[1], floor))
        return replace(self, matrix=np.maximum(self.matrix, np.int32(floor)), match_mismatch=pair)


def _plain(value: Any) -> Any:
    """The value if two such values that are equal mean the same scoring, else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(type(part) in (int, float) for part in value):
        return tuple((type(part), part) for part in value)
    return (type(value), value) if type(value) in (int, float) else None


_made: dict[Any, Scoring] = {}


def cached_scoring(sub_score: Any, gap_cost: Any, wildcard: str | None = None) -> Scoring:
    """As :func:`make_scoring`, remembered where the arguments are plain numbers and names."""
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
    codes, kept = _merge_equal(matrix)
    table = encoding_table(letters, codes)
    return Scoring(
        matrix=np.ascontiguousarray(matrix[np.ix_(kept, kept)]),
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
    """A scoring by compare-and-select: all letters that never match share one code on the query
    side and another one on the target side."""
    count = never.count(False)
    order = np.cumsum([not lost for lost in never]) - 1
    query = [count if lost else int(k) for lost, k in zip(never, order, strict=True)]
    target = [count + 1 if lost else int(k) for lost, k in zip(never, order, strict=True)]
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
    """(match, mismatch) and which letters never match, if that is all that the matrix says."""
    size = len(matrix)
    diagonal = np.diagonal(matrix)
    others = matrix[~np.eye(size, dtype=bool)]
    mismatch = int(others[0]) if size > 1 else int(diagonal[0])
    matches = {int(v) for v in diagonal} - {mismatch}
    lost = np.array(never)
    if (others != mismatch).any() or len(matches) > 1 or (diagonal[lost] != mismatch).any():
        return None, never
    if not matches:
        return (mismatch, mismatch), never
    match = matches.pop()
    return (match, mismatch), [bool(v) for v in lost | (diagonal == mismatch)]


def _merge_equal(matrix: NDArray[np.int32]) -> tuple[list[int], list[int]]:
    """The code of every letter, letters with the same row and column sharing one, and for every
    code the first letter that has it."""
    seen: dict[bytes, int] = {}
    codes: list[int] = []
    kept: list[int] = []
    for k in range(len(matrix)):
        key = matrix[k].tobytes() + matrix[:, k].tobytes()
        if key not in seen:
            seen[key] = len(kept)
            kept.append(k)
        codes.append(seen[key])
    return codes, kept


def _wildcard_index(wildcard: Any, letters: str) -> int:
    """Which of ``letters`` the wildcard is, spelled in any accepted way."""
    if not isinstance(wildcard, str) or len(wildcard) != 1:
        raise ScoringError(f"wildcard must be one letter, not {shown(wildcard)}")
    table = encoding_table(letters, range(len(letters)))
    index = int(table[ord(wildcard)]) if ord(wildcard) < 128 else NO_CODE
    if index == NO_CODE:
        raise ScoringError(f"wildcard {wildcard!r} is not in the alphabet {letters}")
    return index


def _whole(values: NDArray[np.float64]) -> bool:
    return bool((values == np.rint(values)).all())
