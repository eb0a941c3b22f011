"""`prepare`: builds the kernels of a device before they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..drivers.progress import Progress, Stage
from ..engines.plans import default_plan
from ..errors import InputError, texts
from ..opencl.builds import expecting
from ..opencl.device import Runtime, get_runtime
from .align import align
from .bar import told
from .many import align_many

#: Lengths of the pairs that are aligned: the rows of a lane, and so the kernel, depend on them.  On
#: a device with at most so many values of alpha each is tried by itself, too.
LENGTHS = (60, 170, 450, 1000, 2000, 4000, 8000, 16000)
#: Of these, proteins have at most this.
LONGEST_PROTEIN = 8000
FEW_ALPHAS = 8
#: Letters of each of many pairs.
MANY_LENGTH = 150

DNA, PROTEIN = b"ACGT", b"ARNDCQEGHILKMFPSTWYV"
PROTEINS: dict[str, Any] = {"sub_score": "BLOSUM62", "gap_cost": (11, 1)}

#: Computes something on a device.
Job = Callable[[Any], None]


def _pair(length: int, letters: bytes) -> tuple[bytes, bytes]:
    """Two sequences that share 90% of their letters."""
    rng = np.random.default_rng(length)
    table = np.frombuffer(letters, np.uint8)
    query = table[rng.integers(0, len(table), length)]
    other = table[rng.integers(0, len(table), length)]
    return query.tobytes(), np.where(rng.random(length) < 0.1, other, query).tobytes()


def _align(pair: tuple[bytes, bytes], options: dict[str, Any], device: Any) -> None:
    align(*pair, device=device, **options)


def _align_many(pairs: list[tuple[bytes, bytes]], options: dict[str, Any], device: Any) -> None:
    align_many(pairs, device=device, **options)


def _paths(runtime: Runtime, mode: str, letters: bytes, options: dict[str, Any]) -> Iterator[Job]:
    alphas = default_plan(runtime).alphas
    for alpha in alphas if len(alphas) <= FEW_ALPHAS else ():
        given = {"mode": mode, "output": "score", "plan": {"alpha": alpha}, **options}
        yield partial(_align, _pair(MANY_LENGTH, letters), given)
    for length in LENGTHS:
        if letters == DNA or length <= LONGEST_PROTEIN:
            yield partial(_align, _pair(length, letters), {"mode": mode, **options})


def _dna(runtime: Runtime) -> Iterator[Job]:
    return _paths(runtime, "local", DNA, {})


def _protein(runtime: Runtime) -> Iterator[Job]:
    return _paths(runtime, "local", PROTEIN, PROTEINS)


def _global(runtime: Runtime) -> Iterator[Job]:
    yield from _paths(runtime, "global", DNA, {})
    yield from _paths(runtime, "global", PROTEIN, PROTEINS)


def _many(runtime: Runtime) -> Iterator[Job]:
    for letters, options in ((DNA, {}), (PROTEIN, PROTEINS)):
        alike = [_pair(MANY_LENGTH, letters)] * 2
        apart = [(alike[0][0], alike[0][0][::-1])] * 2
        for output in ("score", "ends", "matches", "path"):
            for mode in ("local", "global"):
                for pairs in (apart, alike):  # scores of fewer and of more bits
                    yield partial(_align_many, pairs, {"mode": mode, "output": output, **options})


#: What each kind aligns on a device.
KINDS: dict[str, Callable[[Runtime], Iterator[Job]]] = {
    "dna": _dna,
    "protein": _protein,
    "global": _global,
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
    device :
        As for :func:`align`.
    kinds : iterable of str
        "dna": one pair, local.  "protein": one pair of proteins, local.  "global": one pair of
        either, global.  "many": :func:`align_many`.
    progress : callable or True, optional
        As for :func:`align`, in pairs aligned, of all of them.

    Returns
    -------
    int
        The programs that this process has for the device now.

    Raises
    ------
    InputError
        For a kind that does not exist.
    DeviceError
        If there is no usable device, or it fails.
    """
    given = texts(kinds, "kinds")
    unknown = [kind for kind in given if kind not in KINDS]
    if unknown or not given:
        named = f"{unknown[0]!r} is not one" if unknown else "none is given"
        raise InputError(f"kinds: {named} of {', '.join(KINDS)}")
    runtime = get_runtime(device)
    jobs = [job for kind in dict.fromkeys(given) for job in KINDS[kind](runtime)]
    count = len(jobs)
    with told(progress) as run, expecting(count):
        run.begin(count)
        for done, job in enumerate(jobs):
            run.tell(done, Stage("pairs", done, count))
            job(runtime)
        run.tell(count, Stage("pairs", count, count))
    return len(runtime.programs)
