"""Many pairs on the workers of a cluster, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cluster.parts import Shared, in_order, part_cells, spans
from ..cluster.workers import Workers, workers_of
from ..drivers.batch_layout import as_halves, lengths_of
from ..drivers.batch_results import Choose
from ..drivers.options import ManyOptions, Resources
from ..drivers.prepared import Batch
from ..errors import PyswError
from ..results.pair_paths import as_table
from ..results.stats import Stats
from .align import told
from .pair_aligner import PairAligner, teller
from .parts import DonePart, PartLimits, counted_from, in_lists

#: Pairs and letters of a part, at most, because the scheduler holds all that are under way.
PAIRS, LETTERS = 1 << 15, 1 << 23
#: What a caller calls some pairs, these, the number of the first one, and which rows it wants.
Asked = tuple[Any, Any, int, Choose | None]
#: What it calls them, and what gives their rows and cost, or raises their error.
Taken = tuple[Any, Callable[[], tuple[NDArray[Any], Stats]]]


def aligned(lists: Iterable[Asked], options: ManyOptions, resources: Resources) -> Iterator[Taken]:
    """Lists of pairs aligned one after the other: here, or on the workers of a cluster, some lists
    at once.  Progress is told of each list."""
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
        cigars = np.empty(len(columns["score"]), object)
        cigars[:] = columns["cigar"].split("\n")[: len(cigars)]
        columns["cigar"] = cigars
    with told(progress) as run:
        cells = int(lengths_of(as_halves(pairs)).prod(axis=1).sum()) if run.watched else 0
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
