"""What signals do to the process of the command: it ends at once, with nothing left half written.

Python would raise KeyboardInterrupt wherever the program is: in an import, which makes another
error of it; in a destructor, where it is lost; and only later while a driver builds or computes.
So a thread waits for signals, and ends the process.  What is saved is sound at any time."""

from __future__ import annotations

import os
import signal

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
    if os.name != "posix" or signal.getsignal(signal.SIGINT) is _noted:
        return
    pipe, into = os.pipe()
    os.set_blocking(into, False)
    signal.set_wakeup_fd(into)
    for number in map(signal.Signals.__getitem__, SAID):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _noted)
    import threading  # signals wait in the pipe meanwhile

    threading.Thread(target=_wait, args=(pipe,), name="pysw_cl signals", daemon=True).start()


def _noted(*_: object) -> None:
    """A signal came, and is in the pipe."""


def _wait(pipe: int) -> None:
    """End the process by the first signal."""
    number = signal.Signals(os.read(pipe, 1)[0])
    try:
        from select import select

        from ..results.formats.files import remove_unfinished

        remove_unfinished()
        wipe = "\r\033[K" if os.isatty(2) else ""  # a progress bar may stand there
        if select([], [2], [], 1)[1]:
            os.write(2, os.fsencode(f"{wipe}pysw-cl: {said(SAID[number.name])}\n"))
    finally:
        os._exit(128 + number)
