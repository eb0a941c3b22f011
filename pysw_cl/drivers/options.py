"""What users ask for, as values that are checked when they are made.

Options decide the result; resources decide the time, and what is written to disk.  The fields are
the arguments of the public functions, which say what they mean, with the same defaults::

    align        AlignOptions    AlignResources
    align_many   ManyOptions     Resources
    align_top    TopOptions      Resources
    best_ends    EndsOptions     Resources
    best_fits    EndsOptions     Resources
    trace_ends   TraceOptions    Resources
    search       SearchOptions   Resources
    score_matrix MatrixOptions   Resources
    resume       (those saved)   ResumeResources

``prune`` and ``max_cost`` are resources, because they do not change the result.  A checkpoint's are
only defaults for a resume (:mod:`pysw_cl.checkpoint.store`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from ..errors import InputError, choice, flag, is_number, shown, whole_number
from ..planning.plan import Plan
from ..scoring.arguments import check_sense
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import Scoring, made_of, make_scoring, names_of
from ..scoring.statistics import MOST_LETTERS
from ..sequences.view import as_range, check_strand
from .problem import NO_FREE_ENDS, FreeEnds, check_mode
from .progress import Progress

Output = Literal["score", "ends", "path"]
#: Where the E-values of a search come from.
EValuesOf = Literal["auto", "library", "none"]
MatrixOutput = Literal["score", "distance"]
ManyOutput = Literal["score", "ends", "matches", "path"]
_set = object.__setattr__
#: A score that no comparison reaches, because its integers have 32 bits.
UNREACHED = 1 << 32
#: The fields of a row for each output, in order.
FIELDS: dict[str, tuple[str, ...]] = {
    "score": ("score",),
    "ends": ("score", "query_end", "target_end"),
    "matches": ("score", "query_end", "target_end", "matches", "columns"),
    "path": tuple(
        "score query_start query_end target_start target_end matches columns cigar".split()
    ),
}
Kind = TypeVar("Kind", bound="Options")

#: "tcp://host:8786" and the like, or "host:8786".
ADDRESS = re.compile(r"[a-z]+://\S+|[^\s:/]+:\d{1,5}")


def _none_or(good: Callable[[Any], bool], what: str) -> Callable[[Any, str], Any]:
    """A check that gives None, or a ``good`` value, as it is."""

    def check(value: Any, name: str) -> Any:
        if value is not None and not good(value):
            raise InputError(f"{name} must be {what}, not {shown(value)}")
        return value

    return check


def _optional(check: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """A check that gives None, or what another ``check`` gives."""
    return lambda value, name: None if value is None else check(value, name)


def _from_zero(value: Any) -> bool:
    return is_number(value) and value >= 0


#: What checks an argument, and gives the value that is kept, by its name.
CHECKS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("allow_odd_scoring", "kernel_times", "left_align", "timeline"), flag),
    **dict.fromkeys(("prune", "second_best", "ties", "exclude_self"), flag),
    **dict.fromkeys(("min_score", "highest", "min_bits"), _none_or(is_number, "a number or None")),
    **dict.fromkeys(("query_range", "target_range"), as_range),
    "mode": check_mode,
    **dict.fromkeys(("k", "alignments"), partial(whole_number, least=1)),
    "evalues": partial(choice, choices=get_args(EValuesOf)),
    "db_letters": _optional(partial(whole_number, least=1, most=MOST_LETTERS)),
    "prefilter": _optional(partial(choice, choices=("kmer",))),
    **dict.fromkeys(("top", "kmer_length"), _optional(partial(whole_number, least=1))),
    "max_evalue": _none_or(_from_zero, "a number from 0 on or None"),
    **dict.fromkeys(
        ("min_identity", "min_coverage"),
        _none_or(lambda share: _from_zero(share) and share <= 1, "from 0 to 1, or None"),
    ),
    "min_separation": partial(whole_number, least=0),
    "ends": partial(choice, choices=("cells", "matches")),
    "apart_in": partial(choice, choices=("either", "both")),
    "progress": _none_or(
        lambda value: isinstance(value, bool) or callable(value), "True, a function or None"
    ),
    "max_cost": _none_or(
        lambda cost: _from_zero(cost) or (isinstance(cost, str) and cost == "auto"),
        "'auto', None or a number from 0 on",
    ),
    "cluster": _none_or(
        lambda one: (
            bool(ADDRESS.fullmatch(one))
            if isinstance(one, str)
            else isinstance(one, Executor) or hasattr(one, "scheduler_info")
        ),
        "a Dask client or cluster, the address of a scheduler, or an Executor",
    ),
    "disk_size": _optional(partial(whole_number, least=1, what="a whole number of bytes or None")),
    "stop_after": _none_or(_from_zero, "a number of seconds or None"),
}


def fields_of(output: str, strand: str, second_best: bool = False) -> tuple[str, ...]:
    """The fields of a row.  Where a query may be on the minus strand, a row of "ends" or "matches"
    has its start, too: there a path ends at the start of the query as given."""
    names = FIELDS[output] + ("second_best",) * second_best
    if strand == "plus":
        return names
    if output in ("ends", "matches"):
        names = ("score", "query_start", *names[1:])
    return (*names, "strand")


class Checked:
    """What is made of arguments, each of which is checked."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name in names_of(kind):
            if name in CHECKS:
                _set(self, name, CHECKS[name](getattr(self, name), name))


