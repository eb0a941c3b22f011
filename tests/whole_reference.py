"""Whole alignments by the reference engine's matrices: what all other results are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pysw_cl.engines.reference import AT_H, IN_E, IN_F, Matrices, Matrix, fill
from pysw_cl.errors import InputError
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.view import Codes


@dataclass(frozen=True)
class ReferenceAlignment:
    """One optimal alignment.  Coordinates are 0-based and half-open.  ``moves`` (uint8; 0 diagonal,
    1 consumes target, 2 consumes query) begin at the alignment's start and cover exactly those
    letters."""

    score: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    moves: NDArray[np.uint8]
    matrices: Matrices


def border(length: int, free: bool, scoring: Scoring) -> tuple[Matrix, Matrix]:
    """H and E^ or F^ of a border of the matrix: a free one, or one gap from the corner."""
    gap = np.arange(1, length + 1, dtype=np.int64) * scoring.gap_extend + scoring.gap_open
    h = np.zeros(length, np.int64) if free else -gap
    return h, h - scoring.gap_open


def _end(h: Matrix, local: bool, trail_query: bool, trail_target: bool) -> tuple[int, int]:
    """The cell where the path ends: the first best one, in row-major order, of those allowed."""
    m, n = h.shape[0] - 1, h.shape[1] - 1
    if local:
        cells = [(i, j) for i, j in np.argwhere(h == h.max())[:1]]
    else:
        cells = [(i, n) for i in range(m)] if trail_target else []
        cells += [(m, j) for j in range(n)] if trail_query else []
        cells.append((m, n))
    row, column = max(cells, key=lambda cell: h[cell])  # max keeps the first of equals
    return int(row), int(column)


def align_reference(
    query: Codes,
    target: Codes,
    scoring: Scoring,
    mode: str,
    free_ends: tuple[bool, bool, bool, bool] = (False, False, False, False),
) -> ReferenceAlignment:
    """Align two arrays of codes (m, n >= 1) and return the canonical optimal path.

    ``mode`` is "local" or "global".  ``free_ends`` (global only) are scikit-bio's: whether the
    leading gap in the query, the trailing gap in the query, the leading gap in the target and the
    trailing gap in the target are free.  A gap in the query consumes target letters, so the first
    makes row 0 free and the second lets the path end anywhere in the last row, border included.
    Free terminal gaps are not part of the alignment, penalised ones are.  If no local score is
    above 0 the alignment is empty and all coordinates are 0.

    Source: Gotoh (1982), Altschul & Erickson (1986), Flouri et al. (2015); see the module.
    """
    if mode not in ("local", "global"):
        raise InputError(f"mode {mode!r} is not known: use 'local' or 'global'")
    local = mode == "local"
    lead_query, trail_query, lead_target, trail_target = free_ends
    top = border(len(target), local or lead_query, scoring)
    left = border(len(query), local or lead_target, scoring)
    matrices = fill(query, target, scoring, 0 if local else None, 0, top, left)
    row, column = query_end, target_end = _end(matrices.h, local, trail_query, trail_target)
    trace = matrices.trace(row, column, AT_H)
    moves = trace.moves.tolist()
    row, column = trace.row, trace.column
    if not local and row == 0 and not lead_query:
        moves += [IN_E] * column
        column = 0
    if not local and column == 0 and not lead_target:
        moves += [IN_F] * row
        row = 0
    return ReferenceAlignment(
        score=int(matrices.h[query_end, target_end]),
        query_start=row,
        query_end=query_end,
        target_start=column,
        target_end=target_end,
        moves=np.array(moves[::-1], np.uint8),
        matrices=matrices,
    )
