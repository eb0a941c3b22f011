#!/usr/bin/env python3
"""The scikit-bio plugin beside scikit-bio in the same run: prints a table, writes JSON, verifies
every result.

    python bench/skbio.py [--short] [--only TEXT] [--device auto] [--json FILE]

Calls of both take turns, so that both meet the same disturbances; the ratio is that of their
medians.  Results are compared in full: scores, paths, distances to the last bit.  scikit-bio's
distances of 500 sequences take half an hour, so it computes those of a few, which are compared, and
its time is scaled by the number of pairs.  Memory is that of a process of its own, where a first
call takes both longer: scikit-bio's matrices touch their memory for the first time, and kernels are
loaded.  A wrong result, or a bar that is missed, ends with exit code 1.  Two cores miss some of
the bars (docs/ideas.md has figures); the short form has wide ones.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import (
    Letters,
    Row,
    WrongResult,
    check,
    pysw_cl,
    random_pair,
    similar_pair,
    timed,
    write_report,
)
from small import related, side_by_side

#: What a bar may be about -> (words, is more better?)
FIGURES = {
    "times": ("x scikit-bio's speed", True),
    "of_scikit_bio": ("x scikit-bio's time", False),
    "more_mb": ("MB more", False),
}
AFFINE: dict[str, Any] = {"sub_score": (2, -3), "gap_cost": (5, 2)}
LINEAR: dict[str, Any] = {"sub_score": (1, -1), "gap_cost": 2}
LONG: dict[str, Any] = {"mode": "local", **AFFINE}
#: One call of ``function`` in a process of its own: its seconds, and by how much memory grew.
CHILD = """
import sys, time
sys.path.insert(0, {bench!r})
from cases import peak, similar_pair
import pysw_cl.skbio
from skbio.alignment import pair_align
a, b = (letters.decode() for letters in similar_pair({n}))
call = {{"ours": lambda *p: pysw_cl.skbio.pair_align(*p, device={device!r}, **{how!r}),
        "theirs": lambda *p: pair_align(*p, **{how!r})}}[{who!r}]
call(a[:100], b[:100])
before = peak()
started = time.perf_counter()
score = call(a, b).score
print(score, time.perf_counter() - started, peak() - before)
"""


def theirs(name: str) -> Any:
    """A function of scikit-bio itself."""
    import skbio.alignment

    return getattr(skbio.alignment, name)


def same(name: str, found: Any, expected: Any) -> None:
    """Raise WrongResult unless two results of `pair_align` are equal."""
    check(f"{name}: score", found.score, expected.score)
    for one, other in zip(found.paths or [], expected.paths or [], strict=True):
        for part in ("lengths", "states", "ranges"):
            check(f"{name}: {part}", *(getattr(p, part).tolist() for p in (one, other)))


def beside(name: str, runs: int, ours: Callable[[], Any], its: Callable[[], Any]) -> Row:
    """A row of two calls that take turns."""
    same(name, ours(), its())
    mine, other = side_by_side(runs, ours, its)
    row = {"case": name, "runs": runs, "seconds": mine, "scikit_bio": other}
    return row | {"times": other / mine, "of_scikit_bio": mine / other, "verified": "all of it"}


def single(name: str, device: str, how: dict[str, Any], runs: int) -> Row:
    """Two related sequences of 150 bases, one call."""
    pair = short_pairs(1)[0]

    def ours() -> Any:
        return pysw_cl.skbio.pair_align(*pair, device=device, **how)

    return beside(name, runs, ours, lambda: theirs("pair_align")(*pair, **how))


def short_pairs(count: int) -> list[tuple[str, str]]:
    """Related sequences of 150 bases."""
    rng = np.random.default_rng([count, 150])
    text = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (2 * count, 150))]
    return [related((text[k].tobytes(), text[k + 1].tobytes())) for k in range(0, 2 * count, 2)]


def batch(name: str, device: str, how: dict[str, Any], count: int, runs: int) -> Row:
    """Many of them in one call, beside a loop over some of them."""
    pairs, some = short_pairs(count), 200

    def ours() -> Any:
        return pysw_cl.skbio.pair_align_many(pairs, device=device, **how)

    def loop() -> list[Any]:
        return [theirs("pair_align")(*pair, **how) for pair in pairs[:some]]

    for one, other in zip(ours(), loop(), strict=False):
        same(name, one, other)
    mine, other = side_by_side(runs, ours, loop)
    each = mine / count, other / some
    row = {"case": name, "runs": runs, "seconds": each[0], "scikit_bio": each[1]}
    return row | {"times": each[1] / each[0], "verified": f"{some} pairs, all of them"}


def long(name: str, device: str, letters: Letters, runs: int) -> Row:
    """Two long sequences, local, affine."""
    pair = [one.decode() for one in letters]

    def ours() -> Any:
        return pysw_cl.skbio.pair_align(*pair, device=device, **LONG)

    return beside(name, runs, ours, lambda: theirs("pair_align")(*pair, **LONG))


def alone(name: str, device: str, n: int) -> Row:
    """The same, each in a process of its own, after a short pair."""
    found: dict[str, list[float]] = {}
    for who in ("ours", "theirs"):
        given = {"bench": str(Path(__file__).parent), "device": device, "n": n, "who": who}
        command = [sys.executable, "-c", CHILD.format(how=LONG, **given)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found[who] = list(map(float, out.split()))
    check(f"{name}: score", found["ours"][0], found["theirs"][0])
    (_, mine, more), (_, other, its) = found["ours"], found["theirs"]
    row = {"case": name, "runs": 1, "seconds": mine, "scikit_bio": other, "times": other / mine}
    return row | {"more_mb": more / 1e6, "its_more_mb": its / 1e6, "verified": "the score"}


def family(count: int, n: int) -> list[str]:
    """Sequences of about n bases that descend from one: 8% of the letters are others, 0.5% are
    missing and 0.5% are there twice."""
    rng = np.random.default_rng([count, n])
    first, found = rng.integers(0, 4, n), []
    for _ in range(count):
        letters = np.where(rng.random(n) < 0.08, rng.integers(0, 4, n), first)
        chance = rng.random(n)
        times = np.where(chance < 0.005, 0, np.where(chance < 0.01, 2, 1))
        text = np.frombuffer(b"ACGT", np.uint8)[np.repeat(letters, times)]
        found.append(text.tobytes().decode())
    return found


def distances(name: str, device: str, how: dict[str, Any], count: int, some: int) -> Row:
    """The distances of all pairs of a family, beside scikit-bio's own of some of its sequences."""
    from pysw_cl.skbio.many import _with_distances

    seqs, its, pairs = family(count, 1500), [], count * (count - 1) // 2

    def loop(*given: Any) -> Any:  # of `multi_align` only the distances, not the merging
        import skbio.alignment._multi as multi

        started = time.perf_counter()
        found = multi._score_dists(*given)
        its.append((time.perf_counter() - started, found))
        raise TimeoutError

    def scikit_bio() -> None:
        try:
            _with_distances(loop)(seqs[:some], **how)
        except TimeoutError:
            return

    scikit_bio()
    seconds, matrix = timed(1, lambda: pysw_cl.skbio.pair_dists(seqs, device=device, **how))
    scikit_bio()
    theirs_each = min(one for one, _ in its) / len(its[0][1])
    part = matrix.data[:some, :some][np.triu_indices(some, 1)]
    check(f"{name}: distances", part.tolist(), its[0][1].tolist())
    cells = sum(map(len, seqs)) ** 2 - sum(len(one) ** 2 for one in seqs)
    row = {"case": name, "runs": 1, "seconds": seconds, "scikit_bio": theirs_each * pairs}
    row["verified"] = f"{len(part)} distances, on which scikit-bio was timed"
    return row | {"times": row["scikit_bio"] / seconds, "gcups": cells / 2 / seconds / 1e9}


