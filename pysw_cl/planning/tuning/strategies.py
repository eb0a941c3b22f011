"""Strategies: which values to try next, given what is known so far.

A strategy is a class with one method (:class:`Strategy`).  It proposes rounds of values; the search
(:mod:`.search`) races them, leaves out what was tried before, and keeps the budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..parameters import Number
from .space import Space, Values


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
    """First what needs no build, then what does, then both together.

    First all candidates of a dimension, one dimension after the other; then the neighbours of the
    best in one or two dimensions, until none of them is better (as in the pattern search of Hooke &
    Jeeves, Journal of the ACM 8, 1961).  All of it again where it has led somewhere else: the best
    values of a dimension depend on the others, and may have valleys between them, as multiples of
    the compute units have.
    """

    #: Of so many builds, those with the best values, what needs no build is searched.
    builds: int = 3

    def rounds(self, space: Space, known: Known) -> Iterator[Sequence[Values]]:
        """See :class:`Strategy`."""
        free = [one.name for one in space.dimensions if not one.builds]
        building = [one.name for one in space.dimensions if one.builds]
        before: Values | None = None
        while before != _centre(space, known):
            before = _centre(space, known)
            yield from self._descent(space, known, free, space.build(before))
            yield from self._descent(space, known, building)
            yield space.neighbours(_centre(space, known), [*free, *building])
            builds = list(dict.fromkeys(space.build(values) for values in known.ranking()))
            for build in builds[: self.builds]:
                yield from self._descent(space, known, free, build)

    def _descent(
        self, space: Space, known: Known, names: list[str], build: tuple[Number, ...] | None = None
    ) -> Iterator[Sequence[Values]]:
        """The best in some dimensions, around the best values of a build or of all."""
        for name in names:
            yield space.line(_centre(space, known, build), name)
        centre: Values | None = None
        while names and centre != _centre(space, known, build):
            centre = _centre(space, known, build)
            yield space.neighbours(centre, names)


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
