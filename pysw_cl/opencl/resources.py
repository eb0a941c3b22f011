"""Files that ship with the package: OpenCL sources and example sequences.

In the source tree ``cl/`` and ``examples/`` stand beside ``pysw_cl/``; a wheel holds them inside
it.  They are found by path, not by import, so that a checkout always reads its own files, even if
another copy of the package is installed.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from ..errors import InternalError

_PACKAGE = Path(__file__).resolve().parent.parent


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
