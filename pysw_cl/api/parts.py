"""Many pairs in parts of bounded memory, as they are read or made; here, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..cluster.parts import Shared, in_order, part_cells, spans
from ..cluster.workers import Workers, workers_of
from ..drivers.batch_layout import as_halves, lengths_of
from ..drivers.batch_results import Choose, check_pair
from ..drivers.options import ManyOptions, Resources
from ..drivers.prepared import Batch
from ..drivers.progress import Progress
from ..errors import PyswError
from ..results.alignment import Alignment
from ..results.formats.columns import TableRows
from ..results.pair_paths import as_table
from ..results.stats import Stats
from ..sequences.sequence import as_sequence
from .bar import told
from .pair_aligner import PairAligner, cells_of, teller

Numbers = NDArray[np.int64]
#: Told the number of a pair that cannot be aligned, the pair, and what is wrong with it.
OnBad = Callable[[int, Any, PyswError], None]
#: Pairs that are read at once, if they are short, and letters from which on they are not.
AT_ONCE, SHORT = 1 << 10, 1 << 20
#: Pairs and letters of a worker's part, at most: the scheduler holds all that are under way.
PAIRS, LETTERS = 1 << 15, 1 << 23
#: What a caller calls some pairs, these, the number of the first one, and which rows it wants.
Asked = tuple[Any, Any, int, Choose | None]
#: What it calls them, and what gives their rows and cost, or raises their error.
Taken = tuple[Any, Callable[[], tuple[NDArray[Any], Stats]]]


class PartLimits(NamedTuple):
    """How many pairs are read before they are aligned."""

    #: Pairs: a path is a few Python objects.
    pairs: int = 1 << 14
    #: Letters of queries and targets: they are copied, and a path takes two bytes a letter.
    letters: int = 1 << 26
    #: Cells (None: any number): about a second of a CPU's work.
    cells: int | None = 1 << 35


class DonePart(NamedTuple):
    """The results of consecutive pairs."""

    #: Their numbers in the whole input, from 0, but for pairs that have no row.
    numbers: Numbers
    #: The pairs as they were given.
    pairs: list[Any]
    #: A row for each, as `align_many` gives it.
    rows: NDArray[Any]
    #: What the part cost.
    stats: Stats


def alignments_of(part: DonePart, options: ManyOptions) -> Iterator[Alignment]:
    """The rows of a part as `align` gives its results; what they cost is the part's."""
    made = partial(as_sequence, check=False, alphabet=options.scoring.alphabet)
    pairs = [(made(a, "query"), made(b, "target")) for a, b in part.pairs]
    common = {"mode": options.mode, "scoring": options.scoring, "free_ends": options.free}
    return (Alignment(**vars(row.alignment())) for row in TableRows(pairs, part.rows, common))


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
    its error, whose ``pair`` is the number, when the parts before are given."""
    with PairAligner(options, resources) as aligner:
        for part in align_lists(aligner, pairs, limits or PartLimits(), resources.progress, on_bad):
            if options.min_score is not None:
                kept = np.searchsorted(part.numbers, part.rows["pair"])
                pairs = [part.pairs[k] for k in kept.tolist()]
                part = part._replace(numbers=part.numbers[kept], pairs=pairs)
            yield part


def align_lists(
    aligner: PairAligner,
    pairs: Iterable[Any],
    limits: PartLimits,
    progress: Progress | bool | None = None,
    on_bad: OnBad | None = None,
) -> Iterator[DonePart]:
    """`align_parts` with an aligner; pairs that score too little have no row, but are there."""
    read = 0
    for part in in_lists(pairs, limits):
        first, read, done = read, read + len(part), None
        numbers = np.arange(first, read)
        while done is None and part:
            try:
                done = aligner.align(part, progress, first)
            except PyswError as error:
                if error.pair is None:
                    raise
                if on_bad is None:
                    raise counted_from(first, error) from None
                numbers, part = _without_bad(aligner.options, numbers, part, error, on_bad)
        if done is not None:
            if aligner.options.min_score is not None:
                done[0]["pair"] = numbers[done[0]["pair"]]
            yield DonePart(numbers, part, *done)


def counted_from(first: int, error: PyswError) -> PyswError:
    """The error of some pairs, of which the first has this number in the whole input."""
    if error.pair is None:
        return error
    number = first + error.pair
    found = type(error)(str(error).replace(f"pair {error.pair}", f"pair {number}", 1))
    found.pair = number
    return found


def _without_bad(
    options: ManyOptions, numbers: Numbers, part: list[Any], error: PyswError, on_bad: OnBad
) -> tuple[Numbers, list[Any]]:
    """The part without the pairs that cannot be aligned; ``error`` is that of one of them."""
    bad: dict[int, PyswError] = {}
    for k, pair in enumerate(part):
        try:
            check_pair(options, *as_halves([pair]))
        except PyswError as wrong:  # without a number
            bad[k] = type(wrong)(str(wrong).replace("pair 0 must", "a pair must", 1))
    if not bad:  # what is wrong shows only when it is aligned
        assert error.pair is not None
        bad[error.pair] = error
    for k, found in bad.items():
        on_bad(int(numbers[k]), part[k], found)
    good = [k for k in range(len(part)) if k not in bad]
    return numbers[good], [part[k] for k in good]


def in_lists(pairs: Iterable[Any], limits: PartLimits) -> Iterator[list[Any]]:
    """The pairs in lists.  A list ends with the pair that reaches one of the limits; without one of
    cells it ends soon after, because short pairs are read many at once."""
    source, found, letters, cells, size = iter(pairs), list[Any](), 0, 0, 1
    while some := list(islice(source, size)):
        found += some
        more = 0
        with suppress(TypeError):  # no pairs: the error comes with its number
            if set(map(len, some)) == {2}:
                more = sum(map(len, chain.from_iterable(some)))
                cells += 0 if limits.cells is None else prod(map(len, some[0]))
        letters += more
        if limits.cells is None:
            size = min(2 * size, AT_ONCE) if more < SHORT else max(1, size // 4)
        full = len(found) >= limits.pairs or letters >= limits.letters
        if full or (limits.cells is not None and cells >= limits.cells):
            yield found
            found, letters, cells = [], 0, 0
        size = max(1, min(size, limits.pairs - len(found)))
    if found:
        yield found


def aligned(lists: Iterable[Asked], options: ManyOptions, resources: Resources) -> Iterator[Taken]:
    """Lists of pairs, aligned in turn here, or some at once on a cluster; each has its progress."""
    with workers_of(resources.cluster) as workers, PairAligner(options, resources) as aligner:
        if workers is not None:
            yield from _elsewhere(workers, options, resources, lists)
            return
        for what, pairs, first, choose in lists:
            yield what, partial(aligner.align, pairs, resources.progress, first, choose)


def _elsewhere(
    workers: Workers, options: ManyOptions, resources: Resources, lists: Iterable[Asked]
) -> Iterator[Taken]:
    shared = Shared(PairAligner, options, resources.of_worker)
    parts = (((what, pairs), (pairs, *how)) for what, pairs, *how in lists)
    for (what, pairs), take in in_order(workers, shared, _aligned, parts):
        yield what, partial(_read, take, pairs, resources.progress)


def _aligned(aligner: PairAligner, pairs: Any, first: int, choose: Choose | None) -> Any:
    """At a worker: the rows of some pairs, as columns and one text of all CIGARs."""
    table, stats = aligner.align(pairs, None, first, choose)
    columns: dict[str, Any] = {name: table[name] for name in table.dtype.names or ()}
    if "cigar" in columns:
        columns["cigar"] = "\n".join(columns["cigar"].tolist())
    return columns, stats


def _read(take: Callable[[], Any], pairs: Any, progress: Any) -> tuple[NDArray[Any], Stats]:
    columns, stats = take()
    if "cigar" in columns:
        cigars = columns["cigar"].split("\n")[: len(columns["score"])]
        columns["cigar"] = np.array(cigars, object)
    with told(progress) as run:
        cells = cells_of(pairs) if run.watched else 0
        teller(run, cells, len(pairs))(cells, len(pairs))
    return as_table(columns), stats


def aligned_elsewhere(
    pairs: Any, options: ManyOptions, resources: Resources, limits: PartLimits
) -> Iterator[DonePart]:
    """The results of pairs in parts, of which there is at least one, by the workers of a cluster;
    those that score too little have no row."""
    lists = [pairs] if isinstance(pairs, list | tuple | Batch) else in_lists(pairs, limits)
    with workers_of(resources.cluster) as workers, told(resources.progress) as run:
        assert workers is not None
        parts = _cut(workers, lists)
        if run.watched:  # then all pairs are there
            parts = iter(every := list(parts))
            tell = teller(run, sum(cells for _, cells, _ in every), len(pairs))
        asked = ((one, one[2], one[0], None) for one in parts)
        quiet = replace(resources, progress=None)
        for (first, cells, some), take in _elsewhere(workers, options, quiet, asked):
            try:
                rows, stats = take()
            except PyswError as error:
                raise counted_from(first, error) from None
            if options.min_score is not None:
                rows["pair"] += first
            if run.watched:
                tell(cells, len(some))
            yield DonePart(np.arange(first, first + len(some)), some, rows, stats)


def _cut(workers: Workers, lists: Iterable[Any]) -> Iterator[tuple[int, int, list[Any]]]:
    """Lists of pairs in parts: the number of the first pair, the cells, and the pairs."""
    first = 0
    for pairs in lists:
        halves = as_halves(pairs, first)
        lengths = np.ones((len(pairs), 2), np.int64)
        with suppress(TypeError):  # what is no sequence is an error of its part
            lengths = lengths_of(halves)
        cells, ids = lengths.prod(axis=1), np.array([*map(id, halves)], np.int64).reshape(-1, 2)
        lengths[1:] *= ids[1:] != ids[:-1]  # what comes again is sent once
        each = (np.ones(len(pairs)), PAIRS), (lengths.sum(axis=1), LETTERS)
        for span in spans(*each, (cells, part_cells(int(cells.sum()), workers))):
            yield first + span.start, int(cells[span].sum()), pairs[span]
        first += len(pairs)
