"""What a run does, counted: the columns of its strips, its launches, letters and edges.

A model of the run time multiplies these counts with the times of a profile (:mod:`.times`).

Method: Sandes (2011, thesis, chapter 6) fits t(m, n) = c1 + c2 m + c3 n + c4 m n for fixed B, T and
alpha.  Here each of these terms is tied to what causes it, so that B, T, alpha and the shape of the
matrix may vary.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

#: A number, or an array with one for each of many cases.
Count = Any
#: The name of the time that each row of a lane adds to a strip, whatever its columns, where a group
#: has a core to itself.
STRIP_ROW = "strip_row"
#: What the times of sections have behind the subject of strips that do the same work.
CUT = "sections"


class Wave(NamedTuple):
    """Strips that follow each other, as the last of them sees it.  Of many cases: arrays."""

    #: Columns that pass until it is done.
    columns: float
    #: The mean number of strips that run meanwhile.
    running: float
    #: How often one waited for the one above it to begin.
    hops: int
    #: Groups that take strips.
    groups: int
    #: The same columns and hops if each strip waits for the one above it, not for a group.
    chain: tuple[float, int] = (0, 0)
    #: Strips of sections that each group takes after its first one.
    turns: int = 0


@dataclass(frozen=True)
class Strips:
    """The strips of a tile, or of many tiles like it."""

    #: Whose times count: an engine, its lanes, and how they score.
    subject: str
    #: Rows of a lane, columns of a block.
    alpha: int
    chunk: int
    #: Strips that share a scheduler of the device.
    share: int
    #: Columns that pass until the last strip is done.
    columns: float
    #: Strips that run meanwhile, as a share of those that have a scheduler to themselves.
    busy: float = 0
    #: How often a strip waits for the one above it to begin.
    hops: float = 0
    #: How many such tiles there are.
    tiles: int = 1
    #: The most strips that run at once.
    B: int = 1
    #: Are these sections side by side?  Their kernel is another one.
    cut: bool = False
    #: Columns and hops if each strip waits for the one above it, which may take longer.
    chain: tuple[float, int] = (0, 0)
    #: Strips of sections that each group takes after its first one, which wait for nobody.
    turns: int = 0

    @property
    def timed(self) -> str:
        """The subject of their times."""
        return f"{self.subject}/{CUT}" if self.cut else self.subject


@dataclass
class Work:
    """What a run does."""

    strips: list[Strips] = field(default_factory=list)
    #: All else, by the subject and the name of its time.
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)


def lesser(a: Count, b: Count) -> Count:
    """The lesser of two numbers, case by case."""
    many = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    return np.minimum(a, b) if many else min(a, b)


def greater(a: Count, b: Count) -> Count:
    """The greater of two numbers, case by case."""
    many = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    return np.maximum(a, b) if many else max(a, b)


def either(first: Count, a: Count, b: Count) -> Count:
    """``a`` where ``first`` is true, else ``b``, case by case."""
    if isinstance(first, np.ndarray):
        return np.where(first, a, b)
    return a if first else b


def lag_of(T: int, chunk: Count, n: Count) -> Count:
    """Columns that a strip starts behind the one above it: its lanes, and a block, which is no
    longer than the strip."""
    return T + lesser(chunk, n + T)


def wave(strips: Count, B: Count, n: int, lag: Count, even: bool = False) -> Wave:
    """So many strips of n columns.  Each of B groups takes the next one when it has done one; a
    strip starts ``lag`` columns behind the one above it.  ``even``: no group is idle in the end,
    because groups share the last strips."""
    rounds, rest = (strips - 1) // B, (strips - 1) % B
    chain = (strips - 1) * lag + n, strips - 1
    columns = rounds * n + rest * lag + n
    if even:
        columns = lesser(columns, strips * n // B + (B - 1) * lag)
    # a group is done before the strip above its next one begins
    one_by_one = (rounds == 0) | (n <= B * lag)
    columns = either(one_by_one, chain[0], columns)
    hops = either(one_by_one, chain[1], rest)
    return Wave(columns, strips * n / columns, hops, lesser(B, strips), chain)


def side_by_side(strips: Count, sections: Count, B: Count, n: Count, lag: Count) -> Wave:
    """Sections of n columns each, all of which have so many strips.  Groups take the first strip
    of each section, then the second ones, and so on: the more sections, the fewer strips of one are
    in flight, and wait for each other."""
    units = strips * sections
    follow = lesser(strips, -(-B // sections)) - 1
    rounds, chain = -(-units // B), ((strips - 1) * lag + n, strips - 1)
    columns = rounds * n + follow * lag
    longest = greater(columns, chain[0])
    return Wave(columns, units * n / longest, follow, lesser(B, units), chain, rounds - 1)
