#!/usr/bin/env python3
"""Speed and memory of one pair on one device: prints a table, writes JSON, verifies every result.

    python bench/pair.py [--short] [--long] [--only TEXT] [--device auto] [--json FILE]

Every timed result is compared with the expected score and end (stored, and made again here with
parasail, which is timed on one thread, where it is installed), and its cells with the lanes that
should have computed them.  A wrong result, or a bar that is missed, ends with exit code 1.  The
bars are for a quiet machine: 2 cores with PoCL (one bar is higher from 16 on), or an H200.  The
short form has wide ones.  --long adds lengths up to 30 Mb on a GPU, which take minutes there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cases import Bench, Row, WrongResult, write_report
from small import beside_scikit_bio, beside_transpose, repeat_top, with_aligner

#: What a bar may be about -> (how many of the row's units make one, the unit, is more better?)
FIGURES = {
    "seconds": (1, " s", False),
    "milliseconds": (1e-3, " ms", False),
    "gcups": (1, " GCUPS", True),
    "ratio": (1, " x parasail", True),
    "share": (0.01, "% of the fastest length", True),
    "device_bytes": (1e6, " MB on the device", False),
    "peak_bytes": (2**20, " MiB", False),
    "more_bytes": (1e6, " MB more", False),
    "estimate_off": (0.01, "% off in the estimate", False),
    "times": (1, " times the score alone", False),
    "pruned": (0.01, "% pruned", True),
    "computed": (0.01, "% computed", False),
    "of_scikit_bio": (1, " x scikit-bio's time", False),
    "of_align": (1, " x align's time", False),
    "of_transpose": (1, " x its transpose's time", False),
}


@dataclass(frozen=True)
class Case:
    """A name, what makes its row, and its bars: a figure and how much it must be at least, or at
    most (see FIGURES)."""

    name: str
    make: Callable[[str], Row]
    bars: tuple[tuple[str, float], ...] = ()

    def judged(self) -> Row:
        """The row with its bars; one whose figure is missing (there is no peer) does not count."""
        row = self.make(self.name)
        words, met = [], True
        for figure, limit in self.bars:
            unit, name, more = FIGURES[figure]
            value = row.get("seconds" if figure == "milliseconds" else figure)
            if value is not None:
                words.append(f"{'>=' if more else '<='} {limit:g}{name}")
                met &= value / unit >= limit if more else value / unit <= limit
        return row | {"bar": ", ".join(words), "met": met}


def short_cases(bench: Bench) -> list[Case]:
    """Small cases with wide bars, under half a minute."""
    return [
        Case(
            "random DNA 20,000 x 20,000, ends",
            lambda name: bench.random(name, 20_000, 20_000, 3),
            (("gcups", 1),),
        ),
        Case(
            "similar DNA 20,000 x 20,000, ends",
            lambda name: bench.similar(name, 20_000, 3),
            (("gcups", 1),),
        ),
        Case(
            "protein 5,000 x 5,000, ends",
            lambda name: bench.protein(name, 5_000, 3),
            (("gcups", 0.2),),
        ),
        Case(
            "random DNA 1,000 x 1,000, score",
            lambda name: bench.small(name, 1_000, 100),
            (("milliseconds", 20),),
        ),
        Case(
            "random DNA 100 x 1,000,000, ends",
            lambda name: bench.random(name, 100, 1_000_000, 3),
        ),
        Case(
            "random DNA 1,000,000 x 100, ends",
            lambda name: bench.random(name, 1_000_000, 100, 3),
        ),
        Case(
            "mitochondria 16,569 x 16,558, path",
            lambda name: bench.mito_path(name, 3),
            (("seconds", 1),),
        ),
    ]


def small_cases(bench: Bench, runs: int) -> list[Case]:
    """Small matrices.  The bars are a CPU's, where each is held whole."""
    cpu = bench.info.kind == "cpu"
    cases = []
    for kind, protein in (("random DNA", False), ("protein", True)):
        for output, most in (("score", 2.0), ("path", 3.0)):
            cases.append(
                Case(
                    f"{kind} 150 x 200, {output}",
                    lambda name, output=output, protein=protein: beside_scikit_bio(
                        name, bench.device, 150, 200, output, protein, runs
                    ),
                    (("of_scikit_bio", most),) if cpu else (),
                )
            )
    for given, output, most in (
        ("numbers", "score", 1.0),
        ("numbers", "path", 1.0),
        ("matrix", "score", 0.6),
    ):
        cases.append(
            Case(
                f"Aligner, {given}, 150 x 200, {output}",
                lambda name, output=output, given=given: with_aligner(
                    name, bench.device, output, given, runs
                ),
                (("of_align", most),) if cpu else (),
            )
        )
    top = Case(
        "repeat 1,200 x 1,200, 299 alignments",
        lambda name: repeat_top(name, bench.device, 8, 150, 3),
        (("seconds", 0.9),) if cpu else (),
    )
    return [*cases, top]


