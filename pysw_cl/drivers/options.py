"""What users ask for, as values that are checked when they are made.

Options decide the result; resources decide the time, and what is written to disk.  The fields are
the arguments of the public functions, under their names and with their defaults::

    align        AlignOptions    AlignResources
    align_many   ManyOptions     Resources
    align_top    TopOptions      Resources
    best_ends    EndsOptions     Resources
    trace_ends   TraceOptions    Resources
    resume       (those saved)   ResumeResources

``prune`` and ``max_cost`` are resources, because they do not change the result.  A checkpoint's are
only defaults for a resume (:mod:`pysw_cl.checkpoint.store`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar, Literal, TypeVar, get_args

from ..errors import InputError, choice, file_name, flag, is_number, shown, whole_number
from ..planning.plan import Plan
from ..scoring.arguments import check_sense
from ..scoring.positions import PositionMatrix
from ..scoring.scoring import Scoring, made_of, make_scoring, names_of
from ..sequences.view import as_range, check_strand
from .batch_results import fields_of
from .problem import NO_FREE_ENDS, FreeEnds, check_mode
from .progress import Progress

Output = Literal["score", "ends", "path"]
ManyOutput = Literal["score", "ends", "matches", "path"]
_set = object.__setattr__
#: A score that no comparison reaches, because its integers have 32 bits.
UNREACHED = 1 << 32
Kind = TypeVar("Kind", bound="Options")


def _must_be(what: str, good: Callable[[Any], bool]) -> Callable[[Any, str], Any]:
    """A check that gives a ``good`` value as it is."""

    def check(value: Any, name: str) -> Any:
        if not good(value):
            raise InputError(f"{name} must be {what}, not {shown(value)}")
        return value

    return check


def _from_zero(value: Any) -> bool:
    return is_number(value) and value >= 0


#: What checks an argument, and gives the value that is kept, by its name.
CHECKS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("allow_odd_scoring", "kernel_times", "left_align"), flag),
    **dict.fromkeys(("prune", "second_best"), flag),
    **dict.fromkeys(
        ("min_score", "highest"),
        _must_be("a number or None", lambda value: value is None or is_number(value)),
    ),
    "mode": check_mode,
    "query_range": lambda value, _: as_range(value, "query"),
    "target_range": lambda value, _: as_range(value, "target"),
    "k": partial(whole_number, least=1),
    "min_separation": partial(whole_number, least=0),
    "progress": _must_be(
        "True, a function or None",
        lambda value: value is None or isinstance(value, bool) or callable(value),
    ),
    "max_cost": _must_be(
        "'auto', None or a number from 0 on",
        lambda cost: cost is None or _from_zero(cost) or (isinstance(cost, str) and cost == "auto"),
    ),
    "disk_size": lambda size, name: (
        None if size is None else whole_number(size, name, 1, "a whole number of bytes or None")
    ),
    "stop_after": _must_be(
        "a number of seconds or None",
        lambda after: after is None or _from_zero(after),
    ),
}


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
    #: "plus", "minus" or "both".
    strand: str = "plus"
    #: Do gaps go to the left (`Alignment.left_aligned`)?
    left_align: bool = False
    #: The scoring of these.
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

    #: "local" or "global".
    mode: str = "local"
    #: Which terminal gaps cost nothing, as `FreeEnds.of` takes it.
    free_ends: Any = False
    #: Is the score of the second best end found, too (:mod:`.align_pair`)?
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

    #: The part of the query that is compared, (start, end); None: all of it.
    query_range: tuple[int, int] | None = None
    #: The part of the target that is compared.
    target_range: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class AlignOptions(RangeOptions, ModeOptions):
    """The options of `align`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ManyOptions(ModeOptions):
    """The options of `align_many`."""

    outputs: ClassVar[Collection[str]] = get_args(ManyOutput)

    #: The fields of a row (`FIELDS`).
    output: str = "score"
    #: The least score of a row, in units of ``sub_score``; None: every pair has a row.
    min_score: float | None = None

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


@dataclass(frozen=True, eq=False, kw_only=True)
class TraceOptions(RangeOptions):
    """The options of `trace_ends`."""

    #: The highest score of the matrix, in units of ``sub_score``; None: not known.
    highest: float | None = None


@dataclass(frozen=True, kw_only=True)
class Resources(Checked):
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
        if self.checkpoint is not None or isinstance(self, ResumeResources):
            _set(self, "checkpoint", file_name(self.checkpoint, "checkpoint"))
        elif self.disk_size is not None or self.stop_after is not None:
            raise InputError("disk_size and stop_after go with checkpoint")


@dataclass(frozen=True, kw_only=True)
class AlignResources(SavedResources):
    """The resources of `align`."""

    #: Are cells skipped that are on no best path?
    prune: bool = True
    #: The cost that decides the diagonal band; see `band_cost`.
    max_cost: Any = "auto"

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
