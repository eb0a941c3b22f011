#!/usr/bin/env python3
"""Are E-values what they say?  Prints tables, writes JSON; exit code 1 where a bar is missed.

    python bench/evalues.py [--queries N] [--db FILE] [--device auto] [--blastp P] [--ssearch P]
                            [--blosum80 FILE]

Fits: lambda and K of scorings of NCBI's table, fitted here to random pairs, beside NCBI's.  BLAST:
every hit of blastp without composition-based statistics, and its E-values.  Shuffled: how many hits
of shuffled sequences of the database have an E-value to 1, and to 0.01; and of random ones with the
letters of all of it.  Sequences of few kinds of letters have more, if only their length counts, as
in BLAST's E-values; not if all scores of the search do.  Times: a search with E-values, coverage
and paths over scores alone; a fit.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from cases import Row, pysw_cl, write_report
from search import STAND_INS

from pysw_cl.api import statistics
from pysw_cl.opencl.device import get_runtime
from pysw_cl.results.formats.writer import expect_text
from pysw_cl.scoring.matrices import AMINO_ACIDS, FREQUENCIES
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.scoring.statistics.published import published

DATA = Path(os.environ.get("PYSW_CL_TEST_DATA", "."))
FITTED = (
    ("BLOSUM62", (11, 1)), ("BLOSUM62", (10, 1)), ("BLOSUM62", (11, 2)), ("BLOSUM62", (7, 2)),
    ("BLOSUM62", (6, 2)), ("PAM30", (9, 1)), ("PAM70", (10, 1)), ("BLOSUM45", (14, 2)),
)  # fmt: skip
#: BLAST's own BLOSUM80 is in half bits, and so is no matrix of this package: its gap costs, lambda
#: and K by blast_stat.c of the NCBI C++ Toolkit.
BLOSUM80 = (10, 1), 0.299, 0.071
#: Kinds of searches: letters, and the options.
KINDS: dict[str, dict[str, Any]] = {
    "protein": {"sub_score": "BLOSUM62", "gap_cost": (11, 1)},
    "own matrix": {"sub_score": "own", "gap_cost": (8, 2)},
    "nucleotide": {"sub_score": (2, -3), "gap_cost": (5, 2)},
    "protein, library": {"sub_score": "BLOSUM62", "gap_cost": (11, 1), "evalues": "library"},
    "global, library": {"sub_score": "BLOSUM62", "gap_cost": (11, 1), "mode": "global",
                        "evalues": "library"},
}  # fmt: skip


def within(value: float, low: float, high: float) -> str:
    return "" if low <= value <= high else f"missed: not from {low:g} to {high:g}"


def fits(device: str, blosum80: Path | None) -> Iterator[Row]:
    """Lambda and K that are fitted, beside NCBI's."""
    residues = dict(zip(AMINO_ACIDS, FREQUENCIES, strict=True))
    tried: list[tuple[Any, tuple[int, int], float, float]] = []
    for name, gaps in FITTED:
        known = published(make_scoring(name, gaps))
        assert known is not None
        tried.append((name, gaps, known.lambda_, known.k))
    if blosum80 is not None:
        tried.append((blosum80, *BLOSUM80))
    for name, gaps, rate, k in tried:
        statistics._known.clear()
        began = time.perf_counter()
        found = pysw_cl.score_statistics(name, gaps, composition=residues, device=device)
        seconds = time.perf_counter() - began
        off = found.lambda_ / rate - 1, found.k / k - 1
        errors = (
            abs(found.lambda_ - rate) / found.lambda_error,
            abs(np.log(found.k / k)) / found.log_k_error,
        )
        good = abs(off[0]) < 0.02 and abs(off[1]) < 0.1 and max(errors) < 3
        yield {
            "case": f"fit {Path(name).name} {gaps[0]} + {gaps[1]}", "seconds": seconds,
            "lambda": found.lambda_, "k": found.k,
            "verified": f"lambda {off[0]:+.1%} ({errors[0]:.1f} standard errors), "
            f"K {off[1]:+.1%} ({errors[1]:.1f}) {'' if good else 'missed'}",
        }  # fmt: skip


