#!/usr/bin/env python3
"""Speed of a short query against a long target: prints a table, writes JSON, verifies every result.

    python bench/rowscan.py [--short] [--device auto] [--only WORD] [--json FILE]

Random DNA.  Cases that are compared are timed in turn, in one process; times are medians.  "call"
is the time of the whole call, letters checked and encoded; "kernels" is that of the kernels alone.
Bars of the device's own speed are for its kernels: on a GPU a call takes as long as the host needs
for the letters.

What is computed in sections is compared with the row scan, an engine of its own, and the paths with
scores and ends.  A wrong result, or a bar that is missed, ends with exit code 1.  The bars are for
one NVIDIA H200 and for a quiet machine with 2 cores and PoCL; the short form has none.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from cases import WrongResult, pysw_cl, random_pair, write_report

from pysw_cl.engines.registry import plan_on
from pysw_cl.engines.rowscan.plan import RowscanPlan
from pysw_cl.opencl.device import Runtime, get_runtime

ROWSCAN: dict[str, Any] = {"engine": "rowscan"}
THREE: dict[str, Any] = {"engine": "rowscan", "form": "three-launch"}
K = 200
Row = dict[str, Any]
#: Bytes of the buffer whose copy is timed.
COPIED = 1 << 28


def traffic_bytes(m: int, n: int, plan: RowscanPlan) -> int:
    """Bytes that three launches a row read from and write to global memory for an m x n tile whose
    best cell is looked for.

    Each launch reads and writes whole lines of 32-bit numbers, a work-item R neighbours at once.
    Bytes that a cell moves (R: the plan's alpha):

        launch      reads                         writes
        cells       letter 1, H 4, F 4            F 4, H~ 4, 4/R of E
        totals      4 a group                     4 a group
        correction  H~ 4, 4/R of E, 4 a group     H 4

    That is 25 bytes and 8/R, and 16 for each group of R T columns.  For the best cell 4/R more are
    read.
    """
    runs, groups = -(-n // plan.alpha), -(-n // plan.segment)
    return m * (25 * n + 12 * runs + 16 * groups)


def in_turn(runs: int, calls: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, float, Any]]:
    """Median seconds of each call and of its kernels, and its last result.  The first turn is not
    counted."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    results: dict[str, Any] = {}
    for turn in range(runs + 1):
        for name, call in calls.items():
            started = time.perf_counter()
            results[name] = call()
            taken = time.perf_counter() - started
            stats = getattr(results[name], "stats", None)
            kernels = sum(stats.kernel_seconds.values()) if stats else 0.0
            if turn:
                seconds[name].append((taken, kernels))
    return {
        name: (median(t for t, _ in both), median(k for _, k in both), results[name])
        for name, both in seconds.items()
    }


def aligned(a: bytes, b: bytes, device: str, plan: Any = None) -> Any:
    """Score and ends."""
    return pysw_cl.align(a, b, output="ends", device=device, plan=plan, kernel_times=True)


def speed(name: str, cells: int, taken: tuple[float, float, Any], **more: Any) -> Row:
    """The row of a timed alignment."""
    call, kernels, found = taken
    figures = {"seconds": call, "gcups": cells / call / 1e9, "kernel_seconds": kernels}
    lanes = ", ".join(found.stats.cells)
    return {"case": name, **figures, "kernel_gcups": cells / kernels / 1e9, "lanes": lanes, **more}


def agrees(what: str, found: Any, other: Any) -> None:
    """Raise WrongResult if two alignments have not the same score and ends."""
    a, b = ((one.score, one.query_end, one.target_end) for one in (found, other))
    if a != b:
        raise WrongResult(f"{what}: {a} and {b}")


def long_target(m: int, n: int, args: argparse.Namespace, bar: float | None) -> list[Row]:
    """Whatever engine is picked, beside the row scan and, on a CPU, a square pair."""
    a, b = random_pair(m, n)
    side = int((m * n) ** 0.5)
    calls = {"picked": lambda: aligned(a, b, args.device)}
    calls["row scan"] = lambda: aligned(a, b, args.device, ROWSCAN)
    if not args.gpu:
        square = random_pair(side, side)
        calls["square"] = lambda: aligned(*square, args.device)
    taken = in_turn(args.runs, calls)
    agrees(f"{m:,} x {n:,}", taken["picked"][2], taken["row scan"][2])
    rows = [speed(f"{m:,} x {n:,}", m * n, taken["picked"])]
    rows.append(speed(f"{m:,} x {n:,}, row scan", m * n, taken["row scan"]))
    if args.gpu:
        return [judged(rows[0], "kernel_gcups", bar), *rows[1:]]
    rows.append(speed(f"{side:,} x {side:,}", side * side, taken["square"]))
    rows[0]["of_square"] = rows[0]["gcups"] / rows[2]["gcups"]
    rows[0]["kernels_of_square"] = rows[0]["kernel_gcups"] / rows[2]["kernel_gcups"]
    return [judged(rows[0], "kernels_of_square", bar), *rows[1:]]


def many_ends(m: int, n: int, args: argparse.Namespace) -> list[Row]:
    """The 200 best ends beside the best one, by the row scan and by the engine that is picked."""
    a, b = random_pair(m, n)
    rows = []
    for engine in ("auto", "rowscan"):

        def found(k: int, engine: str = engine) -> Any:
            return pysw_cl.best_ends(a, b, k=k, device=args.device, engine=engine)

        taken = in_turn(args.runs, {"1": lambda: found(1), "200": lambda: found(K)})
        if taken["1"][2][0] != taken["200"][2][0] or len(taken["200"][2]) != K:
            raise WrongResult(f"best ends by {engine}")
        row = {
            "case": f"{m:,} x {n:,}, {K} ends, {engine}",
            "seconds": taken["200"][0],
            "gcups": m * n / taken["200"][0] / 1e9,
            "more_than_best": taken["200"][0] / taken["1"][0] - 1,
            "ends": taken["200"][2].tolist(),
        }
        rows.append(judged(row, "more_than_best", args.bars and 0.03, most=True))
        if engine == "rowscan":
            rows.append(judged(dict(row), "gcups", args.bars and (150 if args.gpu else 4)))
    if rows[0].pop("ends") != rows[1]["ends"]:
        raise WrongResult("best ends of two engines")
    for row in rows:
        row.pop("ends", None)
    return rows


def paths(m: int, n: int, args: argparse.Namespace) -> list[Row]:
    """The paths of the 200 best ends."""
    a, b = random_pair(m, n)
    rows = []
    for separation in (0, 10):
        ends = pysw_cl.best_ends(a, b, k=K, min_separation=separation, device=args.device)
        highest = int(ends["score"][0])

        def found(ends: Any = ends, highest: int = highest) -> Any:
            return pysw_cl.trace_ends(a, b, ends, highest=highest, device=args.device)

        seconds, _, traced = in_turn(args.runs, {"paths": found})["paths"]
        told = [(one.score, one.query_end, one.target_end) for one in traced]
        if told != ends.tolist():
            raise WrongResult("paths of best ends")
        name = f"{m:,} x {n:,}, {K} paths, {separation} apart"
        bar = args.bars and (None if args.gpu else 0.1)
        rows.append(judged({"case": name, "seconds": seconds}, "seconds", bar, most=True))
    return rows


def copy_rate(runtime: Runtime) -> float:
    """Bytes a second that the device reads and writes when it copies a buffer."""
    import pyopencl as cl

    timed = runtime.timed()
    source, to = (cl.Buffer(timed.context, cl.mem_flags.READ_WRITE, COPIED) for _ in range(2))
    seconds = []
    for _ in range(6):
        event = cl.enqueue_copy(timed.queue, to, source, byte_count=COPIED)
        event.wait()
        seconds.append((event.profile.end - event.profile.start) / 1e9)
    return 2 * COPIED / median(seconds[1:])


def three_launches(m: int, n: int, args: argparse.Namespace) -> list[Row]:
    """The memory traffic of the row scan with three launches a row, beside the device's copies."""
    a, b = random_pair(m, n)
    runtime = get_runtime(args.device)
    plan = plan_on(runtime, THREE)
    assert isinstance(plan, RowscanPlan)
    taken = in_turn(args.runs, {"three": lambda: aligned(a, b, args.device, THREE)})["three"]
    agrees("three launches", taken[2], aligned(a, b, args.device, ROWSCAN))
    row = speed(f"{m:,} x {n:,}, three launches a row", m * n, taken)
    row["bytes_per_second"] = traffic_bytes(m, n, plan) / taken[1]
    row["copy_bytes_per_second"] = copy_rate(runtime)
    row["of_copy_rate"] = row["bytes_per_second"] / row["copy_bytes_per_second"]
    return [judged(row, "of_copy_rate", args.bars and (0.34 if args.gpu else None))]


def judged(row: Row, figure: str, bar: float | None, most: bool = False) -> Row:
    """The row with its bar, and whether it was met."""
    sign = "<=" if most else ">="
    met = not bar or (row[figure] <= bar if most else row[figure] >= bar)
    return {**row, "bar": f"{figure} {sign} {bar:g}" if bar else "", "met": met}


def told(row: Row) -> str:
    """A row as a line."""
    units = {"seconds": " s", "kernel_seconds": " s kernels", "gcups": " GCUPS call"}
    units |= {"kernel_gcups": " GCUPS kernels", "of_square": " of square"}
    units |= {"kernels_of_square": " of square (kernels)", "of_copy_rate": " of copy rate"}
    units |= {"more_than_best": " more than the best"}
    figures = [f"{row[key]:.4g}{unit}" for key, unit in units.items() if key in row]
    verdict = f"  bar {row['bar']}: {'met' if row['met'] else 'MISSED'}" if row.get("bar") else ""
    return f"{row['case']:<40} {'  '.join(figures)}{verdict}"


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="small cases, without bars")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="groups of cases whose name has this word")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    info = get_runtime(args.device).info
    args.gpu, args.bars, args.runs = info.kind == "gpu", not args.short, 3 if args.short else 5
    n = 1 << 19 if args.short else 16 << 20 if args.gpu else 4 << 20
    longest = 1 << 21 if args.short else 100_000_000 if args.gpu else 10_000_000
    groups: dict[str, Callable[[], list[Row]]] = {
        "long": lambda: long_target(1024, n, args, args.bars and (3000 if args.gpu else 0.9)),
        "short query": lambda: long_target(150, longest, args, args.bars and args.gpu and 1500),
        "ends": lambda: many_ends(1024, n, args),
        "paths": lambda: paths(1024, n, args),
        "three": lambda: three_launches(1024, n // 4, args),
    }
    results: list[Row] = []
    for name, group in groups.items():
        if args.only not in name:
            continue
        try:
            rows = group()
        except WrongResult as error:
            print(f"WRONG RESULT: {error}", file=sys.stderr)
            return 1
        for row in rows:
            print(told(row), flush=True)
        results += rows
    write_report(args.json, info, results)
    return 0 if all(row.get("met", True) for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
