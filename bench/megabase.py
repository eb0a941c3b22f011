#!/usr/bin/env python3
"""Long pairs on one device: genomes, paths, pruning, bands, memory; every result is verified.

    python bench/megabase.py [--only TEXT] [--device auto] [--json FILE] [--data FOLDER]
                             [--seconds MOST]

Genomes are read from FOLDER (default: the environment's PYSW_CL_TEST_DATA, then ../shared/data);
cases whose data or whose argument of `align` is missing are left out and named.  On a GPU the
generated pairs are longer (5 Mb instead of 1 Mb).  A wrong result, or a bar that is missed, ends
with exit code 1; bars are for a quiet machine: 2 cores with PoCL, or an H200.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import ROOT, Bench, Letters, Row, check, pysw_cl, similar_pair
from pair import Case, run_cases

from pysw_cl.drivers.progress import Stage

MEGABASE = 1_000_000
#: Runs that are compared with as many others, in turn.
RUNS = 3
#: What is left of two chromosomes of human and chimpanzee (21) without their gaps, about.
CHROMOSOMES = 33_000_000, 47_000_000
#: A score of the E. coli pair as deposited, one strand; both strands reach at least it.
COLI_FORWARD = 5232
#: Share of the letters that differ in them.
CHROMOSOME_DIVERGENCE = 0.015
#: Share of the letters that differ in a pair for bands.
DIVERGENCE = 0.01


class Stop(Exception):
    """Ends a run whose speed is known."""


def random_letters(n: int, seed: int) -> bytes:
    """Random DNA."""
    letters = np.frombuffer(b"ACGT", np.uint8)
    return letters[np.random.default_rng([n, seed]).integers(0, 4, n)].tobytes()


def diverged(letters: bytes, share: float) -> bytes:
    """A copy with a share of its letters replaced by others, and a gap of 200 in its middle."""
    rng = np.random.default_rng(len(letters))
    codes = np.frombuffer(letters, np.uint8)
    at = np.flatnonzero(rng.random(len(codes)) < share)
    copy = codes.copy()
    copy[at] = rng.choice(np.frombuffer(b"ACGT", np.uint8), len(at))
    return np.delete(copy, slice(len(codes) // 2, len(codes) // 2 + 200)).tobytes()


class Mega:
    """The cases on one device."""

    def __init__(self, bench: Bench, data: Path, most_seconds: float | None) -> None:
        self.bench, self.data, self.most_seconds = bench, data, most_seconds
        self.gpu = bench.info.kind == "gpu"
        self.length = 5 * MEGABASE if self.gpu else MEGABASE

    def align(self, pair: Any, **options: Any) -> tuple[float, Any]:
        """Seconds, and the result, whose path, if there is one, scores what it says."""
        started = time.perf_counter()
        r = pysw_cl.align(*pair, device=self.bench.device, **options)
        seconds = time.perf_counter() - started
        if r.runs is not None:
            check("the path's score", r.rescore(), r.score)
        return seconds, r

    def warm(self, pair: Any, **options: Any) -> tuple[float, Any]:
        """As `align`; on a GPU, where kernels take longer to build than most runs, the second
        time."""
        if self.gpu:
            self.align(pair, **options)
        return self.align(pair, **options)

    def row(self, case: str, seconds: float, r: Any, verified: str, **figures: Any) -> Row:
        """The figures of one run."""
        cells = len(r.query) * len(r.target)
        return {
            "case": case,
            "seconds": seconds,
            "runs": 1,
            "gcups": cells / seconds / 1e9,
            "plan": str(r.plan),
            "cells": r.stats.cells,
            "device_bytes": r.stats.device_bytes,
            "score": r.score,
            "verified": verified,
            **figures,
        }

    def genomes(self, *names: str) -> list[Any]:
        """The first record of each file."""
        return [next(iter(pysw_cl.read_fasta(self.data / "dna" / name))) for name in names]

    def pylori(self, case: str) -> Row:
        """The first 1 Mb of two Helicobacter pylori genomes, with the path."""
        records = self.genomes("NC_011333.1.fasta.gz", "NC_017371.1.fasta.gz")
        pair = [record.letters[:MEGABASE].tobytes() for record in records]
        seconds, r = self.warm(pair)
        _, ends = self.align(pair, output="ends", prune=False)
        found = r.score, r.query_end, r.target_end
        check(case, found, (ends.score, ends.query_end, ends.target_end))
        return self.row(case, seconds, r, "score and end without pruning; path re-scored")

    def coli(self, case: str) -> Row:
        """Two Escherichia coli genomes, one deposited on the other strand."""
        pair = self.genomes("NC_000913.3.fasta.gz", "NC_017625.1.fasta.gz")
        seconds, r = self.align(pair, strand="both")
        check(f"{case}: a score above that of the deposited strands", r.score > COLI_FORWARD, True)
        return self.row(case, seconds, r, "path re-scored")

    def path_over_score(self, case: str) -> Row:
        """How much longer the path takes than the score, all cells computed."""
        pair = similar_pair(self.length)

        def path() -> tuple[float, Any]:
            return self.align(pair, prune=False)

        return self.beside_score(case, pair, path, "the score alone; path re-scored")

    def checkpoint(self, case: str) -> Row:
        """How much longer the score takes when rows are saved, 1 GB for 25 Tcells at most."""
        pair = similar_pair(self.length)
        size = len(pair[0]) * len(pair[1]) // 25_000

        def saved() -> tuple[float, Any]:
            with tempfile.TemporaryDirectory() as folder:
                return self.align(
                    pair, output="score", prune=False, checkpoint=folder, disk_size=size
                )

        return self.beside_score(case, pair, saved, "the score without")

    def beside_score(
        self, case: str, pair: Any, other: Callable[[], tuple[float, Any]], verified: str
    ) -> Row:
        """A row with how many times as long as the score alone another run takes: on a GPU, where
        kernels are to be built, the medians of some runs in turn after one of each."""
        alone, seconds = [], []
        for _ in range(1 + RUNS if self.gpu else 1):
            score_seconds, score = self.align(pair, output="score", prune=False)
            more, r = other()
            check(case, r.score, score.score)
            alone.append(score_seconds)
            seconds.append(more)
        middle, base = (median(times[-RUNS:]) for times in (seconds, alone))
        row = self.row(case, middle, r, verified, times=middle / base)
        return row | {"runs": len(seconds[-RUNS:]), "all_seconds": seconds, "all_alone": alone}

    def identical(self, case: str) -> Row:
        """The share of the matrix that pruning leaves out when both sequences are the same."""
        letters = random_letters(self.length, 1)
        seconds, r = self.align((letters, letters), output="ends")
        whole = (self.length,) * 3
        check(case, (r.score, r.query_end, r.target_end), whole)
        pruned = r.stats.pruned / self.length**2
        return self.row(case, seconds, r, "score and end known", pruned=pruned)

    def band(self, case: str) -> Row:
        """A global path of similar sequences: the share of the matrix that is computed."""
        letters = random_letters(self.length, 2)
        pair: Letters = letters, diverged(letters, DIVERGENCE)
        seconds, r = self.align(pair, mode="global")
        _, whole = self.align(pair, mode="global", output="score", max_cost=None)
        check(case, r.score, whole.score)
        computed = r.stats.total_cells / (len(r.query) * len(r.target))
        return self.row(case, seconds, r, "all cells; path re-scored", computed=computed)

    def chromosomes(self, case: str, prune: bool) -> Row:
        """Two sequences as long as chromosomes: the time that the first 5% tell, and memory; on a
        GPU, if nobody asked for less, also the time that the whole takes."""
        letters, more = random_letters(CHROMOSOMES[0], 3), CHROMOSOMES[1] - CHROMOSOMES[0]
        copy = diverged(letters, CHROMOSOME_DIVERGENCE)
        pair: Letters = letters, random_letters(more // 2, 4) + copy + random_letters(more // 2, 5)
        most = self.most_seconds or (None if self.gpu else 20)
        told: list[tuple[float, float, float]] = []
        started = time.perf_counter()

        def tell(done: int, total: int, stage: Stage) -> None:
            seconds = time.perf_counter() - started
            left = (stage.work_left or 0) * seconds / max(1, stage.work_done or 0)
            told.append((done / total, seconds, seconds + left))
            print(f"{done / total:.3f} done in {seconds:.1f} s", file=sys.stderr, flush=True)
            if most is not None and seconds > most:
                raise Stop

        before, found = peak(), {}
        with contextlib.suppress(Stop):
            _, r = self.align(pair, output="ends", prune=prune, progress=tell)
            found = {"score": r.score, "end": [r.query_end, r.target_end]}
            found |= {"device_bytes": r.stats.device_bytes, "pruned": r.stats.pruned}
            found["cells"] = r.stats.cells
        share, _, early = next((one for one in told if one[0] >= 0.05), told[-1])
        seconds = told[-1][2]
        return {
            "case": case,
            "seconds": seconds,
            "runs": 1,
            "gcups": len(pair[0]) * len(pair[1]) / seconds / 1e9,
            "estimate": early,
            "estimate_off": abs(early / seconds - 1),
            "more_bytes": peak() - before,
            "verified": f"{told[-1][0]:.1%} of the cells, estimate from {share:.1%}",
            **found,
        }


def peak() -> int:
    """The most memory that this process had so far, in bytes."""
    with open("/proc/self/status") as lines:  # noqa: PTH123
        return next(1024 * int(x.split()[1]) for x in lines if x.startswith("VmHWM"))


def cases(mega: Mega) -> list[tuple[Case, str, str]]:
    """The cases, each with the argument of `align` and the file that it needs."""
    gpu = mega.gpu

    def bar(figure: str, on_cpu: float, on_gpu: float) -> tuple[tuple[str, float], ...]:
        return ((figure, on_gpu if gpu else on_cpu),)

    def case(name: str, make: Callable[[str], Row], *bars: Any) -> Case:
        return Case(name, make, tuple(one for some in bars for one in some))

    size = f"{mega.length:,}"
    pylori, coli = "H. pylori, first 1 Mb, path", "E. coli, both strands, path"
    path, rows = f"similar DNA {size}, path", f"similar DNA {size}, rows saved"
    same, band = f"identical DNA {size}, ends", f"1% divergence {size}, global path"
    huge = "{:,} x {:,}, ".format(*CHROMOSOMES)
    return [
        (case(pylori, mega.pylori, bar("seconds", 60, 1.2)), "", "NC_017371.1.fasta.gz"),
        (case(coli, mega.coli, bar("seconds", 3600, 12)), "strand", "NC_017625.1.fasta.gz"),
        (case(path, mega.path_over_score, bar("times", 1.1, 1.1)), "", ""),
        (case(rows, mega.checkpoint, bar("times", 1.01, 1.01)), "checkpoint", ""),
        (case(same, mega.identical, bar("pruned", 45, 45)), "", ""),
        (case(band, mega.band, bar("computed", 10, 100)), "max_cost", ""),
        (
            case(
                huge + "all cells",
                lambda name: mega.chromosomes(name, prune=False),
                bar("more_bytes", 2000, 2000),
                bar("device_bytes", 16000, 16000),
                bar("estimate_off", 2, 2),
                bar("seconds", 1e6, 360),
            ),
            "",
            "",
        ),
        (
            case(
                huge + "pruned",
                lambda name: mega.chromosomes(name, prune=True),
                bar("more_bytes", 2000, 2000),
                bar("device_bytes", 16000, 16000),
                bar("seconds", 1e6, 360),
            ),
            "",
            "",
        ),
    ]


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="long pairs on one device")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains it")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where to write the results")
    beside = os.environ.get("PYSW_CL_TEST_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(beside), help="folder of the genomes")
    parser.add_argument("--seconds", type=float, help="end the longest cases after so many")
    args = parser.parse_args()
    mega, chosen = Mega(Bench(args.device), args.data, args.seconds), []
    known = inspect.signature(pysw_cl.align).parameters
    listed = [c for c in cases(mega) if args.only.lower() in c[0].name.lower()]
    if not listed:
        parser.error(f"no case's name contains {args.only!r}")
    for case, argument, file in listed:
        if argument and argument not in known:
            print(f"{case.name:<46} left out: align has no {argument!r}", file=sys.stderr)
        elif file and not (args.data / "dna" / file).is_file():
            print(f"{case.name:<46} left out: no {args.data}/dna/{file}", file=sys.stderr)
        else:
            chosen.append(case)
    return run_cases(chosen, mega.bench, args.json)


if __name__ == "__main__":
    sys.exit(main())
