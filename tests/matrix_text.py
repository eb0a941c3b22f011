"""Matrices as files have them."""

from __future__ import annotations

from pysw_cl.scoring.matrices import load_matrix


def text_of(name: str) -> str:
    """A named matrix as NCBI writes it."""
    values, letters = load_matrix(name)
    rows = [
        f"{c} {' '.join(map(str, row))}" for c, row in zip(letters, values.tolist(), strict=True)
    ]
    return "\n".join([f"#  {name}", "   " + "  ".join(letters), *rows, ""])
