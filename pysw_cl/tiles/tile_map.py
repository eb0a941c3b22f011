"""What a sweep did where: the highest score of each tile and what was pruned, in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tile import Area

#: Rows and columns of a map at most; neighbouring tiles are put together to stay below.
MOST = 64


@dataclass(frozen=True, eq=False)
class TileMap:
    """The matrix as R x C rectangles, at most 64 x 64.

    ``rows`` (int64, R + 1) and ``columns`` (int64, C + 1) are the cuts, rising, in letters of the
    whole query and target.  ``scores`` (float64, R x C) is the highest score met in a rectangle,
    NaN where none was looked for: in pruned tiles and in global comparisons.  ``pruned`` (float64,
    R x C) is the share of a rectangle's cells that were skipped, from 0 to 1.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    scores: NDArray[np.float64]
    pruned: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        tops: Mapping[Area, int],
        pruned: Iterable[Area],
        thinned: Mapping[Area, int] | None = None,
    ) -> TileMap:
        """The map of a sweep over ``shape`` (rows, columns) that found ``tops``, skipped ``pruned``
        and, of other areas, so many cells as ``thinned`` says."""
        skipped = dict.fromkeys(pruned, 1.0)
        skipped |= {area: count / area.cells for area, count in (thinned or {}).items()}
        return cls._of(shape, tops, skipped)

    @classmethod
    def joined(cls, shape: tuple[int, int], bands: Mapping[int, TileMap]) -> TileMap:
        """The map of ``shape`` from those of bands of rows, by their first rows.  Where there is no
        band nothing is known."""
        tops: dict[Area, float] = {}
        skipped: dict[Area, float] = {}
        for first, band in bands.items():
            rows = pairwise((band.rows + first).tolist())
            columns = list(pairwise(band.columns.tolist()))
            for (row, row_end), scores, shares in zip(rows, band.scores, band.pruned, strict=True):
                for (column, column_end), score, share in zip(columns, scores, shares, strict=True):
                    area = Area(row, row_end, column, column_end)
                    if not np.isnan(score):
                        tops[area] = float(score)
                    if share:
                        skipped[area] = float(share)
        return cls._of(shape, tops, skipped)

    @classmethod
    def _of(
        cls, shape: tuple[int, int], tops: Mapping[Area, float], skipped: Mapping[Area, float]
    ) -> TileMap:
        areas = list(dict.fromkeys([*tops, *skipped]))
        rows = _cuts(shape[0], [(area.row, area.row_end) for area in areas])
        columns = _cuts(shape[1], [(area.column, area.column_end) for area in areas])
        scores = np.full((len(rows) - 1, len(columns) - 1), np.nan)
        lost = np.zeros(scores.shape)

        def inside(area: Area) -> tuple[slice, slice]:
            high, low = np.searchsorted(rows, (area.row, area.row_end)).tolist()
            left, right = np.searchsorted(columns, (area.column, area.column_end)).tolist()
            return slice(high, low), slice(left, right)

        for area, top in tops.items():
            scores[inside(area)] = top
        for area, share in skipped.items():
            lost[inside(area)] = share
        lost *= np.outer(np.diff(rows), np.diff(columns))
        for axis, cuts in enumerate((rows, columns)):
            first = _groups(len(cuts) - 1)
            scores = np.fmax.reduceat(scores, first, axis=axis)
            lost = np.add.reduceat(lost, first, axis=axis)
        rows, columns = (cuts[[*_groups(len(cuts) - 1), -1]] for cuts in (rows, columns))
        return cls(rows, columns, scores, lost / np.outer(np.diff(rows), np.diff(columns)))

    def facts(self) -> dict[str, Any]:
        """The map as JSON can hold it, in few letters: whole scores, pruned cells as counts."""
        cells = np.outer(np.diff(self.rows), np.diff(self.columns))
        scores = [[None if np.isnan(s) else int(s) for s in row] for row in self.scores]
        pruned = np.rint(self.pruned * cells).astype(np.int64)
        return {
            "rows": self.rows.tolist(),
            "columns": self.columns.tolist(),
            "scores": scores,
            "pruned": pruned.tolist(),
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> TileMap:
        """From what :meth:`facts` gave."""
        rows, columns = (np.array(facts[side], np.int64) for side in ("rows", "columns"))
        cells = np.outer(np.diff(rows), np.diff(columns))
        scores = np.array(facts["scores"], np.float64)  # None becomes NaN
        return cls(rows, columns, scores, np.array(facts["pruned"], np.int64) / cells)

    def placed(self, row: int, column: int, scale: int = 1, turned: bool = False) -> TileMap:
        """The map with real scores in the whole sequences, from where the first row and column are;
        ``turned``: rows go up the query from there."""
        scores = self.scores / scale
        if not turned:
            return TileMap(self.rows + row, self.columns + column, scores, self.pruned)
        return TileMap(
            row - self.rows[::-1], self.columns + column, scores[::-1], self.pruned[::-1]
        )


def _cuts(length: int, spans: list[tuple[int, int]]) -> NDArray[np.int64]:
    places = {0, length, *(place for span in spans for place in span)}
    return np.array(sorted(places), np.int64)


def _groups(count: int) -> list[int]:
    """The first of each group when ``count`` pieces become at most `MOST`, alike in size."""
    groups = min(count, MOST)
    return [group * count // groups for group in range(groups)]
