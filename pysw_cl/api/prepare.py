"""`prepare`: builds the kernels of a device before they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from ..drivers.progress import Progress
from ..drivers.tuning import KINDS as COMPARED, letters_of
from ..engines.plans import default_plan
from ..errors import InputError, texts
from ..opencl.device import Runtime, get_runtime
from .align import align
from .bar import told
from .many import align_many
from .pair_aligner import teller

#: Lengths of the pairs that are aligned: the rows of a lane, and so the kernel, depend on them.  On
#: a device with at most so many values of alpha each is tried by itself, too.
LENGTHS = (60, 170, 450, 1000, 2000, 4000, 8000, 16000)
#: Of these, proteins have at most this.
LONGEST_PROTEIN = 8000
FEW_ALPHAS = 8
#: Letters of each of many pairs.
MANY_LENGTH = 150

#: Computes something on a ``device``.
Job = Callable[..., Any]


def _pair(length: int, kind: str) -> tuple[bytes, bytes]:
    """Two sequences that share 90% of their letters."""
    query, other = (letters_of(kind, length, seed) for seed in (length, length + 1))
    changed = np.random.default_rng(length).random(length) < 0.1
    return query.tobytes(), np.where(changed, other, query).tobytes()


def _alone(runtime: Runtime, mode: str, kind: str) -> Iterator[Job]:
    how: dict[str, Any] = {"mode": mode, **COMPARED[kind][1]}
    alphas = default_plan(runtime).alphas
    pair = _pair(MANY_LENGTH, kind)
    for alpha in alphas if len(alphas) <= FEW_ALPHAS else ():
        yield partial(align, *pair, output="score", plan={"alpha": alpha}, **how)
    for length in LENGTHS:
        if kind == "dna" or length <= LONGEST_PROTEIN:
            yield partial(align, *_pair(length, kind), **how)


def _many(runtime: Runtime) -> Iterator[Job]:
    for kind in COMPARED:
        query, target = _pair(MANY_LENGTH, kind)
        outputs = product(("score", "ends", "matches", "path"), ("local", "global"))
        for (output, mode), other in product(outputs, (query[::-1], target)):
            # scores of fewer and of more bits
            pairs, how = [(query, other)] * 2, {"mode": mode, "output": output, **COMPARED[kind][1]}
            yield partial(align_many, pairs, **how)


#: What each kind aligns on a device.
KINDS: dict[str, Callable[[Runtime], Iterator[Job]]] = {
    "dna": partial(_alone, mode="local", kind="dna"),
    "protein": partial(_alone, mode="local", kind="protein"),
    "global": lambda on: chain(*(_alone(on, "global", kind) for kind in COMPARED)),
    "many": _many,
}


def prepare(
    device: Any = "auto",
    kinds: Iterable[str] = tuple(KINDS),
    progress: Progress | bool | None = None,
) -> int:
    """Build the kernels that these kinds of calls use, so that the first call is as fast as others.

    Drivers keep what they build on disk, so that it is there for later processes, too; this is
    for images, clusters and tests, where nobody should wait for it.  It aligns small pairs of each
    kind, because some drivers generate code only when a kernel runs.

    Parameters
    ----------
    kinds : iterable of str
        "dna": one pair, local.  "protein": one pair of proteins, local.  "global": one pair of
        either, global.  "many": :func:`align_many`.
    device, progress :
        As for :func:`align`; progress is in pairs aligned, of all of them.

    Returns how many programs this process has for the device now.  Raises InputError for a kind
    that does not exist, and DeviceError if there is no usable device, or it fails."""
    given = texts(kinds, "kinds")
    unknown = [kind for kind in given if kind not in KINDS]
    if unknown or not given:
        named = f"{unknown[0]!r} is not one" if unknown else "none is given"
        raise InputError(f"kinds: {named} of {', '.join(KINDS)}")
    runtime = get_runtime(device)
    jobs = [job for kind in dict.fromkeys(given) for job in KINDS[kind](runtime)]
    with told(progress, len(jobs)) as run:
        tell = teller(run, len(jobs), len(jobs))
        for job in jobs:
            job(device=runtime)
            tell(1, 1)
    return len(runtime.programs)
