#!/usr/bin/env python3
"""First calls: from empty caches, in a new process with full ones, and the calls that follow.

    python bench/cold.py [--base FOLDER] [--only TEXT] [--device auto] [--data FOLDER] [--runs N]
                          [--more N] [--steps] [--json FILE]

Each case has caches of its own, which are empty at first.  A process of the case fills them
("cold"); the next one finds them full ("warm").  A command of the shell counts from the start of
its process to the end, a call from the first line of a process that has Python alone to its result.
Both have the package and what it imports as byte code, as an installation has.  The calls that
follow a first one, cold, are compared with those after all builds.  Results have to be the same
everywhere.  The bars are for a GPU; a missed one ends with exit code 1, as a wrong result does.
With a base (the folder of another version) each case runs there, too, in turns; bars are for this
version alone.  ``--data``: a folder with ``dna/`` of real genomes; without it some cases are left
out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from cases import (
    EXPECTED_MITO,
    PROTEIN,
    ROOT,
    WrongResult,
    check,
    protein_pair,
    pysw_cl,
    random_pair,
    shipped,
    similar_pair,
    write_report,
)

CHILD = Path(__file__).resolve().parent / "cold_child.py"
#: The most that the calls which follow may take of those after all builds.
FOLLOW = 1.1
MITO = "NC_012920.1.fasta", "GU112745.1.fasta"
#: Imported once, so that its byte code is there.
ALL = (
    "import pyopencl, pysw_cl.api.align, pysw_cl.api.many, pysw_cl.cli.main, "
    "pysw_cl.engines.wavefront.engine, pysw_cl.results.formats.pair, pysw_cl.engines.held"
)


@dataclass(frozen=True)
class Case:
    """Pairs and options of a call, or arguments of the command.  ``bars``: seconds cold and warm
    on a GPU."""

    name: str
    pairs: tuple[tuple[str, str], ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    calls: int = 4
    command: tuple[str, ...] = ()
    bars: tuple[float | None, float | None] = (None, None)


@dataclass
class Ran:
    """What the processes of a case took in one version: cold ones and warm ones."""

    cold: list[dict[str, Any]] = field(default_factory=list)
    warm: list[dict[str, Any]] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Medians, and the steps and programs of the last processes."""
        row: dict[str, Any] = {}
        for name, ran in (("cold", self.cold), ("warm", self.warm)):
            row[name] = median(one["first"] for one in ran)
            row[f"{name}_steps"] = ran[-1].get("steps", {})
            row[f"{name}_programs"] = ran[-1].get("programs", [])
            row[f"{name}_count"] = ran[-1].get("count", 0)
            if "next" in ran[-1]:
                row[f"{name}_next"], row[f"{name}_later"] = ran[-1]["next"], ran[-1]["later"]
                row[f"{name}_follow"] = median(
                    median(one["next"]) / median(one["later"]) for one in ran
                )
        return row


def genome(data: Path, name: str, most: int | None = None) -> str:
    """The letters of a genome, or the first of them."""
    with gzip.open(data / "dna" / f"{name}.fasta.gz", "rt") as file:
        return "".join(line.strip() for line in file if line[0] != ">")[:most]


def cases(data: Path | None, folder: Path) -> Iterator[Case]:
    """All cases; files that they need are written into ``folder``."""

    def dna(m: int, n: int) -> tuple[str, str]:
        query, target = similar_pair(max(m, n))
        return query[:m].decode(), target[:n].decode()

    yield Case("a context and a small kernel")
    yield Case("shell: demo", command=("demo", "-q"), bars=(None, 1.0))
    yield Case("150 x 150", (dna(150, 150),), calls=20, bars=(None, 0.8))
    human, chimp = (next(pysw_cl.read_fasta(shipped("examples", name))) for name in MITO)
    yield Case("16 kb, path", (tuple(bytes(one.letters).decode() for one in (human, chimp)),))
    every = {"output": "ends", "prune": False}
    if data is not None and (data / "dna").is_dir():
        pylori = [genome(data, name, 1_050_000) for name in ("NC_011333.1", "NC_017371.1")]
        files = [str(folder / f"{k}.fasta") for k in range(2)]
        for k, letters in enumerate(pylori):
            Path(files[k]).write_text(f">{k}\n{letters}\n")
        yield Case("shell: 1 Mb, path", command=("align", "-q", *files), bars=(5.0, 1.2))
        yield Case("1 Mb, all cells", (tuple(pylori),), every)
        yield Case("1 Mb, path", (tuple(pylori),), calls=2)
        coli = tuple(genome(data, name) for name in ("NC_000913.3", "NC_017625.1"))
        yield Case("5 Mb, all cells", (coli,), every, calls=1)
    query, target = (letters.decode() for letters in random_pair(1_000_000, 1_000))
    yield Case("1 M x 1,000", ((query, target),), {"output": "ends"})
    yield Case("1,000 x 1 M", ((target, query),), {"output": "ends"})
    protein = tuple(letters.decode() for letters in protein_pair(464))
    yield Case("protein, 464 x 464", (protein,), PROTEIN)
    many = tuple(dna(140 + k % 20, 200) for k in range(2_000))
    yield Case("2,000 pairs of reads", many, {"output": "path"})


def environment(tree: Path, cache: Path, code: Path) -> dict[str, str]:
    """The environment of a process with these caches."""
    folders = {
        "POCL_CACHE_DIR": cache / "pocl",
        "XDG_CACHE_HOME": cache / "xdg",
        "CUDA_CACHE_PATH": cache / "cuda",
        "NEO_CACHE_DIR": cache / "neo",
        "PYTHONPYCACHEPREFIX": code,
    }
    for one in folders.values():
        one.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, **{name: str(one) for name, one in folders.items()}}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env


