"""Exact pairwise sequence alignment on any OpenCL device.

The public names are loaded when they are first used, so that importing the package (and the
command's ``--help``) needs neither NumPy nor an OpenCL driver."""

from __future__ import annotations

from ._version import __version__

TYPE_CHECKING = False  # as in `typing`, which takes a moment to load
if TYPE_CHECKING:
    from typing import Any

    from .api.align import align as align, resume as resume
    from .api.aligner import Aligner as Aligner
    from .api.ends import best_ends as best_ends, trace_ends as trace_ends
    from .api.files import read as read, write as write, write_sequences as write_sequences
    from .api.fits import best_fits as best_fits
    from .api.many import align_many as align_many, align_paths as align_paths
    from .api.predict import plan as plan, predict as predict, profile as profile
    from .api.prepare import prepare as prepare
    from .api.statistics import score_statistics as score_statistics
    from .api.tune import tune as tune
    from .database.database import Database as Database
    from .database.hits import Hit as Hit, Hits as Hits
    from .database.matrix import score_matrix as score_matrix
    from .database.search import Searcher as Searcher, search as search
    from .database.sets import align_stars as align_stars, score_matrices as score_matrices
    from .drivers.prepared import Batch as Batch
    from .drivers.progress import Stage as Stage
    from .errors import PyswError as PyswError
    from .opencl.listing import DeviceInfo as DeviceInfo, devices as devices
    from .planning.model.predict import Choice as Choice, Prediction as Prediction
    from .planning.plan import Plan as Plan
    from .planning.profiles.profile import Profile as Profile
    from .results.alignment import (
        Alignment as Alignment,
        to_dicts as to_dicts,
        to_numpy as to_numpy,
        to_pandas as to_pandas,
    )
    from .results.stats import Stats as Stats
    from .scoring import gaps as gaps
    from .scoring.positions import PositionMatrix as PositionMatrix
    from .sequences.coded import Alphabet as Alphabet
    from .sequences.reading import read_fasta as read_fasta, read_sequences as read_sequences
    from .sequences.sequence import Sequence as Sequence, reverse_complement as reverse_complement
    from .sequences.sequence_set import SequenceSet as SequenceSet

#: Where the public names are.
_HOME = {
    name: module
    for module, names in {
        "api.align": "align resume",
        "api.top": "align_top",
        "api.aligner": "Aligner",
        "api.ends": "best_ends trace_ends",
        "api.files": "read write write_sequences",
        "api.fits": "best_fits",
        "api.many": "align_many align_paths",
        "api.predict": "plan predict profile",
        "api.prepare": "prepare",
        "api.statistics": "score_statistics",
        "api.tune": "tune",
        "database.database": "Database",
        "database.hits": "Hit Hits",
        "database.matrix": "score_matrix",
        "database.search": "Searcher search",
        "database.sets": "align_stars score_matrices",
        "drivers.prepared": "Batch",
        "drivers.progress": "Stage",
        "errors": "PyswError",
        "opencl.listing": "DeviceInfo devices",
        "planning.model.predict": "Choice Prediction",
        "planning.plan": "Plan",
        "planning.profiles.profile": "Profile",
        "results.alignment": "Alignment to_dicts to_numpy to_pandas",
        "results.stats": "Stats",
        "scoring.gaps": "gaps",
        "scoring.positions": "PositionMatrix",
        "sequences.coded": "Alphabet",
        "sequences.reading": "read_fasta read_sequences",
        "sequences.sequence": "Sequence reverse_complement",
        "sequences.sequence_set": "SequenceSet",
    }.items()
    for name in names.split()
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_HOME[name]}", __name__)
    value = globals()[name] = module if name == "gaps" else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
