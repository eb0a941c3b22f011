"""A smaller case that goes wrong in the same way: one thing less at a time, for as long as there is
time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from campaign_run import Case

#: How often a case is tried before it counts as right: some faults are races.
TRIES = 2


def shrunk(case: Case, wrong: Callable[[Case], bool], seconds: float) -> Case:
    """The smallest case found in about so many ``seconds`` for which ``wrong`` still holds."""
    until = time.monotonic() + seconds
    smaller: Case | None = case
    while smaller is not None:
        case = smaller
        smaller = None
        for one in _less(case):
            if time.monotonic() > until:
                return case
            if any(wrong(one) for _ in range(TRIES)):
                smaller = one
                break
    return case


def _less(case: Case) -> Iterator[Case]:
    """Cases with one thing less, large things first."""
    count = len(case.pairs)
    for part in (count // 2, count // 4, 1):
        if 0 < part < count:
            for start in range(0, count, part):
                yield replace(case, pairs=case.pairs[:start] + case.pairs[start + part :])
    for k in range(len(case.stops)):
        yield replace(case, stops=case.stops[:k] + case.stops[k + 1 :])
    for name in ("tuning", "traits", "plan"):
        for key in getattr(case, name):
            yield case.without(name, key)
    for key in case.options:
        if key not in ("sub_score", "gap_cost", "mode", "output", "disk_size"):
            yield case.without("options", key)
    if count == 1 and not any("range" in key for key in case.options):
        yield from _shorter(case)


def _shorter(case: Case) -> Iterator[Case]:
    """The one pair with a part of one sequence cut out."""
    for share in (2, 4, 8, 32):
        for side in (0, 1):
            letters = case.pairs[0][side]
            part = max(1, len(letters) // share)
            if part == len(letters):
                continue
            for start in range(0, len(letters), part):
                pair = list(case.pairs[0])
                pair[side] = letters[:start] + letters[start + part :]
                if pair[side]:
                    yield replace(case, pairs=[pair])
