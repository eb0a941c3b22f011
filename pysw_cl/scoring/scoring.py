"""Scorings: substitution scores and gap costs, and the codes that letters become."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ScoringError, SequenceError
from ..sequences.alphabet import (
    BASES,
    LONG,
    MAX_LETTERS,
    NO_CODE,
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
from ..sequences.sequence import Sequence
from .arguments import ERROR, MISMATCH, gap_costs, integers, letter_index, substitution_scores
from .matrices import AMINO_ACIDS, TAKEN, is_name
from .precision import Bounds
from .source import MatrixScores, letter_codes

#: From this code on a letter is marked as one that is scored as another: no byte of ASCII.
OTHER = 128
#: Letters that are looked at to say what a sequence may be instead.
NAME_LENGTH = 1000
#: Letters of proteins that no nucleotide has, X left out, which masks either.
_PROTEIN_ONLY = set(b"EFILPQ")
_AMINO = (AMINO_ACIDS + "BZXUOJ*").encode() + (AMINO_ACIDS + "BZXUOJ").lower().encode()
#: Types of values whose ``repr`` says all of them.
_PLAIN = {str, int, float, bool, type(None)}
_PLAIN_OR_TUPLE = {*_PLAIN, tuple}
Made = TypeVar("Made")
#: The fields that say how a scoring was given, and do not decide a result.
DESCRIPTIVE = ("name", "stand_ins", "substitutions")
#: Those that few scorings have.
OPTIONAL = ("unknown", "alphabet", "by_position", "ids", "sets")
#: The codes of a range of at most so many letters are made when its letters are checked, and kept:
#: that takes half the time of checking first.  Codes of more would take too much memory.
MOST_KNOWN = 1 << 24


@dataclass(frozen=True, eq=False)
class Scoring:
    """Integer scores of one comparison.  A gap of k letters costs ``gap_open + k * gap_extend``."""

    #: ``matrix[q, t]`` (int32, at most 65 x 65): the score of query code q and target code t.
    matrix: NDArray[np.int32]
    #: (match, mismatch) if every entry of the matrix is "match if q == t else mismatch", else None.
    #: Letters that never match then have different codes in query and target.
    match_mismatch: tuple[int, int] | None
    #: The cost of opening a gap, and of each of its letters, 0 or more.
    gap_open: int
    gap_extend: int
    letters: str
    #: The code of each byte of a query and a target (uint8, 256 entries), or NO_CODE.
    query_encoding: Table
    target_encoding: Table
    #: 1 or 2: the user's scores are these integers divided by it.
    scale: int = 1
    #: The letters that match nothing, not even themselves: ambiguity letters with (match,
    #: mismatch), and the wildcard.  Any other letter is '=' to itself, whatever it scores.
    never_match: str = ""
    #: The name of the substitution matrix, or "".
    name: str = ""
    #: Those of J, U and O that a protein matrix lacks (`pysw_cl.scoring.matrices.STAND_INS`).
    stand_ins: str = ""
    #: The letter of the alphabet whose scores all other letters take; "": they are errors.
    unknown: str = ""
    #: The substitution scores in words, as results show them.
    substitutions: str = ""
    #: What the letters stand for, if it is an `Alphabet`.
    alphabet: Alphabet | None = None
    #: Are query codes positions of a `PositionMatrix`?  And what each is a match of (uint8, see
    #: `match_tables`; NO_CODE: of nothing); None: the query's letters are not known.
    by_position: bool = False
    ids: Letters | None = None
    #: Is each letter the set of nucleotides that it stands for, and a match of any that shares one?
    sets: bool = False

    def facts(self) -> dict[str, Any]:
        """The fields that decide a result as JSON; an array as its type and its values."""

        def plain(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return {"dtype": value.dtype.str, "values": value.tolist()}
            if isinstance(value, Alphabet):
                return {"symbols": value.symbols, "fold_case": value.fold_case}
            return [int(v) for v in value] if isinstance(value, tuple) else value

        known = {field.name: getattr(self, field.name) for field in fields(self)}
        has = {name for name in OPTIONAL if isinstance(known[name], np.ndarray) or known[name]}
        left_out = {*DESCRIPTIVE, *OPTIONAL} - has
        return {name: plain(value) for name, value in known.items() if name not in left_out}

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
        """What kernels are told: scores of at least `Bounds.worst`, which changes no result."""
        floor, pair = self.bounds.worst, self.match_mismatch
        if pair is not None:
            pair = (max(pair[0], floor), max(pair[1], floor))
        return MatrixScores(np.maximum(self.matrix, np.int32(floor)), pair, self.by_position)

    @cached_property
    def highest(self) -> int:
        return int(self.matrix.max())

    @cached_property
    def lowest(self) -> int:
        return int(self.matrix.min())

    def unscaled(self, score: int) -> int | float:
        """A score as users see it: an integer, or a float if there are halves."""
        return score if self.scale == 1 else score / self.scale

    @cached_property
    def bounds(self) -> Bounds:
        return Bounds(self.lowest, self.highest, self.gap_open, self.gap_extend, self.scale)

    def coded(self, query: Sequence) -> NDArray[Any]:
        """What is compared of a query: its letters, or numbers of positions."""
        return np.arange(len(query), dtype=np.uint16) if self.by_position else query.letters

    def rows(self, query: Letters) -> NDArray[Any]:
        """The row of the matrix that scores each of a query's letters, all of them known."""
        return np.arange(len(query)) if self.by_position else self.query_encoding[query]

    def encode(self, letters: Letters, what: str) -> NDArray[np.uint8]:
        """The codes (uint8) of letters (ASCII) of the ``what``.  Raises as `check_letters`."""
        table = self.target_encoding if what == "target" else self.query_encoding
        codes = translated(table, letters)
        if codes.max(initial=0) == NO_CODE:
            self.check_letters(letters, what)
        return codes

    def pair_scores(self, query: NDArray[Any], target: Letters) -> NDArray[np.int32]:
        """The scores of query letters, or positions, with target letters, pair by pair."""
        if self.by_position:
            return np.asarray(self.matrix[query, self.encode(target, "target")])
        indices = self.encode(query, "query").astype(np.uint16) * np.uint16(self.matrix.shape[1])
        indices += self.encode(target, "target")
        return self.matrix.ravel().take(indices)

    def equal(self, query: NDArray[Any], target: Letters) -> NDArray[np.bool_] | None:
        """Which query letters, or positions, match target letters, pair by pair; None: unknown."""
        query_ids, target_ids = self.match_tables
        if self.by_position and self.ids is None:
            return None
        ids = translated(query_ids, query) if self.ids is None else self.ids[query]
        return self.ids_match(ids, translated(target_ids, target))

    def ids_match(self, query: Letters, target: Letters) -> NDArray[np.bool_]:
        """Which entries of `match_tables`, of query and target letters, are those of a match."""
        return np.asarray(query & target != 0 if self.sets else query == target)

    def check_letters(self, letters: Letters, what: str, first: int = 0) -> None:
        """Raise SequenceError for the first letter outside the alphabet, with its 1-based position
        and what to do.  ``letters`` follow the first ``first`` ones of the sequence ``what``."""
        if (position := first_outside(self._allowed, letters)) is None:
            return
        start, nucleotides = letters[:NAME_LENGTH].tobytes(), is_nucleotide(self.letters)
        usual = "N" if nucleotides else "X"
        if looks_like_path(start.decode("latin-1")):
            hint = "this looks like the name of a file, whose sequences read_sequences reads"
        elif nucleotides and _PROTEIN_ONLY & {*start.upper()} and not start.translate(None, _AMINO):
            hint = (
                "this looks like a protein, which takes a matrix: sub_score='BLOSUM62' (in the "
                "shell: --matrix BLOSUM62)"
            )
        elif usual in self.letters:
            hint = (
                f"correct the {what}, or take such letters as {usual} with unknown='{usual}' (in "
                f"the shell: --unknown-as {usual})"
            )
        else:
            hint = f"correct the {what}, or choose another matrix"
        raise SequenceError(
            f"letter {show_byte(int(letters[position]))} at position {first + position + 1} of "
            f"the {what} is not in the alphabet {self.letters}; {hint}"
        )

    def knows(self, letters: Letters) -> bool:
        """Are these letters of sequences (no blanks, no gaps), all in the alphabet?"""
        return first_outside(self._allowed, letters) is None

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

    @cached_property
    def _allowed(self) -> bytes:
        return np.flatnonzero(self.query_encoding != NO_CODE).astype(np.uint8).tobytes()

    @cached_property
    def _marked_encodings(self) -> tuple[Table, Table]:
        """Both encodings, with codes from OTHER on for letters that are scored as others."""
        own = np.isin(np.arange(256), np.frombuffer(self.own_bytes, np.uint8))
        others = np.uint8(OTHER) * (~own & (self.query_encoding != NO_CODE))
        return self.query_encoding + others, self.target_encoding + others

    @cached_property
    def match_tables(self) -> tuple[Table, Table]:
        """Two tables (uint8, 256 entries) for query and target letters: a pair of letters is a
        match ('=' in a CIGAR) if its entries are equal; with ``sets``, if they share a bit.  Equal
        letters match, whatever they score, but not those of ``never_match``.  Case is folded, and
        in nucleotide alphabets U is T."""
        if self.sets:
            sets = self.table(0 if c in self.never_match else BASES[c] for c in self.letters)
            return sets, sets
        ids = range(len(self.letters))
        target_ids = [MAX_LETTERS if self.letters[k] in self.never_match else k for k in ids]
        return self.table(ids), self.table(target_ids)

    def table(self, codes: Iterable[int]) -> Table:
        """The table (uint8, 256 entries) that maps ``letters[k]`` to ``codes[k]``, and every letter
        outside the alphabet to the code of ``unknown``, or to NO_CODE."""
        return encoding_table(self.letters, codes, self.unknown)

    @cached_property
    def own_bytes(self) -> bytes:
        """The bytes that are letters of the matrix itself, not scored as others."""
        known = encoding_table(self.letters, range(len(self.letters))) != NO_CODE
        stand_ins = self.stand_ins + self.stand_ins.lower()
        return bytes(k for k in range(256) if known[k] and chr(k) not in stand_ins)

    def clamped(self) -> Scoring:
        """The same scoring with the substitution scores that kernels are told."""
        return replace(self, matrix=self.source.table, match_mismatch=self.source.pair)


