"""What users ask for, as values that are checked when they are made.

Options say what is asked and decide the result.  Resources say how it is computed and decide the
time and what is written to disk.  Each command has one class of either kind, with just the options
that it uses::

    align        AlignOptions    AlignResources
    align_many   ManyOptions     Resources
    align_top    TopOptions      Resources
    best_ends    EndsOptions     Resources
    trace_ends   TraceOptions    Resources
    resume       (those saved)   ResumeResources

``prune`` and ``max_cost`` are resources: they say which cells need not be computed, and do not
change the result.  A checkpoint saves a job, which is made of sequences and options.  Its resources
are only defaults for a resume (:mod:`pysw_cl.checkpoint.stored_resources`).

The fields are the arguments of the public functions, under their names and with their defaults.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import ceil
from typing import Any, ClassVar, Literal, TypeVar, get_args

from ..errors import InputError, choice, file_name, flag, is_number, shown, whole_number
from ..planning.plan import Plan
from ..scoring.matrices import is_name
from ..scoring.positions import scoring_of
from ..scoring.scoring import Scoring, cached_scoring
from ..scoring.sense import check_sense
from ..sequences.view import as_range, check_strand
from .batch_results import fields_of
from .problem import FreeEnds, check_mode
from .progress import Progress

#: The outputs of one pair, and of many.
Output = Literal["score", "ends", "path"]
ManyOutput = Literal["score", "ends", "matches", "path"]
#: Sets a field of a frozen object while it is made.
_set = object.__setattr__
#: Types of values whose ``repr`` says all of them.
_PLAIN = {str, int, float, bool, type(None)}
#: Options that were checked, by their class and ``repr`` of what they were made of; the most kept.
_made: dict[tuple[type, str], Any] = {}
MOST_MADE = 64
#: A score that no comparison reaches, because its integers have 32 bits.
UNREACHED = 1 << 32
Kind = TypeVar("Kind", bound="Options")
Made = TypeVar("Made")


@cache
def _names(kind: Any) -> list[str]:
    return [one.name for one in fields(kind) if one.init]


def _own(kind: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _names(kind) if name in given}


def made_of(kind: type[Made], given: Mapping[str, Any]) -> Made:
    """Options or resources of a kind, of those of the ``given`` arguments that are its fields."""
    return kind(**_own(kind, given))


def made_once(kind: type[Made], given: Mapping[str, Any]) -> Made:
    """`made_of`, once for values that are numbers, names, or tuples of them."""
    own = _own(kind, given)
    others = [value for value in own.values() if type(value) not in _PLAIN]
    plain = all(type(one) is tuple and _PLAIN.issuperset(map(type, one)) for one in others)
    if not plain or _may_be_file(own.get("sub_score")):
        return kind(**own)
    key = kind, repr(own)
    made: Made | None = _made.get(key)  # another thread may clear the table at any time
    if made is None:
        made = kind(**own)
        if len(_made) >= MOST_MADE:
            _made.clear()
        _made[key] = made
    return made


def _may_be_file(sub_score: Any) -> bool:
    """Is it a string that may be the path of a file, which can change?"""
    return isinstance(sub_score, str) and not is_name(sub_score)


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """The options of every command.  Raises InputError for a value that is not allowed."""

    #: The allowed values of ``output``.
    outputs: ClassVar[Collection[str]] = get_args(Output)

    #: Substitution scores, as `make_scoring` takes them, or a Scoring, which is taken as it is.
    sub_score: Any = (1, -3)
    #: The gap cost, as `make_scoring` takes it; None: what is usual for the matrix, or (3, 2).
    gap_cost: Any = None
    #: One letter that scores 0 against everything.
    wildcard: str | None = None
    #: "error", or the letter as which letters outside the alphabet are taken.
    unknown: str = "error"
    #: Is a scoring taken that hardly anybody means (`check_sense`)?
    allow_odd_scoring: bool = False
    #: What is computed: one of ``outputs``.
    output: str = "path"
    #: The scoring of these.
    scoring: Scoring = field(init=False)

    def __post_init__(self) -> None:
        _set(self, "output", choice(self.output, "output", self.outputs))
        _set(self, "allow_odd_scoring", flag(self.allow_odd_scoring, "allow_odd_scoring"))
        if isinstance(self.sub_score, Scoring):
            _set(self, "scoring", self.sub_score)
            return
        given = self.sub_score, self.gap_cost, self.wildcard, self.unknown
        _set(self, "scoring", cached_scoring(*given))
        if not self.allow_odd_scoring:
            check_sense(self.sub_score, self.scoring, self.compared)

    @property
    def compared(self) -> str:
        """The mode: "local" or "global"."""
        return str(getattr(self, "mode", "local"))

    def of_query(self: Kind, query: Any) -> Kind:
        """These options for a query, which may be a `PositionMatrix` with scores of its own."""
        own = scoring_of(query, vars(self))
        return self if own is None or own is self.scoring else replace(self, sub_score=own)


@dataclass(frozen=True, eq=False, kw_only=True)
class ModeOptions(Options):
    """The options of commands that compare locally or globally."""

    #: "local" or "global".
    mode: str = "local"
    #: Which terminal gaps cost nothing, as `FreeEnds.of` takes it.
    free_ends: Any = False
    #: Is the score of the second best end found, too (:mod:`.align_pair`)?
    second_best: bool = False
    #: The four ends of ``free_ends``.
    free: FreeEnds = field(init=False)

    def __post_init__(self) -> None:
        check_mode(self.mode)
        super().__post_init__()
        _set(self, "free", FreeEnds.of(self.free_ends))
        if self.mode == "local" and any(self.free):
            raise InputError(
                "free_ends is for mode='global'; mode='local' leaves out whatever lowers the "
                "score at any end"
            )
        _set(self, "second_best", flag(self.second_best, "second_best"))
        if self.second_best and self.output != "path":
            raise InputError(f"second_best needs a path: output='path', not {self.output!r}")
        one_end = self.mode == "global" and not (self.free.trail_query or self.free.trail_target)
        if self.second_best and one_end:
            raise InputError(
                "second_best needs several places where an alignment can end: mode='local', or "
                "mode='global' with a free end at the query's end or the target's end"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class StrandOptions(Options):
    """The options of commands that compare strands."""

    #: "plus", "minus" or "both".
    strand: str = "plus"
    #: Do gaps go to the left (`Alignment.left_aligned`)?
    left_align: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, "left_align", flag(self.left_align, "left_align"))
        check_strand(self.strand, self.scoring.letters)


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeOptions(StrandOptions):
    """The options of commands that compare parts of two sequences."""

    #: The part of the query that is compared, (start, end); None: all of it.
    query_range: tuple[int, int] | None = None
    #: The part of the target that is compared.
    target_range: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, "query_range", as_range(self.query_range, "query"))
        _set(self, "target_range", as_range(self.target_range, "target"))


@dataclass(frozen=True, eq=False, kw_only=True)
class AlignOptions(RangeOptions, ModeOptions):
    """The options of `align`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ManyOptions(StrandOptions, ModeOptions):
    """The options of `align_many`."""

    outputs: ClassVar[Collection[str]] = get_args(ManyOutput)

    #: The fields of a row (`FIELDS`).
    output: str = "score"
    #: The least score of a row, in units of ``sub_score``; None: every pair has a row.
    min_score: float | None = None

    def __post_init__(self) -> None:
        if self.min_score is not None and not is_number(self.min_score):
            raise InputError(f"min_score must be a number or None, not {shown(self.min_score)}")
        super().__post_init__()

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a row."""
        return fields_of(self.output, self.strand, self.second_best)

    def for_one(self) -> AlignOptions:
        """The options of `align` for one of the pairs."""
        output = self.output if self.output in ("score", "ends") else "path"
        left = self.left_align and self.scoring.by_position
        return made_of(AlignOptions, {**vars(self), "output": output, "left_align": left})


@dataclass(frozen=True, eq=False, kw_only=True)
class TopOptions(RangeOptions):
    """The options of `align_top`."""

    #: How many alignments at most.
    k: int = 10
    #: The least score of an alignment, in units of ``sub_score``.
    min_score: float = 1

    def __post_init__(self) -> None:
        _set(self, "k", whole_number(self.k, "k", 1))
        if not (is_number(self.min_score) and self.min_score > 0):
            raise InputError(f"min_score must be a number above 0, not {shown(self.min_score)}")
        super().__post_init__()

    @property
    def least(self) -> int:
        """The least score in the scoring's own integers."""
        return ceil(min(self.min_score, UNREACHED) * self.scoring.scale)


