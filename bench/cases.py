"""The cases of bench/pair.py: sequences, expected results, peers, and what each case measures.

Every case gives a row (a dict) or raises WrongResult.  Scores and ends of the big pairs are stored:
they were found once by two of: parasail, the 32-bit lanes, the lanes of another kind of device.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.sort(key=str(ROOT / "bench").__eq__)  # last: the bench of scikit-bio has its name
sys.path.append(str(ROOT / "tests"))  # whole_reference

import pysw_cl  # noqa: E402
from pysw_cl.folders import shipped  # noqa: E402
from pysw_cl.opencl.device import get_runtime  # noqa: E402

Row = dict[str, Any]
Ends = tuple[int, int, int]
Letters = tuple[bytes, bytes]

#: (m, n) of random pairs -> (score, query end, target end), +1/-3, gap of k costs 3 + 2 k.
EXPECTED_RANDOM: dict[tuple[int, int], Ends] = {
    (1_000, 1_000): (11, 967, 53),
    (20_000, 20_000): (16, 10980, 14334),
    (50_000, 50_000): (15, 40057, 22417),
    (100_000, 100_000): (16, 41612, 37395),
    (1_000_000, 1_000_000): (20, 937051, 271027),
    (5_000_000, 5_000_000): (23, 3438681, 4096901),
    (100, 1_000_000): (12, 38, 38378),
    (1_000_000, 100): (15, 534811, 83),
    (100, 10_000_000): (18, 68, 9159297),
    (10_000_000, 100): (14, 5386288, 98),
    (5_000, 5_000): (12, 4446, 3146),
    (5_000, 10_000): (12, 1029, 743),
    (5_000, 20_000): (13, 3467, 10818),
    (10_000, 5_000): (15, 9500, 2277),
    (10_000, 10_000): (14, 1122, 3989),
    (10_000, 20_000): (16, 2223, 14085),
    (20_000, 5_000): (13, 10383, 2575),
    (20_000, 10_000): (13, 199, 7321),
    (20_000, 50_000): (16, 15477, 10109),
    (20_000, 150_000): (15, 4632, 148392),
    (50_000, 20_000): (14, 15669, 12428),
    (50_000, 150_000): (16, 18128, 61946),
    (150_000, 20_000): (15, 67377, 19995),
    (150_000, 50_000): (16, 29922, 19011),
    (150_000, 150_000): (16, 5244, 45386),
    (100_000, 300_000): (17, 15298, 163759),
    (300_000, 100_000): (19, 35309, 72048),
    (300_000, 300_000): (18, 280850, 193779),
    (100_000, 1_000_000): (20, 43304, 191007),
    (1_000_000, 100_000): (18, 832475, 10913),
    (300_000, 1_000_000): (19, 28929, 850831),
    (1_000_000, 300_000): (19, 769407, 19297),
}
#: Lengths of similar pairs -> the same.
EXPECTED_SIMILAR: dict[int, Ends] = {
    20_000: (11428, 19998, 19988),
    1_000_000: (576334, 1000000, 999993),
}
#: Lengths of protein pairs -> the same, BLOSUM62, gap of k costs 10 + k.
EXPECTED_PROTEIN: dict[int, Ends] = {
    5_000: (78, 534, 1081),
    35_000: (113, 5829, 11778),
    300_000: (113, 198952, 48706),
}
EXPECTED_MITO = (10642, 576, 16569, 0, 15989)

PROTEIN: dict[str, Any] = {"sub_score": "BLOSUM62", "gap_cost": (10, 1)}
#: Of a similar pair, the part on which parasail is timed: its score does not fit 16 bits.
PEER_SIMILAR = 125_000
#: How far before its end an alignment of random sequences may start.
UNREACHABLE_BELOW = 300
WARM = 20_000
CHILD = """
import sys
sys.path.insert(0, {root!r}); sys.path.insert(0, {bench!r})
from cases import peak, random_pair
import pysw_cl

