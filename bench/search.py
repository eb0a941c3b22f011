#!/usr/bin/env python3
"""Speed of a database search: prints a table, writes JSON, verifies every run's result.

    python bench/search.py [--short] [--db FILE] [--queries FILE] [--device auto] [--json FILE]

The queries, by default the 20 of CUDASW++'s papers, are searched in a database, by default a sample
of Swiss-Prot; both are in the folder that PYSW_CL_TEST_DATA names.  BLOSUM62, a gap of k letters
costs 11 + k.  GCUPS are the cells of all queries over the time of one `search`, ten best hits with
their ends, from the opened database to the last hit; or of a `Searcher` that has searched before,
whose database is on the device.  In the same run, where they are found: pyopal and ssearch36 (by
PATH or --ssearch) with as many threads as there are cores.  All hits have to have the scores of
pyopal's ten best; a sample of all scores is compared with parasail's scan, too.  Of a search with a
prefilter it is said which share of the hits of one without it has.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import Row, WrongResult, pysw_cl, write_report

from pysw_cl.opencl.device import get_runtime

DATA = Path(os.environ.get("PYSW_CL_TEST_DATA", ".")) / "protein"
GAPS = (11, 1)
TOP = 10
PYOPAL, FILTERED = "pyopal", "Searcher with prefilter"
#: Subjects of each query whose scores are compared with parasail's.
SAMPLE = 40
#: Letters that pyopal's alphabet and parasail's lack, and what BLAST takes in their place.
STAND_INS = str.maketrans("UO", "CX")


def once(call: Callable[[], Any]) -> tuple[float, Any]:
    """Wall seconds of a call, and what it gives."""
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def pyopal_search(queries: list[str], targets: list[str], threads: int) -> Callable[[], Any]:
    """A search by pyopal, which gives all scores of each query.  It gets the database in parts, as
    many as keep all threads busy."""
    import pyopal

    database = pyopal.Database(targets)
    aligner = pyopal.Aligner("BLOSUM62", gap_open=sum(GAPS), gap_extend=GAPS[1])
    cuts = np.linspace(0, len(targets), 8 * threads + 1).astype(int)
    spans = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))

    def part(query: str, span: tuple[int, int]) -> list[int]:
        found = aligner.align(query, database, mode="score", start=span[0], end=span[1])
        return [one.score for one in found]

    def every() -> list[list[int]]:
        with ThreadPoolExecutor(threads) as pool:
            asked = [[pool.submit(part, query, span) for span in spans] for query in queries]
            return [[score for one in some for score in one.result()] for some in asked]

    return every


def ssearch(program: str, queries: Path, targets: list[str], threads: int) -> None:
    """A search by ssearch36, which reads its library."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.fa"
        library.write_text("".join(f">s{k}\n{one}\n" for k, one in enumerate(targets)))
        asked = f"-q -s BP62 -f -{GAPS[0]} -g -{GAPS[1]} -z 0 -d 0 -b {TOP} -T {threads}".split()
        command = [program, *asked, str(queries), str(library)]
        done = subprocess.run(command, capture_output=True, check=True)
    if b"The best scores are" not in done.stdout:
        raise WrongResult("ssearch36 has found nothing")


def verify(found: Any, queries: list[Any], db: Any, every: Any) -> str:
    """Raise WrongResult for wrong hits; says how they were compared.  ``every``: all scores of each
    query, or None."""
    how = []
    if every is not None:
        for query, hits, scores in zip(queries, found, every, strict=True):
            order = np.lexsort((np.arange(len(scores)), -np.array(scores)))[:TOP].tolist()
            if [(hit.number, hit.score) for hit in hits] != [(k, scores[k]) for k in order]:
                raise WrongResult(f"{query.name}: the hits are not pyopal's")
        how.append("all hits: pyopal")
    try:
        import parasail
    except ImportError:
        return "; ".join(how)
    rng = np.random.default_rng(1)
    sample = [db[int(k)] for k in np.sort(rng.choice(len(db), min(len(db), SAMPLE), False))]
    asked: dict[str, Any] = {"gap_cost": GAPS, "output": "score", "top": None, "min_score": 0}
    asked["evalues"] = "none"
    for query, hits in zip(queries, pysw_cl.search(queries, sample, **asked), strict=True):
        for hit in hits:
            letters = str(hit.target).translate(STAND_INS)
            wanted = parasail.sw_scan_32(str(query), letters, sum(GAPS), 1, parasail.blosum62)
            if hit.score != wanted.score:
                raise WrongResult(f"{query.name} x {hit.target.name}: {hit.score}")
    return "; ".join([*how, f"{SAMPLE} scores a query: parasail's scan"])


