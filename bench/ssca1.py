#!/usr/bin/env python3
"""The SSCA#1 benchmark's kernels: prints a table, writes JSON, verifies every result.

    python bench/ssca1.py [--short] [--device auto] [--only WORD] [--json FILE] [--picture FILE]

Cases: "kernel-1" beside `best_ends` of the same sequences; "kernel-3" of a hundred sequences of 8
to 40 letters, by time a cell beside kernel 1; "others": kernels 2, 4 and 5 beside kernel 1;
"scale": all kernels at scale 30, warm, and in a new process without built kernels; "pairs": the
inserted pairs of 20 seeds; "steps": what kernel 1 spends its time on; "sizes": the time of each
kernel over the size, which --picture draws, and of kernels 1 and 2 of the papers' sequences.

Times are medians of calls in turn.  A wrong result, or a bar that is missed, ends with exit code 1;
bars are for a quiet machine with 2 cores and PoCL, or for an NVIDIA H100; the short form has none.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import WrongResult, pysw_cl, write_report

from pysw_cl import ssca1
from pysw_cl.opencl.device import get_runtime
from pysw_cl.ssca1.generators import paper
from pysw_cl.ssca1.kernels import RULES, kernel_1, kernel_2, kernel_3, kernel_4, kernel_5
from pysw_cl.ssca1.verification import faults

Row = dict[str, Any]
PAPER = RULES["paper"]
SCORING = PAPER.scoring
#: A new process runs all kernels once.
COLD = "from pysw_cl import ssca1; ssca1.run(scale=30, device={device!r})"


def in_turn(runs: int, **calls: Callable[[], Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """The median seconds of calls after a first turn, and their last results."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    found = {}
    for _ in range(runs + 1):
        for name, call in calls.items():
            started = time.perf_counter()
            found[name] = call()
            seconds[name].append(time.perf_counter() - started)
    return {name: median(taken[1:]) for name, taken in seconds.items()}, found


def sides(data: Any) -> tuple[Any, Any]:
    alphabet = SCORING["sub_score"][1]
    return alphabet.sequence(data.main), alphabet.sequence(data.match)


def hundred(data: Any, seed: int = 1) -> list[Any]:
    """Sequences of 8 to 40 letters of match."""
    rng = np.random.default_rng(seed)
    size = rng.integers(8, 41, 100)
    start = rng.integers(0, len(data.match) - 40, 100)
    return [data.match[k : k + n] for k, n in zip(start.tolist(), size.tolist(), strict=True)]


def check_run(run: ssca1.Run, device: Any) -> None:
    if wrong := [one for one in faults(run, RULES[run.variant], device) if "lost" not in one]:
        raise WrongResult("; ".join(wrong[:3]))


