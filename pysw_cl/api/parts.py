"""Many pairs in parts of bounded memory, for pairs that are read or made one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import ManyOptions, Resources
from ..errors import PyswError, RecomputedWarning
from ..results.alignment import Alignment, Stats
from ..results.formats.row import rows_of
from ..sequences.sequence import as_sequence
from .many import PairAligner
from .reaching import renumbered


@dataclass(frozen=True)
class PartLimits:
    """How many pairs are read before they are aligned.  A part ends with the pair that reaches one
    of the limits."""

    #: Pairs: a path is a few Python objects.
    pairs: int = 1 << 14
    #: Letters of queries and targets: they are copied, and a path takes two bytes a letter.
    letters: int = 1 << 26
    #: Cells: about a second of a CPU's work, so that results and progress come in time.
    cells: int = 1 << 35


class DonePart(NamedTuple):
    """The results of consecutive pairs."""

    #: Their numbers, counted from 0 in the whole input; those of pairs that were left out, or score
    #: too little, lack.
    numbers: NDArray[np.int64]
    #: The pairs as they were given.
    pairs: list[Any]
    #: A row for each, as `align_many` gives it.
    rows: NDArray[Any]
    #: What the part cost.
    stats: Stats


def alignments_of(part: DonePart, options: ManyOptions) -> Iterator[Alignment]:
    """The rows of a part as `align` gives its results, for what prints these: the path with output
    "path" only.  What they cost is the part's; theirs is empty."""
    pairs = [
        (as_sequence(a, "query", False), as_sequence(b, "target", False)) for a, b in part.pairs
    ]
    common: dict[str, Any] = {
        "mode": options.mode,
        "scoring": options.scoring,
        "free_ends": options.free.flags,
    }
    return (row.alignment() for row in rows_of(pairs, part.rows, **common))


#: Told the number of a pair that cannot be aligned, the pair, and what is wrong with it.
OnBad = Callable[[int, Any, PyswError], None]


def align_parts(
    pairs: Iterable[Any],
    options: ManyOptions,
    resources: Resources,
    limits: PartLimits | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[DonePart]:
    """Align the pairs of an iterator as `align_many` does, part by part, in their order.

    A part is read, aligned and given before the next one is read, so memory is bounded by
    ``limits`` and by the largest pair.  Kernels and tables stay on the device from part to part.
    ``resources.progress`` is called with the cells of the part.

    ``on_bad(number, pair, error)`` is called for each pair that cannot be aligned (its letters, its
    length, a value that is no pair); the pair is left out.  Without it the first such pair raises
    its error, whose ``pair`` is the number, when the parts before are given.
    """
    with PairAligner(options, resources) as aligner:
        for first, part in _parts(pairs, limits or PartLimits()):
            numbers = np.arange(first, first + len(part))
            done = None
            while done is None and part:
                try:
                    done = aligner.align(part, resources.progress, first)
                except PyswError as error:
                    if error.pair is None:
                        raise
                    if on_bad is None:
                        raise renumbered(error, first + error.pair) from None
                    numbers, part = _without_bad(aligner, numbers, part, error, on_bad)
            if done is None:
                continue
            rows, stats, wrong = done
            if options.min_score is not None:
                kept = rows["pair"]
                numbers, part = numbers[kept], [part[k] for k in kept.tolist()]
                rows["pair"] = numbers
            if wrong is not None:
                warnings.warn(wrong, RecomputedWarning, stacklevel=2)
            yield DonePart(numbers, part, rows, stats)


def _parts(pairs: Iterable[Any], limits: PartLimits) -> Iterator[tuple[int, list[Any]]]:
    """The pairs in lists that are within the limits, each with the number of its first pair."""
    first, part, letters, cells = 0, list[Any](), 0, 0
    for pair in pairs:
        part.append(pair)
        try:
            m, n = map(len, pair)
        except (TypeError, ValueError):  # no pair: its error comes with its number
            m, n = 0, 0
        letters, cells = letters + m + n, cells + m * n
        if len(part) >= limits.pairs or letters >= limits.letters or cells >= limits.cells:
            yield first, part
            first, part, letters, cells = first + len(part), [], 0, 0
    if part:
        yield first, part


def _without_bad(
    aligner: PairAligner,
    numbers: NDArray[np.int64],
    part: list[Any],
    error: PyswError,
    on_bad: OnBad,
) -> tuple[NDArray[np.int64], list[Any]]:
    """The part without the pairs that cannot be aligned; ``error`` is that of one of them."""
    bad = aligner.wrong_with(part)
    if not bad:  # what is wrong shows only when it is aligned
        assert error.pair is not None
        bad[error.pair] = error
    for k, found in bad.items():
        on_bad(int(numbers[k]), part[k], found)
    good = [k for k in range(len(part)) if k not in bad]
    return numbers[good], [part[k] for k in good]
