"""Geometry of the two-level wavefront: strips, blocks, external diagonals, the minimum size.

The kernels, the wavefront engine and the schedule checker all follow this description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, cycle, islice, pairwise
from math import isqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..sequences.view import Pairs
from .parameters import SweepTuning

SHORT, LONG = 0, 1
S = TypeVar("S")


@dataclass(frozen=True)
class TileShape:
    """What is asked of a tile, but for its letters and the values of its edges."""

    m: int
    n: int
    #: Is the best cell looked for, or (``collects``) more than one?
    best: bool = False
    collects: bool = False
    #: Are the last row and the last column wanted?
    bottom: bool = False
    right: bool = False
    #: Special rows and columns inside.
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    #: Are moves stored?  Are there forbidden pairs?
    moves: bool = False
    forbidden: bool = False
    #: Are all cells of its top edge, or of its left edge, equal, and reachable?
    level: bool = False
    level_left: bool = False
    #: May its cells be pruned?
    after: bool = False
    #: Is it another tile with rows and columns exchanged?
    transposed: bool = False

    @property
    def size(self) -> tuple[int, int]:
        return self.m, self.n

    @property
    def finds(self) -> int:
        """As `Program.best`."""
        return 2 if self.collects else int(self.best)

    @property
    def turned(self) -> TileShape:
        turned = replace(self, transposed=not self.transposed)
        return swapped(turned, "m n", "bottom right", "rows columns", "level level_left")


def swapped(whole: S, *pairs: str) -> S:
    """A dataclass whose fields of each pair ("rows columns") have each other's values."""
    names = (pair.split() for pair in pairs)
    other = {a: getattr(whole, b) for one, two in names for a, b in ((one, two), (two, one))}
    return replace(whole, **other)  # type: ignore[type-var]


@dataclass(frozen=True)
class Launch:
    """One two-phase launch: blocks ``first .. first + count - 1`` of an external diagonal."""

    diagonal: int
    phase: int
    first: int
    count: int


