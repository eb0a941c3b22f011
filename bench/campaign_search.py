#!/usr/bin/env python3
"""Random searches on one device against `align_many`, score by score.

    python bench/campaign_search.py [--device D] [--seconds N] [--seed S]

Draws queries, databases and scorings so that lengths lie beside what begins or ends something:
lanes, panels, strips, subjects that are too long, scores at the limits of 8, 11 and 16 bits.  Every
score of the engine is compared with that of the same two sequences as a pair.  Hits that are chosen
and ordered by E-value, bit score, identity and coverage are compared with those of a plain program.
Prints the cases by feature; a difference is printed with its seed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from cases import pysw_cl
from scipy.special import log_ndtr

from pysw_cl.api.search_engine import search_engine
from pysw_cl.drivers.options import Resources, SearchOptions
from pysw_cl.engines.search import mixed
from pysw_cl.engines.search.pieces import InPieces
from pysw_cl.scoring.positions import PositionMatrix
from pysw_cl.sequences.sequence_set import SequenceSet

RESIDUES = np.frombuffer(b"ARNDCQEGHILKMFPSTWYVBZX", np.uint8)
#: Query lengths; and tryptophans in a row, which score 11 each.
LENGTHS = (1, 2, 3, 31, 63, 64, 65, 100, 144, 255, 256, 257, 500, 1023, 1024, 1025, 1500, 2300)
RUNS = (*range(9, 14), *range(20, 25), *range(183, 189), *range(2976, 2981))
SCORINGS: tuple[dict[str, Any], ...] = (
    {"sub_score": "BLOSUM62", "gap_cost": (10, 1)},
    {"sub_score": "BLOSUM62", "gap_cost": (10, 1)},
    {"sub_score": "PAM250", "gap_cost": (0, 3)},
    {"sub_score": "BLOSUM45", "gap_cost": (13.5, 0.5)},
)


def draw(rng: np.random.Generator) -> tuple[list[Any], list[Any], dict[str, Any], list[str]]:
    """Queries, subjects, the options of a search, and the features of the case."""
    features, most = [], float(rng.uniform(1, 6))
    options = dict(SCORINGS[rng.integers(len(SCORINGS))])
    if rng.random() < 0.3:
        options |= {"mode": "global", "free_ends": tuple((rng.random(4) < 0.5).tolist())}
    features.append(options.get("mode", "local"))
    alphabet = RESIDUES[: rng.choice([2, 4, 20, 23])]
    m = int(rng.choice(LENGTHS))
    queries = [alphabet[rng.integers(0, len(alphabet), n)] for n in (m, max(1, m // 2), m)]
    count = int(rng.integers(1, 700))
    lengths = np.minimum(rng.lognormal(most, rng.uniform(0.1, 1.5), count).astype(int) + 1, 9000)
    subjects = [RESIDUES[rng.integers(0, 23, n)] for n in lengths]
    for k in range(0, count, 7):
        a, b = sorted(rng.integers(0, m + 1, 2))
        subjects[k] = np.concatenate([subjects[k][:40], queries[0][a:b], subjects[k][:9]])
    if rng.random() < 0.4:
        features.append("runs")
        for k in range(1, count, 11):
            own = np.full(rng.choice(RUNS), ord("W"), np.uint8)
            subjects[k] = np.concatenate([subjects[k][:9], own, subjects[k][:5]])
        queries[2] = np.concatenate([queries[2], np.full(rng.choice(RUNS), ord("W"), np.uint8)])
    features.append("one subject" if count == 1 else "few" if count < 64 else "many")
    return queries, sorted(subjects, key=len, reverse=True), options, features


def of_positions(rng: np.random.Generator, query: Any) -> PositionMatrix:
    """A position matrix whose scores favour the letters of a query, perhaps beyond 8 bits."""
    scores = rng.integers(-6, 4, (len(query), len(RESIDUES)))
    codes = [RESIDUES.tolist().index(one) for one in query.tolist()]
    scores[np.arange(len(query)), codes] += 8
    return PositionMatrix(scores * int(rng.choice([1, 1, 30])), RESIDUES.tobytes().decode())


def wrong(rng: np.random.Generator, device: str, features: Counter[str]) -> int:
    """Draw and check a case; the number of wrong scores."""
    queries, subjects, options, names = draw(rng)
    mixed.LONG_SHARE = float(rng.choice([0.8, 0.01, 0.001]))
    how, matrix = SearchOptions(**options), None
    if rng.random() < 0.2:
        names.append("position matrix")
        matrix, queries = of_positions(rng, queries[0]), queries[:1]
        options["gap_cost"] = gaps = tuple(map(int, options["gap_cost"]))
        del options["sub_score"]
        how = replace(how, sub_score=matrix.scoring(gaps), gap_cost=gaps)
    engine = search_engine(how, Resources(device=device), matrix)
    if isinstance(engine, InPieces):
        engine.engine.streams = int(rng.choice([1, 8, 64, engine.engine.streams]))
    held = engine.hold(SequenceSet.from_sequences(subjects))
    bad = 0
    for query, found in zip(queries, engine.scores(queries, held, lambda _: None), strict=True):
        pairs = [(matrix or query.tobytes(), one.tobytes()) for one in subjects]
        rows = pysw_cl.align_many(pairs, device=device, **options)
        bad += int((np.rint(rows["score"] * how.scoring.scale) != found).sum())
    features.update([*names, *engine.cells])
    engine.close()
    return bad


def log_evalue(score: float, m: int, n: int, letters: int) -> float:
    """The logarithm of the E-value with BLOSUM62, 10 + k, by the formulas of Park et al. (2012)."""
    rate, k, g = 0.243, 0.024, 2 * (10 + 1)
    a, b = 2.5, g * (0.7916 - 2.5)
    alpha, beta = 83.1787, g * (4.96466 - 83.1787)
    sigma, tau = 85.0656, g * (4.96466 - 85.0656)
    spread = math.sqrt(max(2 * alpha / rate, alpha * score + beta))
    means, shares = 0.0, 0.0  # logarithms
    for length in (m, n):
        z = (length - (a * score + b)) / spread
        often = float(log_ndtr(z))
        density = -z * z / 2 - math.log(2 * math.pi) / 2
        if z > -5:
            room = math.log(z * math.exp(often) + math.exp(density))
        else:
            room = density + math.log1p(z * math.exp(often - density))
        means += math.log(spread) + room
        shares += often
    together = math.log(max(2 * sigma / rate, sigma * score + tau))
    area = float(np.logaddexp(means, together + shares))
    return area + math.log(k * letters / n) - rate * score


def wrong_hits(rng: np.random.Generator, device: str, features: Counter[str]) -> int:
    """Draw a search whose hits are chosen, and check it; the number of wrong lists."""
    queries, subjects, *_ = draw(rng)
    subjects = [subjects[k] for k in rng.permutation(len(subjects))]
    scoring: dict[str, Any] = {"sub_score": "BLOSUM62", "gap_cost": (10, 1), "device": device}
    letters = int(rng.choice([sum(map(len, subjects)), 10**6, 10**9]))
    limits: dict[str, Any] = {"top": int(rng.integers(1, 60)) if rng.random() < 0.8 else None}
    for name, values in (
        ("max_evalue", (1e-30, 1e-3, 1, 100)), ("min_bits", (15, 25, 60)),
        ("min_identity", (0.3, 0.5, 1)), ("min_coverage", (0.2, 0.7)), ("min_score", (20, 60)),
    ):  # fmt: skip
        if rng.random() < 0.3:
            limits[name] = float(rng.choice(values))
    features.update(["hits", *limits])
    asked = {**limits, "output": "path", "db_letters": letters}
    found, bad = list(pysw_cl.search(queries, subjects, **scoring, **asked)), 0
    for query, hits in zip(queries, found, strict=True):
        rows = pysw_cl.align_many(
            [(query.tobytes(), one.tobytes()) for one in subjects], output="path", **scoring
        )
        wanted = []
        for number, (row, one) in enumerate(zip(rows, subjects, strict=True)):
            log = log_evalue(row["score"], len(query), len(one), letters)
            bits = (0.243 * row["score"] - math.log(0.024)) / math.log(2)
            if (
                row["score"] >= limits.get("min_score", 1)
                and log <= math.log(limits.get("max_evalue", 1e300)) + 1e-12
                and bits >= limits.get("min_bits", -math.inf)
                and row["matches"] >= limits.get("min_identity", 0) * row["columns"]
                and row["query_end"] - row["query_start"]
                >= limits.get("min_coverage", 0) * len(query)
            ):
                wanted.append((log, -row["score"], number))
        wanted = sorted(wanted)[: limits["top"]]
        same = [hit.number for hit in hits] == [number for *_, number in wanted]
        same = same and all(
            math.isclose(hit.expect or 0, math.exp(log), rel_tol=1e-6, abs_tol=1e-300)
            for hit, (log, *_) in zip(hits, wanted, strict=True)
        )
        bad += not same
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    features, failed, number = Counter[str](), 0, 0
    until = time.monotonic() + args.seconds
    while time.monotonic() < until:
        check = wrong if number % 4 else wrong_hits
        bad = check(np.random.default_rng([args.seed, number]), args.device, features)
        if bad:
            failed += 1
            print(f"seed {args.seed}, case {number}: {bad} are wrong", flush=True)
        number += 1
    for name, count in sorted(features.items()):
        print(f"{name:24} {count}")
    print(f"{number} cases, {failed} wrong")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
