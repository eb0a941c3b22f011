"""Builds programs in a process of its own, which runs this file.

A driver that builds one program at a time, and lets no launch begin meanwhile, but keeps what it
has built for all processes, has it built by others meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


def begin(index: str, programs: list[tuple[str, str, str]]) -> subprocess.Popen[bytes] | None:
    """A process, which may outlive this one, that builds ``programs`` (texts, compiler options,
    files that say when each is done) for the device with this index; None if none can be begun."""
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
    for text, options, done in given["programs"]:
        cl.Program(context, text).build(options, [chosen])
        Path(done).parent.mkdir(parents=True, exist_ok=True)
        Path(done).touch()


if __name__ == "__main__":
    main()
