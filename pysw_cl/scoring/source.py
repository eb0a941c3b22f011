"""Where the scores of letter pairs come from: what kernels and the reference are told of them.

A source says it in plain values.  Nobody else asks which kind of source there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int32]

#: The padding of a target that cl/score/permute4.clh reads.
PAD4 = 8
#: Letters of a matrix of nucleotides at most, ambiguous ones included.
FEW_LETTERS = 16


def letter_codes(
    matrix: Table, never: list[bool]
) -> tuple[tuple[int, int] | None, list[int], list[int], Table]:
    """(match, mismatch) if these two scores make up a matrix, else None; the codes of query and
    target letters; and the scores of the codes.  ``never``: which letters match nothing.

    For compare and select, all letters that never match share one code in the query and another one
    in the target.  Else letters with the same row and column share a code."""
    diagonal, alone = np.diagonal(matrix), np.array(never)
    others = matrix[~np.eye(len(matrix), dtype=bool)]
    mismatch = int(others[0] if len(others) else diagonal[0])
    matches = {*diagonal.tolist()} - {mismatch}
    if (others != mismatch).any() or len(matches) > 1 or (diagonal[alone] != mismatch).any():
        keys = [a.tobytes() + b.tobytes() for a, b in zip(matrix, matrix.T, strict=True)]
        places = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        codes, firsts = [places[key] for key in keys], [keys.index(key) for key in places]
        return None, codes, codes, np.ascontiguousarray(matrix[np.ix_(firsts, firsts)])
    match = mismatch
    if matches:
        (match,) = matches
        alone |= diagonal == mismatch
    count, order = int((~alone).sum()), (~alone).cumsum() - 1
    query, target = (np.where(alone, count + k, order).tolist() for k in (0, 1))
    same = np.eye(count + 2 * int(alone.any()), dtype=bool)
    return (match, mismatch), query, target, np.where(same, np.int32(match), np.int32(mismatch))


@dataclass(frozen=True, eq=False)
class MatrixScores:
    """Any score for each query code, which may be a position of the query, and target code."""

    #: ``table[q, t]`` (int32, letters or positions x letters).
    table: Table
    #: (match, mismatch) if equal codes score one and different ones the other.
    pair: tuple[int, int] | None = None
    #: Are query codes positions?
    positions: bool = False

    @cached_property
    def code(self) -> np.dtype[Any]:
        return np.dtype(np.uint16 if self.positions else np.uint8)

    @cached_property
    def defines(self) -> dict[str, int]:
        """The macros of kernels that read query codes."""
        return {"WIDE_CODES": 1} if self.positions else {}

    @cached_property
    def few(self) -> bool:
        """Are there few letters, or count they alike?"""
        return not self.positions and (self.pair is not None or len(self.table) <= FEW_LETTERS)

    @cached_property
    def symmetric(self) -> bool:
        return not self.positions and bool(np.array_equal(self.table, self.table.T))

    def compared(self) -> tuple[int, int] | None:
        """(match, mismatch) if compare and select give every score; padding is a mismatch, so that
        is not positive.  Else None."""
        return None if self.pair is None or self.pair[1] > 0 else self.pair

    @property
    def key(self) -> Any:
        """What the time of a comparison depends on: position matrices of such scores are alike."""
        if self.positions:
            return "positions", self.table.shape[1], int(self.table.min()), int(self.table.max())
        return self.compared() or self.table.tobytes()

    @cached_property
    def file(self) -> str:
        """The score file of cl/score for 32-bit lanes."""
        return "matrix" if self.compared() is None else "match"

    def pads(self, file: str) -> tuple[int, int]:
        """The codes of query padding and of target padding for a score file.  Neither scores above
        0 (by "permute4" only in narrow lanes; in 32-bit ones no cell depends on it)."""
        query, target = self.table.shape
        return (254, 253) if file == "match" else (query, PAD4 if file == "permute4" else target)

    def arguments(self, file: str, upload: Callable[[Table], Any], lift: int = 0) -> dict[str, Any]:
        """The arguments of a score file, by name: numbers, and what ``upload`` makes of an array.
        ``lift``: what the skew adds to a diagonal step.  A table has one more row and column, for
        padding, whose scores are not positive."""
        if file == "match":
            assert self.pair is not None
            return {"match": self.pair[0], "mismatch": self.pair[1], "lift": lift}
        padded, (q, t) = self._padded, self._padded.shape
        if file == "matrix":
            return {"matrix": upload(padded.ravel()), "wide": t, "lift": lift}
        words = np.zeros((q, 4), np.int8)
        words[:, : min(4, t)] = padded[:, :4] + lift
        return {"words": upload(words.view("<i4")), "lift": lift}

    @cached_property
    def _padded(self) -> Table:
        q, t = self.table.shape
        padded = np.full((q + 1, t + 1), min(0, int(self.table.min())), np.int32)
        padded[:q, :t] = self.table
        return padded

    def sizes(self, file: str) -> tuple[int, int]:
        """Bytes of the array of a score file, and the letters of a row of query profiles."""
        q, t = self.table.shape
        least = {"match": (0, 0), "permute4": (4 * (q + 1), 0)}
        return least.get(file, (4 * (q + 1) * (t + 1), t + 1))