before = peak()
r = pysw_cl.align(*random_pair({m}, {n}), output={output!r}, device={device!r})
print(r.score, r.query_end, r.target_end, before, peak())
"""


class WrongResult(Exception):
    """A timed run gave another result than the expected one, or other lanes did the work."""


def peak() -> int:
    """The most resident memory of this process so far, in bytes."""
    try:  # ru_maxrss starts at the size of the process that started this one
        with Path("/proc/self/status").open() as lines:
            return next(1024 * int(x.split()[1]) for x in lines if x.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def check(what: str, got: Any, expected: Any) -> None:
    """Raise when a result is not the expected one."""
    if got != expected:
        raise WrongResult(f"{what}: got {got}, expected {expected}")


def random_pair(m: int, n: int) -> Letters:
    """Two random DNA sequences that depend on their lengths only."""
    rng = np.random.default_rng([m, n])
    table = np.frombuffer(b"ACGT", np.uint8)
    return table[rng.integers(0, 4, m)].tobytes(), table[rng.integers(0, 4, n)].tobytes()


def protein_pair(n: int) -> Letters:
    """Two random proteins of n residues, all 20 alike likely."""
    rng = np.random.default_rng([n, 20])
    table = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", np.uint8)
    query, target = table[rng.integers(0, 20, (2, n))]
    return query.tobytes(), target.tobytes()


def similar_pair(n: int) -> Letters:
    """Random DNA and a copy of it in which 8% of the letters are others, 1% are missing and 1% are
    followed by a new one; both cut to n letters."""
    rng = np.random.default_rng([n, 10])
    query = rng.integers(0, 4, n + n // 50)
    kind = rng.random(len(query))
    changed, inserted = rng.integers(1, 4, len(query)), rng.integers(0, 4, len(query))
    copy = np.where(kind < 0.08, (query + changed) % 4, query)
    times = np.ones(len(query), np.int64)
    times[(kind >= 0.08) & (kind < 0.09)] = 0
    times[(kind >= 0.09) & (kind < 0.10)] = 2
    second = np.cumsum(times)[times == 2] - 1
    target = np.repeat(copy, times)
    target[second] = inserted[times == 2]
    table = np.frombuffer(b"ACGT", np.uint8)
    return table[query[:n]].tobytes(), table[target[:n]].tobytes()


def write_report(path: Path | None, info: Any, results: list[Any], **more: Any) -> None:
    """Write what a bench found as JSON, with the day and the machine; None: nowhere.

    ``info``: the device (`DeviceInfo`); ``more``: what else is to be said, before the results."""
    if path is None:
        return
    report = {
        "date": time.strftime("%Y-%m-%d"),
        "version": pysw_cl.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "device": str(info),
        "driver": info.driver,
        **more,
        "results": results,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")


def timed(runs: int, call: Callable[[], Any], warm: Callable[[], Any] | None = None) -> Any:
    """Median wall seconds of ``runs`` calls, and the last result; one of ``warm`` (by default the
    same call) goes before and is not counted."""
    (warm or call)()
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - started)
    return median(seconds), result


def wait_for_builds(device: Any) -> bool:
    """Wait for kernels that other processes build for later calls; were there any?"""
    waited = [one for one in get_runtime(device).building.values() if one.poll() is None]
    for one in waited:
        one.wait()
    return bool(waited)


def parasail_results(
    pair: Letters, functions: Iterable[str], protein: bool = False
) -> list[tuple[float, str, int]]:
    """(seconds, function, score) of parasail on one thread, fastest first, for those of its
    functions whose numbers did not overflow; empty where it is not installed."""
    try:
        import parasail
    except ImportError:
        return []
    matrix = parasail.blosum62 if protein else parasail.matrix_create("ACGT", 1, -3)
    query, target = (letters.decode() for letters in pair)
    found = []
    for name in functions:
        started = time.perf_counter()
        result = getattr(parasail, name)(query, target, *((11, 1) if protein else (5, 2)), matrix)
        seconds = time.perf_counter() - started
        if not result.saturated:
            found.append((seconds, name, int(result.score)))
    return sorted(found)


def against_parasail(
    row: Row, pair: Letters, score: int, protein: bool = False, every: bool = False, part: str = ""
) -> None:
    """Put parasail's figures into a row: `sw_striped_sat`, or the fastest of ``every`` width.

    ``score`` is ours for the same ``pair``; ``part`` says which part of the row's pair that is.
    """
    names = ("sw_striped_16", "sw_striped_32", "sw_striped_sat") if every else ("sw_striped_sat",)
    found = parasail_results(pair, names, protein)
    for _, name, its in found:
        check(f"{row['case']}: parasail's {name}", its, score)
    if found:
        seconds, name, _ = found[0]
        gcups = len(pair[0]) * len(pair[1]) / seconds / 1e9
        row |= {"parasail": name + part, "parasail_gcups": gcups, "ratio": row["gcups"] / gcups}
        row["verified"] += f"; parasail's score{part}"


def check_lanes(what: str, cells: dict[str, int], lanes: str, kind: str) -> None:
    """Raise when other lanes or widths than the intended ones did the work.

    ``lanes``: the device's lane set.  ``kind``: "random" or "similar" DNA, "protein".
    """
    total = sum(cells.values())
    share = {name.partition("/")[2]: count / total for name, count in cells.items()}
    low, middle = share.get("vector/8", 0), share.get("vector/16", 0)
    if lanes == "vector" and kind == "similar":
        good = low > 0.01 and middle > 0.01 and set(share) == {"vector/8", "vector/16"}
    elif lanes == "vector":
        good = low >= (0.9 if kind == "protein" else 0.99)
    else:
        packed = share.get("packed/11", 0) + share.get("packed/16", 0)
        good = lanes != "packed" or packed >= 0.99
    if not good:
        raise WrongResult(f"{what}: the work was done by {cells}")


class Bench:
    """The cases on one device."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.info = get_runtime(device).info
        self.fastest = 0.0  #: GCUPS of the long random pairs so far

    def align(self, pair: Letters, output: str = "ends", **options: Any) -> Any:
        """Align without pruning, so that every cell is computed."""
        return pysw_cl.align(*pair, output=output, device=self.device, prune=False, **options)

    def ends(
        self, case: str, pair: Letters, expected: Ends | None, runs: int, kind: str, **options: Any
    ) -> tuple[Row, Any]:
        """Score and end of a pair; on CPUs ``runs`` below 3 are warmed up by the start of the pair
        (on GPUs its size decides which kernel is built)."""
        m, n = map(len, pair)
        start = (pair[0][:WARM], pair[1][:WARM])
        short = runs < 3 and self.info.kind == "cpu"

        def warm() -> None:
            self.align(start if short else pair, **options)
            wait_for_builds(self.device)

        seconds, r = timed(runs, lambda: self.align(pair, **options), warm)
        if expected is not None:
            check(case, (r.score, r.query_end, r.target_end), expected)
        check(f"{case}: cells computed", r.stats.total_cells, m * n)
        check_lanes(case, r.stats.cells, self.info.lanes, kind)
        row = {
            "case": case,
            "seconds": seconds,
            "runs": runs,
            "gcups": m * n / seconds / 1e9,
            "plan": str(r.plan),
            "cells": r.stats.cells,
            "device_bytes": r.stats.device_bytes,
            "verified": "stored score and end",
        }
        return row, r

    def random(self, case: str, m: int, n: int, runs: int) -> Row:
        """Random DNA; where it takes long, the peer works on the start of the query."""
        pair = random_pair(m, n)
        row, r = self.ends(case, pair, EXPECTED_RANDOM[m, n], runs, "random")
        if m * n <= 10**10:
            against_parasail(row, pair, r.score)
        elif self.info.kind == "cpu":
            part = pair[0][:100_000], pair[1]
            score = self.align(part).score
            against_parasail(row, part, score, part=" on 100 kb of the query")
        return row

    def long(self, case: str, m: int, n: int) -> Row:
        """Random DNA as long as GPUs do, and its speed as a share of the fastest one so far.  Where
        no result is stored, the reference engine makes the score again at the end found."""
        pair = random_pair(m, n)
        row, r = self.ends(case, pair, EXPECTED_RANDOM.get((m, n)), 1, "random")
        if (m, n) not in EXPECTED_RANDOM:
            last = (
                pair[0][: r.query_end][-UNREACHABLE_BELOW:],
                pair[1][: r.target_end][-UNREACHABLE_BELOW:],
            )
            again = pysw_cl.align(*last, output="score", plan={"engine": "reference"})
            check(f"{case}: score at its end", again.score, r.score)
            row["verified"] = f"score made again at its end {r.query_end}, {r.target_end}"
        if self.fastest:
            row["share"] = row["gcups"] / self.fastest
        self.fastest = max(self.fastest, row["gcups"])
        return row

    def similar(self, case: str, n: int, runs: int) -> Row:
        """DNA with 10% divergence; parasail's fastest exact function on the start of both."""
        pair = similar_pair(n)
        row, r = self.ends(case, pair, EXPECTED_SIMILAR[n], runs, "similar")
        if n <= PEER_SIMILAR:
            against_parasail(row, pair, r.score, every=True)
        else:
            part = pair[0][:PEER_SIMILAR], pair[1][:PEER_SIMILAR]
            score = self.align(part).score
            against_parasail(row, part, score, every=True, part=" on the first 125 kb of both")
        return row

    def protein(self, case: str, n: int, runs: int) -> Row:
        """Random proteins with a matrix."""
        pair = protein_pair(n)
        row, r = self.ends(case, pair, EXPECTED_PROTEIN[n], runs, "protein", **PROTEIN)
        against_parasail(row, pair, r.score, protein=True)
        return row

    def small(self, case: str, n: int, runs: int) -> Row:
        """Seconds of one call with a small pair."""
        pair = random_pair(n, n)
        seconds, r = timed(runs, lambda: self.align(pair, "score"))
        check(case, r.score, EXPECTED_RANDOM[n, n][0])
        check_lanes(case, r.stats.cells, self.info.lanes, "random")
        row = {
            "case": case,
            "seconds": seconds,
            "runs": runs,
            "gcups": n * n / seconds / 1e9,
            "cells": r.stats.cells,
            "verified": "stored score",
        }
        against_parasail(row, pair, r.score)
        return row

    def mito_path(self, case: str, runs: int) -> Row:
        """Human against chimpanzee mitochondrion, with its path."""
        names = "NC_012920.1.fasta", "GU112745.1.fasta"
        a, b = (next(pysw_cl.read_fasta(shipped("examples", name))) for name in names)
        seconds, r = timed(runs, lambda: pysw_cl.align(a, b, device=self.device))
        got = (r.score, r.query_start, r.query_end, r.target_start, r.target_end)
        check("mitochondria", got, EXPECTED_MITO)
        check("the path's score", r.rescore(), r.score)
        return {
            "case": case,
            "seconds": seconds,
            "runs": runs,
            "gcups": len(a) * len(b) / seconds / 1e9,
            "plan": str(r.plan),
            "cells": r.stats.cells,
            "verified": "stored score and ends; path re-scored",
        }

    def demo(self, case: str, cold: bool) -> Row:
        """The whole ``pysw-cl demo`` command, with an empty or a filled kernel cache."""
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, POCL_CACHE_DIR=f"{folder}/pocl", XDG_CACHE_HOME=f"{folder}/xdg")
            env["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
            for name in ("pocl", "xdg"):
                Path(folder, name).mkdir()
            command = [sys.executable, "-m", "pysw_cl", "demo"]
            for _ in range(1 if cold else 2):
                started = time.perf_counter()
                out = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
                seconds = time.perf_counter() - started
        if f"score:       {EXPECTED_MITO[0]}" not in out.stdout:
            raise WrongResult(f"demo printed {out.stdout[:300]!r}")
        return {"case": case, "seconds": seconds, "runs": 1, "verified": "stored score"}

    def memory(self, case: str, m: int, n: int, output: str) -> Row:
        """Peak resident memory of a whole process that makes one alignment."""
        code = CHILD.format(
            root=str(ROOT), bench=str(ROOT / "bench"), m=m, n=n, output=output, device=self.device
        )
        command = [sys.executable, "-c", code]
        out = subprocess.run(command, capture_output=True, text=True, check=True)
        score, row, column, before, after = out.stdout.split()
        check(case, int(score), EXPECTED_RANDOM[m, n][0])
        if output != "score":
            check(f"{case}: its end", (int(row), int(column)), EXPECTED_RANDOM[m, n][1:])
        return {
            "case": case,
            "peak_bytes": int(after),
            "before_bytes": int(before),
            "more_bytes": int(after) - int(before),
            "verified": "stored score" + (" and end" if output != "score" else ""),
        }