def speed_cases(bench: Bench) -> list[Case]:
    """The cases about speed whose sizes or bars depend on the kind of device."""
    gpu = bench.info.kind == "gpu"
    wide = bench.info.kind == "cpu" and bench.info.compute_units >= 16

    def of_cpu(*bars: tuple[str, float]) -> tuple[tuple[str, float], ...]:
        return () if gpu else bars

    cases = [
        Case(
            "random DNA 100,000 x 100,000, ends",
            lambda name: bench.random(name, 100_000, 100_000, 5),
            (("gcups", 400 if gpu else 150 if wide else 11),),
        ),
        Case(
            "similar DNA 1,000,000 x 1,000,000, ends",
            lambda name: bench.similar(name, 1_000_000, 1),
            of_cpu(("gcups", 24), ("ratio", 3)),
        ),
        Case(
            "protein 35,000 x 35,000, ends",
            lambda name: bench.protein(name, 35_000, 5),
            (("gcups", 300),) if gpu else (("gcups", 12), ("ratio", 2.0)),
        ),
        Case(
            "random DNA 1,000 x 1,000, score",
            lambda name: bench.small(name, 1_000, 300),
            (("milliseconds", 0.3 if gpu else 1),),
        ),
        Case(
            "random DNA 100 x 10,000,000, ends",
            lambda name: bench.random(name, 100, 10_000_000, 3),
        ),
        Case(
            "random DNA 10,000,000 x 100, ends",
            lambda name: bench.random(name, 10_000_000, 100, 3),
        ),
    ]
    if not gpu:
        million = Case(
            "random DNA 1,000,000 x 1,000,000, ends",
            lambda name: bench.random(name, 1_000_000, 1_000_000, 1),
            (("gcups", 40), ("ratio", 1.6)),
        )
        cases.insert(1, million)
    return cases


def thin_cases(bench: Bench) -> list[Case]:
    """A long query and a short target take as long as the same the other way round."""
    shapes = [(1_000_000, 1_000), (1_000_000, 10_000), (400_000, 18_000), (1_000_000, 40_000)]
    if bench.info.kind == "gpu":
        shapes.append((4_000_000, 100_000))
    return [
        Case(
            f"random DNA {m:,} x {n:,}, {output}",
            lambda name, m=m, n=n, output=output: beside_transpose(
                name, bench.device, m, n, output, 21 if m * n < 1 << 30 else 7
            ),
            (("of_transpose", 1.15),),
        )
        for output in ("ends", "path")
        for m, n in shapes
    ]


def gpu_cases(bench: Bench, long: bool) -> list[Case]:
    """Proteins, and long random pairs: a longer one must not be slower than a shorter one, but for
    5%.  One of them is a pipeline of tiles."""
    name = "protein 300,000 x 300,000, ends"
    cases = [Case(name, lambda name: bench.protein(name, 300_000, 5), (("gcups", 3000),))]
    sizes = [(5_000_000, 5_000_000), (5_000_000, 20_000_000)]
    if long:
        sizes = [(1_000_000, 1_000_000), *sizes, *((n, n) for n in (10_000_000, 30_000_000))]
    for m, n in sizes:
        bars: tuple[tuple[str, float], ...] = (("share", 95),)
        if m == n == 5_000_000:
            bars = (("gcups", 4500), ("device_bytes", 200), *bars)
        cases.append(
            Case(
                f"random DNA {m:,} x {n:,}, ends",
                lambda name, m=m, n=n: bench.long(name, m, n),
                bars,
            )
        )
    return cases


