"""``pysw-cl cluster check``, which tells what will go wrong on a cluster."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from ..errors import printable
from .output import in_columns

if TYPE_CHECKING:
    from ..cluster.survey import Survey

TITLES = "worker", "version", "device", "memory", "free disk", "GCUPS", "clock", "threads"


def add_to(commands: Any) -> None:
    examples = ("cluster check tcp://host:8786 --folder /shared/jobs",)
    what = "check the workers of a cluster"
    parser = commands.add_parser("cluster", help=what, examples=examples)
    check = parser.add_subparsers(metavar="ACTION").add_parser(
        "check",
        run=_check,
        help="list the workers, and say what will go wrong",
        description="List the workers of a Dask scheduler, let all compute a tile, and say what "
        "will go wrong in a long run. If something will, the exit code is 1.",
        examples=examples,
    )
    check.add_argument("cluster", metavar="ADDRESS", help="such as tcp://host:8786")
    check.add_argument("--folder", metavar="DIR", help="a folder that all workers are to share")
    check.declare("options", "--device", help="that of the workers, as for align (default: auto)")


def _check(args: Namespace) -> int:
    from ..cluster.check import checked, faults
    from ..cluster.workers import workers_of

    with workers_of(args.cluster) as workers:
        assert workers is not None
        found = checked(workers, args.folder, args.device)
        allowed = int(workers.setting("distributed.scheduler.allowed-failures"))
    print(in_columns([TITLES, *(_row(*one) for one in found.items())]))
    wrong = list(faults(found, allowed))
    for one in wrong:
        print(printable(one))
    return int(bool(wrong))


def _row(name: str, one: Survey) -> tuple[str, ...]:
    sizes = one.device and one.facts.memory, one.disk
    memory, disk = (f"{size / 2**30:.1f} GiB" if size else "-" for size in sizes)
    speed = f"{one.gcups:.2f}" if one.gcups else "-"
    state = memory, disk, speed, f"{one.ahead:+.1f} s", str(one.threads)
    return name, one.version, printable(one.device) or "-", *state
