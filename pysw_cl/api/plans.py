"""`plan`: what a comparison would run on, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..drivers.options import AlignOptions
from ..drivers.problem import Mode
from ..engines.registry import setting_of
from ..opencl.device import Runtime
from ..planning.model.predict import Choice, choice_of
from ..planning.plan import Plan
from .predict import devices_for, length_of, predict_on


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
    """What :func:`align` would run on for sequences of these lengths, and why.

    Parameters
    ----------
    m, n : int
        The lengths of the query and the target.
    device, mode, sub_score, gap_cost, plan :
        As for :func:`align`.

    Returns
    -------
    Choice
        ``prediction`` (see :func:`predict`) with the ``plan`` and its expected time;
        ``alternatives``, every other way with its time; ``second``, the best of those; ``devices``,
        the seconds of those that ``device="auto"`` did not choose.  ``str()`` of it says all that
        in words.

    Raises
    ------
    InputError
        For lengths, scorings and plans that cannot be used.
    DeviceError
        If there is no usable device.
    """
    options = AlignOptions(mode=mode, sub_score=sub_score, gap_cost=gap_cost, output="score")
    rows, columns = length_of(m, "m"), length_of(n, "n")
    (runtime, _), *others = devices_for(device, rows, columns, options, plan)
    found = choose_on(runtime, rows, columns, options, plan)
    return replace(found, devices={one.info.name: seconds for one, seconds in others})


def choose_on(runtime: Runtime, m: int, n: int, options: AlignOptions, wishes: Any) -> Choice:
    """`plan`, with options that are checked, on a device."""
    setting = setting_of(runtime, wishes, options.scoring, options.mode)
    return choice_of(setting, predict_on(runtime, m, n, options, wishes))