def whole_cases(bench: Bench) -> list[Case]:
    """Paths, whole commands and whole processes."""
    most = (64 * 2 * 100_000 + 200_000_000) / 1e6
    return [
        Case(
            "mitochondria 16,569 x 16,558, path",
            lambda name: bench.mito_path(name, 5),
            (("seconds", 1),),
        ),
        Case(
            "pysw-cl demo, empty cache",
            lambda name: bench.demo(name, cold=True),
            (("seconds", 8),),
        ),
        Case(
            "pysw-cl demo, filled cache",
            lambda name: bench.demo(name, cold=False),
            (("seconds", 2),),
        ),
        Case(
            "random DNA 100,000 x 100,000, score: memory",
            lambda name: bench.memory(name, 100_000, 100_000, "score"),
            (("more_bytes", most),),
        ),
        Case(
            "random DNA 50,000 x 50,000, path: memory",
            lambda name: bench.memory(name, 50_000, 50_000, "path"),
            (("peak_bytes", 1024),),
        ),
    ]


def line(row: Row) -> str:
    """A row of the table."""
    figures = []
    if "seconds" in row:
        small = row["seconds"] < 0.01
        figures.append(f"{row['seconds'] * (1e3 if small else 1):8.3f} {'ms' if small else 's '}")
    figures += [f"{row['gcups']:8.2f} GCUPS"] if "gcups" in row else []
    figures += [f"{row['peak_bytes'] / 2**20:7.0f} MiB"] if "peak_bytes" in row else []
    if "of_scikit_bio" in row:
        figures.append(
            f"{row['of_scikit_bio']:.2f} x scikit-bio's {1e3 * row['scikit_bio']:.3f} ms"
        )
    if "of_align" in row:
        figures.append(f"{row['of_align']:.2f} x align's {1e3 * row['align']:.3f} ms")
    if "of_transpose" in row:
        figures.append(f"{row['of_transpose']:.2f} x its transpose")
    if "parasail" in row:
        figures.append(f"{row['ratio']:.2f} x {row['parasail_gcups']:.1f} of {row['parasail']}")
    verdict = f"  bar {row['bar']}: {'met' if row['met'] else 'MISSED'}" if row["bar"] else ""
    return f"{row['case']:<46} {'  '.join(figures)}{verdict}"


def run_cases(cases: Iterable[Case], bench: Bench, path: Path | None) -> int:
    """Run the cases, print their rows, write them to ``path``; returns the exit code."""
    rows = []
    for case in cases:
        try:
            rows.append(case.judged())
        except WrongResult as error:
            print(f"WRONG RESULT: {error}", file=sys.stderr)
            return 1
        print(line(rows[-1]), flush=True)
    write_report(path, bench.info, rows)
    return 0 if all(row["met"] for row in rows) else 1


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="speed and memory of one pair")
    parser.add_argument("--short", action="store_true", help="small cases, under half a minute")
    parser.add_argument("--long", action="store_true", help="on a GPU, up to 30 Mb x 30 Mb")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains it")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    bench = Bench(args.device)
    gpu = bench.info.kind == "gpu"
    if args.long and (args.short or not gpu):
        parser.error("--long is for a GPU, without --short")
    cases = short_cases(bench) + small_cases(bench, 300)
    if not args.short:
        cases = (
            speed_cases(bench)
            + small_cases(bench, 500)
            + thin_cases(bench)
            + (gpu_cases(bench, args.long) if gpu else [])
        )
        cases += whole_cases(bench)
    cases = [case for case in cases if args.only.lower() in case.name.lower()]
    if not cases:
        parser.error(f"no case's name contains {args.only!r}")
    return run_cases(cases, bench, args.json)


if __name__ == "__main__":
    sys.exit(main())
