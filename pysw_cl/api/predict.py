"""`predict`: how long a comparison will take.  `plan`: what it would run on, and why.  `profile`:
what was tuned and measured of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..drivers.job import Job
from ..drivers.options import AlignOptions, Output
from ..drivers.pair_forecast import pair_forecast
from ..drivers.problem import Mode
from ..engines.registry import Kind, by_time, setting_of
from ..errors import DeviceError, InputError, whole_number
from ..opencl.device import get_runtime
from ..opencl.several import meant
from ..planning.facts import Share
from ..planning.model.predict import Choice, Foreseen, Prediction, choice_of, predicted
from ..planning.model.several import Cluster, Network
from ..planning.plan import Plan
from ..planning.profiles.profile import Profile
from ..planning.program import Given
from ..scoring.scoring import made_of
from ..sequences.view import Strand
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
    iupac: str = "mismatch",
    unknown: str = "error",
    allow_odd_scoring: bool = False,
    strand: Strand = "plus",
    query_range: tuple[int, int] | None = None,
    target_range: tuple[int, int] | None = None,
    prune: bool = True,
    plan: Plan | Mapping[str, Any] | None = None,
    network: str | None = None,
) -> Prediction:
    """How long :func:`align` will take, by what it does and the times in the device's profile.

    Parameters
    ----------
    a, b : two lengths, or two sequences as for :func:`align`
        The query and the target.  Sequences are looked at for a few hundredths of a second at most:
        where they are similar, cells are pruned and there is a long path.  By lengths alone they
        are taken to be unrelated.
    device :
        As for :func:`align`, "2xNAME" for two alike, and a NAME of a profile, "NVIDIA H200" for
        example, whose device need not be there.
    network : str, optional
        What lies between the devices where each is in a machine of its own, or belongs to a worker
        of a cluster: bits a second, and seconds of latency, "10Gbit,20us".  By default several
        devices are those of one machine.
    output, mode, free_ends, sub_score, gap_cost, wildcard, iupac, unknown, \
    allow_odd_scoring, strand, query_range, target_range, prune, plan :
        As for :func:`align`.  Ranges go with sequences.  Both strands take two sweeps.

    Returns
    -------
    Prediction
        ``seconds``, their ``interval`` and ``parts``; ``first_use``, the seconds to build kernels
        on top of them; ``gcups`` (10^9 cells a second, pruned ones, too) and ``gcups_limit``;
        ``memory`` (bytes on the device), and ``too_large``: why it does not fit there, or None;
        ``way``, ``plan`` and ``source``: what computes it, and whose times.  Of several ``devices``
        their ``efficiency``, the seconds of one over theirs together, ``shares``, what the sweep's
        seconds go to, and ``limit``, the largest of these and the other parts beside the cells.
        The path is as for one device; several CPUs trace it in parts, which takes less.

    Raises InputError for lengths, sequences, scorings, options and plans that cannot be used, and
    DeviceError if there is no usable device and no profile of one, or several are not alike.

    Method: :mod:`pysw_cl.planning.model.times`.  Of a global comparison all cells are counted; a
    diagonal band (``max_cost`` of :func:`align`) takes less."""
    between = None if network is None else Network.parsed(network)
    options, job = made_of(AlignOptions, locals()), None
    a_is_number, b_is_number = (not hasattr(one, "__len__") for one in (a, b))
    if a_is_number != b_is_number:
        raise InputError("give two lengths or two sequences, not one of each")
    if a_is_number:
        if query_range is not None or target_range is not None:
            raise InputError("query_range and target_range go with sequences, not with lengths")
        m, n = _length(a, "a"), _length(b, "b")
    else:
        options = options.of_query(a)
        job = job_of(a, b, options)
        m, n = job.frame.shape
    return _asked(device, m, n, options, plan, job, prune, between)[0]


def plan(
    m: Any,
    n: Any,
    *,
    device: Any = "auto",
    mode: Mode = "local",
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    plan: Plan | Mapping[str, Any] | None = None,
) -> Choice:
    """What :func:`align`, whose other arguments these are, would run on for a query of ``m`` and a
    target of ``n`` letters, and why.

    It has a ``prediction`` (see :func:`predict`) with the ``plan`` and its expected time;
    ``alternatives``, every other way with its time; ``second``, the best of those; ``devices``, the
    seconds of those that ``device="auto"`` did not choose.  ``str()`` says it all in words.

    Raises InputError for lengths, scorings and plans that cannot be used, and DeviceError if there
    is no usable device."""
    options = made_of(AlignOptions, {**locals(), "output": "score"})
    sides = _length(m, "m"), _length(n, "n")
    prediction, setting, others = _asked(device, *sides, options, plan, None, True)
    if setting.devices > 1:
        raise DeviceError(f"device={device!r} means several; what they take says predict")
    return replace(choice_of(setting, prediction), devices=others)


def profile(device: Any = "auto") -> Profile:
    """The profile that plans and predictions for a device (as for :func:`align`) use.

    It is the user's if there is one, else the one that ships for the device, its architecture, its
    vendor or its kind.  ``pysw-cl profile show`` says which, and prints it.  It has ``parameters``
    and ``times`` (in seconds) by subject, the ``identity`` of the device that they are of, and the
    ``kernels`` that were measured; "" and 0 where any will do.

    Raises DeviceError if there is no usable device.  A ProfileWarning names a file that is ignored,
    because it is damaged or of another version."""
    return get_runtime(device).profile()[0]


def _asked(
    device: Any,
    m: int,
    n: int,
    options: AlignOptions,
    plan: Any,
    job: Job | None,
    prune: bool,
    network: Network | None = None,
) -> tuple[Prediction, Given, dict[str, float]]:
    """`predict` for two lengths, or the sequences of a job, with options that are checked; what the
    model was asked; and the other devices, with the seconds expected there (see `by_time`)."""
    path, both, choices = options.output == "path", options.strand == "both", [(device, 0.0)]
    if plan is None:
        about = options.scoring, options.mode, options.output, options.free, both
        choices = by_time(device, Kind(m, n, *about))
    (chosen, _), *others = choices
    runtime, devices = meant(chosen)
    setting = setting_of(runtime, plan, options.scoring, options.mode)
    cluster = None if network is None else Cluster(devices, network)
    own = devices if cluster is None and devices > 1 else 0
    shares = (Share(runtime.facts, setting.plan.B),) * own
    seen = replace(setting.seen, alike=path)
    setting = replace(setting, seen=seen, paths=int(path), shares=shares)
    if job is not None:
        setting, foreseen = pair_forecast(setting, job.frame, job.both, path, prune)
    else:
        corners = (float(m), float(n)) if path and not setting.local else None
        foreseen = Foreseen(1.0 + both, 1 + both, corners)
    found = predicted(setting, m, n, *runtime.profile(), foreseen, options.free, cluster)
    if devices > 1:
        alone = _asked(runtime, m, n, options, plan, job, prune)[0]
        found = replace(found, efficiency=alone.seconds / (devices * found.seconds))
    return found, setting, {one.info.name: seconds for one, seconds in others}


def _length(value: Any, name: str) -> int:
    return whole_number(value, f"{name} (a number of letters)", 1, most=MOST_LETTERS)
