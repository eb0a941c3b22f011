"""What many tests need: scorings made by hand, pairs biased towards trouble, re-scoring."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from pysw_cl.api import align as align_module
from pysw_cl.checkpoint import store
from pysw_cl.drivers.problem import Path, PathReader
from pysw_cl.engines.plans import Wishes, make_plan
from pysw_cl.engines.registry import ENGINES
from pysw_cl.opencl.device import Runtime, get_runtime
from pysw_cl.planning import parameters
from pysw_cl.planning.facts import DeviceTraits
from pysw_cl.planning.plan import Plan
from pysw_cl.results.cigar import Runs
from pysw_cl.scoring.scoring import Scoring
from pysw_cl.sequences.alphabet import NO_CODE
from pysw_cl.sequences.view import Codes, Frame
from pysw_cl.tiles.contract import Engine
from pysw_cl.tiles.tile import Hit

HERE = pathlib.Path(__file__).resolve().parent
#: Where a child process finds the package, the tests and what they import: its PYTHONPATH.
IMPORTS = os.pathsep.join([str(HERE.parent), str(HERE), *sys.path])

#: Code k stands for letter k; the nucleotides come first.
LETTERS = "ACGTRNDQEHILKMFPSWYVBZXU"

FreeEnds = tuple[bool, bool, bool, bool]
ALL_FREE_ENDS: list[FreeEnds] = [
    (bool(k & 8), bool(k & 4), bool(k & 2), bool(k & 1)) for k in range(16)
]

#: parasail's semi-global functions with the free ends that they mean.
PARASAIL_FREE_ENDS: list[tuple[str, FreeEnds]] = [
    ("sg", (True, True, True, True)),
    ("sg_qx", (False, False, True, True)),
    ("sg_dx", (True, True, False, False)),
    ("sg_qb", (False, False, True, False)),
    ("sg_qe", (False, False, False, True)),
    ("sg_db", (True, False, False, False)),
    ("sg_de", (False, True, False, False)),
    ("sg_qb_de", (False, True, True, False)),
    ("sg_qe_db", (True, False, False, True)),
]


def make_scoring(
    matrix: ArrayLike, gap_open: int, gap_extend: int, letters: str | None = None
) -> Scoring:
    """A scoring from a square integer matrix; code k is letter k of ``letters`` on both sides."""
    scores = np.array(matrix, np.int32)
    letters = LETTERS[: len(scores)] if letters is None else letters
    assert scores.shape == (len(letters), len(letters))
    encoding = np.full(256, NO_CODE, np.uint8)
    encoding[np.frombuffer(letters.encode(), np.uint8)] = np.arange(len(letters))
    same = np.eye(len(scores), dtype=bool)
    equal, other = set(scores[same].tolist()), set(scores[~same].tolist())
    simple = len(equal) == 1 and len(other) <= 1
    match = int(scores[0, 0])
    return Scoring(
        matrix=scores,
        match_mismatch=(match, other.pop() if other else match) if simple else None,
        gap_open=gap_open,
        gap_extend=gap_extend,
        letters=letters,
        query_encoding=encoding,
        target_encoding=encoding,
    )


def match_scoring(
    match: int, mismatch: int, gap_open: int, gap_extend: int, letters: str = "ACGT"
) -> Scoring:
    """A scoring with one score for equal letters and one for all others."""
    size = len(letters)
    matrix = np.full((size, size), mismatch)
    np.fill_diagonal(matrix, match)
    return make_scoring(matrix, gap_open, gap_extend, letters)


def encode(text: str, scoring: Scoring) -> Codes:
    """The codes of a text whose letters all belong to the alphabet."""
    codes: Codes = scoring.query_encoding[np.frombuffer(text.encode(), np.uint8)]
    assert (codes != NO_CODE).all(), f"a letter of {text!r} is not in {scoring.letters!r}"
    return codes


def decode(codes: Codes, scoring: Scoring) -> str:
    """The text of a code array."""
    return "".join(scoring.letters[code] for code in codes)


def read_moves(
    moves: NDArray[np.uint8], query: Codes, target: Codes, scoring: Scoring
) -> tuple[Runs, int | None]:
    """The runs and the score of a path (first move first) through these letters."""
    path, end = Path(0, 0, [moves[::-1]]), Hit(0, len(query), len(target))
    frame = Frame((query, target), 0, end.row, 0, end.column)
    at_once = parameters.usual.traceback.read_moves
    found = PathReader(end, frame, scoring, at_once).found(path)
    return found.runs, found.score


def renamed(found: Any, query: str, target: str) -> Any:
    """A result whose sequences have other names."""
    sequences = replace(found.query, name=query), replace(found.target, name=target)
    return replace(found, query=sequences[0], target=sequences[1])


def rescore(
    query: Codes, target: Codes, scoring: Scoring, moves: Sequence[int] | NDArray[np.uint8]
) -> int:
    """The score of a path that consumes both code arrays whole (no end is free)."""
    row = column = score = 0
    for move, run in groupby(int(move) for move in moves):
        length = len(list(run))
        if move == 0:
            pairs = zip(query[row : row + length], target[column : column + length], strict=True)
            score += sum(int(scoring.matrix[a, b]) for a, b in pairs)
        else:
            score -= scoring.gap_open + length * scoring.gap_extend
        row += 0 if move == 1 else length
        column += 0 if move == 2 else length
    assert (row, column) == (len(query), len(target)), "the path does not fit the letters"
    return score


def random_codes(rng: np.random.Generator, length: int, size: int) -> Codes:
    """Random codes; often few letters, long runs or a short repeated unit, which make ties."""
    kind = rng.integers(4)
    if kind == 0:  # tandem repeat
        unit = rng.integers(0, size, rng.integers(1, 7))
        return np.resize(unit, length).astype(np.uint8)
    if kind == 1:  # runs of one letter
        runs = np.repeat(rng.integers(0, size, length), rng.integers(1, 12, length))
        return runs[:length].astype(np.uint8)
    used = min(size, 2) if kind == 2 else size
    return rng.integers(0, used, length).astype(np.uint8)


def mutated(rng: np.random.Generator, codes: Codes, length: int, size: int) -> Codes:
    """A relative of ``codes`` with exactly ``length`` letters: substitutions, some long gaps."""
    parts = []
    position = int(rng.integers(0, 4))
    while position < len(codes):
        stop = position + int(rng.integers(1, 40))
        parts.append(codes[position:stop])
        gap = int(rng.integers(1, 30)) if rng.random() < 0.3 else int(rng.integers(0, 3))
        if rng.random() < 0.5:
            parts.append(random_codes(rng, gap, size))
            gap = 0
        position = stop + gap
    together = np.concatenate([*parts, random_codes(rng, length, size)])[:length]
    changed = rng.random(length) < rng.choice([0.0, 0.05, 0.2])
    return np.where(changed, rng.integers(0, size, length), together).astype(np.uint8)


def random_pair(
    rng: np.random.Generator, size: int, query_length: int, target_length: int
) -> tuple[Codes, Codes]:
    """A query and a target over ``size`` letters: related, repetitive or unrelated."""
    query = random_codes(rng, query_length, size)
    if rng.random() < 0.6:
        return query, mutated(rng, query, target_length, size)
    return query, random_codes(rng, target_length, size)


def random_scoring(rng: np.random.Generator, size: int, linear: bool | None = None) -> Scoring:
    """A scoring over ``size`` letters with small numbers (many ties): match/mismatch or a matrix,
    not always symmetric; no opening cost, no extension cost, extension above opening included."""
    if rng.random() < 0.5:
        matrix = np.full((size, size), -int(rng.integers(0, 5)))
        np.fill_diagonal(matrix, int(rng.integers(1, 6)))
    else:
        matrix = rng.integers(-6, 5, (size, size))
        np.fill_diagonal(matrix, rng.integers(0, 8, size))
        if rng.random() < 0.5:
            matrix = np.minimum(matrix, matrix.T)
    if linear is None:
        linear = bool(rng.random() < 0.25)
    gap_open = 0 if linear else int(rng.integers(1, 10))
    return make_scoring(matrix, gap_open, int(rng.integers(0, 6)))


@dataclass(frozen=True)
class Case:
    """One comparison: two code arrays and a scoring over them."""

    query: Codes
    target: Codes
    scoring: Scoring


def random_case(rng: np.random.Generator, longest: int = 60, linear: bool | None = None) -> Case:
    """A random case with lengths from 1 to ``longest`` and 2 to 24 letters (mostly few)."""
    size = int(rng.choice([2, 3, 4, 4, 4, 20, 24]))
    lengths = [int(length) for length in rng.integers(1, longest + 1, 2)]
    query, target = random_pair(rng, size, lengths[0], lengths[1])
    return Case(query, target, random_scoring(rng, size, linear))


@st.composite
def cases(draw: st.DrawFn, longest: int = 300) -> Case:
    """Cases for hypothesis: short ones letter by letter, which shrink well, and longer ones from
    a seed with lengths up to ``longest``."""
    size = draw(st.integers(2, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scoring = random_scoring(rng, size)
    if draw(st.booleans()):
        text = st.lists(st.integers(0, size - 1), min_size=1, max_size=min(longest, 24))
        query, target = (np.array(draw(text), np.uint8) for _ in range(2))
    else:
        lengths = draw(st.tuples(st.integers(1, longest), st.integers(1, longest)))
        query, target = random_pair(rng, size, *lengths)
    return Case(query, target, scoring)


def tune(patch: pytest.MonkeyPatch, values: Mapping[str, Any]) -> None:
    """Plans that are made in this test have other values of some parameters, by dotted name."""
    tuning = parameters.usual.with_values(values)
    patch.setattr(parameters, "usual", tuning)


class Smaller:
    """An OpenCL device that has less of some things than it says."""

    def __init__(self, device: Any, **has: int) -> None:
        self._device = device
        self.__dict__.update(has)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)


def device_has(patch: pytest.MonkeyPatch, **has: Any) -> None:
    """The device at hand has other traits, or other figures of OpenCL's, by their names."""
    runtime, traits = get_runtime("auto"), {field.name for field in fields(DeviceTraits)}
    said: dict[str, Any] = {}
    if known := {name: value for name, value in has.items() if name in traits}:
        said["traits"] = replace(runtime.traits, **known)
    if figures := {name: value for name, value in has.items() if name not in traits}:
        said["device"] = Smaller(runtime.device, **figures)
    for name, value in said.items():
        patch.setattr(runtime, name, value)