@dataclass(frozen=True, eq=False, kw_only=True)
class Options(Checked):
    """The options of every command.  Raises InputError for a value that is not allowed."""

    #: The allowed values of ``output``.
    outputs: ClassVar[Collection[str]] = get_args(Output)
    # what commands without `ModeOptions` do
    mode, free, second_best = "local", NO_FREE_ENDS, False

    #: May be a Scoring, which is taken as it is.
    sub_score: Any = (1, -3)
    gap_cost: Any = None
    wildcard: str | None = None
    iupac: str = "mismatch"
    unknown: str = "error"
    allow_odd_scoring: bool = False
    output: str = "path"
    strand: str = "plus"
    left_align: bool = False
    scoring: Scoring = field(init=False)

    def __post_init__(self) -> None:
        _set(self, "output", choice(self.output, "output", self.outputs))
        super().__post_init__()
        made = isinstance(self.sub_score, Scoring)
        _set(self, "scoring", self.sub_score if made else made_of(make_scoring, vars(self)))
        if not (made or self.allow_odd_scoring):
            check_sense(self.sub_score, self.scoring.highest, self.mode)
        check_strand(self.strand, self.scoring.letters)

    def of_query(self: Kind, query: Any) -> Kind:
        """These options for a query, which may be a `PositionMatrix` with scores of its own."""
        if not isinstance(query, PositionMatrix):
            if self.scoring.by_position:
                raise InputError("the query is no position matrix, and the first one of all is")
            return self
        own = query.scoring_beside(vars(self))
        return self if own is self.scoring else replace(self, sub_score=own)


