#!/usr/bin/env python3
"""One pair on several devices, beside one of them: prints a table, writes JSON, verifies results.

    python bench/devices.py [--devices 0:0,0:1] [--most LETTERS] [--json FILE]

A GPU and a CPU compute only pairs of many rounds of strips together, so the others are left out.

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
    names = {"one": args.devices.split(",")[0], "all": args.devices}
    kinds = [get_runtime(one).info.kind for one in args.devices.split(",")]
    beside = kinds[0] != kinds[-1]
    scores = dict[str, float]()
    for kind, m, n, options, bars in CASES:
        if m > args.most or not kind.startswith(args.only):
            continue
        if beside and (m < BESIDE_LETTERS or not kind.startswith("random")):
            continue
        a, b = pair_of(kind, m, n)
        seconds: dict[str, list[float]] = {name: [] for name in names}
        results = {}
        for turn in range(args.runs + 1):
            for name, device in names.items():
                started = time.perf_counter()
                results[name] = pysw_cl.align(a, b, device=device, **SCORING, **options)
                if turn:
                    seconds[name].append(time.perf_counter() - started)
        if key(results["one"]) != key(results["all"]):
            raise WrongResult(f"{kind} {m} x {n}: {results}")
        one, every = (median(seconds[name]) for name in names)
        speed = m * n / every / 1e12
        content = kind.partition(",")[0]
        bar = BESIDE if beside else bars.get(len(kinds), 0.0)
        missed = " missed" if one / every < bar else ""
        if beside:
            share = sum(n for name, n in results["all"].stats.cells.items() if "vector" in name)
            share /= m * n
            missed += f", {share:.2%} on the CPU{' missed' * (share < BESIDE_SHARE)}"
        if options["output"] == "score":
            scores[content] = every
        elif content in scores and n == m:
            longer = every / scores[content]
            missed += f", {longer:.3f} times the score{' missed' * (longer > PATHS[content])}"
        yield {
            "case": f"{kind}, {m:,} x {n:,}", "seconds": every, "one": one,
            "verified": f"{one / every:.3f} times one, {speed:.2f} TCUPS{missed}",
            "runs": seconds,
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", default="0:0,0:1")
    parser.add_argument("--most", type=int, default=12_000_000, help="letters of the query")
    parser.add_argument("--only", default="", help="cases whose name begins like this")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    for row in rows_of(args):
        print(f"{row['case']:50}{row['one']:8.2f} s{row['seconds']:8.2f} s  {row['verified']}")
        rows.append(row)
        sys.stdout.flush()
    if args.json is not None:
        write_report(args.json, get_runtime(args.devices.split(",")[0]).info, rows)
    return int(any("missed" in str(row["verified"]) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
