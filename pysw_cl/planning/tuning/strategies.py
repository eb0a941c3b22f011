"""Strategies: which values to try next, given what is known so far.

A strategy is a class with one method (:class:`Strategy`).  It proposes rounds of values; the search
(:mod:`.search`) races them, leaves out what was tried before, and keeps the budget.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .space import Dimension, Space, Values


class Known(Protocol):
    """What a strategy may ask."""

    @property
    def centre(self) -> Values:
        """The values that seem best so far; the start where nothing ran yet."""

    def seconds(self, values: Values) -> float | None:
        """The median of their runs; None if there are none or they failed."""


class Strategy(Protocol):
    """Proposes values."""

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """Values to be raced with the best known; ``known`` has the result when the next round is
        asked for.  The search ends with the last one."""


@dataclass(frozen=True)
class Coordinate:
    """Coarse to fine: first what needs no build, then what does, then both together.

    First all candidates of a dimension on a coarse grid, one dimension after the other; then the
    neighbours of the best in one or two dimensions, at half the distance whenever none of them is
    better (the pattern search of Hooke & Jeeves, Journal of the ACM 8, 1961).  All of it again
    where it has led somewhere else: the best values of a dimension depend on the others, and may
    have valleys between them, as multiples of the compute units have.
    """

    #: Candidates of a dimension on the coarse grid, about.
    points: int = 5

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """See :class:`Strategy`."""
        before: Values | None = None
        while before != known.centre:
            before = known.centre
            for builds in (False, True):
                dimensions = [one for one in space.dimensions if one.builds is builds]
                yield from self._descent(space, known, dimensions)
            yield space.neighbours(known.centre, {one.name: 1 for one in space.dimensions})

    def _descent(
        self, space: Space, known: Known, dimensions: Sequence[Dimension]
    ) -> Iterator[Sequence[Values]]:
        """Coarse to fine in some dimensions."""
        strides = {one.name: max(1, len(one.candidates) // self.points) for one in dimensions}
        for one in dimensions:
            yield space.line(known.centre, one, strides[one.name])
        while strides:
            centre = known.centre
            yield space.neighbours(centre, strides)
            if known.centre != centre:
                continue
            if max(strides.values()) == 1:
                break
            strides = {name: max(1, stride // 2) for name, stride in strides.items()}


@dataclass(frozen=True)
class Exhaustive:
    """Everything at once: what other strategies are held against."""

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """See :class:`Strategy`."""
        yield space.every()


@dataclass(frozen=True)
class RandomSearch:
    """Values at random, ``each`` in a round, ``count`` in all.  ``seed`` decides which."""

    count: int = 64
    each: int = 8
    seed: int = 0

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """See :class:`Strategy`."""
        every = space.every()
        drawn = random.Random(self.seed).sample(every, min(self.count, len(every)))
        for first in range(0, len(drawn), self.each):
            yield drawn[first : first + self.each]
