"""Exact pairwise sequence alignment on any OpenCL device.

The public names are loaded when they are first used, so that importing the package (and the
command's ``--help``) needs neither NumPy nor an OpenCL driver.
"""

from __future__ import annotations

from ._version import __version__

TYPE_CHECKING = False  # as in `typing`, which takes a moment to load
if TYPE_CHECKING:
    from typing import Any

    from .api.align import align as align
    from .api.align import align_top as align_top
    from .api.align import resume as resume
    from .api.aligner import Aligner as Aligner
    from .api.ends import best_ends as best_ends
    from .api.ends import trace_ends as trace_ends
    from .api.files import read as read
    from .api.files import write as write
    from .api.files import write_sequences as write_sequences
    from .api.many import align_many as align_many
    from .api.many import align_paths as align_paths
    from .api.predict import plan as plan
    from .api.predict import predict as predict
    from .api.prepare import prepare as prepare
    from .api.profiles import profile as profile
    from .api.tune import tune as tune
    from .drivers.prepared import Batch as Batch
    from .drivers.progress import Stage as Stage
    from .errors import PyswError as PyswError
    from .opencl.listing import DeviceInfo as DeviceInfo
    from .opencl.listing import devices as devices
    from .planning.model.predict import Choice as Choice
    from .planning.model.predict import Prediction as Prediction
    from .planning.plan import Plan as Plan
    from .planning.profiles.profile import Profile as Profile
    from .results.alignment import Alignment as Alignment
    from .results.stats import Stats as Stats
    from .results.tables import to_dicts as to_dicts
    from .results.tables import to_numpy as to_numpy
    from .results.tables import to_pandas as to_pandas
    from .scoring import gaps as gaps
    from .scoring.positions import PositionMatrix as PositionMatrix
    from .sequences.coded import Alphabet as Alphabet
    from .sequences.reading import read_fasta as read_fasta
    from .sequences.reading import read_sequences as read_sequences
    from .sequences.sequence import Sequence as Sequence
    from .sequences.sequence import reverse_complement as reverse_complement
    from .sequences.sequence_set import SequenceSet as SequenceSet

_HOME = {
    "Aligner": "api.aligner",
    "Alphabet": "sequences.coded",
    "Batch": "drivers.prepared",
    "align": "api.align",
    "align_many": "api.many",
    "align_paths": "api.many",
    "align_top": "api.align",
    "best_ends": "api.ends",
    "trace_ends": "api.ends",
    "tune": "api.tune",
    "devices": "opencl.listing",
    "read": "api.files",
    "write": "api.files",
    "plan": "api.predict",
    "predict": "api.predict",
    "prepare": "api.prepare",
    "profile": "api.profiles",
    "write_sequences": "api.files",
    "DeviceInfo": "opencl.listing",
    "Choice": "planning.model.predict",
    "Prediction": "planning.model.predict",
    "Plan": "planning.plan",
    "Profile": "planning.profiles.profile",
    "Alignment": "results.alignment",
    "Stats": "results.stats",
    "to_dicts": "results.tables",
    "to_numpy": "results.tables",
    "to_pandas": "results.tables",
    "PositionMatrix": "scoring.positions",
    "Sequence": "sequences.sequence",
    "SequenceSet": "sequences.sequence_set",
    "read_fasta": "sequences.reading",
    "read_sequences": "sequences.reading",
    "reverse_complement": "sequences.sequence",
    "PyswError": "errors",
    "resume": "api.align",
    "Stage": "drivers.progress",
}

#: Modules that are public under a short name.
_MODULES = {"gaps": "scoring.gaps"}

__all__ = ["__version__", *sorted([*_HOME, *_MODULES])]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