@dataclass(frozen=True, eq=False, kw_only=True)
class ModeOptions(Options):
    """The options of commands that compare locally or globally."""

    mode: str = "local"
    free_ends: Any = False
    second_best: bool = False
    #: The four ends of ``free_ends``.
    free: FreeEnds = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, "free", FreeEnds.of(self.free_ends))
        if self.mode == "local" and any(self.free):
            raise InputError(
                "free_ends is for mode='global'; mode='local' leaves out whatever lowers the "
                "score at any end"
            )
        if self.second_best and self.output != "path":
            raise InputError(f"second_best needs a path: output='path', not {self.output!r}")
        one_end = self.mode == "global" and not (self.free.trail_query or self.free.trail_target)
        if self.second_best and one_end:
            raise InputError(
                "second_best needs several places where an alignment can end: mode='local', or "
                "mode='global' with a free end at the query's end or the target's end"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeOptions(Options):
    """The options of commands that compare parts of two sequences."""

    query_range: tuple[int, int] | None = None
    target_range: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class AlignOptions(RangeOptions, ModeOptions):
    """The options of `align`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ManyOptions(ModeOptions):
    outputs: ClassVar[Collection[str]] = get_args(ManyOutput)
    output: str = "score"
    min_score: float | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        return fields_of(self.output, self.strand, self.second_best)

    def for_one(self) -> AlignOptions:
        """The options of `align` for one of the pairs."""
        output = self.output if self.output in ("score", "ends") else "path"
        left = self.left_align and self.scoring.by_position
        return made_of(AlignOptions, {**vars(self), "output": output, "left_align": left})


@dataclass(frozen=True, eq=False, kw_only=True)
class TopOptions(RangeOptions):
    k: int = 10
    min_score: float = 1

    def __post_init__(self) -> None:
        if not (is_number(self.min_score) and self.min_score > 0):
            raise InputError(f"min_score must be a number above 0, not {shown(self.min_score)}")
        super().__post_init__()

    @property
    def least(self) -> int:
        """The least score in the scoring's own integers."""
        return ceil(min(self.min_score, UNREACHED) * self.scoring.scale)


@dataclass(frozen=True, eq=False, kw_only=True)
class EndsOptions(TopOptions):
    k: int = 200
    min_separation: int = 0
    apart_in: str = "either"
    ends: str = "cells"


@dataclass(frozen=True, eq=False, kw_only=True)
class TraceOptions(RangeOptions):
    highest: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchOptions(ModeOptions):
    sub_score: Any = "BLOSUM62"
    output: str = "ends"
    top: int | None = 10
    min_score: float | None = None
    ties: bool = False
    evalues: str = "auto"
    db_letters: int | None = None
    max_evalue: float | None = None
    min_bits: float | None = None
    min_identity: float | None = None
    min_coverage: float | None = None
    alignments: int = 1
    exclude_self: bool = False
    prefilter: str | None = None
    kmer_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prefilter is None and self.kmer_length is not None:
            raise InputError("kmer_length goes with prefilter='kmer'")
        if self.prefilter is not None and self.evalues == "library":
            raise InputError(
                "evalues='library' needs all scores, of which prefilter leaves some out"
            )
        shares = self.min_identity, self.min_coverage
        if self.output != "path" and (shares != (None, None) or self.alignments > 1):
            names = "min_identity, min_coverage and more alignments than 1"
            raise InputError(f"{names} need a path: output='path', not {self.output!r}")
        places = self.free == (True, True, False, False) and self.min_score is not None
        if self.alignments > 1 and self.mode != "local" and not places:
            raise InputError(
                "more alignments than 1 of a subject are for mode='local', and for mode='global' "
                "with free_ends=(True, False) and a min_score"
            )
        if self.mode != "local" and self.evalues == "auto":
            _set(self, "evalues", "none")
        if self.evalues == "none" and (self.max_evalue, self.min_bits) != (None, None):
            raise InputError(
                "max_evalue and min_bits need E-values; in mode 'global' evalues='library' has them"
            )

    @property
    def chosen(self) -> bool:
        """Are hits chosen by more than their scores?"""
        return self.exclude_self or (self.min_identity, self.min_coverage) != (None, None)

    @property
    def least(self) -> int:
        """The least score of a hit in the scoring's own integers."""
        if self.min_score is None:  # a local alignment without letters is none
            return 1 if self.mode == "local" else -UNREACHED
        return ceil(max(-UNREACHED, min(self.min_score, UNREACHED)) * self.scoring.scale)


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixOptions(ModeOptions):
    outputs: ClassVar[Collection[str]] = get_args(MatrixOutput)
    output: str = "score"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output == "distance" and self.mode != "global":
            raise InputError("output='distance' is that of mode='global'")
        if self.scoring.alphabet is not None or self.scoring.by_position:
            raise InputError("score_matrix takes plain letters, and sub_score is for others")

    @property
    def symmetric(self) -> bool:
        """Does a pair score as much with query and target exchanged?"""
        scoring, letters = self.scoring, np.frombuffer(self.scoring.letters.encode(), np.uint8)
        codes = np.ix_(scoring.query_encoding[letters], scoring.target_encoding[letters])
        scores = scoring.matrix[codes]
        return self.free[:2] == self.free[2:] and bool((scores == scores.T).all())

    def of_pairs(self, output: str) -> ManyOptions:
        """The options of `align_many` for some of the pairs."""
        return made_of(ManyOptions, {**vars(self), "sub_score": self.scoring, "output": output})


@dataclass(frozen=True, kw_only=True)
class Resources(Checked):
    """The resources of every command; the engine checks device and plan before any work."""

    device: Any = "auto"
    plan: Plan | Mapping[str, Any] | None = None
    progress: Progress | bool | None = None
    kernel_times: bool = False
    #: Whose workers compute it; None: this process does.
    cluster: Any = None

    @property
    def of_worker(self) -> Resources:
        """Those of a worker, which tells nobody of its progress."""
        return replace(self, cluster=None, progress=None)
