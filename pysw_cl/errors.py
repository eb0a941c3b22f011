"""The package's own exceptions: each message says what was wrong, where, and what to do.  And the
checks of arguments: each returns what it was given, or raises InputError with the argument's
``name``, whatever the value is: an array without a truth value, or what cannot be compared."""

from __future__ import annotations

import math
import operator
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterable
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

_BLANKS = re.compile(r"[ \t-\r]+")


def printable(text: str, blank: str = " ", raw: bool = False) -> str:
    """A name or a message as any terminal, file and stream can have it, in one line.

    Each run of blanks becomes one ``blank``.  Other characters that cannot be printed, and bytes
    of a file that are not UTF-8, become what URLs have for them: %1B, %E9 (RFC 3986); with ``raw``
    such bytes stay as they are."""
    line = _BLANKS.sub(blank, text.strip(" \t\n\r\v\f"))
    return line if line.isprintable() else "".join(_shown(letter, raw) for letter in line)


def _shown(letter: str, raw: bool) -> str:
    is_byte = "\udc80" <= letter <= "\udcff"
    if letter.isprintable() or (raw and is_byte):
        return letter
    found = letter.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in found)


class PyswError(Exception):
    """Base class of everything this package raises on purpose."""

    #: The number of the wrong one of many pairs, from 0, with which the message begins.
    pair: int | None = None
    #: The address of the worker of a cluster that it is of.
    worker = ""


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
        name = where if done == "written" else error.filename or where  # that of a part is no news
        found: FileError = kind(error.errno, error.strerror, name)
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

    #: Which of an engine's devices failed.
    device = 0


class BuildError(DeviceError):
    """A kernel that the device's compiler does not build."""


class DeviceMemoryError(DeviceError):
    """A device that lacks memory for what it was given."""


class InternalError(PyswError, AssertionError):
    """A result that failed its own check: a bug in this package, never a wrong answer."""


class RecomputedWarning(UserWarning):
    """A path failed its own check and was computed again in another way, or a device failed and
    the work was done again: the result is right, but there is a fault to see to."""


class InputWarning(UserWarning):
    """Input that can be used, but is probably not what was meant, or not taken as it is."""


class LettersWarning(InputWarning):
    """Letters that the scoring lacks and that were scored as others, or nucleotides that are
    compared as proteins."""


class PhaseWarning(InputWarning):
    """A local scoring in the linear phase: alignments of random letters grow with their number."""


class CheckpointError(PyswError, RuntimeError):
    """A checkpoint that belongs to another job, is damaged or in use, or cannot be written."""


class ClusterError(PyswError, RuntimeError):
    """A cluster without a scheduler or workers, or whose workers cannot do what they are asked."""


class Stopped(PyswError):
    """A run that ended at the time it was asked to, with a checkpoint to go on from."""


class CacheWarning(UserWarning):
    """Kernels or profiles that are kept elsewhere, or built again: a folder is full or damaged."""


class ProfileError(PyswError, RuntimeError):
    """A profile that cannot be read or written."""


class ProfileWarning(UserWarning):
    """A file with a profile that is ignored, because it is damaged or of another version."""


def warn(message: str, kind: type[Warning]) -> None:
    """Warn at the line that called this package (or a block of its own in between)."""
    level, frame, inside = 1, sys._getframe(), (__name__.partition(".")[0], "contextlib")
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] in inside:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, kind, stacklevel=level)


def shown(value: Any) -> str:
    """A value as a message shows it: on one line, at most 60 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def choice(value: Any, name: str, choices: Collection[str]) -> str:
    """The text ``value``, which is one of the ``choices``."""
    if isinstance(value, str) and value in choices:
        return str(value)
    *most, last = map(repr, choices)
    said = f"{', '.join(most)} or {last}" if len(most) < 3 else f"one of {', '.join([*most, last])}"
    raise InputError(f"{name} must be {said}, not {shown(value)}")


def is_flag(value: Any) -> bool:
    """Is it True or False, NumPy's or as 1 or 0?"""
    if isinstance(value, Integral):
        return value in (0, 1)
    return type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def flag(value: Any, name: str) -> bool:
    """The boolean ``value``."""
    if isinstance(value, bool) or is_flag(value):
        return bool(value)
    raise InputError(f"{name} must be True or False, not {shown(value)}")


def whole_number(value: Any, name: str, least: int, what: str = "", most: int | None = None) -> int:
    """The integer ``value``, at least ``least``, and at most ``most``; else the message says
    ``what`` it must be."""
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except Exception:
        number = least - 1
    if number < least:
        must = what or f"a whole number of at least {least}"
        raise InputError(f"{name} must be {must}, not {shown(value)}")
    if most is not None and number > most:
        raise InputError(f"{name} must be at most {most:,}, not {shown(value)}")
    return number


def items(value: Any, name: str) -> list[Any]:
    """What an iterable has, which is no text."""
    with suppress(Exception):
        if not isinstance(value, str | bytes | bytearray):
            return list(value)
    raise InputError(f"{name} must be a list, not {shown(value)}")


def is_iterable(value: Any) -> bool:
    """Can it be iterated over?  (An array of no dimension, which says it can, cannot.)"""
    return isinstance(value, Iterable) and getattr(value, "shape", None) != ()


def texts(value: Any, name: str) -> list[str]:
    """One text, or those of an iterable."""
    found = [value] if isinstance(value, str) else items(value, name)
    if not all(isinstance(one, str) for one in found):
        raise InputError(f"{name} must be a list of texts, not {shown(value)}")
    return found


def is_number(value: Any) -> bool:
    """Is it a finite real number that a float can hold?"""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except (OverflowError, ValueError):  # larger than any float
        return False


def file_name(value: Any, name: str) -> str:
    """The path ``value`` as text: not empty, without NUL, and of letters that file systems have."""
    try:
        path = os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else ""
        os.fsencode(path)
    except Exception:
        path = ""
    if not path or "\0" in path:
        raise InputError(f"{name} must be the name of a file or folder, not {shown(value)}")
    return path
