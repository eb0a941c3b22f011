"""What the tests of checkpoints share: small jobs with many rows, and when results are equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tuned import tuned

import pysw_cl
from pysw_cl.drivers.job import canonical
from pysw_cl.errors import PyswError

REFERENCE = {"engine": "reference", "tile_cells": 3000, "traceback_tile_cells": 1000}
#: Tiles so small that a band pays for a pair of some hundreds of letters.
TINY = {"engine": "reference", "tile_cells": 300, "traceback_tile_cells": 200}
#: Mode and free ends.
MODES: list[tuple[str, Any]] = [
    ("local", False),
    ("global", False),
    ("global", True),
    ("global", (True, False, False, True)),
    ("global", (False, True, False, False)),
    ("global", (False, False, False, True)),
]


#: Room for about 20 rows of the pairs here.
SIZE = 30_000


class Enough(Exception):
    """Raised by a progress callback to end a run."""


@contextmanager
def tight() -> Iterator[None]:
    """Bands as small as the disk size allows, grids that cut small pairs up, walks saved often;
    nothing waits for a disk, because only processes die here."""
    with (
        tuned({"saving.least_seconds": 0, "saving.least_times": 0, "saving.fill_times": 0}),
        tuned({"traceback.pieces": 5, "traceback.least_side": 20}),
        mock.patch("os.fsync"),
    ):
        yield


def options(**more: Any) -> dict[str, Any]:
    """Arguments of ``align`` for a small job, and others."""
    return {"plan": REFERENCE, "disk_size": SIZE, **more}


def resumed_again_and_again(folder: Path, calls: range) -> Any:
    """The result of a run that is ended after so many calls, and so many, by plans that differ."""
    for count in calls:
        plan = {
            "engine": "reference",
            "tile_cells": 500 * count,
            "traceback_tile_cells": 50 * count,
        }
        try:
            return pysw_cl.resume(folder, plan=plan, progress=stop_at(count))
        except Enough:
            continue
    return None


def pair(length: int = 300, seed: int = 3) -> tuple[str, str]:
    """Two related sequences with a gap of 40 letters in each."""
    rng = np.random.default_rng(seed)
    acgt = np.frombuffer(b"ACGT", np.uint8)
    a = rng.choice(acgt, length)
    b = a.copy()
    b[::11] = rng.choice(acgt, len(b[::11]))
    cut = length // 3
    b = np.concatenate([b[:cut], b[cut + 40 :], b[:40]])
    return a.tobytes().decode(), b.tobytes().decode()


def related(length: int = 250, seed: int = 5) -> tuple[str, str]:
    """Two similar sequences of about the same length."""
    rng = np.random.default_rng(seed)
    a = rng.choice(list("ACGT"), length)
    b = a.copy()
    b[::15] = rng.choice(list("ACGT"), len(b[::15]))
    return "".join(a), "".join(np.concatenate([b[:60], b[65:], b[:3]]))


def turned(letters: str) -> str:
    """The reverse complement."""
    return letters.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def key(found: pysw_cl.Alignment) -> tuple[Any, ...]:
    """All that a result says."""
    ends = found.query_start, found.query_end, found.target_start, found.target_end
    return (found.score, found.cigar, *ends, found.strand)


def stop_at(calls: int) -> Any:
    """A progress callback that ends the run at its call number ``calls``."""
    left = calls

    def progress(done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Enough

    return progress


def interrupted(folder: Path, calls: int, *args: Any, **options: Any) -> None:
    """Run ``align`` with a checkpoint, and end it at a call of its progress callback."""
    try:
        pysw_cl.align(*args, checkpoint=folder, progress=stop_at(calls), **options)
    except Enough:
        return
    raise AssertionError(f"the run was over before call {calls}")


def call_format(folder: Path, number: int) -> None:
    """A checkpoint says that it is of another format."""
    path = folder / "job.json"
    content = json.loads(path.read_text()) | {"format": number}
    del content["checksum"]
    content["checksum"] = hashlib.sha256(canonical(content)).hexdigest()
    path.write_text(json.dumps(content))


def rows(folder: Path) -> list[Path]:
    """The saved bands, in order."""
    return sorted(folder.glob("rows-*"))


def message(call: Any, kind: type[PyswError]) -> str:
    """The message of the error that a call raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")
