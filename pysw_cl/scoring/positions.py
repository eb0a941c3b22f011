"""Position-specific scores: a matrix with a row for each position of a query (a PSSM).

Method: Gribskov, McLachlan & Eisenberg (1987), Proc Natl Acad Sci 84, 4355-4358; PSI-BLAST makes
such matrices (Altschul et al. 1997, Nucleic Acids Res 25, 3389-3402)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError, ScoringError, SequenceError, shown
from ..sequences.alphabet import encoding_table
from ..sequences.coded import Alphabet
from ..sequences.sequence import Sequence, as_sequence
from . import arguments
from .arguments import ERROR, MISMATCH, SCORE_LIMIT, alphabet_of, integers, numbers_of
from .matrices import read_pssm
from .scoring import Scoring

#: Positions at most: their numbers and one more, for padding, are codes of 16 bits.
MOST_POSITIONS = (1 << 16) - 1
#: The options that have to be as usual beside a position matrix.
USUAL = {
    "sub_score": (1, -3),
    "wildcard": None,
    "iupac": MISMATCH,
    "unknown": ERROR,
    "strand": "plus",
}
#: The letters of a query that is not known.
UNKNOWN_LETTER = b"X"


class PositionMatrix:
    """Scores of each position of a query with each letter, which stand in the query's place::

        p = PositionMatrix.read("query.pssm")     # of psiblast -out_ascii_pssm
        align(p, target)
        align_many([(p, one) for one in targets])

    ``scores``: an array of whole numbers, a row for each of at most 65,535 positions and a column
    for each of the ``letters`` that targets are made of.  ``query``: the letters of the positions,
    which decide what is a match ('=') and what is not ('X'); without them paths have 'M', and no
    result has an identity.  ``unknown``: the letter as which other letters of targets are taken.
    Parts of it are made as of a sequence: ``p[10:200]``, ``p[::-1]``.

    The gap cost is (11, 1) unless another is given.  There is no strand but "plus", and neither
    ``sub_score`` nor ``wildcard``, ``iupac`` or ``unknown`` can be given beside it.
    Raises ScoringError and SequenceError."""

    def __init__(
        self, scores: Any, letters: Any, query: Any = None, name: str = "", unknown: str = ERROR
    ) -> None:
        if isinstance(letters, Alphabet):
            raise ScoringError("the letters of a position matrix are plain ones, of no Alphabet")
        columns, values = alphabet_of(letters), numbers_of(scores, "position matrix")
        if values.ndim != 2 or values.shape[1] != len(columns) or not len(values):
            raise ScoringError(
                f"the position matrix has shape {values.shape}; it takes a row for each position "
                f"and {len(columns)} columns for the letters {columns}"
            )
        if len(values) > MOST_POSITIONS:
            raise ScoringError(
                f"the position matrix has {len(values):,} rows; it may have {MOST_POSITIONS:,}"
            )
        if len(bad := np.argwhere((values % 1 != 0) | ~(np.abs(values) < SCORE_LIMIT))):
            row, column = bad[0].tolist()
            raise ScoringError(
                f"the score of position {row + 1} and {columns[column]} is "
                f"{values[row, column]:g}; a position matrix has whole numbers below {SCORE_LIMIT}"
            )
        given = UNKNOWN_LETTER * len(values) if query is None else query
        known = as_sequence(given, "query", alphabet=None)
        if len(known) != len(values):
            raise SequenceError(
                f"the query has {len(known):,} letters, and the position matrix {len(values):,} "
                "rows; it takes one for each letter"
            )
        #: int32, positions x letters of a target; read-only.
        self.scores = values.astype(np.int32)
        self.scores.flags.writeable = False
        self.letters = columns
        self.query = None if query is None else known
        self.unknown = unknown
        self._other = "" if unknown == ERROR else columns[arguments.letter_index(unknown, columns)]
        self._made: dict[str, Scoring] = {}
        #: What stands in a query's place.
        self.sequence = Sequence(name or known.name, known.description, known.letters)

    @classmethod
    def read(cls, path: str | os.PathLike[str], unknown: str = ERROR) -> PositionMatrix:
        """The matrix of a file of ``psiblast -out_ascii_pssm``, with the query's letters.

        Targets may have X, too, which scores -1, as in PSI-BLAST.  Raises FormatError."""
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"a position matrix is read from a file, not from {shown(path)}")
        scores, letters, query = read_pssm(path)
        if "X" not in letters:
            scores, letters = np.insert(scores, len(letters), -1, axis=1), letters + "X"
        return cls(scores, letters, query, unknown=unknown)

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"PositionMatrix({self.sequence.name!r}, {len(self)} positions, {self.letters})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PositionMatrix):
            return NotImplemented
        own, its = ((one.letters, one._other, one.query) for one in (self, other))
        return own == its and np.array_equal(self.scores, other.scores)

    def __hash__(self) -> int:
        return hash(self.scores.tobytes())

    def __getitem__(self, place: slice) -> PositionMatrix:
        if not isinstance(place, slice) or place.step == 0:
            raise InputError(f"a position matrix is cut by slices, not by {shown(place)}")
        query = None if self.query is None else self.query[place]
        name = self.sequence.name
        return PositionMatrix(self.scores[place], self.letters, query, name, self.unknown)

    def scoring(self, gap_cost: Any = None) -> Scoring:
        """Its scoring, with a gap cost as for `make_scoring`; the last one is kept."""
        key = repr(gap_cost)
        if (made := self._made.get(key)) is None:  # another thread may change it
            gaps = arguments.gap_costs(gap_cost, "BLOSUM62")
            matrix, gap_open, gap_extend, scale = integers(self.scores.astype(np.float64), gaps)
            table = encoding_table(self.letters, range(len(self.letters)), self._other)
            ids = None if self.query is None else table[self.query.read()]
            words = f"a matrix of {len(self):,} positions and {self.letters}"
            given = matrix, None, gap_open, gap_extend, self.letters, table, table, scale
            told: dict[str, Any] = {"unknown": self._other, "substitutions": words, "ids": ids}
            made = Scoring(*given, by_position=True, **told)
            self._made = {key: made}
        return made

    def scoring_beside(self, options: Mapping[str, Any]) -> Scoring:
        """Its scoring beside these options.  Raises InputError for those that contradict it."""
        sub_score = options["sub_score"]
        of_first = isinstance(sub_score, Scoring) and sub_score.by_position  # of many queries
        if isinstance(sub_score, Scoring) and not of_first:
            raise InputError("an Aligner has its own scores; call align for a position matrix")
        for name, usual in USUAL.items():
            value = usual if of_first and name == "sub_score" else options[name]
            plain = type(value) is not tuple or arguments.match_mismatch(value) is not None
            if type(value) is not type(usual) or not plain or value != usual:
                raise InputError(
                    f"{name}={shown(value)} cannot stand beside a position matrix, whose scores "
                    "are its own and of one strand"
                )
        return self.scoring(options["gap_cost"])
