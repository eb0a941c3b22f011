#!/usr/bin/env python3
"""How right predictions are: prints tables, writes JSON, verifies every result.

    python bench/model.py [--short] [--device auto] [--only WORD] [--sizes 20] [--json FILE]
                          [--budgets TUNING ALL]

"sizes": sizes that are drawn at random and were never used for fitting, predicted and then run.
Each is run several times, with the others in between.  Where its times spread by more than half
of a bar, twice that spread counts as the bar.  "memory": predicted over allocated bytes of the
same runs.  "pairs": similar pairs with their paths, likewise.  "auto": the time by device="auto"
over that by the best single device, where there are several.  "calibration": how long one takes
once its kernels are built.  "cuts": the model's choice of alpha over the best of all.  "tuned":
tuned parameters over the defaults, and over the best of everything.

A score that two devices or plans do not agree on, or a bar that is missed, ends with exit code 1.
The bars are for one NVIDIA H200 and for a quiet machine with 2 cores and PoCL.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import Row, WrongResult, pysw_cl, random_pair, wait_for_builds, write_report
from model_tuning import pairs, tell, tuned

from pysw_cl.api.calibrate import calibrated
from pysw_cl.engines.plans import default_plan
from pysw_cl.opencl.device import get_runtime, runtimes_to_choose_from

#: Kind of device -> cells of the least and of the largest matrix, bars of the median and of the
#: worst error.
SIZES = {"gpu": (1e9, 3e13, 0.01, 0.04), "cpu": (1e8, 1e11, 0.05, 0.15)}
#: The most letters of a sequence, and the longest side over the shortest.
MOST_LETTERS, ASPECT = 180_000_000, 1000.0
#: How often a size is measured in the course of a run, but for those whose calls take so many
#: seconds: twice.  Below so many seconds that is the median of three calls.
VISITS, LONG_SIZE, SHORT_SIZE = 5, 2.0, 0.1
#: Lengths at which "auto" has to choose.
LENGTHS = (150, 500, 2000, 5000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 5_000_000)

#: Of these the longest that a CPU is asked for.
MOST_ON_CPU = 300_000
#: Calls of each device: more of short ones, whose times spread most, that is of up to so many
#: seconds; and still more as long as all calls of a device take less than so many.
TURNS, SHORT_TURNS, SHORT_CALL = 3, 42, 0.02
MOST_TURNS, ENOUGH_SECONDS = 300, 1.0


def drawn(kind: str, count: int, seed: int, most: float) -> list[tuple[int, int]]:
    """Random sizes for a kind of device, of at most so many cells."""
    low, high, *_ = SIZES["gpu" if kind == "gpu" else "cpu"]
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        cells = np.exp(rng.uniform(np.log(low), np.log(min(high, most))))
        aspect = np.exp(rng.uniform(-np.log(ASPECT), np.log(ASPECT)))
        m = int((cells * aspect) ** 0.5)
        n = int(cells / max(1, m))
        if max(m, n) <= MOST_LETTERS:
            found.append((m, n))
    return found


def run(m: int, n: int, runs: int, device: Any, **options: Any) -> tuple[list[float], Any]:
    """Seconds of calls of one size, after those that build, and the last result."""
    a, b = random_pair(m, n)

    def call() -> Any:
        return pysw_cl.align(a, b, output="score", device=device, **options)

    found = call()
    if wait_for_builds(device):
        found = call()
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - started)
    return seconds, found


def sizes(args: argparse.Namespace) -> list[Row]:
    """Predicted and measured time of random sizes, and the memory."""
    given = drawn(args.kind, args.sizes, args.seed, 1e9 if args.short else 1e99)
    said = {size: pysw_cl.predict(*size, device=args.device) for size in given}
    seconds = {size: list[float]() for size in given}
    found = {}
    for visit in range(VISITS):  # a host is slower in some minutes than in others
        for size in given:
            expected = said[size].seconds
            if expected < LONG_SIZE or visit in (0, 2):
                some, found[size] = run(*size, 3 if expected < SHORT_SIZE else 1, args.device)
                seconds[size].append(median(some))
    rows = []
    for m, n in given:
        expected, result, repeats = said[m, n], found[m, n], seconds[m, n]
        taken = median(repeats)
        if m * n < 3e10:
            again = run(m, n, 0, args.device, plan={"alpha": 4})[1]
            if again.score != result.score:
                raise WrongResult(f"{m} x {n}: {result.score} and {again.score}")
        kernels = run(m, n, 0, args.device, kernel_times=True)[1].stats.kernel_seconds
        rows.append(
            {
                "case": f"{m:,} x {n:,}",
                "seconds": taken,
                "predicted": expected.seconds,
                "error": expected.seconds / taken - 1,
                "inside": expected.interval[0] <= taken <= expected.interval[1],
                "spread": (max(repeats) - min(repeats)) / taken,
                "kernels": sum(kernels.values()),
                "sweep": expected.parts["sweep"],
                "memory": expected.memory / result.stats.device_bytes,
                "way": expected.way,
                "alpha": expected.plan.alpha,
            }
        )
        tell(rows[-1])
    _, _, usual, most = SIZES["gpu" if args.kind == "gpu" else "cpu"]
    off = [abs(row["error"]) for row in rows]
    spread = 2 * median([row["spread"] for row in rows])
    usual = usual if spread < usual else spread
    worst = max(
        e / (most if row["spread"] < most / 2 else 2 * row["spread"])
        for e, row in zip(off, rows, strict=True)
    )
    memory = max(abs(row["memory"] - 1) for row in rows)
    summary = [
        {"case": "median error", "value": median(off), "bar": usual, "met": median(off) <= usual},
        {"case": "worst error", "value": max(off), "bar": most, "met": worst <= 1},
        {
            "case": "runs inside their interval",
            "value": sum(row["inside"] for row in rows) / len(rows),
        },
        {"case": "memory, worst error", "value": memory, "bar": 0.05, "met": memory <= 0.05},
    ]
    return rows + summary


def auto(args: argparse.Namespace) -> list[Row]:
    """device="auto" against each device, over lengths."""
    devices = runtimes_to_choose_from("auto")
    if len(devices) < 2:
        return []
    rows = []
    for length in LENGTHS[: 5 if args.short else None]:
        used = [d for d in devices if d.info.kind != "cpu" or length <= MOST_ON_CPU]
        names = [*(runtime.info.index for runtime in used), "auto"]
        scores = {run(length, length, 0, name)[1].score for name in names}
        if len(scores) > 1:
            raise WrongResult(f"{length}: {scores}")
        pair, turns = random_pair(length, length), [list[float]() for _ in names]
        orders = list(permutations(zip(names, turns, strict=True)))  # each follows each other one
        for turn in range(MOST_TURNS):
            for name, seconds in orders[turn % len(orders)]:
                started = time.perf_counter()
                pysw_cl.align(*pair, output="score", device=name)
                seconds.append(time.perf_counter() - started)
            if turn + 1 >= TURNS and max(map(min, turns)) > SHORT_CALL:
                break
            if turn + 1 >= SHORT_TURNS and max(map(sum, turns)) > ENOUGH_SECONDS:
                break
        kinds = [runtime.info.kind for runtime in used]
        calls = dict(zip([*kinds, "seconds"], turns, strict=True))
        taken = {name: median(seconds) for name, seconds in calls.items()}
        best = min(kinds, key=lambda kind: taken[kind])
        over = taken["seconds"] / taken[best]
        rows.append(
            {
                "case": f"auto, {length:,} x {length:,}",
                **taken,
                "over": over,
                "spread": _middle_half(calls[best]),
                "turns": len(calls[best]),
                "bar": 1.1,
                "met": over <= 1.1,
            }
        )
        tell(rows[-1])
    return rows


def _middle_half(seconds: list[float]) -> float:
    """The width of the middle half of repeats, as a share of their median.  (Of dozens of calls of
    a millisecond the shortest and the longest say little.)"""
    low, middle, high = np.quantile(seconds, (0.25, 0.5, 0.75))
    return float((high - low) / middle)


def calibration(args: argparse.Namespace) -> list[Row]:
    """Seconds of a calibration, once its kernels are built."""
    runtime = get_runtime(args.device)
    budget = 1.0 if args.short else 5.0
    profile, _ = runtime.profile()
    how = budget, lambda seconds: None, math.inf, False
    calibrated(runtime, profile, *how)
    started = time.perf_counter()
    found = calibrated(runtime, profile, *how)
    taken = time.perf_counter() - started
    row = {"case": "calibration", "seconds": taken, "spread": found.spread, "bar": 10.0}
    row["met"] = taken <= 10
    tell(row)
    return [row]


def cuts(args: argparse.Namespace) -> list[Row]:
    """The plan's alpha against every other one, for some sizes."""
    runtime = get_runtime(args.device)
    cells = 1e8 if args.short else 3e9 if args.kind == "cpu" else 3e11
    rows = []
    for aspect in (1.0, 30.0, 1 / 30):
        m = int((cells * aspect) ** 0.5)
        n = int(cells / m)
        own = median(run(m, n, 5, args.device)[0])
        fixed = {
            alpha: median(run(m, n, 3, args.device, plan={"alpha": alpha})[0])
            for alpha in default_plan(runtime).alphas[:: 3 if args.kind == "gpu" else 1]
        }
        best = min(fixed, key=lambda alpha: fixed[alpha])
        share = fixed[best] / own
        rows.append(
            {
                "case": f"alpha, {m:,} x {n:,}",
                "seconds": own,
                "best alpha": best,
                "share": share,
                "bar": 0.97,
                "met": share >= 0.97,
            }
        )
        tell(rows[-1])
    return rows


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="small cases")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="", help="groups of cases whose name has this word")
    parser.add_argument("--sizes", type=int, default=20, help="how many sizes are drawn")
    parser.add_argument("--seed", type=int, default=2024, help="of the sizes")
    parser.add_argument(
        "--budgets",
        type=float,
        nargs=2,
        metavar=("TUNING", "ALL"),
        help="seconds of a tuning, and those in which everything is tried",
    )
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    info = get_runtime(args.device).info
    args.kind = info.kind
    groups: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
        "sizes": sizes,
        "pairs": pairs,
        "auto": auto,
        "calibration": calibration,
        "cuts": cuts,
        "tuned": tuned,
    }
    results: list[Row] = []
    for name, group in groups.items():
        if args.only not in name:
            continue
        try:
            rows = group(args)
        except WrongResult as error:
            print(f"WRONG RESULT: {error}", file=sys.stderr)
            return 1
        results += rows
    for row in results:
        if "met" in row and "value" in row:
            tell(row)
    write_report(args.json, info, results)
    return 0 if args.short or all(row.get("met", True) for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
