#!/usr/bin/env python3
"""Speed of many short pairs on one device: prints a table, writes JSON, verifies every result.

    python bench/many.py [--short] [--device auto] [--json FILE]

Pairs are random, 150 x 200 letters, given as str, or reads of 150 letters against one target of
50,000. The time is that of the whole call, from str to result array, or of a call with a `Batch` of
them that is used again. The JSON also has the time of joining all letters and measuring all
lengths, in the same run. Every score of the random pairs, and those of some reads, are compared
with parasail's, which is timed as a loop in the same process (where parasail is installed), the
sums of every column with stored ones, and a sample of pairs, paths included, with `align` by the
reference engine. A wrong result, or a bar that is missed, ends with exit code 1. The bars are for a
quiet machine with 2 cores and PoCL; the short form has wide ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import WrongResult, pysw_cl, write_report

from pysw_cl.api.many import align_many_with
from pysw_cl.drivers.options import ManyOptions, Resources
from pysw_cl.results.stats import Stats

M, N = 150, 200
SAMPLE = 40


@dataclass(frozen=True)
class Kind:
    """What is compared: letters, the call's arguments, parasail's (its open is open + extend)."""

    name: str
    letters: str
    options: dict[str, Any]
    gaps: tuple[int, int]


DNA = Kind("DNA", "ACGT", {}, (5, 2))
PROTEIN = Kind(
    "protein", "ARNDCQEGHILKMFPSTWYV", {"sub_score": "BLOSUM62", "gap_cost": (10, 1)}, (11, 1)
)
#: (kind, pairs) -> sums of score, query_end, target_end, matches, columns, query_start,
#: target_start.
EXPECTED: dict[tuple[str, int], tuple[int, ...]] = {
    ("DNA", 10_000): (71155, 622783, 1024155, 72279, 72645, 550147, 951514),
    ("DNA", 100_000): (712112, 6250733, 10342168, 723397, 727068, 5523739, 9615162),
    ("protein", 10_000): (326620, 858882, 1147547, 84631, 294590, 583505, 872100),
    ("protein", 100_000): (3272002, 8615491, 11392367, 848894, 2958418, 5850157, 8623198),
}
COLUMNS = (
    "score",
    "query_end",
    "target_end",
    "matches",
    "columns",
    "query_start",
    "target_start",
)


def random_pairs(kind: Kind, count: int) -> list[tuple[str, str]]:
    """Random pairs that depend on the kind and their number only."""
    rng = np.random.default_rng([count, len(kind.letters)])
    letters = np.frombuffer(kind.letters.encode(), np.uint8)
    text = letters[rng.integers(0, len(letters), (count, M + N))].tobytes().decode()
    starts = range(0, len(text), M + N)
    return [(text[k : k + M], text[k + M : k + M + N]) for k in starts]


def parasail_loop(kind: Kind, pairs: list[tuple[str, str]]) -> tuple[list[int], float] | None:
    """parasail's scores and seconds, one pair after the other, where it is installed."""
    try:
        import parasail
    except ImportError:
        return None
    matrix = parasail.blosum62 if kind is PROTEIN else parasail.matrix_create("ACGT", 1, -3)
    compare, (first, extend) = parasail.sw_striped_sat, kind.gaps
    started = time.perf_counter()
    scores = [compare(a, b, first, extend, matrix).score for a, b in pairs]
    return scores, time.perf_counter() - started


