"""The package's own exceptions: each message says what was wrong, where, and what to do."""

from __future__ import annotations

from typing import Any


class PyswError(Exception):
    """Base class of everything this package raises on purpose."""

    #: The number of the pair that is wrong, counted from 0, where one of many pairs is; the
    #: message begins with it.
    pair: int | None = None


class InputError(PyswError, ValueError):
    """A sequence, file, scoring or option that cannot be used as given."""


class SequenceError(InputError):
    """A sequence with a letter outside the alphabet, an empty one, or one that is not text."""


class ScoringError(InputError):
    """A substitution matrix or gap cost that cannot be used."""


class FormatError(InputError):
    """A file that is missing, damaged or not in the format that was asked for."""


class FileError(OSError, FormatError):
    """A file that cannot be read or written.

    It is an OSError, too, and of the kind that the system says, such as FileNotFoundError and
    PermissionError, with its ``errno``, ``strerror`` and ``filename``."""

    _of: tuple[OSError, str, str, str]

    @classmethod
    def of(cls, error: OSError, where: str, done: str, hint: str = "") -> FileError:
        """The error of a file, called ``where``, that cannot be ``done``, such as read."""
        kind = type(cls.__name__, (FileError, type(error)), {})
        found: FileError = kind(error.errno, error.strerror, where)
        found._of = error, where, done, hint
        return found

    def __str__(self) -> str:
        error, where, done, hint = self._of
        return f"{where}: cannot be {done}: {error.strerror or error}{hint}"

    def __reduce__(self) -> Any:  # no module has its class
        return FileError.of, self._of


class RangeError(InputError):
    """A pair whose score could leave the proven integer range."""


class PlanError(InputError):
    """B, T, alpha or an engine that the device cannot run."""


class DeviceError(PyswError, RuntimeError):
    """No usable device, or a device that failed or ran out of memory."""


class BuildError(DeviceError):
    """A kernel that the device's compiler does not build."""


class DeviceMemoryError(DeviceError):
    """A device that lacks memory for what it was given."""


class InternalError(PyswError, AssertionError):
    """A result that failed its own check: a bug in this package, never a wrong answer."""


class RecomputedWarning(UserWarning):
    """A path failed its own check and was computed again in another way: the result is right, but
    there is a bug to report."""


class InputWarning(UserWarning):
    """Input that can be used, but is probably not what was meant, or not taken as it is."""


class LettersWarning(InputWarning):
    """Letters that the scoring lacks and that were scored as others, or nucleotides that are
    compared as proteins."""


class PhaseWarning(InputWarning):
    """A local scoring in the linear phase: alignments of random sequences grow with their
    length."""


class CheckpointError(PyswError, RuntimeError):
    """A checkpoint that belongs to another job, is damaged or in use, or cannot be written."""


class Stopped(PyswError):
    """A run that ended at the time it was asked to, with a checkpoint to go on from."""


class ProfileError(PyswError, RuntimeError):
    """A profile that cannot be read or written."""


class ProfileWarning(UserWarning):
    """A file with a profile that is ignored, because it is damaged or of another version."""
