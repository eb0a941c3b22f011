"""Two sequences with their score, coordinates and path, and what follows from these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InternalError, choice
from ..planning.execution import Execution
from ..scoring.scoring import Scoring
from ..sequences.alphabet import COMPLEMENT, Letters
from ..sequences.sequence import Sequence
from ..sequences.view import PLACES, View
from ..tiles.slabs import TileMap
from .cigar import OP_TO_MOVE, QUERY, TARGET, Ints, Runs, check_region, merged, on_diagonal
from .pair_paths import move_left
from .stats import Stats

Pair = TypeVar("Pair", bound="AlignedPair")
#: The fields of `to_dict`, in order.
FIELDS = (
    "query_name", "query_length", "query_start", "query_end", "strand",
    "target_name", "target_length", "target_start", "target_end",
    "score", "matches", "columns", "identity", "cigar",
)  # fmt: skip
#: Those that only some results have, and the attribute of each.
MORE_FIELDS = {"second_best": "second_best", "evalue": "expect", "bits": "bits"}
#: The target of what stands in files for a query without results.
NO_TARGET = Sequence("", "", np.zeros(0, np.uint8))


@dataclass(frozen=True, eq=False, repr=False)
class AlignedPair:
    """What files, tables and pictures know of an `Alignment`, which says what its fields are."""

    score: int | float
    mode: str
    query: Sequence
    target: Sequence
    scoring: Scoring
    query_start: int | None = None
    query_end: int | None = None
    target_start: int | None = None
    target_end: int | None = None
    runs: Runs | None = None
    plan: Any = None
    stats: Stats = field(default_factory=Stats)
    strand: str = "plus"
    tiles: TileMap | None = None
    free_ends: tuple[bool, bool, bool, bool] = (False, False, False, False)
    second_best: int | float | None = None
    expect: float | None = None
    bits: float | None = None
    heuristic: str = ""
    execution: Execution | None = None

    @property
    def path(self) -> Runs:
        """The ``runs``.  Raises InputError if there are none."""
        if self.runs is None:
            raise InputError("this alignment has no path; align with output='path'")
        return self.runs

    @property
    def cigar(self) -> str | None:
        """The path in SAM's extended CIGAR ('=', 'X', 'I', 'D'; I consumes query), or None."""
        return None if self.runs is None else self.runs.cigar

    @property
    def matches(self) -> int | None:
        """How many columns hold two letters that match ('='), or None if that is not known."""
        return None if self.runs is None or self.runs.count("M") else self.runs.count("=")

    @property
    def columns(self) -> int | None:
        """How many columns the alignment has, gaps included, or None without a path."""
        return None if self.runs is None else int(self.runs.lengths.sum())

    @property
    def identity(self) -> float | None:
        """``matches`` divided by ``columns`` (BLAST's identity, gaps included), between 0 and 1;
        0.0 for an alignment without columns, None without a path."""
        matches, columns = self.matches, self.columns
        return None if matches is None or columns is None else matches / max(1, columns)

    @property
    def positives(self) -> int | None:
        """How many columns hold two letters with a positive score (BLAST's positives, EMBOSS's
        similarity), or None without a path."""
        return None if self.runs is None else sum(int((s > 0).sum()) for s in self._pair_scores())

    def region(self) -> tuple[Letters, Letters]:
        """The letters of the aligned region of both sequences; those of the query are reverse
        complemented on the minus strand.  Raises InputError without a path."""
        query, target = self._views(self.query.letters)
        return query.read(0, len(query)), target.read(0, len(target))

    def _places(self) -> tuple[int, int, int, int]:
        """Where the aligned region begins and ends.  Raises InputError if it is not known."""
        i0, i1, j0, j1 = self.query_start, self.query_end, self.target_start, self.target_end
        if i0 is None or i1 is None or j0 is None or j1 is None:
            raise InputError(
                "it is not known where this alignment starts; align with output='path'"
            )
        return i0, i1, j0, j1

    def _views(self, query: NDArray[Any] | None = None) -> tuple[View, View]:
        """What was compared of the region; ``query``: its letters in another form."""
        i0, i1, j0, j1 = self._places()
        self.query.read(i0, i1)
        self.target.read(j0, j1)
        query = self.scoring.coded(self.query) if query is None else query
        turned = (True, COMPLEMENT) if self.strand == "minus" else (False, None)
        return View(query, i0, i1, *turned), View(self.target.letters, j0, j1)

    def _pair_scores(self) -> Iterator[NDArray[np.int32]]:
        return on_diagonal(self.path, *self._views(), lambda _, *on: self.scoring.pair_scores(*on))

    def pair_scores(self) -> NDArray[np.int32]:
        """The substitution score, times ``scoring.scale``, of every '=' and 'X' column in turn.
        Raises InputError without a path and InternalError if path and coordinates disagree."""
        return np.concatenate([np.zeros(0, np.int32), *self._pair_scores()])

    def rescore(self) -> int | float:
        """The score recomputed from the path, the letters and the scoring alone, always ``score``.
        Raises InputError without a path and InternalError if path and coordinates disagree."""
        total = sum(int(scores.sum(dtype=np.int64)) for scores in self._pair_scores())
        gaps, query, target = self.path.in_gaps()
        total -= gaps * self.scoring.gap_open + (query + target) * self.scoring.gap_extend
        return self.scoring.unscaled(total)

    def left_aligned(self: Pair) -> Pair:
        """This alignment with each gap at the first place behind the gap before it where the score
        is the same, as ``left_align`` of `align` has it.  Raises InputError without a path."""
        runs, how = self.path, (self.scoring, self.mode, self.free_ends)
        query, target = (view.read(0, len(view)) for view in self._views())
        runs, _ = move_left(runs, np.array([0, len(runs)]), query, target, *how)
        moved = replace(self, runs=runs)
        if moved.rescore() != self.score:
            raise InternalError(f"the gaps of {self!r} have moved, and score {moved.rescore()}")
        return moved

    @property
    def aligned(self) -> tuple[str, str]:
        """The aligned letters of query and target with gaps, two strings of equal length.
        The query is reverse complemented on the minus strand.  Raises InputError without a path."""
        moves = OP_TO_MOVE[self.path.columns()]
        query, target = np.full((2, len(moves)), ord("-"), np.uint8)
        query[moves != TARGET], target[moves != QUERY] = self.region()
        return query.tobytes().decode("ascii"), target.tobytes().decode("ascii")

    def aligned_pairs(self) -> Ints:
        """The positions of the letters of each column, an array of columns x 2 (int64): in the
        query and in the target as given, from 0; -1 for a gap.  On the minus strand those of the
        query fall.  Raises InputError without a path."""
        moves = OP_TO_MOVE[self.path.columns()]
        i0, i1, j0, j1 = self._places()
        letters = int((moves != TARGET).sum()), int((moves != QUERY).sum())
        check_region(letters, (i1 - i0, j1 - j0))
        table = np.full((len(moves), 2), -1, np.int64)
        table[moves != TARGET, 0] = np.arange(i0, i1)[:: -1 if self.strand == "minus" else 1]
        table[moves != QUERY, 1] = np.arange(j0, j1)
        return table

    def corners(self) -> Ints:
        """The positions where the kind of move changes, from the start of the path to its end along
        the target: an array of 2 x k (int64), in the target and in the query."""
        moves, lengths, _ = merged(self.path)
        (i0, i1, j0, _), minus = self._places(), self.strand == "minus"
        found = np.zeros((2, len(moves) + 1), np.int64)
        found[:, 1:] = (np.stack([moves != QUERY, moves != TARGET]) * lengths).cumsum(axis=1)
        found[0] += j0
        found[1] = i1 - found[1] if minus else i0 + found[1]
        return found

    def coordinate_map(self, side: str = "query") -> Ints:
        """For each position of a sequence the position of the letter that it is aligned with in the
        other one, or -1: an array (int64) as long as the sequence, which is the ``side``, "query"
        or "target".  Raises InputError without a path and for another side."""
        mine = int(choice(side, "side", ("query", "target")) == "target")
        pairs = self.aligned_pairs()
        both = pairs[(pairs >= 0).all(axis=1)]
        table = np.full(len((self.query, self.target)[mine]), -1, np.int64)
        table[both[:, mine]] = both[:, 1 - mine]
        return table

    def identities(self) -> dict[str, float]:
        """The identity in its usual definitions, between 0 and 1 (May 2004, Structure 12, 737-738).

        "blast": matches divided by all columns; "gap-compressed": a gap counts as one column, as in
        minimap2's tag de; "ungapped": divided by the columns without a gap; "shorter": divided by
        the letters of the shorter sequence.  Raises InputError without a path."""
        runs, same = self.path, self.matches
        if same is None:
            raise InputError("the query's letters are not known, so nobody knows what is identical")
        gaps, ungapped = runs.in_gaps()[0], runs.count("=X")
        return {
            "blast": same / max(1, self.columns or 0),
            "gap-compressed": same / max(1, ungapped + gaps),
            "ungapped": same / max(1, ungapped),
            "shorter": same / max(1, min(len(self.query), len(self.target))),
        }

    def to_dict(self) -> dict[str, Any]:
        """What the result says, None for what was not computed: names and lengths of the sequences,
        coordinates, strand, score, matches, columns, identity, cigar; and ``second_best``,
        ``evalue`` (`expect`) and ``bits`` where they are known."""
        said = {name: getattr(self, name, None) for name in FIELDS}
        more = ((name, getattr(self, field)) for name, field in MORE_FIELDS.items())
        said |= {name: value for name, value in more if value is not None}
        for side, of in (("query", self.query), ("target", self.target)):
            said[f"{side}_name"], said[f"{side}_length"] = of.name, len(of)
        return said

    def __getitem__(self: Pair, columns: slice) -> Pair:
        """Some columns of the path as an Alignment of the same sequences: ``alignment[10:50]``.

        Columns count from 0 in the path's order, gaps included, and from the end if negative.
        Coordinates are those of these columns in the whole sequences, on either strand.  ``score``
        is what they score by themselves: a gap that is cut pays for its opening in both parts.
        Raises InputError without a path and for anything but a slice with a step of 1."""
        if not isinstance(columns, slice):
            raise InputError(
                "an Alignment is sliced by columns, as in alignment[10:50]; aligned_pairs() has "
                "the positions of each column"
            )
        runs = self.path
        try:
            start, stop, step = columns.indices(int(runs.lengths.sum()))
        except (TypeError, ValueError) as error:
            raise InputError(f"columns are sliced with whole numbers: {error}") from None
        if step != 1:
            raise InputError(f"columns are sliced with a step of 1, not {step}")
        before, runs = runs.cut(0, start), runs.cut(start, stop)
        i0, i1, j0, _ = self._places()
        skipped, taken = before.count("=XMI"), runs.count("=XMI")
        i0 = i1 - skipped - taken if self.strand == "minus" else i0 + skipped
        j0 += before.count("=XMD")
        others: dict[str, Any] = dict.fromkeys(MORE_FIELDS.values())
        others |= zip(PLACES, (i0, i0 + taken, j0, j0 + runs.count("=XMD")), strict=True)
        made = replace(self, runs=runs, stats=Stats(), tiles=None, **others)
        return replace(made, score=made.rescore())

    #: Columns are not iterated over: :meth:`aligned_pairs` has the positions of all of them.
    __iter__: None = None

    def __eq__(self, other: object) -> bool:
        """Equal results say the same: sequences, scoring, coordinates and path, not the costs."""
        if not isinstance(other, AlignedPair):
            return NotImplemented
        return (
            self.to_dict() == other.to_dict()
            and (self.mode, self.free_ends) == (other.mode, other.free_ends)
            and self.scoring.facts() == other.scoring.facts()
            and (self.query, self.target) == (other.query, other.target)
        )

    def __hash__(self) -> int:
        return hash((self.score, self.query_end, self.target_end, len(self.query)))

    def __repr__(self) -> str:
        query = _span("query", self.query, self.query_start, self.query_end)
        target = _span("target", self.target, self.target_start, self.target_end)
        known = "" if self.identity is None else f" identity={self.identity:.4f}"
        path = "" if self.runs is None else f"{known} runs={len(self.runs)}"
        path += "" if self.expect is None else f" expect={self.expect:.2g}"
        minus = " minus" if self.strand == "minus" else ""
        return f"<Alignment {self.mode} score={self.score} {query}{minus} {target}{path}>"


def _span(what: str, sequence: Sequence, start: int | None, end: int | None) -> str:
    known = ["?" if position is None else str(position) for position in (start, end)]
    shown = "" if start is end is None else f"[{':'.join(known)}]"
    return f"{what}{shown} of {len(sequence)}"
