"""``pysw-cl tune``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .asked import check_files, usage
from .output import progress_of
from .parser import DEVICE

if TYPE_CHECKING:
    from ..api.tune import SubjectTuning


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "tune",
        run=run,
        help="measure which parameters are fastest on a device, once",
        description="Measures which parameters are fastest on a device, and how long things take "
        "on it, and stores both as the user's profile, which all later plans and predictions use. "
        "Nothing has to be tuned: a device without a profile of its own has the one that ships "
        "for its kind. A tuning that was interrupted goes on.",
        examples=("tune", "tune --device gpu --budget 5m --plot times.png"),
    )
    parser.declare("run", DEVICE)
    only = "tune only this, an engine and its lanes like wavefront/vector; may be repeated"
    parser.add_argument("--subject", dest="subjects", metavar="SUBJECT", action="append", help=only)
    anew = "measure anew what an interrupted tuning has measured"
    parser.add_argument("--no-resume", dest="resume", action="store_false", help=anew)
    parser.declare("options", "--budget --plot -q")


def run(args: argparse.Namespace) -> None:
    from ..api.tune import tuned
    from ..opencl.device import get_runtime

    check_files(args)
    began = time.monotonic()
    with progress_of(sys.stderr, args.quiet) as bar, usage(args):
        how = args.device, args.budget, args.subjects, None, bar, args.resume
        profile, outcomes, path = tuned(*how)
    info = get_runtime(args.device).info
    print(f"{info.name} [{info.platform}], tuned in {time.monotonic() - began:.1f} s")
    print("\n".join(_lines(outcomes)))
    if profile.others and profile.times:
        busy = f"{profile.others:.0%} of the processors worked for others meanwhile"
        print(f"{busy}: predictions have wider intervals; tune again when nothing else runs")
    if path is not None:
        print(f"saved in {path}")
    if args.plot:
        from ..results.profile_plot import plot_tuning

        plot_tuning(profile, args.plot)


def _lines(outcomes: Sequence[SubjectTuning]) -> Iterator[str]:
    """A table of what each subject had and has, and what was measured."""
    rows = [("subject", "", "parameters", "GCUPS")]
    for one in outcomes:
        name, start = one.subject.name, one.subject.start
        rows.append((name, "default", *_row(one, start)))
        if one.faster is not None:
            rows.append(("", "tuned", *_row(one, one.faster)))
    a, b, c, d = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, what, values, speed in rows:
        yield f"{name:{a}}  {what:{b}}  {values:{c}}  {speed:>{d}}"
    yield ""
    for one in outcomes:
        runner, (m, n) = one.runner, one.size
        measured = f"{len(runner.tried)} values in {runner.runs} runs of {m:,} x {n:,} cells"
        failed = ", ".join(f"{count} failed ({kind})" for kind, count in runner.failed.items())
        parts = (one.why, measured if one.turns else "", failed, f"{one.spent:.1f} s")
        yield f"{one.subject.name}: {'; '.join(filter(None, parts))}"


def _row(one: SubjectTuning, values: Mapping[str, float]) -> tuple[str, str]:
    """The values, and GCUPS where they are known."""
    seconds, (m, n) = one.runner.seconds(values), one.size
    text = " ".join(f"{name}={value:g}" for name, value in values.items())
    return text, f"{m * n / seconds / 1e9:,.2f}" if seconds else ""
