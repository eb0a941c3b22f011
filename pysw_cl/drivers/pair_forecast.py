"""What a comparison of two given sequences does, foreseen by a quick look at them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from ..planning.model.pruned_wave import sweep_share
from ..planning.model.runs import Setting, sweep_of
from ..planning.model.similar import SimilarPath, may_prune, swept_again
from ..planning.model.times import Name
from ..sequences.alphabet import COMPLEMENT, is_nucleotide, translated
from ..sequences.coordinates import Frame
from ..sequences.resemblance import Resemblance, resemblance

#: Matrices of fewer cells take less time than a look.
LOOKED_CELLS = 1 << 22


@dataclass(frozen=True)
class PairForecast:
    """What the sweeps of a pair take, and what its traceback does."""

    #: Time on the device, as a share of that of one sweep of all cells.
    share: float = 1.0
    #: Strands that are swept.
    sweeps: int = 1
    #: Counts of the traceback.
    path: Counter[Name] = field(default_factory=Counter)
    #: What the sequences have in common; None: nothing, or nobody looked.
    found: Resemblance | None = None


def pair_forecast(
    setting: Setting, frame: Frame, both: bool, path: bool, prune: bool
) -> PairForecast:
    """The forecast for the letters of a frame.  ``both``: are both strands compared, ``path``: is
    the path wanted, ``prune``: may cells be skipped?"""
    m, n = frame.shape
    looks = [_look(setting, frame, minus) for minus in _strands(frame, both, m * n)]
    best = max(looks, key=_score, default=None)
    found = None if best is None else best[0]
    route = SimilarPath.nowhere(m, n, setting.scoring) if best is None else best[1]
    if found is not None:
        setting = replace(setting, cuts_squares=False)
    work, share = sweep_of(setting, m, n), 1.0 + both
    if prune and setting.local and may_prune(work):
        share = sweep_share(setting, work, route)
        if both:  # the other strand is searched for more than this score
            other = SimilarPath.nowhere(m, n, setting.scoring)
            share += sweep_share(setting, work, other, route.score)
    counts: Counter[Name] = Counter()
    if path and work.strips:
        extent = route.extent if setting.local else (float(m), float(n))
        counts = swept_again(setting, m, n, extent)
    return PairForecast(share, 1 + both, counts, found)


def _strands(frame: Frame, both: bool, cells: int) -> list[bool]:
    """The strands that are looked at: is it the reverse complement?"""
    if cells < LOOKED_CELLS:
        return []
    return [False, True] if both else [frame.minus]


def _look(setting: Setting, frame: Frame, minus: bool) -> tuple[Resemblance, SimilarPath] | None:
    """What the letters of a strand have in common, and the path that this probably gives."""
    query, target = frame.compared
    if minus:
        query = translated(COMPLEMENT, np.ascontiguousarray(query[::-1]))
    found = resemblance(query, target, is_nucleotide(setting.scoring.letters))
    if found is None:
        return None
    return found, SimilarPath.of(found, *frame.shape, setting.scoring, setting.local)


def _score(look: tuple[Resemblance, SimilarPath] | None) -> float:
    """The score that a look foresees."""
    return -np.inf if look is None else look[1].score