def verify(kind: Kind, pairs: list[tuple[str, str]], rows: Any, scores: list[int] | None) -> str:
    """Raise WrongResult for a wrong row; says how rows were compared."""
    how = []
    if scores is not None:
        if rows["score"].tolist() != scores:
            raise WrongResult(f"{kind.name}: scores differ from parasail's")
        how.append("all scores: parasail")
    names = [name for name in COLUMNS if name in rows.dtype.names]
    expected = EXPECTED.get((kind.name, len(pairs)))
    if expected is not None:
        sums = tuple(int(rows[name].sum()) for name in names)
        if sums != tuple(expected[COLUMNS.index(name)] for name in names):
            raise WrongResult(f"{kind.name}: sums {sums} of {names}, expected {expected}")
        how.append("all columns: stored sums")
    for k in range(0, len(pairs), -(-len(pairs) // SAMPLE)):
        one = pysw_cl.align(*pairs[k], plan={"engine": "reference"}, **kind.options)
        for name in rows.dtype.names:
            if rows[k][name] != getattr(one, name):
                raise WrongResult(f"{kind.name} pair {k}: {name} is {rows[k][name]}")
    how.append("a sample: reference")
    return "; ".join(how)


def join(pairs: list[tuple[str, str]]) -> tuple[str, list[int]]:
    """The least that Python does to have all letters and lengths in one place."""
    halves = list(chain.from_iterable(pairs))
    return "".join(halves), list(map(len, halves))


def align(given: Any, output: str, device: str, options: dict[str, Any]) -> tuple[Any, Stats]:
    """The rows and the cost; "runs": paths as arrays, whose text is not part of the time."""
    if output == "runs":
        paths = pysw_cl.align_paths(given, device=device, **options)
        assert len(paths.runs) == paths.offsets[-1]
        return paths, Stats()
    resources = Resources(device=device)
    return align_many_with(given, ManyOptions(output=output, **options), resources)


def case(
    kind: Kind,
    output: str,
    pairs: list[tuple[str, str]],
    args: argparse.Namespace,
    peer: Any,
    prepared: bool,
) -> dict[str, Any]:
    """One timed and verified case; ``prepared``: the pairs are a Batch, which is used again."""
    runs = 3 if args.short else 5
    given: Any = pysw_cl.Batch.from_sequences(pairs) if prepared else pairs
    seconds, joins = [], []
    for run in range(runs + 1):  # the first is not counted: it may build kernels
        started = time.perf_counter()
        join(pairs)
        joins.append(time.perf_counter() - started)
        started = time.perf_counter()
        rows, stats = align(given, output, args.device, kind.options)
        if run:
            seconds.append(time.perf_counter() - started)
    rows = rows.table() if output == "runs" else rows
    scores = None if peer is None else peer[0]
    cells = len(pairs) * M * N
    row = {
        "case": f"{len(pairs):,} x ({M} x {N}) {kind.name}, {output}{', again' * prepared}",
        "seconds": median(seconds),
        "join_seconds": median(joins),
        "gcups": cells / median(seconds) / 1e9,
        "cells": stats.cells,
        "device_bytes": stats.device_bytes,
        "verified": verify(kind, pairs, rows, scores),
    }
    if peer is not None:
        row |= {"parasail_seconds": peer[1], "ratio": peer[1] / median(seconds)}
    return row


def reads_against(target: str, count: int) -> list[str]:
    """Parts of a target with changes, every second one from the other strand."""
    rng = np.random.default_rng(count)
    letters, found = np.frombuffer(target.encode(), np.uint8), []
    for k in range(count):
        at = int(rng.integers(0, len(letters) - M))
        read = letters[at : at + M].copy()
        changed = rng.integers(0, M, 5)
        read[changed] = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 5)]
        found.append(turned(read.tobytes().decode()) if k % 2 else read.tobytes().decode())
    return found


def turned(text: str) -> str:
    """The reverse complement."""
    return text.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def parasail_reads(reads: list[str], target: str) -> tuple[list[int], float] | None:
    """The better scores of both strands, each read from end to end, and seconds a read: of the
    fastest of parasail's exact functions."""
    try:
        import parasail
    except ImportError:
        return None
    matrix, best, scores = parasail.matrix_create("ACGT", 1, -3), float("inf"), None
    for compare in (parasail.sg_dx_striped_16, parasail.sg_dx_scan_16, parasail.sg_dx_striped_sat):
        started = time.perf_counter()
        found = [
            max(compare(one, target, 5, 2, matrix).score for one in (read, turned(read)))
            for read in reads
        ]
        best = min(best, (time.perf_counter() - started) / len(reads))
        if scores not in (None, found):
            raise WrongResult("parasail's functions differ")
        scores = found
    assert scores is not None
    return scores, best


