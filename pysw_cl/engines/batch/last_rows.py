"""The last rows of many comparisons of a whole query with a part of a target, one in each lane."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...opencl.device import Runtime
from ...planning.pair_batch import Groups
from ...scoring.scoring import Scoring
from .engine import BatchEngine
from .kept import Ints
from .scores import FREE_QUERY, global_fits

#: Bytes of the rows that are read at once, at most, or one group's.
AT_ONCE = 1 << 26
Longs = NDArray[np.int64]


class LastRows(BatchEngine):
    """Compares queries that may begin and end anywhere in their targets."""

    def __init__(self, runtime: Runtime, lanes: str, scoring: Scoring) -> None:
        super().__init__(runtime, lanes, scoring.clamped(), False, FREE_QUERY)

    def cells(self, text: NDArray[np.uint8], pairs: Ints, least: Longs) -> Longs:
        """The number of the pair, the column from 1, and the score of each cell that scores at
        least as much as is asked of its pair.  ``text`` and ``pairs`` as `start` takes them."""
        found, left = [np.zeros((3, 0), np.int64)], np.arange(len(pairs))
        for width in self.lanes.widths:
            _, m, _, n = pairs[left].T
            fits = global_fits(self.scoring, m, n, width, self.ends)
            if width > 8 and fits.any():
                some, left = left[fits], left[~fits]
                for number, column, score in self._in_lanes(text, pairs[some], least[some], width):
                    found.append(np.stack([some[number], column, score]))
        assert not len(left)
        return np.concatenate(found, axis=1)

    def _in_lanes(
        self, text: NDArray[np.uint8], pairs: Ints, least: Longs, width: int
    ) -> Iterator[tuple[Any, Any, Any]]:
        lanes, columns = self.lanes.pairs(width), self.lanes.columns(width)
        lines = int(pairs[:, 1::2].max(axis=0).sum()) + columns
        step = lanes * max(1, AT_ONCE // (lines * lanes * width // 8))
        for at in range(0, len(pairs), step):
            some = pairs[at : at + step]
            groups = Groups(some, lanes, columns)
            batch = self.start(text, some, self.execution(groups, width, "ends", tops=True))
            batch.finish()
            assert batch.tops is not None
            tops, firsts = batch.tops
            sizes, low = np.zeros((2, groups.count * lanes), np.int64)
            sizes[: len(some)], low[: len(some)] = some[:, 3], least[at : at + step]
            low = low.clip(max=np.iinfo(tops.dtype).max).astype(tops.dtype)
            bounds = zip(firsts[:, 1].tolist(), groups.sides[:, 1].tolist(), strict=True)
            for first_lane, (line, wide) in zip(count(0, lanes), bounds, strict=False):
                row = tops[line : line + wide].ravel()
                high = np.flatnonzero(row >= np.tile(low[first_lane : first_lane + lanes], wide))
                column, number = high // lanes, high % lanes + first_lane
                # (there may be anything in lanes without a pair, and behind a pair's columns)
                real = column < sizes[number]
                yield at + number[real], column[real] + 1, row[high[real]]
