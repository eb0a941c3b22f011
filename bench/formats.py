#!/usr/bin/env python3
"""Speed of writing results: prints a table, writes JSON, verifies every file.

    python bench/formats.py [--short] [--reads 100000] [--device auto] [--json FILE]

Two bars, each a ratio of one run: 1,000,000 lines of PAF from `align_many` (random pairs of 150 x
200 letters, whose paths are short and computed fast) take less than half of the time of computing
them; 100,000 reads of 150 letters against a region of 50,000, both strands, take at most 30% longer
with a SAM file than without.  The other formats are timed with the first rows of the PAF case and
have no bar.  Lines are counted, and records that are read back are compared with the rows: all of
them in the short form, else every hundredth.  A wrong file or a bar that is missed ends with exit
code 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from cases import write_report
from many import DNA, WrongResult, random_pairs

import pysw_cl

REGION, READ = 50_000, 150
#: Pairs that the formats without a bar are timed with.
OTHERS = 20_000
TABLE = bytes.maketrans(b"ACGT", b"TGCA")


def random_reads(count: int) -> tuple[str, list[str]]:
    """A random region and reads of it from both strands, 2% of whose letters are others; they
    depend on their number only."""
    rng = np.random.default_rng([count, REGION])
    letters = np.frombuffer(b"ACGT", np.uint8)
    region = letters[rng.integers(0, 4, REGION)]
    reads = []
    for start, minus in zip(
        rng.integers(0, REGION - READ, count), rng.random(count) < 0.5, strict=True
    ):
        read = region[start : start + READ].copy()
        wrong = rng.random(READ) < 0.02
        read[wrong] = letters[rng.integers(0, 4, int(wrong.sum()))]
        text = read.tobytes()
        reads.append((text.translate(TABLE)[::-1] if minus else text).decode())
    return region.tobytes().decode(), reads


def verify(path: Path, format: str, rows: Any, names: Sequence[Any], step: int) -> str:
    """Raise WrongResult unless the file has the results, in order; says what was compared."""
    kept = np.flatnonzero(rows["columns"])
    with path.open() as file:
        lines = sum(1 for line in file if not line.startswith("@"))
    if lines != (len(kept) if format == "paf" else len(rows)):
        raise WrongResult(f"{path.name}: {lines} lines")
    fields = [name for name in rows.dtype.names if name != "cigar"]
    for record, k in islice(zip(pysw_cl.read(path), kept.tolist(), strict=True), 0, None, step):
        found = [getattr(record, name) for name in (*fields, "cigar")]
        if (*found, record.query_name, record.target_name) != (
            *(rows[name][k] for name in (*fields, "cigar")),
            *names[k],
        ):
            raise WrongResult(f"{path.name}: row {k} is {record}")
    return f"lines counted; one of {step} read back" if step > 1 else "all read back"


def timed(call: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The least seconds of some calls, and the last result."""
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - started)
    return min(seconds), found


def case(
    what: str, format: str, pairs: list[Any], names: list[Any], args: Any, **how: Any
) -> tuple[dict[str, Any], Any]:
    """Computing and writing, timed in the same run and verified."""
    how["device"] = args.device
    pysw_cl.align_many(pairs[:2000], output="path", **how)  # which may build kernels
    runs = 3 if len(pairs) < 10**6 and not how.get("strand") else 1
    computed, rows = timed(lambda: pysw_cl.align_many(pairs, output="path", **how), runs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"out.{format}")
        written, _ = timed(lambda: pysw_cl.write(rows, path, pairs=pairs, names=names, **how), 3)
        size = path.stat().st_size
        how_verified = verify(path, format, rows, names, 1 if args.short else 100)
    row = {
        "case": what,
        "compute_seconds": computed,
        "write_seconds": written,
        "ratio": written / computed,
        "lines_per_second": len(pairs) / written,
        "bytes": size,
        "verified": how_verified,
    }
    return row, rows


def others(pairs: list[Any], names: list[Any], rows: Any) -> list[dict[str, Any]]:
    """The formats without a bar."""
    found = []
    for format in ("tsv", "blast6", "blast7", "maf", "fasta", "jsonl", "pair"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out")
            seconds, _ = timed(
                lambda path=path, format=format: pysw_cl.write(
                    rows, path, format, pairs=pairs, names=names
                ),
                3 if format != "pair" else 1,
            )
            if path.stat().st_size < len(pairs) * 20:
                raise WrongResult(f"{format}: {path.stat().st_size} bytes")
        per_second = len(pairs) / seconds
        found.append({"case": f"{len(pairs):,} x {format}", "lines_per_second": per_second})
    return found


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="speed of writing results")
    parser.add_argument("--short", action="store_true", help="few results, under a minute")
    parser.add_argument("--reads", type=int, default=100_000, help="of the case of SAM")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    count, reads = (50_000, 300) if args.short else (1_000_000, args.reads)
    results: list[dict[str, Any]] = []
    try:
        pairs = random_pairs(DNA, count)
        names = [(f"query{k}", f"target{k}") for k in range(count)]
        row, rows = case(f"{count:,} lines of PAF", "paf", pairs, names, args)
        results.append(row | {"most": 1.0 if args.short else 0.5})
        few = slice(0, OTHERS)
        results += others(pairs[few], names[few], rows[few])
        region, texts = random_reads(reads)
        pairs = [(text, region) for text in texts]
        names = [(f"read{k}", "region") for k in range(reads)]
        row, _ = case(f"{reads:,} reads, SAM", "sam", pairs, names, args, strand="both")
        results.append(row | {"most": 0.3})
    except WrongResult as error:
        print(f"WRONG RESULT: {error}", file=sys.stderr)
        return 1
    good = True
    for row in results:
        figures = f"{row['lines_per_second']:12,.0f} a second"
        if "most" in row:
            row["met"] = row["ratio"] <= row["most"]
            good &= row["met"]
            figures += (
                f"  computed in {row['compute_seconds']:.2f} s, written in "
                f"{row['write_seconds']:.2f} s: {row['ratio']:.3f}  bar <= {row['most']}: "
                f"{'met' if row['met'] else 'MISSED'}"
            )
        print(f"{row['case']:<28}{figures}")
    from pysw_cl.opencl.device import get_runtime

    write_report(args.json, get_runtime(args.device).info, results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
