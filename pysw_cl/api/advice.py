"""Warnings about input that can be used, but is probably not what was meant."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from ..drivers.prepared import Batch
from ..errors import LettersWarning, PhaseWarning
from ..scoring.protein import STAND_INS
from ..scoring.scoring import Scoring
from ..scoring.sense import is_linear
from ..sequences.alphabet import PIECE, Letters
from ..sequences.sequence import as_letters
from ..sequences.view import Frame

#: The phase of a scoring is looked at when it has compared so many cells: the 50 ms that it takes
#: are then no more than the comparisons took.
PHASE_CELLS = 1 << 28
#: Fewer letters may be a short peptide of A, C, G and T.
FEWEST_NUCLEOTIDES = 12
#: Sequences, or letters, that are looked at together.
AT_ONCE = 4096
#: The most scorings whose cells are counted.
SCORINGS = 64
_NUCLEOTIDES = b"ACGTUNacgtun"

#: Cells that were compared locally with each scoring, until its phase has been looked at.
_compared: dict[int, tuple[Scoring, int]] = {}


@dataclass
class Tally:
    """Counts the letters that a scoring takes as others."""

    scoring: Scoring
    #: How often each stand-in was met, and under "" all other letters outside the alphabet.
    counts: Counter[str] = field(default_factory=Counter)
    #: All letters so far, and whether they are all those of nucleotides.
    letters: int = 0
    nucleotides: bool = True

    @property
    def needed(self) -> bool:
        """Is there anything to count with this scoring?"""
        known = not self.scoring.by_position
        return known and (self.scoring.protein or bool(self.scoring.unknown))

    def add(self, letters: Letters, others: bool = True) -> None:
        """Count the letters (uint8, ASCII) of a sequence.  ``others``: may some of them be scored
        as others?"""
        self.letters += len(letters)
        for start in range(0, len(letters), PIECE):
            if self.scoring.protein and self.nucleotides:
                some = (letters[start : start + k] for k in (AT_ONCE, PIECE))  # few tell most
                self.nucleotides = not any(map(_has_amino_acid, some))
            if not others:
                continue
            piece = letters[start : start + PIECE].tobytes()
            if self.scoring.unknown:  # else all letters that remain are stand-ins
                piece = piece.translate(None, self.scoring.own_bytes).upper()
                self.counts[""] += len(piece.translate(None, self.scoring.stand_ins.encode()))
            for letter in self.scoring.stand_ins:
                both = {letter.encode(), letter.lower().encode()}
                # a search is much faster than a count
                self.counts[letter] += sum(piece.count(one) for one in both if one in piece)

    def messages(self) -> Iterator[str]:
        """What there is to say, if anything."""
        if any(self.counts.values()):
            names = {letter: STAND_INS[letter] for letter in self.scoring.stand_ins}
            names[""] = f"others as {self.scoring.unknown}"
            said = [f"{names[one]} ({self.counts[one]:,})" for one in names if self.counts[one]]
            name = self.scoring.name
            where = f"the alphabet of {name}" if name else "the alphabet"
            yield f"letters outside {where} were scored as others: {', '.join(said)}"
        if self.scoring.protein and self.nucleotides and self.letters >= FEWEST_NUCLEOTIDES:
            yield (
                "the sequences look like nucleotides and are compared as proteins; give "
                "sub_score=(match, mismatch) for DNA and RNA (in the shell: leave out --matrix)"
            )


def advise_pair(frame: Frame, scoring: Scoring, mode: str, stacklevel: int = 4) -> None:
    """Warn about the pair of a frame and its scoring.

    The warnings are LettersWarning and PhaseWarning; ``stacklevel`` is that of the user's call, as
    `warnings.warn` counts.
    """
    tally = Tally(scoring)
    if tally.needed and (frame.others or not _has_amino_acid(frame.compared[0][:AT_ONCE])):
        for letters in frame.compared:
            tally.add(letters, frame.others)
    rows, columns = frame.shape
    advise_tally(tally, mode, rows * columns, stacklevel + 1)


def _has_amino_acid(letters: Letters) -> bool:
    """Is there a letter that is no nucleotide's?"""
    return bool(letters.tobytes().translate(None, _NUCLEOTIDES))


def tally_of_pairs(pairs: Sequence[Any] | Batch, scoring: Scoring) -> Tally:
    """The letters of many pairs of sequences of any kind; of prepared ones they are counted
    once."""
    if not isinstance(pairs, Batch):
        return tally_of(chain.from_iterable(pairs), Tally(scoring))
    key = (scoring.letters, scoring.own_bytes, scoring.stand_ins, scoring.unknown)
    tally = pairs.known.get(key)
    if tally is None:
        tally = pairs.known[key] = Tally(scoring)
        for letters in pairs.pieces() if tally.needed else ():
            tally.add(letters)
    return replace(tally, scoring=scoring)


def tally_of(halves: Iterable[Any], tally: Tally) -> Tally:
    """The tally with the letters of sequences of any kind."""
    if tally.needed:
        halves = iter(halves)
        while some := list(islice(halves, AT_ONCE)):
            if set(map(type, some)) == {str}:
                tally.add(np.frombuffer("".join(some).encode(), np.uint8))
            else:
                tally.add(np.concatenate([as_letters(half) for half in some]))
    return tally


def advise_tally(tally: Tally, mode: str, cells: int, stacklevel: int = 4) -> None:
    """Warn about letters that were counted, and of the linear phase when enough cells were compared
    locally, once for each scoring."""
    warn_of_letters(tally, stacklevel)
    if mode != "local":
        return
    _, before = _compared.get(id(tally.scoring), (tally.scoring, 0))
    if len(_compared) >= SCORINGS:
        _compared.clear()
    _compared[id(tally.scoring)] = tally.scoring, before + cells
    if before < PHASE_CELLS <= before + cells:
        warn_of_phase(tally.scoring, stacklevel)


def warn_of_letters(tally: Tally, stacklevel: int = 2) -> None:
    """Warn about the letters that were counted."""
    for message in tally.messages():
        warnings.warn(message, LettersWarning, stacklevel=stacklevel + 1)


def warn_of_phase(scoring: Scoring, stacklevel: int = 2) -> None:
    """Warn about a local scoring in the linear phase."""
    if is_linear(scoring):
        warnings.warn(
            "with this scoring, local alignments of unrelated sequences run through all of them "
            "(linear phase), so a score says little; gaps have to cost more, or mismatches",
            PhaseWarning,
            stacklevel=stacklevel + 1,
        )
