"""The frames that are compared, with checked letters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InputError, SequenceError
from ..sequences.alphabet import COMPLEMENT, NO_CODE, first_outside, show_byte
from ..sequences.sequence import Sequence, check_letters
from ..sequences.view import Codes, Frame
from .scoring import Scoring

#: The codes of a range of at most so many letters are made when its letters are checked, and kept:
#: that takes half the time of checking first.  Codes of more would take too much memory.
MOST_KNOWN = 1 << 24


def make_frames(
    query: Sequence,
    target: Sequence,
    query_range: tuple[int, int] | None,
    target_range: tuple[int, int] | None,
    strand: str,
    scoring: Scoring,
) -> list[Frame]:
    """The frames to compare, plus before minus, with checked letters.

    Ranges are (start, end), 0-based and half-open, or None for the whole sequence; ``strand`` is
    one that `check_strand` accepts.  Raises InputError for a range that is not inside its
    sequence, and SequenceError for an empty sequence and for a letter inside a range that is not in
    the alphabet.
    """
    ranges: list[tuple[int, int]] = []
    known: list[Codes | None] = []
    others = False
    for sequence, given, what in ((query, query_range, "query"), (target, target_range, "target")):
        length = len(sequence)
        start, end = given or (0, length)
        if given is not None and not 0 <= start < end <= length:
            raise InputError(
                f"{what}_range is [{start:,}, {end:,}), and the {what} has {length:,} letters; it "
                f"takes 0 <= start < end <= {length:,}, counted from 0 and without the end"
            )
        part = sequence.read(start, end)
        if scoring.by_position and what == "query":  # its positions are codes
            ranges.append((start, end))
            known.append(scoring.coded(query)[start:end])
            continue
        told = scoring.known_codes(part, what) if len(part) <= MOST_KNOWN else None
        if not len(part) or (told is None and not scoring.knows(part)):  # then say what is wrong
            check_letters(part, what, start)
            scoring.check_letters(part, what, start)
        ranges.append((start, end))
        known.append(told and told[0])
        others |= told is None or told[1]
    letters = scoring.coded(query), target.letters
    codes = known[0], known[1]
    frame = Frame(letters, *ranges[0], *ranges[1], known=codes, others=others)
    if strand == "plus":
        return [frame]
    _check_complement(frame, scoring)
    minus = replace(frame, minus=True)
    return [minus] if strand == "minus" else [frame, minus]


def _check_complement(frame: Frame, scoring: Scoring) -> None:
    """Raise SequenceError for a query letter whose complement is not in the alphabet."""
    known = np.flatnonzero(scoring.query_encoding[COMPLEMENT] != NO_CODE).astype(np.uint8)
    part = frame.letters[0][frame.row : frame.row_end]
    k = first_outside(known.tobytes(), part)
    if k is not None:
        letter, other = int(part[k]), int(COMPLEMENT[part[k]])
        raise SequenceError(
            f"letter {show_byte(letter)} at position {frame.row + k + 1} of the query becomes "
            f"{show_byte(other)} on the minus strand, which is not in the alphabet "
            f"{scoring.letters}; choose a substitution matrix that has both"
        )
