"""Warnings about input that can be used, but is probably not what was meant."""

from __future__ import annotations

import warnings
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
from ..sequences.coordinates import Frame
from ..sequences.sequence import as_letters

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
    counts: dict[str, int] = field(default_factory=dict)
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
                self._more("", len(piece.translate(None, self.scoring.stand_ins.encode())))
            for letter in self.scoring.stand_ins:
                both = {letter.encode(), letter.lower().encode()}
                # a search is much faster than a count
                self._more(letter, sum(piece.count(one) for one in both if one in piece))

    def _more(self, letter: str, count: int) -> None:
        if count:
            self.counts[letter] = self.counts.get(letter, 0) + count

    def messages(self) -> Iterator[str]:
        """What there is to say, if anything."""
        if self.counts:
            name = self.scoring.name
            said = [
                f"{STAND_INS[letter]} ({self.counts[letter]:,})"
                for letter in self.scoring.stand_ins
                if letter in self.counts
            ]
            if "" in self.counts:
                said.append(f"others as {self.scoring.unknown} ({self.counts['']:,})")
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
        warn_of_letters(tally, stacklevel)
    if mode == "local":
        rows, columns = frame.shape
        _advise_phase(scoring, rows * columns, stacklevel)


def _has_amino_acid(letters: Letters) -> bool:
    """Is there a letter that is no nucleotide's?"""
    return bool(letters.tobytes().translate(None, _NUCLEOTIDES))


def tally_of_pairs(pairs: Sequence[Any] | Batch, scoring: Scoring) -> Tally:
    """The letters of many pairs of sequences of any kind."""
    if isinstance(pairs, Batch):
        return _tally_of_batch(pairs, scoring)
    return tally_of(chain.from_iterable(pairs), Tally(scoring))


def tally_of(halves: Iterable[Any], tally: Tally) -> Tally:
    """The tally with the letters of sequences of any kind."""
    if tally.needed:
        halves = iter(halves)
        while some := list(islice(halves, AT_ONCE)):
            tally.add(_joined(some))
    return tally


def advise_tally(tally: Tally, mode: str, cells: int, stacklevel: int = 4) -> None:
    """Warn about letters that were counted, and about their scoring."""
    if tally.needed:
        warn_of_letters(tally, stacklevel)
    if mode == "local":
        _advise_phase(tally.scoring, cells, stacklevel)


def _tally_of_batch(batch: Batch, scoring: Scoring) -> Tally:
    """The letters of prepared pairs, which are counted once."""
    key = (scoring.letters, scoring.own_bytes, scoring.stand_ins, scoring.unknown)
    tally = batch.known.get(key)
    if tally is None:
        tally = Tally(scoring)
        for letters in batch.pieces() if tally.needed else ():
            tally.add(letters)
        batch.known[key] = tally
    return replace(tally, scoring=scoring)


def _joined(halves: list[Any]) -> Letters:
    """The letters of sequences of any kind, one after the other."""
    kinds = set(map(type, halves))
    if kinds == {str}:
        return np.frombuffer("".join(halves).encode(), np.uint8)
    return np.concatenate([as_letters(half) for half in halves])


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


def _advise_phase(scoring: Scoring, cells: int, stacklevel: int) -> None:
    """Warn of the linear phase when enough cells were compared, once for each scoring."""
    _, before = _compared.get(id(scoring), (scoring, 0))
    if len(_compared) >= SCORINGS:
        _compared.clear()
    _compared[id(scoring)] = scoring, before + cells
    if before < PHASE_CELLS <= before + cells:
        warn_of_phase(scoring, stacklevel + 1)
