"""`predict`: how long a comparison will take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..drivers.job import Job
from ..drivers.options import AlignOptions, Output
from ..drivers.pair_forecast import UNSURE, PairForecast, pair_forecast
from ..drivers.problem import Mode
from ..engines.choose_device import Kind, by_time
from ..engines.registry import setting_of
from ..errors import InputError, shown, whole_number
from ..opencl.device import Runtime, get_runtime
from ..planning.memory import device_memory, fits
from ..planning.model.counts import Work
from ..planning.model.predict import Prediction, predicted
from ..planning.model.runs import Setting, swept_again
from ..planning.plan import Plan
from ..sequences.coordinates import Strand
from .align import job_of

#: The most letters of a length: no sequence is longer.
MOST_LETTERS = 1 << 40


def predict(
    a: Any,
    b: Any,
    *,
    device: Any = "auto",
    output: Output = "path",
    mode: Mode = "local",
    free_ends: bool | tuple[bool, ...] = False,
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    wildcard: str | None = None,
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    strand: Strand = "plus",
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
    prune: bool = True,
    plan: Plan | Mapping[str, Any] | None = None,
) -> Prediction:
    """How long :func:`align` will take, before it begins.

    The time follows from what a run does (columns of strips, launches, letters) and from the times
    of each in the device's profile, which :func:`tune` measures; others ship.

    Parameters
    ----------
    a, b : two lengths, or two sequences as for :func:`align`
        The query and the target.  Sequences are looked at for a few hundredths of a second at most:
        where they are similar, cells are pruned and there is a long path.  By lengths alone they
        are taken to be unrelated.
    device, plan :
        As for :func:`align`.
    output : {"score", "ends", "path"}
        How much is computed.
    mode, free_ends, sub_score, gap_cost, wildcard, unknown, allow_odd_scoring, strand, \
    query_range, target_range, prune :
        As for :func:`align`.  Ranges go with sequences.  Both strands take two sweeps.

    Returns
    -------
    Prediction
        ``seconds``, and the ``interval`` in which nine of ten runs are; ``parts`` of it;
        ``first_use``, the seconds to build kernels on top of it the first time; ``gcups`` (10^9
        cells a second, pruned ones, too), and the ``gcups_limit`` of matrices without end, where
        all are computed; ``memory`` (bytes on the device), and ``too_large``: why it does not fit
        there, or None; ``way``, ``plan`` and ``source``: what computes it, and whose times.

    Raises
    ------
    InputError
        For lengths, sequences, scorings, options and plans that cannot be used.
    DeviceError
        If there is no usable device.

    Notes
    -----
    Sandes (2011, thesis, chapter 6) predicts t(m, n) = c1 + c2 m + c3 n + c4 m n, and 1 / c4 as the
    limit of the speed.  Here the terms follow from B, T, alpha and the shape, too.  Of a global
    comparison all cells are counted; a diagonal band (``max_cost`` of :func:`align`) takes less.
    """
    options = AlignOptions(
        mode=mode,
        free_ends=free_ends,
        sub_score=sub_score,
        gap_cost=gap_cost,
        output=output,
        wildcard=wildcard,
        unknown=unknown,
        allow_odd_scoring=allow_odd_scoring,
        strand=strand,
        query_range=query_range,
        target_range=target_range,
    )
    if not _are_lengths(a, b):
        options = options.of_query(a)
        job = job_of(a, b, options, options.mode, options.free)
        runtime = runtime_for(device, *job.frame.shape, options, plan)
        return predict_job(runtime, job, options, plan, prune)
    if query_range is not None or target_range is not None:
        raise InputError("query_range and target_range go with sequences, not with lengths")
    rows, columns = length_of(a, "a"), length_of(b, "b")
    return predict_on(
        runtime_for(device, rows, columns, options, plan), rows, columns, options, plan
    )


def runtime_for(device: Any, m: int, n: int, options: AlignOptions, plan: Any) -> Runtime:
    """The device that `align` would take for m x n letters."""
    return devices_for(device, m, n, options, plan)[0][0]


def devices_for(
    device: Any, m: int, n: int, options: AlignOptions, plan: Any
) -> list[tuple[Runtime, float]]:
    """The devices to choose from, and the seconds they are expected to take (see `by_time`)."""
    if plan is not None:
        return [(get_runtime(device), 0.0)]
    ends, both = options.free.flags, options.strand == "both"
    kind = Kind(m, n, options.scoring, options.mode, options.output, ends, both)
    return [(get_runtime(one), seconds) for one, seconds in by_time(device, kind)]


def predict_job(
    runtime: Runtime, job: Job, options: AlignOptions, plan: Any = None, prune: bool = True
) -> Prediction:
    """`predict` for two sequences, with options that are checked, on a device."""
    setting = _setting(runtime, plan, options)
    foreseen = pair_forecast(setting, job.frame, job.both, options.output == "path", prune)
    if foreseen.similar:
        setting = replace(setting, cuts_squares=False)
    return _predicted(runtime, setting, *job.frame.shape, options, foreseen)


def predict_on(
    runtime: Runtime, m: int, n: int, options: AlignOptions, plan: Any = None
) -> Prediction:
    """`predict` for two lengths, with options that are checked, on a device."""
    setting = _setting(runtime, plan, options)
    strands = 1 + (options.strand == "both")
    foreseen = PairForecast(float(strands), strands)
    if options.output == "path" and not setting.local:  # from corner to corner
        foreseen = replace(foreseen, path=swept_again(setting, m, n, (float(m), float(n))))
    return _predicted(runtime, setting, m, n, options, foreseen)


def _setting(runtime: Runtime, plan: Any, options: AlignOptions) -> Setting:
    """The setting of these options on a device."""
    setting = setting_of(runtime, plan, options.scoring, options.mode)
    paths = int(options.output in ("matches", "path"))
    return replace(setting, cuts_squares=options.output != "path", paths=paths)


def _predicted(
    runtime: Runtime,
    setting: Setting,
    m: int,
    n: int,
    options: AlignOptions,
    foreseen: PairForecast,
) -> Prediction:
    """The prediction for a matrix, given what is foreseen of the sequences."""
    facts, memory = setting.device, device_memory(setting, m, n, options.free.flags)
    profile, source = runtime.profile()
    return predicted(
        setting,
        m,
        n,
        profile,
        source,
        path=setting.plan.machine.times.seconds(Work([], foreseen.path)),
        memory=memory.total,
        too_large=fits(memory, facts.memory, facts.largest),
        share=foreseen.share,
        sweeps=foreseen.sweeps,
        unsure=UNSURE if foreseen.similar else 0.0,
    )


def _are_lengths(a: Any, b: Any) -> bool:
    """Are these two lengths, rather than two sequences?  Raises InputError for one of each."""
    numbers = [not isinstance(one, str | bytes) and not hasattr(one, "__len__") for one in (a, b)]
    if numbers[0] != numbers[1]:
        raise InputError("give two lengths or two sequences, not one of each")
    return numbers[0]


def length_of(value: Any, name: str) -> int:
    """A number of letters.  Raises InputError."""
    length = whole_number(value, f"{name} (a number of letters)", 1)
    if length > MOST_LETTERS:
        raise InputError(f"{name} must be from 1 to {MOST_LETTERS}, not {shown(length)}")
    return length
