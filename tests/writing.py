"""What tests of files share: random results of every kind, and their text in a format."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

import pysw_cl

PLAN = {"engine": "reference"}
AMINO = "ARNDCQEGHILKMFPSTWYV"
PROTEIN: dict[str, Any] = {"sub_score": "BLOSUM62", "gap_cost": (9.5, 0.5)}


def named(name: str, text: str, description: str = "") -> pysw_cl.Sequence:
    """A sequence with a name."""
    return pysw_cl.Sequence(name, description, np.frombuffer(text.encode(), np.uint8))


def random_text(rng: np.random.Generator, letters: str, least: int, most: int) -> str:
    return "".join(rng.choice(list(letters), int(rng.integers(least, most))))


def random_pairs(
    count: int, letters: str = "ACGT", seed: int = 5
) -> list[tuple[pysw_cl.Sequence, pysw_cl.Sequence]]:
    """Relatives with substitutions and gaps, each with a name of its own; some unrelated."""
    rng, found = np.random.default_rng(seed), []
    for k in range(count):
        core = random_text(rng, letters, 5, 60)
        changed = [c if rng.random() > 0.1 else str(rng.choice(list(letters))) for c in core]
        at = int(rng.integers(0, len(core)))
        changed[at : at + int(rng.integers(0, 3))] = list(random_text(rng, letters, 0, 4))
        ends = [random_text(rng, letters, 0, 9) for _ in range(4)]
        query = ends[0] + "".join(changed) + ends[1]
        target = ends[2] + core + ends[3]
        if k % 7 == 6:
            target = random_text(rng, letters, 1, 30)
        found.append((named(f"q{k}", query or "A", f"read {k}"), named(f"t{k}", target)))
    return found


def random_results(count: int, letters: str = "ACGT", **asked: Any) -> list[pysw_cl.Alignment]:
    """Local and global results on both strands, gap costs low enough for gaps."""
    rng, found = np.random.default_rng(8), []
    for query, target in random_pairs(count, letters):
        how: dict[str, Any] = {"mode": ["local", "global"][rng.integers(2)], "gap_cost": (1, 1)}
        if letters == "ACGT":
            how["strand"] = ["plus", "minus", "both"][rng.integers(3)]
        if how["mode"] == "global":
            how["free_ends"] = [False, True, (True, False)][rng.integers(3)]
        found.append(pysw_cl.align(query, target, plan=PLAN, **{**how, **asked}))
    return found


def written(results: Any, format: str, **how: Any) -> str:
    """The text of a file."""
    stream = io.StringIO()
    pysw_cl.write(results, stream, format, **how)
    return stream.getvalue()
