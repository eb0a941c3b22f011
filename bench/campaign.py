#!/usr/bin/env python3
"""Random cases on one device against the reference, or against another device or plan.

    python bench/campaign.py [--device D] [--seconds N] [--seed S] [--processes K]
                             [--against D2] [--out DIR] [--json FILE] [--replay FILE ...]

Draws pairs, shapes, scorings, modes, free ends, outputs, plans and entry points (`align`,
`align_many`, `align_top`, ranges, strands, checkpoints that are interrupted and resumed, bands,
pruning) so that sizes lie at and beside everything at which something begins or ends.  Score, ends
and CIGAR are compared with the reference where it is quick, and with plain 32-bit lanes on another
device or by another plan where it is not; every path is scored again.

A difference, an error, a path that was computed again, a crash or a hang is written to a file in
DIR (campaign-SEED-K.json), once as it was drawn and once as small as it got, and the exit code is
1.  ``--replay`` runs such files again.  The table says how many cases had which feature, so that
one that never ran is seen.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from campaign_draw import Draw
from campaign_run import Case, check
from campaign_shrink import shrunk
from cases import pysw_cl

from pysw_cl.opencl.device import get_runtime

#: Seconds without a word from a process after which it counts as hanging, and those that a
#: wrong case is made smaller for.
HANG, SHRINK = 120, 20


@dataclass
class Found:
    """A case that went wrong: how, and the smallest one that does."""

    kind: str
    message: str
    case: Case | None
    small: Case | None = None


@dataclass
class Tally:
    """Cases by feature, and what went wrong."""

    cases: int = 0
    features: Counter[str] = field(default_factory=Counter)
    wrong: list[Found] = field(default_factory=list)

    @property
    def passed(self) -> int:
        """Cases that went right; a process may be lost without a case."""
        return self.cases - sum(found.case is not None for found in self.wrong)

    def rows(self) -> Iterator[tuple[str, int]]:
        """Features by name, with their counts."""
        yield from sorted(self.features.items())


def work(pipe: Connection, device: str, against: str, seed: list[int], until: float) -> None:
    """A process: draws and checks cases, and tells each before and after."""
    import warnings

    warnings.simplefilter("ignore")
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1)
    draw = Draw(get_runtime(device), seed)
    while time.time() < until:
        case = draw.case()
        pipe.send(("begins", case))
        outcome = check(case, device, against)
        features = [*case.features, *(f"ran {kind}" for kind in outcome.ran)]
        if "plan mixed" in case.features and "wavefront/packed/11" in outcome.ran:
            features.append("plan mixed, cells in 11 bits")
        features.append(f"checked by {outcome.by}" if outcome.by else outcome.kind)
        if outcome.kind == "refused":
            features = [f"refused: {outcome.message.partition(':')[0]}"]
        found = None
        if outcome.wrong:
            small = shrunk(case, lambda one: check(one, device, against).wrong, SHRINK)
            again = check(small, device, against)
            found = Found(outcome.kind, outcome.message, case, replace(small, features=[]))
            found.message += f"; as small as it got: {again.message}" if again.wrong else ""
        pipe.send(("ended", features, found))
    pipe.send(("over",))


@dataclass
class Worker:
    """A process, and the case that it is at."""

    process: Any
    pipe: Connection
    case: Case | None = None
    heard: float = field(default_factory=time.monotonic)

    @classmethod
    def started(cls, *args: Any) -> Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, *args), daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours)

    def stop(self) -> None:
        """End the process; what it was doing is printed first."""
        if hasattr(signal, "SIGUSR1"):
            os.kill(self.process.pid, signal.SIGUSR1)
            self.process.join(2)
        self.process.kill()

    def lost(self, what: str, message: str) -> Found:
        """What is known of a process that does not answer any more."""
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(10)
        code = self.process.exitcode
        return Found(what, f"{message}; the process ended with {code}", self.case)


def campaign(
    device: str, against: str, seconds: float, seed: int, processes: int, out: Path
) -> Tally:
    """Run the campaign; what goes wrong is written to ``out`` and said as it is found."""
    tally, until = Tally(), time.time() + seconds
    started = 0

    def start() -> Worker:
        nonlocal started
        started += 1
        return Worker.started(device, against, [seed, started - 1], until)

    workers = [start() for _ in range(processes)]
    while workers:
        ready = set(wait([worker.pipe for worker in workers], timeout=1))
        for worker in list(workers):
            found, over = None, False
            if worker.pipe in ready:
                worker.heard = time.monotonic()
                try:
                    kind, *told = worker.pipe.recv()
                except (EOFError, OSError):
                    found, over = worker.lost("crash", "no answer"), True
                else:
                    over = kind == "over"
                    if kind == "begins":
                        worker.case = told[0]
                    elif kind == "ended":
                        tally.cases += 1
                        tally.features.update(told[0])
                        found, worker.case = told[1], None
            elif time.monotonic() - worker.heard > HANG:
                worker.stop()
                found, over = worker.lost("hang", f"nothing for {HANG} s"), True
            if found is not None:
                tally.wrong.append(found)
                _write(found, out / f"campaign-{seed}-{len(tally.wrong)}.json")
            if over:
                workers.remove(worker)
                tally.cases += worker.case is not None
                if time.time() < until and found is not None and found.case is not None:
                    workers.append(start())
    return tally


def _write(found: Found, file: Path) -> None:
    facts = {
        "kind": found.kind,
        "message": found.message,
        "version": pysw_cl.__version__,
        "case": found.case and json.loads(found.case.text()),
        "small": found.small and json.loads(found.small.text()),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"{found.kind}: {' '.join(found.message.split())[:400]}\n  written to {file}", flush=True)


def cases_in(file: Path) -> list[Case]:
    """The cases of a file that a campaign wrote, the smallest first."""
    facts = json.loads(file.read_text())
    return [Case(**facts[name]) for name in ("small", "case") if facts.get(name)]


def replay(files: list[Path], device: str, against: str) -> int:
    """Run what campaigns wrote; says how many went wrong again."""
    wrong = 0
    for file in files:
        for case in cases_in(file):
            outcome = check(case, device, against)
            wrong += outcome.wrong
            print(f"{file.name}: {outcome.kind} {outcome.message}", flush=True)
    return wrong


def main() -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("--device", default="auto", help="as for align (default: auto)")
    words.add_argument("--against", help="compare large cases on this device (default: the CPU)")
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--processes", type=int, default=1)
    words.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()))
    words.add_argument("--json", type=Path, help="write the table to this file")
    words.add_argument("--replay", type=Path, nargs="+", help="run these cases again")
    args = words.parse_args()
    info = get_runtime(args.device).info
    against = args.against or _against(args.device, info.kind)
    print(f"{info.name} [{info.platform}], against {get_runtime(against).info.name}", flush=True)
    if args.replay:
        return int(replay(args.replay, args.device, against) > 0)
    tally = campaign(args.device, against, args.seconds, args.seed, args.processes, args.out)
    for name, count in tally.rows():
        print(f"{count:8,}  {name}")
    if not tally.cases:
        print("no case was run", flush=True)
    print(f"{tally.passed} passed, {len(tally.wrong)} failed", flush=True)
    if args.json:
        facts = {"device": info.name, "platform": info.platform, "seconds": args.seconds}
        facts |= {"seed": args.seed, "processes": args.processes, "cases": tally.cases}
        facts |= {"wrong": [f"{one.kind}: {one.message}" for one in tally.wrong]}
        args.json.write_text(json.dumps(facts | {"features": dict(tally.rows())}, indent=1) + "\n")
    return int(bool(tally.wrong) or not tally.cases)


def _against(device: str, kind: str) -> str:
    """Another device, if there is one that is sure to be quick: a CPU beside a GPU."""
    if kind == "gpu":
        try:
            get_runtime("cpu")
        except pysw_cl.errors.PyswError:
            return device
        return "cpu"
    return device


if __name__ == "__main__":
    sys.exit(main())
