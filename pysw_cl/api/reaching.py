"""How many cells pairs have, who is told of them, and errors with the number of a pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..drivers.batch_layout import as_halves, lengths_of
from ..drivers.prepared import Batch
from ..drivers.progress import RunProgress, Stage
from ..errors import PyswError

#: Called with more cells and pairs that are done.
Tell = Callable[[int, int], None]


def teller(progress: RunProgress, pairs: Sequence[Any], sweeps: int) -> Tell:
    """What tells ``progress`` of pairs, if each of them is computed ``sweeps`` times."""
    if not progress.watched:
        return lambda cells, count: None
    progress.begin(sweeps * cells_of(pairs))
    all_cells = all_pairs = 0

    def tell(cells: int, count: int) -> None:
        nonlocal all_cells, all_pairs
        all_cells, all_pairs = all_cells + cells, all_pairs + count
        progress.tell(all_cells, Stage("pairs", all_pairs // sweeps, len(pairs)))

    tell(0, 0)
    return tell


def cells_of(pairs: Sequence[Any]) -> int:
    """The cells of all pairs; 0 if one has no length, which is an error that is found later."""
    if isinstance(pairs, Batch):
        return int(pairs.lengths.prod(axis=1).sum())
    halves = as_halves(pairs)
    if not all(hasattr(half, "__len__") for half in halves):
        return 0
    return int(lengths_of(halves).prod(axis=1).sum())


def renumbered(error: PyswError, number: int) -> PyswError:
    """The error of a pair, with its number among all pairs."""
    found = type(error)(str(error).replace(f"pair {error.pair}", f"pair {number}", 1))
    found.pair = number
    return found