def spy(
    patch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    before: Callable[..., object] | None = None,
    after: Callable[..., object] | None = None,
) -> None:
    """Calls of a function or method are watched: ``before`` is told the arguments, ``after`` what
    the call gave and the arguments.  The call itself is passed on as it is."""
    real = getattr(owner, name)

    def told(*args: Any, **how: Any) -> Any:
        if before is not None:
            before(*args, **how)
        found = real(*args, **how)
        if after is not None:
            after(found, *args, **how)
        return found

    patch.setattr(owner, name, told)


def fault(
    patch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    error: BaseException | type[BaseException],
    calls: range = range(1, 1 << 30),
    when: Callable[..., bool] = lambda *_, **__: True,
) -> None:
    """Calls of a function or method raise an error: those of the numbers ``calls``, counted from 1,
    among those for whose arguments ``when`` says so.  All others are passed on as they are."""
    real, count = getattr(owner, name), 0

    def failing(*args: Any, **how: Any) -> Any:
        nonlocal count
        if when(*args, **how):
            count += 1
            if count in calls:
                raise copy(error)  # one that is raised keeps what its traceback names
        return real(*args, **how)

    patch.setattr(owner, name, failing)


@contextmanager
def likely(minus: bool) -> Iterator[None]:
    """Of both strands the minus strand is searched first, or plus, whatever the letters are."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (align_module, store):
            patch.setattr(module, "likely_minus", lambda *_: minus)
        yield


def use_engine(patch: pytest.MonkeyPatch, kind: Callable[[Runtime, Plan], Engine]) -> None:
    """Plans that ask for the wavefront engine get one of this kind."""

    def make(device: Any, wishes: Wishes, timed: bool = False) -> Engine:
        runtime = get_runtime(device)
        return kind(runtime, make_plan(runtime, wishes))

    patch.setitem(ENGINES, "wavefront", replace(ENGINES["wavefront"], make=make))
