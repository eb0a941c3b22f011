#!/usr/bin/env python3
"""First calls with an empty kernel cache, against another version of this package.

    python bench/cold.py [--base FOLDER] [--short] [--only TEXT] [--device auto] [--runs N]
                          [--json FILE]

Every process is new and has a kernel cache of its own, which is empty at first.  A kind of call is
timed three ways: "first": alone in a process; "together": all kinds one after the other in one
process; "apart": each kind in a process of its own, with the cache that the earlier ones left.
Whole processes count, from their start to their end, and single calls.  The base is a git worktree
of commit a3d75c7 unless ``--base`` names a folder; both versions take turns.  A result that is
not the same from both, or not that of the reference engine, ends with exit code 1, as a missed bar
does.  Without a base (a copy of the tree without git) only results are checked.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cases import (
    EXPECTED_MITO,
    ROOT,
    WrongResult,
    check,
    protein_pair,
    pysw_cl,
    similar_pair,
    write_report,
)

BASE_COMMIT = "a3d75c7"
CHILD = Path(__file__).resolve().parent / "cold_child.py"
#: More gap cost than a random protein pair gains.
PROTEIN: dict[str, Any] = {"sub_score": "BLOSUM62", "gap_cost": (10, 1)}
#: Kinds of both forms.
SHORT = ("demo",)
#: Most of the base's time: the first result, all kinds together, one new kind on a GPU.
FIRST, TOGETHER, NEW = 1 / 3, 1 / 4, 1 / 2


def kinds() -> dict[str, dict[str, Any]]:
    """The kinds of calls in the order in which they are made: pairs and options."""
    examples = ROOT / "examples"
    names = "NC_012920.1.fasta", "GU112745.1.fasta"
    records = (next(pysw_cl.read_fasta(examples / name)) for name in names)
    human, chimp = (bytes(record.letters).decode() for record in records)

    def dna(m: int, n: int) -> list[str]:
        query, target = similar_pair(max(m, n))
        return [query[:m].decode(), target[:n].decode()]

    protein = [letters.decode() for letters in protein_pair(464)]

    def kind(*pairs: list[str], **options: Any) -> dict[str, Any]:
        return {"pairs": pairs, "options": options}

    return {
        "demo": kind([human, chimp]),
        "global path": kind([human, chimp], mode="global"),
        "1 kb": kind(dna(1000, 1000)),
        "150 x 200": kind(dna(150, 200)),
        "protein": kind(protein, **PROTEIN),
        "protein, global": kind(protein, mode="global", **PROTEIN),
        "many": kind(*(dna(140 + k, 200) for k in range(20)), output="path"),
    }


@dataclass(frozen=True)
class Tree:
    """A version of the package."""

    name: str
    folder: Path


@dataclass(frozen=True)
class Spent:
    """Wall and CPU seconds of a process, and of the calls in it by kind."""

    wall: float
    cpu: float
    calls: dict[str, tuple[float, float]]


def environment(cache: Path) -> dict[str, str]:
    """The environment of a process with this kernel cache."""
    folders = {
        "POCL_CACHE_DIR": cache / "pocl",
        "XDG_CACHE_HOME": cache / "xdg",
        "CUDA_CACHE_PATH": cache / "cuda",
        "NEO_CACHE_DIR": cache / "neo",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    return {**os.environ, **{name: str(folder) for name, folder in folders.items()}}


def spawn(
    tree: Tree, names: list[str], cache: Path, pairs: Path, device: str, results: dict[str, Any]
) -> Spent:
    """Run some kinds in a new process.  Raises WrongResult where ``results`` has others."""
    command = [sys.executable, str(CHILD), str(tree.folder), device, str(pairs), *names]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, env=environment(cache), capture_output=True, text=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise WrongResult(f"{tree.name}: {', '.join(names)} failed: {done.stderr[-2000:]}")
    calls = {}
    for line in done.stdout.splitlines():
        kind, seconds, cpu, found = json.loads(line)
        calls[kind] = seconds, cpu
        check(f"{tree.name}: {kind}", found, results.setdefault(kind, found))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(wall, cpu, calls)


def verify(results: dict[str, Any], given: dict[str, Any]) -> None:
    """Compare what both versions found with stored results and the reference engine."""
    if "demo" in results:
        check("demo", tuple(results["demo"][:1] + results["demo"][1:5]), EXPECTED_MITO)
    for kind, result in results.items():
        pairs, options = given[kind]["pairs"], given[kind]["options"]
        if len(pairs) > 1 or len(pairs[0][0]) > 2000:
            continue
        one = pysw_cl.align(*pairs[0], plan={"engine": "reference"}, **options)
        check(f"{kind}: reference", [one.score, str(one.cigar)], [result[0], result[-1]])


def ways(names: list[str], short: bool) -> list[tuple[str, list[list[str]]]]:
    """(what is timed, the kinds of each of its processes, which share a cache)."""
    first = [(f"first: {name}", [[name]]) for name in names if name in SHORT or not short]
    if short:
        return first
    return [*first, ("together", [names]), ("apart", [[name] for name in names])]


def measured(trees: list[Tree], args: argparse.Namespace) -> tuple[list[dict[str, Any]], Any]:
    """The rows of the table, and what was found."""
    given = kinds()
    results: dict[str, Any] = {}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder, "pairs.json")
        pairs.write_text(json.dumps(given))
        asked = [way for way in ways(list(given), args.short) if args.only in way[0]]
        for number, (name, processes) in enumerate(asked):
            spent: dict[str, list[list[Spent]]] = {tree.name: [] for tree in trees}
            for run in range(args.runs):
                for tree in trees if run % 2 == 0 else trees[::-1]:
                    cache = Path(folder, f"{number}-{run}-{tree.name}")
                    together = [
                        spawn(tree, one, cache, pairs, args.device, results) for one in processes
                    ]
                    spent[tree.name].append(together)
            rows.append(row_of(name, spent))
            print(line(rows[-1]), flush=True)
        verify(results, given)
    return rows, results


def row_of(name: str, spent: dict[str, list[list[Spent]]]) -> dict[str, Any]:
    """Medians of the runs of one way, for each version."""
    row: dict[str, Any] = {"case": name}
    for tree, runs in spent.items():
        calls: dict[str, list[float]] = {}
        for run in runs:
            for one in run:
                for kind, (wall, _) in one.calls.items():
                    calls.setdefault(kind, []).append(wall)
        row[tree] = {
            "seconds": median(sum(one.wall for one in run) for run in runs),
            "cpu_seconds": median(sum(one.cpu for one in run) for run in runs),
            "calls": {kind: median(seconds) for kind, seconds in calls.items()},
        }
    return row


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    text = f"{row['case']:<24}"
    for tree in ("base", "new"):
        if tree in row:
            seconds, cpu = row[tree]["seconds"], row[tree]["cpu_seconds"]
            text += f"  {tree} {seconds:6.2f} s ({cpu:6.2f} CPU)"
    if "base" in row:
        new, base = row["new"], row["base"]
        of_wall, of_cpu = (new[key] / base[key] for key in ("seconds", "cpu_seconds"))
        text += f"  {of_wall:.3f} ({of_cpu:.3f})"
        if len(new["calls"]) > 1:
            each = (
                f"{kind} {base['calls'][kind]:.2f} -> {s:.2f}" for kind, s in new["calls"].items()
            )
            text += "\n    calls: " + ", ".join(each)
    return text


def judged(rows: list[dict[str, Any]], kind: str) -> list[tuple[str, float, float]]:
    """(what, the share of the base's time, the most that it may be), by wall seconds; on a GPU
    each new kind counts, too."""
    by_name = {row["case"]: row for row in rows if "base" in row}
    bars = []
    for name, most in (("first: demo", FIRST), ("together", TOGETHER)):
        if name in by_name:
            new, base = by_name[name]["new"], by_name[name]["base"]
            bars.append((name, new["seconds"] / base["seconds"], most))
    if kind == "gpu" and "together" in by_name:
        new, base = by_name["together"]["new"]["calls"], by_name["together"]["base"]["calls"]
        bars += [(f"new kind: {one}", new[one] / base[one], NEW) for one in new]
    return bars


@contextmanager
def base_tree(folder: Path | None) -> Iterator[Path | None]:
    """The folder of the base: the given one, or a git worktree; None if git has no such commit."""
    if folder is not None:
        yield folder.resolve()
        return
    with tempfile.TemporaryDirectory() as parent:
        tree, git = Path(parent, "base"), ["git", "-C", str(ROOT)]
        made = subprocess.run(
            [*git, "worktree", "add", "--detach", str(tree), BASE_COMMIT], capture_output=True
        )
        if made.returncode:
            yield None
            return
        try:
            yield tree
        finally:
            subprocess.run(
                [*git, "worktree", "remove", "--force", str(tree)], capture_output=True, check=True
            )


def main() -> int:
    """Run the ways; see the module's text."""
    parser = argparse.ArgumentParser(description="first calls with an empty kernel cache")
    parser.add_argument("--base", type=Path, metavar="FOLDER", help=f"default: {BASE_COMMIT}")
    parser.add_argument("--short", action="store_true", help="the first result only")
    parser.add_argument("--only", default="", metavar="TEXT", help="ways whose name contains it")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=1, help="of each way; medians count")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    from pysw_cl.opencl.device import get_runtime

    info = get_runtime(args.device).info
    with base_tree(args.base) as base:
        trees = [Tree("new", ROOT)] + ([Tree("base", base)] if base else [])
        if base is None:
            print(f"no base: git has no commit {BASE_COMMIT} here, so nothing is compared")
        try:
            rows, _ = measured(trees, args)
        except WrongResult as error:
            print(f"WRONG RESULT: {error}", file=sys.stderr)
            return 1
    bars = judged(rows, info.kind)
    for what, share, most in bars:
        verdict = "met" if share <= most else "MISSED"
        print(f"{what:<24} {share:.3f} of the base's time, bar {most:.3f}: {verdict}")
    said = [{"what": what, "share": share, "most": most} for what, share, most in bars]
    write_report(args.json, info, rows, bars=said)
    return 0 if all(share <= most for _, share, most in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
