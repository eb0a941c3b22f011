"""Many pairs in parts of bounded memory, for pairs that are read or made one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..drivers.options import ManyOptions, Resources
from ..errors import PyswError, RecomputedWarning
from ..results.alignment import Alignment, Stats
from ..results.formats.row import rows_of
from ..sequences.sequence import as_sequence
from .iterated import PartLimits, in_lists
from .many import PairAligner
from .reaching import renumbered


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
    of = options.scoring.alphabet
    pairs = [
        (as_sequence(a, "query", False, of), as_sequence(b, "target", False, of))
        for a, b in part.pairs
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
        read = 0
        for part in in_lists(pairs, limits or PartLimits()):
            first, done = read, None
            read += len(part)
            numbers = np.arange(first, read)
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
