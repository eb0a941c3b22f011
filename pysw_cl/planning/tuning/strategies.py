"""Strategies: which values to try next, given what is known so far.

A strategy is a class with one method (:class:`Strategy`).  It proposes rounds of values; the search
(:mod:`.search`) races them, leaves out what was tried before, and keeps the budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..parameters import Number
from .space import Dimension, Space, Values


class Known(Protocol):
    """What a strategy may ask."""

    def ranking(self) -> Sequence[Values]:
        """What ran without a failure, in the order in which it seems good; the best first."""

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
    #: Of so many builds, those with the best values, what needs no build is searched.
    builds: int = 3

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """See :class:`Strategy`."""
        free = [one for one in space.dimensions if not one.builds]
        building = [one for one in space.dimensions if one.builds]
        before: Values | None = None
        while before != _centre(space, known):
            before = _centre(space, known)
            yield from self._descent(space, known, free, space.build(before))
            yield from self._descent(space, known, building)
            centre = _centre(space, known)
            yield space.neighbours(centre, {one.name: 1 for one in space.dimensions})
            builds = list(dict.fromkeys(space.build(values) for values in known.ranking()))
            for build in builds[: self.builds]:
                yield from self._descent(space, known, free, build)

    def _descent(
        self,
        space: Space,
        known: Known,
        dimensions: Sequence[Dimension],
        build: tuple[Number, ...] | None = None,
    ) -> Iterator[Sequence[Values]]:
        """Coarse to fine in some dimensions, around the best values of a build or of all."""
        strides = {one.name: max(1, len(one.candidates) // self.points) for one in dimensions}
        for one in dimensions:
            yield space.line(_centre(space, known, build), one, strides[one.name])
        while strides:
            centre = _centre(space, known, build)
            yield space.neighbours(centre, strides)
            if _centre(space, known, build) == centre:
                if max(strides.values()) == 1:
                    break
                strides = {name: max(1, stride // 2) for name, stride in strides.items()}


def _centre(space: Space, known: Known, build: tuple[Number, ...] | None = None) -> Values:
    """The best values, of a build or of all; the start where none ran."""
    good = (v for v in known.ranking() if build is None or space.build(v) == build)
    return next(good, space.start)


@dataclass(frozen=True)
class Exhaustive:
    """Everything at once: what other strategies are held against."""

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """See :class:`Strategy`."""
        yield space.every()


@dataclass(frozen=True)
class Given:
    """These values, at once: held against the start."""

    values: tuple[Values, ...]

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """See :class:`Strategy`."""
        yield self.values
