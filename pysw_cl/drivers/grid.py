"""All against all: the matrix of the scores of two lists of sequences, tile by tile.

A tile is a batch of pairs that is laid out from a few arrays, whatever the number of its pairs:
the sequences of both sides lie in the order of their lengths, so that neighbours are alike."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engines.batch.scores import global_fits, local_limit
from ..planning.pair_batch import Groups, filled
from ..planning.parameters import PairTuning
from ..results.stats import Stats
from ..sequences.sequence_set import SequenceSet

if TYPE_CHECKING:
    from ..engines.batch.engine import BatchEngine
    from ..engines.batch.running import Running

Ints = NDArray[np.int64]
#: The rows and the columns of some pairs of a tile.
Pairs = tuple[Ints, Ints]
#: Takes numbers of rows, of columns (slices or arrays), and the values of all of these.
Put = Callable[[Any, Any, NDArray[Any]], None]
#: The most letters of the columns of a tile that is no square.
WIDEST = 1 << 22
#: Parts of a side whose letters are kept at hand, of a few MB at most.
KEPT = 64


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some sequences of a side."""

    #: Their numbers in the caller's order, as a slice where they follow each other.
    numbers: Any
    letters: NDArray[np.uint8]
    #: Of each the first of these letters, and how many it has (int32, n x 2).
    places: NDArray[np.int32]


class Side:
    """The sequences of one side of a matrix, the longest first."""

    def __init__(self, of: SequenceSet) -> None:
        self.of = of
        self.order: Ints = np.argsort(-of.lengths, kind="stable")
        self.lengths: Ints = of.lengths[self.order]
        #: The sequences from one place to another.
        self.chunk = lru_cache(KEPT)(self._chunk)

    def __len__(self) -> int:
        return len(self.order)

    def _chunk(self, first: int, stop: int) -> Chunk:
        numbers = self.order[first:stop]
        of, follow = self.of.take(numbers).alone(), (numbers[1:] == numbers[:-1] + 1).all()
        some = slice(int(numbers[0]), int(numbers[-1]) + 1) if follow else numbers
        return Chunk(some, of.letters, np.stack([of.starts, of.lengths], 1).astype(np.int32))

    def cuts(self, count: int, letters: int, longest: int) -> list[tuple[int, int]]:
        """Where parts begin and end, of so many sequences and letters at most; none has both
        sequences of more than ``longest`` letters and others."""
        long = int(np.searchsorted(-self.lengths, -longest, "left"))
        found = filled(self.lengths[:long], letters, count)
        found += [long + first for first in filled(self.lengths[long:], letters, count)[1:]]
        return list(pairwise(found))


