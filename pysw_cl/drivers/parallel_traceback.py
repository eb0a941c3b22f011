"""The traceback on several devices: those beside the first one trace parts in front from cells
through which the path probably leads, and each goes on until it meets the part before its own.

Method: incremental speculative traceback (Sandes, Miranda, Martorell, Ayguade, Teodoro & de Melo
2016, IEEE Trans Parallel Distrib Syst 27, 2838), without its first pass over the border columns.
The path backward from a cell of H does not depend on how one came there.  So two paths that meet
in such a cell are one from there on, wherever they began, and paths from near cells soon meet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError
from ..results.cigar import DIAGONAL, consumed
from ..tiles.contract import Engine, left_out
from ..tiles.edges import Edge
from ..tiles.special_lines import RestartPoints, SweptGrid
from ..tiles.tile import Hit
from .path_prediction import SweptLines
from .problem import Path, PathReader, Problem, Reading
from .traceback import trace_back

#: How many times as long as one for which tiles are traced ahead a path is traced in parts.
PARTED = 4


class _NotNeeded(Exception):
    """Ends the traceback of a part."""


def trace_in_parts(
    engine: Engine, problem: Problem, grid: RestartPoints, end: Hit, path: Path, reader: PathReader
) -> Path:
    """As `trace_back`, with the engine's other devices, where it has some.  Each device has an
    engine that no other thread uses: the engine of all would compute tiles on the others, too.
    ``reader``: of the path."""
    (first, *others), over = engine.tracers or [engine], threading.Event()
    tuning = engine.plan.tuning.speculation
    long = min(end.row, end.column) >= PARTED * tuning.least_sides * tuning.side
    anew = bool(others) and long and not path.moves
    guesses = _guesses(problem, grid, end, len(others) + 1) if anew else []
    if not guesses:
        return trace_back(engine, problem, grid, end, path)

    def between(part: Path) -> None:
        if over.is_set():
            raise _NotNeeded

    with ThreadPoolExecutor(len(guesses)) as threads:
        begun, until = list[Future[_Traced]](), (0, 0)
        for other, guess in zip(others, guesses, strict=False):
            part, own = Path(guess.row, guess.column, between=between), reader.to(guess)
            part.meanwhile = own.read_meanwhile
            if begun:
                part.after, part.until = _joining(begun[-1], own), until
            until = guess.row, guess.column
            begun.append(threads.submit(_traced, other, problem, grid, guess, part, own))
        path.after, path.until = _joining(begun[-1], reader), until
        try:
            return trace_back(first, problem, grid, end, path)
        finally:
            over.set()
            for number, one in reversed([*enumerate(begun, 1)]):
                if isinstance(error := one.exception(), DeviceError):
                    error.device = number
                    left_out(engine, error)
            engine.peak_bytes = max(one.peak_bytes for one in (engine, first, *others))


class _Traced(NamedTuple):
    """A part that is traced and read."""

    path: Path
    #: The cells at which its arrays of moves begin, the last ones of the path first, and its start.
    places: NDArray[np.int64]
    read: Reading


def _traced(
    engine: Engine,
    problem: Problem,
    grid: RestartPoints,
    end: Hit,
    path: Path,
    reader: PathReader,
) -> _Traced:
    path = trace_back(engine, problem, grid, end, path)
    letters = np.array([(0, 0), *map(consumed, path.moves)])
    places = np.array((end.row, end.column)) - letters.cumsum(axis=0)
    return _Traced(path, places, reader.read(path))


def _guesses(problem: Problem, grid: RestartPoints, end: Hit, parts: int) -> list[Hit]:
    """Cells that cut the path to ``end`` into about even parts, in the order of the path;
    none where lines of the grid are on a device."""
    if not isinstance(grid, SweptGrid):
        return []
    if any(type(one.cells) is not Edge for one in [*grid.rows.values(), *grid.columns.values()]):
        return []
    lines = SweptLines(grid, end.row, end.column, problem.scoring, 1)
    way = lines.way(end.row, end.column, end.score, 0, 2 * (len(grid.rows) + len(grid.columns)))
    way = way[(way[:, 5:7] > 0).all(axis=1) & ((problem.floor is None) | (way[:, 7] > 0))]
    if not len(way):
        return []
    letters = way[:, 5:7].sum(axis=1)
    all_of_them, first = end.row + end.column, int(letters[-1])
    wanted = first + (all_of_them - first) * np.arange(1, parts) // parts
    near = np.abs(letters[:, None] - wanted).argmin(axis=0)
    cells = way[sorted(set(near.tolist()), reverse=True), 5:7].tolist()
    return [_highest(grid, row, column, lines.spacing) for row, column in cells]


def _highest(grid: SweptGrid, row: int, column: int, near: int) -> Hit:
    """The best cell of a line of the grid that is at most so far from one of them."""
    line, at = (grid.rows[row], column) if row in grid.rows else (grid.columns[column], row)
    first = max(0, at - 1 - near)
    cells = line.read_h(first, min(len(line), at + near))
    place = first + 1 + int(cells.argmax())
    return Hit(int(cells.max()), *((row, place) if row in grid.rows else (place, column)))


def _joining(front: Future[_Traced], reader: PathReader) -> Callable[[Path], None]:
    """What joins a path to the part in ``front`` of it, once that is done and they meet.
    ``reader``: of the path."""

    def join(path: Path) -> None:
        if not front.done() or path.state or path.ended:
            return
        # an error that is raised here would refer to this frame, which refers to it
        if isinstance(front.exception(), DeviceError | _NotNeeded):
            return  # the path finds its own way
        rest, places, (runs, pairs) = front.result()
        here = path.row, path.column
        left = places.sum(axis=1) - sum(here)  # each move leaves less
        k = int((left >= 0).sum()) - 1
        if not 0 <= k < len(rest.moves):
            return
        moves = rest.moves[k]
        at = int(np.cumsum(1 + (moves == DIAGONAL)).searchsorted(left[k], "right"))
        if moves[at] != DIAGONAL or (places[k] - consumed(moves[:at]) != here).any():
            return
        reader.read_meanwhile(path)
        before = Path(*here, [*rest.moves[:k], moves[:at]])
        skipped = reader.to(Hit(0, *places[0].tolist())).read(before)
        path.moves += [moves[at:], *rest.moves[k + 1 :]]
        path.row, path.column = rest.row, rest.column
        path.state, path.ended = rest.state, rest.ended
        path.add_cost(rest)
        columns = int(runs.lengths.sum() - skipped.runs.lengths.sum())
        reader.leave_out(path, Reading(runs.cut(0, columns), pairs - skipped.pairs))

    return join
