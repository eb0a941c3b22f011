#!/usr/bin/env python3
"""Speed and memory of one pair on one device: prints a table, writes JSON, verifies every result.

    python bench/pair.py [--short] [--device auto] [--json FILE]

Every timed result is compared with the expected score and end (made once with parasail, and made
again here where parasail is installed); a wrong one, or a bar that is missed, ends with exit
code 1.  The bars are for a quiet machine with 2 cores and PoCL; the short form has wide ones.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pysw_cl  # noqa: E402
from pysw_cl._kernels import shipped  # noqa: E402

#: (m, n) of random pairs -> (score, query end, target end), +1/-3, gap of k costs 3 + 2 k.
EXPECTED_RANDOM = {
    (20_000, 20_000): (16, 10980, 14334),
    (50_000, 50_000): (15, 40057, 22417),
    (100_000, 100_000): (16, 41612, 37395),
}
EXPECTED_MITO = (10642, 576, 16569, 0, 15989)
CHILD = """
import resource, sys
sys.path.insert(0, {root!r}); sys.path.insert(0, {bench!r})
from pair import random_pair
import pysw_cl
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
r = pysw_cl.align(*random_pair({m}, {n}), output={output!r}, device={device!r})
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(r.score, r.query_end, r.target_end, before * 1024, after * 1024)
"""


def random_pair(m: int, n: int) -> tuple[bytes, bytes]:
    """Two random DNA sequences that depend on their lengths only."""
    rng = np.random.default_rng([m, n])
    letters = np.frombuffer(b"ACGT", np.uint8)
    return letters[rng.integers(0, 4, m)].tobytes(), letters[rng.integers(0, 4, n)].tobytes()


class WrongResult(Exception):
    """A timed run gave another result than the expected one."""


def check(what: str, got: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    """Raise when a result is not the expected one."""
    if got != expected:
        raise WrongResult(f"{what}: got {got}, expected {expected}")


def parasail_result(a: bytes, b: bytes) -> tuple[int, float] | None:
    """parasail's score and seconds on one thread, where it is installed."""
    try:
        import parasail
    except ImportError:
        return None
    matrix = parasail.matrix_create("ACGT", 1, -3)
    started = time.perf_counter()
    result = parasail.sw_striped_sat(a.decode(), b.decode(), 5, 2, matrix)
    return int(result.score), time.perf_counter() - started


def timed(runs: int, call: Callable[[], Any]) -> tuple[float, Any]:
    """Median wall seconds of ``runs`` calls after one that is not counted, and the last result."""
    call()
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - started)
    return median(seconds), result


def random_score(m: int, n: int, device: str, runs: int) -> dict[str, Any]:
    """Score and end of a random pair."""
    a, b = random_pair(m, n)
    seconds, r = timed(runs, lambda: pysw_cl.align(a, b, output="ends", device=device, prune=False))
    check(f"random {m} x {n}", (r.score, r.query_end, r.target_end), EXPECTED_RANDOM[m, n])
    check("cells computed", (r.stats.total_cells,), (m * n,))
    row = {
        "case": f"random DNA {m:,} x {n:,}, ends",
        "seconds": seconds,
        "gcups": m * n / seconds / 1e9,
        "plan": str(r.plan),
        "cells": r.stats.cells,
        "device_bytes": r.stats.device_bytes,
        "verified": "stored score and end",
    }
    peer = parasail_result(a, b)
    if peer is not None:
        check("parasail's score", (peer[0],), (r.score,))
        row |= {"parasail_gcups": m * n / peer[1] / 1e9, "verified": "parasail, stored end"}
    return row


def mito_path(device: str, runs: int) -> dict[str, Any]:
    """Human against chimpanzee mitochondrion, with its path."""
    names = "NC_012920.1.fasta", "GU112745.1.fasta"
    a, b = (next(pysw_cl.read_fasta(shipped("examples", name))) for name in names)
    seconds, r = timed(runs, lambda: pysw_cl.align(a, b, device=device))
    got = (r.score, r.query_start, r.query_end, r.target_start, r.target_end)
    check("mitochondria", got, EXPECTED_MITO)
    check("the path's score", (r.rescore(),), (r.score,))
    return {
        "case": "mitochondria 16,569 x 16,558, path",
        "seconds": seconds,
        "gcups": len(a) * len(b) / seconds / 1e9,
        "plan": str(r.plan),
        "cells": r.stats.cells,
        "verified": "stored score and ends; path re-scored",
    }


