#!/usr/bin/env python3
"""The tables of CUDAlign's thesis again, on one device, as Markdown; every result is verified.

    python bench/thesis.py [--short] [--device auto] [--runs 3] [--most CELLS] [--data FOLDER]
                           [--pictures FOLDER] [--json FILE]

What Sandes (2011, University of Brasilia) measured on a GTX 285: the time over B (table 6.4), the
constants of t(m, n) = c1 + c2 m + c3 n + c4 m n (6.5), scores, times and MCUPS of real pairs
(6.6 to 6.8), NCBI BLAST+ beside them where it is installed (6.9), and predicted against real times
(6.10), by that formula and by `pysw_cl.predict`.  All cells are computed: nothing is pruned.

Genomes are read from FOLDER (default: the environment's PYSW_CL_TEST_DATA, then ../shared/data);
pairs that are not there, or have more than CELLS, are left out and named.  --pictures draws the
first table (as figure 6.1) and the predictions (as 6.2 and 6.4).  A wrong result ends with exit
code 1.  Times are medians of runs that take turns; they want a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from cases import (
    EXPECTED_RANDOM,
    ROOT,
    Bench,
    Ends,
    Letters,
    Row,
    WrongResult,
    check,
    pysw_cl,
    random_pair,
    timed,
    write_report,
)
from thesis_blast import blast_table
from thesis_cases import LARGEST, LENGTHS, PAIRS, PRINTED, Pair, letters
from thesis_tables import (
    Constants,
    Size,
    fit_constants,
    formula,
    in_seconds,
    numbers_of_blocks,
    off,
    table,
)

from pysw_cl.engines.plans import default_plan
from pysw_cl.errors import PyswError
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.profiles.profile import Identity, Profile
from pysw_cl.results.plot import require
from pysw_cl.results.profile_plot import plot_model, plot_tuning

#: The most cells of a pair, by the kind of device.
MOST = {"short": 10**9, "cpu": 10**11, "gpu": 10**14}
Key = TypeVar("Key", bound=Hashable)
#: Pairs with their sequences.
Found = list[tuple[Pair, Letters]]


class Thesis:
    """The measurements on one device."""

    def __init__(self, bench: Bench, kind: str, runs: int) -> None:
        self.bench, self.kind, self.repeats = bench, kind, runs
        #: What was measured, as a profile keeps it.
        self.runs: list[Row] = []
        self.plan = default_plan(get_runtime(bench.device))

    def ends(self, pair: Letters, expected: Ends, plan: Any = None) -> float:
        """Seconds for score and end, all cells computed; raises WrongResult for another result."""
        started = time.perf_counter()
        r = self.bench.align(pair, plan=plan)
        seconds = time.perf_counter() - started
        sizes = f"{len(pair[0]):,} x {len(pair[1]):,}"
        check(f"{sizes}, plan {plan}", (r.score, r.query_end, r.target_end), expected)
        check(f"{sizes}: cells computed", r.stats.total_cells, len(pair[0]) * len(pair[1]))
        return seconds

    def in_turn(self, calls: dict[Key, Callable[[], float]]) -> dict[Key, list[float]]:
        """Seconds of each call, some times in turn, after one that does not count."""
        for call in calls.values():
            call()
        taken: dict[Key, list[float]] = {key: [] for key in calls}
        for _ in range(self.repeats):
            for key, call in calls.items():
                taken[key].append(call())
        return taken

    def keep(self, size: Size, seconds: list[float], use: str, **more: Any) -> None:
        """Note a measurement as a profile does."""
        subject = f"{self.plan.engine}/{self.plan.lanes}"
        run = {"subject": subject, "values": {}, "m": size[0], "n": size[1], "seconds": seconds}
        self.runs.append({**run, "use": use, **more})

    def over_blocks(self, pair: Pair, sequences: Letters) -> str:
        """Table 6.4: the time of one pair over B."""
        units, groups = self.bench.info.compute_units, self.plan.B / self.bench.info.compute_units
        tried = numbers_of_blocks(units, round(groups), self.kind == "short")
        call = partial(self.ends, sequences, pair.expected)
        taken = self.in_turn({blocks: partial(call, {"B": blocks}) for blocks in tried})
        best, rows = min(median(seconds) for seconds in taken.values()), []
        for blocks, seconds in taken.items():
            values = {name: getattr(self.plan, name) for name in ("T", "alpha", "chunk")}
            self.keep(pair.sizes, seconds, "search", values={"B": blocks, **values})
            middle, default = median(seconds), " (default)" if blocks == self.plan.B else ""
            shown = f"{blocks:,}{default}", f"{blocks / units:.3g}"
            mcups = pair.sizes[0] * pair.sizes[1] / middle / 1e6
            rows.append((*shown, in_seconds(middle), f"{mcups:,.0f}", f"{middle / best:.2f}"))
        head = "B", f"B / {units:,} units", "time", "MCUPS", "times the best"
        return f"### Time over B (table 6.4): {pair.name}\n\n{table(head, rows)}"

    def times(self, found: Found) -> tuple[dict[Size, list[float]], dict[Pair, list[float]]]:
        """Seconds of the random pairs, to which the formula is fitted, and of the real ones, which
        take turns, so that all meet the same disturbances."""
        lengths = LENGTHS[self.kind]
        sizes = [(m, n) for m in lengths for n in lengths]
        sizes += [LARGEST] if self.kind == "gpu" else []
        calls: dict[Size | Pair, Callable[[], float]] = {
            size: partial(self.ends, random_pair(*size), EXPECTED_RANDOM[size]) for size in sizes
        }
        calls |= {pair: partial(self.ends, sequences, pair.expected) for pair, sequences in found}
        taken = self.in_turn(calls)
        return {size: taken[size] for size in sizes}, {pair: taken[pair] for pair, _ in found}

    def constants(self, taken: dict[Size, list[float]]) -> tuple[Constants, str]:
        """Table 6.5: c1 to c4, from the times of random pairs."""
        fitted = fit_constants({size: median(seconds) for size, seconds in taken.items()})
        for size, seconds in taken.items():
            self.keep(size, seconds, "calibration", predicted=formula(fitted, *size))
        limit = f"{1e-9 / fitted[3]:,.4g}" if fitted[3] else "-"
        row = self.bench.info.name, *(f"{c:.3g}" for c in fitted), limit
        head = "device", "c1, s", "c2, s", "c3, s", "c4, s", "1 / c4, GCUPS"
        sides = [side for size in taken for side in size]
        words = f"From {len(taken)} sizes, {min(sides):,} to {max(sides):,} letters a side.\n"
        return fitted, f"### Constants (table 6.5)\n\n{words}\n{table(head, [row])}"

    def pairs(self, found: Found, taken: dict[Pair, list[float]], fitted: Constants) -> list[Row]:
        """What tables 6.6 to 6.10 need of each pair."""
        rows = []
        for pair, sequences in found:
            m, n = pair.sizes
            predicted, seconds = formula(fitted, m, n), taken[pair]
            self.keep(pair.sizes, seconds, "check", predicted=predicted)
            aligned, r = timed(1, partial(pysw_cl.align, *sequences, device=self.bench.device))
            check(f"{pair.name}: its path", (r.score, r.rescore()), 2 * pair.expected[:1])
            row = {"case": pair.name, "m": m, "n": n, "score": r.score, "end": pair.expected[1:]}
            row |= {"seconds": median(seconds), "all_seconds": seconds}
            row |= {"mcups": m * n / median(seconds) / 1e6, "alignment_seconds": aligned}
            row |= {"formula_seconds": predicted, "model": self.model(m, n)}
            row["verified"] = f"stored score and end ({pair.source}); path re-scored"
            rows.append(row)
        return rows

    def model(self, m: int, n: int) -> list[float] | None:
        """What `predict` says: seconds, and its interval.  None where it has nothing to go by."""
        try:
            told = pysw_cl.predict(m, n, device=self.bench.device, output="ends")
        except PyswError as error:
            print(f"no prediction: {error}", file=sys.stderr)
            return None
        return [told.seconds, *told.interval]


def results_table(rows: list[Row]) -> str:
    """Tables 6.6 to 6.8."""
    head = "query x target", "m", "n", "score", "end (query, target)", "time", "MCUPS"
    shown = [
        (
            row["case"],
            f"{row['m']:,}",
            f"{row['n']:,}",
            f"{row['score']:,}",
            "{:,}, {:,}".format(*row["end"]),
            in_seconds(row["seconds"]),
            f"{row['mcups']:,.0f}",
        )
        for row in rows
    ]
    return f"### Scores, times and MCUPS (tables 6.6 to 6.8)\n\n{table(head, shown)}"


def predictions_table(rows: list[Row]) -> str:
    """Table 6.10."""
    shown = []
    for row in rows:
        seconds, guess, model = row["seconds"], row["formula_seconds"], row["model"]
        line = [row["case"], in_seconds(seconds), in_seconds(guess), off(guess, seconds)]
        if model is None:
            line += ["-"] * 3
        else:
            between = f"{in_seconds(model[1])} to {in_seconds(model[2])}"
            line += [in_seconds(model[0]), off(model[0], seconds), between]
        shown.append(line)
    head = ["query x target", "real", "c1 + c2 m + c3 n + c4 m n", "off"]
    head += ["`predict`", "off", "its interval"]
    return f"### Predicted and real (table 6.10)\n\n{table(head, shown)}"


def printed_table(thesis: Thesis, fitted: Constants) -> str:
    """What was published, beside what is predicted for this device."""
    shown = []
    for one in PRINTED:
        here, model = formula(fitted, one.m, one.n), thesis.model(one.m, one.n)
        gcups = "-" if one.gcups is None else f"{one.gcups:g}"
        sizes = f"{one.m // 10**6} x {one.n // 10**6} MBP, {one.what}"
        told = "-" if model is None else in_seconds(model[0])
        line = f"{one.board}, {sizes}", in_seconds(one.seconds), gcups, in_seconds(here), told
        shown.append((*line, one.source))
    head = "published", "time", "GCUPS", "score and end here, by c1 to c4", "by `predict`", "from"
    return f"### Published beside predicted here\n\n{table(head, shown)}"


def at_hand(data: Path, most: float) -> Found:
    """The pairs whose sequences are there, and that have no more cells."""
    found = []
    for pair in PAIRS:
        if pair.sizes[0] * pair.sizes[1] > most:
            print(f"{pair.name}: left out, more than {most:g} cells", file=sys.stderr)
            continue
        query, target = letters(pair.query, data), letters(pair.target, data)
        if query is None or target is None:
            print(f"{pair.name}: left out, not in {data}/dna", file=sys.stderr)
            continue
        check(f"{pair.name}: lengths", (len(query), len(target)), pair.sizes)
        found.append((pair, (query, target)))
    return found


def draw(thesis: Thesis, folder: Path) -> None:
    """The pictures, by the names of the device's lanes."""
    info, plan = thesis.bench.info, thesis.plan
    chosen = {"groups": plan.B / info.compute_units}
    chosen |= {name: getattr(plan, name) for name in ("T", "alpha", "chunk")}
    profile = Profile(
        identity=Identity(name=info.name, compute_units=info.compute_units),
        parameters={f"{plan.engine}/{plan.lanes}": chosen},
        runs=tuple(thesis.runs),
    )
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.fonttype": "none"}):  # letters, not their outlines: small files
        plot_tuning(profile, folder / f"thesis-{plan.lanes}-over-b.svg")
        plot_model(profile, folder / f"thesis-{plan.lanes}-sizes.svg")


