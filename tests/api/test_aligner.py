"""`Aligner`: what the functions find, with options that are checked once."""

from __future__ import annotations

import multiprocessing
import pickle
import time
import warnings
from statistics import median
from typing import Any

import numpy as np
import pytest
from helpers import spy

import pysw_cl
from pysw_cl.api import aligner as module
from pysw_cl.errors import DeviceError, InputError, LettersWarning, PlanError, ScoringError
from pysw_cl.opencl import device
from pysw_cl.opencl.device import get_runtime
from pysw_cl.scoring import scoring

A, B = "TTGATTACAGGCATTTACA", "GATTCCAGGCTTTTTTACAGG"
PAIRS = [(A, B), (B, A), ("ACGT", "ACGT"), ("AAAA", "CCCC")]
REFERENCE = {"engine": "reference"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "global", "free_ends": True},
        {"strand": "both", "gap_cost": 1},
        {"sub_score": "NUC.4.4", "unknown": "N"},
        {"sub_score": (2, -1), "gap_cost": (2.5, 0.5), "plan": REFERENCE},
        {"mode": "global", "max_cost": 3, "prune": True},
    ],
)
def test_it_finds_what_the_functions_find(options: dict[str, Any]) -> None:
    aligner = pysw_cl.Aligner(**options)
    many = {name: value for name, value in options.items() if name not in ("max_cost", "prune")}
    for output in ("score", "ends", "path", "path"):
        for a, b in PAIRS[:3]:
            wanted = pysw_cl.align(a, b, output=output, **options)
            assert aligner.align(a, b, output=output) == wanted
    for output in ("score", "ends", "matches", "path"):
        for _ in range(2):
            found = aligner.align_many(PAIRS, output=output)
            assert found.tolist() == pysw_cl.align_many(PAIRS, output=output, **many).tolist()
    found = aligner.align_many(iter(PAIRS), output="path", min_score=3)
    assert found.tolist() == pysw_cl.align_many(PAIRS, output="path", min_score=3, **many).tolist()
    if options.get("mode") == "global":
        with pytest.raises(InputError, match="this Aligner's mode is global"):
            aligner.align_top(A, B)
    else:
        wanted = pysw_cl.align_top(A, B, k=4, min_score=2, **many)
        assert aligner.align_top(A, B, k=4, min_score=2) == wanted
    assert aligner.scoring.in_words in repr(aligner)


def test_arguments_of_a_call() -> None:
    aligner, told = pysw_cl.Aligner(), []
    ranges = {"query_range": (2, 9), "target_range": (0, 12)}
    assert aligner.align(A, B, **ranges) == pysw_cl.align(A, B, **ranges)
    assert aligner.align(A, B) == pysw_cl.align(A, B)  # the ranges are those of one call
    assert aligner.align_top(A, B, k=1, **ranges) == [aligner.align(A, B, **ranges)]
    aligner.align(A, B, progress=lambda done, total: told.append((done, total)))
    aligner.align_many(PAIRS, progress=lambda done, total: told.append((done, total)))
    aligner.align_top(A, B, progress=lambda done, total: told.append((done, total)))
    assert sum(done == total for done, total in told) >= 3
    assert pysw_cl.Aligner(kernel_times=True).align(A, B).stats.kernel_seconds


def test_what_is_wrong_is_said_at_once_or_by_the_call() -> None:
    with pytest.raises(ScoringError, match="a mismatch scores 3"):
        pysw_cl.Aligner((1, 3))
    with pytest.raises(InputError, match="strand must be"):
        pysw_cl.Aligner(strand="up")
    with pytest.raises(InputError, match="max_cost"):
        pysw_cl.Aligner(max_cost=7)
    with pytest.raises(DeviceError, match="matches no usable device"):
        pysw_cl.Aligner(device="no such device").align(A, B)
    with pytest.raises(PlanError):
        pysw_cl.Aligner(plan={"B": -1}).align(A, B)
    aligner = pysw_cl.Aligner()
    for output in ("matches", 3, ["path"]):
        with pytest.raises(InputError, match="output must be"):
            aligner.align(A, B, output=output)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair 1"):
        aligner.align_many([(A, B), (A, "AC!")], output="path")
    assert aligner.align_many(PAIRS)["score"].tolist() == [
        pysw_cl.align(*pair).score for pair in PAIRS
    ]