def beside_blast(program: str, queries: Path, db: Path, device: str) -> Row:
    """Every hit of blastp is found, with at least its score; E-values of equal scores are equal."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "db.fa"
        targets = list(pysw_cl.read_sequences(db))
        text.write_text("".join(f">s{k}\n{one!s}\n" for k, one in enumerate(targets)))
        names = ["-in", str(text), "-dbtype", "prot", "-out", str(text)]
        subprocess.run([f"{program[:-6]}makeblastdb", *names], check=True, capture_output=True)
        asked = "-comp_based_stats 0 -seg no -evalue 10 -max_target_seqs 100000 -num_threads 2"
        fields = ["-outfmt", "6 qseqid sseqid score evalue bitscore"]
        command = [program, "-query", str(queries), "-db", str(text), *asked.split(), *fields]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wanted: dict[tuple[str, int], tuple[int, str]] = {}
    for line in lines.splitlines():
        query, subject, score, evalue, _ = line.split("\t")
        wanted.setdefault((query, int(subject[1:])), (int(score), evalue))
    some, equal, wrong = list(pysw_cl.read_sequences(queries)), 0, 0
    found = pysw_cl.search(some, targets, top=None, max_evalue=11, output="score", device=device)
    for query, hits in zip(some, found, strict=True):
        own = {hit.number: hit for hit in hits}
        for (name, number), (score, evalue) in wanted.items():
            if name != query.name:
                continue
            hit = own.get(number)
            if hit is None or hit.expect is None or hit.score < score:
                wrong += 1
            elif hit.score == score:
                equal += 1
                wrong += expect_text(hit.expect) != evalue
    said = f"{len(wanted):,} hits, {equal:,} with equal scores; {wrong} differ"
    return {"case": "blastp's hits", "verified": said + (" missed" if wrong else "")}


def beside_ssearch(program: str, queries: Path, db: Path, device: str) -> Row:
    """All scores are those of ssearch36, which has no letters U and O."""
    targets = [str(one).translate(STAND_INS) for one in pysw_cl.read_sequences(db)]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "db.fa"
        text.write_text("".join(f">s{k}\n{one}\n" for k, one in enumerate(targets)))
        asked = f"-q -s BP62 -f -11 -g -1 -E 1e9 -d 0 -b {len(targets)} -T 2".split()
        command = [program, *asked, str(queries), str(text)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    some, wrong = list(pysw_cl.read_sequences(queries)), 0
    found = pysw_cl.search(some, targets, top=None, min_score=0, output="score", device=device)
    for hits, listed in zip(found, lines.split("The best scores are:")[1:], strict=True):
        scores = re.findall(r"^s(\d+) .*\( *\d+\) +(\d+) ", listed.split("\n\n")[0], re.M)
        wanted = {int(number): int(score) for number, score in scores}
        wrong += sum(wanted.get(hit.number) != hit.score for hit in hits)
    said = f"{len(some) * len(targets):,} scores, {wrong} differ"
    return {"case": "ssearch36's scores", "verified": said + (" missed" if wrong else "")}


def should_be(law: Any, sizes: list[int], lengths: Any, most: float) -> float:
    """How many hits of unrelated queries have an E-value of ``most`` or less.  Scores are whole
    numbers, so that is less than ``most`` a query: each subject counts from the score on at which
    its E-value is as low."""
    some, count = np.unique(lengths, return_counts=True)
    letters, scores, every = int(lengths.sum()), np.arange(1.0, 400)[:, None], 0.0
    for m in sizes:
        evalues = law.evalues(scores, m, some, letters)
        first = np.argmax(evalues <= most, 0)
        every += float((evalues[first, np.arange(len(some))] * count * some / letters).sum())
    return every


def shuffled(name: str, options: dict[str, Any], queries: list[Any], db: Any, device: str) -> Row:
    """How many hits of shuffled queries there are with low E-values."""
    rng, given = np.random.default_rng(7), dict(options)
    if given["sub_score"] == "own":
        given["sub_score"] = (np.rint(make_scoring("BLOSUM50").matrix[:20, :20] * 0.8), AMINO_ACIDS)
    some = [rng.permutation(one.read()).tobytes().decode() for one in queries]
    asked = {"top": None, "max_evalue": 1, "output": "score", "device": device}
    began = time.perf_counter()
    found = list(pysw_cl.search(some, db, unknown=unknown_of(given), **asked, **given))
    seconds, said, missed = time.perf_counter() - began, [], ""
    law = None
    if "evalues" not in given:
        searcher = pysw_cl.Searcher(db, unknown=unknown_of(given), device=device, **given)
        law = searcher.statistics(searcher._options)
    lengths = np.array([len(one) for one in db])
    for most in (1, 0.01):
        count = sum((hit.expect or 0) <= most for hits in found for hit in hits)
        sizes = list(map(len, queries))
        wanted = most * len(queries) if law is None else should_be(law, sizes, lengths, most)
        said.append(f"{count} to {most:g} ({wanted:.1f} should be)")
        missed = missed or within(count / wanted, 1 / 1.5, 1.5)
    return {"case": name, "seconds": seconds, "verified": f"{', '.join(said)} {missed}"}


def unknown_of(options: dict[str, Any]) -> str:
    """What other letters are taken as."""
    if isinstance(options["sub_score"], str):
        return "X"
    return "A" if isinstance(options["sub_score"][1], str) else "N"


def times(db: Any, queries: list[Any], device: str) -> Iterator[Row]:
    """A search with E-values, coverage and paths of the ten best hits over scores alone."""
    rounds = []
    with pysw_cl.Searcher(db, gap_cost=(11, 1), device=device) as searcher:
        for _ in range(4):
            own = []
            for asked in (
                {"output": "score", "evalues": "none"},
                {"output": "path", "min_coverage": 0.0},
                {"output": "path"},
            ):
                began = time.perf_counter()
                list(searcher.search(queries, **asked))  # type: ignore[arg-type]
                own.append(time.perf_counter() - began)
            rounds.append(own)
    scores, chosen, paths = (median(one) for one in zip(*rounds[1:], strict=True))
    yield {"case": "scores alone", "seconds": scores}
    yield {"case": "E-values, paths", "seconds": paths, "verified": f"{paths / scores:.2f} times"}
    missed = within(chosen / scores, 0, 1.1)
    said = f"{chosen / scores:.2f} times {missed}"
    yield {"case": "E-values, paths, coverage", "seconds": chosen, "verified": said}


def nucleotides(count: int) -> tuple[list[Any], list[Any]]:
    """Pieces of a genome, as queries and as a database."""
    (genome,) = islice(pysw_cl.read_sequences(DATA / "dna/NC_000913.3.fasta.gz"), 1)

    def cut(of: Any, size: int, count: int) -> list[Any]:
        pieces = np.split(of.letters[: size * count], count)
        return [pysw_cl.Sequence(f"p{k}", "", piece) for k, piece in enumerate(pieces)]

    return cut(genome, 300, count), cut(genome, 2000, 2300)


def cases(args: argparse.Namespace) -> Iterator[Row]:
    """All rows."""
    queries = list(pysw_cl.read_sequences(args.query_file))
    db = pysw_cl.Database.from_sequences(pysw_cl.read_sequences(args.db))
    yield from fits(args.device, args.blosum80)
    if (program := shutil.which(args.blastp)) is not None:
        yield beside_blast(program, args.query_file, args.db, args.device)
    if (program := shutil.which(args.ssearch)) is not None:
        yield beside_ssearch(program, args.query_file, args.db, args.device)
    rng, several = np.random.default_rng(2), list(db)
    every = np.concatenate([one.read() for one in several])
    proteins = [several[k] for k in rng.choice(len(several), args.queries)]
    usual = [pysw_cl.Sequence("", "", rng.choice(every, len(one))) for one in proteins]
    pieces, genome = nucleotides(args.queries)
    for kind, options in KINDS.items():
        own, targets = (pieces, genome) if kind == "nucleotide" else (proteins, db)
        yield shuffled(f"shuffled, {kind}", options, own, targets, args.device)
    for kind in ("protein", "own matrix"):
        name = f"usual composition, {kind}"
        yield shuffled(name, KINDS[kind], usual, db, args.device)
    yield from times(db, queries, args.device)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--query-file", type=Path, default=DATA / "protein/queries_cudasw20.fasta")
    parser.add_argument("--db", type=Path, default=DATA / "protein/swissprot201401_small.fasta.gz")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--blastp", default="blastp")
    parser.add_argument("--ssearch", default="ssearch36")
    parser.add_argument("--blosum80", type=Path, help="BLAST's matrix (Debian: ncbi-data)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYSW_CL_PROFILES"] = folder
        rows = []
        for row in cases(args):
            seconds = f"{row['seconds']:9.3f} s" if "seconds" in row else " " * 11
            print(f"{row['case']:28}{seconds}  {row.get('verified', '')}", flush=True)
            rows.append(row)
    if args.json is not None:
        write_report(args.json, get_runtime(args.device).info, rows)
    return int(any("missed" in str(row.get("verified")) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
