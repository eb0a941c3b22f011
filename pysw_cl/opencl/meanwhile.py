"""Programs that are built while the device computes something else, for later calls.

Some drivers let nothing begin while they build.  So such a build begins behind a launch that takes
about as long.

What was built once is on the driver's disk, and takes a moment from there.  An empty file in the
user's cache folder says so to later processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import BuildError
from ..planning.profiles import store
from .device import Runtime
from .program import KernelSpec, compiled, digest_of, key_of

Key = tuple[str, str]
#: The longest wait for a launch to begin, and the time between two looks.
BEGIN_SECONDS, LOOK_SECONDS = 0.05, 0.001


def soon_built(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> bool:
    """Was the program of ``spec`` built before, by this process or another one?"""
    key = key_of(runtime, spec, defines)
    if key in runtime.programs:
        return True
    mark = _mark(runtime, key)
    return mark is not None and mark.exists()


def note_built(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> None:
    """Tell later processes that the program of ``spec`` is on the driver's disk."""
    _note(runtime, key_of(runtime, spec, defines))


def _note(runtime: Runtime, key: Key) -> None:
    mark = _mark(runtime, key)
    with suppress(OSError):
        if mark is not None and not mark.exists():
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


def build_meanwhile(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> None:
    """Build the program of ``spec`` in a thread.  A process that ends waits for it."""
    key = key_of(runtime, spec, defines)

    def work() -> None:
        with suppress(BuildError):  # who needs the program is told
            runtime.programs[key] = compiled(runtime, spec, key)
            _note(runtime, key)

    with runtime.lock:
        if key not in runtime.programs and key not in runtime.building:
            runtime.building[key] = threading.Thread(target=work, name="pysw_cl program")
            runtime.building[key].start()


def wait_until_begun(event: Any) -> None:
    """Wait a little until the device has begun a launch: a driver's thread hands it over, which a
    build would keep waiting."""
    import pyopencl as cl

    running = int(cl.command_execution_status.RUNNING)
    until = time.monotonic() + BEGIN_SECONDS
    while int(event.command_execution_status) > running and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)


def _mark(runtime: Runtime, key: Key) -> Path | None:
    """The file that says that a program was built; None if there is no cache folder."""
    folder = store.user_folder()
    if folder is None:
        return None
    return folder / "built" / digest_of(runtime, key)