def reads_cases(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Reads against one long target, each from end to end, on both strands: scores, then paths."""
    count, length, some = (200, 40_000, 10) if args.short else (1000, 50_000, 40)
    letters = np.random.default_rng(length).integers(0, 4, length)
    target = np.frombuffer(b"ACGT", np.uint8)[letters].tobytes().decode()
    reads = reads_against(target, count)
    peer = parasail_reads(reads[:some], target)
    options: dict[str, Any] = {
        "mode": "global",
        "free_ends": (True, True, False, False),
        "strand": "both",
    }
    pairs = [(read, target) for read in reads]
    sample = {
        k: pysw_cl.align(*pairs[k], output="path", device=args.device, **options)
        for k in range(0, count, count // 10)
    }
    for output in ("score", "path"):
        seconds = []
        for run in range(4):
            started = time.perf_counter()
            rows, stats = align(pairs, output, args.device, options)
            if run:
                seconds.append(time.perf_counter() - started)
        for k, one in sample.items():
            for name in rows.dtype.names:
                if rows[k][name] != getattr(one, name):
                    raise WrongResult(f"read {k}: {name} is {rows[k][name]}")
        row = {
            "case": f"{count:,} reads of {M} x {length:,}, both strands, {output}",
            "seconds": median(seconds),
            "gcups": 2 * count * M * length / median(seconds) / 1e9,
            "cells": stats.cells,
            "device_bytes": stats.device_bytes,
            "verified": "a sample: align",
        }
        if peer is not None:
            if rows["score"][:some].tolist() != peer[0]:
                raise WrongResult("scores of reads differ from parasail's")
            row |= {
                "parasail_seconds": peer[1] * count,
                "ratio": peer[1] * count / median(seconds),
                "verified": f"{some} scores: parasail; a sample: align",
            }
        yield row


def stringzilla_matrix(
    gaps: tuple[int, int], queries: list[str], targets: list[str]
) -> tuple[Any, float] | None:
    """StringZilla's scores (match 2, mismatch -1) and seconds, on a GPU where it finds one."""
    try:
        import stringzilla
        import stringzillas
    except ImportError:
        return None
    classes, costs = np.full(256, 4, np.uint8), np.full((32, 32), -1, np.int8)
    classes[list(b"ACGT")] = range(4)
    np.fill_diagonal(costs, 2)
    gpu = "cuda" in stringzillas.__capabilities__
    scope = stringzillas.DeviceScope(gpu_device=0) if gpu else stringzillas.DeviceScope()
    first, extend = gaps
    engine = stringzillas.SmithWatermanScores(classes, costs, -first, -extend, scope)
    best, scores = float("inf"), None
    for _ in range(2):
        started = time.perf_counter()
        strs = stringzilla.Strs(queries), stringzilla.Strs(targets)
        scores = np.asarray(engine(*strs, device=scope))
        best = min(best, time.perf_counter() - started)
    return scores, best


def matrix_cases(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All against all, from lists of str to the array of scores; gaps of both kinds."""
    count, rng = 300 if args.short else 2000, np.random.default_rng(M)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (2, count, M))]
    queries, targets = ([one.tobytes().decode() for one in side] for side in letters)
    some = [(query, target) for query in queries[:20] for target in targets[:20]]
    for first, extend in ((5, 2), (1, 1)):
        how = {"sub_score": (2, -1), "gap_cost": (first - extend, extend), "device": args.device}
        expected = pysw_cl.align_many(some, plan={"engine": "reference"}, **how)["score"]
        seconds = []
        for run in range(4):
            started = time.perf_counter()
            scores = pysw_cl.score_matrix(queries, targets, **how)
            if run:
                seconds.append(time.perf_counter() - started)
        if scores[:20, :20].ravel().tolist() != expected.tolist():
            raise WrongResult("scores of a matrix differ from the reference engine's")
        cells = (count * M) ** 2
        row = {
            "case": f"{count:,} x {count:,} of {M}, first gap {first}, next {extend}",
            "seconds": median(seconds),
            "gcups": cells / median(seconds) / 1e9,
            "verified": "400 scores: reference",
        }
        peer = stringzilla_matrix((first, extend), queries, targets)
        if peer is not None:
            if (peer[0] != scores).any():
                raise WrongResult("scores of a matrix differ from StringZilla's")
            row |= {"peer": "StringZilla", "peer_seconds": peer[1]}
            row |= {"ratio": peer[1] / median(seconds), "verified": "all scores: StringZilla"}
        yield row


def told(row: dict[str, Any], least: float | None, twice: float) -> bool:
    """Print a row; returns whether it meets its bars: GCUPS (None: no bars), and the ratio to
    parasail (0: none)."""
    bar, met = "", True
    if least is not None:
        bar = f">= {least} GCUPS" + (
            f", >= {twice} x {row.get('peer', 'parasail')}" if twice else ""
        )
        met = row["gcups"] >= least and row.get("ratio", twice) >= twice
    figures = [f"{row['seconds']:7.3f} s", f"{row['gcups']:6.2f} GCUPS"]
    if "ratio" in row:
        peer, other = row.get("peer", "parasail"), row.get("peer_seconds")
        other = row["parasail_seconds"] if other is None else other
        figures.append(f"{peer} {other:.3f} s, {row['ratio']:.1f} x")
    verdict = f"  bar {bar}: {'met' if met else 'MISSED'}" if bar else ""
    print(f"{row['case']:<42} {'  '.join(figures)}{verdict}", flush=True)
    row |= {"bar": bar, "met": met}
    return met


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="speed of many short pairs")
    parser.add_argument("--short", action="store_true", help="few pairs, under half a minute")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    count = 10_000 if args.short else 100_000
    bars = {("DNA", "score"): 10, ("DNA", "ends"): 10}
    results, good = [], True
    for kind in (DNA, PROTEIN):
        pairs = random_pairs(kind, count)
        peer = parasail_loop(kind, pairs)
        wanted = [(output, False) for output in ("score", "ends", "matches", "path", "runs")]
        for output, prepared in [*wanted, ("score", True), ("runs", True)]:
            try:
                row = case(kind, output, pairs, args, peer, prepared)
            except WrongResult as error:
                print(f"WRONG RESULT: {error}", file=sys.stderr)
                return 1
            least = None if prepared else bars.get((kind.name, output))
            if least is not None and args.short:
                least = 1
            good &= told(row, least, 0 if args.short or peer is None else 2)
            results.append(row)
    try:
        for row in reads_cases(args):
            twice = 2 if row["case"].endswith("score") and "ratio" in row else 0
            good &= told(row, 1, twice)
            results.append(row)
        for row in matrix_cases(args):
            good &= told(row, 1, 2 if "ratio" in row and not args.short else 0)
            results.append(row)
    except WrongResult as error:
        print(f"WRONG RESULT: {error}", file=sys.stderr)
        return 1
    from pysw_cl.opencl.device import get_runtime

    write_report(args.json, get_runtime(args.device).info, results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
