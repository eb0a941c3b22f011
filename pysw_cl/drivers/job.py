"""A job: all that decides a result, as one value.  A checkpoint saves one job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, InternalError, SequenceError
from ..planning.execution import Execution
from ..planning.plan import Plan
from ..results.alignment import Alignment
from ..results.stats import Stats
from ..scoring.scoring import MOST_KNOWN, Scoring
from ..sequences.alphabet import COMPLEMENT, NO_CODE, Letters, first_outside, show_byte
from ..sequences.parallel import in_threads
from ..sequences.sequence import Sequence, check_letters
from ..sequences.view import Codes, Frame
from ..tiles.slabs import TileMap
from ..tiles.tile import Hit
from .problem import FoundPath, FreeEnds, Path, PathReader, Problem

#: The parts of query and target that are compared; None: all of it.
Ranges = tuple[tuple[int, int] | None, tuple[int, int] | None]
#: The name among a job's facts of how its scoring was given.
DESCRIBED = "scoring described"


@dataclass(frozen=True, eq=False)
class Job:
    """All that decides the result of a comparison."""

    query: Sequence
    target: Sequence
    scoring: Scoring
    mode: str
    free_ends: FreeEnds
    output: str
    #: The ranges and the strand that are compared.
    frame: Frame
    #: Are both strands compared?  ``frame`` is that of plus then.
    both: bool = False
    #: Only a score above this matters; the end and the path of a lower one are not computed.
    beat: int | None = None
    #: Is the second best end looked for?  (Not saved: no checkpoint is of such a job.)
    second_best: bool = False

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The job as JSON can hold it; sequences by length and digest."""
        query, target = in_threads(digest, (self.query, self.target), few=2)
        return {
            "query": query,
            "target": target,
            "scoring": self.scoring.facts(),
            DESCRIBED: self.scoring.description(),
            "mode": self.mode,
            "free_ends": list(self.free_ends),
            "output": self.output,
            "range": self.frame.places,
            "strand": "both" if self.both else self.frame.strand,
            **({} if self.beat is None else {"beat": self.beat}),
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any], query: Sequence, target: Sequence) -> Job:
        row, row_end, column, column_end = facts["range"]
        strand, letters = facts["strand"], (query.letters, target.letters)
        return cls(
            query,
            target,
            Scoring.of_facts(facts["scoring"] | facts[DESCRIBED]),
            facts["mode"],
            FreeEnds(*facts["free_ends"]),
            facts["output"],
            Frame(letters, row, row_end, column, column_end, strand == "minus"),
            strand == "both",
        )

    @property
    def identity(self) -> dict[str, Any]:
        """The facts that decide the result: not how the scoring is called."""
        return {name: value for name, value in self.facts.items() if name != DESCRIBED}

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(canonical(self.identity)).hexdigest()

    @property
    def problem(self) -> Problem:
        """The comparison of the frame's strand, in codes."""
        codes = self.frame.codes(self.scoring.query_encoding, self.scoring.target_encoding)
        return Problem.of(*codes, self.scoring, self.mode, self.free_ends)

    def strands(self, minus_first: bool) -> list[Job]:
        """This job as jobs of one strand each."""
        if not self.both:
            return [self]
        one = [replace(self, both=False, frame=replace(self.frame, minus=m)) for m in (False, True)]
        return one[::-1] if minus_first else one

    def better(self, end: Hit) -> bool:
        return self.beat is None or end.score > self.beat