@dataclass(frozen=True)
class Grid:
    """How m rows and n columns are cut: strips of ``T * alpha`` rows, ``B`` blocks a strip.  In two
    phases (``form`` "two-phase"), which need n >= 2 B T, a launch computes blocks of one external
    diagonal, and strip s delegates cells to strip s + B.  The "ticketed" form is one launch of B
    groups, each of which takes the next strip and computes all of it."""

    m: int
    n: int
    B: int
    T: int
    alpha: int
    form: str

    @cached_property
    def strip_rows(self) -> int:
        return self.T * self.alpha

    @cached_property
    def strips(self) -> int:
        """Strips, the last one padded with rows that match nothing."""
        return -(-self.m // self.strip_rows)

    @cached_property
    def padded_rows(self) -> int:
        return self.strips * self.strip_rows

    @cached_property
    def last_row_outlet(self) -> tuple[int, int]:
        """(lane, row inside the lane) of row m in the last strip."""
        last = (self.m - 1) % self.strip_rows
        return last // self.alpha, last % self.alpha

    def bus_lines(self, rows: tuple[int, ...]) -> NDArray[np.int32]:
        """The line of the horizontal bus that each strip reads; it writes the next strip's.  Lines
        0 and 1 alternate.  Special ``rows``, at which strips end, have lines 2, 3, ... of their
        own, which are kept.  In two phases strip numbers go up to B beyond the last strip."""
        lines = np.arange(self.strips + self.B + 1, dtype=np.int32) & 1
        lines[[row // self.strip_rows for row in rows]] = np.arange(2, 2 + len(rows))
        return lines

    def forbidden_steps(self, pairs: Pairs) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(step, row of the strip) at which lanes come to each of these forbidden pairs, sorted by
        strip, then step; and places: strip s has ``steps[places[s] : places[s + 1]]``.  In two
        phases a lane's delegated steps are the first steps of strip s + B."""
        rows, columns = pairs.astype(np.int32)
        strip = rows // self.strip_rows
        row = rows - strip * self.strip_rows
        step = columns + row // self.alpha
        if self.form == "two-phase":
            delegated = step >= self.n
            strip, step = strip + self.B * delegated, step - self.n * delegated
        # one key, because a stable sort of one array finds the runs of the pairs' own order
        order = np.argsort(strip.astype(np.int64) * (self.n + self.T) + step, kind="stable")
        places = np.concatenate(([0], np.bincount(strip, minlength=self.strips + self.B).cumsum()))
        steps = np.empty((len(order), 2), np.int32)
        steps[:, 0], steps[:, 1] = step[order], row[order]
        return steps, places.astype(np.int32)

    def launches(self) -> Iterator[Launch]:
        """The two-phase launches in order.  External diagonal d has block c of strip d - c.  Block
        0 also computes the delegated cells of strip d - B: short phases go on for B diagonals."""
        strips, B = self.strips, self.B
        for d in range(strips + B):
            first = max(0, d - strips + 1)
            count = min(B - 1, d) - first + 1
            if max(strips, B) <= d:
                yield Launch(d, SHORT, 0, 1)
            if count > 0:
                yield Launch(d, SHORT, first, count)
                yield Launch(d, LONG, first, count)


def fit(m: int, n: int, B: int, T: int, alpha: int, form: str, least_T: int = 1) -> Grid:
    """The grid for m x n cells nearest to B, T and alpha: the minimum-size rule.

    In two phases (n >= 2 B T) T is halved until one block fits, down to a quarter and to
    ``least_T``; then B shrinks.  A narrower target is computed in the ticketed form: launches for
    few columns take longer than the cells.  (The thesis asks only n >= T for B = 1.  But the short
    phase takes T columns, and lane 0 of the next strip needs the last lane's.)"""
    if form == "two-phase":
        least = max(least_T, T // 4)
        while least < T and n < 2 * T:
            T //= 2
        B = min(B, n // (2 * T))
        if B < 1:
            return Grid(m, n, 1, T, alpha, "ticketed")
    else:
        B = max(1, min(B, -(-m // (T * alpha))))
    return Grid(m, n, B, T, alpha, form)


def piece(length: int, step: int, quantum: int) -> int:
    """The length of all even pieces but the last: about ``step``, in units of ``quantum``."""
    pieces = -(-length // max(step, quantum))
    return -(-length // (pieces * quantum)) * quantum


class TileRows(NamedTuple):
    """The rows of the tiles of a pipeline: about ``least``, multiples of ``unit``; those of several
    devices in turn in proportion to ``weights``."""

    least: int
    unit: int
    weights: tuple[int, ...] = (1,)

    def height(self, most: int) -> int:
        """Of one device: whole units, at most ``most`` rows."""
        return max(1, min(self.least, most) // self.unit) * self.unit

    def cuts(self, length: int) -> list[int]:
        """Where ``[0, length)`` is cut into the tiles of several devices."""
        count = -(-length // self.least)
        ends = [*accumulate(islice(cycle(self.weights), count))]
        every = ends.pop() * self.unit
        places = (self.unit * round(length * end / every) for end in ends)
        return sorted({place for place in places if 0 < place < length})


def may_be_wide(rows: int, columns: int, shape: tuple[int, int]) -> bool:
    """Are so many rows no wider than tiles of this ``shape``, or of no more cells?"""
    return columns <= shape[1] or rows * columns <= shape[0] * shape[1]


def tile_shape(
    m: int, n: int, cells: int, device_rows: int = 0, longest: int = SweepTuning.longest_side
) -> tuple[int, int]:
    """Rows and columns of tiles of at most ``cells`` cells and no side over ``longest``: squares if
    the matrix allows.  If ``cells`` allows tiles of the longest sides, but the matrix is longer,
    they have ``device_rows`` rows, which keep the device busy, and are as wide as allowed, because
    few groups have work in a tile's first and last columns."""
    if cells >= longest**2 and max(m, n) > longest and m > device_rows > 0:
        return device_rows, max(1, min(n, cells // device_rows))
    rows = min(m, max(1, isqrt(cells)))
    columns = max(1, min(n, cells // rows, longest))
    return max(1, min(m, cells // columns, longest)), columns


def tile_height(height: int, rows: int, quantum: int) -> int:
    """The rows of all tiles but the last one: even pieces, or ``rows`` and a small rest."""
    if rows % quantum == 0 and 0 < 4 * (height % rows) < rows < height:
        return rows
    return piece(height, rows, quantum)


def spans(
    length: int, step: int, quantum: int, forced: Iterable[int] = (), tiles: bool = False
) -> list[range]:
    """Where pieces of ``[0, length)`` begin, for each part between ``forced`` places: even ones,
    about ``step`` long at most, and multiples of ``quantum`` where possible.  ``tiles``: without
    forced places they are as high as :func:`tile_height` says."""
    places = sorted({0, length, *(f for f in forced if 0 < f < length)})
    each = tile_height if tiles and not forced else piece
    return [range(start, end, each(end - start, step, quantum)) for start, end in pairwise(places)]


def cuts(
    length: int, step: int, quantum: int, forced: Iterable[int] = (), tiles: bool = False
) -> list[int]:
    """Where ``[0, length)`` is cut by `spans`, 0 and ``length`` included."""
    return [*chain.from_iterable(spans(length, step, quantum, forced, tiles)), length]


def lengths(cuts: Iterable[int]) -> list[int]:
    """The lengths of the pieces between these places."""
    return [end - start for start, end in pairwise(cuts)]


def places_inside(places: Iterable[int], start: int, stop: int) -> tuple[int, ...]:
    """The ``places`` strictly between ``start`` and ``stop``, sorted, counted from ``start``."""
    return tuple(sorted(place - start for place in places if start < place < stop))
