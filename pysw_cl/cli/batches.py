"""Many pairs through the batch engine, in parts: memory is bounded however many there are."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import InputError, PyswError, RecomputedWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..drivers.options import ManyOptions, Resources
    from ..results.alignment import Stats
    from ..sequences.sequence import Sequence
    from .pairs import Pair

#: Pairs and cells of the first part, which is small, so that first results come soon.
FIRST_PAIRS, FIRST_CELLS = 1 << 12, 1 << 31
#: Each part is twice as large as the one before, up to these.
MOST_PAIRS, MOST_CELLS = 1 << 17, 1 << 37
#: Letters of the records of a part, counted once for all of its pairs.
MOST_LETTERS = 1 << 26
#: Seconds that a part waits for its pairs, which may come from a slow pipe.
PATIENCE = 1.0


def align_parts(
    pairs: Iterator[Pair],
    options: ManyOptions,
    resources: Resources,
    begin: Callable[[], None],
) -> Iterator[tuple[list[Pair], NDArray[Any], Stats]]:
    """What `align_many` finds for ``pairs``, in parts and in order: the pairs of a part, their
    table, and what it cost.

    ``begin`` is called before a part is computed.  An error about a pair begins with the names of
    its records.
    """
    from ..api.many import PairAligner

    done = 0
    with PairAligner(options, resources) as aligner:
        for part in parts(pairs):
            begin()
            try:
                table, stats, wrong = aligner.align(_texts(part), resources.progress, done)
            except PyswError as error:
                raise _named(error, part) from None
            if wrong is not None:
                warnings.warn(wrong, RecomputedWarning, stacklevel=2)
            done += len(part)
            yield part, table, stats


def parts(
    pairs: Iterator[Pair], clock: Callable[[], float] = time.monotonic
) -> Iterator[list[Pair]]:
    """``pairs`` in parts, each within the limits or of one pair.

    An InputError of ``pairs`` is raised after the part with all pairs before it."""
    most_pairs, most_cells = FIRST_PAIRS, FIRST_CELLS
    part: list[Pair] = []
    seen: set[int] = set()  # the records of the part
    last: Sequence | None = None
    m = cells = letters = 0
    until = 0.0
    wrong: InputError | None = None
    try:
        for pair in pairs:
            query, target = pair
            if query is not last:
                last, m = query, len(query.letters)
            n = len(target.letters)
            new = (0 if id(query) in seen else m) + (0 if id(target) in seen else n)
            full = cells + m * n > most_cells or letters + new > MOST_LETTERS
            if part and (full or len(part) == most_pairs or clock() > until):
                yield part
                most_pairs = min(2 * most_pairs, MOST_PAIRS)
                most_cells = min(2 * most_cells, MOST_CELLS)
                part, cells, letters, new = [], 0, 0, m + n
                seen.clear()
            if not part:
                until = clock() + PATIENCE
            if new:
                seen.update((id(query), id(target)))
            cells, letters = cells + m * n, letters + new
            part.append(pair)
    except InputError as error:
        wrong = error
    if part:
        yield part
    if wrong is not None:
        raise wrong


def _texts(part: list[Pair]) -> list[tuple[bytes, bytes]]:
    """The letters of pairs in the form that `align_many` takes fastest, once for each record."""
    found: dict[int, bytes] = {}

    def text(record: Sequence) -> bytes:
        known = found.get(id(record))
        if known is None:
            known = found[id(record)] = record.letters.tobytes()
        return known

    return [(text(query), text(target)) for query, target in part]


def _named(error: PyswError, part: list[Pair]) -> PyswError:
    """The error with the names of the records in place of the pair's number."""
    if error.pair is None:
        return error
    query, target = part[error.pair]
    what = str(error).removeprefix(f"pair {error.pair}: ")
    return type(error)(f"query {query.name}, target {target.name}: {what}")