def test_the_plan_is_that_of_the_beginning() -> None:
    plan = {"engine": "reference"}
    aligner = pysw_cl.Aligner(plan=plan)
    plan["engine"] = "nonsense"
    assert aligner.align(A, B).plan.engine == "reference"


def test_a_matrix_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values, made = np.where(np.eye(4), 2, -3), list[Any]()
    spy(monkeypatch, scoring, "substitution_scores", before=lambda *given: made.append(given))
    aligner = pysw_cl.Aligner((values, "ACGT"), 2, plan=REFERENCE)
    values[:] = -9  # the caller's array may change
    for output in ("score", "path"):
        aligner.align(A, B, output=output)
        aligner.align_many(PAIRS, output=output)
    assert len(made) == 1
    wanted = pysw_cl.align(A, B, sub_score=(2, -3), gap_cost=2)
    assert aligner.align(A, B).cigar == wanted.cigar


def test_memory_is_kept_and_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair aligner is used again, unless a call failed; `close` and `with` free it."""
    made: list[Any] = []

    class Counted(module.PairAligner):
        def __init__(self, *given: Any) -> None:
            made.append(self)
            super().__init__(*given)

    monkeypatch.setattr(module, "PairAligner", Counted)
    with pysw_cl.Aligner() as aligner:
        for _ in range(3):
            aligner.align_many(PAIRS)
        assert len(made) == 1 and made[0]._engine is not None
        with pytest.raises(InputError):
            aligner.align_many([("A!", "A")])
        assert made[0]._engine is None  # freed
        aligner.align_many(PAIRS, output="path", min_score=3)
        assert len(made) == 2 and made[1]._engine is not None
        aligner.align_many(PAIRS, output="path")
        assert len(made) == 2
    assert all(one._engine is None for one in made)
    assert (
        aligner.align_many(PAIRS)["score"].tolist() == pysw_cl.align_many(PAIRS)["score"].tolist()
    )
    aligner.close()
    aligner.close()


def test_it_is_sent_to_other_processes() -> None:
    """By pickle, with its scoring; the memory on the device stays here."""
    aligner = pysw_cl.Aligner("BLOSUM62", device="cpu", strand="plus", plan=REFERENCE)
    proteins = [("MKWVTFISLL", "MKWVTFLL"), ("MKWVTF", "WVTF")]
    wanted = [aligner.align(*pair) for pair in proteins]
    aligner.align_many(proteins)
    again = pickle.loads(pickle.dumps(aligner))
    assert [again.align(*pair) for pair in proteins] == wanted and repr(again) == repr(aligner)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.starmap(aligner.align, proteins) == wanted


def test_what_is_kept_is_not_used_in_a_forked_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's threads do not exist there, so that a call would never end."""
    aligner = pysw_cl.Aligner()
    aligner.align_many(PAIRS)
    monkeypatch.setattr(device, "_used_in", -1)  # the process that used it is another one
    with pytest.raises(DeviceError, match="forked"):
        aligner.align_many(PAIRS)
    with pytest.raises(DeviceError, match="forked"):
        aligner.align(A, B)


def test_objects_of_pyopencl_stay_in_their_process() -> None:
    aligner = pysw_cl.Aligner(device=get_runtime("auto").device)
    assert aligner.align(A, B) == pysw_cl.align(A, B)
    with pytest.raises(InputError, match="name the device, as in device='gpu'"):
        pickle.dumps(aligner)


def test_warnings_are_those_of_the_caller() -> None:
    aligner, odd = pysw_cl.Aligner("BLOSUM62"), "MKWVTUFISLL"
    calls = (
        lambda: aligner.align(odd, odd),
        lambda: aligner.align_many([(odd, odd)]),
        lambda: aligner.align_top(odd, odd, k=1),
    )
    for call in calls:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
        assert [one.category for one in said] == [LettersWarning]
        assert said[0].filename == __file__


def test_small_pairs_take_less_time_with_a_matrix() -> None:
    """By far: the scoring is made once."""
    values = np.where(np.eye(24), 5, -4)
    given = {"sub_score": (values, "ARNDCQEGHILKMFPSTWYVBZX*"), "gap_cost": (11, 1)}
    aligner = pysw_cl.Aligner(**given, plan=REFERENCE)
    protein = "MKW"
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(30):
        for taken, call in zip(
            seconds,
            (
                lambda: aligner.align(protein, protein, output="score"),
                lambda: pysw_cl.align(protein, protein, output="score", plan=REFERENCE, **given),
            ),
            strict=True,
        ):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    assert median(seconds[0]) < median(seconds[1])
