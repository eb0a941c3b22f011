"""Results as users get them: what other libraries, files and notebooks show of them."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, whole_number
from ..scoring.statistics import MOST_LETTERS
from . import tables
from .aligned_pair import AlignedPair
from .cigar import merged

if TYPE_CHECKING:
    from ..scoring.statistics.law import ScoreStatistics


class Alignment(AlignedPair):
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
    Hits of a search may have ``expect``, how many unrelated sequences of a search of that size
    score as much (BLAST's E-value), and ``bits``, the bit score; both are not rounded.
    ``tiles`` is a map of the highest scores and the pruned parts of the matrix.

    A gap of length k costs ``gap_open + k * gap_extend``.  ``print`` shows the pairwise text."""

    def evalue(
        self, db_letters: int | None = None, statistics: ScoreStatistics | None = None
    ) -> float:
        """The E-value: how many alignments with unrelated sequences, ``db_letters`` letters in all
        (default: the target's), score as much.  ``statistics``: what `pysw_cl.score_statistics` has
        for the scoring; by default NCBI's.  Raises InputError for a global alignment, and where
        NCBI has none."""
        from ..scoring.statistics import law as laws
        from ..scoring.statistics.published import published

        law = published(self.scoring) if statistics is None else statistics
        if self.mode != "local" or not isinstance(law, laws.ScoreStatistics):
            raise InputError(
                "E-values are for mode='local'; for a scoring that NCBI has no parameters of give "
                "statistics=pysw_cl.score_statistics(...), which fits them"
            )
        letters = max(1, len(self.target))
        if db_letters is not None:
            letters = whole_number(db_letters, "db_letters", 1, most=MOST_LETTERS)
        return float(law.evalues(self.score, len(self.query), max(1, len(self.target)), letters))

    def to_numpy(self) -> NDArray[Any]:
        """What the result says as a structured array of one row; see `pysw_cl.to_numpy`."""
        return tables.to_numpy(self)

    def to_pandas(self) -> Any:
        """What the result says as a DataFrame of one row; see `pysw_cl.to_pandas`."""
        return tables.to_pandas(self)

    def to_skbio(self) -> Any:
        """The path as scikit-bio's `PairAlignPath`, whose ranges are those of the aligned region.

        scikit-bio's I and D are swapped against SAM's.  Raises InputError without a path, without
        scikit-bio, and on the minus strand, as its paths are of sequences as they are given."""
        runs = self.path
        if self.strand == "minus":
            raise InputError(
                "scikit-bio's paths have no strand; align the reverse complement itself"
            )
        try:
            from skbio.alignment import PairAlignPath
        except ImportError as error:
            raise InputError(f"this needs scikit-bio: pip install scikit-bio ({error})") from None
        moves, lengths, _ = merged(runs)  # its states have the same numbers
        ranges = [[self.query_start, self.query_end], [self.target_start, self.target_end]]
        return PairAlignPath(lengths, moves, ranges=np.array(ranges, np.intp))

    def to_biopython(self) -> Any:
        """The result as Biopython's `Alignment`, target first as in its own, with its ``score``.

        On the minus strand the query's coordinates fall, as in its own.  Sequences without a name
        are called "target" and "query".  Raises InputError without a path and without Biopython."""
        coordinates = self.corners()
        try:
            from Bio import Align
            from Bio.Seq import Seq
            from Bio.SeqRecord import SeqRecord
        except ImportError as error:
            raise InputError(f"this needs Biopython: pip install biopython ({error})") from None
        records = [
            SeqRecord(Seq(one.read().tobytes()), id=one.name or what, description=one.description)
            for one, what in ((self.target, "target"), (self.query, "query"))
        ]
        made: Any = getattr(Align, "Alignment")(records, coordinates)  # noqa: B009 - untyped there
        made.score = self.score
        return made

    def to_paf(self) -> str:
        """The line of a PAF file, without its line end; "" for an alignment without columns.
        Raises InputError without a path."""
        from .formats.paf import Writer
        from .formats.writer import Setting, row_of

        return Writer(Setting()).text([row_of(self)]).rstrip("\n")

    def plot(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw the path over the matrix, with the highest score of each tile and the pruned areas:
        into a file (.png, .pdf, .svg), on matplotlib's axes ``ax``, or, without either, on a new
        figure, which notebooks show.  Returns the axes; None if there is only a file.  Raises
        InputError without matplotlib (the extra ``plot``) or for an unknown format, and FormatError
        for a file that cannot be written."""
        from .plot import draw, drawn

        return drawn(partial(draw, self), path, ax)

    def plot_timeline(self, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
        """Draw ``stats.spans``, what each device computed when, and the share of the time in which
        it was busy.  As `plot`; raises InputError for a run without ``timeline=True``, too."""
        from . import plot, timeline_plot

        return plot.drawn(partial(timeline_plot.draw, self.stats), path, ax)

    def __str__(self) -> str:
        from .formats import pair

        return pair.text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: at most 1,200 columns, coloured."""
        from .formats import pair

        return pair.html(self)
