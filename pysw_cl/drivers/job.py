"""What is to be computed, as one value: it decides the result, and a checkpoint is of one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InternalError
from ..planning.plan import Plan
from ..results.alignment import Alignment, Stats, region_of, unscale
from ..results.cigar_builder import FoundPath, PathReader
from ..scoring.scoring import Scoring
from ..sequences.coordinates import Frame
from ..sequences.parallel import in_threads
from ..sequences.sequence import Sequence
from ..sequences.view import View
from ..tiles.tile import Hit
from ..tiles.tile_map import TileMap
from .problem import FreeEnds, Problem
from .traceback_state import Path


@dataclass(frozen=True, eq=False)
class Job:
    """What is computed: ``free_ends`` are the four of `FreeEnds`, ``output`` is align's, ``frame``
    says which part of the sequences and which strand.

    ``both``: the minus strand, too, and ``frame`` is that of plus.  ``beat``: only a higher score
    than this matters, and the end and the path of another are not looked for.
    """

    query: Sequence
    target: Sequence
    scoring: Scoring
    mode: str
    free_ends: tuple[bool, ...]
    output: str
    frame: Frame
    both: bool = False
    beat: int | None = None

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that decides the result; sequences by length and digest."""
        beat = {} if self.beat is None else {"beat": self.beat}
        query, target = in_threads(digest, (self.query, self.target), few=2)
        return {
            "query": query,
            "target": target,
            "scoring": self.scoring.facts(),
            "mode": self.mode,
            "free_ends": list(self.free_ends),
            "output": self.output,
            "range": self.frame.places,
            "strand": "both" if self.both else self.frame.strand,
            **beat,
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any], query: Sequence, target: Sequence) -> Job:
        """The job that has these ``facts``, but for its sequences."""
        row, row_end, column, column_end = facts["range"]
        strand, letters = facts["strand"], (query.letters, target.letters)
        frame = Frame(letters, row, row_end, column, column_end, strand == "minus")
        return cls(
            query,
            target,
            Scoring.of_facts(facts["scoring"]),
            facts["mode"],
            tuple(facts["free_ends"]),
            facts["output"],
            frame,
            strand == "both",
        )

    @cached_property
    def key(self) -> str:
        """A digest of the facts."""
        return hashlib.sha256(canonical(self.facts)).hexdigest()

    @property
    def problem(self) -> Problem:
        """The comparison that is asked for."""
        free = FreeEnds(*self.free_ends)
        return Problem(*self.frame.codes(self.scoring), self.scoring, self.mode, free)

    def strands(self, minus_first: bool) -> list[Job]:
        """The jobs of one strand each that this one consists of."""
        if not self.both:
            return [self]
        one = [replace(self, both=False, frame=replace(self.frame, minus=m)) for m in (False, True)]
        return one[::-1] if minus_first else one

    def beating(self, other: Hit | None) -> Job:
        """This job, where only what is better matters than the best end of the other strand: plus
        is when both score the same."""
        if other is None:
            return self
        return replace(self, beat=other.score - int(not self.frame.minus))

    def better(self, end: Hit) -> bool:
        """Does this end beat what it has to?"""
        return self.beat is None or end.score > self.beat


def path_of(job: Job, end: Hit, path: Path, plan: Plan) -> FoundPath:
    """A path that was walked to its start."""
    return PathReader(job.frame, job.scoring, plan.tuning.traceback).found(end, path)


def alignment_of(
    job: Job,
    end: Hit,
    path: FoundPath | None,
    plan: Plan,
    stats: Stats,
    tiles: TileMap | None = None,
) -> Alignment:
    """The result as users see it; a path has to score what was found."""
    start = None if path is None else path[:2]
    found: dict[str, Any] = dict(
        job.frame.found(start, None if job.output == "score" else (end.row, end.column))
    )
    found["strand"] = job.frame.strand
    if tiles is not None:
        found["tiles"] = job.frame.map(tiles, job.scoring.scale)
    if path is not None:
        found["runs"] = path.runs
    score = unscale(end.score, job.scoring)
    common = job.query, job.target, job.scoring
    result = Alignment(score, job.mode, *common, plan=plan, stats=stats, **found)
    again = score if path is None else _scored(job, end, path, result)
    if again != score:
        scoring = job.scoring
        raise InternalError(
            f"the path scores {again}, not {score}; please report this with both "
            f"sequences, mode={job.mode!r}, free_ends={job.free_ends}, matrix of "
            f"{scoring.letters} {scoring.matrix.tolist()}, gap_open={scoring.gap_open}, "
            f"gap_extend={scoring.gap_extend} (of scale {scoring.scale}) and {plan}"
        )
    return result


def _scored(job: Job, end: Hit, path: FoundPath, result: Alignment) -> int | float:
    """What a path scores: what its reader said, if it read the letters that the result names."""
    if path.score is not None:
        read = job.frame.region(path.row, end.row, path.column, end.column)
        if all(map(_same, read, region_of(result))):
            return unscale(path.score, job.scoring)
    return result.rescore()


def _same(one: View, other: View) -> bool:
    """Are these views of the same range of the same array, read in the same way?"""
    ranges = [(view.start, len(view), view.reverse) for view in (one, other)]
    return one.codes is other.codes and one.table is other.table and ranges[0] == ranges[1]


def canonical(facts: Mapping[str, Any]) -> bytes:
    """Facts as JSON that is the same for equal ones."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def digest(sequence: Sequence) -> dict[str, Any]:
    """A sequence by its length and a digest of its letters."""
    found = hashlib.sha256(np.ascontiguousarray(sequence.letters).data)
    return {"length": len(sequence), "sha256": found.hexdigest()}
