"""Pairs aligned one by one, with the same results as in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InternalError, PyswError, RangeError
from ..results.alignment import Alignment
from ..scoring.positions import PositionMatrix
from ..sequences.sequence import as_sequence
from .batch_layout import Lengths, Part, as_halves, blame
from .batch_results import UNKNOWN, PairResults
from .job import make_frames
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
        #: How often a pair is computed in batches; one that is aligned alone counts as often.
        self.sweeps = 1
        #: The results of all pairs.
        self.found = PairResults.empty(len(pairs), options.fields)
        self.scoring, self.mode, self.strand = options.scoring, options.mode, options.strand
        self._options, self.second_best = {"": options.for_one()}, options.second_best
        self._resources = AlignResources(
            device=resources.device, plan=resources.plan, kernel_times=resources.kernel_times
        )

    def align(self, k: int, strand: str = "") -> int:
        """Align pair k for row k of ``found``; returns the cells that count as done.  ``strand``:
        the better one, if it is known: this counts once."""
        found, (query, target) = self.found, self.pairs[k]
        if strand not in self._options:
            self._options[strand] = replace(self._options[""], strand=strand)
        try:
            result = self._align(query, target, self._options[strand], self._resources)
        except PyswError as error:
            raise blame(k, error) from None
        for name in found.values:
            value = getattr(result, name)
            if name in ("score", "second_best"):
                value = round(value * self.scoring.scale)
            found.put(name, k, UNKNOWN if value is None else value)
        if found.paths is not None:
            found.paths.put(k, result.cigar or "")
        found.minus[k], found.alone[k] = result.strand == "minus", True
        found.stats.add(result.stats)
        return (1 if strand else self.sweeps) * len(result.query) * len(result.target)

    def all(self, done: Callable[[int, int], None]) -> None:
        """Align all pairs; ``done(cells, sweeps)`` is called after each."""
        as_halves(self.pairs)
        for k in range(len(self.pairs)):
            done(self.align(k), self.sweeps)

    def check(self, k: int) -> None:
        """Raise the error of pair k, which the caller knows to have one."""
        self.check_letters(k)
        raise InternalError(f"pair {k} was refused without a reason")

    def check_letters(self, k: int) -> None:
        """Raise what is wrong with the sequences of pair k, if anything is."""
        try:
            self.check_pair(*self.pairs[k])
        except PyswError as error:
            raise blame(k, error) from None

    def check_pair(self, query: Any, target: Any) -> None:
        """Raise what is wrong with two sequences, if anything is."""
        query = query.sequence if isinstance(query, PositionMatrix) else query
        alphabet = self.scoring.alphabet
        a = as_sequence(query, "query", alphabet=alphabet)
        b = as_sequence(target, "target", alphabet=alphabet)
        self.scoring.bounds.check_range(len(a), len(b), self.mode)
        make_frames(a, b, None, None, self.strand, self.scoring)

    def check_lengths(self, part: Part, lengths: Lengths, first: int) -> None:
        """Raise for an empty sequence, or a score that could leave its range, among the pairs from
        number ``first`` on, with these ``lengths`` (n x 2), of which ``part`` was made.

        What `check_range` refuses grows with min(m, n) and with m + n, so only the pairs that are
        largest by either are looked at."""

        def extremes() -> list[int]:
            m, n = lengths.T  # (a sum or least along rows of two takes ten times as long)
            shorter = np.minimum(m, n)
            return [int(shorter.argmin()), int(shorter.argmax()), int((m + n).argmax())]

        shortest, *longest = part.once("extremes", extremes)
        if not lengths[shortest].all():
            self.check(first + shortest)
        try:
            for k in longest:
                self.scoring.bounds.check_range(int(lengths[k, 0]), int(lengths[k, 1]), self.mode)
        except RangeError:
            for k in range(len(lengths)):
                self.check_letters(first + k)
            raise
