#!/usr/bin/env python3
"""Two workers of one thread each, beside this process with one: prints a table, writes JSON.

    python bench/cluster.py [--short] [--runs N] [--only NAME] [--json FILE]

Calls take turns, and times are medians; the first call of each is not counted.  Results are equal,
to the last letter.  Exit code 1 where two workers are not so many times as fast as the bar says.
This needs a quiet machine with two cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

os.environ["POCL_MAX_PTHREAD_COUNT"] = "1"  # of this process and of those that it starts

import numpy as np
from cases import Row, WrongResult, pysw_cl, write_report

from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.model.several import as_free, ways_left

#: How many times as fast two workers are, at least.
BAR = 1.8
AMINO = "ARNDCQEGHILKMFPSTWYV"
#: A call, whose argument is its cluster, and its cells.
Case = tuple[Callable[[Any], Any], int]


def texts(seed: int, count: int, least: int, most: int, letters: str) -> list[str]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(least, most + 1, count)
    every = rng.choice(np.frombuffer(letters.encode(), np.uint8), sizes.sum()).tobytes().decode()
    ends = np.cumsum(sizes).tolist()
    return [every[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]


def many(short: bool) -> Case:
    """Paths of pairs of reads."""
    count = 4_000 if short else 40_000
    sides = [texts(seed, count, 500, 1500, "ACGT") for seed in (1, 2)]
    pairs = list(zip(*sides, strict=True))
    cells = sum(len(a) * len(b) for a, b in pairs)
    return lambda cluster: pysw_cl.align_many(pairs, output="path", cluster=cluster), cells


def search(short: bool) -> Case:
    """The ten best hits of proteins in a database."""
    queries = texts(3, 16 if short else 64, 200, 600, AMINO)
    db = pysw_cl.Database.from_sequences(texts(4, 2_000 if short else 20_000, 50, 700, AMINO))
    cells = sum(map(len, queries)) * db.total_letters

    return lambda cluster: [*pysw_cl.search(queries, db, cluster=cluster)], cells


def pair(short: bool) -> Case:
    """The ends of one pair, all cells: 24 blocks of 5 s a worker, or fewer and shorter ones."""
    letters = 300_000 if short else 1_700_000
    a, b = (texts(seed, 1, letters, letters, "ACGT")[0] for seed in (5, 6))
    how: dict[str, Any] = {"output": "ends", "prune": False, "timeline": True}
    return lambda cluster: pysw_cl.align(a, b, cluster=cluster, **how), letters**2


def facts(found: Any) -> Any:
    """What two results are compared by."""
    if isinstance(found, pysw_cl.Alignment):
        return found.score, found.query_end, found.target_end
    if isinstance(found, np.ndarray):
        return found.tolist()
    return [[(one.number, one.score, one.query_end, one.expect) for one in hits] for hits in found]


def idle(found: Any, seconds: float) -> tuple[float, float]:
    """The share of the time for which two workers computed no block of a pair, and that which the
    scheduler and edges took: what is beyond the time that as long blocks take two devices."""
    spans = found.stats.spans if isinstance(found, pysw_cl.Alignment) else []
    rows = dict[int, list[float]]()
    for one in sorted(spans, key=lambda one: one.area):
        rows.setdefault(one.area.row, []).append(one.end - one.begin)
    blocks = [*rows.values()]
    if not blocks:
        return 0.0, 0.0
    best = as_free(blocks, 2, hurry=ways_left(blocks))
    return 1 - sum(map(sum, blocks)) / (2 * seconds), 1 - best / seconds


def alone(letters: int) -> float:
    """The seconds of a pair that a worker aligns by itself."""
    a, b = (texts(seed, 1, letters, letters, "ACGT")[0] for seed in (5, 6))
    started = time.perf_counter()
    pysw_cl.align(a, b, output="ends", prune=False)
    return time.perf_counter() - started


def of_machine(pool: Executor, runs: int) -> float:
    """How many times as much two workers do at once as one does that are not connected at all: no
    more can be had of this machine."""
    letters = [400_000] * 2
    list(pool.map(alone, letters))
    once, both = list[float](), list[float]()
    for _ in range(runs):
        once += [pool.submit(alone, letters[0]).result()]
        both += [max(pool.map(alone, letters))]
    return 2 * median(once) / median(both)


CASES: dict[str, Callable[[bool], Case]] = {"align_many": many, "search": search, "pair": pair}


def rows_of(args: argparse.Namespace, pool: Executor) -> Iterator[Row]:
    for name, make in CASES.items():
        if not name.startswith(args.only):
            continue
        call, cells = make(args.short)
        seconds: dict[bool, list[float]] = {False: [], True: []}
        results = dict[bool, Any]()
        for turn in range(args.runs + 1):
            for several in seconds:
                started = time.perf_counter()
                results[several] = call(pool if several else None)
                if turn:
                    seconds[several].append(time.perf_counter() - started)
        if facts(results[True]) != facts(results[False]):
            raise WrongResult(f"{name}: workers give another result")
        one, two = (median(some) for some in seconds.values())
        waits, beside = idle(results[True], seconds[True][-1])
        yield {
            "name": name, "cells": cells, "one_seconds": one, "two_seconds": two,
            "gcups": cells / two / 1e9, "ratio": one / two, "bar": BAR,
            "waiting": waits, "scheduler_and_edges": beside,
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a tenth of the work")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose names begin so")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows, spawn = [], multiprocessing.get_context("spawn")
    print(f"{'':12} {'one':>9} {'two':>9} {'GCUPS':>7} {'ratio':>6}")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        print(f"two pairs at once, unconnected: {of_machine(pool, args.runs):.2f}", flush=True)
        for row in rows_of(args, pool):
            rows.append(row)
            times = f"{row['one_seconds']:7.2f} s {row['two_seconds']:7.2f} s {row['gcups']:7.2f}"
            missed = "" if row["ratio"] >= BAR else f"  below {BAR}"
            idle = f"  workers wait {row['waiting']:.1%}, {row['scheduler_and_edges']:.1%} of "
            idle = f"{idle}the time for scheduler and edges" if row["waiting"] else ""
            print(f"{row['name']:12} {times} {row['ratio']:6.2f}{idle}{missed}", flush=True)
    if args.json is not None:
        write_report(args.json, get_runtime("cpu").info, rows)
    return int(any(row["ratio"] < BAR for row in rows))


if __name__ == "__main__":
    sys.exit(main())
