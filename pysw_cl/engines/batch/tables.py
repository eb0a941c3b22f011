"""A scoring in the form that the kernels of pair batches take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...planning.lane_sets import PairLanes
from ...planning.pair_batch import FEW_LETTERS
from ...scoring.scoring import Scoring
from ...sequences.alphabet import MAX_LETTERS, NO_CODE


@dataclass(frozen=True)
class Tables:
    """The tables of a clamped scoring.  Letters with equal codes count as a match."""

    scoring: Scoring
    #: "compare", "matrix" or "positions" (of one position matrix, the query of all pairs).
    kind: str
    #: uint8: the codes of 256 query letters, then of 256 target letters.
    codes: NDArray[np.uint8]
    #: For "matrix": the most codes; that number is padding of queries, and twice that of targets.
    letters: int
    #: For "compare": the scores of different and of equal codes.  For "matrix": the scores [t, q]
    #: with those of padding (int32).  For "positions": [q, t].
    matrix: NDArray[np.int32]

    @classmethod
    def of(cls, scoring: Scoring) -> Tables:
        """The tables of a clamped scoring.

        "compare" suffices if the mismatch is not positive (padding mismatches) and exactly the
        letters with equal codes match.  Otherwise each letter has a code of its own, and a letter
        that matches nothing has another code on the target side.
        """
        codes = np.concatenate([scoring.query_encoding, scoring.target_encoding])
        bad = min(0, scoring.lowest)
        if scoring.by_position:
            codes[:256] = 0  # whatever letters the positions have
            matrix = np.full((len(scoring.matrix), FEW_LETTERS), bad, np.int32)
            matrix[:, : len(scoring.letters)] = scoring.matrix
            return cls(scoring, "positions", codes, FEW_LETTERS, matrix)
        pair = scoring.source.compared()
        letters = np.frombuffer(scoring.letters.encode(), np.uint8)
        query, target = scoring.query_encoding[letters], scoring.target_encoding[letters]
        query_ids, target_ids = (table[letters] for table in scoring.match_tables)
        same = query_ids[:, None] == target_ids[None, :]
        if pair is not None and (same == (query[:, None] == target)).all():
            return cls(scoring, "compare", codes, FEW_LETTERS, np.array(pair[::-1], np.int32))
        most = FEW_LETTERS if len(letters) <= FEW_LETTERS else MAX_LETTERS
        own = np.arange(len(letters))
        other = np.where(same.any(axis=0), own, own + most)
        matrix = np.full((2 * most + 1, most + 1), bad, np.int32)
        matrix[other[:, None], own] = scoring.matrix[np.ix_(query, target)].T
        tables = scoring.table(own), scoring.table(other)
        return cls(scoring, "matrix", np.concatenate(tables), most, matrix)

    def file(self, lanes: PairLanes, width: int) -> str:
        """The score file of cl/batch for lanes of a width."""
        if self.kind == "positions" and width < 32 and lanes.items > 1:
            return "position_words"
        if self.kind != "matrix":
            return self.kind
        small = width < 32 and self.matrix.min() >= -128 and self.matrix.max() <= 127
        return (small and lanes.bytes) or "lookup"

    def arguments(self, file: str) -> dict[str, Any]:
        """The arguments of a score file."""
        if file == "compare":
            mismatch, match = self.matrix.tolist()
            return {"match": match, "mismatch": mismatch}
        matrix = self.matrix[:, : self.letters] if file == "profile" else self.matrix
        if file == "position_words":  # four rows a word
            rows = np.pad(matrix, ((0, -len(matrix) % 4), (0, 0)))
            matrix = rows.reshape(-1, 4, matrix.shape[1]).swapaxes(1, 2)
        kind = np.int32 if file == "lookup" else np.int8
        given: dict[str, Any] = {"matrix": np.ascontiguousarray(matrix, kind)}
        return {**given, "bad": min(0, self.scoring.lowest)} if file == "profile" else given

    def traceback(self, kept: bool) -> dict[str, Any]:
        """The arguments with which a traceback makes scores of letters, or of these codes where
        they are ``kept``."""
        scoring = self.scoring
        if kept:
            return {
                "matrix": self.matrix,
                "wide": 0 if self.kind == "compare" else self.letters + 1,
            }
        codes = np.concatenate([scoring.query_encoding, scoring.target_encoding])
        return {
            "codes": np.where(codes == NO_CODE, 0, codes).astype(np.uint8),
            "same": np.concatenate(scoring.match_tables),
            "matrix": scoring.matrix,
            "wide": scoring.matrix.shape[1],
        }
