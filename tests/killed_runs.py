"""Kills runs with a checkpoint at random moments: ``python killed_runs.py FOLDER MOMENTS SEED``.

Each run is a child that is killed with SIGKILL once or several times, and then goes on to its end;
prints a line for every result that is not that of the uninterrupted run, and how many were killed
while they computed, while they walked the path, with the first of two strands finished, and with
tiles of a band.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from saving import MODES, REFERENCE, TINY, key, pair, related, tight, turned

import pysw_cl


def child(work: Any) -> int:
    """Fork; the child does ``work`` and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def killed(work: Any, folder: Path, files: int, after: float) -> bool:
    """Start ``work`` and kill it some seconds after ``folder`` has had so many rows, tiles and
    parts of the path; False if it was over by then."""
    pid = child(work)
    seen: set[Path] = set()
    while len(seen := seen | {*folder.rglob("*-[0-9]*")}) < files:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break
        time.sleep(0.0005)
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a run failed")
    return os.WIFSIGNALED(status)


def main(folder: Path, moments: int, seed: int) -> None:
    """Kill ``moments`` runs."""
    choose = random.Random(seed)
    a, b = pair(260)
    sweeping = tracing = between = banded = 0
    pysw_cl.align(a, b, checkpoint=folder / "whole", disk_size=40_000, plan=REFERENCE)
    whole = len(list((folder / "whole").iterdir()))
    for moment in range(moments):
        mode, free_ends = MODES[moment % len(MODES)]
        a, b, plan = *pair(260), REFERENCE
        if mode == "global" and choose.random() < 0.5:  # a band pays
            a, b, plan = *related(260), TINY
        strand = choose.choice(["plus", "both", "both"])
        query, strands = (a, 1) if strand == "plus" else (choose.choice([a, turned(a)]), 2)
        gap_cost: Any = (3, 2) if moment % 4 < 2 else 2
        output = "score" if moment % 5 == 4 else "path"
        how = {"mode": mode, "free_ends": free_ends, "gap_cost": gap_cost, "output": output}
        how["strand"] = strand
        place, answer = folder / f"{moment}", folder / f"{moment}.json"

        job = partial(pysw_cl.align, query, b, plan=plan, **how)

        def work(job: Any = job, place: Path = place, answer: Path = answer) -> None:
            answer.write_text(json.dumps(key(job(checkpoint=place, disk_size=40_000))))

        expected = job()
        reached = 0
        for _ in range(choose.choice([1, 1, 2, 4])):
            reached = choose.randint(reached, strands * whole)
            if killed(work, place, reached, choose.uniform(0, 0.03)):
                files = {path.name.partition("-")[0] for path in place.rglob("*")}
                between += strand == "both" and "result" in files
                tracing += "walk" in files
                banded += "band" in files
                sweeping += bool({"rows", "band"} & files) and "walk" not in files
        _, status = os.waitpid(child(work), 0)
        if status or json.loads(answer.read_text()) != json.loads(json.dumps(key(expected))):
            print(f"wrong: moment {moment} of seed {seed}: {how}")
        if list(place.rglob("*.part")):
            print(f"left: moment {moment} of seed {seed}: {sorted(place.rglob('*.part'))}")
    print(f"killed {sweeping} {tracing} {between} {banded}")


if __name__ == "__main__":
    with tight():
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
