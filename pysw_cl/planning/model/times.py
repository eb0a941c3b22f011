"""What strips take: the columns that pass until they are done, and the times of a profile, which
say what a column, a launch or a letter takes.

Sandes (2011, thesis, chapter 6) fits t(m, n) = c1 + c2 m + c3 n + c4 m n for fixed B, T and alpha.
Here each term is tied to what causes it, so that these and the shape may vary: counts
(:mod:`.runs`), multiplied with times."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..profiles.profile import Numbers

#: A number, or an array with one for each of many cases.
Count = Any
#: Seconds that no column is faster than, whatever a profile says: costs are divided by each other.
LEAST_COLUMN = 1e-13
#: The time that each row of a lane adds to a strip where a group has a core to itself.
STRIP_ROW = "strip_row"
#: What the times of sections have behind the subject of strips that do the same work.
CUT = "sections"
#: The name of the time of a column, with alpha and the strips that share a scheduler.
CELL = re.compile(r"(\d{1,5})@([1-9]\d{0,4})", re.ASCII)


class Wave(NamedTuple):
    """Strips that follow each other, as the last of them sees it.  Of many cases: arrays."""

    #: Columns that pass until it is done.
    columns: Count
    #: How often one waited for the one above it to begin.
    hops: Count
    #: Strips that run meanwhile (`Machine.busy`).
    busy: Count
    #: Strips that share a scheduler of the device.
    share: Count
    #: The same if each strip waits for the one above it, not for a group: the longer counts.
    chain: tuple[Count, Count] = (0, 0)
    #: Strips of sections that each group takes after its first one, which wait for nobody.
    turns: Count = 0


def lag_of(T: int, chunk: Count, n: Count) -> Count:
    """Columns that a strip starts behind the one above it: its lanes and a block, if it has one."""
    return T + np.minimum(chunk, n + T)


class Line(NamedTuple):
    """What strips with so many rows a lane take, in seconds.  Of many cases: arrays."""

    #: A column.
    column: Count
    #: More of it for each strip that runs beside, as a share of those that fill all schedulers.
    busy: Count
    #: A block, beside its columns.
    block: Count
    #: Until a strip has heard of the one above it.
    hop: Count
    #: A tile, beside all that.
    tile: Count
    #: Another strip of sections.
    turn: Count = 0.0

    def pace(self, busy: Count, chunk: Count) -> Count:
        """A column in a block of ``chunk`` columns."""
        return self.column + self.busy * busy + self.block / chunk

    def both(self, wave: Wave, chunk: Count) -> tuple[Count, Count]:
        """What the columns and hops of strips take, and what those of their chain do."""
        pace, (chained, waits) = self.pace(wave.busy, chunk), wave.chain
        return wave.columns * pace + wave.hops * self.hop, chained * pace + waits * self.hop

    def seconds(self, wave: Wave, chunk: Count) -> Count:
        return np.maximum(*self.both(wave, chunk)) + wave.turns * self.turn + self.tile


class Pace:
    """What a column of a strip takes, by its rows and by the strips that share a scheduler: as was
    measured, and on lines between.  If nothing was, it is the longer of a latency, ``column + row
    alpha``, and of the turns of the strips that share a scheduler."""

    def __init__(self, own: Numbers) -> None:
        self.own = own
        #: (alpha, seconds) that are measured, by share.
        self.measured: dict[int, list[tuple[int, float]]] = {}
        self._lines: dict[tuple[int, int], Line] = {}
        self._tables: dict[tuple[int, int], NDArray[np.float64]] = {}
        found = [(CELL.fullmatch(name), seconds) for name, seconds in own.items()]
        cells = [(int(one[2]), int(one[1]), seconds) for one, seconds in found if one]
        for share, alpha, seconds in sorted(cells):
            self.measured.setdefault(share, []).append((alpha, seconds))

    def filled(self, before: Pace) -> dict[str, float]:
        """The times, and columns of all alphas that were measured ``before``: as much longer or
        shorter as those beside them.  Compilers make some alphas slow, which lasts."""
        found = dict(self.own)
        for share, measured in self.measured.items():
            ratios = {
                alpha: now / then
                for alpha, now in measured
                if (then := before.line(alpha, share).column) > LEAST_COLUMN and now > 0
            }
            for alpha, seconds in before.measured.get(share, []) if ratios else []:
                if seconds > 0:
                    ratio = float(np.interp(alpha, list(ratios), list(ratios.values())))
                    found.setdefault(f"{alpha}@{share}", seconds * ratio)
        return found

    def terms(self, alpha: int, share: int) -> Iterator[dict[str, float]]:
        """The times that each field of a `Line` is made of, with their weights."""
        # the measured share that is nearest
        near = min(self.measured, key=lambda one: (abs(one - share), one), default=share)
        if not self.measured:
            row = self.own.get("row", 0.0)
            turns = share * row * (alpha + 1) > self.own.get("column", 0.0) + row * alpha
            yield {"row": share * (alpha + 1.0)} if turns else {"column": 1.0, "row": float(alpha)}
        else:
            alphas, scale = [one for one, _ in self.measured[near]], share / near
            if alpha in alphas or len(alphas) == 1:
                yield {f"{alpha if alpha in alphas else alphas[0]}@{near}": scale}
            else:
                above = min(max(1, bisect(alphas, alpha)), len(alphas) - 1)
                low, high = alphas[above - 1], alphas[above]
                part = (alpha - low) / (high - low)
                yield {f"{low}@{near}": scale * (1 - part), f"{high}@{near}": scale * part}
        for name in ("busy", "block", "hop"):
            yield {f"{name}@{near}": 1, f"{name}_row@{near}": alpha}
        yield {"tile": 1, "tile_row": alpha}
        yield {"turn": share, "turn_row": share * alpha}

    def weights(self, wave: Wave, alpha: int, chunk: int) -> dict[str, float]:
        """How much each of the times counts in a tile with this wave."""
        own, chained = self.line(alpha, wave.share).both(wave, chunk)
        columns, hops = wave.chain if chained > own else (wave.columns, wave.hops)
        counts = columns, columns * wave.busy, columns / chunk, hops, 1, wave.turns
        terms = zip(self.terms(alpha, wave.share), counts, strict=True)
        return {name: weight * count for term, count in terms for name, weight in term.items()}

    def line(self, alpha: int, share: int) -> Line:
        """The seconds of strips with so many rows a lane."""
        if (alpha, share) not in self._lines:
            column, *more = (
                sum(self.own.get(name, 0.0) * weight for name, weight in term.items())
                for term in self.terms(alpha, share)
            )
            self._lines[alpha, share] = Line(max(column, LEAST_COLUMN), *more)
        return self._lines[alpha, share]

    def lines(self, alpha: Count, share: Count) -> Line:
        """The seconds of many strips, each as :meth:`line` says, as arrays."""
        shape = int(np.max(share)) + 1, int(np.max(alpha)) + 1
        if shape not in self._tables:
            every = [self.line(place % shape[1], place // shape[1]) for place in range(prod(shape))]
            self._tables[shape] = np.array(every)
        found = self._tables[shape].take(share * shape[1] + alpha, axis=0)
        return Line(*(found[..., k] for k in range(len(Line._fields))))


class Machine:
    """What is known of a device's speed: seconds by subject and name.  A subject without times has
    those of the longest one that its name begins with."""

    def __init__(self, by_subject: Mapping[str, Numbers], schedulers: int = 0) -> None:
        self.by_subject = by_subject
        #: Warp schedulers of the device; 0: each strip has one to itself.
        self.schedulers = schedulers
        self._paces: dict[str, Pace] = {}

    def having(self, more: Mapping[str, Numbers]) -> Machine:
        """This one with other times for some subjects."""
        return Machine({**self.by_subject, **more}, self.schedulers)

    def on(self, schedulers: int) -> Machine:
        return Machine(self.by_subject, schedulers)

    def known(self, subject: str) -> str | None:
        """The subject whose times count for this one; None if there is none."""
        while subject not in self.by_subject:
            subject, below, _ = subject.rpartition("/")
            if not below:
                return None
        return subject

    def of(self, subject: str) -> Numbers:
        return self.by_subject.get(self.known(subject) or "", {})

    def pace(self, subject: str) -> Pace:
        if subject not in self._paces:
            self._paces[subject] = Pace(self.of(subject))
        return self._paces[subject]

    def share(self, groups: Count) -> Count:
        """How many of so many strips share a scheduler."""
        return -(-groups // self.schedulers) if self.schedulers else 1

    def groups(self, B: int) -> tuple[int, ...]:
        """For each number of strips that may share a scheduler the most groups that do, to B."""
        return (*range(self.schedulers, B, self.schedulers), B) if self.schedulers else (B,)

    def busy(self, running: Count, B: Count) -> Count:
        """So many strips that run, of B, as a share of those with a scheduler to themselves."""
        return running / (self.schedulers or B)

    def wave(self, strips: Count, B: Count, n: int, lag: Count, even: bool = False) -> Wave:
        """So many strips of n columns.  Each of B groups takes the next one when it has done one; a
        strip starts ``lag`` columns behind the one above it.  ``even``: no group is idle in the
        end, because groups share the last strips."""
        rounds, rest = (strips - 1) // B, (strips - 1) % B
        chain = (strips - 1) * lag + n, strips - 1
        columns = rounds * n + rest * lag + n
        if even:
            columns = np.minimum(columns, strips * n // B + (B - 1) * lag)
        # a group is done before the strip above its next one begins
        one_by_one = (rounds == 0) | (n <= B * lag)
        columns = np.where(one_by_one, chain[0], columns)[()]
        hops = np.where(one_by_one, chain[1], rest)[()]
        share, busy = self.share(np.minimum(B, strips)), self.busy(strips * n / columns, B)
        return Wave(columns, hops, busy, share, chain)

    def side_by_side(self, strips: Count, sections: Count, B: Count, n: Count, lag: Count) -> Wave:
        """Sections of n columns each, all of which have so many strips.  Groups take the first
        strip of each section, then the second ones, and so on: the more sections, the fewer strips
        of one are in flight, and wait for each other."""
        units = strips * sections
        follow = np.minimum(strips, -(-B // sections)) - 1
        rounds, chain = -(-units // B), ((strips - 1) * lag + n, strips - 1)
        columns = rounds * n + follow * lag
        busy = self.busy(units * n / np.maximum(columns, chain[0]), B)
        return Wave(columns, follow, busy, self.share(np.minimum(B, units)), chain, rounds - 1)


#: Times of no device in particular, of which only ratios mean something: those of 2 CPU cores.
GENERIC = Machine(
    {
        "wavefront": {"column": 9.9e-9, "row": 3.3e-9, "strip_row": 2.1e-6},
        "rowscan": {"column": 2e-8, "row": 2.5e-9},
        "striped": {"row": 0.4, "column": 9.0},  # in rows of lanes at a lag
        "held": {"launch": 3e-4, "cell": 1e-9},
        "path": {"row": 2e-6},
        "call": {"call": 3e-4, "launch": 2e-4, "letter": 5e-9, "edge": 2e-9},
    }
)