@dataclass(frozen=True, eq=False, kw_only=True)
class EndsOptions(TopOptions):
    """The options of `best_ends`."""

    #: How many ends at most.
    k: int = 200
    #: Of two ends, rows or columns are so far apart at least.
    min_separation: int = 0

    def __post_init__(self) -> None:
        _set(self, "min_separation", whole_number(self.min_separation, "min_separation", 0))
        super().__post_init__()


@dataclass(frozen=True, eq=False, kw_only=True)
class TraceOptions(RangeOptions):
    """The options of `trace_ends`."""

    #: The highest score of the matrix, in units of ``sub_score``; None: not known.
    highest: float | None = None

    def __post_init__(self) -> None:
        if self.highest is not None and not is_number(self.highest):
            raise InputError(f"highest must be a number or None, not {shown(self.highest)}")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class Resources:
    """The resources of every command.  Device and plan are checked when the engine is made, before
    any work."""

    #: The device, as `get_runtime` takes it.
    device: Any = "auto"
    #: Overrides of the plan's fields.
    plan: Plan | Mapping[str, Any] | None = None
    #: A callback (`RunProgress`); True draws a bar; None or False: nobody is told.
    progress: Progress | bool | None = None
    #: Are kernels measured (`Stats.kernel_seconds`)?
    kernel_times: bool = False

    def __post_init__(self) -> None:
        _set(self, "kernel_times", flag(self.kernel_times, "kernel_times"))
        drawn = self.progress is None or isinstance(self.progress, bool)
        if not drawn and not callable(self.progress):
            raise InputError(
                f"progress must be True, a function or None, not {shown(self.progress)}"
            )


