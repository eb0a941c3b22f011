"""Results as other libraries have them, and the letters and positions that a path aligns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, choice
from .cigar import OP_TO_MOVE, QUERY, TARGET, Runs

if TYPE_CHECKING:
    from .alignment import Alignment

Positions = NDArray[np.int64]
#: The fields of `to_dict`, in order.
FIELDS = (
    "query_name", "query_length", "query_start", "query_end", "strand",
    "target_name", "target_length", "target_start", "target_end",
    "score", "matches", "columns", "identity", "cigar",
)  # fmt: skip


def path_of(found: Alignment) -> Runs:
    """The path.  Raises InputError if there is none."""
    if found.runs is None:
        raise InputError("this alignment has no path; align with output='path'")
    return found.runs


def aligned(found: Alignment, gap: str = "-") -> tuple[str, str]:
    """The aligned letters of query and target with gaps, two strings of equal length.

    The query is reverse complemented on the minus strand.  Raises InputError without a path.
    """
    ops = OP_TO_MOVE[path_of(found).columns()]
    texts = []
    for letters, missing in zip(found.region(), (TARGET, QUERY), strict=True):
        row = np.full(len(ops), ord(gap), np.uint8)
        row[ops != missing] = letters
        texts.append(row.tobytes().decode("ascii"))
    return texts[0], texts[1]


def aligned_pairs(found: Alignment) -> Positions:
    """The positions of the letters of each column, an array of columns x 2 (int64): in the query
    and in the target as given, from 0; -1 for a gap.

    On the minus strand those of the query fall.  Raises InputError without a path.
    """
    moves = OP_TO_MOVE[path_of(found).columns()]
    assert found.query_start is not None and found.query_end is not None
    assert found.target_start is not None
    table = np.full((len(moves), 2), -1, np.int64)
    query, target = moves != TARGET, moves != QUERY
    rows = np.arange(int(query.sum()), dtype=np.int64)
    minus = found.strand == "minus"
    table[query, 0] = found.query_end - 1 - rows if minus else found.query_start + rows
    table[target, 1] = found.target_start + np.arange(int(target.sum()), dtype=np.int64)
    return table


def coordinate_map(found: Alignment, side: str = "query") -> Positions:
    """For each position of a sequence the position of the letter that it is aligned with in the
    other one, or -1: an array (int64) as long as the sequence.

    ``side``: "query" maps positions of the query to the target, "target" the other way.  Raises
    InputError without a path and for another side.
    """
    side = choice(side, "side", ("query", "target"))
    pairs = aligned_pairs(found)
    both = pairs[(pairs >= 0).all(axis=1)]
    mine, other = (0, 1) if side == "query" else (1, 0)
    table = np.full(len((found.query, found.target)[mine]), -1, np.int64)
    table[both[:, mine]] = both[:, other]
    return table


def identities(found: Alignment) -> dict[str, float]:
    """The identity in its usual definitions, between 0 and 1 (May 2004, Structure 12, 737-738).

    "blast": matches divided by all columns; "gap-compressed": a gap counts as one column, as in
    minimap2's tag de; "ungapped": divided by the columns without a gap; "shorter": divided by the
    letters of the shorter sequence.  Raises InputError without a path.
    """
    runs = path_of(found)
    if found.matches is None:
        raise InputError("the query's letters are not known, so nobody knows what is identical")
    same, aligned_columns = runs.count("="), runs.count("=X")
    columns = aligned_columns + runs.count("ID")
    shorter = min(len(found.query), len(found.target))
    return {
        "blast": same / max(1, columns),
        "gap-compressed": same / max(1, aligned_columns + runs.gaps()),
        "ungapped": same / max(1, aligned_columns),
        "shorter": same / max(1, shorter),
    }


def to_dict(found: Alignment) -> dict[str, Any]:
    """What the result says, by the names of `FIELDS`; None for what was not computed.  There is a
    ``second_best`` only where it was asked for."""
    names = {
        "query_name": found.query.name,
        "query_length": len(found.query),
        "target_name": found.target.name,
        "target_length": len(found.target),
    }
    fields = FIELDS if found.second_best is None else (*FIELDS, "second_best")
    return {name: names[name] if name in names else getattr(found, name) for name in fields}


def to_skbio(found: Alignment) -> Any:
    """The path as scikit-bio's `PairAlignPath`, whose ranges are those of the aligned region.

    scikit-bio's I and D are swapped against SAM's.  Raises InputError without a path, on the minus
    strand, whose query scikit-bio would have to have reverse complemented, and without scikit-bio.
    """
    runs = path_of(found)
    if found.strand == "minus":
        raise InputError("scikit-bio's paths have no strand; align the reverse complement itself")
    try:
        from skbio.alignment import PairAlignPath
    except ImportError as error:
        raise InputError(f"this needs scikit-bio: pip install scikit-bio ({error})") from None
    moves, lengths, _ = merged(runs)  # its states have the same numbers
    ranges = [[found.query_start, found.query_end], [found.target_start, found.target_end]]
    return PairAlignPath(lengths, moves, ranges=np.array(ranges, np.intp))


def to_biopython(found: Alignment) -> Any:
    """The result as Biopython's `Alignment`, target first as in its own, with its ``score``.

    On the minus strand the query's coordinates fall, as in its own.  Sequences without a name are
    called "target" and "query".  Raises InputError without a path and without Biopython.
    """
    runs = path_of(found)
    try:
        from Bio import Align
        from Bio.Seq import Seq
        from Bio.SeqRecord import SeqRecord
    except ImportError as error:
        raise InputError(f"this needs Biopython: pip install biopython ({error})") from None
    moves, lengths, _ = merged(runs)
    steps = np.stack([np.where(moves == QUERY, 0, lengths), np.where(moves == TARGET, 0, lengths)])
    coordinates = np.concatenate([np.zeros((2, 1), np.int64), steps.cumsum(axis=1)], axis=1)
    coordinates[0] += found.target_start or 0
    minus = found.strand == "minus"
    coordinates[1] = (
        (found.query_end or 0) - coordinates[1]
        if minus
        else coordinates[1] + (found.query_start or 0)
    )
    records = [
        SeqRecord(Seq(one.read().tobytes()), id=one.name or what, description=one.description)
        for one, what in ((found.target, "target"), (found.query, "query"))
    ]
    made: Any = getattr(Align, "Alignment")(records, coordinates)  # noqa: B009 - untyped there
    made.score = found.score
    return made


def merged(
    runs: Runs, bounds: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.uint8], Positions, Positions]:
    """The moves of the runs and their lengths; neighbours with the same move are one.

    ``bounds``: the first run of each of several paths, then the number of all runs (default: one
    path).  Also returns the same of the merged runs.
    """
    moves = OP_TO_MOVE[runs.ops]
    bounds = np.array([0, len(moves)]) if bounds is None else bounds
    if not len(moves):
        return moves, runs.lengths, bounds
    first = np.empty(len(moves), np.bool_)
    first[0], first[1:] = True, moves[1:] != moves[:-1]
    first[bounds[bounds < len(moves)]] = True
    starts = np.flatnonzero(first)
    return moves[starts], np.add.reduceat(runs.lengths, starts), np.searchsorted(starts, bounds)
