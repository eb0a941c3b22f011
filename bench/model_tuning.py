"""The groups "pairs" and "tuned" of bench/model.py: predictions of similar pairs with their paths,
and what a tuning gives over the defaults and over everything that there is to try."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from math import exp, log
from statistics import median
from typing import Any

from cases import Row, check, pysw_cl, wait_for_builds
from model_pairs import held_out

from pysw_cl.api.tune import CASES, SubjectTuning
from pysw_cl.drivers.tuning import Subject, TileTimer, subjects_of
from pysw_cl.errors import PyswError
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.tuning.runner import Runner
from pysw_cl.planning.tuning.search import interval, search
from pysw_cl.planning.tuning.strategies import Exhaustive, Values

#: The longest similar pair of a short run.
SHORT = 160_000
#: Seconds of a tuning, and those in which everything is tried; the same of a short run.
BUDGETS, SHORT_BUDGETS = (60.0, 240.0), (5.0, 8.0)
#: Runs of each of what is compared, in turn.
TURNS = 31


def pairs(args: argparse.Namespace) -> list[Row]:
    """Predicted and measured time of the paths of similar pairs; each path is scored again."""
    rows: list[Row] = []
    for pair in held_out(SHORT if args.short else 5_000_000):
        sequences = pair.query, pair.target
        said, seconds = pysw_cl.predict(*sequences, device=args.device, output="path"), []
        for _ in range(3 if said.seconds < 10 else 2):
            started = time.perf_counter()
            found: Any = pysw_cl.align(*sequences, device=args.device)
            seconds.append(time.perf_counter() - started)
            wait_for_builds(args.device)
            check(pair.name, found.rescore(), found.score)
        taken = median(seconds[1:])  # the first one may have built kernels
        rows.append(
            {
                "case": f"path, {pair.name}",
                "seconds": taken,
                "predicted": said.seconds,
                "error": said.seconds / taken - 1,
                "inside": said.interval[0] <= taken <= said.interval[1],
            }
        )
        tell(rows[-1])
    off = median(abs(row["error"]) for row in rows)
    return [*rows, {"case": "paths, median error", "value": off, "bar": 0.1, "met": off <= 0.1}]


def tuned(args: argparse.Namespace) -> list[Row]:
    """Of each engine: the speed of tuned parameters over that of the defaults, and over that of the
    best of everything, as far as a budget lets it be tried."""
    runtime, rows = get_runtime(args.device), []
    budgets = args.budgets or (SHORT_BUDGETS if args.short else BUDGETS)
    subjects = [one for one in subjects_of(runtime).values() if one.used]
    for subject in subjects:
        share = subject.weight / sum(one.weight for one in subjects)
        own = SubjectTuning(subject, share * budgets[0]).run()
        if not own.turns:
            raise PyswError(f"{subject.name}: {own.why}")
        timer = TileTimer(subject, CASES[0], *own.size)
        space, values = subject.space(*own.size), own.faster or subject.start
        every = Runner(timer, build=space.build)
        best = search(space, every, budgets[1], Exhaustive()) or subject.start
        rows += [
            _compared(subject, timer, values, {"defaults": subject.start}, 0.99, True),
            _compared(subject, timer, values, {"best of all": best}, 0.97, False),
        ]
        rows[-1] |= {"tried": len(every.tried), "of": len(space.every())}
        rows[-2] |= {"tuning seconds": own.spent, "tried": len(own.runner.tried)}
        rows[-2] |= {"tile": "{:,} x {:,}".format(*own.size), "fills": subject.fills(*own.size)}
        for row in rows[-2:]:
            tell(row)
    return rows


def _compared(
    subject: Subject, timer: TileTimer, own: Values, other: dict[str, Values], bar: float, low: bool
) -> Row:
    """Tuned parameters against others, in turn: the ratio of their speeds, and where it probably
    is.  ``low``: whether the lower end of that interval has to reach the bar."""
    name, against = next(iter(other.items()))
    ratios: Sequence[float] = [0.0]
    if own != against:
        timer(own), timer(against)
        ratios = [log(timer(against)) - log(timer(own)) for _ in range(TURNS)]
    found = interval(ratios)
    value = exp(found.low if low and own != against else found.centre)
    return {
        "case": f"tuned over {name}, {subject.name}",
        "share": exp(found.centre),
        "interval": [round(exp(found.low), 4), round(exp(found.high), 4)],
        "tuned": dict(own),
        name: dict(against),
        "bar": bar,
        "met": value >= bar,
    }


def tell(row: Row) -> None:
    """Print a row at once: the cases take minutes."""
    parts = [f"{row['case']:>30}"]
    for name, value in row.items():
        if name != "case":
            parts.append(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}")
    print("  ".join(parts), flush=True)
