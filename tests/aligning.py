"""``pysw_cl.align`` as the tests of it use it: plans that cut small pairs up, and one check."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers import Case, FreeEnds, decode, encode
from hypothesis import strategies as st
from numpy.typing import NDArray
from tuned import tuned
from whole_reference import align_reference

import pysw_cl
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.lane_sets import LANE_SETS
from pysw_cl.planning.plan import FORMS
from pysw_cl.scoring.scoring import Scoring

NO_FREE_ENDS: FreeEnds = (False, False, False, False)
MOVE_OF_OP = {"=": 0, "X": 0, "D": 1, "I": 2}


@dataclass(frozen=True)
class Kernels:
    """The part of a plan that kernels are built for: few of them, because building takes long."""

    lanes: str
    T: int
    alpha: int
    form: str

    def __str__(self) -> str:
        return f"{self.lanes}-{self.T}x{self.alpha}-{self.form}"

    def plan(self, **settings: Any) -> dict[str, Any]:
        """A plan for ``align``; a few work-groups and short portions unless told otherwise."""
        return {**vars(self), "B": 3, "chunk": 5, **settings}


#: One strip is 8 rows, so that a small pair has many; with both forms.
SMALL = [Kernels(lanes, 4, 2, form) for lanes in ("vector", "vector32") for form in FORMS]
#: What a CPU gets by default.
USUAL = Kernels("vector", 64, 16, "ticketed")
#: One lane of one row; an odd number of rows; more rows a lane than one word of moves holds.
ODD = [
    Kernels("vector32", 1, 1, "two-phase"),
    Kernels("vector32", 2, 3, "ticketed"),
    Kernels("vector32", 8, 9, "two-phase"),
]
#: Work-items, two of them: a group of four takes a CPU's compiler three times as long.
SCALAR = [Kernels("scalar32", 2, 2, form) for form in FORMS]
ALL = [*SMALL, USUAL, *ODD, *SCALAR]


def needs_lanes(kernels: Kernels | str) -> None:
    """Skip a test whose lanes the device at hand does not run."""
    lanes = kernels if isinstance(kernels, str) else kernels.lanes
    runtime = get_runtime("auto")
    if lanes.startswith("vector") and runtime.info.kind != "cpu":
        pytest.skip(f"vector lanes are for CPUs, and {runtime.info.name} is none")
    if lanes in runtime.traits.refused_lanes or (
        lanes == "warp32" and "packed" in runtime.traits.refused_lanes
    ):
        pytest.skip(f"{lanes} lanes: {runtime.facts.why['refused_lanes']}")


def cuts(cells: int = 600) -> st.SearchStrategy[dict[str, Any]]:
    """The part of a plan that needs no other kernels: where things are cut, tiles of ``cells``
    cells or more.  "grid" is (pieces, side) of the traceback's saved grid."""
    return st.fixed_dictionaries(
        {
            "B": st.sampled_from([1, 2, 3, 7]),
            "chunk": st.sampled_from([1, 5, 1024]),
            "tile_cells": st.sampled_from([cells, 8 * cells, 1 << 33]),
            "traceback_tile_cells": st.sampled_from([64, 2000, 1 << 24]),
            "grid": st.sampled_from([(16, 2048), (3, 8), (16, 30)]),
        }
    )


def small_grid(pieces: int, side: int) -> AbstractContextManager[Any]:
    """Saved grids of at most ``pieces`` pieces a side, none shorter than ``side``."""
    return tuned({"traceback.pieces": pieces, "traceback.least_side": side})


def sub_score(scoring: Scoring) -> tuple[NDArray[np.int32], str]:
    """A scoring of ``helpers`` as ``align`` takes it."""
    return scoring.matrix, scoring.letters


def align_case(case: Case, mode: str, free_ends: FreeEnds, **options: Any) -> pysw_cl.Alignment:
    """``align`` on a case's letters."""
    scoring = case.scoring
    affine = (scoring.gap_open, scoring.gap_extend)
    return pysw_cl.align(
        decode(case.query, scoring),
        decode(case.target, scoring),
        mode=mode,
        free_ends=free_ends if mode == "global" else False,
        sub_score=sub_score(scoring),
        gap_cost=affine if scoring.gap_open else scoring.gap_extend,
        allow_odd_scoring=True,
        **options,
    )


def moves(found: pysw_cl.Alignment) -> NDArray[np.uint8]:
    """The moves of a path: 0 diagonal, 1 consumes target, 2 consumes query."""
    assert found.runs is not None
    parts = [np.full(length, MOVE_OF_OP[op], np.uint8) for op, length in found.runs]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint8)


def ends(found: Any) -> tuple[Any, ...]:
    """(query start and end, target start and end)."""
    return found.query_start, found.query_end, found.target_start, found.target_end


def check(case: Case, mode: str, free_ends: FreeEnds, kernels: Kernels, **settings: Any) -> Any:
    """Score, ends and path, letter for letter, are those of the reference, and the engine, lanes
    and width that this means are the ones that ran."""
    grid = settings.pop("grid", (16, 2048))
    prune = settings.pop("prune", True)
    with small_grid(*grid):
        found = align_case(
            case, mode, free_ends, prune=prune, plan=kernels.plan(**settings), device="auto"
        )
    expected = align_reference(case.query, case.target, case.scoring, mode, free_ends)
    scoring = case.scoring
    what = (
        f"{mode} {free_ends} {kernels} {settings} {grid=} {prune=} "
        f"query={decode(case.query, scoring)} target={decode(case.target, scoring)} "
        f"gaps={scoring.gap_open},{scoring.gap_extend} matrix={scoring.matrix.tolist()}"
    )
    assert found.score == expected.score, what
    assert ends(found) == ends(expected), what
    assert moves(found).tolist() == expected.moves.tolist(), what
    assert found.rescore() == expected.score, what
    ran_here(found, kernels)
    return found


def ran_here(found: pysw_cl.Alignment, kernels: Kernels) -> None:
    """Every cell was computed by the wavefront with these lanes in 32 bits."""
    kinds = set(found.stats.cells)
    family = f"wavefront/{LANE_SETS[kernels.lanes].family}/"
    assert all(kind.startswith(family) for kind in kinds), kinds
    plan = found.plan
    used = Kernels(plan.lanes, plan.T, plan.alpha, plan.form)
    assert (plan.engine, used) == ("wavefront", kernels)
    assert found.stats.launches > 0


def case_of(query: str, target: str, scoring: Scoring) -> Case:
    """A case from text."""
    return Case(encode(query, scoring), encode(target, scoring), scoring)
