"""``pysw-cl predict`` and ``pysw-cl plan``."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .asked import scores_asked, usage
from .parser import DEVICE, SCORES

if TYPE_CHECKING:
    from ..planning.model.predict import Prediction

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def add_to(commands: Any) -> None:
    predict = commands.add_parser(
        "predict",
        run=run_predict,
        help="say how long a comparison will take, before it begins",
        description="How long a comparison will take on a device, by its profile: the time and its "
        "interval, the speed and its limit, and the memory. Two files are looked at: similar "
        "sequences take less, and have a path.",
        examples=("predict 33M 47M", "predict --output score --strand both human.fa chimp.fa"),
    )
    plan = commands.add_parser(
        "plan",
        run=run_plan,
        help="say what a comparison would run on, and why",
        description="What would compute a matrix on a device: engine, lanes, B, T, alpha, the "
        "expected time, the profile that it is from, and what would be second best.",
        examples=("plan 33M 47M", "plan --mode global 150 150"),
    )
    for parser in (predict, plan):
        add = parser.add_argument
        add("query", metavar="QUERY", help="a length such as 33M or 1500, or a file")
        add("target", metavar="TARGET", help="as QUERY")
        parser.declare("comparison", "--mode", help="default: local")
        if parser is predict:
            parser.declare("comparison", "--strand --output")
        parser.declare("scoring", SCORES)
        parser.declare("run", f"{DEVICE} --plan")
    predict.declare("run", "--network")
    predict.add_argument("--devices", dest="device", help=argparse.SUPPRESS)
    drawn = "draw what the device's profile measured and predicts"
    predict.declare("options", "--plot", help=drawn)


def length(text: str) -> int | None:
    """The length that a text says, "33M" for 33 million; None if it says none, as a file's name."""
    found = re.fullmatch(r"(\d+(?:[_,]\d{3})*(?:\.\d+)?)\s*([kmg]?)(?:b|bp|aa)?", text.lower())
    if found is None:
        return None
    number = float(found[1].replace("_", "").replace(",", "")) * _UNITS[found[2]]
    if not number.is_integer() or number < 1:
        raise InputError(f"{text!r} is no number of letters")
    return int(number)


def records(text: str) -> list[Any]:
    """What QUERY or TARGET is: a length, or the records in a file."""
    from ..sequences.reading import read_sequences

    number = length(text)
    try:
        return list(read_sequences(text)) if number is None else [number]
    except FileNotFoundError:
        raise InputError(f"{text} is no file, and no length such as 33M or 1500") from None


def _lengths(side: list[Any], most: int = 16) -> list[tuple[int, int]]:
    """The lengths of a side and how often each occurs; of many, the means of ``most`` groups."""
    every = sorted(one if isinstance(one, int) else len(one) for one in side)
    counts = list(Counter(every).items())
    if len(counts) <= most:
        return counts
    ends = [len(every) * k // most for k in range(most + 1)]
    return [(sum(every[a:b]) // (b - a), b - a) for a, b in pairwise(ends)]


def _foreseen(args: argparse.Namespace, options: dict[str, Any]) -> tuple[Prediction, int, int]:
    """The prediction of all pairs, one after the other, how many there are, and their cells."""
    from ..api.predict import predict

    options = {**options, "device": args.device, "plan": args.plan, "network": args.network}
    queries, targets = records(args.query), records(args.target)
    pairs: Any = product(_lengths(queries), _lengths(targets))
    if len(queries) == len(targets) == 1 and int not in map(type, queries + targets):
        pairs = [((queries[0], 1), (targets[0], 1))]  # letters tell more than lengths
    every = [(predict(m, n, **options), times * more) for (m, times), (n, more) in pairs]
    parts = {k: sum(one.parts[k] * times for one, times in every) for k in every[0][0].parts}
    low, high = (sum(one.interval[k] * times for one, times in every) for k in (0, 1))
    largest = max((one for one, _ in every), key=lambda one: one.memory)
    found = replace(largest, seconds=sum(parts.values()), interval=(low, high), parts=parts)
    return found, len(queries) * len(targets), sum(one.cells * times for one, times in every)


def run_predict(args: argparse.Namespace) -> None:
    from ..opencl.several import meant
    from ..planning.model.predict import in_words

    with usage(args):
        given = {name: getattr(args, name) for name in ("mode", "output", "strand")}
        found, pairs, cells = _foreseen(args, {**scores_asked(args), **given})
    low, high = (in_words(one) for one in found.interval)
    parts = ", ".join(f"{name} {in_words(one)}" for name, one in found.parts.items() if one)
    gcups = cells / found.seconds / 1e9
    speed = f"{gcups:,.1f} GCUPS" if gcups < 1e4 else f"{gcups / 1e3:,.1f} TCUPS"
    pruned = "; cells that are pruned count, too" if gcups > found.gcups_limit else ""
    matrix = f"{found.shape[0]:,} x {found.shape[1]:,}"
    if pairs > 1:
        matrix = f"{pairs:,} pairs, one after the other (align compares many together, sooner)"
    runtime, devices = meant(args.device)
    shares = ", ".join(f"{name} {in_words(one)}" for name, one in found.shares.items())
    together = f"{devices}, {found.efficiency:.0%} efficient, limited by {found.limit} ({shares})"
    fits = ", which does not fit" if found.too_large else ""
    for name, text in (
        ("matrix", f"{matrix}, {cells:.3g} cells"),
        ("device", found.plan.device or runtime.info.name),
        ("devices", together if devices > pairs == 1 else ""),
        ("time", f"{in_words(found.seconds)} ({parts})"),
        ("interval", f"{low} to {high}, nine times of ten"),
        ("first use", f"{in_words(found.first_use)} more" if found.first_use else "unknown"),
        ("speed", f"{speed}{pruned}"),
        ("limit", f"{found.gcups_limit:,.1f} GCUPS of cells that are computed"),
        ("memory", f"{found.memory / 2**20:,.1f} MiB{fits}"),
        ("profile", found.source),
        ("too large", found.too_large),
    ):
        if text:
            print(f"{name + ':':<11}{text}")
    if args.plot:
        from ..results.profile_plot import plot_model

        plot_model(runtime.profile()[0], args.plot)


def run_plan(args: argparse.Namespace) -> None:
    from ..api.predict import plan

    with usage(args):
        m, n = (_lengths(records(x))[-1][0] for x in (args.query, args.target))  # the longest
        print(plan(m, n, mode=args.mode, device=args.device, plan=args.plan, **scores_asked(args)))