Case = tuple[str, Callable[[str], Row], dict[str, float]]


def cases(device: str, short: bool) -> list[Case]:
    """Names, what makes their rows, and their bars."""
    runs, found = (30, 300)[not short], []
    for kind, how in (("affine", AFFINE), ("linear", LINEAR)):
        for paths in (1, 0):
            what = f"{kind}, {'path' if paths else 'score'}"
            given = {**how, "max_paths": paths}
            name = f"two of 150 bases, {what}"
            most = {"of_scikit_bio": 10.0 if short else 3.0}
            found.append((name, lambda name, g=given: single(name, device, g, runs), most))
            count = 2_000 if short else 50_000
            name = f"{count:,} pairs of 150 bases, {what}"
            least = {"times": 3.0 if short else 50.0}
            make = lambda name, g=given, c=count: batch(name, device, g, c, 3 if short else 7)  # noqa: E731
            found.append((name, make, least))
    n = 3_000 if short else 10_000
    least = {"times": 2.0 if short else 150.0}
    for kind, letters in (("related", similar_pair(n)), ("unrelated", random_pair(n, n))):
        name = f"two {kind} of {n // 1000} kb, local, affine"
        make = lambda name, p=letters: long(name, device, p, 3 if short else 9)  # noqa: E731
        found.append((name, make, least))
    name = f"two related of {n // 1000} kb, in a new process"
    found.append((name, lambda name: alone(name, device, n), {"more_mb": 50.0}))
    count, some = (30, 5) if short else (500, 10)
    for kind, how in (("linear", LINEAR), ("affine", AFFINE)):
        name = f"distances of {count} of 1.5 kb, {kind}"
        least = {"times": 3.0 if short else 300.0}
        make = lambda name, h=how: distances(name, device, h, count, some)  # noqa: E731
        found.append((name, make, least))
    return found


def main() -> int:
    """Run the cases; see the module's text."""
    parser = argparse.ArgumentParser(description="the scikit-bio plugin beside scikit-bio")
    parser.add_argument("--short", action="store_true", help="small cases, under half a minute")
    parser.add_argument("--only", default="", help="only the cases whose names hold this text")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, help="where to write the results")
    args = parser.parse_args()
    try:
        import pysw_cl.skbio  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    results, good = [], True
    for name, make, bars in cases(args.device, args.short):
        if args.only not in name:
            continue
        try:
            row = make(name)
        except WrongResult as error:
            print(f"WRONG RESULT: {error}", file=sys.stderr)
            return 1
        words, met = [], True
        for figure, limit in bars.items():
            what, more = FIGURES[figure]
            words.append(f"{'>=' if more else '<='} {limit:g} {what}")
            met &= row[figure] >= limit if more else row[figure] <= limit
        good &= met
        verdict = f"  bar {', '.join(words)}: {'met' if met else 'MISSED'}" if words else ""
        print(line(row) + verdict, flush=True)
        results.append(row | {"bar": ", ".join(words), "met": met})
    import skbio

    from pysw_cl.opencl.device import get_runtime

    info = get_runtime(args.device).info
    write_report(args.json, info, results, scikit_bio=skbio.__version__)
    return 0 if good else 1


def line(row: Row) -> str:
    """A row of the table."""
    figures = [f"{row[name] * 1e3:12,.4f} ms" for name in ("seconds", "scikit_bio")]
    more = f"  {row['more_mb']:.1f} MB ({row['its_more_mb']:.0f})" if "more_mb" in row else ""
    return f"{row['case']:<48} {figures[0]}  scikit-bio {figures[1]}  {row['times']:7.2f} x{more}"


if __name__ == "__main__":
    sys.exit(main())
