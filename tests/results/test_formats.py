"""The registry of formats, and rows from `align` and from `align_many`."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from pysw_cl import align, align_many
from pysw_cl.drivers.options import ManyOptions
from pysw_cl.results.cigar import Runs
from pysw_cl.results.formats import FORMATS, make_writer, usual_format
from pysw_cl.results.formats.columns import TableRows
from pysw_cl.results.formats.short import COLUMNS
from pysw_cl.results.formats.writer import Row, Setting, row_of
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences.sequence import Sequence, as_letters

PLAN = {"engine": "reference"}
TEXTS = ["ACGTTACGATTGCA", "ACGTACGATAGCA", "TTTTTT", "GGGG"]
RECORDS = [Sequence(f"s {k}" if k else "", "", as_letters(text)) for k, text in enumerate(TEXTS)]
PAIRS = [(a, b) for a in RECORDS for b in RECORDS]
TARGETS = [(one.name, len(one)) for one in RECORDS]
#: Arguments of both functions, one set with scores in halves.
ASKED: list[dict[str, Any]] = [
    {},
    {"mode": "global", "free_ends": (True, False)},
    {"sub_score": (2, -1.5), "gap_cost": (0.5, 1)},
]


def rows(asked: dict[str, Any], output: str) -> tuple[list[Row], list[Row]]:
    """The rows of all pairs, from `align` and from `align_many`."""
    alone = [row_of(align(a, b, output=output, plan=PLAN, **asked)) for a, b in PAIRS]
    table = align_many(PAIRS, output=output, plan=PLAN, **asked)
    options = ManyOptions(**asked)
    common = {"mode": options.mode, "free_ends": options.free, "scoring": options.scoring}
    return alone, list(TableRows(PAIRS, table, common))


@pytest.mark.parametrize("asked", ASKED, ids=["local", "global", "halves"])
@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_rows_of_both_are_equal(asked: dict[str, Any], output: str) -> None:
    alone, together = rows(asked, output)
    assert [row[:-1] for row in alone] == [row[:-1] for row in together]
    setting = Setting(output, ManyOptions(**asked).scoring, targets=TARGETS)
    for name, one in FORMATS.items():
        if output in one.outputs:
            ours, theirs = make_writer(name, setting), make_writer(name, setting)
            texts = [ours.text([row]) for row in alone] + [ours.end()]
            assert "".join(texts) == theirs.text(together) + theirs.end()


def table(rows: Any, output: str) -> str:
    """The lines of a table."""
    return make_writer("tsv", Setting(output)).text(rows)


def test_no_pairs() -> None:
    table = align_many([], plan=PLAN)
    assert list(TableRows([], table, {"mode": "local", "scoring": make_scoring()})) == []


def test_rows_of_strands() -> None:
    kinds = [("score", int), ("query_start", int), ("query_end", int), ("target_end", int)]
    rows = np.array([(-1, 5, -1, 8, "minus"), (3, -1, 4, 0, "plus")], [*kinds, ("strand", "U5")])
    found = list(TableRows(PAIRS[:2], rows, {"mode": "local", "scoring": make_scoring()}))
    assert [row[2:7] for row in found] == [
        (-1, "minus", 5, None, None),
        (3, "plus", None, 4, None),
    ]
    assert [row.target_end for row in found] == [8, 0]
    assert table(found[:1], "ends").endswith("\t-\t-1\t5\t\t8\n")
    assert table(TableRows(PAIRS[:2], rows, {}), "ends") == table(found, "ends")


@pytest.mark.parametrize("output", ["score", "ends", "path"])
def test_every_line_of_a_table_has_the_columns_of_its_header(output: str) -> None:
    names = make_writer("tsv", Setting(output)).header().rstrip("\n").split("\t")
    assert names == list(COLUMNS[output])
    for row in rows({}, output)[0]:
        entry = table([row], output)
        assert entry.endswith("\n")
        assert len(entry.rstrip("\n").split("\t")) == len(names)


def test_table() -> None:
    r = align(RECORDS[1], RECORDS[0], plan=PLAN, gap_cost=1)
    assert (r.matches, r.columns) == (12, 15)
    assert table([row_of(r)], "path") == (
        f"s_1\t13\ttarget\t14\t+\t{r.score}\t0\t13\t0\t14\t12\t15\t0.8000\t{r.cigar}\n"
    )


def test_registry() -> None:
    assert {output: usual_format(output) for output in ("score", "ends", "path")} == {
        "score": "tsv",
        "ends": "tsv",
        "path": "paf",
    }
    for name, one in FORMATS.items():
        assert one.about
        for output in one.outputs:
            assert isinstance(make_writer(name, Setting(output)).header(), str)


def test_the_registry_needs_no_numpy() -> None:
    code = "import sys, pysw_cl.results.formats.writer; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("cigar", ["", "7=", "3=1X1D10=2I1="])
def test_runs_of_a_cigar(cigar: str) -> None:
    assert Runs.of_cigar(cigar).cigar == cigar
