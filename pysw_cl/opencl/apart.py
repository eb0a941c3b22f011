"""Builds programs in a process of its own, which runs this file.

A driver that builds one program at a time, and lets no launch begin meanwhile, but keeps what it
has built for all processes, has it built by others meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

#: A process that takes longer to build has probably ended without.
MOST_SECONDS = 60.0


def claimed(mark: Path) -> bool:
    """Claim the build of a program for a process that begins now; False if another one has it.
    ``mark``: the file that is there when it is done."""
    claim = mark.with_suffix(".begun")
    with suppress(OSError):
        claim.parent.mkdir(parents=True, exist_ok=True)
        if claim.exists() and time.time() - claim.stat().st_mtime < MOST_SECONDS:
            return False
        claim.touch()
    return True


def begin(index: str, programs: list[tuple[str, str, str]]) -> subprocess.Popen[bytes] | None:
    """A process, which may outlive this one, that builds ``programs`` (texts, compiler options,
    marks that it gives them) for the device with this index; None if there is nothing to do, or
    none can be begun: programs with a Python inside may not run files of Python."""
    if not programs or "python" not in Path(sys.executable or "").name.lower():
        return None
    nowhere = subprocess.DEVNULL
    with suppress(OSError), tempfile.TemporaryFile("w+") as given:
        json.dump({"path": sys.path, "index": index, "programs": programs}, given)
        given.seek(0)
        command = [sys.executable, __file__]
        return subprocess.Popen(command, stdin=given, stdout=nowhere, stderr=nowhere)
    return None


def main() -> None:
    """Build what standard input says."""
    given = json.load(sys.stdin)
    sys.path[:] = given["path"]
    import pyopencl as cl

    platform, device = map(int, given["index"].split(":"))
    chosen = cl.get_platforms()[platform].get_devices()[device]
    context = cl.Context([chosen])
    for text, options, mark in given["programs"]:
        cl.Program(context, text).build(options, [chosen])
        Path(mark).with_suffix(".begun").replace(mark)


if __name__ == "__main__":
    main()
