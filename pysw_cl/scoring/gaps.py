"""Gap costs of other programs as this package takes them: ``gap_cost=gaps.from_parasail(11, 1)``.

Here, a gap of k letters costs ``open + k * extend``.  Programs differ in whether the first letter
pays the extension, too, and in the sign.
"""

from __future__ import annotations

import numbers
from typing import Any

from ..errors import ScoringError

Number = int | float


def from_blast(existence: Number, extension: Number) -> tuple[Number, Number]:
    """BLAST's costs: "existence 11, extension 1" is (11, 1), as here."""
    return _checked(existence, extension)


def from_parasail(open: Number, extend: Number) -> tuple[Number, Number]:
    """parasail's costs: a gap of k letters costs ``open + (k - 1) * extend``."""
    return _first_and_next(open, extend, "open", "extend")


def from_emboss(gapopen: Number = 10, gapextend: Number = 0.5) -> tuple[Number, Number]:
    """EMBOSS's costs (water, needle): ``gapopen + (k - 1) * gapextend``."""
    return _first_and_next(gapopen, gapextend, "gapopen", "gapextend")


def from_cudalign(first: Number = 5, extension: Number = 2) -> tuple[Number, Number]:
    """CUDAlign's costs: those of the first letter of a gap and of each further one."""
    return _first_and_next(first, extension, "first", "extension")


def from_biopython(open_gap_score: Number, extend_gap_score: Number) -> tuple[Number, Number]:
    """The scores of Biopython's PairwiseAligner, which are negative and are added: that of the
    first letter of a gap and of each further one."""
    _checked(-open_gap_score, -extend_gap_score)
    return _first_and_next(-open_gap_score, -extend_gap_score, "open_gap_score", "extend_gap_score")


def from_bwa(gap_open: Number = 6, gap_extend: Number = 1) -> tuple[Number, Number]:
    """bwa mem's -O and -E: ``O + k * E``, as here."""
    return _checked(gap_open, gap_extend)


def from_fasta(f: Number, g: Number) -> tuple[Number, Number]:
    """FASTA's -f and -g, in either sign: ``f + k * g``, as here."""
    return _checked(abs(f), abs(g))


def from_minimap2(gap_open: Any = 4, gap_extend: Any = 2) -> tuple[Number, Number]:
    """minimap2's -O and -E with one number each: ``O + k * E``, as here.

    Raises ScoringError for its two-piece costs (``-O4,24 -E2,1``, its default), where long gaps are
    cheaper: one affine cost cannot say that.
    """
    pairs = [
        value.split(",") if isinstance(value, str) else value for value in (gap_open, gap_extend)
    ]
    if any(isinstance(value, list | tuple) and len(value) > 1 for value in pairs):
        raise ScoringError(
            "minimap2's two-piece gap cost is the cheaper one of two, O1 + k * E1 or O2 + k * E2; "
            "this package has one, open + k * extend: give one O and one E, such as the first of "
            "each, which is the cost of short gaps"
        )
    first = [value[0] if isinstance(value, list | tuple) else value for value in pairs]
    costs = [float(x) if isinstance(x, str) else x for x in first]
    return _checked(costs[0], costs[1])


def _first_and_next(first: Number, further: Number, *names: str) -> tuple[Number, Number]:
    _checked(first, further)
    if first < further:
        raise ScoringError(
            f"{names[0]}={first} is less than {names[1]}={further}: the first letter of a gap "
            "would cost less than each further one"
        )
    return first - further, further


def _checked(first: Any, second: Any) -> tuple[Number, Number]:
    for cost in (first, second):
        if isinstance(cost, bool) or not isinstance(cost, numbers.Real) or not float(cost) >= 0:
            raise ScoringError(f"gap costs are numbers of at least 0, not {cost!r}")
    return first, second
