"""Refuses scorings that are well-formed, but hardly what anybody means."""

from __future__ import annotations

from typing import Any

from ..errors import ScoringError, shown
from .arguments import match_mismatch
from .scoring import Scoring

_ANYWAY = "allow_odd_scoring=True takes it as it is"


def check_sense(sub_score: Any, scoring: Scoring, mode: str) -> None:
    """Raise ScoringError for a scoring that makes no sense in a mode.

    ``sub_score``: what the user gave; ``scoring``: what became of it.  In local mode some score has
    to be positive, or the best alignment is always the empty one.  A mismatch above 0 is a penalty
    with the wrong sign: minimap2 and bwa take penalties as positive numbers, this package adds
    scores.  In global mode scores may have any sign, as in edit distances, but a mismatch must not
    score more than a match.
    """
    pair = match_mismatch(sub_score)
    if mode == "local":
        if pair is not None and pair[1] > 0:
            raise ScoringError(
                f"a mismatch scores {shown(pair[1])}: scores are added here, so a mismatch is "
                f"negative, as in (1, -3), where minimap2 and bwa take a positive penalty; "
                f"{_ANYWAY}"
            )
        if scoring.highest <= 0:
            raise ScoringError(
                "no two letters score more than 0, so the best local alignment is always empty; "
                f"give a positive match, or align with mode='global'; {_ANYWAY}"
            )
    elif pair is not None and pair[1] > pair[0]:
        raise ScoringError(
            f"a mismatch scores {shown(pair[1])}, more than a match ({shown(pair[0])}): scores are "
            f"added here, and penalties are negative; {_ANYWAY}"
        )
