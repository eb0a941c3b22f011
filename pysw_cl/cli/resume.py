"""``pysw-cl resume``, and the checkpoints of several pairs: a folder with one for each, and the
command that they are of.

Each pair is saved like a pair alone.  Of a finished one its result stays, which a later run reads.
"""

from __future__ import annotations

import json
import shlex
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CheckpointError, Stopped
from ..results.formats.writer import row_of
from .asked import check_output, made_asked, setting_asked, usage
from .output import running
from .parser import FORMAT

if TYPE_CHECKING:
    from ..drivers.resources import AlignResources

#: The command, and its files by their absolute names.
COMMAND = "command.json"
#: Options that name files, and those that each run has of its own.
FILES = ("query", "target", "matrix")
OWN = ("checkpoint", "out", "outfmt", "width", "limit", "stop_after", "cluster", "verbose", "quiet")
#: Those that are as the run began unless they are given again.
GIVEN = ("device", "plan", "disk_size")


def add_to(commands: Any) -> None:
    parser = commands.add_parser(
        "resume",
        run=run,
        help="go on with a run that saved to a checkpoint",
        description="Go on with an alignment that was run with --checkpoint DIR and interrupted, "
        "or print its result if it is finished. Device and plan are those it began with, unless "
        "others are given; the result is the same with any.",
        examples=("resume job", "resume job --stop-after 2h -o result.paf"),
    )
    parser.add_argument("checkpoint", metavar="DIR")
    parser.declare("run", "--device", default=None, help="as for align (default: as the run began)")
    parser.declare("run", "--threads --cluster")
    parser.declare("output", f"{FORMAT} -o -v")
    parser.declare("run", "--plan --disk-size --stop-after -q")


def run(args: Namespace) -> None:
    from ..api.align import resume
    from ..checkpoint.store import Store
    from ..drivers.resources import ResumeResources
    from ..engines.registry import engine_for

    if (pairs := _resumed(args)) is not None:
        pairs.run(pairs)
        return
    with running(args) as to:
        with usage(args):
            given = made_asked(args, ResumeResources, progress=to.bar)
        with Store.open(args.checkpoint) as store:
            job, resources = store.job, store.resources.resumed(given)
        check_output(args, job.output)
        known = {"targets": [(job.target.name, len(job.target))], "output": job.output}
        setting = setting_asked(args, job.scoring, job.free_ends, mode=job.mode, **known)
        with nullcontext() if args.plan is None else usage(args):  # one that was saved is no usage
            plan = None if args.cluster else engine_for(resources.device, resources.plan).plan
        to.begin(args.cluster or resources.device, plan)
        to.begin_results(args.outfmt.name, setting)
        found = resume(**vars(given))
        to.add([found.stats])
        to.results([row_of(found)])


class SavedPairs:
    """The checkpoints of the pairs of a command, which come in the same order in every run."""

    def __init__(self, args: Namespace) -> None:
        from ..checkpoint.container import to_write

        self.folder = folder = Path(args.checkpoint)
        self.number, after = 0, args.stop_after
        self._until = None if after is None else time.monotonic() + after
        with to_write(folder):
            folder.mkdir(parents=True, exist_ok=True)
            there = folder / COMMAND
            ours = ("pair-", COMMAND)
            others = [one.name for one in folder.iterdir() if not one.name.startswith(ours)]
            if others and not there.exists():
                raise CheckpointError(
                    f"{folder} holds other files ({min(others)}) than a checkpoint of several "
                    "pairs; give another folder"
                )
            names = {name: getattr(args, name) for name in FILES}
            files = {k: str(Path(v).resolve()) for k, v in names.items() if v and Path(v).is_file()}
            part = folder / f"{COMMAND}.part"
            part.write_text(json.dumps({"command": args.command, "files": files}))
            part.replace(there)

    @contextmanager
    def next(self, resources: AlignResources) -> Iterator[AlignResources]:
        """The resources of the next pair, with a checkpoint of its own."""
        from ..checkpoint.store import keep_result

        left = None if self._until is None else self._until - time.monotonic()
        how = f"continue with: pysw-cl resume {self.folder}"
        if left is not None and left < 0 and self.number:
            raise Stopped(f"stopped as asked, after {self.number:,} pairs; {how}")
        one = self.folder / f"pair-{self.number:09}"
        try:
            yield replace(resources, checkpoint=one, stop_after=left and max(left, 0.0))
        except Stopped as stop:
            raise Stopped(f"{str(stop).partition('; continue')[0]}; {how}") from None
        self.number += 1
        keep_result(one)


def _resumed(args: Namespace) -> Namespace | None:
    """The arguments of a saved command of several pairs, with this run's; None: it is no such."""
    try:
        content = json.loads((Path(args.checkpoint) / COMMAND).read_text())
        command, files = str(content["command"]), dict(content["files"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise CheckpointError(
            f"{args.checkpoint}/{COMMAND} is damaged; give the command again that began the run"
        ) from None
    again: Namespace = args.parse(shlex.split(command)[1:])
    own = {name: getattr(args, name) for name in OWN}
    given = {name: getattr(args, name) for name in GIVEN if getattr(args, name) is not None}
    vars(again).update(files, command=command, **own, **given)
    return again
