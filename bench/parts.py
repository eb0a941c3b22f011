#!/usr/bin/env python3
"""One pair on parts of a CPU, which are devices of their own: prints a table, writes JSON.

    python bench/parts.py [--length N] [--runs N] [--json FILE]

Two sub-devices of equally many cores (clCreateSubDevices) compute the tiles of a random pair,
beside each of them alone and the whole CPU as one device; then the same beside a process that keeps
the last core busy (Linux).  Calls take turns in one process and the first turn does not count;
threads are pinned (POCL_AFFINITY=1).  All results are equal; a wrong one, or a missed bar, ends
with exit code 1.  Tiles of shorter pairs are smaller and take the host as long: the bars are for
400,000 letters and more.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median

os.environ["POCL_AFFINITY"] = "1"

import numpy as np
import pyopencl as cl
from cases import Row, WrongResult, pysw_cl, write_report
from cores import busy_core

from pysw_cl.opencl.device import get_runtime

#: At least so many times the speed of a part, of the CPU as one device; beside a busy process, of
#: the sum of both parts alone.
ONE, WHOLE, SUM = 1.85, 0.95, 0.9


def times(length: int, runs: int) -> dict[str, list[float]]:
    """Seconds of each way to compute a pair, by turns.  Raises WrongResult."""
    rng, whole = np.random.default_rng(1), get_runtime("cpu").device
    a, b = ("".join(rng.choice([*"ACGT"], length)) for _ in "ab")
    equally = [cl.device_partition_property.EQUALLY, whole.max_compute_units // 2, 0]
    parts = list(whole.create_sub_devices(equally)[:2])
    ways = {"first part": parts[0], "second part": parts[1], "whole": whole, "parts": parts}
    found: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(runs + 1):
        results = set()
        for way, device in ways.items():
            started = time.perf_counter()
            r = pysw_cl.align(a, b, device=device, output="ends", prune=False)
            results.add((r.score, r.query_end, r.target_end))
            if turn:
                found[way].append(time.perf_counter() - started)
        if len(results) > 1:
            raise WrongResult(f"{length:,}: {results}")
    return found


def rows_of(length: int, runs: int) -> list[Row]:
    """The ratios of the quiet machine, and beside a busy process."""
    rows: list[Row] = []
    for busy in (False, True):
        with busy_core(max(os.sched_getaffinity(0))) if busy else nullcontext():
            seconds = times(length, runs)
        turns = list(zip(*seconds.values(), strict=True))
        over = {
            "over a part": (median(one / both for one, _, _, both in turns), ONE),
            "over the whole": (median(whole / both for _, _, whole, both in turns), WHOLE),
            "over the sum": (median(1 / (both / a + both / b) for a, b, _, both in turns), SUM),
        }
        wanted = ["over the sum"] if busy else ["over a part", "over the whole"]
        for name, (ratio, bar) in over.items():
            row: Row = {"case": f"{'busy' if busy else 'quiet'}, {name}", "ratio": ratio}
            rows.append(row | ({"bar": bar, "met": ratio >= bar} if name in wanted else {}))
        rows[-1]["seconds"] = seconds
    return rows


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="one pair on parts of a CPU")
    parser.add_argument("--length", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    rows = rows_of(args.length, args.runs)
    for row in rows:
        verdict = f"  bar {row['bar']}: {'met' if row['met'] else 'MISSED'}" if "bar" in row else ""
        print(f"{row['case']:<24} {row['ratio']:.3f}{verdict}")
    write_report(args.json, get_runtime("cpu").info, rows)
    return 0 if all(row.get("met", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
