"""Warnings about input that can be used, but is probably not what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..drivers.prepared import Batch
from ..errors import LettersWarning, PhaseWarning, warn
from ..scoring.matrices import DEFAULT_GAPS, STAND_INS, USUAL_GAPS, background, is_protein
from ..scoring.scoring import Scoring
from ..sequences.alphabet import PIECE, Letters
from ..sequences.sequence import as_letters
from ..sequences.view import Frame

#: The phase of a scoring is looked at, in 50 ms, when it has compared so many cells.
PHASE_CELLS = 1 << 28
#: Pairs of random sequences, and letters of each, for it: an error of 0.01 a letter.
PAIRS, SIDE = 32, 400
#: A mean is above 0 if it is by so many of its standard errors.
SURE = 3.0
#: The scores of the default match and mismatch.
DEFAULT_PAIR = (1, -3)
#: Fewer letters may be a short peptide of A, C, G and T.
FEWEST_NUCLEOTIDES = 12
#: Sequences, or letters, that are looked at together.
AT_ONCE = 4096
_NUCLEOTIDES = b"ACGTUNacgtun"

#: Cells that were compared locally with each scoring, until its phase has been looked at.
_compared: WeakKeyDictionary[Scoring, int] = WeakKeyDictionary()
#: Scorings that were estimated, and whether they are in the linear phase.
_linear: dict[tuple[Any, ...], bool] = {}


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
        scoring = self.scoring
        return not scoring.by_position and (is_protein(scoring.letters) or bool(scoring.unknown))

    def add(self, letters: Letters) -> None:
        """Count letters (uint8, ASCII)."""
        scoring = self.scoring
        self.letters += len(letters)
        for start in range(0, len(letters), PIECE):
            if is_protein(scoring.letters) and self.nucleotides:
                some = (letters[start : start + k] for k in (AT_ONCE, PIECE))  # few tell most
                self.nucleotides = not any(map(_has_amino_acid, some))
            piece = letters[start : start + PIECE].tobytes()
            if scoring.unknown:  # else all letters that remain are stand-ins
                piece = piece.translate(None, scoring.own_bytes).upper()
                self.counts[""] += len(piece.translate(None, scoring.stand_ins.encode()))
            for letter in scoring.stand_ins:
                both = {letter.encode(), letter.lower().encode()}
                # a search is much faster than a count
                self.counts[letter] += sum(piece.count(one) for one in both if one in piece)

    def add_counts(self, counts: Mapping[str, int]) -> None:
        """Count letters by how often each comes."""
        scoring = self.scoring
        self.letters += sum(counts.values())
        self.nucleotides &= not "".join(counts).encode().translate(None, _NUCLEOTIDES)
        for letter, count in counts.items():
            if letter.upper() in scoring.stand_ins:
                self.counts[letter.upper()] += count
            elif scoring.unknown and letter.encode() not in scoring.own_bytes:
                self.counts[""] += count


def advise_pair(frame: Frame, scoring: Scoring, mode: str) -> None:
    """Warn about the pair of a frame and its scoring (LettersWarning and PhaseWarning)."""
    tally = Tally(scoring)
    if tally.needed and (frame.others or not _has_amino_acid(frame.compared[0][:AT_ONCE])):
        for letters in frame.compared:
            tally.add(letters)
    rows, columns = frame.shape
    advise_tally(tally, mode, rows * columns)


def _has_amino_acid(letters: Letters) -> bool:
    """Is there a letter that is no nucleotide's?"""
    return bool(letters.tobytes().translate(None, _NUCLEOTIDES))


def tally_of_pairs(pairs: Sequence[Any] | Batch, scoring: Scoring) -> Tally:
    """The letters of many pairs of sequences of any kind; a `Batch` keeps its tally."""
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


def advise_tally(tally: Tally, mode: str, cells: int) -> None:
    """Warn about letters that were counted, and, once a scoring, of the linear phase."""
    warn_of_letters(tally)
    if mode != "local":
        return
    before = _compared.get(tally.scoring, 0)
    _compared[tally.scoring] = before + cells
    if before < PHASE_CELLS <= before + cells:
        warn_of_phase(tally.scoring)


