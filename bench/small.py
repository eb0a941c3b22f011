"""Calls beside others that take turns with them, for bench/pair.py: small matrices beside
scikit-bio, thin ones beside their transposes; and many paths of one pair."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from cases import Row, check, protein_pair, pysw_cl, random_pair, timed

from pysw_cl.scoring.matrices import load_matrix

#: (unit, copies) of a repeat -> how many alignments of at least 5 it has with itself, and their
#: best and last score: found once by tiles and once by the reference engine.
EXPECTED_REPEAT = {(8, 150): (299, 1200, 8)}


def related(pair: tuple[bytes, bytes]) -> tuple[str, str]:
    """The pair with the first half of the query in the middle of the target."""
    query, target = (letters.decode() for letters in pair)
    half, at = len(query) // 2, len(target) // 4
    return query, target[:at] + query[:half] + target[at + half :]


#: A comparison is measured until so many times in a row gave no less ratio, at most so often, and
#: with seconds between: a call that wakes another thread takes twice as long while the host's other
#: guests use that core, one on its own thread does not.
TIMES, MOST, PAUSE = 8, 40, 0.25


def side_by_side(
    runs: int, ours: Callable[[], Any], theirs: Callable[[], Any]
) -> tuple[float, float]:
    """The median seconds of two calls that take turns, so that both meet the same disturbances: of
    several parts the one with the least ratio."""
    parts: list[tuple[float, float]] = []
    best = 0
    while len(parts) < min(best + 1 + TIMES, MOST):
        time.sleep(PAUSE if parts else 0)
        parts.append(_in_turns(max(3, runs // 4), ours, theirs))
        best = min(range(len(parts)), key=lambda k: parts[k][0] / parts[k][1])
    return parts[best]


def _in_turns(runs: int, ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """The median seconds of two calls that take turns."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for call, taken in zip((ours, theirs), seconds, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return median(seconds[0]), median(seconds[1])


def beside_transpose(name: str, device: str, m: int, n: int, output: str, runs: int) -> Row:
    """A random pair, and the same with query and target exchanged."""
    query, target = random_pair(m, n)

    def ours() -> Any:
        return pysw_cl.align(query, target, output=output, device=device)

    def transposed() -> Any:
        return pysw_cl.align(target, query, output=output, device=device)

    found = ours()
    check(f"{name}: score of the transpose", found.score, transposed().score)
    own, other = _in_turns(runs, ours, transposed)
    row: Row = {"case": name, "runs": runs, "cells": m * n, "seconds": own}
    row |= {"gcups": m * n / own / 1e9, "of_transpose": own / other}
    return row | {"verified": "the score of the transpose", "execution": str(found.execution)}


def beside_scikit_bio(
    name: str, device: str, m: int, n: int, output: str, protein: bool, runs: int
) -> Row:
    """One pair, and scikit-bio's `pair_align` in the same run: score, or score and path."""
    letters = (protein_pair(max(m, n)), random_pair(m, n))[not protein]
    query, target = related((letters[0][:m], letters[1][:n]))
    how: dict[str, Any] = {"mode": "local", "sub_score": (1, -3), "gap_cost": (3, 2)}
    if protein:
        how |= {"sub_score": "BLOSUM62", "gap_cost": (11, 1)}

    def ours() -> Any:
        return pysw_cl.align(query, target, output=output, device=device, **how)

    found = ours()
    again = pysw_cl.align(query, target, plan={"engine": "reference"}, **how)
    check(f"{name}: score of the reference engine", found.score, again.score)
    row: Row = {"case": name, "runs": runs, "cells": found.stats.cells}
    row["verified"] = "the reference engine's " + ("path" if output == "path" else "score")
    if output == "path":
        check(f"{name}: path of the reference engine", found.cigar, again.cigar)
    try:
        from skbio.alignment import pair_align
    except ImportError:
        row["seconds"] = timed(runs, ours)[0]
    else:
        paths = 1 if output == "path" else 0
        theirs = pair_align(query, target, max_paths=paths, **how)
        check(f"{name}: scikit-bio's score", theirs.score, found.score)
        row["verified"] += ", scikit-bio's score"
        mine, its = side_by_side(
            runs, ours, lambda: pair_align(query, target, max_paths=paths, **how)
        )
        row |= {"seconds": mine, "scikit_bio": its, "of_scikit_bio": mine / its}
    row["gcups"] = m * n / row["seconds"] / 1e9
    return row


def with_aligner(name: str, device: str, output: str, given: str, runs: int) -> Row:
    """One pair by an `Aligner`, and by `align` in the same run.  ``given``: how the scoring is,
    "numbers", or "matrix" for an array."""
    letters = (protein_pair(200), random_pair(150, 200))[given == "numbers"]
    query, target = related((letters[0][:150], letters[1]))
    how: dict[str, Any] = {"device": device}
    if given == "matrix":
        values, alphabet = load_matrix("BLOSUM62")
        how |= {"sub_score": (values, alphabet), "gap_cost": (11, 1)}
    aligner = pysw_cl.Aligner(**how)

    def ours() -> Any:
        return aligner.align(query, target, output=output)

    def theirs() -> Any:
        return pysw_cl.align(query, target, output=output, **how)

    check(f"{name}: the result of align", ours() == theirs(), True)
    mine, its = side_by_side(runs, ours, theirs)
    found = ours()
    return {
        "case": name,
        "runs": runs,
        "cells": found.stats.cells,
        "verified": "the result of align",
        "seconds": mine,
        "align": its,
        "of_align": mine / its,
        "gcups": len(query) * len(target) / mine / 1e9,
    }


def repeat_top(name: str, device: str, unit: int, copies: int, runs: int) -> Row:
    """All alignments of a tandem repeat with itself."""
    rng = np.random.default_rng(3)
    letters = np.frombuffer(b"ACGT", np.uint8)[np.resize(rng.integers(0, 4, unit), unit * copies)]
    text = letters.tobytes()
    seconds, found = timed(
        runs, lambda: pysw_cl.align_top(text, text, k=1000, min_score=5, device=device)
    )
    got = len(found), found[0].score, found[-1].score
    check(name, got, EXPECTED_REPEAT[unit, copies])
    pairs: set[tuple[int, int]] = set()
    for one in found:
        check(f"{name}: a path's score", one.rescore(), one.score)
        i, j = one.query_start, one.target_start
        for op, length in one.runs:
            if op in "=X":
                new = {(i + k, j + k) for k in range(length)}
                check(f"{name}: pairs aligned twice", len(new & pairs), 0)
                pairs |= new
            i, j = i + length * (op != "D"), j + length * (op != "I")
    cells = sum(one.stats.total_cells for one in found)
    return {
        "case": name,
        "runs": runs,
        "seconds": seconds,
        "gcups": cells / seconds / 1e9,
        "verified": "stored scores; paths re-scored, no pair aligned twice",
    }