def measure(args: argparse.Namespace) -> None:
    """Make the tables, print each when it is done, and write the files."""
    if args.pictures:
        require()
    bench = Bench(args.device)
    kind = "short" if args.short else "gpu" if bench.info.kind == "gpu" else "cpu"
    thesis, found = Thesis(bench, kind, args.runs), at_hand(args.data, args.most or MOST[kind])
    if not found:
        raise WrongResult("no pair is at hand: the examples of the package are missing")
    # The longest pair whose runs for all B take no more than minutes.
    searched = [one for one in found if one[0].sizes[0] * one[0].sizes[1] < 10**13][-1]
    print(f"Device: {bench.info}, {bench.info.compute_units:,} compute units.\n", flush=True)
    print(thesis.over_blocks(*searched), flush=True)
    by_size, by_pair = thesis.times(found)
    fitted, shown = thesis.constants(by_size)
    print(shown, flush=True)
    rows = thesis.pairs(found, by_pair, fitted)
    print(results_table(rows), flush=True)
    print(blast_table(found, rows), flush=True)
    print(predictions_table(rows), flush=True)
    print(printed_table(thesis, fitted), flush=True)
    if args.pictures:
        draw(thesis, args.pictures)
    write_report(args.json, bench.info, rows, constants=fitted, runs=thesis.runs)


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="small pairs, a few seconds")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=3, help="how often each is timed")
    parser.add_argument("--most", type=float, metavar="CELLS", help="leave out larger pairs")
    beside = os.environ.get("PYSW_CL_TEST_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(beside), help="folder of the genomes")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw two pictures there")
    parser.add_argument("--json", type=Path, help="where to write the results")
    try:
        measure(parser.parse_args())
    except WrongResult as error:
        print(f"WRONG RESULT: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