def tiles(
    rows: Side, columns: Side, pairs: int, cells: int, longest: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The rows and columns of tiles of about so many pairs and cells at most, all columns if they
    can.  If both sides are the same, each pair comes once, in squares to the diagonal."""
    same = rows is columns
    count, letters = (isqrt(pairs), isqrt(cells)) if same else (pairs, WIDEST)
    across = columns.cuts(max(count, 1), letters, longest)
    if not same:
        count = pairs // max(1, min(count, len(columns)))
        letters = cells // max(1, min(letters, int(columns.lengths.sum())))
    for row in rows.cuts(max(count, 1), letters, longest):
        for column in across:
            if not same or column >= row:
                yield row, column


def work_of(rows: Ints, columns: Ints, same: bool) -> tuple[int, int]:
    """The cells and the pairs of sequences of these lengths; ``same``: each pair comes once."""
    cells, pairs = int(rows.sum() * columns.sum()), len(rows) * len(columns)
    if not same:
        return cells, pairs
    return (cells + int((rows**2).sum())) // 2, (pairs + len(rows)) // 2


@lru_cache(8)
def pairs_of(rows: int, columns: int, own: bool) -> Pairs:
    """The row and the column of each pair of a tile, neighbours with similar lengths; ``own``: it
    lies on the diagonal, and each pair of its sequences comes once."""
    if own:
        return np.triu_indices(rows)
    if columns >= rows:
        return np.divmod(np.arange(rows * columns), columns)
    return np.divmod(np.arange(rows * columns), rows)[::-1]


@dataclass(eq=False)
class Tile:
    """A tile that is computed, and its scores so far."""

    rows: Chunk
    columns: Chunk
    own: bool

    def __post_init__(self) -> None:
        rows, columns = (of.places[:, 1].astype(np.int64) for of in (self.rows, self.columns))
        self.cells, self.pairs = work_of(rows, columns, self.own)
        self.scores = np.empty((len(rows), len(columns)), np.int32)

    def take(self, some: Pairs | None, values: NDArray[Any]) -> None:
        """Take the scores of ``some`` pairs; None: of all, as the device lays them out."""
        rows, columns = self.scores.shape
        if some is None and columns >= rows:
            self.scores[:] = values.reshape(rows, columns)
        elif some is None:
            self.scores[:] = values.reshape(columns, rows).T
        else:
            self.scores[some] = values
            if self.own:
                self.scores[some[::-1]] = values


class Grid:
    """Computes matrices of scores.  ``engine``: None if all pairs are compared by ``others``, which
    gives the values of rows and columns with these numbers, and counts what they cost."""

    def __init__(
        self,
        engine: BatchEngine | None,
        tuning: PairTuning,
        others: Callable[[Ints, Ints], NDArray[Any]],
    ) -> None:
        self.engine, self.tuning, self.others = engine, tuning, others
        self.stats = Stats()
        self._under_way: deque[tuple[Tile, int, Pairs | None, Running]] = deque()
        self._least = 0 if engine is None else engine.least_width

    def run(self, rows: Side, columns: Side, put: Put, done: Callable[[int, int], None]) -> None:
        """Compute all scores; if both sides are the same, those of squares above the diagonal or on
        it.  ``done(cells, pairs)`` is called as scores arrive."""
        engine, tuning = self.engine, self.tuning
        vector = engine is None or engine.vectors
        cells = tuning.cpu_grid_cells if vector else tuning.gpu_grid_cells
        in_flight = tuning.cpu_in_flight if vector else tuning.gpu_in_flight
        self._put, self.done, longest = put, done, isqrt(tuning.alone_cells)
        for row, column in tiles(rows, columns, tuning.grid_pairs, cells, longest):
            own = rows is columns and row == column
            m, n = int(rows.lengths[row[0]]), int(columns.lengths[column[0]])  # the longest ones
            tile = Tile(rows.chunk(*row), columns.chunk(*column), own)
            if engine is None or m * n > tuning.alone_cells:
                pairs = pairs_of(*tile.scores.shape, own)
                q, t = rows.order[row[0] :][pairs[0]], columns.order[column[0] :][pairs[1]]
                values = self.others(q, t)
                tile.scores = np.empty(tile.scores.shape, values.dtype)
                tile.take(pairs, values)
                self._done_with(tile)
            else:
                some = pairs_of(*tile.scores.shape, True) if own else None
                self._start(engine, tile, self._width(engine, m, n), some)
                self._finish(in_flight)
        self._finish()
        if engine is not None:
            self.stats.device_bytes = engine.peak_bytes

    def _width(self, engine: BatchEngine, m: int, n: int) -> int:
        """The lanes for pairs of so many letters at most."""
        widths = [width for width in engine.lanes.widths if width >= self._least]
        if engine.local:
            return widths[0]
        sizes, scoring = (np.array([m]), np.array([n])), engine.scoring
        return next(w for w in widths if global_fits(scoring, *sizes, w, engine.ends).all())

    def _start(self, engine: BatchEngine, tile: Tile, width: int, some: Pairs | None) -> None:
        """Start a batch of the pairs of a tile in ``some`` rows and columns; None: of all."""
        rows, columns = tile.rows.places, tile.columns.places.copy()
        columns[:, 0] += len(tile.rows.letters)
        lanes = engine.lanes.pairs(width)
        panel = engine.lanes.columns(width)
        pairs: Any = rows, columns
        if some is None:
            cells, longest = tile.cells, (int(rows[0, 1]), int(columns[0, 1]))
            groups = Groups.alike(tile.scores.size, *longest, lanes, panel)
        else:
            pairs = np.concatenate([rows[some[0]], columns[some[1]]], 1)
            cells = int((pairs[:, 1].astype(np.int64) * pairs[:, 3]).sum())
            groups = Groups(pairs, lanes, panel)
        text = np.concatenate([tile.rows.letters, tile.columns.letters])
        batch = engine.start(text, pairs, engine.execution(groups, width, "score"))
        self._under_way.append((tile, width, some, batch))
        self.stats.add_cost(Stats({f"batch/{engine.lanes.name}/{width}": cells}, 1))

    def _finish(self, most: int = 0) -> None:
        """Take the results of the oldest batches until ``most`` are under way.  Pairs that outgrew
        their lanes start again in wider ones."""
        engine = self.engine
        while len(self._under_way) > most and engine is not None:
            tile, width, some, batch = self._under_way.popleft()
            batch.finish()
            found = batch.found[0]
            tile.take(some, found)
            limit = local_limit(engine.scoring, width)
            if engine.local and found.max() > limit:
                unsure = np.flatnonzero(found > limit)
                if len(unsure) > self.tuning.most_outgrown * len(found):
                    self._least = max(self._least, 2 * width)
                q, t = some or pairs_of(*tile.scores.shape, tile.own)
                before = self.stats.total_cells
                self._start(engine, tile, 2 * width, (q[unsure], t[unsure]))
                self.stats.again += self.stats.total_cells - before
            else:
                self._done_with(tile)

    def _done_with(self, tile: Tile) -> None:
        numbers = tile.rows.numbers, tile.rows.numbers if tile.own else tile.columns.numbers
        self._put(*numbers, tile.scores)
        self.done(tile.cells, tile.pairs)
