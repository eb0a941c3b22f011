"""An odd value of any argument of any public function is taken, or is an error of the package."""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from Bio.Seq import Seq
from odd_values import Angry, odd_values

import pysw_cl
from pysw_cl import gaps
from pysw_cl.errors import PyswError

A, B = "ACGTTACGATTGCA", "ACGTACGATAGCA"
PAIR: dict[str, Any] = {"a": A, "b": B}
PAIRS: dict[str, Any] = {"pairs": [(A, B)]}


def listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with what it yields read to its end."""

    def read(*args: Any, **given: Any) -> list[Any]:
        return list(function(*args, **given))

    read.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return read


def same(function: Callable[..., Any], value: Any) -> dict[str, Any]:
    """All arguments of a function with one value."""
    return dict.fromkeys(inspect.signature(function).parameters, value)


def calls() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public function, with arguments that it takes."""
    found, one, batch = pysw_cl.align(A, B), pysw_cl.Aligner(), pysw_cl.Batch.from_arrays
    file, rows = {"path": "nofile.fa"}, pysw_cl.align_many(**PAIRS)
    return {
        "align": (pysw_cl.align, PAIR),
        "align_many": (pysw_cl.align_many, PAIRS),
        "align_paths": (pysw_cl.align_paths, PAIRS),
        "align_top": (pysw_cl.align_top, PAIR),
        "best_ends": (pysw_cl.best_ends, PAIR),
        "trace_ends": (pysw_cl.trace_ends, {**PAIR, "ends": [(4, 4, 4)]}),
        "plan": (pysw_cl.plan, {"m": 100, "n": 100}),
        "predict": (pysw_cl.predict, {"a": 100, "b": 100}),
        "prepare": (pysw_cl.prepare, {"kinds": []}),
        "profile": (pysw_cl.profile, {}),
        "tune": (pysw_cl.tune, {"subjects": [], "budget": 1, "resume": False}),
        "resume": (pysw_cl.resume, {"checkpoint": "nofolder"}),
        "plot": (found.plot, {"path": "nofolder/a.png"}),
        "read": (listed(pysw_cl.read), {"path": "nofile.paf"}),
        "read_sequences": (listed(pysw_cl.read_sequences), file),
        "read_fasta": (listed(pysw_cl.read_fasta), file),
        "reverse_complement": (pysw_cl.reverse_complement, {"x": A}),
        "to_dicts": (pysw_cl.to_dicts, {"results": found}),
        "to_numpy": (pysw_cl.to_numpy, {"results": found}),
        "to_pandas": (pysw_cl.to_pandas, {"results": found}),
        "write": (pysw_cl.write, {"results": found, "path": io.StringIO(), "format": "paf"}),
        "write a table": (
            pysw_cl.write,
            {"results": rows, "path": io.StringIO(), "format": "tsv", **PAIRS},
        ),
        "write_sequences": (
            pysw_cl.write_sequences,
            {"sequences": [A], "path": io.StringIO(), "format": "fasta"},
        ),
        "Aligner": (pysw_cl.Aligner, {}),
        "Aligner.align": (one.align, PAIR),
        "Aligner.align_many": (one.align_many, PAIRS),
        "Aligner.align_top": (one.align_top, PAIR),
        "coordinate_map": (found.coordinate_map, {}),
        "Batch.from_arrays": (batch, same(batch, [0, 1])),
        "Batch.from_sequences": (pysw_cl.Batch.from_sequences, PAIRS),
        **{
            f"gaps.{name}": (function, same(function, 2))
            for name, function in vars(gaps).items()
            if inspect.isfunction(function) and name.startswith("from_")
        },
    }


def wrong_with(function: Callable[..., Any], given: dict[str, Any], name: str) -> list[str]:
    """What becomes of odd values of this argument that is no result and no error of the package."""
    wrong = []
    for k, value in enumerate(odd_values()):
        if name in ("progress", "on_bad") and callable(value):
            continue  # what the caller's own function raises
        if name == "k" and isinstance(value, int) and value > 2**29:
            continue
        if name == "subjects" and value is None:
            continue  # a whole tuning
        if name in ("pairs", "results", "sequences") and isinstance(value, Angry | Seq):
            continue  # what the caller's own iterable raises
        if name == "path" and hasattr(value, "metadata"):
            continue  # a sequence of scikit-bio writes as streams do, but something else
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(**{**given, name: value})
        except PyswError as error:
            if "\n" in str(error) and name not in ("path", "checkpoint"):
                wrong.append(f"{name}, value {k}: {error}")
        except Exception as error:
            wrong.append(
                f"{name}, value {k}, {type(value).__name__}: {type(error).__name__} {error}"
            )
    return wrong


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name == "plot")) for name in calls()],
)
def test_odd_values(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, given = calls()[name]
    wrong = []
    for argument, one in inspect.signature(function).parameters.items():
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            wrong += wrong_with(function, given, argument)
    assert not wrong, "\n".join([f"{len(wrong)} of {name}", *wrong])


def test_there_are_as_many_as_said() -> None:
    assert len(odd_values()) >= 120
