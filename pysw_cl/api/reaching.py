"""Many pairs of which only those matter that reach a score: all scores first, then their paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..drivers.batch_layout import as_halves, lengths_of
from ..drivers.prepared import Batch
from ..drivers.progress import PairsProgress, RunProgress
from ..errors import PyswError
from ..results.alignment import Stats

if TYPE_CHECKING:
    from .many import PairAligner

#: Called with more cells and pairs that are done.
Tell = Callable[[int, int], None]


def teller(progress: RunProgress | None, pairs: Sequence[Any], sweeps: int) -> Tell:
    """What tells ``progress`` of pairs, if each of them is computed ``sweeps`` times."""
    if progress is None:
        return lambda cells, count: None
    tell = PairsProgress(progress, len(pairs), sweeps * cells_of(pairs), sweeps)
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


def align_reaching(
    aligner: PairAligner,
    first: PairAligner | None,
    pairs: Sequence[Any],
    progress: RunProgress | None,
    min_score: float,
) -> tuple[NDArray[Any], Stats, str | None]:
    """What ``aligner`` finds for the pairs that score at least ``min_score``: their rows, each with
    the number of its pair in front; what all cost; the text of a `RecomputedWarning` or None.

    ``first`` finds the scores of all pairs; None: ``aligner`` finds nothing else.
    """
    scores = first or aligner
    sweeps = scores.sweeps + (aligner.sweeps if first is not None else 0)
    tell = teller(progress, pairs, sweeps)
    rows, stats, wrong = scores.align_telling(pairs, tell)
    kept = np.flatnonzero(rows["score"] >= min_score)
    if first is None:
        return _numbered(kept, rows[kept]), stats, wrong
    some = [pairs[k] for k in kept.tolist()]
    try:
        rows, more, again = aligner.align_telling(some, tell)
    except PyswError as error:
        if error.pair is None:
            raise
        raise renumbered(error, int(kept[error.pair])) from None
    if progress is not None:
        left = len(pairs) - len(some)
        tell(aligner.sweeps * (cells_of(pairs) - cells_of(some)), aligner.sweeps * left)
    if again is not None:
        again += f" (pairs are counted among the {len(kept)} that score {min_score} or more)"
    texts = [text for text in (wrong, again) if text is not None]
    return _numbered(kept, rows), stats.plus(more), "; ".join(texts) or None


def _numbered(numbers: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[Any]:
    """The rows with the numbers of their pairs in front."""
    kinds = [(name, rows.dtype[name]) for name in rows.dtype.names or ()]
    table = np.empty(len(rows), [("pair", np.int64), *kinds])
    table["pair"] = numbers
    for name, _ in kinds:
        table[name] = rows[name]
    return table


def renumbered(error: PyswError, number: int) -> PyswError:
    """The error of a pair, with its number among all pairs."""
    found = type(error)(str(error).replace(f"pair {error.pair}", f"pair {number}", 1))
    found.pair = number
    return found
