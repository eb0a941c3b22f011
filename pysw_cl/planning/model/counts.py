"""What strips do, counted: the columns that pass until they are done, and who waits for whom.

Method: Sandes (2011, thesis, chapter 6) fits t(m, n) = c1 + c2 m + c3 n + c4 m n for fixed B, T and
alpha.  Here each of these terms is tied to what causes it, so that B, T, alpha and the shape of the
matrix may vary: counts (:mod:`.runs`), multiplied with the times of a profile (:mod:`.times`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: A number, or an array with one for each of many cases.
Count = Any


class Wave(NamedTuple):
    """Strips that follow each other, as the last of them sees it.  Of many cases: arrays."""

    #: Columns that pass until it is done.
    columns: Count
    #: The mean number of strips that run meanwhile.
    running: Count
    #: How often one waited for the one above it to begin.
    hops: Count
    #: Groups that take strips.
    groups: Count
    #: The same columns and hops if each strip waits for the one above it, not for a group: what
    #: takes longer counts.
    chain: tuple[Count, Count] = (0, 0)
    #: Strips of sections that each group takes after its first one, which wait for nobody.
    turns: Count = 0


def lag_of(T: int, chunk: Count, n: Count) -> Count:
    """Columns that a strip starts behind the one above it: its lanes, and a block, which is no
    longer than the strip."""
    return T + np.minimum(chunk, n + T)


def wave(strips: Count, B: Count, n: int, lag: Count, even: bool = False) -> Wave:
    """So many strips of n columns.  Each of B groups takes the next one when it has done one; a
    strip starts ``lag`` columns behind the one above it.  ``even``: no group is idle in the end,
    because groups share the last strips."""
    rounds, rest = (strips - 1) // B, (strips - 1) % B
    chain = (strips - 1) * lag + n, strips - 1
    columns = rounds * n + rest * lag + n
    if even:
        columns = np.minimum(columns, strips * n // B + (B - 1) * lag)
    # a group is done before the strip above its next one begins
    one_by_one = (rounds == 0) | (n <= B * lag)
    columns = np.where(one_by_one, chain[0], columns)[()]
    hops = np.where(one_by_one, chain[1], rest)[()]
    return Wave(columns, strips * n / columns, hops, np.minimum(B, strips), chain)


def side_by_side(strips: Count, sections: Count, B: Count, n: Count, lag: Count) -> Wave:
    """Sections of n columns each, all of which have so many strips.  Groups take the first strip
    of each section, then the second ones, and so on: the more sections, the fewer strips of one are
    in flight, and wait for each other."""
    units = strips * sections
    follow = np.minimum(strips, -(-B // sections)) - 1
    rounds, chain = -(-units // B), ((strips - 1) * lag + n, strips - 1)
    columns = rounds * n + follow * lag
    longest = np.maximum(columns, chain[0])
    return Wave(columns, units * n / longest, follow, np.minimum(B, units), chain, rounds - 1)
