"""Results: an alignment with its path, and what the run cost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..planning.execution import Execution
from ..scoring.scoring import Scoring
from ..sequences.alphabet import COMPLEMENT, Letters
from ..sequences.sequence import Sequence
from ..sequences.view import Codes, View
from ..tiles.tile import Costs
from . import convert
from .cigar import OP_TO_MOVE, Moves, Runs, on_diagonal
from .slices import sliced

if TYPE_CHECKING:
    from ..tiles.tile_map import TileMap


@dataclass
class Stats(Costs):
    """What a run cost."""

    #: Computed cells by lane set ("engine/lanes/bits"); cells computed again for the path count
    #: again.
    cells: dict[str, int] = field(default_factory=dict)
    #: Kernel launches.
    launches: int = 0
    #: Wall time.
    seconds: float = 0.0
    #: The most device memory in use at once.
    device_bytes: int = 0
    #: Cells skipped because no best path could run through them.
    pruned: int = 0
    #: Paths that failed their check and were computed again (`RecomputedWarning`).
    recomputed: int = 0
    #: Seconds on the device by kernel; empty unless ``kernel_times`` asks for them.  Kernels of
    #: several queues run at once, so their sum may exceed ``seconds``.  Earlier runs of a
    #: checkpoint are not counted.
    kernel_seconds: dict[str, float] = field(default_factory=dict)

    def add_kernel_seconds(self, seconds: dict[str, float]) -> None:
        """Add the times of kernels."""
        for name, time in seconds.items():
            self.kernel_seconds[name] = self.kernel_seconds.get(name, 0.0) + time

    def kernels_since(self, before: Stats) -> dict[str, float]:
        """The times of kernels since an earlier measurement of the same run."""
        passed = {
            name: now - before.kernel_seconds.get(name, 0.0)
            for name, now in self.kernel_seconds.items()
        }
        return {name: seconds for name, seconds in passed.items() if seconds > 0}

    def plus(self, other: Stats) -> Stats:
        """The cost of two runs, one after the other."""
        total = Stats(
            dict(self.cells),
            self.launches,
            self.seconds + other.seconds,
            max(self.device_bytes, other.device_bytes),
            self.pruned + other.pruned,
            self.recomputed + other.recomputed,
            dict(self.kernel_seconds),
        )
        total.add_kernel_seconds(other.kernel_seconds)
        total.add_cost(other)
        return total

    @property
    def total_cells(self) -> int:
        """All cells computed."""
        return sum(self.cells.values())

    @property
    def gcups(self) -> float:
        """Computed cells per second, in units of 10**9; 0 without a time."""
        return self.total_cells / self.seconds / 1e9 if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.cells.items()) or "none"
        parts = [
            f"{self.seconds:.3f} s, {self.gcups:.2f} GCUPS",
            f"{self.total_cells:,} cells ({kinds})",
            f"{self.launches:,} launches",
        ]
        if self.pruned:
            parts.append(f"{self.pruned:,} cells pruned")
        if self.recomputed:
            parts.append(f"{self.recomputed:,} computed again after a failed check")
        if self.device_bytes:
            parts.append(f"{self.device_bytes / 2**20:.1f} MiB on the device")
        if self.kernel_seconds:
            times = (f"{name} {time:.3f} s" for name, time in self.kernel_seconds.items())
            parts.append(f"kernels: {', '.join(times)}")
        return "; ".join(parts)


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """The best alignment of a query and a target, or the part of it that was asked for.

    ``score`` is exact: an int, or a float when the scoring has halves.  Coordinates are 0-based
    and half-open; the starts are None for output "ends" and "score", the ends for "score", and
    ``runs`` is None unless the output is "path".  ``runs`` covers the aligned region only; gaps
    at free ends lie outside it.  ``query`` and ``target`` are whole `Sequence` objects, ``plan``
    is the plan of the run, and ``stats`` its cost.  ``execution`` says how its largest tile was
    computed (None: not on a device, in parts, with a checkpoint, of `align_top` or `trace_ends`).

    ``strand`` is "plus", or "minus" where the query's reverse complement is aligned: coordinates
    are those of both sequences as given, and ``runs`` follow the target.  So they go through the
    query from ``query_end`` down to ``query_start``, each letter complemented.
    ``free_ends``: which terminal gaps of a global alignment cost nothing, in `align`'s order.
    ``second_best`` is the highest score of an end outside the aligned letters, if it was asked for.
    ``tiles`` is a map of the highest scores and the pruned parts of the matrix.

    A gap of length k costs ``gap_open + k * gap_extend``.  ``print`` shows the pairwise text.
    """

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
    execution: Execution | None = None

    @property
    def cigar(self) -> str | None:
        """The path in SAM's extended CIGAR ('=', 'X', 'I', 'D'; I consumes query), or None."""
        return None if self.runs is None else self.runs.cigar

    @property
    def matches(self) -> int | None:
        """How many columns hold two letters that match ('='), or None without a path or where the
        query's letters are not known."""
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
        if self.runs is None:
            return None
        return sum(int((scores > 0).sum()) for scores in self._pair_scores())

    def region(self) -> tuple[Letters, Letters]:
        """The letters of the aligned region of both sequences; those of the query are reverse
        complemented on the minus strand.  Raises InputError without a path."""
        query, target = region_of(self)
        return query.read(0, len(query)), target.read(0, len(target))

    def _pair_scores(self) -> Iterator[NDArray[np.int32]]:
        if self.runs is None:
            raise InputError("there is no path to score; align with output='path'")
        scoring = self.scoring
        moves = (OP_TO_MOVE[ops] for ops in self.runs.pieces())

        def scores(_: Moves, query_on: Letters, target_on: Letters) -> NDArray[np.int32]:
            return scoring.pair_scores(query_on, target_on)

        region_of(self)  # refused if the letters have changed
        return on_diagonal(moves, *views_of(self), scores)

    def pair_scores(self) -> NDArray[np.int32]:
        """The substitution score, times ``scoring.scale``, of every '=' and 'X' column in turn.

        Raises InputError without a path and InternalError if path and coordinates disagree.
        """
        return np.concatenate([np.zeros(0, np.int32), *self._pair_scores()])

    def rescore(self) -> int | float:
        """The score recomputed from the path, the letters and the scoring alone.

        Equal to ``score`` for every alignment.  Raises InputError without a path and
        InternalError if path and coordinates disagree.
        """
        total = sum(int(scores.sum(dtype=np.int64)) for scores in self._pair_scores())
        scoring = self.scoring
        if self.runs is not None:
            total -= self.runs.gaps() * scoring.gap_open
            total -= self.runs.count("ID") * scoring.gap_extend
        return unscale(total, scoring)

    def left_aligned(self) -> Alignment:
        """This alignment with each gap at the first place behind the gap before it where the score
        is the same, along the target, as minimap2 has it and VCF; ``left_align`` of `align` does
        it.  Raises InputError without a path."""
        from .left_align import left_aligned

        return left_aligned(self)

    @property
    def aligned(self) -> tuple[str, str]:
        """The aligned letters with gaps; see :func:`pysw_cl.results.convert.aligned`."""
        return convert.aligned(self)

    def aligned_pairs(self) -> NDArray[np.int64]:
        """The positions in each column; see :func:`pysw_cl.results.convert.aligned_pairs`."""
        return convert.aligned_pairs(self)

    def coordinate_map(self, side: str = "query") -> NDArray[np.int64]:
        """Positions across; see :func:`pysw_cl.results.convert.coordinate_map`."""
        return convert.coordinate_map(self, side)

    def identities(self) -> dict[str, float]:
        """The identity by definition; see :func:`pysw_cl.results.convert.identities`."""
        return convert.identities(self)

    def to_dict(self) -> dict[str, Any]:
        """What the result says; see :func:`pysw_cl.results.convert.to_dict`."""
        return convert.to_dict(self)

    def to_numpy(self) -> NDArray[Any]:
        """What the result says as a structured array of one row; see
        :func:`pysw_cl.results.tables.to_numpy`."""
        from . import tables

        return tables.to_numpy(self)

    def to_pandas(self) -> Any:
        """What the result says as a DataFrame of one row; see
        :func:`pysw_cl.results.tables.to_pandas`."""
        from . import tables

        return tables.to_pandas(self)

    def to_skbio(self) -> Any:
        """scikit-bio's `PairAlignPath`; see :func:`pysw_cl.results.convert.to_skbio`."""
        return convert.to_skbio(self)

    def to_biopython(self) -> Any:
        """Biopython's `Alignment`; see :func:`pysw_cl.results.convert.to_biopython`."""
        return convert.to_biopython(self)

    def to_paf(self) -> str:
        """The line of a PAF file, without its line end."""
        from .formats import paf

        return paf.line(self)

    def __getitem__(self, columns: slice) -> Alignment:
        """Some columns of the path as an Alignment of the same sequences: ``alignment[10:50]``.

        Columns count from 0 in the path's order, gaps included, and from the end if negative.
        Coordinates are those of these columns in the whole sequences, on either strand.  ``score``
        is what they score by themselves: a gap that is cut pays for its opening in both parts.
        ``stats`` are empty.  Raises InputError without a path and for anything but a slice with a
        step of 1.
        """
        return sliced(self, columns)

    #: Columns are not iterated over: :meth:`aligned_pairs` has the positions of all of them.
    __iter__: None = None

    def __eq__(self, other: object) -> bool:
        """Results are equal if they say the same: sequences, scoring, coordinates and path.  What
        they cost does not count."""
        if not isinstance(other, Alignment):
            return NotImplemented
        letters = zip((self.query, self.target), (other.query, other.target), strict=True)
        return (
            self.to_dict() == other.to_dict()
            and (self.mode, self.free_ends) == (other.mode, other.free_ends)
            and self.scoring.facts() == other.scoring.facts()
            and all(a == b for a, b in letters)
        )

    def __hash__(self) -> int:
        return hash((self.score, self.query_end, self.target_end, len(self.query)))

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw the path over the matrix, with the highest score of each tile and the pruned areas:
        into a file (.png, .pdf, .svg), on matplotlib's axes ``ax``, or, without either, on a new
        figure, which notebooks show.  Returns the axes; None if there is only a file.

        Raises InputError without matplotlib (the extra ``plot``) or
        for an unknown format, and FormatError for a file that cannot be written."""
        from .plot import plot

        return plot(self, path, ax)

    def __repr__(self) -> str:
        query = _span("query", self.query, self.query_start, self.query_end)
        target = _span("target", self.target, self.target_start, self.target_end)
        known = "" if self.identity is None else f" identity={self.identity:.4f}"
        path = "" if self.runs is None else f"{known} runs={len(self.runs)}"
        minus = " minus" if self.strand == "minus" else ""
        return f"<Alignment {self.mode} score={self.score} {query}{minus} {target}{path}>"

    def __str__(self) -> str:
        from .formats import pair

        return pair.text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: at most 1,200 columns, coloured."""
        from . import notebook

        return notebook.html(self)


