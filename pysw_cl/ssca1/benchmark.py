"""A run of SSCA#1: its sequences, its kernels one after the other, and what is said of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from ..errors import InputError, choice, flag, items, shown, whole_number
from .codons import printed
from .generators import SEEDS, Data, ornl, paper, spec
from .kernels import RULES, kernel_1, kernel_2, kernel_3, kernel_4, kernel_5
from .verification import faults

#: The published seeds; the codons that ORNL's pairs add to the length of a scale; and bytes that a
#: letter of a sequence takes while it is made and compared.
SEED, ADDED, BYTES = {"ornl": 2613174141, "spec": 1, "paper": 1}, 78, 48
HEAD = """
Starting   Amino     Codon           Ending
position   acids     bases           position
"""
PLACES = "target_start", "target_end", "query_start", "query_end"


@dataclass(eq=False)
class Run:
    """What a run was, and what its kernels found; what did not run found nothing."""

    variant: str
    seed: int
    data: Data
    #: The seconds of each kernel, by its number; what is wrong, in words (None: nobody looked).
    seconds: dict[int, float] = field(default_factory=dict)
    faults: list[str] | None = None
    #: What `best_ends` and `trace_ends` gave, and `best_fits` for ``queries``, codes of match.
    ends: Any = ()
    alignments: Any = ()
    queries: Any = ()
    places: Any = ()
    #: The bases of each set's sequences, with the costs of all pairs, and stars.
    sets: Any = ()
    costs: Any = ()
    stars: Any = ()

    def compute(self, kernels: int, device: Any) -> None:
        """Run the kernels up to this one.  Sets of fewer than two sequences are left out."""
        rules, data = RULES[self.variant], self.data
        main, match = map(rules.scoring["sub_score"][1].sequence, (data.main, data.match))

        def timed(number: int, kernel: Callable[..., Any], *given: Any) -> Any:
            if number > kernels:
                return ()
            started = time.perf_counter()
            found = kernel(*given, rules, device)
            self.seconds[number] = time.perf_counter() - started
            return found

        self.ends = timed(1, kernel_1, main, match)
        self.alignments = timed(2, kernel_2, main, match, self.ends)
        self.queries = [data.match[one.query_start : one.query_end] for one in self.alignments]
        self.places = timed(3, kernel_3, main, self.queries)
        sets: list[list[Any]] = [[] for _ in self.queries]
        for row in self.places:
            part = data.main[row["target_start"] : row["target_end"]]
            sets[row["query"]].append(rules.bases[part].reshape(-1))
        self.sets = [one for one in sets if len(one) > 1]
        self.costs = timed(4, kernel_4, self.sets)
        self.stars = timed(5, kernel_5, self.sets, self.costs)

    def facts(self) -> dict[str, Any]:
        """The run as JSON can hold it; coordinates are from 0, and ends exclusive."""
        names, data = ("score", *PLACES, "cigar"), self.data
        found: dict[str, Any] = {"variant": self.variant, "seed": self.seed}
        found |= {"main": len(data.main), "match": len(data.match)}
        found["inserted"] = [list(side) for side in data.inserted]
        found["seconds"] = {f"kernel {k}": taken for k, taken in self.seconds.items()}
        found["ends"] = np.asarray(self.ends).tolist()
        found["alignments"] = [{name: getattr(r, name) for name in names} for r in self.alignments]
        return found | {"places": len(self.places), "faults": self.faults}

    def text(self) -> str:
        """The run in words, and its first alignments as the benchmark prints them."""
        sizes = " x ".join(f"{len(side):,}" for side in (self.data.match, self.data.main))
        lines = [f"SSCA#1, variant {self.variant}, seed {self.seed}, match x main: {sizes}"]
        names = "ends", "alignments", "places", "costs", "stars"
        for name, (k, taken) in zip(names, self.seconds.items(), strict=False):
            lines.append(f"kernel {k}: {taken:.3f} s, {name}: {len(getattr(self, name)):,}")
        if results := self.alignments:
            said = f"alignments with scores from {results[0].score} to {results[-1].score}"
            lines.append(f"\nFound {len(results)} acceptable {said}.\n{HEAD}")
        elif 2 in self.seconds:
            lines.append("\nFound no acceptable alignments.")
        for number, one in enumerate(self.alignments[: RULES[self.variant].shown]):
            lines.append(f"alignment {number}, score {one.score}:")
            texts, places = reversed(one.aligned), [getattr(one, name) for name in PLACES]
            for text, start, end in zip(texts, places[::2], places[1::2], strict=True):
                acids, bases = printed(text)
                lines.append(f"{start:7}  {acids}  {bases}  {end - 1:7}")
        if self.faults is not None:
            lines += ["", *(self.faults or ["verified: nothing is wrong"])]
        return "\n".join(lines) + "\n"


def run(
    variant: str = "ornl",
    *,
    scale: int = 22,
    length: int | None = None,
    lengths: tuple[int, int] = (1024, 4_000_000),
    ranks: int = 1,
    seed: int | None = None,
    kernels: int = 5,
    device: Any = "auto",
    verify: bool = False,
) -> Run:
    """Run the SSCA#1 benchmark (Bader et al. 2006) in a ``variant``: docs/ssca1.md says which.

    Each sequence has 2**(scale / 2) codons, and those that are inserted, or ``length``; ``lengths``
    are those of match and main in variant "paper".  ``ranks`` processes of "ornl" make them.
    ``seed``: from 0 to 2**32 - 1, by default the published one.  ``kernels``: the last one that
    runs, 1 to 5.  ``verify``: look for what is wrong (`Run.faults`).  ``device``: as for `align`.

    Raises InputError for values that cannot be, and for sequences that need more memory than there
    is, before they are made."""
    choice(variant, "variant", tuple(RULES))
    flag(verify, "verify")
    whole_number(kernels, "kernels", 1, most=5)
    whole_number(scale, "scale", 2, most=62)
    whole_number(ranks, "ranks", 1)
    most = SEEDS - (12 if variant == "spec" else 1)  # its generators take up to 11 more
    seed = SEED[variant] if seed is None else whole_number(seed, "seed", 0, most=most)
    if length is None:
        length = ceil(2 ** (scale / 2)) + (ADDED if variant == "ornl" else 0)
    both: Any = items(lengths, "lengths") if variant == "paper" else [length, length]
    if len(both) != 2:
        raise InputError(f"lengths are those of match and main, not {shown(lengths)}")
    needed = BYTES * sum(whole_number(one, "length", 1, most=SEEDS) for one in both)
    there = needed  # where the system does not say it
    with suppress(AttributeError, ValueError):
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        sizes = f"{needed / 2**30:,.1f} GiB, and the computer has {there / 2**30:,.1f}"
        raise InputError(f"sequences of {both[0]:,} and {both[1]:,} letters take about {sizes}")
    if variant == "ornl":
        data = ornl(length, seed, ranks)
    else:
        data = spec(length, seed) if variant == "spec" else paper(both, seed)
    made = Run(variant, seed, data)
    made.compute(kernels, device)
    if verify:
        made.faults = faults(made, RULES[variant], device)
    return made
