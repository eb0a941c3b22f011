"""The queries of a search: checked, on the strands that are searched, with the better score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..drivers.job import check_complement
from ..drivers.options import SearchOptions
from ..engines.search.contract import Scores
from ..errors import InputError, PyswError, is_iterable
from ..scoring.positions import USUAL, PositionMatrix
from ..sequences.alphabet import COMPLEMENT, Letters, translated
from ..sequences.sequence import Sequence, as_sequence
from ..sequences.view import COMPARED
from .database import Database
from .prefilter import kmer_of


def checked(
    queries: Any, options: SearchOptions, db: Database
) -> Iterator[tuple[Sequence, PositionMatrix | None]]:
    """The queries, which can be searched, with the position matrices that they have."""
    single = isinstance(queries, (str, bytes, bytearray, Sequence, PositionMatrix, np.ndarray))
    if not single and not is_iterable(queries):
        kind = type(queries).__name__
        raise InputError(f"queries must be a sequence or an iterable of them, not a {kind}")
    for k, one in enumerate([queries] if single else queries):
        what = "query" if single else f"query number {k}"
        matrix = one if isinstance(one, PositionMatrix) else None
        query = as_sequence(one, what, alphabet=None) if matrix is None else matrix.sequence
        try:
            if matrix is None:
                scoring = options.scoring
                scoring.check_letters(query.letters, "query")
                if options.strand != "plus":
                    check_complement(query.letters, scoring)
                if len(query) < (least := kmer_of(options)):
                    raise InputError(
                        f"{len(query)} letters, and the k-mers of prefilter have {least}"
                    )
            elif options.prefilter:
                raise InputError("prefilter compares letters, and a position matrix has scores")
            else:
                own = {"strand": options.strand, "gap_cost": options.gap_cost}
                scoring = matrix.scoring_beside(USUAL | own)
                db.check_letters(scoring)
            scoring.bounds.check_range(len(query), db.longest, options.mode)
        except PyswError as error:
            name = f"query {query.name}" if query.name else f"query number {k}"
            raise type(error)(f"{name}: {error}") from None
        yield query, matrix


def on_strands(queries: list[Sequence], strand: str) -> list[Letters]:
    """The letters of queries on a strand; of "both" those of each on plus, and then on minus."""
    every = ((query.read(), one) for query in queries for one in COMPARED[strand])
    return [s if one == "plus" else translated(COMPLEMENT, s[::-1]) for s, one in every]


def better(scores: Iterator[Scores], strand: str) -> Iterator[Scores]:
    """The scores of each query, from those of `on_strands`: of "both" of the better one."""
    if strand != "both":
        yield from scores
        return
    for plus in scores:
        best = plus.copy()  # it is the engine's again when the next one is asked for
        yield np.maximum(best, next(scores), out=best)
