"""Exact pairwise sequence alignment on any OpenCL device.

The public names are loaded when they are first used, so that importing the package (and the
command's ``--help``) needs neither NumPy nor an OpenCL driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .api import align as align
    from .api import resume as resume
    from .errors import PyswError as PyswError
    from .many import align_many as align_many
    from .opencl.device import DeviceInfo as DeviceInfo
    from .opencl.device import devices as devices
    from .plan import Plan as Plan
    from .results import Alignment as Alignment
    from .results import Stats as Stats
    from .sequences import Sequence as Sequence
    from .sequences import read_fasta as read_fasta
    from .top import align_top as align_top

_HOME = {
    "align": "api",
    "align_many": "many",
    "align_top": "top",
    "devices": "opencl.device",
    "DeviceInfo": "opencl.device",
    "Plan": "plan",
    "Alignment": "results",
    "Stats": "results",
    "Sequence": "sequences",
    "read_fasta": "sequences",
    "PyswError": "errors",
    "resume": "api",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