def demo(cold: bool) -> dict[str, Any]:
    """The whole ``pysw-cl demo`` command, with an empty or a filled kernel cache."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, POCL_CACHE_DIR=f"{folder}/pocl", XDG_CACHE_HOME=f"{folder}/xdg")
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        for name in ("pocl", "xdg"):
            Path(folder, name).mkdir()
        command = [sys.executable, "-m", "pysw_cl", "demo"]
        for _ in range(1 if cold else 2):
            started = time.perf_counter()
            out = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
            seconds = time.perf_counter() - started
    if f"score:       {EXPECTED_MITO[0]}" not in out.stdout:
        raise WrongResult(f"demo printed {out.stdout[:300]!r}")
    kind = "empty" if cold else "filled"
    return {"case": f"pysw-cl demo, {kind} cache", "seconds": seconds, "verified": "stored score"}


def memory(m: int, n: int, output: str, device: str) -> dict[str, Any]:
    """Peak resident memory of a whole process that makes one alignment."""
    code = CHILD.format(
        root=str(ROOT), bench=str(ROOT / "bench"), m=m, n=n, output=output, device=device
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    score, row, column, before, after = out.stdout.split()
    check(f"memory run {m} x {n}", (int(score),), EXPECTED_RANDOM[m, n][:1])
    if output != "score":
        check("its end", (int(row), int(column)), EXPECTED_RANDOM[m, n][1:])
    return {
        "case": f"random DNA {m:,} x {n:,}, {output}: memory",
        "peak_bytes": int(after),
        "before_bytes": int(before),
        "verified": "stored score",
    }


def rows_of(args: argparse.Namespace) -> list[tuple[dict[str, Any], str, bool]]:
    """(row, bar in words, met) of every case."""
    runs = 3 if args.short else 5
    out = []

    def add(row: dict[str, Any], bar: str = "", met: bool = True) -> None:
        out.append((row, bar, met))

    size = 20_000 if args.short else 100_000
    row = random_score(size, size, args.device, runs)
    least = 1 if args.short else 11
    add(row, f">= {least} GCUPS", row["gcups"] >= least)
    row = mito_path(args.device, runs)
    add(row, "< 1 s", row["seconds"] < 1)
    if not args.short:
        for cold, bar in ((True, 8), (False, 2)):
            row = demo(cold)
            add(row, f"< {bar} s", row["seconds"] < bar)
        row = memory(size, size, "score", args.device)
        most = 64 * 2 * size + 200_000_000
        add(row, f"< {most / 1e6:.0f} MB more", row["peak_bytes"] - row["before_bytes"] < most)
        row = memory(50_000, 50_000, "path", args.device)
        add(row, "< 1 GiB", row["peak_bytes"] < 2**30)
    return out


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="speed and memory of one pair")
    parser.add_argument("--short", action="store_true", help="small cases, under half a minute")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    try:
        rows = rows_of(args)
    except WrongResult as error:
        print(f"WRONG RESULT: {error}", file=sys.stderr)
        return 1
    for row, bar, met in rows:
        figures = [f"{row['seconds']:8.3f} s" if "seconds" in row else " " * 10]
        figures += [f"{row['gcups']:7.2f} GCUPS"] if "gcups" in row else []
        figures += [f"{row['peak_bytes'] / 2**20:7.0f} MiB"] if "peak_bytes" in row else []
        figures += [f"parasail {row['parasail_gcups']:.1f}"] if "parasail_gcups" in row else []
        verdict = f"  bar {bar}: {'met' if met else 'MISSED'}" if bar else ""
        print(f"{row['case']:<46} {'  '.join(figures)}{verdict}")
    from pysw_cl.opencl.device import get_runtime

    report = {
        "date": time.strftime("%Y-%m-%d"),
        "version": pysw_cl.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "device": str(get_runtime(args.device).info),
        "driver": get_runtime(args.device).info.driver,
        "results": [row | {"bar": bar, "met": met} for row, bar, met in rows],
    }
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if all(met for _, _, met in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
