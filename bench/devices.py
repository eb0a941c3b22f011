#!/usr/bin/env python3
"""One pair on several devices, beside one of them: prints a table, writes JSON, verifies results.

    python bench/devices.py [--devices 0:0,0:1] [--counts 2] [--most LETTERS] [--json FILE]
                            [--plot FILE]

A GPU and a CPU compute only unrelated local pairs together, so the others are left out.

Calls take turns, in one process, and times are medians; the first call of each is not counted.  The
results on all devices are those on one, to the last letter.  Bars are for so many NVIDIA H100; exit
code 1 where one is missed.  Queries of more letters than 12 million take minutes (--most).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import Row, WrongResult, pysw_cl, write_report

from pysw_cl.opencl.device import get_runtime

SCORING: dict[str, Any] = {"sub_score": (1, -3), "gap_cost": (3, 2)}
ALL: dict[str, Any] = {"output": "ends", "prune": False}
SCORE, PATH = {"output": "score"}, {"output": "path"}
#: Letters of both, options, and how many times one device's speed some have at least, by how many.
CASES: tuple[tuple[str, int, int, dict[str, Any], dict[int, float]], ...] = (
    ("random, ends, all cells", 5_000_000, 5_000_000, ALL, {2: 1.8, 4: 3.2}),
    ("random, ends, all cells", 12_000_000, 12_000_000, ALL, {2: 1.92, 4: 3.7}),
    ("random, ends, all cells", 30_000_000, 30_000_000, ALL, {4: 3.85, 8: 7.2}),
    ("random, ends, all cells", 33_000_000, 47_000_000, ALL, {}),
    ("similar, score, pruned", 5_000_000, 5_000_000, SCORE, {}),
    ("similar, path, pruned", 5_000_000, 5_000_000, PATH, {2: 1.6}),
    ("similar, path, pruned", 33_000_000, 47_000_000, PATH, {}),
    ("distant, global, score", 5_000_000, 5_000_000, {**SCORE, "mode": "global"}, {}),
    ("distant, global, path", 5_000_000, 5_000_000, {**PATH, "mode": "global"}, {}),
    ("row scan, ends, all cells", 4_000, 40_000_000, {**ALL, "plan": {"engine": "rowscan"}}, {}),
)
#: The share of letters that are drawn anew in the second sequence.
CHANGED = {"random": 1.0, "similar": 0.05, "distant": 0.5, "row scan": 1.0}
#: How many times as long as the score a path takes at most, on all devices.
PATHS = {"similar": 1.12, "distant": 1.2}
#: By how much the foreseen time of all devices may be off, as a share of the measured one.
FORESEEN = 0.1
#: Of a GPU and a CPU: the least speed over the GPU's, from so many letters on, and the CPU's least
#: share of the cells.
BESIDE, BESIDE_LETTERS, BESIDE_SHARE = 1.01, 12_000_000, 0.01


def pair_of(kind: str, m: int, n: int) -> tuple[str, str]:
    rng = np.random.default_rng(5)
    a, b = (rng.choice(np.frombuffer(b"ACGT", np.uint8), letters) for letters in (m, n))
    share = CHANGED[kind.partition(",")[0]]
    if share < 1:
        b = np.where(rng.random(n) < share, b, np.resize(a, n))
        gone = rng.choice(n, n // 10_000, replace=False)[:, None] + np.arange(3)
        b = np.delete(b, np.minimum(gone, n - 1))
    return a.tobytes().decode(), b.tobytes().decode()


def key(found: Any) -> tuple[Any, ...]:
    return found.score, found.query_end, found.target_end, found.query_start, found.cigar


def rows_of(args: argparse.Namespace) -> Iterator[Row]:
    every = args.devices.split(",")
    kinds = [get_runtime(one).info.kind for one in every]
    beside = kinds[0] != kinds[-1]
    counts = [len(every)] if beside or not args.counts else [*map(int, args.counts.split(","))]
    names = {count: ",".join(every[:count]) for count in sorted({1, *counts})}
    scores = dict[tuple[str, int], float]()
    for kind, m, n, options, bars in CASES:
        if m > args.most or not kind.startswith(args.only):
            continue
        if beside and (m < BESIDE_LETTERS or not kind.startswith("random")):
            continue
        a, b = pair_of(kind, m, n)
        seconds: dict[int, list[float]] = {count: [] for count in names}
        results = {}
        for turn in range(args.runs + 1):
            for count, device in names.items():
                started = time.perf_counter()
                results[count] = pysw_cl.align(a, b, device=device, **SCORING, **options)
                if turn:
                    seconds[count].append(time.perf_counter() - started)
        if len(set(map(key, results.values()))) > 1:
            raise WrongResult(f"{kind} {m} x {n}: {results}")
        one, content = median(seconds[1]), kind.partition(",")[0]
        for count in counts:
            took = median(seconds[count])
            row: Row = {"case": f"{kind}, {m:,} x {n:,}", "devices": count, "seconds": took}
            row |= {"one": one, "runs": seconds[count], "cells": m * n}
            bar = BESIDE if beside else bars.get(count, 0.0)
            words = f"{one / took:.3f} times one, {m * n / took / 1e12:.2f} TCUPS"
            words += " missed" * (one / took < bar)
            if beside:
                cells = results[count].stats.cells.items()
                share = sum(n for name, n in cells if "vector" in name) / (m * n)
                words += f", {share:.2%} on the CPU{' missed' * (share < BESIDE_SHARE)}"
            else:  # `predict` is of devices that are alike
                asked = {"device": names[count], **SCORING, **options}
                said = row["foreseen"] = pysw_cl.predict(a, b, **asked).seconds
                words += f", foreseen {said:.2f} s{' missed' * (abs(said / took - 1) > FORESEEN)}"
            if options["output"] == "score":
                scores[content, count] = took
            elif (content, count) in scores and n == m:
                longer = took / scores[content, count]
                words += f", {longer:.3f} times the score{' missed' * (longer > PATHS[content])}"
            yield {**row, "verified": words}


def draw(path: str, rows: list[Row]) -> None:
    """How many times as fast as one device all are, measured (points) and foreseen (lines)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5), layout="constrained")
    for number, case in enumerate(dict.fromkeys(row["case"] for row in rows)):
        own = [row for row in rows if row["case"] == case]
        counts, color = [row["devices"] for row in own], f"C{number}"
        axes.plot(
            counts, [row["one"] / row["seconds"] for row in own], "o", color=color, label=case
        )
        axes.plot([1, *counts], [1, *(r["one"] / r["foreseen"] for r in own)], color=color, lw=1)
    most = max(row["devices"] for row in rows)
    axes.plot([1, most], [1, most], "k:", lw=1)
    axes.set(xlabel="devices", ylabel="times one device; lines: foreseen")
    axes.legend(fontsize=8)
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", default="0:0,0:1")
    parser.add_argument(
        "--counts", default="", help="how many of these, such as 2,4 (default: all)"
    )
    parser.add_argument("--most", type=int, default=12_000_000, help="letters of the query")
    parser.add_argument("--only", default="", help="cases whose name begins like this")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", help="draw into a file (needs matplotlib)")
    args = parser.parse_args()
    rows = []
    for row in rows_of(args):
        print(
            f"{row['case']:50}{row['devices']:3}{row['one']:9.2f} s{row['seconds']:8.2f} s"
            f"  {row['verified']}"
        )
        rows.append(row)
        sys.stdout.flush()
    if args.json is not None:
        write_report(args.json, get_runtime(args.devices.split(",")[0]).info, rows)
    if args.plot:
        draw(args.plot, rows)
    return int(any("missed" in str(row["verified"]) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