def warn_of_letters(tally: Tally) -> None:
    """Warn about the letters that were counted, if there is anything to say."""
    scoring = tally.scoring
    if any(tally.counts.values()):
        names = {letter: STAND_INS[letter] for letter in scoring.stand_ins}
        names[""] = f"others as {scoring.unknown}"
        said = [f"{names[one]} ({tally.counts[one]:,})" for one in names if tally.counts[one]]
        where = f"the alphabet of {scoring.name}" if scoring.name else "the alphabet"
        warn(f"letters outside {where} were scored as others: {', '.join(said)}", LettersWarning)
    if is_protein(scoring.letters) and tally.nucleotides and tally.letters >= FEWEST_NUCLEOTIDES:
        warn(
            "the sequences look like nucleotides and are compared as proteins; give "
            "sub_score=(match, mismatch) for DNA and RNA (in the shell: leave out --matrix)",
            LettersWarning,
        )


def warn_of_phase(scoring: Scoring) -> None:
    """Warn about a local scoring in the linear phase."""
    if is_linear(scoring):
        warn(
            "with this scoring, local alignments of unrelated sequences run through all of them "
            "(linear phase), so a score says little; gaps have to cost more, or mismatches",
            PhaseWarning,
        )


def is_linear(scoring: Scoring) -> bool:
    """Whether a scoring is in the linear phase, estimated once a scoring from random pairs.

    With gaps that are cheap enough, a global alignment of two random sequences scores more the
    longer they are, and the best local one runs through nearly all of both.  Where the mean global
    score falls instead, local scores grow with the logarithm of the length, as statistics of
    alignments need (Arratia & Waterman 1994, Ann Appl Probab 4, 200-225).  The mean score a letter
    grows with the length, so a mean above 0 proves the linear phase; a scoring close to the
    transition may be missed."""
    gaps = scoring.gap_open, scoring.gap_extend
    if scoring.name:  # are these defaults, which are known?
        usual = USUAL_GAPS.get(scoring.name) == gaps and scoring.scale == 1
    else:
        usual = scoring.source.compared() == DEFAULT_PAIR and gaps == DEFAULT_GAPS
    if scoring.by_position or usual:
        return False
    key = scoring.letters, *gaps, scoring.matrix.tobytes(), scoring.query_encoding.tobytes()
    if key not in _linear:
        mean, error = mean_global_score(scoring)
        _linear[key] = mean > SURE * error
    return _linear[key]


def mean_global_score(scoring: Scoring, letters: int = SIDE) -> tuple[float, float]:
    """The mean score a letter of global alignments of random pairs of ``letters`` letters each, and
    its standard error, both in the scoring's own integers.  Letters have the frequencies of
    Robinson & Robinson (1991) in protein alphabets, and are all as frequent in others."""
    known = background(scoring.letters)
    codes, shares = np.frombuffer("".join(known).encode(), np.uint8), np.array([*known.values()])
    drawn = np.random.default_rng(1).choice(codes, (2, letters, PAIRS), p=shares / shares.sum())
    q, t = scoring.query_encoding[drawn[0]], scoring.target_encoding[drawn[1]]
    scores = _global_scores(scoring, q, t) / letters
    return float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(PAIRS))


def _global_scores(scoring: Scoring, q: Letters, t: Letters) -> NDArray[np.int32]:
    """The global scores of pairs (letters x pairs, codes), row by row (Gotoh 1982)."""
    opening, extend = scoring.gap_open, scoring.gap_extend
    ahead = (extend * np.arange(len(q) + 1, dtype=np.int32))[:, None]
    h = np.repeat(-(opening + ahead), q.shape[1], axis=1)
    h[0] = 0
    f = h - opening
    for letters in q:
        f = np.maximum(f, h - opening) - extend
        best = f.copy()
        best[1:] = np.maximum(best[1:], h[:-1] + scoring.matrix[letters, t])
        h = np.maximum(best, np.maximum.accumulate(best + ahead) - ahead - opening)
    return np.asarray(h[-1])