def recall(found: list[Any], whole: list[Any]) -> dict[str, Any]:
    """The shares of the hits of a whole search that a heuristic one has, of all and of those with
    an E-value of at most 0.001.  Raises WrongResult for another score."""
    scores = [{hit.number: hit.score for hit in hits} for hits in found]
    hits = [
        (hit, own.get(hit.number)) for own, some in zip(scores, whole, strict=True) for hit in some
    ]
    if any(score not in (None, hit.score) for hit, score in hits):
        raise WrongResult("the prefilter changes a score")
    sure = [score is not None for hit, score in hits if hit.expect <= 1e-3]
    shares = sum(score is not None for _, score in hits) / len(hits), sum(sure) / len(sure)
    said = f"{shares[0]:.1%} of the hits, {shares[1]:.1%} of those with E at most 0.001"
    return {"recall": shares, "verified": said}


def calls_of(
    args: argparse.Namespace, queries: list[Any], db: Any, searcher: Any
) -> dict[str, Callable[[], Any]]:
    """What is timed, by its name."""
    threads = os.cpu_count() or 1
    targets = [str(one).translate(STAND_INS) for one in db]
    asked: dict[str, Any] = {"top": TOP, "gap_cost": GAPS, "device": args.device}
    asked["evalues"] = "none"  # by which the others do not order
    calls: dict[str, Callable[[], Any]] = {
        "search, ends": lambda: list(pysw_cl.search(queries, db, **asked)),
        "search, path": lambda: list(pysw_cl.search(queries, db, output="path", **asked)),
        "Searcher, ends": lambda: list(searcher.search(queries, top=TOP, evalues="none")),
        FILTERED: lambda: list(searcher.search(queries, top=TOP, prefilter="kmer")),
    }
    with suppress(ImportError):
        calls[f"{PYOPAL}, {threads} threads"] = pyopal_search(
            list(map(str, queries)), targets, threads
        )
    if (program := shutil.which(args.ssearch)) is not None:
        call = partial(ssearch, program, args.queries, targets, threads)
        calls[f"ssearch36, {threads} threads"] = call
    return calls


def cases(args: argparse.Namespace) -> Iterator[Row]:
    """A row for each way to search, and for each peer, which take turns."""
    queries = list(pysw_cl.read_sequences(args.queries))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.pswdb"
        made = lambda: pysw_cl.Database.create(path, pysw_cl.read_sequences(args.db))  # noqa: E731
        seconds, db = once(made)
        yield {"case": "make the database", "seconds": seconds, "bytes": path.stat().st_size}
        seconds, db = once(lambda: pysw_cl.Database(path))
        yield {"case": "open it", "seconds": seconds}
        with pysw_cl.Searcher(db, gap_cost=GAPS, device=args.device) as searcher:
            calls = calls_of(args, queries, db, searcher)
            times: dict[str, list[float]] = {name: [] for name in calls}
            found: dict[str, Any] = {}
            for run in range(2 if args.short else 4):
                for name, call in calls.items():
                    seconds, found[name] = once(call)
                    times[name] += [seconds] * bool(run)  # the first may build kernels
        every = next((scores for name, scores in found.items() if name.startswith(PYOPAL)), None)
        cells = sum(map(len, queries)) * db.total_letters
        for name, some in times.items():
            row = {"case": name, "seconds": median(some), "all_seconds": some}
            row["gcups"] = cells / row["seconds"] / 1e9
            if name == FILTERED:
                row |= recall(found[name], list(searcher.search(queries, top=TOP)))
            elif "search," in name or "Searcher" in name:
                row["verified"] = verify(found[name], queries, db, every)
            yield row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true", help="a smaller database, one run each")
    parser.add_argument("--db", type=Path)
    parser.add_argument("--queries", type=Path, default=DATA / "queries_cudasw20.fasta")
    parser.add_argument("--ssearch", default="ssearch36")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    size = "small" if args.short else "sample"
    args.db = args.db or DATA / f"swissprot201401_{size}.fasta.gz"
    warnings.simplefilter("ignore", pysw_cl.errors.LettersWarning)
    info = get_runtime(args.device).info
    print(f"pysw_cl {pysw_cl.__version__} on {info}; {args.queries.name} in {args.db.name}")
    rows, failed = [], False
    try:
        for row in cases(args):
            rows.append(row)
            speed = f"{row['gcups']:9.2f} GCUPS" if "gcups" in row else ""
            print(f"{row['case']:48} {row['seconds']:9.3f} s {speed}  {row.get('verified', '')}")
            sys.stdout.flush()
    except WrongResult as error:
        print(f"WRONG: {error}")
        failed = True
    write_report(args.json, info, rows)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
