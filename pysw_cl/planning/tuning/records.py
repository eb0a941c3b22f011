"""Records of measurements: a file that only grows, so that a killed tuning goes on where it was.

A line is one run: a JSON object with the key of what was measured, the values, what the run took
with all that it needed (a build, a check), and its seconds or the kind of its failure.  Results are
appended as they come, and failures are results, as in Kernel Tuner (van Werkhoven, Future
Generation Computer Systems 90, 2019).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path

from ...errors import ProfileError, PyswError
from ..parameters import Number
from .space import Values

#: How a run may fail: its kernel is not built, is not launched, gives a wrong result, does not suit
#: the device (too large a group, for example), or gets no memory.
KINDS = ("build", "launch", "wrong", "refused", "memory")


class Failure(PyswError):
    """A run that failed, and its kind (one of :data:`KINDS`)."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message or kind)
        self.kind = kind


@dataclass(frozen=True)
class Run:
    """One run of a kernel with some values."""

    values: Values
    #: Seconds of all: the build if there was one, the check and the run.
    took: float
    #: Seconds of the run; None if it failed.
    seconds: float | None = None
    #: The kind of its failure; None if it succeeded.
    failure: str | None = None


class Records:
    """The runs of one key, oldest first.

    ``key`` names all that a time depends on beside the values: the subject, the device and its
    driver, the digest of the kernels, and the sizes that are measured.  ``path``: the file, made
    when the first run is added; other keys in it are left alone.  None: the runs are in memory
    only.  Lines that are no runs are passed over: a killed process leaves half of one.  Raises
    ProfileError if the file cannot be read or written.
    """

    def __init__(self, path: Path | None = None, key: str = "") -> None:
        self.path, self.key = path, key
        self._runs: dict[tuple[tuple[str, Number], ...], list[Run]] = {}
        try:
            found = b"" if path is None or not path.exists() else path.read_bytes()
        except OSError as error:
            raise ProfileError(
                f"{path}: measurements cannot be read from it: {error}; give another file"
            ) from error
        #: What ends a line of which there is half.
        self._end = b"\n" if found and not found.endswith(b"\n") else b""
        for line in found.splitlines():
            try:
                facts = json.loads(line)
                failure = facts.get("failure")
                seconds = None if failure else float(facts["seconds"])
                good = failure in KINDS if seconds is None else 0 < seconds < inf
                if facts["key"] == key and good and isfinite(facts["took"]):
                    values = {name: value + 0 for name, value in facts["values"].items()}
                    self._keep(Run(values, facts["took"], seconds, failure))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue

    def of(self, values: Values) -> list[Run]:
        """The runs with these values."""
        return self._runs.get(tuple(sorted(values.items())), [])

    def __iter__(self) -> Iterator[Run]:
        """All runs, by values."""
        return (run for runs in self._runs.values() for run in runs)

    def add(self, run: Run) -> None:
        """Add a run to the end."""
        self._keep(run)
        if self.path is None:
            return
        outcome = {"seconds": run.seconds} if run.failure is None else {"failure": run.failure}
        facts = {"key": self.key, "values": dict(run.values), "took": run.took, **outcome}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(self._end + json.dumps(facts).encode() + b"\n")
        except OSError as error:
            raise ProfileError(
                f"{self.path}: measurements cannot be written to it: {error}; give another file"
            ) from error
        self._end = b""

    def _keep(self, run: Run) -> None:
        self._runs.setdefault(tuple(sorted(run.values.items())), []).append(run)
