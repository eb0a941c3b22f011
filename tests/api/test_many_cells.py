"""Asking for less takes no more cells: a least score, the best of each query, fewer fields, parts
of the letters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from many import align_many_stats

from pysw_cl.cli.main import main

LETTERS = np.frombuffer(b"ACGT", np.uint8)
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")


def drawn(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Queries and targets: short or long, of which some have a piece of each other, on some
    strand."""
    targets = [LETTERS[rng.integers(0, 4, int(rng.choice([90, 400, 4000])))] for _ in range(3)]
    queries = []
    for _ in range(int(rng.integers(2, 24))):
        query = LETTERS[rng.integers(0, 4, int(rng.integers(20, 90)))]
        if rng.random() < 0.5:
            target = targets[rng.integers(0, 3)]
            start = int(rng.integers(0, max(1, len(target) - len(query))))
            query = target[start : start + len(query)].copy()
            query[rng.random(len(query)) < 0.05] = 65
        text = query.tobytes()
        queries.append(text if rng.random() < 0.5 else text.translate(COMPLEMENT)[::-1])
    return [text.decode() for text in queries], [text.tobytes().decode() for text in targets]


def cells_of(pairs: list[tuple[str, str]], **options: Any) -> int:
    return align_many_stats(pairs, **options)[1].total_cells


def check_python(seed: int) -> None:
    """All that fewer fields and a least score may change."""
    rng = np.random.default_rng(seed)
    queries, targets = drawn(rng)
    pairs = [(query, target) for query in queries for target in targets]
    how: dict[str, Any] = {
        "mode": str(rng.choice(["local", "local", "global"])),
        "strand": str(rng.choice(["plus", "both", "both", "minus"])),
    }
    if how["mode"] == "global" and rng.random() < 0.5:
        how["free_ends"] = (True, False)
    outputs = ["score", "ends", "path"]
    every = [cells_of(pairs, output=output, **how) for output in outputs]
    assert every == sorted(every), (seed, how, every)
    scores = align_many_stats(pairs, **how)[0]["score"]
    for output, most in zip(outputs, every, strict=True):
        least = float(rng.choice(scores)) + float(rng.choice([0, 0, 1]))
        found = cells_of(pairs, output=output, min_score=least, **how)
        assert found <= most, (seed, how, output, least, found, most)


def shell_cells(capsys: pytest.CaptureFixture[str], *argv: str) -> int:
    assert main(["align", "-v", *argv]) == 0
    said = capsys.readouterr().err
    found = re.search(r"([0-9,]+) cells", said)
    assert found is not None, said
    return int(found[1].replace(",", ""))


def check_shell(seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same of the command line, with the best of each query and parts of the letters, too."""
    rng = np.random.default_rng(seed)
    files = []
    for name, texts in zip("qt", drawn(rng), strict=True):
        lines = [f">{name}{k}\n{text}\n" for k, text in enumerate(texts)]
        (folder / name).write_text("".join(lines))
        files.append(str(folder / name))
    strand = ["--strand", str(rng.choice(["plus", "both"]))]
    every = shell_cells(capsys, *files, *strand)
    less: list[list[str]] = [["--top", "1"], ["--top", "2"], ["--min-score", "15"]]
    less += [["--target-range", "11-80"], ["--query-range", "3-20", "--top", "1"]]
    less += [["--output", "score"], ["--output", "ends", "--top", "1"]]
    for more in less:
        found = shell_cells(capsys, *files, *strand, *more)
        assert found <= every, (seed, strand, more, found, every)


@pytest.mark.parametrize("seed", range(6))
def test_less_never_takes_more(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_python(seed)
    if seed < 3:
        check_shell(seed, tmp_path, capsys)


@pytest.mark.long
def test_less_never_takes_more_500(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(500):
        check_python(seed)
        check_shell(seed, tmp_path, capsys)
