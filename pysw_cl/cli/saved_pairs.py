"""A checkpoint of several pairs: a folder with one for each, and the command that they are of.

Each pair is saved like a pair alone.  Of a finished one its result stays, which a later run reads.
"""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CheckpointError, Stopped

if TYPE_CHECKING:
    from ..drivers.options import AlignResources

#: The command, and its files by their absolute names.
COMMAND = "command.json"
#: Options that name files, and those that each run has of its own.
FILES = ("query", "target", "matrix")
OWN = ("checkpoint", "out", "outfmt", "width", "limit", "stop_after", "verbose", "quiet")
#: Those that are as the run began unless they are given again.
GIVEN = ("device", "plan", "disk_size")


class SavedPairs:
    """The checkpoints of the pairs of a command, which come in the same order in every run."""

    def __init__(self, args: argparse.Namespace) -> None:

        self.folder, self.number = Path(args.checkpoint), 0
        after = args.stop_after
        self._until = None if after is None else time.monotonic() + after
        self._begin(args)

    def _begin(self, args: argparse.Namespace) -> None:
        from ..checkpoint.container import to_write

        folder = self.folder
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


def resumed(args: argparse.Namespace) -> argparse.Namespace | None:
    """The arguments of the command that a checkpoint of several pairs is of, with those that a
    resumed run is given; None for another checkpoint."""
    try:
        content = json.loads((Path(args.checkpoint) / COMMAND).read_text())
        command, files = str(content["command"]), dict(content["files"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise CheckpointError(
            f"{args.checkpoint}/{COMMAND} is damaged; give the command again that began the run"
        ) from None
    again: argparse.Namespace = args.parse(shlex.split(command)[1:])
    own = {name: getattr(args, name) for name in OWN}
    given = {name: getattr(args, name) for name in GIVEN if getattr(args, name) is not None}
    vars(again).update(files, command=command, **own, **given)
    return again
