"""Folders of the user's: where kernels and profiles are kept."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from .errors import CacheWarning

TROUBLE = "docs/troubleshooting.md"


@cache
def usual_cache() -> Path:
    """The cache folder that the system names; it need not exist."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("pysw-cl"))


@cache
def cache_folder() -> Path:
    """The cache folder of this user: the usual one, or one below TMPDIR, which a CacheWarning
    says once, if that cannot be written."""
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
    text = f"kernels and profiles are kept in {folder}: {why} ({TROUBLE})"
    warnings.warn(text, CacheWarning, stacklevel=2)


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
