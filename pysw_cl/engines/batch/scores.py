"""A scoring as pair batches compute with it: the tables of their kernels, and which width suffices
for a pair; each bound is a function, with its proof.

Widths are 8, 16 and 32 bits.  All is for a scoring with clamped substitution scores
(`Scoring.clamped`), o = gap_open, e = gap_extend, a gap of k letters costing o + k * e.  Kernels
keep E and F as they enter a cell, so the next E is max(E - e, H - o - e)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...planning.lane_sets import WIDE, WIDTHS, PairLanes
from ...planning.pair_batch import FEW_LETTERS
from ...scoring.scoring import Scoring
from ...sequences.alphabet import MAX_LETTERS, NO_CODE
from ..common import FreeEnd

#: The free ends of the query.
FREE_QUERY = FreeEnd.LEAD_QUERY | FreeEnd.TRAIL_QUERY
#: A width is tried only if it holds the score of this many matches in a row.
LEAST_MATCHES = 8


def local_floor(scoring: Scoring, width: int) -> int:
    """The number that stands for a local score of 0 in lanes of ``width`` bits: as low as possible.

    H is never below this floor.  Kernels form these numbers from an H: H - o - e, which becomes E
    or F; E - e from that, at least floor - o - 2 e; H + s along the diagonal, at least floor +
    lowest; and H - 1, for finding the path's end.  In 32-bit lanes the floor is 0, which
    `precision.check_range` proves."""
    if width == WIDE:
        return 0
    below = max(scoring.gap_open + 2 * scoring.gap_extend, -scoring.lowest, 1)
    return -(1 << (width - 1)) + below


def local_limit(scoring: Scoring, width: int) -> int:
    """The highest local score that is surely exact in lanes of ``width`` bits; negative if none is.

    H rises at most ``highest`` a cell.  Let top be the highest value of the width, and take the
    first computed cell whose H is above top - highest.  Its neighbours were at most that, so its H
    is at most top, is exact, and enters the running maximum.  So a maximum of at most top - highest
    proves that every H was exact; any other pair is computed again in a wider lane.  (H + 1, which
    linear gaps are compared with, is at most top, too.)"""
    if width == WIDE:
        return 2**31 - 1
    return (1 << (width - 1)) - 1 - max(scoring.highest, 1) - local_floor(scoring, width)


def local_width(scoring: Scoring) -> int:
    """The width that local comparisons begin with: the narrowest that holds LEAST_MATCHES matches.
    The scores show which pairs need a wider one."""
    least = LEAST_MATCHES * max(scoring.highest, 1)
    return next(w for w in WIDTHS if local_limit(scoring, w) >= least)


def global_fits(
    scoring: Scoring, m: NDArray[Any], n: NDArray[Any], width: int, ends: int = 0
) -> NDArray[np.bool_]:
    """Which global comparisons of m query letters with n target letters (arrays) are surely exact
    in lanes of ``width`` bits.  ``ends``: the free ends, as `BatchEngine` has them.

    A gap of i letters and one of j reach cell (i, j), so H >= -(2 o + (i + j) e); free ends and
    matches only raise it.  Where all H above the first row are 0 (the query's leading end is free),
    a gap of i letters alone reaches it; where all H left of the first column are 0, one of j.  Let
    k be m + n, then, or m, or n, or the lesser of both.  Kernels form H - o - e, E - e from that,
    at least -(3 o + (k + 2) e), and H + s, at least -(2 o + k e) + lowest.  All must be above the
    lowest value of the width, which marks "no cell yet".  H is at most min(m, n) * max(0, highest),
    and comparisons use H + 1.  Padding cells beyond m or n may overflow: no cell inside depends on
    them, and no result uses them."""
    top = (1 << (width - 1)) - 1
    steps, reach = np.minimum(m, n).astype(np.int64), m.astype(np.int64) + n
    if ends & FreeEnd.LEAD_QUERY:
        reach = np.minimum(reach, m)
    if ends & FreeEnd.LEAD_TARGET:
        reach = np.minimum(reach, n)
    fall = 3 * scoring.gap_open + (reach + 2) * scoring.gap_extend
    fits = fall + max(0, -scoring.lowest) <= top
    return np.asarray(fits & (steps * max(0, scoring.highest) + 1 <= top))


def path_reach(
    scoring: Scoring, m: NDArray[Any], scores: Any, local: bool, ends: int = 0
) -> NDArray[np.int64] | None:
    """The most target letters of optimal paths that begin and end in m query letters at most and
    have these ``scores`` (arrays; None: any that is possible); None if nothing bounds them.

    Such a path has at most m matches.  Each target letter beyond m is in a gap, so m highest -
    extend (letters - m) >= score.  A comparison of fewer letters left of the path's end has the
    same optimal paths to that end, if its left border is not higher than H there: not with the
    target's leading end free.  H of its other cells is not too high: no other end comes first."""
    from_anywhere = local or ends & FreeEnd.LEAD_QUERY
    if scoring.gap_extend == 0 or not from_anywhere or ends & ~FREE_QUERY:
        return None
    rows = m.astype(np.int64)
    least = 0 if local else -(scoring.gap_open + rows * scoring.gap_extend)
    above = np.maximum(rows * max(0, scoring.highest) - (least if scores is None else scores), 0)
    return np.asarray(rows + above // scoring.gap_extend + 1)


def counts_fit(m: NDArray[Any], n: NDArray[Any], width: int) -> NDArray[np.bool_]:
    """Can lanes of ``width`` bits count the matches and the columns of a path?  There are at most
    m + n, and the counts of a gap include one more column."""
    return np.asarray(m.astype(np.int64) + n + 1 <= (1 << (width - 1)) - 1)


@dataclass(frozen=True)
class Tables:
    """The tables of a clamped scoring.  Letters with equal codes count as a match; if it is one of
    ``sets``, letters whose codes share a bit."""

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
        """The tables of a clamped scoring.  "compare" suffices if the mismatch is not positive
        (padding mismatches) and exactly the letters with equal codes match.  Otherwise each letter
        has a code of its own, and a letter that matches nothing has another code on the target
        side; or the code is the letter's set."""
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
        same = scoring.ids_match(query_ids[:, None], target_ids[None, :])
        if pair is not None and (same == (query[:, None] == target)).all():
            return cls(scoring, "compare", codes, FEW_LETTERS, np.array(pair[::-1], np.int32))
        most = FEW_LETTERS if len(letters) <= FEW_LETTERS else MAX_LETTERS
        own: Any = np.arange(len(letters))
        other: Any = np.where(same.any(axis=0), own, own + most)
        if scoring.sets:
            own, other = query_ids, target_ids
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
        """The arguments with which a traceback scores letters, or codes that are ``kept``."""
        scoring = self.scoring
        if kept:
            wide = 0 if self.kind == "compare" else self.letters + 1
            return {"matrix": self.matrix, "wide": wide}
        codes = np.concatenate([scoring.query_encoding, scoring.target_encoding])
        return {
            "codes": np.where(codes == NO_CODE, 0, codes).astype(np.uint8),
            "same": np.concatenate(scoring.match_tables),
            "matrix": scoring.matrix,
            "wide": scoring.matrix.shape[1],
        }
