#!/usr/bin/env python3
"""One pair on all cores of a CPU, of which some are slow or busy: prints a table, writes JSON.

    python bench/cores.py [--short] [--length N] [--runs N] [--json FILE]

"together": one run on all cores over the sum of as many processes with a thread each, which run at
the same time.  "busy": two threads, one of them on a core that another process keeps busy, over one
thread on a free core (Linux; at least two cores).  Threads are pinned (POCL_AFFINITY=1).  Every
result is compared with the expected one; a wrong one, or a missed bar, ends with exit code 1.  The
device is PoCL's: the number of its threads is set by POCL_MAX_PTHREAD_COUNT (3.0) and
POCL_CPU_MAX_CU_COUNT (later).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from cases import EXPECTED_RANDOM, Row, WrongResult, check, write_report

from pysw_cl.opencl.device import get_runtime

#: One process: reads a line for each run, answers with GCUPS and the result.
CHILD = """
import json, sys, time
sys.path.insert(0, {bench!r})
from cases import pysw_cl, random_pair
pair = random_pair({length}, {length})
for line in sys.stdin:
    started = time.perf_counter()
    r = pysw_cl.align(*pair, output="ends", device="cpu")
    gcups = {length} ** 2 / (time.perf_counter() - started) / 1e9
    print(json.dumps([gcups, [r.score, r.query_end, r.target_end]]), flush=True)
"""
#: Bars: all cores together, from 16 on; and two threads beside a busy process.
TOGETHER, BUSY = 0.85, 1.3


class Child:
    """A process with so many threads, on these cores (None: all)."""

    def __init__(self, length: int, threads: int, cores: Iterable[int] | None, pinned: bool):
        names = ("POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT")
        env = {**os.environ, **dict.fromkeys(names, str(threads)), "PYSW_CL_PROFILES": "off"}
        env["POCL_AFFINITY"] = "1" if pinned else "0"
        code = CHILD.format(bench=str(Path(__file__).resolve().parent), length=length)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if cores is not None:
            os.sched_setaffinity(self.process.pid, cores)
        self.length = length

    def begin(self) -> None:
        """Start a run."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> float:
        """Wait for the run; returns its GCUPS.  Raises WrongResult."""
        assert self.process.stdout is not None
        answer = self.process.stdout.readline()
        if not answer:
            raise WrongResult("a process ended")
        gcups, found = json.loads(answer)
        check(f"{self.length:,}", tuple(found), EXPECTED_RANDOM[self.length, self.length])
        return float(gcups)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def measured(groups: Sequence[Sequence[Child]], runs: int) -> list[list[float]]:
    """For each group of processes, which run at the same time, the GCUPS of each of ``runs`` turns;
    groups take turns, after one run that does not count."""
    found: list[list[float]] = [[] for _ in groups]
    for turn in range(runs + 1):
        for group, gcups in zip(groups, found, strict=True):
            for child in group:
                child.begin()
            together = sum(child.end() for child in group)
            if turn:
                gcups.append(together)
    return found


@contextmanager
def busy_core(core: int) -> Any:
    """Another process keeps a core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(process.pid, [core])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def compared(case: str, groups: list[list[Child]], runs: int, bar: float | None) -> Row:
    """A row: the speed of the first group over that of the second, in turns."""
    try:
        own, other = measured(groups, runs)
    finally:
        for child in (child for group in groups for child in group):
            child.close()
    share = median(a / b for a, b in zip(own, other, strict=True))
    row: Row = {"case": case, "gcups": median(own), "beside": median(other), "share": share}
    return row | ({} if bar is None else {"bar": bar, "met": share >= bar})


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="one pair on cores of different speed")
    parser.add_argument("--short", action="store_true", help="a small pair, no bars")
    parser.add_argument("--length", type=int, default=300_000, help="of a pair of bench/cases.py")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    length, runs = (20_000, 1) if args.short else (args.length, args.runs)
    if (length, length) not in EXPECTED_RANDOM:
        parser.error(f"there is no expected result of {length:,} letters")
    info = get_runtime("cpu").info
    threads, cores = info.compute_units, sorted(os.sched_getaffinity(0))
    rows = []
    try:
        together = [[Child(length, threads, None, True)]]
        together.append([Child(length, 1, [core], False) for core in cores[:threads]])
        bar = None if args.short or threads < 16 else TOGETHER
        rows.append(compared(f"{threads} threads / {threads} processes", together, runs, bar))
        if len(cores) > 1:
            with busy_core(cores[1]):
                two = [[Child(length, 2, None, True)], [Child(length, 1, cores[:1], False)]]
                bar = None if args.short else BUSY
                rows.append(compared("two threads, one core busy / one", two, runs, bar))
    except WrongResult as error:
        print(f"WRONG RESULT: {error}", file=sys.stderr)
        return 1
    for row in rows:
        verdict = f"  bar {row['bar']}: {'met' if row['met'] else 'MISSED'}" if "bar" in row else ""
        speeds = f"{row['gcups']:8.2f} / {row['beside']:8.2f} GCUPS"
        print(f"{row['case']:<36} {speeds} = {row['share']:.2f}{verdict}")
    write_report(args.json, info, rows)
    return 0 if all(row.get("met", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
