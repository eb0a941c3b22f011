"""`align_many` on CPUs: short queries and long targets, which are cut into pieces side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from many import skip_lanes

import pysw_cl
from pysw_cl.drivers import batch
from pysw_cl.errors import SequenceError

#: All pairs are large enough, and none is.
PIECES, WHOLE = {"pairs.alone_cells": 0}, {"pairs.alone_cells": 0, "pairs.piece_rows": 0}


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs were compared in pieces at once, and how many pieces they were."""
    skip_lanes("vector")
    counts: list[int] = []
    real = batch.Pieces

    def counted(part: Any, reach: Any, size: int) -> Any:
        pieces = real(part, reach, size)
        counts.extend((len(part), len(pieces.part)))
        return pieces

    monkeypatch.setattr(batch, "Pieces", counted)
    monkeypatch.setattr(batch, "FULL", 0)  # however many lanes there are
    return counts


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """Queries of up to 30 letters; targets with copies of them, on both strands, some of which are
    cut by the border of a piece, and targets that say little."""
    rng = np.random.default_rng(5)

    def text(length: int, letters: str = "ACGT") -> str:
        return "".join(rng.choice(list(letters), length))

    queries = [text(int(rng.integers(1, 30))) for _ in range(12)]
    queries += ["A" * 20, "N" * 9]
    targets = [text(4000), "A" * 3000, "C" * 3500, "ACG" * 1300, text(3000, "AC")]
    targets.append("".join(query + text(int(rng.integers(0, 9))) for query in queries * 20))
    back = str.maketrans("ACGT", "TGCA")
    targets.append("".join(query.translate(back)[::-1] + "GT" for query in queries * 12))
    every = [(query, target) for query in queries for target in targets]
    return [*every[:40], ("ACGTTGCA", "TGCAACGT"), *every[40:]]


@pytest.mark.parametrize("output", ["score", "ends", "matches", "path"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strand": "both"},
        {"strand": "minus", "gap_cost": (2, 0.5)},
        {"mode": "global", "free_ends": (True, True, False, False)},
        {"mode": "global", "free_ends": (True, True, False, False), "strand": "both"},
        {"min_score": 12, "strand": "both"},
        {"min_score": 12},
    ],
)
def test_the_same_rows_as_in_one_piece(
    pairs: list[tuple[str, str]], cut: list[int], output: str, options: dict[str, Any]
) -> None:
    whole = pysw_cl.align_many(pairs, output=output, plan=WHOLE, **options)
    assert not cut
    found = pysw_cl.align_many(pairs, output=output, plan=PIECES, **options)
    assert found.dtype == whole.dtype
    for name in whole.dtype.names:
        assert found[name].tolist() == whole[name].tolist(), name
    assert cut[0] == len(pairs) - 1 and cut[1] > 3 * cut[0]


def test_what_cannot_be_cut(
    pairs: list[tuple[str, str]], cut: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No border of a piece is as the whole matrix's, or nothing bounds paths."""
    for options in ({"mode": "global"}, {"gap_cost": (2, 0), "allow_odd_scoring": True}):
        pysw_cl.align_many(pairs, plan=PIECES, **options)
    monkeypatch.setattr(batch, "FULL", 1 << 20)
    pysw_cl.align_many(pairs, plan=PIECES)  # too few for all lanes
    assert not cut


def test_a_wrong_letter_has_the_number_of_its_pair(pairs: list[tuple[str, str]]) -> None:
    for wrong in (("AC!T", pairs[7][1]), (pairs[7][0], pairs[7][1][:-1] + "!")):
        with pytest.raises(SequenceError, match=r"^pair 7: letter '!'") as found:
            pysw_cl.align_many([*pairs[:7], wrong, *pairs[8:]], plan=PIECES)
        assert found.value.pair == 7


def test_progress_ends_with_all(pairs: list[tuple[str, str]], cut: list[int]) -> None:
    for options in ({}, {"output": "path", "strand": "both"}, {"output": "path", "min_score": 9}):
        told: list[tuple[int, int]] = []
        pysw_cl.align_many(
            pairs,
            plan=PIECES,
            progress=lambda done, total, stage, told=told: told.append((done, total)),
            **options,
        )
        assert told[-1][0] == told[-1][1] and told == sorted(told)
    assert cut