def check_ends(main: Any, match: Any, ends: Any, best: Any, device: Any) -> None:
    """The best end, and the paths of some, which score what was said."""
    if len(ends) and ends[0] != best[0]:
        raise WrongResult(f"the best ends are {ends[0]} and {best[0]}")
    some = ends[:: max(1, len(ends) // 20)]
    traced = pysw_cl.trace_ends(match, main, some, device=device, **SCORING)
    if [one.rescore() for one in traced] != some["score"].tolist():
        raise WrongResult("paths of ends")


def first_kernel(args: argparse.Namespace) -> Iterator[Row]:
    m, n = (200, 100_000) if args.short else (1024, 4_000_000)
    main, match = sides(paper((m, n), 1))
    took, found = in_turn(
        args.runs,
        plain=lambda: pysw_cl.best_ends(match, main, k=200, device=args.device, **SCORING),
        kernel=lambda: kernel_1(main, match, PAPER, args.device),
    )
    check_ends(main, match, found["kernel"], found["plain"], args.device)
    share = took["plain"] / took["kernel"]
    yield {
        "case": f"kernel 1, {m:,} x {n:,}, speed over best_ends(k=200)",
        "seconds": took["kernel"],
        "plain_seconds": took["plain"],
        "figure": share,
        "bar": ">= 0.9",
        "met": share >= 0.9,
    }


def third_kernel(args: argparse.Namespace) -> Iterator[Row]:
    m, n = (200, 100_000) if args.short else (1024, 4_000_000)
    data = paper((m, n), 1)
    (main, match), queries = sides(data), hundred(data)
    took, found = in_turn(
        args.runs,
        first=lambda: kernel_1(main, match, PAPER, args.device),
        third=lambda: kernel_3(main, queries, PAPER, args.device),
    )
    run = ssca1.Run("paper", 1, data, {3: 0.0}, queries=queries, places=found["third"])
    check_run(run, args.device)
    cells = sum(map(len, queries)) * n
    times = took["third"] / cells * (m * n) / took["first"]
    yield {
        "case": f"kernel 3, 100 x 8 to 40 letters, main {n:,}: time a cell over kernel 1's",
        "seconds": took["third"],
        "gcups": cells / took["third"] / 1e9,
        "kernel_1_gcups": m * n / took["first"] / 1e9,
        "figure": times,
        "bar": "<= 2",
        "met": times <= 2,
    }


def other_kernels(args: argparse.Namespace) -> Iterator[Row]:
    m, n = (200, 100_000) if args.short else (1024, 16_000_000)
    data = paper((m, n), 1)
    (main, match), queries, device = sides(data), hundred(data), args.device
    run = ssca1.Run("paper", 1, data, dict.fromkeys((2, 3, 4, 5), 0.0), queries=queries)
    run.places = kernel_3(main, queries, PAPER, device)
    sets: list[list[Any]] = [[] for _ in queries]
    for row in run.places:
        part = data.main[row["target_start"] : row["target_end"]]
        sets[row["query"]].append(PAPER.bases[part].reshape(-1))
    run.sets = [one for one in sets if len(one) > 1]
    run.ends = kernel_1(main, match, PAPER, device)
    run.costs = kernel_4(run.sets, PAPER, device)
    took, found = in_turn(
        args.runs,
        first=lambda: kernel_1(main, match, PAPER, device),
        second=lambda: kernel_2(main, match, run.ends, PAPER, device),
        fourth=lambda: kernel_4(run.sets, PAPER, device),
        fifth=lambda: kernel_5(run.sets, run.costs, PAPER, device),
    )
    run.alignments, run.costs, run.stars = found["second"], found["fourth"], found["fifth"]
    check_run(run, device)
    together = took["second"] + took["fourth"] + took["fifth"]
    gpu = get_runtime(device).info.kind == "gpu"
    figure, most = (together, 0.4) if gpu else (together / took["first"], 0.5)
    yield {
        "case": f"kernels 2, 4 and 5{'' if gpu else ' over kernel 1'}, {m:,} x {n:,}",
        **{f"{name}_seconds": seconds for name, seconds in took.items()},
        "pairs": sum(len(one) * (len(one) - 1) // 2 for one in run.sets),
        "figure": figure,
        "bar": f"<= {most}",
        "met": figure <= most,
    }


def whole_scale(args: argparse.Namespace) -> Iterator[Row]:
    scale = 18 if args.short else 30
    took, found = in_turn(args.runs, all=lambda: ssca1.run(scale=scale, device=args.device))
    check_run(found["all"], args.device)
    seconds = {f"kernel {k}": taken for k, taken in found["all"].seconds.items()}
    name = f"all kernels, ornl, scale {scale}"
    figure = {"figure": took["all"], "bar": "<= 10", "met": took["all"] <= 10}
    yield {"case": f"{name}, warm", **seconds, **figure}
    with tempfile.TemporaryDirectory() as folder:
        places = ("POCL_CACHE_DIR", "XDG_CACHE_HOME", "PYSW_CL_CACHE")
        own = {**os.environ, **dict.fromkeys(places, folder)}
        code = COLD.format(device=args.device).replace("30", str(scale))
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=own, check=True)
        cold = time.perf_counter() - started
    yield {"case": f"{name}, cold", "figure": cold, "bar": "<= 20", "met": cold <= 20}


def inserted_pairs(args: argparse.Namespace) -> Iterator[Row]:
    scale, seeds = (18, range(1, 4)) if args.short else (30, range(1, 21))
    for variant in ("ornl", "spec"):
        lost, wrong = [], []
        for seed in seeds:
            run = ssca1.run(variant, scale=scale, seed=seed, kernels=2, device=args.device)
            said = faults(run, RULES[variant], args.device)
            lost += [f"seed {seed}: {one}" for one in said if "lost" in one]
            wrong += [f"seed {seed}: {one}" for one in said if "lost" not in one]
        if wrong:
            raise WrongResult("; ".join(wrong))
        whole = len(seeds) - len({one.partition(":")[0] for one in lost})
        bar = len(seeds) - 2
        yield {
            "case": f"seeds that lose no pair, {variant}, scale {scale}",
            "lost": lost,
            "figure": whole,
            "bar": f">= {bar}",
            "met": whole >= bar,
        }


def sizes(args: argparse.Namespace) -> Iterator[Row]:
    for scale in (14, 16) if args.short else (20, 22, 24, 26, 28, 30, 32):
        run = ssca1.run(scale=scale, device=args.device)
        run = ssca1.run(scale=scale, device=args.device)
        check_run(run, args.device)
        seconds = {f"kernel {k}": taken for k, taken in run.seconds.items()}
        cells = len(run.data.main) * len(run.data.match)
        gcups = cells / run.seconds[1] / 1e9
        yield {"case": f"ornl, scale {scale}", "cells": cells, **seconds, "gcups": gcups}
    yield from (paper_of(args, *size) for size in SIZES[: 1 if args.short else None])


#: Letters of match and main.
SIZES = [(64, 10_000), *((1024, k << 20) for k in (1, 4, 16, 64))]


def paper_of(args: argparse.Namespace, m: int, n: int) -> Row:
    """Kernels 1 and 2 of the papers' sequences."""
    main, match = sides(paper((m, n), 1))
    first, found = in_turn(args.runs, it=lambda: kernel_1(main, match, PAPER, args.device))
    ends = found["it"]
    second, _ = in_turn(args.runs, it=lambda: kernel_2(main, match, ends, PAPER, args.device))
    seconds = {"kernel 1": first["it"], "kernel 2": second["it"]}
    return {"case": f"paper, {m:,} x {n:,}", **seconds, "gcups": m * n / first["it"] / 1e9}


#: The steps of kernel 1, by the functions whose time they are.
STEPS = {"sweeps": ("sweep",), "ends of matches": ("among",), "which are apart": ("apart",)}


def steps(args: argparse.Namespace) -> Iterator[Row]:
    """Shares of the time of kernel 1 (Khajeh-Saeed & Perot 2011, table 13.1)."""
    m, n = (64, 10_000) if args.short else (1024, 1 << 20)
    main, match = sides(paper((m, n), 1))
    kernel_1(main, match, PAPER, args.device)
    with cProfile.Profile() as profile:
        kernel_1(main, match, PAPER, args.device)
    told: Any = pstats.Stats(profile)
    whole = told.total_tt
    parts = {
        step: sum(row[3] for (_, _, name), row in told.stats.items() if name in names) / whole
        for step, names in STEPS.items()
    }
    rest = 1 - sum(parts.values())
    yield {"case": f"steps of kernel 1, {m:,} x {n:,}", "seconds": whole, **parts, "rest": rest}


CASES = {
    "kernel-1": first_kernel,
    "kernel-3": third_kernel,
    "others": other_kernels,
    "scale": whole_scale,
    "pairs": inserted_pairs,
    "steps": steps,
    "sizes": sizes,
}


def draw(rows: list[Row], path: str) -> None:
    from matplotlib.figure import Figure

    axes = (figure := Figure(figsize=(6, 4), layout="constrained")).subplots()
    for k in range(1, 6):
        some = [row for row in rows if "cells" in row]
        axes.loglog(
            [row["cells"] for row in some],
            [row[f"kernel {k}"] for row in some],
            marker="o",
            label=f"kernel {k}",
        )
    axes.set(xlabel="cells of kernel 1", ylabel="seconds")
    axes.legend()
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true", help="small cases, without bars")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=CASES, action="append", help="some of the cases")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--picture", metavar="FILE")
    args = parser.parse_args()
    rows, load = [], os.getloadavg()
    for name in args.only or CASES:
        for row in CASES[name](args):
            print(", ".join(f"{k}: {v:.3g}" if isinstance(v, float) else f"{k}: {v}"
                            for k, v in row.items()), flush=True)  # fmt: skip
            rows.append(row)
    if args.picture:
        draw(rows, args.picture)
    write_report(
        args.json, get_runtime(args.device).info, rows, load=[load, os.getloadavg()], runs=args.runs
    )
    missed = [row["case"] for row in rows if not row.get("met", True)]
    if missed and not args.short:
        print("missed:", "; ".join(missed))
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except WrongResult as error:
        sys.exit(f"wrong: {error}")
