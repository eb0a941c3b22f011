"""BED: its lines, and that bedtools reads them as they are meant."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from writing import PLAN, named, random_pairs, random_results, written

import pysw_cl
from pysw_cl.errors import InputError

needs_bedtools = pytest.mark.skipif(shutil.which("bedtools") is None, reason="needs bedtools")


def test_a_line() -> None:
    query, target = named("r 1", "CCTGTAATCGG"), named("chr1", "TTTGATTACATTAA")
    r = pysw_cl.align(query, target, strand="both", plan=PLAN)
    assert written(r, "bed") == "chr1\t3\t10\tr_1\t7\t-\n"
    halves = pysw_cl.align(query, target, sub_score=(1.5, -2), gap_cost=9, plan=PLAN)
    assert written(halves, "bed").split("\t")[4] == f"{halves.score}"
    assert written(pysw_cl.align("AAAA", "CCCC", plan=PLAN), "bed") == ""


def test_many_pairs() -> None:
    pairs = random_pairs(30)
    rows = pysw_cl.align_many(pairs, output="path", strand="both", plan=PLAN)
    alone = [pysw_cl.align(*pair, strand="both", plan=PLAN) for pair in pairs]
    assert written(rows, "bed", pairs=pairs) == written(alone, "bed")


@pytest.mark.parametrize("name", ["track7", "browser", "#1"])
def test_targets_that_readers_leave_out(name: str) -> None:
    r = pysw_cl.align(named("track", "ACGT"), named(name, "ACGT"), plan=PLAN)
    with pytest.raises(InputError, match=f"BED cannot hold the target name '{name}'"):
        written(r, "bed")


@needs_bedtools
def test_bedtools_reads_it(tmp_path: Path) -> None:
    """The letters that it cuts from the targets are those that the paths have."""
    results = [r for r in random_results(40) if r.query_start != r.query_end]
    results = [r for r in results if r.target_start != r.target_end]
    fasta, bed = tmp_path / "t.fa", tmp_path / "x.bed"
    fasta.write_text("".join(f">{r.target.name}\n{r.target}\n" for r in results))
    pysw_cl.write(results, bed)
    argv = ["bedtools", "getfasta", "-fi", fasta, "-bed", bed, "-tab", "-name+"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        f"{r.query.name}::{r.target.name}:{r.target_start}-{r.target_end}\t"
        f"{str(r.target)[r.target_start : r.target_end]}"
        for r in results
    ]
