"""The verification of SSCA#1: of inserted pairs, scores, matrices and multiple alignments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..api.align import align
from ..api.many import align_many
from .kernels import Rules

#: So many costs of kernel 4 are compared with those of the engine that NumPy computes.
SAMPLE, REFERENCE = 100, {"engine": "reference"}


def faults(run: Any, rules: Rules, device: Any) -> list[str]:
    """All that is wrong with a `Run`, in words, and the pairs that its sequences no longer hold."""
    found = [*_pairs(run)] if 2 in run.seconds else []
    for number, one in enumerate(run.alignments):
        if (score := one.rescore()) != one.score:
            found.append(f"alignment {number} scores {score}, not {one.score}")
    if len(run.places):
        names = run.places[["query", "target_start", "target_end"]].tolist()
        pairs = [(run.queries[k], run.data.main[start:end]) for k, start, end in names]
        scores = align_many(pairs, mode="global", device=device, **rules.scoring)["score"]
        wrong = np.flatnonzero(scores != run.places["score"]).tolist()
        found += [f"place {k} scores {scores[k]}, not {run.places['score'][k]}" for k in wrong]
    return [*found, *_sets(run, rules)]


def _pairs(run: Any) -> Iterator[str]:
    """Each pair that is lost, or not inside an alignment that scores as much at least."""
    for pair in run.data.pairs:
        start, begin = run.data.find(pair)
        end, stop = start + len(pair.main), begin + len(pair.match)
        if min(start, begin) < 0:
            yield f"the pair {pair.main} is lost: it was overwritten"
        elif not any(
            one.target_start <= start < end <= one.target_end
            and one.query_start <= begin < stop <= one.query_end
            and one.score >= pair.score
            for one in run.alignments
        ):
            yield f"the pair {pair.main} is not found"


def _sets(run: Any, rules: Rules) -> Iterator[str]:
    for number, (some, costs) in enumerate(zip(run.sets, run.costs, strict=False)):
        if (costs != costs.T).any() or np.diag(costs).any():
            yield f"set {number}: its matrix is not symmetric, or not 0 on its diagonal"
        for order, rows in run.stars[number : number + 1]:
            texts = [some[k].tobytes().decode() for k in order]
            same = texts == [row.replace("-", "") for row in rows] and len({*order}) == len(some)
            if not same or costs.sum(axis=1).min() != costs[order[0]].sum():
                yield f"set {number}: its rows are not its sequences, or its centre another one"
    random = np.random.default_rng(1)
    for number in random.integers(len(run.costs), size=SAMPLE).tolist() if len(run.costs) else ():
        x, y = random.integers(len(run.sets[number]), size=2).tolist()
        pair = (run.sets[number][k] for k in (x, y))
        wanted = -align(*pair, mode="global", output="score", plan=REFERENCE, **rules.costs).score
        if (found := run.costs[number][x, y]) != wanted:
            yield f"set {number}: sequences {x} and {y} cost {wanted}, not {found}"