@cache
def names_of(make: Any) -> list[str]:
    return list(inspect.signature(make).parameters)


def made_of(make: Callable[..., Made], given: Mapping[str, Any]) -> Made:
    """What ``make`` makes of those of the ``given`` values that are arguments of it; kept where all
    are numbers, names, or tuples of them."""
    own = {name: given[name] for name in names_of(make) if name in given}
    kinds = tuple(map(type, own.values()))
    several = [value for value in own.values() if type(value) is tuple] if tuple in kinds else ()
    inner = tuple(map(type, chain.from_iterable(several)))
    plain = _PLAIN.issuperset(inner) and _PLAIN_OR_TUPLE.issuperset(kinds)
    scores = own.get("sub_score")
    if not plain or (isinstance(scores, str) and not is_name(scores)):  # a file may change
        return make(**own)
    made: Made = _kept(make, tuple(own.items()), kinds, inner)
    return made


@lru_cache(128)
def _kept(make: Callable[..., Any], given: tuple[tuple[str, Any], ...], *kinds: Any) -> Any:
    """``kinds``: numbers of different types may be equal."""
    return make(**dict(given))


def cached_scoring(*given: Any) -> Scoring:
    """As :func:`make_scoring`; the scoring of plain numbers and names is made once."""
    return made_of(make_scoring, dict(zip(names_of(make_scoring), given, strict=False)))


