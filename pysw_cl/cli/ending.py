"""What signals do to the process of the command: it ends at once, with nothing left half written.

Python would raise KeyboardInterrupt wherever the program is: in an import, which makes another
error of it; in a destructor, where it is lost; and only later while a driver builds or computes.
So a thread waits for signals, and ends the process.  All others block them: the compiler of a
driver would else remove what it writes, and say that it failed.  What is saved is sound at any
time."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

#: Signals, and what is said then; the exit code is 128 + the signal's number.
SAID = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "the terminal was closed"}
#: The folder of the run's checkpoint, if it has one.
checkpoint: str | None = None


def said(what: str) -> str:
    """``what``, and how to go on where there is a checkpoint to go on from."""
    begun = (f"{checkpoint}/{name}.json" for name in ("job", "command"))
    if checkpoint is None or not any(map(os.path.exists, begun)):
        return what
    return f"{what}; continue with: pysw-cl resume {checkpoint}"


def prepare() -> None:
    """Let signals end this process from now on.  Those that it was told to ignore, as by ``nohup``,
    stay ignored.  Without POSIX signals Ctrl-C stays a KeyboardInterrupt."""
    if os.name != "posix":
        return
    numbers = {signal.Signals[name] for name in SAID}
    numbers = {number for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    if numbers <= signal.pthread_sigmask(signal.SIG_BLOCK, numbers):  # they are waited for
        return
    import threading  # signals wait meanwhile

    threading.Thread(target=_wait, args=(numbers,), name="pysw_cl signals", daemon=True).start()


def leave(code: int) -> None:
    """End the process before Python takes down modules and drivers, for up to 0.3 s."""
    kept = sys.modules.get(f"{__package__.rpartition('.')[0]}.opencl.kernel_store")
    if kept is not None and kept.store is not None:
        kept.store.close()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _wait(numbers: set[signal.Signals]) -> None:
    """End the process by the first of these signals."""
    number = signal.Signals(signal.sigwait(numbers))
    try:
        from select import select

        from ..results.formats.files import remove_unfinished

        remove_unfinished()
        wipe = "\r\033[K" if os.isatty(2) else ""  # a progress bar may stand there
        if select([], [2], [], 1)[1]:
            os.write(2, os.fsencode(f"{wipe}pysw-cl: {said(SAID[number.name])}\n"))
    finally:
        os._exit(128 + number)