def spawn(case: Case, tree: Path, env: dict[str, str], given: Path, device: str) -> dict[str, Any]:
    """Run a case in a new process.  Raises WrongResult if it fails."""
    command = [sys.executable, str(CHILD), str(tree), device, str(given)]
    if case.command:
        command = [sys.executable, "-m", "pysw_cl", *case.command, "--device", device]
    started = time.perf_counter()
    # -m looks in the present folder first
    done = subprocess.run(command, env=env, cwd=tree, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise WrongResult(f"{case.name} failed in {tree}: {done.stderr[-2000:]}")
    if not case.command:
        ran: dict[str, Any] = json.loads(done.stdout)
        return ran | {"process": seconds}
    said = [line for line in done.stdout.splitlines() if not line.startswith("# time")]
    return {"first": seconds, "found": said}


def measured(case: Case, trees: dict[str, Path], args: Any, folder: Path) -> dict[str, Any]:
    """The row of a case."""
    given, code = folder / "case.json", folder / "code"
    given.write_text(
        json.dumps({"pairs": case.pairs, "options": case.options, "calls": case.calls})
    )
    ran = {name: Ran() for name in trees}
    results: list[Any] = []
    for run in range(args.runs):
        for name, tree in list(trees.items())[:: 1 if run % 2 == 0 else -1]:
            with tempfile.TemporaryDirectory(dir=folder) as cache:
                env = environment(tree, Path(cache), code)
                for kept in (ran[name].cold, ran[name].warm, *[ran[name].warm] * args.more):
                    kept.append(spawn(case, tree, env, given, args.device))
                    results.append(kept[-1].pop("found"))
                    check(case.name, results[-1], results[0])
    if case.command[:1] == ("demo",) and f"score:       {EXPECTED_MITO[0]}" not in str(results[0]):
        raise WrongResult(f"demo printed {results[0][:12]}")
    rows = {name: one.row() for name, one in ran.items()}
    return {"case": case.name, "bars": case.bars, **rows}


def line(row: dict[str, Any], name: str) -> str:
    """A row of the table."""
    ran = row[name]
    text = f"{row['case']:<29} {name:<5}"
    for when, bar in zip(("cold", "warm"), row["bars"], strict=True):
        counted = f"{ran[f'{when}_count']:>3}" if ran[f"{when}_programs"] else "   "
        text += f"{ran[when]:7.2f} {'' if bar is None else f'({bar:g})':>5} {counted} "
    for when in ("cold", "warm"):
        if f"{when}_follow" in ran:
            text += f" {median(ran[f'{when}_later']):8.4f} x {ran[f'{when}_follow']:.2f}"
    return text


def missed(row: dict[str, Any]) -> list[str]:
    """The bars that this version misses."""
    ran, found = row["new"], []
    for when, bar in zip(("cold", "warm"), row["bars"], strict=True):
        if bar is not None and ran[when] > bar:
            found.append(f"{row['case']}, {when}: {ran[when]:.2f} s, bar {bar:g} s")
        if ran.get(f"{when}_follow", 0) > FOLLOW:
            follow = ran[f"{when}_follow"]
            found.append(f"{row['case']}, {when}: next calls {follow:.2f} times, bar {FOLLOW:g}")
    return found


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="first calls, cold and warm")
    parser.add_argument("--base", type=Path, metavar="FOLDER", help="another version")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name matches it")
    parser.add_argument("--device", default="auto")
    given = os.environ.get("PYSW_CL_TEST_DATA")
    parser.add_argument("--data", type=Path, default=given and Path(given), metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=1, help="of each case; medians count")
    parser.add_argument("--more", type=int, default=0, help="warm processes beside the first")
    parser.add_argument("--steps", action="store_true", help="say what each step takes")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    trees = {"new": ROOT} | ({} if args.base is None else {"base": args.base.resolve()})
    rows, faults = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for tree in trees.values():
            env = environment(tree, folder / "first", folder / "code")
            subprocess.run([sys.executable, "-c", ALL], env=env, check=True)
        print(f"{'':<35}{'cold (bar)':>13} programs, warm (bar)  later calls x next ones")
        try:
            for case in cases(args.data, folder):
                if not re.search(args.only, case.name):
                    continue
                rows.append(measured(case, trees, args, folder))
                faults += missed(rows[-1])
                for tree_name in trees:
                    print(line(rows[-1], tree_name), flush=True)
                    if args.steps:
                        print(details(rows[-1][tree_name]), flush=True)
        except WrongResult as error:
            print(f"WRONG RESULT: {error}", file=sys.stderr)
            return 1
    from pysw_cl.opencl.device import get_runtime

    info = get_runtime(args.device).info
    write_report(args.json, info, rows, missed=faults)
    if info.kind == "gpu":
        print("\n".join(f"MISSED {fault}" for fault in faults))
    return int(info.kind == "gpu" and bool(faults))


def details(ran: dict[str, Any]) -> str:
    """What the steps and programs of the last processes took."""
    lines = []
    for when in ("cold", "warm"):
        steps = ", ".join(f"{name} {took:.3f}" for name, took in ran[f"{when}_steps"].items())
        lines.append(f"    {when}: {steps}")
        for one in ran[f"{when}_programs"]:
            where = "behind" if one["behind"] else ""
            lines.append(
                f"        at {one['at']:.2f} {one['seconds']:.2f} s {one['kernel']} {where} "
                f"{one['letters']} {one['defines']}"
            )
        if f"{when}_next" in ran:
            both = (f"{took:.4f}" for took in ran[f"{when}_next"] + ran[f"{when}_later"])
            lines.append(f"        calls {' '.join(both)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
