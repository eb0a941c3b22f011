"""The reference engine: the recurrences as they are defined, in NumPy, checked by hand.

Tests compare the device engines with this one, so it shares no code with them.  It fills three
full matrices H, E and F of 64-bit integers, one row after the other: 32 bytes a cell.

H and F of a row need the row above.  E(i, j) is the maximum over all k < j of a gap that is opened
after cell (i, k): H(i, k) - gap_open - (j - k) * gap_extend.  That is a running maximum along the
row.  (E may be left out of H here: to go on with a gap costs less than to open another one.)

The method: affine gaps in three matrices are Gotoh's (1982, J Mol Biol 162, 705-708).  The
traceback goes through all three matrices, because one through H alone can confuse opening a gap
with extending it (Altschul & Erickson 1986, Bull Math Biol 48, 603-616).  A gap in one sequence may
follow directly on a gap in the other, and a gap in either may be opened at a border cell.  So gap
scores on a border are at least H - gap_open (Flouri et al. 2015, bioRxiv 031500).  Of several paths
with the best score it returns the one that scikit-bio's ``pair_align`` returns.

A gap of k letters costs ``gap_open + k * gap_extend``, both given as positive numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..planning.facts import DeviceFacts
from ..planning.plan import Plan, StriplessPlan
from ..scoring.precision import UNREACHABLE_BELOW
from ..scoring.scoring import Scoring
from ..sequences.view import Codes, Pairs
from ..tiles.contract import Engine
from ..tiles.edges import Edge
from ..tiles.tile import NO_HITS, Hits, TileJob, TileResult, Traced

Matrix = NDArray[np.int64]

#: States of a traceback: at H, in a gap that consumes target (E), in one that consumes query (F);
#: and the moves that they lead to: align two letters, consume a target letter, a query letter.
AT_H, IN_E, IN_F = 0, 1, 2

#: The score of a forbidden pair: lower than any other score.
_FORBIDDEN = -(1 << 40)


@dataclass(frozen=True)
class Matrices:
    """H, E and F of one comparison: int64, (m + 1) x (n + 1), borders in row 0 and column 0.  They
    are the moves of a tile, too.  As edges do, column 0 of E holds E^ = max(E, H - gap_open), and
    row 0 of F holds F^ alike.  Row 0 of E and column 0 of F are never read."""

    h: Matrix
    e: Matrix
    f: Matrix
    gap_open: int
    floor: int | None

    def opened(self, gap: Matrix, row: int | slice, column: int | slice) -> Matrix:
        """max(gap, H - gap_open) at these cells: the E^ or F^ of an edge."""
        return np.maximum(gap[row, column], self.h[row, column] - self.gap_open)

    def release(self) -> None:
        """Nothing to free."""

    def each(self, cells: Sequence[tuple[int, int]]) -> list[Traced]:
        return [self.trace(*cell, AT_H) for cell in cells]

    def trace(self, row: int, column: int, state: int) -> Traced:
        """Trace a path back from a cell by the canonical rule (scikit-bio's): see
        :class:`pysw_cl.tiles.contract.StoredMoves`.

        In state H a local path ends if H is at the floor.  Otherwise it goes on to F if F equals H,
        else to E if E equals H, else along the diagonal.  After a gap move the state at the next
        cell is that gap.  The gap goes on if its score there is at least H - gap_open; otherwise
        the state becomes H.  With ``gap_open`` 0 the state is H at every cell."""
        h, e, f, opening, floor = self.h, self.e, self.f, self.gap_open, self.floor
        moves, ended = list[int](), False
        while row > 0 and column > 0:
            here = h[row, column]
            gap = {AT_H: None, IN_E: e, IN_F: f}[state]
            if gap is None or opening == 0 or gap[row, column] < here - opening:
                state = AT_H
            if state == AT_H:
                if floor is not None and here == floor:
                    ended = True
                    break
                if f[row, column] == here:
                    state = IN_F
                elif e[row, column] == here:
                    state = IN_E
            moves.append(state)
            row, column = row - (state != IN_E), column - (state != IN_F)
        if opening == 0:
            state = AT_H
        return Traced(np.array(moves, np.uint8), row, column, state, ended)


def fill(
    query: Codes,
    target: Codes,
    scoring: Scoring,
    floor: int | None,
    corner: int,
    top: tuple[NDArray[Any], NDArray[Any]],
    left: tuple[NDArray[Any], NDArray[Any]],
    forbidden: Pairs | None = None,
) -> Matrices:
    """Fill H, E and F from a corner H, a top border (H, F^: n numbers each) and a left border (H,
    E^: m numbers each).  ``forbidden`` pairs are never aligned (Waterman & Eggert 1987)."""
    m, n = len(query), len(target)
    opening, extension = scoring.gap_open, scoring.gap_extend
    h, e, f = np.zeros((3, m + 1, n + 1), np.int64)
    h[0, 0] = corner
    h[0, 1:], f[0, 1:] = top
    h[1:, 0], e[1:, 0] = left
    pairs = scoring.matrix[np.ix_(query, target)].astype(np.int64)
    if forbidden is not None:
        pairs[forbidden[0], forbidden[1]] = _FORBIDDEN

    extensions = extension * np.arange(n + 1)
    costs, opened = extensions[1:-1] - opening, np.empty(n, np.int64)
    for i in range(1, m + 1):
        above, gap_e, gap_f = h[i - 1], e[i, 1:], f[i, 1:]
        np.maximum(f[i - 1, 1:], above[1:] - opening, out=gap_f)
        gap_f -= extension
        best = np.maximum(above[:-1] + pairs[i - 1], gap_f)
        if floor is not None:
            np.maximum(best, floor, out=best)
        opened[0] = max(e[i, 0], h[i, 0] - opening)
        np.add(best[:-1], costs, out=opened[1:])
        np.maximum.accumulate(opened, out=gap_e)
        gap_e -= extensions[1:]
        np.maximum(best, gap_e, out=h[i, 1:])
    return Matrices(h, e, f, opening, floor)


def _hits(matrices: Matrices, job: TileJob) -> Hits:
    """The tile's ``job.count`` best cells, by falling score and then in row-major order."""
    h = matrices.h[1:, 1:]
    wanted = h >= UNREACHABLE_BELOW if job.floor is None else h > job.floor
    if job.threshold is not None:
        wanted &= h >= job.threshold
    rows, columns = np.nonzero(wanted)
    return Hits(np.stack([h[rows, columns], rows + 1, columns + 1], axis=1), job.count)


@dataclass(frozen=True, repr=False)
class ReferencePlan(StriplessPlan):
    """The plan of the reference engine.  It has no strips, and full matrices of 32 bytes a cell."""

    engine: str = "reference"
    tile_cells: int = 1 << 22
    traceback_tile_cells: int = 1 << 22

    def wrong_on(self, device: DeviceFacts | None) -> Iterator[str]:
        return iter(())

    def ways(self, alphas: Sequence[int], m: int, n: int) -> list[tuple[float, int, int]]:
        """See `Plan`: in cells, to which the time is proportional."""
        return [(float(m * n), self.B, self.chunk)] * len(alphas)

    def __str__(self) -> str:
        return "reference on the host: NumPy"


class ReferenceEngine(Engine):
    """An engine that computes tiles from the definition, on the host."""

    plan: Plan = ReferencePlan()
    captures_inside = True

    def tile(self, job: TileJob) -> TileResult:
        """Compute one tile.  Source: Gotoh (1982), with the borders of Flouri et al. (2015)."""
        top, left = (job.above.h, job.above.x), (job.left.h, job.left.x)
        codes = job.query, job.target
        matrices = fill(*codes, job.scoring, job.floor, job.corner, top, left, job.forbidden)
        (m, n), inner = job.size, slice(1, None)

        def edge(h: Matrix, x: Matrix) -> Edge:
            found = Edge(h.astype(np.int32), x.astype(np.int32))
            return found.restored() if job.floor is None else found

        def row(i: int) -> Edge:
            return edge(matrices.h[i, 1:], matrices.opened(matrices.f, i, inner))

        def column(j: int) -> Edge:
            return edge(matrices.h[1:, j], matrices.opened(matrices.e, inner, j))

        return TileResult(
            bottom=row(m) if job.bottom else None,
            right=column(n),
            rows={i: row(i) for i in job.rows},
            columns={j: column(j) for j in job.columns},
            hits=_hits(matrices, job) if job.best else NO_HITS,
            top=int(matrices.h[1:, 1:].max()) if job.best else None,
            cells={"reference/numpy/64": m * n},
            moves=matrices if job.store_moves else None,
        )
