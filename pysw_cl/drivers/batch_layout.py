"""The layout of many pairs in one array of letters, without a Python object for each pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import countOf
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, PyswError
from ..planning.pair_batch import Groups, filled
from ..sequences.alphabet import COMPLEMENT
from ..sequences.coded import Alphabet
from ..sequences.sequence import as_letters

Lengths = NDArray[np.int64]
T = TypeVar("T")
#: So many sequences tell whether the same ones come again and again.
SOME = 256
#: Pairs that are joined at once, so that their Python objects are still in a core's caches.
PIECE = 1 << 10
#: Of so many such pieces one is looked at for objects that come again.
SELDOM = 8
#: Letters for which there is room at most before they come, or as many as there are.
ROOM = 1 << 26


@dataclass(frozen=True)
class Part:
    """Pairs whose letters are in one array."""

    #: Their numbers in the caller's order.
    index: NDArray[np.int64]
    #: Their letters in ASCII, one sequence after the other.
    text: NDArray[np.uint8]
    #: n x 4: first query letter, query length, first target letter, target length.
    pairs: NDArray[np.int32]
    #: Are they prepared, so that engines keep their codes from call to call?
    kept: bool = False
    #: Of pairs that are compared in part (n x 4): the cells of the whole pair, the query and the
    #: target letters before the part, and the score.  None: they are compared whole.
    whole: NDArray[np.int64] | None = None
    _known: dict[Any, Any] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self.index)

    def once(self, what: Any, made: Callable[[], T]) -> T:
        """What ``made`` gives, kept under the key ``what`` for pairs that are aligned again."""
        if what not in self._known:
            self._known[what] = made()
        found: T = self._known[what]
        return found

    def take(self, chosen: NDArray[Any] | slice) -> Part:
        """The ``chosen`` pairs (indices, booleans or a slice), with the same letters."""
        whole = None if self.whole is None else self.whole[chosen]
        return Part(self.index[chosen], self.text, self.pairs[chosen], self.kept, whole)

    def before(self, ends: NDArray[np.int32], rows: NDArray[Any], columns: NDArray[Any]) -> Part:
        """The part of each pair that has so many ``rows`` and ``columns`` before its end; at least
        one letter of each sequence.  ``ends`` (3 x n): scores, and rows and columns of ends."""
        pairs, whole = self.pairs.copy(), np.zeros((len(self), 4), np.int64)
        whole[:, 0], whole[:, 3] = self.cells, ends[0]
        for side, kept in enumerate((rows, columns)):
            end = np.maximum(ends[1 + side], 1)
            left = np.clip(end - kept, 0, end - 1)
            pairs[:, 2 * side] += left
            pairs[:, 2 * side + 1] = end - left
            whole[:, 1 + side] = left
        return Part(self.index, self.text, pairs, whole=whole)

    def turned(self, minus: NDArray[np.bool_]) -> Part:
        """The same with the queries on the ``minus`` strand (a value each) reverse complemented."""
        if not minus.any():
            return self
        starts, lengths = (self.pairs[minus, k].astype(np.int64) for k in (0, 1))
        firsts = np.cumsum(lengths) - lengths  # of each query among the letters that are turned
        inside = np.arange(lengths.sum()) - np.repeat(firsts, lengths)
        backward = np.repeat(starts + lengths - 1, lengths) - inside
        pairs = self.pairs.copy()
        pairs[minus, 0] = len(self.text) + firsts
        text = np.concatenate([self.text, COMPLEMENT[self.text[backward]]])
        return replace(self, text=text, pairs=pairs, kept=False)

    @property
    def m(self) -> NDArray[np.int32]:
        """Query lengths."""
        return self.pairs[:, 1]

    @property
    def n(self) -> NDArray[np.int32]:
        """Target lengths."""
        return self.pairs[:, 3]

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        return self.m.astype(np.int64) * self.n

    @cached_property
    def all_cells(self) -> int:
        return int(self.cells.sum())

    @cached_property
    def places(self) -> slice | NDArray[np.int64]:
        """`index`, as a slice where these pairs follow each other."""
        index = self.index
        if len(index) and (index[1:] == index[:-1] + 1).all():
            return slice(int(index[0]), int(index[-1]) + 1)
        return index

    def in_order(self, lanes: int) -> Part:
        """The pairs in an order that gives each group of ``lanes`` pairs similar lengths, long ones
        first.  Pairs sorted by target length are cut into runs; a run has about as many groups as
        there are runs.  Each run is sorted by query length."""

        def made() -> Part | None:
            m, n = self.m, self.n
            if len(self) <= lanes or (m.min() == m.max() and n.min() == n.max()):
                return None  # any order; not the part itself, which would keep itself in memory
            if max(m.max(), n.max()) < 1 << 16:
                m, n = m.astype(np.uint16), n.astype(np.uint16)  # for these sorting is by radix
            run = lanes * max(1, round((-(-len(self) // lanes)) ** 0.5))
            by_n = np.argsort(~n, kind="stable")
            number = np.empty(len(self), np.uint16)
            number[by_n] = np.arange(len(self)) // run
            by_m = np.argsort(~m, kind="stable")
            return self.take(by_m[np.argsort(number[by_m], kind="stable")])

        return self.once(("order", lanes), made) or self

    def groups(self, lanes: int, columns: int) -> Groups:
        return self.once((lanes, columns), lambda: Groups(self.pairs, lanes, columns))


#: A part, the lengths of all its pairs (n x 2), and the numbers of those that are too long for it.
PartOf = tuple[Part, Lengths, NDArray[np.int64]]


def blame(k: int, error: PyswError) -> PyswError:
    """The error, with the number of its pair in front of the message."""
    found = type(error)(f"pair {k}: {error}")
    found.pair = k
    return found


def as_halves(pairs: Sequence[Any], first: int = 0) -> list[Any]:
    """Queries and targets in turn.  InputError names what is no pair, counted from ``first``."""
    if not (set(map(type, pairs)) <= {tuple, list} and set(map(len, pairs)) <= {2}):
        for k, pair in enumerate(pairs, first):
            text = isinstance(pair, str | bytes | bytearray)
            sized = hasattr(pair, "__len__") and getattr(pair, "shape", None) != ()
            if text or not sized or len(pair) != 2:
                shown = repr(pair)
                what = shown if len(shown) <= 60 else f"a {type(pair).__name__}"
                error = InputError(f"pair {k} must be (query, target), not {what}")
                error.pair = k
                raise error
    return list(chain.from_iterable(pairs))


def of_each(halves: list[Any], first: int, make: Callable[[Any, str], T]) -> list[T]:
    """What ``make(half, "query" or "target")`` gives; errors count pairs from ``first``."""
    known: dict[int, T] = {}  # the same object comes again and again where all meet all
    k = 0
    try:
        for k, half in enumerate(halves):
            if id(half) not in known:
                known[id(half)] = make(half, "target" if k % 2 else "query")
    except PyswError as error:
        raise blame(first + k // 2, error) from None
    return [known[id(half)] for half in halves]


def alike(halves: list[Any], first: int, alphabet: Alphabet | None = None) -> list[Any]:
    """Sequences as texts, all str or all bytes, checked as `align` does; see `of_each`."""
    if alphabet is None and set(map(type, halves)) in ({bytes}, {str}):
        return halves
    return of_each(halves, first, lambda half, what: as_letters(half, what, alphabet).tobytes())


def joined(some: list[Any], texts: list[Any], first: int) -> bytes:
    """Some of the ``texts`` that `alike` gave of the pairs from ``first`` on, in one."""
    try:
        plain = some and isinstance(some[0], str)
        return "".join(some).encode("ascii") if plain else b"".join(some)
    except UnicodeEncodeError:
        alike([*texts, b""], first)  # not all str: its error names the pair
        raise


def lengths_of(halves: list[Any]) -> Lengths:
    """Lengths of queries and targets (n x 2)."""
    return np.fromiter(map(len, halves), np.int64, len(halves)).reshape(-1, 2)


def parts(
    pairs: Sequence[Any],
    most_pairs: int,
    most_letters: int,
    longest: int,
    alphabet: Alphabet | None = None,
) -> Iterator[PartOf]:
    """``pairs`` in order, in parts of at most ``most_pairs`` pairs and ``most_letters`` letters, or
    of one pair.  The letters of an object that comes again and again count once.

    Yields (part, lengths, long).  ``long``: the numbers of the pairs with a sequence longer than
    ``longest``; they are not in ``part``.  ``lengths``: of all pairs, those too (n x 2).
    ``alphabet``: that of the sequences, if they have one."""
    first, limits = 0, (most_letters, longest)
    while first < len(pairs):
        found = None if alphabet else _plain(pairs, first, most_pairs, *limits)
        if found is None:
            found = _listed(pairs[first : first + most_pairs], first, *limits, alphabet)
        yield found
        first += len(found[1])


def part_of(
    text: NDArray[np.uint8],
    starts: Lengths,
    lengths: Lengths,
    first: int,
    longest: int,
    kept: bool = False,
) -> PartOf:
    """A part as `parts` gives it, of the pairs from number ``first`` on, which begin at ``starts``
    in ``text`` and have these ``lengths`` (both n x 2).  ``kept``: see `Part`."""
    index, rows = np.arange(first, first + len(lengths)), np.empty((len(lengths), 4), np.int32)
    rows[:, 0::2], rows[:, 1::2] = starts, lengths
    part, short = Part(index, text, rows, kept), np.maximum(*lengths.T) <= longest
    return part if short.all() else part.take(short), lengths, index[~short]


def _listed(
    pairs: Sequence[Any], first: int, most_letters: int, longest: int, alphabet: Alphabet | None
) -> PartOf:
    """The first pairs of any kinds; letters of those with a long sequence are left out."""
    halves = alike(as_halves(pairs, first), first, alphabet)
    lengths = lengths_of(halves)
    objects = np.fromiter(map(id, halves), np.int64, len(halves)).reshape(-1, 2)
    objects[lengths.max(axis=1) > longest] = 0
    own, at, which = np.unique(objects, return_index=True, return_inverse=True)
    sizes = np.where(own == 0, 0, lengths.ravel()[at])  # of each object
    new = np.zeros(len(halves), np.int64)  # letters, where an object comes first
    new[at] = sizes
    _, count, *_ = filled(new.reshape(-1, 2).sum(axis=1), most_letters)
    sizes[at >= 2 * count] = 0
    some = [halves[k] for k in at[sizes > 0].tolist()]
    text = np.frombuffer(joined(some, halves, first), np.uint8)
    starts = (sizes.cumsum() - sizes)[which].reshape(-1, 2)
    return part_of(text, starts[:count], lengths[:count], first, longest)


def _plain(
    pairs: Sequence[Any], first: int, most_pairs: int, most_letters: int, longest: int
) -> PartOf | None:
    """The same of the next pairs as long as all are str, or all bytes, of which none is long, and
    few are the same object.  None if the first ones are not.  Every object is looked at while it is
    in the caches, and no list holds all of them."""
    row, sizes = Row(), list[Lengths]()
    stop = min(first + most_pairs, len(pairs))
    for start in range(first, stop, PIECE):
        halves = as_halves(pairs[start : min(start + PIECE, stop)], start)
        kind, count = type(halves[0]), len(halves)
        if kind is not str and (kind is not bytes or countOf(map(type, halves), kind) != count):
            break
        if (start - first) % (SELDOM * PIECE) == 0:
            few = halves[:SOME]
            if 4 * len(set(map(id, few))) <= 3 * len(few):
                break
        try:
            some = np.fromiter(map(len, halves), np.int64, count)
            letters = int(some.sum())
            if letters > most_letters or some.max() > longest:
                break
            text = "".join(halves).encode("ascii") if kind is str else b"".join(halves)
        except (UnicodeEncodeError, TypeError):  # join() refuses all but str
            break
        row.add(text, -(-(stop - start) // PIECE))
        sizes.append(some)
        most_letters -= letters
    if not sizes:
        return None
    lengths = np.concatenate(sizes)
    starts = lengths.cumsum() - lengths
    return part_of(row.letters, starts.reshape(-1, 2), lengths.reshape(-1, 2), first, longest)


class Row:
    """Texts one after the other, in an array that grows.  Each is copied as soon as it is made, so
    that the next one gets its memory: pages that are new to a process take longer than a copy."""

    def __init__(self) -> None:
        self._array, self._used = np.empty(0, np.uint8), 0

    def add(self, text: bytes, expected: int) -> None:
        """Add a text.  ``expected``: so many of its size are still to come, with this one."""
        used, end = self._used, self._used + len(text)
        if end > len(self._array):
            more = len(text) * (expected - 1) * 9 // 8
            grown = np.empty(end + min(more, max(end, ROOM)), np.uint8)
            grown[:used] = self._array[:used]
            self._array = grown
        self._array[used:end] = np.frombuffer(text, np.uint8)
        self._used = end

    @property
    def letters(self) -> NDArray[np.uint8]:
        return self._array[: self._used]
