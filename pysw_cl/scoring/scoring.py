"""Scorings: substitution scores and gap costs, and the codes that letters become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ScoringError, SequenceError, shown
from ..sequences.alphabet import (
    LONG,
    MAX_LETTERS,
    NO_CODE,
    PRINTABLE,
    Letters,
    Table,
    bytes_of,
    encoding_table,
    first_outside,
    is_nucleotide,
    looks_like_path,
    show_byte,
    translated,
)
from ..sequences.coded import Alphabet
from .arguments import check_halves, gap_costs, substitution_scores, whole
from .matrices import is_name
from .protein import AMINO_ACIDS, TAKEN, is_protein
from .source import MatrixScores, PairScores

__all__ = ["NO_CODE", "SCORE_LIMIT", "Scoring", "make_scoring"]

#: Every score and gap cost, after scaling, is smaller than this.
SCORE_LIMIT = 1 << 20
#: From this code on a letter is marked as one that is scored as another: no byte of ASCII.
OTHER = 128
#: The ``unknown`` that makes letters outside the alphabet errors.
ERROR = "error"
#: Letters that are looked at to say what a sequence may be instead.
NAME_LENGTH = 1000
#: Letters of proteins that no nucleotide has, X left out, which masks either.
_PROTEIN_ONLY = set(b"EFILPQ")
_AMINO_BYTES = (AMINO_ACIDS + "BZXUOJ*").encode() + (AMINO_ACIDS + "BZXUOJ").lower().encode()


#: The fields that say how a scoring was given, and do not decide a result.
DESCRIPTIVE = ("name", "stand_ins", "substitutions")


@dataclass(frozen=True, eq=False)
class Scoring:
    """Integer scores of one comparison.  A gap of k letters costs ``gap_open + k * gap_extend``."""

    #: Are query codes positions, and no letters?
    by_position: ClassVar[bool] = False

    #: ``matrix[q, t]`` (int32, at most 65 x 65): the score of query code q and target code t.
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
    #: The name of the substitution matrix, or "".
    name: str = ""
    #: Those of J, U and O that a protein matrix lacks (`pysw_cl.scoring.protein.STAND_INS`).
    stand_ins: str = ""
    #: The letter of the alphabet whose scores all other letters take; "": they are errors.
    unknown: str = ""
    #: The substitution scores in words, as results show them.
    substitutions: str = ""
    #: What the letters stand for, if it is an `Alphabet`.
    alphabet: Alphabet | None = None

    def facts(self) -> dict[str, Any]:
        """The fields that decide a result as JSON; an array as its type and its values."""

        def plain(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return {"dtype": value.dtype.str, "values": value.tolist()}
            if isinstance(value, Alphabet):
                return {"symbols": value.symbols, "fold_case": value.fold_case}
            return [int(v) for v in value] if isinstance(value, tuple) else value

        unused = [name for name in ("unknown", "alphabet") if not getattr(self, name)]
        left_out = [*DESCRIPTIVE, *unused]
        names = [field.name for field in fields(self) if field.name not in left_out]
        return {name: plain(getattr(self, name)) for name in names}

    def description(self) -> dict[str, str]:
        """The other fields, which say how the scoring was given."""
        return {name: getattr(self, name) for name in DESCRIPTIVE}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Scoring:
        """The scoring from the result of :meth:`facts`, with or without a :meth:`description`."""

        def real(value: Any) -> Any:
            if isinstance(value, dict) and "symbols" in value:
                return Alphabet(**value)
            if isinstance(value, dict):
                return np.array(value["values"], value["dtype"])
            return tuple(value) if isinstance(value, list) else value

        return cls(**{name: real(value) for name, value in facts.items()})

    @property
    def in_words(self) -> str:
        """The whole scoring as results show it: what has to be given to have it again."""
        gap = [f"{cost / self.scale:g}" for cost in (self.gap_open, self.gap_extend)]
        known = self.substitutions or f"a matrix of {self.letters}"
        return f"{known}; a gap of length k costs {gap[0]} + k * {gap[1]}"

    @cached_property
    def source(self) -> MatrixScores:
        """Where the scores come from."""
        pair = self.match_mismatch
        return MatrixScores(self.matrix) if pair is None else PairScores(self.matrix, *pair)

    @cached_property
    def highest(self) -> int:
        """The highest substitution score."""
        return int(self.matrix.max())

    @cached_property
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

    def equal(self, query: Letters, target: Letters) -> NDArray[np.bool_] | None:
        """Which query letters match as many target letters, pair by pair (`match_tables`)."""
        query_ids, target_ids = self.match_tables()
        return np.asarray(translated(query_ids, query) == translated(target_ids, target))

    def check_letters(self, letters: Letters, what: str, first: int = 0) -> None:
        """Raise SequenceError for the first letter outside the alphabet, with its 1-based position.

        ``letters`` follow the first ``first`` letters of the sequence ``what``."""
        position = first_outside(self._allowed, letters)
        if position is not None:
            raise SequenceError(
                f"letter {show_byte(int(letters[position]))} at position {first + position + 1} of "
                f"the {what} is not in the alphabet {self.letters}; "
                f"{self._instead(letters, what)}"
            )

    def knows(self, letters: Letters) -> bool:
        """Are these letters of sequences (no blanks, no gaps), all in the alphabet?"""
        return first_outside(self._printable, letters) is None

    def known_codes(self, letters: Letters, what: str) -> tuple[NDArray[np.uint8], bool] | None:
        """The codes of letters of the sequence ``what`` ("query" or "target"), perhaps read-only,
        and whether some are scored as others; None unless `knows` is true of them."""
        codes = translated(self._marked_encodings[what == "target"], letters)
        if len(codes) < LONG and bytes_of(codes).isascii():  # of few faster than a maximum
            return codes, False
        most = int(codes.max(initial=0))
        if most == NO_CODE:
            return None
        return (codes, False) if most < OTHER else (codes % OTHER, True)

    def _instead(self, letters: Letters, what: str) -> str:
        """What to do about a sequence with a letter outside the alphabet."""
        start = letters[:NAME_LENGTH].tobytes()
        if looks_like_path(start.decode("latin-1")):
            return "this looks like the name of a file, whose sequences read_sequences reads"
        protein = not start.translate(None, _AMINO_BYTES) and _PROTEIN_ONLY & set(start.upper())
        if is_nucleotide(self.letters) and protein:
            return (
                "this looks like a protein, which takes a matrix: sub_score='BLOSUM62' (in the "
                "shell: --matrix BLOSUM62)"
            )
        instead = "N" if is_nucleotide(self.letters) else "X"
        take = (
            f"take such letters as {instead} with unknown='{instead}' (in the shell: "
            f"--unknown-as {instead})"
        )
        return (
            f"correct the {what}, or {take if instead in self.letters else 'choose another matrix'}"
        )

    @cached_property
    def _allowed(self) -> bytes:
        """Every byte that is a letter of the alphabet."""
        return np.flatnonzero(self.query_encoding != NO_CODE).astype(np.uint8).tobytes()

    @cached_property
    def _printable(self) -> bytes:
        """Those that sequences may have."""
        return bytes(set(self._allowed) & set(PRINTABLE))

    @cached_property
    def _marked_encodings(self) -> tuple[Table, Table]:
        """Both encodings, with codes from OTHER on for letters that are scored as others, and
        NO_CODE for bytes that sequences may not have."""

        def among(some: bytes) -> NDArray[np.bool_]:
            return np.isin(np.arange(256), np.frombuffer(some, np.uint8))

        known, others = among(self._printable), ~among(self.own_bytes)
        both = (self.query_encoding, self.target_encoding)
        marked = [table + np.uint8(OTHER) * others for table in both]
        query, target = (np.where(known, table, np.uint8(NO_CODE)) for table in marked)
        return query, target

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
        return self.table(ids), self.table(target_ids)

    def table(self, codes: Iterable[int]) -> Table:
        """The table (uint8, 256 entries) that maps ``letters[k]`` to ``codes[k]``, and every letter
        outside the alphabet to the code of ``unknown``, or to NO_CODE."""
        return letter_table(self.letters, codes, self.unknown)

    @cached_property
    def protein(self) -> bool:
        """Is the alphabet one of proteins?"""
        return is_protein(self.letters)

    @cached_property
    def own_bytes(self) -> bytes:
        """The bytes that are letters of the matrix itself, not scored as others."""
        known = encoding_table(self.letters, range(len(self.letters))) != NO_CODE
        stand_ins = self.stand_ins + self.stand_ins.lower()
        return bytes(k for k in range(256) if known[k] and chr(k) not in stand_ins)

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
    """A key for a value that is the name of a matrix, a number or a tuple of numbers; else None: a
    file may change."""
    if isinstance(value, str):
        return value if is_name(value) else None
    if isinstance(value, tuple) and all(type(part) in (int, float) for part in value):
        return tuple((type(part), part) for part in value)
    return (type(value), value) if type(value) in (int, float) else None


def letter_table(letters: str, codes: Iterable[int], unknown: str) -> Table:
    """See `Scoring.table`."""
    table = encoding_table(letters, codes)
    if unknown:
        others = [code for code in PRINTABLE if table[code] == NO_CODE]
        table[others] = table[ord(unknown)]
    return table


_made: dict[Any, Scoring] = {}


def cached_scoring(
    sub_score: Any, gap_cost: Any, wildcard: str | None = None, unknown: str = ERROR
) -> Scoring:
    """As :func:`make_scoring`; the scoring of plain numbers and names is made once."""
    gaps = "" if gap_cost is None else _plain(gap_cost)
    key = (_plain(sub_score), gaps, "" if wildcard is None else wildcard, unknown)
    if key[0] is None or gaps is None or not all(isinstance(text, str) for text in key[2:]):
        return make_scoring(sub_score, gap_cost, wildcard, unknown)
    scoring = _made.get(key)  # another thread may clear the table at any time
    if scoring is None:
        scoring = make_scoring(sub_score, gap_cost, wildcard, unknown)
        for array in (scoring.matrix, scoring.query_encoding, scoring.target_encoding):
            array.setflags(write=False)
        if len(_made) >= 64:
            _made.clear()
        _made[key] = scoring
    return scoring


def make_scoring(
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    unknown: str = ERROR,
) -> Scoring:
    """The scoring for what a user gives.

    ``sub_score``: (match, mismatch), the name of a matrix (NCBI's and scikit-bio's names), the path
    of a file in NCBI's format, a scikit-bio ``SubstitutionMatrix``, one of Biopython's matrices, or
    (array, letters) with a square array of up to 64 letters, rows for the query, or
    (array, `Alphabet`).
    With (match, mismatch) the letters are A C G T, U = T, and the IUPAC ambiguity letters, which
    never match, not even themselves.  A protein matrix without U, O or J takes them, too
    (`with_stand_ins`).
    ``gap_cost``: (open, extend), or one number for a linear cost (open 0): a gap of length k
    costs ``gap_open + k * gap_extend``, both given as positive numbers.  None: what is usual for a
    named matrix (`USUAL_GAPS`), else (3, 2).
    ``wildcard``: one letter that scores 0 against everything and counts as a match with nothing,
    and so do the letters that are scored as it is: of a matrix that lacks them U as C and O as X.
    ``unknown``: "error", or a letter of the alphabet as which every other letter is taken.

    All numbers may be integers or halves; with a half anywhere, all are doubled and ``scale`` is
    2.  Raises ScoringError for anything else, for numbers of 2**20 or more, and for an alphabet
    that cannot be used.
    """
    given = substitution_scores(sub_score)
    values, letters, never = given.values, given.letters, given.never_match
    gaps = gap_costs(gap_cost, given.name)
    largest = max(np.abs(values).max(), gaps.max())
    if largest < SCORE_LIMIT:
        check_halves(values, gaps)
    scale = 1 if whole(values) and whole(gaps) else 2
    if largest * scale >= SCORE_LIMIT:
        raise ScoringError(
            f"substitution scores and gap costs must be smaller than {SCORE_LIMIT // scale}; "
            f"got {largest:.12g}"
        )
    matrix = np.rint(values * scale).astype(np.int32)
    if wildcard is not None:
        index = letter_index(wildcard, letters, "wildcard")
        neutral = {letters[index]} | {
            c for c in given.stand_ins if TAKEN.get(c) == letters[index].upper()
        }
        places = [k for k, c in enumerate(letters) if c in neutral]
        matrix[places, :] = 0
        matrix[:, places] = 0
        never = "".join(c for c in letters if c in never or c in neutral)
    refused = isinstance(unknown, str) and unknown == ERROR
    if given.alphabet is not None and (wildcard is not None or not refused):
        raise ScoringError("wildcard and unknown are for plain letters, not for an Alphabet")
    other = "" if refused else letters[letter_index(unknown, letters)]
    words = [given.words]
    words += [] if wildcard is None else [f"{wildcard} against anything 0"]
    words += [f"letters outside the alphabet as {other}"] if other else []
    pair, unmatched = _match_mismatch(matrix, [c in never for c in letters])
    if pair is not None:
        query, target, matrix = _select_codes(pair, unmatched)
    else:
        query, firsts = _merge_equal(matrix)
        target, matrix = query, np.ascontiguousarray(matrix[np.ix_(firsts, firsts)])
    gap_open, gap_extend = (round(float(g) * scale) for g in gaps)
    return Scoring(
        matrix=matrix,
        match_mismatch=pair,
        gap_open=gap_open,
        gap_extend=gap_extend,
        letters=letters,
        query_encoding=letter_table(letters, query, other),
        target_encoding=letter_table(letters, target, other),
        scale=scale,
        never_match=never,
        name=given.name,
        stand_ins=given.stand_ins,
        unknown=other,
        substitutions=", ".join(words),
        alphabet=given.alphabet,
    )


def _select_codes(
    pair: tuple[int, int], never: list[bool]
) -> tuple[list[int], list[int], NDArray[np.int32]]:
    """The codes of query and target letters for compare-and-select, and their matrix.  All letters
    that never match share one code in the query and another one in the target."""
    count = never.count(False)
    order = np.cumsum([not alone for alone in never]) - 1
    query = [count if alone else int(k) for alone, k in zip(never, order, strict=True)]
    target = [count + 1 if alone else int(k) for alone, k in zip(never, order, strict=True)]
    size = count + 2 if any(never) else count
    return query, target, np.where(np.eye(size, dtype=bool), np.int32(pair[0]), np.int32(pair[1]))


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


def letter_index(letter: Any, letters: str, what: str = "unknown") -> int:
    """The index of a letter, in any accepted spelling, among ``letters``; ``what`` it is for."""
    if not isinstance(letter, str) or len(letter) != 1:
        more = f"'{ERROR}' or one letter" if what == "unknown" else "one letter"
        raise ScoringError(f"{what} must be {more}, not {shown(letter)}")
    table = encoding_table(letters, range(len(letters)))
    index = int(table[ord(letter)]) if ord(letter) < 128 else NO_CODE
    if index == NO_CODE:
        raise ScoringError(f"{what}: the letter {letter!r} is not in the alphabet {letters}")
    return index
