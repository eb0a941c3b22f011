"""Gap costs of other programs as this package takes them: ``gap_cost=gaps.from_parasail(11, 1)``.

Here, a gap of k letters costs ``open + k * extend``.  Programs differ in whether the first letter
pays the extension, too, and in the sign."""

from __future__ import annotations

import numbers
from typing import Any

from ..errors import ScoringError, is_number, shown

Number = int | float


def from_blast(existence: Number, extension: Number) -> tuple[Number, Number]:
    """BLAST's costs: "existence 11, extension 1" (-gapopen 11 -gapextend 1) is (11, 1), as here.

    Raises ScoringError for 0 and 0, megablast's default, which is no cost of 0: a letter of a gap
    then costs ``match / 2 - mismatch`` (BLAST+ user manual, appendix, -gapextend)."""
    if (found := _checked(existence, extension)) == (0, 0):
        raise ScoringError(
            "gap costs of 0 and 0 make megablast take match / 2 - mismatch a letter: give that as "
            "one number, such as gap_cost=2.5 for its scores (1, -2)"
        )
    return found


def from_parasail(open: Number, extend: Number) -> tuple[Number, Number]:
    """parasail's costs: a gap of k letters costs ``open + (k - 1) * extend`` (Daily 2016, BMC
    Bioinformatics 17, 81)."""
    return _first_and_next(open, extend, "open", "extend")


def from_emboss(gapopen: Number = 10, gapextend: Number = 0.5) -> tuple[Number, Number]:
    """EMBOSS's costs (water, needle): ``gapopen + (k - 1) * gapextend``, by default 10 and 0.5."""
    return _first_and_next(gapopen, gapextend, "gapopen", "gapextend")


def from_cudalign(first: Number = 5, extension: Number = 2) -> tuple[Number, Number]:
    """CUDAlign's costs: those of the first letter of a gap and of each further one."""
    return _first_and_next(first, extension, "first", "extension")


def from_biopython(open_gap_score: Number, extend_gap_score: Number) -> tuple[Number, Number]:
    """The scores of Biopython's PairwiseAligner, which are negative and are added: that of the
    first letter of a gap and of each further one."""
    for score in (open_gap_score, extend_gap_score):
        if not is_number(score) or score > 0:
            raise ScoringError(
                f"Biopython's gap scores are 0 or negative, such as -10; not {shown(score)}"
            )
    return _first_and_next(-open_gap_score, -extend_gap_score, "open_gap_score", "extend_gap_score")


def from_bwa(gap_open: Any = 6, gap_extend: Any = 1) -> tuple[Number, Number]:
    """bwa mem's -O and -E: a gap of k letters costs ``O + k * E``, as here (its manual, -E).

    Raises ScoringError for costs of deletions that are not those of insertions (``-O 6,8``): gaps
    in query and target cost the same here."""
    opens, extends = _pieces(gap_open), _pieces(gap_extend)
    if len({*opens}) > 1 or len({*extends}) > 1:
        raise ScoringError(
            "bwa's -O and -E with two numbers each give deletions and insertions costs of their "
            "own; here both cost the same: give one O and one E"
        )
    return opens[0], extends[0]


def from_fasta(f: Number, g: Number) -> tuple[Number, Number]:
    """FASTA's -f and -g, in either sign: ``f + k * g``, as here."""
    return _checked(*(abs(x) if isinstance(x, numbers.Real) else x for x in (f, g)))


def from_minimap2(gap_open: Any, gap_extend: Any) -> tuple[Number, Number]:
    """minimap2's -O and -E with one number each: ``O + k * E``, as here (its manual, -E).

    Raises ScoringError for its two-piece costs (``-O4,24 -E2,1``, its default), where long gaps are
    cheaper: one affine cost cannot say that.  Two pieces are the first one if that is never dearer.
    """
    opens, extends = _pieces(gap_open), _pieces(gap_extend)
    if opens[-1] >= opens[0] and extends[-1] >= extends[0]:
        return opens[0], extends[0]
    raise ScoringError(
        "minimap2's two-piece gap cost is the cheaper one of two, O1 + k * E1 or O2 + k * E2; "
        "this package has one, open + k * extend: give one O and one E, such as the first of "
        "each, which is the cost of short gaps"
    )


def _pieces(value: Any) -> list[Any]:
    """The one or two numbers of an option such as ``4,24``."""
    parts = value.split(",") if isinstance(value, str) else value
    found = list(parts) if isinstance(parts, list | tuple) else [parts]
    try:
        found = [float(x) if isinstance(x, str) else x for x in found]
    except ValueError:
        found = []
    if not 1 <= len(found) <= 2:
        raise ScoringError(
            f"this option has one number or two, as in 4 or 4,24; not {shown(value)}"
        )
    return list(_checked(*found))


def _first_and_next(first: Number, further: Number, *names: str) -> tuple[Number, Number]:
    _checked(first, further)
    if first < further:
        raise ScoringError(
            f"{names[0]}={first} is less than {names[1]}={further}: the first letter of a gap "
            "would cost less than each further one"
        )
    return first - further, further


def _checked(*costs: Any) -> tuple[Any, ...]:
    for cost in costs:
        if not is_number(cost) or cost < 0:
            raise ScoringError(f"gap costs are numbers of at least 0, not {shown(cost)}")
    return costs
