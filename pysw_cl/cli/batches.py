"""Many pairs through the batch engine, in parts: memory is bounded however many there are."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api.parts import Asked, aligned
from ..drivers.options import ManyOptions, Resources
from ..errors import InputError, PyswError
from ..results.alignment import of_rows
from ..results.formats.columns import TableRows
from ..sequences.sequence import Sequence
from .asked import made_asked, options_asked
from .output import Running
from .records import Pair

#: All letters of a record.
ALL = slice(None)
#: Pairs and cells of the first part, which is small, so that first results come soon.
FIRST_PAIRS, FIRST_CELLS = 1 << 12, 1 << 31
#: Each part is twice as large as the one before, up to these.
MOST_PAIRS, MOST_CELLS = 1 << 17, 1 << 37
#: Letters of the records of a part, counted once for all of its pairs.
MOST_LETTERS = 1 << 26
#: Seconds that a part waits for its pairs, which may come from a slow pipe.
PATIENCE = 1.0


class Choice:
    """Which pairs of a part can be printed: those that score ``least``, and of each query those
    that are no worse than its ``top``-th best so far.  ``scale``: that of scores."""

    def __init__(self, least: float | None, top: int, scale: int) -> None:
        self._least, self._top = -inf if least is None else least * scale, top
        self._query: Sequence | None = None
        self._nth = np.array([-inf])  # of each query of the part, and the query of each pair
        self._of = np.zeros(0, np.int64)

    def begin(self, part: list[Pair]) -> None:
        """The pairs of the next part; those of a query follow each other."""
        queries = np.fromiter((id(query) for query, _ in part), np.int64, len(part))
        self._of = np.cumsum(np.diff(queries, prepend=queries[:1]) != 0)
        nth = np.full(int(self._of[-1]) + 1, -inf)
        nth[0] = self._nth[-1] if part[0][0] is self._query else -inf
        self._nth, self._query = nth, part[-1][0]

    def __call__(self, numbers: NDArray[np.int64], scores: NDArray[Any]) -> NDArray[np.bool_]:
        of = self._of[numbers]
        order, before = np.lexsort((-scores, of)), self._top - 1
        last = order[before:]
        last = last[of[last] == of[order[: len(last)]]]  # so many of its query score as much
        np.maximum.at(self._nth, of[last], scores[last])
        return np.asarray(scores >= np.maximum(self._nth[of], self._least))


def in_batches(args: Namespace, pairs: Iterator[Pair], to: Running) -> Iterator[TableRows]:
    """The results of ``pairs`` in parts and in order, at least those that can be printed.  An error
    about a pair begins with the names of its records."""
    least, top = args.min_score, args.top
    options = options_asked(args, ManyOptions, min_score=None if top else least)
    scoring = options.scoring
    common = {"mode": args.mode, "scoring": scoring, "free_ends": options.free}
    chosen = None if top is None else Choice(least, top, scoring.scale)
    ranges = slice(*(args.query_range or (None,))), slice(*(args.target_range or (None,)))

    def asked() -> Iterator[Asked]:
        first = 0
        for part in parts(pairs, ranges):
            if chosen is not None:
                chosen.begin(part)
            yield part, _texts(part, ranges), first, chosen
            first += len(part)

    resources = made_asked(args, Resources, progress=to.bar)
    for part, take in aligned(asked(), options, resources):
        to.begin_part()
        try:
            table, stats = take()
        except PyswError as error:
            if error.pair is None:
                raise
            query, target = part[error.pair]
            what = str(error).removeprefix(f"pair {error.pair}: ")
            raise type(error)(f"query {query.name}, target {target.name}: {what}") from None
        for side, span in zip(("query", "target"), ranges, strict=True):
            for name in (f"{side}_start", f"{side}_end"):
                if span.start and name in (table.dtype.names or ()):
                    table[name] += np.where(table[name] < 0, 0, span.start)
        to.add([stats], len(part))
        yield TableRows(of_rows(table, part, "pairs"), table, common)


def parts(pairs: Iterator[Pair], ranges: tuple[slice, slice] = (ALL, ALL)) -> Iterator[list[Pair]]:
    """``pairs`` in parts, each within the limits or of one pair, whose letters in ``ranges`` count.

    An InputError of ``pairs`` is raised after the part with all pairs before it."""
    most_pairs, most_cells = FIRST_PAIRS, FIRST_CELLS
    part: list[Pair] = []
    seen: set[int] = set()  # the records of the part
    last: Sequence | None = None
    m = cells = letters = 0
    until = 0.0
    try:
        for pair in pairs:
            query, target = pair
            if query is not last:
                last, m = query, len(query.letters[ranges[0]])
            n = len(target.letters[ranges[1]])
            new = (0 if id(query) in seen else m) + (0 if id(target) in seen else n)
            full = cells + m * n > most_cells or letters + new > MOST_LETTERS
            if part and (full or len(part) == most_pairs or monotonic() > until):
                yield part
                most_pairs = min(2 * most_pairs, MOST_PAIRS)
                most_cells = min(2 * most_cells, MOST_CELLS)
                part, cells, letters, new = [], 0, 0, m + n
                seen.clear()
            if not part:
                until = monotonic() + PATIENCE
            if new:
                seen.update((id(query), id(target)))
            cells, letters = cells + m * n, letters + new
            part.append(pair)
    except InputError:
        if part:
            yield part
        raise
    if part:
        yield part


def _texts(part: list[Pair], ranges: tuple[slice, slice]) -> list[tuple[bytes, bytes]]:
    """The letters of pairs in the form that `align_many` takes fastest, once for each record."""
    found = []
    for side, span in zip(zip(*part, strict=True), ranges, strict=True):
        records = {id(one): one for one in side}
        texts = {key: one.letters[span].tobytes() for key, one in records.items()}
        found.append([texts[id(one)] for one in side])
    return [*zip(*found, strict=True)]