def region_of(found: Alignment) -> tuple[View, View]:
    """The aligned region of both sequences as views; see :meth:`Alignment.region`."""
    if found.query_start is None or found.target_start is None:
        raise InputError("it is not known where this alignment starts; align with output='path'")
    found.query.read(found.query_start, found.query_end)  # refused if they have changed
    found.target.read(found.target_start, found.target_end)
    return _views(found, found.query.letters)


def views_of(found: Alignment) -> tuple[View, View]:
    """What was compared of `region_of`, whether the letters have changed or not, of a path that is
    known."""
    query = found.query
    return _views(found, query.coded if found.scoring.by_position else query.letters)


def _views(found: Alignment, query: Codes) -> tuple[View, View]:
    minus = found.strand == "minus"
    table = COMPLEMENT if minus else None
    return (
        View(query, found.query_start or 0, found.query_end, minus, table),
        View(found.target.letters, found.target_start or 0, found.target_end),
    )


def unscale(score: int, scoring: Scoring) -> int | float:
    """The score a user sees: an integer, or a float if the scoring has halves."""
    return score if scoring.scale == 1 else score / scoring.scale


def _span(what: str, sequence: Sequence, start: int | None, end: int | None) -> str:
    known = ["?" if position is None else str(position) for position in (start, end)]
    shown = "" if start is end is None else f"[{':'.join(known)}]"
    return f"{what}{shown} of {len(sequence)}"
