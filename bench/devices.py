#!/usr/bin/env python3
"""One pair on several devices, beside one of them: prints a table, writes JSON, verifies results.

    python bench/devices.py [--devices 0:0,0:1] [--short] [--json FILE]

Calls take turns, in one process, and times are medians; the first call of each is not counted.  The
results on all devices are those on one, to the last letter.  Bars are for two NVIDIA H100; exit
code 1 where one is missed.
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
#: Letters, options, and how many times one device's speed two have at least.
CASES: tuple[tuple[str, int, dict[str, Any], float], ...] = (
    ("random, ends, all cells", 5_000_000, {"output": "ends", "prune": False}, 1.8),
    ("random, ends, all cells", 12_000_000, {"output": "ends", "prune": False}, 1.92),
    ("similar, path, pruned", 5_000_000, {"output": "path"}, 1.6),
    ("similar, score, pruned", 5_000_000, {"output": "score"}, 0.0),
)


def pair_of(kind: str, letters: int) -> tuple[str, str]:
    rng = np.random.default_rng(5)
    a = rng.choice(np.frombuffer(b"ACGT", np.uint8), letters)
    b = rng.choice(np.frombuffer(b"ACGT", np.uint8), letters)
    if kind.startswith("similar"):
        b = np.where(rng.random(letters) < 0.05, b, a)
        for at in np.sort(rng.integers(0, letters, letters // 10_000))[::-1].tolist():
            b = np.concatenate([b[:at], b[at + 3 :], a[:3]]) if at % 2 else b
    return a.tobytes().decode(), b.tobytes().decode()


def key(found: Any) -> tuple[Any, ...]:
    return found.score, found.query_end, found.target_end, found.query_start, found.cigar


def rows_of(args: argparse.Namespace) -> Iterator[Row]:
    names = {"one": args.devices.split(",")[0], "all": args.devices}
    for kind, letters, options, bar in CASES:
        if args.short and letters > 5_000_000:
            continue
        a, b = pair_of(kind, letters)
        seconds: dict[str, list[float]] = {name: [] for name in names}
        results = {}
        for turn in range(args.runs + 1):
            for name, device in names.items():
                started = time.perf_counter()
                results[name] = pysw_cl.align(a, b, device=device, **SCORING, **options)
                if turn:
                    seconds[name].append(time.perf_counter() - started)
        if key(results["one"]) != key(results["all"]):
            raise WrongResult(f"{kind} {letters}: {results}")
        one, every = (median(seconds[name]) for name in names)
        speed = letters * letters / every / 1e12
        missed = " missed" if one / every < bar else ""
        yield {
            "case": f"{kind}, {letters:,}", "seconds": every, "one": one,
            "verified": f"{one / every:.3f} times one, {speed:.2f} TCUPS{missed}",
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", default="0:0,0:1")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    for row in rows_of(args):
        print(f"{row['case']:40}{row['one']:8.2f} s{row['seconds']:8.2f} s  {row['verified']}")
        rows.append(row)
        sys.stdout.flush()
    if args.json is not None:
        write_report(args.json, get_runtime(args.devices.split(",")[0]).info, rows)
    return int(any("missed" in str(row["verified"]) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