@dataclass(frozen=True, kw_only=True)
class SavedResources(Resources):
    """The resources of commands whose run can be saved and resumed."""

    #: The folder that the run is saved to; None: it is not saved.
    checkpoint: str | os.PathLike[str] | None = None
    #: Bytes that the folder may take; None: decided by the free space.
    disk_size: int | None = None
    #: Seconds after which the run stops; None: it runs to its end.
    stop_after: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        size, after = self.disk_size, self.stop_after
        if self.checkpoint is not None or isinstance(self, ResumeResources):
            _set(self, "checkpoint", file_name(self.checkpoint, "checkpoint"))
        if size is not None:
            what = "a whole number of bytes or None"
            _set(self, "disk_size", whole_number(size, "disk_size", 1, what))
        if after is not None and not (is_number(after) and after >= 0):
            raise InputError(f"stop_after must be a number of seconds or None, not {shown(after)}")
        if self.checkpoint is None and (size is not None or after is not None):
            raise InputError("disk_size and stop_after go with checkpoint")


@dataclass(frozen=True, kw_only=True)
class AlignResources(SavedResources):
    """The resources of `align`."""

    #: Are cells skipped that are on no best path?
    prune: bool = True
    #: The cost that decides the diagonal band; see `band_cost`.
    max_cost: Any = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, "prune", flag(self.prune, "prune"))
        cost = self.max_cost
        usual = cost is None or (isinstance(cost, str) and cost == "auto")
        if not usual and not (is_number(cost) and cost >= 0):
            raise InputError(
                f"max_cost must be 'auto', None or a number from 0 on, not {shown(cost)}"
            )

    def band_cost(self, mode: str) -> Any:
        """``max_cost`` for a comparison in this mode: "auto" or a number for diagonal bands, None
        for the whole matrix.

        Raises InputError for a number in a mode without bands.
        """
        cost = self.max_cost
        if mode != "global" and cost not in (None, "auto"):
            raise InputError(
                f"max_cost={cost!r} is for mode 'global'; in mode {mode!r} leave it out"
            )
        return None if mode == "local" or (cost == "auto" and not self.prune) else cost


@dataclass(frozen=True, kw_only=True)
class ResumeResources(SavedResources):
    """The resources of `resume`.  None: as when the run began."""

    #: The folder that the run was saved to.
    checkpoint: str | os.PathLike[str] = field()
    #: The device, as `get_runtime` takes it.
    device: Any = None
