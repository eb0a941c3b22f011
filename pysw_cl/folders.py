"""Folders: of what ships with the package, and of the user's kernels and profiles.

In the source tree ``cl/`` and ``examples/`` stand beside ``pysw_cl/``; a wheel holds them inside
it.  They are found by path, not by import, so that a checkout always reads its own files, even if
another copy of the package is installed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from .errors import CacheWarning, InternalError, warn

TROUBLE = "docs/troubleshooting.md"
_PACKAGE = Path(__file__).resolve().parent


def shipped(folder: str, name: str) -> Path:
    """The path of file ``name`` (it may contain "/") of ``folder``, "cl" or "examples".  A file
    elsewhere is given by its absolute path.  Raises InternalError if there is no such file."""
    for root in (_PACKAGE, _PACKAGE.parent):
        path = root / folder / name
        if path.is_file():
            return path
    raise InternalError(f"{folder}/{name} is not where it was installed; reinstall pysw-cl")


@cache
def kernel_source(name: str) -> str:
    """The text of one OpenCL source, for example ``kernel_source("lanes/scalar32.clh")``."""
    return shipped("cl", name).read_text(encoding="ascii")


@cache
def kernels_digest() -> str:
    """16 hexadecimal digits that change with any text under cl/."""
    root = shipped("cl", "base.clh").parent
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(root).as_posix() for path in root.rglob("*.cl*")):
        text = kernel_source(name).encode("ascii")
        digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


@cache
def usual_cache() -> Path:
    """The cache folder that the system names; it need not exist."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("pysw-cl"))


@cache
def cache_folder() -> Path:
    """The user's cache folder: the usual one or, with a CacheWarning, one below TMPDIR."""
    usual = usual_cache()
    there = next(folder for folder in (usual, *usual.parents) if folder.exists())
    if usual.is_absolute() and os.access(there, os.W_OK | os.X_OK):
        return usual
    folder = next(temporary_folders(), usual)
    if folder != usual:
        say_elsewhere(folder, f"{usual} cannot be written")
    return folder


def say_elsewhere(folder: Path, why: str) -> None:
    """Warn that ``folder`` is used."""
    warn(f"kernels and profiles are kept in {folder}: {why} ({TROUBLE})", CacheWarning)


def temporary_folders() -> Iterator[Path]:
    """Folders below TMPDIR and in memory that this user alone can write."""
    for parent in (tempfile.gettempdir(), "/dev/shm"):
        user = getattr(os, "getuid", lambda: "user")()
        folder = Path(parent, f"pysw-cl-{user}")
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            facts = folder.lstat()
            ours = not folder.is_symlink() and not facts.st_mode & 0o022
            if user in ("user", facts.st_uid) and ours and os.access(folder, os.W_OK):
                yield folder
