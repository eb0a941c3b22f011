"""The engines by name, how each is made, and which device ``device="auto"`` means for a job.

That is the device that has it done first, by the model.  Calls of `align` are timed, whoever chose
their device: what they took, over what the model foresaw, corrects it for later calls of about the
same size.  No call is made to learn from."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..errors import DeviceError, DeviceMemoryError, PlanError, RecomputedWarning, warn
from ..opencl.device import Runtime, get_runtime, named_apart, runtimes_to_choose_from, stamp
from ..opencl.several import alike
from ..planning.model.predict import first_use
from ..planning.model.runs import sweep_of
from ..planning.plan import Plan
from ..planning.program import Given, Seen
from ..scoring.scoring import Scoring
from ..tiles.contract import Engine
from .plans import Wishes, default_plan, make_plan
from .reference import ReferenceEngine, ReferencePlan
from .rowscan.plan import RowscanPlan, default_rowscan

#: Binary digits of a length that the model, which is slow, is asked by; and kinds kept.
DIGITS, MOST_KEPT = 5, 1024
#: Calls whose times count, at least and at most, and seconds for which they do.
LEAST, LATEST, LASTING = 3, 9, 600.0


def _reference(runtime: None, wishes: Wishes) -> Engine:
    engine = ReferenceEngine()
    engine.plan = make_plan(None, wishes, ReferencePlan())
    return engine


def _wavefront(runtime: Runtime, wishes: Wishes, others: Sequence[Runtime] = ()) -> Engine:
    from .wavefront.engine import WavefrontEngine

    if wishes is None or (isinstance(wishes, Mapping) and not wishes):
        plan = runtime.made_once("plan of the wavefront", make_plan)
    else:
        plan = make_plan(runtime, wishes)
    row_scan = _rowscan if is_free(wishes) else None
    if others:
        from .several import SeveralEngine

        return SeveralEngine([runtime, *others], plan, row_scan)
    return WavefrontEngine(runtime, plan, row_scan)


def _rowscan(runtime: Runtime, wishes: Wishes = None, others: Sequence[Runtime] = ()) -> Engine:
    """Without wishes: for tiles of the wavefront that it computes sooner."""
    from .rowscan.engine import RowscanEngine

    plan: Plan = runtime.made_once("plan of the row scan", default_rowscan)
    if wishes is not None:
        plan = make_plan(runtime, wishes, plan)
    assert isinstance(plan, RowscanPlan)
    if others:
        from .several import SeveralRowscans

        return SeveralRowscans([runtime, *others], plan)
    return RowscanEngine(runtime, plan)


def is_free(wishes: Wishes) -> bool:
    """Do the wishes leave it to the engine how small matrices are computed?"""
    if isinstance(wishes, Mapping):
        return all(str(name).startswith("held.") for name in wishes)
    return wishes is None


@dataclass(frozen=True)
class Row:
    """One engine of the table."""

    #: Makes the engine from the runtime of a device, if it needs one, the wishes for its plan, and
    #: the runtimes of further devices.
    make: Callable[..., Engine]
    needs_device: bool
    plan: type[Plan]
    #: The plan of a device without wishes.
    default: Callable[[Runtime], Plan]
    #: May its device also compute pair batches (:mod:`pysw_cl.engines.batch`)?
    batches: bool


ENGINES = {
    "wavefront": Row(_wavefront, True, Plan, default_plan, True),
    "rowscan": Row(_rowscan, True, RowscanPlan, default_rowscan, False),
    "reference": Row(_reference, False, ReferencePlan, lambda runtime: ReferencePlan(), False),
}


def row_of(wishes: Wishes) -> Row:
    """The row of the engine that the wishes name.  Raises PlanError for an unknown name."""
    name = wishes.get("engine") if isinstance(wishes, Mapping) else getattr(wishes, "engine", None)
    name = "wavefront" if name is None else name
    if not isinstance(name, str) or name not in ENGINES:
        raise PlanError(f"plan: engine {name!r} does not exist; there are {', '.join(ENGINES)}")
    return ENGINES[name]


def engine_for(device: Any, wishes: Wishes, timed: bool = False) -> Engine:
    """The engine that a plan names; ``timed``: it measures.  Raises PlanError or DeviceError."""
    row = row_of(wishes)
    if not row.needs_device:
        return row.make(None, wishes)
    if named_apart(device) is not None:
        (runtime, *others), helper = alike(device)
        engine = row.make(runtime, wishes, others)
        if helper is not None:
            engine.helper = _wavefront(helper, None)
        return engine
    runtime = get_runtime(device)
    return row.make(runtime.timed() if timed else runtime, wishes)


def plan_on(runtime: Runtime, wishes: Wishes) -> Plan:
    """The plan for a device.  Raises PlanError as `make_plan` does."""
    return make_plan(runtime, wishes, row_of(wishes).default(runtime))


def plan_of_facts(facts: Mapping[str, Any]) -> Plan:
    """The inverse of `Plan.facts`.  Raises PlanError as `Plan.of_facts` does."""
    return row_of(facts).plan.of_facts(facts)


def setting_of(runtime: Runtime, wishes: Wishes, scoring: Scoring, mode: str) -> Given:
    """What the model is asked about comparisons on a device.  Raises PlanError."""
    plan, free = plan_on(runtime, wishes), is_free(wishes)
    if plan.machine.known(plan.engine) is None:
        raise PlanError(f"plan: nobody has measured how long the engine {plan.engine!r} takes")
    scan, seen = default_rowscan(runtime) if free else None, Seen(few=scoring.source.few)
    return Given(plan, scoring, mode == "local", runtime.facts, seen, scan, holds=free)


# What "auto" means


class Kind(NamedTuple):
    """What decides how long a job of m rows and n columns takes; as in `drivers.job.Job`."""

    m: int
    n: int
    scoring: Scoring
    mode: str
    output: str
    free_ends: tuple[bool, ...]
    both: bool

    def key(self, digits: int) -> tuple[Any, ...]:
        """What it is known by, with so many digits of the lengths."""
        m, n = (side >> max(0, side.bit_length() - digits) for side in self[:2])
        sides, score = (m, self.m.bit_length(), n, self.n.bit_length()), self.scoring
        return *sides, *self[3:], score.source.key, score.gap_open, score.gap_extend, stamp()


class Known(NamedTuple):
    """What is known of a kind of job on a device."""

    #: Seconds of its sweep, and to start the device and build its kernels, by the model.
    sweep: float
    first: float
    #: When the latest calls ended, and their seconds over the model's, by octaves of length.
    ratios: deque[tuple[float, float]]


#: By devices and keys of kinds; those of whole octaves hold their ratios.
_known: WeakKeyDictionary[Runtime, dict[tuple[Any, ...], Known]] = WeakKeyDictionary()


def by_time(device: Any, kind: Kind) -> list[tuple[Any, float]]:
    """The runtimes that ``device`` may mean, the soonest done first, and the seconds expected."""
    choices = runtimes_to_choose_from(device)
    if len(choices) < 2:
        return [(choices[0] if choices else device, 0.0)]
    known, since = [_known_of(one, kind) for one in choices], time.perf_counter() - LASTING
    own = [sorted(ratio for at, ratio in list(one.ratios) if at > since) for one in known]
    # What a path takes beside its sweep, and what pruning saves, is alike on all devices.
    most = max(([ratio for ratio in each if ratio < inf] for each in own), key=len)
    tell = [next((some for some in (each, most) if len(some) >= LEAST), [1.0]) for each in own]
    seconds = [
        of.first * (not one.programs) + of.sweep * ratios[len(ratios) // 2]
        for one, of, ratios in zip(choices, known, tell, strict=True)
    ]
    return sorted(zip(choices, seconds, strict=True), key=lambda one: one[1])


def attempts(device: Any, kind: Kind, timed: bool = True) -> Iterator[AbstractContextManager[Any]]:
    """The devices that ``device`` may mean for a kind of job, the soonest done first, each as a
    context in which the job runs there.  One that fails is passed over, with a RecomputedWarning,
    unless it lacks memory or is the last.  ``timed``: is it a call to learn from?"""
    *others, (last, _) = by_time(device, kind)
    for one, _ in others:
        yield _on(one, kind, timed, other=True)
    timed = timed and bool(_known) and named_apart(last) is None
    yield _on(get_runtime(last), kind, timed) if timed else nullcontext(last)


@contextmanager
def _on(runtime: Runtime, kind: Kind, timed: bool, other: bool = False) -> Iterator[Runtime]:
    """A job runs on a device, and is timed.  ``other``: is there another if this one fails?"""
    known = _known.get(runtime, {}).get(kind.key(DIGITS))
    programs, began = len(runtime.programs), time.perf_counter()
    try:
        yield runtime
    except DeviceMemoryError:
        raise
    except DeviceError as error:
        if not other or known is None:
            raise
        known.ratios.extend([(inf, inf)] * LATEST)
        warn(f"{runtime.info.name} failed, and another device is used: {error}", RecomputedWarning)
    else:
        now = time.perf_counter()
        if timed and known is not None and len(runtime.programs) == programs:
            known.ratios.append((now, (now - began) / known.sweep))


def _known_of(runtime: Runtime, kind: Kind) -> Known:
    """What is known of a kind of job on a device; the model is asked where it was not yet."""
    own = _known.setdefault(runtime, {})
    if (known := own.get(kind.key(DIGITS))) is None:
        if len(own) >= MOST_KEPT:
            own.clear()
        m, n = (side & -1 << max(0, side.bit_length() - DIGITS) for side in kind[:2])
        foreseen = foreseen_on(runtime, kind._replace(m=m, n=n))
        octaves = own.setdefault(kind.key(1), Known(*foreseen, deque(maxlen=LATEST)))
        known = own[kind.key(DIGITS)] = Known(*foreseen, octaves.ratios)
    return known


def foreseen_on(runtime: Runtime, kind: Kind) -> tuple[float, float]:
    """What the model says of a job on a device: see `Known`."""
    setting = setting_of(runtime, None, kind.scoring, kind.mode)
    times, work = setting.plan.machine, sweep_of(setting, kind.m, kind.n)
    return max(work.seconds(times), 1e-9), first_use(work, times) or 3.0  # not measured
