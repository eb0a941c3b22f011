"""Pairs aligned one by one, with the same results as in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InternalError, PyswError, RangeError
from ..results.alignment import Alignment, Stats
from ..scoring.precision import check_range
from ..sequences.sequence import as_sequence
from .batch_layout import Lengths, as_halves, blame
from .batch_results import FIELDS, PairResults
from .options import AlignOptions, AlignResources, ManyOptions, Resources


class OneByOne:
    """Aligns single pairs of ``pairs`` with ``align``, and raises what is wrong with a pair.

    An error begins with the number of its pair.  The caller reports progress.
    """

    def __init__(
        self,
        pairs: Sequence[Any],
        options: ManyOptions,
        resources: Resources,
        align: Callable[[Any, Any, AlignOptions, AlignResources], Alignment],
    ):
        self.pairs, self._align = pairs, align
        self.scoring, self.mode, self.output = options.scoring, options.mode, options.output
        self._options = options.for_one()
        self._resources = AlignResources(
            device=resources.device, plan=resources.plan, kernel_times=resources.kernel_times
        )
        self.stats = Stats()

    def align(self, k: int, found: PairResults) -> int:
        """Align pair k and store the result in row k of ``found``; returns its cells."""
        query, target = self.pairs[k]
        try:
            result = self._align(query, target, self._options, self._resources)
        except PyswError as error:
            raise blame(k, error) from None
        for name in found.values:
            value = getattr(result, name)
            found.values[name][k] = round(value * self.scoring.scale) if name == "score" else value
        if len(found.cigars):
            found.cigars[k] = result.cigar
        self.stats.add_cells(result.stats.cells)
        self.stats.launches += result.stats.launches
        self.stats.add_kernel_seconds(result.stats.kernel_seconds)
        self.stats.recomputed += result.stats.recomputed
        self.stats.device_bytes = max(self.stats.device_bytes, result.stats.device_bytes)
        return len(result.query) * len(result.target)

    def all(self, done: Callable[[int, int], None]) -> PairResults:
        """Align all pairs; ``done(cells, 1)`` is called after each."""
        as_halves(self.pairs)
        found = PairResults.empty(len(self.pairs), FIELDS[self.output])
        for k in range(len(self.pairs)):
            done(self.align(k, found), 1)
        return found

    def check(self, k: int) -> None:
        """Raise the error of pair k, which the caller knows to have one."""
        query, target = self.pairs[k]
        try:
            a, b = as_sequence(query, "query"), as_sequence(target, "target")
            check_range(self.scoring, len(a), len(b), self.mode)
            self.scoring.encode_query(a.letters)
            self.scoring.encode_target(b.letters)
        except PyswError as error:
            raise blame(k, error) from None
        raise InternalError(f"pair {k} was refused without a reason")

    def check_lengths(self, first: int, lengths: Lengths) -> None:
        """Raise for a pair with an empty sequence or with a score that could leave its range.

        ``lengths`` (n x 2) are those of the pairs from number ``first`` on.  What `check_range`
        refuses grows with min(m, n) and with m + n, so the pairs that are largest by either are
        checked first.
        """
        empty = np.flatnonzero((lengths == 0).any(axis=1))
        if len(empty):
            self.check(first + int(empty[0]))
        try:
            for k in (lengths.min(axis=1).argmax(), lengths.sum(axis=1).argmax()):
                check_range(self.scoring, int(lengths[k, 0]), int(lengths[k, 1]), self.mode)
        except RangeError:
            for k in range(len(lengths)):
                try:
                    check_range(self.scoring, int(lengths[k, 0]), int(lengths[k, 1]), self.mode)
                except RangeError:
                    self.check(first + k)
