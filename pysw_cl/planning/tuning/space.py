"""What is searched: named dimensions, a constraint, and where the search starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

from ...errors import PlanError
from ..parameters import Number

#: Parameters of a plan by name.
Values = Mapping[str, Number]


@dataclass(frozen=True)
class Dimension:
    """One parameter, and the values that are tried of it.  Raises PlanError if there are none or if
    they do not rise."""

    name: str
    candidates: tuple[Number, ...]
    #: Does another value need another build of the kernel?
    builds: bool = False

    def __post_init__(self) -> None:
        if not self.candidates or any(b <= a for a, b in pairwise(self.candidates)):
            raise PlanError(f"tuning: the candidates of {self.name} must rise: {self.candidates}")


@dataclass(frozen=True)
class Space:
    """The values that may be tried: a candidate of each dimension, if the constraint holds.

    ``start``: where the search begins, for example the defaults of a plan, or CUDAlign's rule B =
    units x resident blocks.  Its values become candidates.  Raises PlanError if its names are not
    those of the dimensions, or if it is impossible itself.
    """

    dimensions: tuple[Dimension, ...]
    start: Values
    #: Why values are impossible, in words; None if they are possible.
    constraint: Callable[[Values], str | None] = lambda values: None

    def __post_init__(self) -> None:
        names = [one.name for one in self.dimensions]
        if sorted(names) != sorted(self.start):
            raise PlanError(
                f"tuning: dimensions {', '.join(names)} and a start of {', '.join(self.start)}; "
                "they must have the same names, each once"
            )
        reason = self.constraint(self.start)
        if reason is not None:
            raise PlanError(f"tuning: the start {dict(self.start)} is impossible: {reason}")
        dimensions = tuple(
            replace(one, candidates=tuple(sorted({*one.candidates, self.start[one.name]})))
            for one in self.dimensions
        )
        object.__setattr__(self, "dimensions", dimensions)

    def keeping(self, name: str) -> Space:
        """This space, in which a dimension has the start's value only."""
        only = Dimension(name, (self.start[name],))
        return replace(
            self, dimensions=tuple(only if one.name == name else one for one in self.dimensions)
        )

    def key(self, values: Values) -> tuple[Number, ...]:
        """What tells these values from others."""
        return tuple(values[one.name] for one in self.dimensions)

    def build(self, values: Values) -> tuple[Number, ...]:
        """What tells the build that these values need from other builds."""
        return tuple(values[one.name] for one in self.dimensions if one.builds)

    def line(self, centre: Values, name: str) -> list[Values]:
        """``centre`` with the other values of one dimension; the nearest first."""
        return self._possible({**centre, name: value} for value in self._near(centre, name))

    def neighbours(self, centre: Values, names: Iterable[str]) -> list[Values]:
        """``centre`` with a step in one of these dimensions, and then those in two."""
        near = [{name: value} for name in names for value in self._near(centre, name, 1)]
        near += [{**a, **b} for a, b in combinations(near, 2) if a.keys() != b.keys()]
        return self._possible({**centre, **step} for step in near)

    def _near(self, centre: Values, name: str, most: int = 1 << 20) -> list[Number]:
        """The other values of a dimension, at ``most`` so many steps away; the nearest first."""
        (some,) = (one.candidates for one in self.dimensions if one.name == name)
        here = some.index(centre[name])
        near = [k for k in range(len(some)) if 0 < abs(k - here) <= most]
        return [some[k] for k in sorted(near, key=lambda k: abs(k - here))]

    def every(self) -> list[Values]:
        """All that may be tried."""
        names = [one.name for one in self.dimensions]
        grid = product(*(one.candidates for one in self.dimensions))
        return self._possible(dict(zip(names, values, strict=True)) for values in grid)

    def _possible(self, tried: Iterable[Values]) -> list[Values]:
        return [values for values in tried if self.constraint(values) is None]
