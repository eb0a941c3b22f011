"""`predict`: how long a comparison will take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..drivers.options import AlignOptions
from ..engines.settings import setting_of
from ..errors import InputError
from ..opencl.device import Runtime, get_runtime
from ..planning.memory import device_memory
from ..planning.memory_parts import DeviceFacts
from ..planning.model.predict import Prediction, predicted
from ..planning.plan import Plan


def predict(
    m: Any,
    n: Any,
    *,
    device: Any = "auto",
    output: str = "score",
    mode: str = "local",
    sub_score: Any = (1, -3),
    gap_cost: Any = None,
    plan: Plan | Mapping[str, Any] | None = None,
) -> Prediction:
    """How long :func:`align` will take, before it begins.

    The time follows from what a run does (columns of strips, launches, letters) and from the times
    of each in the device's profile, which :func:`tune` measures; others ship.

    Parameters
    ----------
    m, n : int
        The lengths of the query and the target, in letters.  The sequences are taken to be
        unrelated, so that nothing is pruned and there is no long path.
    device, plan :
        As for :func:`align`.
    output : {"score", "ends", "path"}
        How much is computed.
    mode, sub_score, gap_cost :
        As for :func:`align`.

    Returns
    -------
    Prediction
        ``seconds``, and the ``interval`` in which nine of ten runs are; ``parts`` of it;
        ``first_use``, the seconds to build kernels on top of it the first time; ``gcups`` (10^9
        cells a second), and the ``gcups_limit`` of matrices without end; ``memory`` (bytes on the
        device); ``way``, ``plan`` and ``source``: what computes it, and whose times these are.

    Raises
    ------
    InputError
        For lengths, scorings, options and plans that cannot be used.
    DeviceError
        If there is no usable device.

    Notes
    -----
    Sandes (2011, thesis, chapter 6) predicts t(m, n) = c1 + c2 m + c3 n + c4 m n, and 1 / c4 as the
    limit of the speed.  Here the terms follow from B, T, alpha and the shape, too.
    """
    options = AlignOptions(mode=mode, sub_score=sub_score, gap_cost=gap_cost, output=output)
    rows, columns = length_of(m, "m"), length_of(n, "n")
    return predict_on(get_runtime(device), rows, columns, options, plan)


def predict_on(
    runtime: Runtime, m: int, n: int, options: AlignOptions, plan: Any = None
) -> Prediction:
    """`predict`, with options that are checked, on a device."""
    setting = setting_of(runtime, plan, options.scoring, options.mode)
    memory = device_memory(
        setting.plan,
        m,
        n,
        DeviceFacts.of(runtime),
        options.scoring,
        output=options.output,
        mode=options.mode,
        free_ends=options.free.flags,
        four_letters=setting.four,
        holds=setting.holds,
        row_scan=setting.scan,
    )
    profile, source = runtime.profile()
    return predicted(setting, m, n, profile, source, memory=memory.total)


def length_of(value: Any, name: str) -> int:
    """A number of letters.  Raises InputError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{name} must be a number of letters, not {value!r}")
    length = value.__index__()
    if length < 1:
        raise InputError(f"{name} must be at least 1, not {length}")
    return int(length)