def make_scoring(
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    unknown: str = ERROR,
    iupac: str = MISMATCH,
) -> Scoring:
    """The scoring for what a user gives, as `align` takes it: a gap of length k costs
    ``gap_open + k * gap_extend``, both given as positive numbers.

    All numbers may be integers or halves; with a half anywhere, all are doubled and ``scale`` is
    2.  Raises ScoringError for anything else, for numbers of 2**20 or more, and for an alphabet
    that cannot be used."""
    values, known = substitution_scores(sub_score, iupac)
    letters, never = known.pop("letters"), known.get("never_match", "")
    words = [known["substitutions"]]
    gaps = gap_costs(gap_cost, known.get("name", ""))
    matrix, gap_open, gap_extend, scale = integers(values, gaps)
    if wildcard is not None:
        index, added = letter_index(wildcard, letters, "wildcard"), known.get("stand_ins", "")
        neutral = {letters[index], *(c for c in added if TAKEN.get(c) == letters[index].upper())}
        places = [k for k, c in enumerate(letters) if c in neutral]
        matrix[places, :] = 0
        matrix[:, places] = 0
        never = "".join(c for c in letters if c in never or c in neutral)
        words.append(f"{wildcard} against anything 0")
    refused = isinstance(unknown, str) and unknown == ERROR
    if "alphabet" in known and (wildcard is not None or not refused):
        raise ScoringError("wildcard and unknown are for plain letters, not for an Alphabet")
    other = "" if refused else letters[letter_index(unknown, letters)]
    words += [f"letters outside the alphabet as {other}"] if other else []
    pair, query, target, matrix = letter_codes(matrix, [c in never for c in letters])
    known |= {"never_match": never, "unknown": other, "substitutions": ", ".join(words)}
    ours, theirs = (encoding_table(letters, codes, other) for codes in (query, target))
    for array in (matrix, ours, theirs):
        array.setflags(write=False)
    return Scoring(matrix, pair, gap_open, gap_extend, letters, ours, theirs, scale, **known)
