"""Strategies: which values to try next, given what is known so far; and what there is to try.

A strategy is a class with one method (:class:`Strategy`).  It proposes rounds from a `Space`;
the search (:mod:`.search`) races them, leaves out what was tried before, and keeps the budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Protocol

from ..parameters import Number

#: Parameters of a plan by name.
Values = Mapping[str, Number]
#: What tells the build that values need from other builds.
Build = tuple[Number, ...]
#: What ran without a failure, in the order in which it seems good; the best first.
Ranking = Callable[[], Sequence[Values]]


@dataclass(frozen=True)
class Space:
    """The values that may be tried: a candidate of each parameter, if the constraint holds.
    ``start``: where the search begins, for example the defaults of a plan, or CUDAlign's rule B =
    units x resident blocks.  Its values become candidates.  ``building``: the parameters of which
    another value needs another build of the kernel.  ``possible``: can these values run?"""

    candidates: Mapping[str, Collection[Number]]
    start: Values
    building: Collection[str] = ()
    possible: Callable[[Values], bool] = lambda values: True

    def __post_init__(self) -> None:
        own = {name: sorted({*self.candidates[name], self.start[name]}) for name in self.candidates}
        object.__setattr__(self, "candidates", own)

    def build(self, values: Values) -> Build:
        return tuple(values[name] for name in self.candidates if name in self.building)

    def line(self, centre: Values, name: str) -> list[Values]:
        """``centre`` with the other values of one parameter; the nearest first."""
        return self._possible({**centre, name: value} for value in self._near(centre, name))

    def neighbours(self, centre: Values, names: Iterable[str]) -> list[Values]:
        """``centre`` with a step in one of these parameters, and then those in two."""
        near = [{name: value} for name in names for value in self._near(centre, name, 1)]
        near += [{**a, **b} for a, b in combinations(near, 2) if a.keys() != b.keys()]
        return self._possible({**centre, **step} for step in near)

    def every(self) -> list[Values]:
        """All that may be tried."""
        names, grid = list(self.candidates), product(*self.candidates.values())
        return self._possible(dict(zip(names, values, strict=True)) for values in grid)

    def _near(self, centre: Values, name: str, most: int = 1 << 20) -> list[Number]:
        """The other values of a parameter, at ``most`` so many steps away; the nearest first."""
        some = list(self.candidates[name])
        here = some.index(centre[name])
        near = sorted(range(len(some)), key=lambda k: abs(k - here))
        return [some[k] for k in near if 0 < abs(k - here) <= most]

    def _possible(self, tried: Iterable[Values]) -> list[Values]:
        return [values for values in tried if self.possible(values)]


class Strategy(Protocol):
    def rounds(self, space: Space, ranking: Ranking) -> Iterator[Sequence[Values]]:
        """Values to be raced with the best known; ``ranking`` has the result when the next round is
        asked for.  The search ends with the last one."""


@dataclass(frozen=True)
class Coordinate:
    """All candidates of one parameter after the other, first of those that need no build, and the
    neighbours of the best in one or two parameters (as in the pattern search of Hooke & Jeeves,
    Journal of the ACM 8, 1961); then the same of what needs no build, for each of the best builds.
    All of it again where it has led somewhere else: the best of one depends on the others."""

    #: How many builds are the best.
    builds: int = 3

    def rounds(self, space: Space, ranking: Ranking) -> Iterator[Sequence[Values]]:
        free = [name for name in space.candidates if name not in space.building]
        building = [name for name in space.candidates if name in space.building]

        def centre(build: Build | None = None) -> Values:
            """The best values, of a build or of all; the start where none ran."""
            good = (v for v in ranking() if build is None or space.build(v) == build)
            return next(good, space.start)

        def around(names: list[str], build: Build | None = None) -> Iterator[list[Values]]:
            for name in names:
                yield space.line(centre(build), name)
            yield space.neighbours(centre(build), names)

        before: Values | None = None
        while before != centre():
            before = centre()
            yield from around([*free, *building])
            for build in list(dict.fromkeys(map(space.build, ranking())))[: self.builds]:
                yield from around(free, build)


class Exhaustive:
    """Everything at once: what other strategies are held against."""

    def rounds(self, space: Space, ranking: Ranking) -> Iterator[Sequence[Values]]:
        yield space.every()


@dataclass(frozen=True)
class Given:
    """These values, at once: held against the start."""

    values: Sequence[Values]

    def rounds(self, space: Space, ranking: Ranking) -> Iterator[Sequence[Values]]:
        yield self.values