def make_frames(
    query: Sequence, target: Sequence, ranges: Ranges, strand: str, scoring: Scoring
) -> list[Frame]:
    """The frames to compare, plus before minus, with checked letters.

    ``ranges``, of query and target, are (start, end), 0-based and half-open, or None for the whole
    sequence; ``strand`` is one that `check_strand` accepts.  Raises InputError for a range that is
    not inside its sequence, and SequenceError for an empty sequence and for a letter inside a range
    that is not in the alphabet."""
    places, known, others = list[tuple[int, int]](), list[Codes | None](), False
    for sequence, given, what in zip((query, target), ranges, ("query", "target"), strict=True):
        length = len(sequence)
        start, end = given or (0, length)
        if given is not None and not 0 <= start < end <= length:
            raise InputError(
                f"{what}_range is [{start:,}, {end:,}), and the {what} has {length:,} letters; it "
                f"takes 0 <= start < end <= {length:,}, counted from 0 and without the end"
            )
        part = sequence.read(start, end)
        places.append((start, end))
        if scoring.by_position and what == "query":  # its positions are codes
            known.append(scoring.coded(query)[start:end])
            continue
        told = scoring.known_codes(part, what) if len(part) <= MOST_KNOWN else None
        if not len(part) or (told is None and not scoring.knows(part)):  # then say what is wrong
            check_letters(part, what, start)
            scoring.check_letters(part, what, start)
        known.append(told and told[0])
        others |= told is None or told[1]
    letters, codes = (scoring.coded(query), target.letters), (known[0], known[1])
    frame = Frame(letters, *places[0], *places[1], known=codes, others=others)
    if strand == "plus":
        return [frame]
    check_complement(frame.letters[0], scoring, *places[0])
    minus = replace(frame, minus=True)
    return [minus] if strand == "minus" else [frame, minus]


def check_complement(
    query: Letters, scoring: Scoring, start: int = 0, stop: int | None = None
) -> None:
    """Raise SequenceError for a letter of a part of the query whose complement is unknown."""
    known = np.flatnonzero(scoring.query_encoding[COMPLEMENT] != NO_CODE).astype(np.uint8)
    part = query[start:stop]
    if (k := first_outside(known.tobytes(), part)) is not None:
        letter, other = int(part[k]), int(COMPLEMENT[part[k]])
        raise SequenceError(
            f"letter {show_byte(letter)} at position {start + k + 1} of the query becomes "
            f"{show_byte(other)} on the minus strand, which is not in the alphabet "
            f"{scoring.letters}; choose a substitution matrix that has both"
        )


class Found(NamedTuple):
    """The result of a job of one strand."""

    end: Hit
    path: FoundPath | None
    plan: Plan
    stats: Stats
    tiles: TileMap | None
    second_best: int | None = None
    #: How most of it was computed; None: not by a device, or nobody knows any more.
    execution: Execution | None = None


def path_of(job: Job, end: Hit, path: Path, plan: Plan) -> FoundPath:
    """A path that was traced back to its start, in the sequences' coordinates."""
    return PathReader(end, job.frame, job.scoring, plan.tuning.traceback.read_moves).found(path)


def alignment_of(job: Job, found: Found) -> Alignment:
    """The result as users see it.  Raises InternalError for a path with another score."""
    end, path, scoring = found.end, found.path, job.scoring
    tiles, second = found.tiles, found.second_best
    last = None if job.output == "score" else (end.row, end.column)
    places: dict[str, Any] = job.frame.found(None if path is None else path[:2], last)
    score = scoring.unscaled(end.score)
    result = Alignment(
        score,
        job.mode,
        job.query,
        job.target,
        scoring,
        runs=None if path is None else path.runs,
        tiles=None if tiles is None else tiles.in_sequences(job.frame, scoring.scale),
        second_best=None if second is None else scoring.unscaled(second),
        plan=found.plan,
        stats=found.stats,
        strand=job.frame.strand,
        free_ends=job.free_ends[:],
        execution=found.execution,
        **places,
    )
    again = score
    if path is not None:
        query, target = job.frame.region(path.row, end.row, path.column, end.column)
        read = query.start, query.stop, target.start, target.stop
        by_reader = path.score if read == tuple(places.values()) else None  # of what is named
        again = result.rescore() if by_reader is None else scoring.unscaled(by_reader)
    if again != score:
        raise InternalError(
            f"the path scores {again}, not {score}; please report this with both "
            f"sequences, mode={job.mode!r}, free_ends={job.free_ends[:]}, matrix of "
            f"{scoring.letters} {scoring.matrix.tolist()}, gap_open={scoring.gap_open}, "
            f"gap_extend={scoring.gap_extend} (of scale {scoring.scale}) and {found.plan}"
        )
    return result


def canonical(facts: Mapping[str, Any]) -> bytes:
    """Facts as JSON; equal facts give equal bytes."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def digest(sequence: Sequence) -> dict[str, Any]:
    found = hashlib.sha256(np.ascontiguousarray(sequence.letters).data)
    return {"length": len(sequence), "sha256": found.hexdigest()}
