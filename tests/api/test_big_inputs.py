"""Long inputs: what is read by pieces is what is there, and memory stays near one byte a letter."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from helpers import IMPORTS, read_moves, tune

from pysw_cl import align
from pysw_cl.drivers.job import make_frames
from pysw_cl.errors import SequenceError
from pysw_cl.results import cigar
from pysw_cl.results.alignment import Alignment
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.sequences import alphabet, opening, reading, sequence
from pysw_cl.sequences.reading import read_fasta, read_sequences
from pysw_cl.sequences.sequence import Sequence, as_letters
from pysw_cl.sequences.view import View

ROOT = Path(__file__).resolve().parents[2]
ACGT = np.frombuffer(b"ACGT", np.uint8)

#: Reads a file in a process of its own and says how much its memory grew, in bytes.
READER = """
import resource, sys
from pysw_cl.scoring.scoring import make_scoring
from pysw_cl.drivers.job import make_frames
from pysw_cl.sequences.reading import read_fasta
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
scoring, before = make_scoring(), peak()
record, = read_fasta(sys.argv[1])
make_frames(record, record, (None, None), "both", scoring)
print(len(record), peak() - before)
"""


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    tune(monkeypatch, {"traceback.read_moves": request.param})
    for module in (alphabet, opening, reading, sequence, cigar):
        monkeypatch.setattr(module, "PIECE", request.param)


# Pieces


def by_lines(data: bytes) -> list[tuple[str, str, str]]:
    """FASTA line by line, as it is defined."""
    found: list[list[str]] = []
    for line in data.decode().split("\n"):
        if line.startswith(">"):
            name, _, description = line[1:].strip().partition(" ")
            found.append([name, description.strip(), ""])
        elif found:
            found[-1][2] += "".join(line.split()).upper()
    return [(name, description, letters) for name, description, letters in found]


@pytest.mark.parametrize("small_pieces", [8, 9, 13, 64], indirect=True)
@pytest.mark.usefixtures("small_pieces")
def test_any_file_by_pieces(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "x.fa"
    for _ in range(150):
        end = rng.choice(["\n", "\r\n"])
        parts = [end * int(rng.integers(0, 3))]
        for k in range(int(rng.integers(1, 6))):
            header = f">r{k} {'about it ' * int(rng.integers(0, 4))}".rstrip()
            lines = ["".join(rng.choice(list("acgTN>*"), rng.integers(0, 20))) for _ in range(3)]
            lines = [line.lstrip(">") for line in lines]
            parts += [header, end, "A", end.join(lines), end, " \t" + end * int(rng.integers(0, 3))]
            if not parts[-1].endswith("\n"):
                parts.append(end)
        data = "".join(parts).encode()
        data = data.rstrip() if rng.random() < 0.3 else data
        path.write_bytes(gzip.compress(data) if rng.random() < 0.3 else data)
        found = [(s.name, s.description, s.letters.tobytes().decode()) for s in read_fasta(path)]
        assert found == by_lines(data)


@pytest.mark.parametrize("small_pieces", [8, 64, 1000], indirect=True)
@pytest.mark.usefixtures("small_pieces")
def test_any_fastq_by_pieces(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    path = tmp_path / "x.fq"
    for _ in range(100):
        end = rng.choice(["\n", "\r\n"])
        expected, data = [], "".join(end * int(rng.integers(0, 3)))
        for k in range(int(rng.integers(1, 6))):
            letters = "".join(rng.choice(list("acgTN"), rng.integers(1, 40)))
            quality = "".join(chr(code) for code in rng.integers(33, 127, len(letters)))
            again = rng.choice(["", f"r{k}", f"r{k} about it"])
            data += f"@r{k} about it{end}{letters}{end}+{again}{end}{quality}{end}"
            data += rng.choice(["", end, " " + end])
            expected.append((f"r{k}", letters.upper(), quality))
        data = data.rstrip() if rng.random() < 0.3 else data
        path.write_bytes(gzip.compress(data.encode()) if rng.random() < 0.3 else data.encode())
        found = [(s.name, str(s), np.asarray(s.quality).tobytes().decode())
                 for s in read_sequences(path)]  # fmt: skip
        assert found == expected


@pytest.mark.parametrize("small_pieces", [8, 16], indirect=True)
@pytest.mark.usefixtures("small_pieces")
def test_positions_of_wrong_letters_across_pieces(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    for at in (1, 7, 8, 9, 31, 40):
        letters = b"A" * (at - 1) + b"-" + b"C" * 20
        lines = b"\n".join(letters[k : k + 6] for k in range(0, len(letters), 6))
        path.write_bytes(b">x\n" + lines)
        with pytest.raises(SequenceError, match=rf"record 'x' .*'-' at position {at};"):
            list(read_fasta(path))
        scoring = make_scoring()
        for bad, words in (
            (b"!", "letter '!' at"),
            (b".", "gap character '.'"),
            (b"\n", "a line break"),
        ):
            text = letters.replace(b"-", bad)
            whole = Sequence("", "", np.frombuffer(text, np.uint8))
            with pytest.raises(SequenceError, match=rf"{words}.* position {at}\b"):
                make_frames(whole, whole, (None, None), "plus", scoring)


@pytest.mark.parametrize("small_pieces", [1, 3, 8], indirect=True)
@pytest.mark.usefixtures("small_pieces")
def test_paths_by_pieces() -> None:
    rng = np.random.default_rng(4)
    scoring = make_scoring((2, -3), (5, 1))
    for _ in range(60):
        moves = rng.choice(3, int(rng.integers(1, 60)), p=[0.8, 0.1, 0.1]).astype(np.uint8)
        query = rng.choice(ACGT[:2], int((moves != 1).sum())).astype(np.uint8)
        target = rng.choice(ACGT[:2], int((moves != 2).sum())).astype(np.uint8)
        runs, score = read_moves(moves, query, target, scoring)
        pairs = zip(list(runs), list(runs)[1:], strict=False)
        assert all(one[0] != other[0] for one, other in pairs)
        columns = runs.columns()
        on = moves == 0
        same = query[on[moves != 1]] == target[on[moves != 2]]
        assert np.array_equal(columns[on], np.where(same, ord("="), ord("X")))
        assert np.array_equal(columns == ord("D"), moves == 1)
        ends = len(query), len(target)
        r = Alignment(0, "global", Sequence("", "", query), Sequence("", "", target), scoring,
                      0, ends[0], 0, ends[1], runs)  # fmt: skip
        assert r.pair_scores().tolist() == np.where(same, 2, -3).tolist()
        gaps = 5 * runs.in_gaps()[0] + runs.count("ID")
        assert score == r.rescore() == int(np.where(same, 2, -3).sum()) - gaps


@pytest.mark.parametrize("small_pieces", [1, 3, 8], indirect=True)
@pytest.mark.usefixtures("small_pieces")
def test_views_translate_by_pieces() -> None:
    letters = as_letters("ACGTTGCAANRY")
    table = np.arange(256, dtype=np.uint8)[::-1].copy()
    for reverse in (False, True):
        view = View(letters, 1, 11, reverse, table)
        whole = 255 - letters[1:11]
        whole = whole[::-1] if reverse else whole
        assert view.read(0, 10).tolist() == whole.tolist()
        assert view.slice(2, 9).read(1, 6).tolist() == whole[3:8].tolist()
        assert len(view.read(4, 4)) == 0


# Memory


def write_long(path: Path, letters: int) -> None:
    """A FASTA file of one record with so many letters (whole lines of 60)."""
    rng = np.random.default_rng(7)
    lines = np.full((letters // 60 // 10, 61), ord("\n"), np.uint8)
    lines[:, :60] = rng.choice(np.frombuffer(b"acgtACGTN", np.uint8), (len(lines), 60))
    pack = gzip.open if path.suffix == ".gz" else open
    options = {"compresslevel": 1} if path.suffix == ".gz" else {}
    with pack(path, "wb", **options) as file:  # type: ignore[operator]
        file.write(b">long one\n")
        for _ in range(10):
            file.write(lines.tobytes())


def grown(path: Path) -> tuple[int, int]:
    """(letters, bytes that a process grew by at its peak) for reading and checking a file."""
    resource = pytest.importorskip("resource")
    assert resource
    env = dict(os.environ, PYTHONPATH=IMPORTS)
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, env=env, timeout=300
    )
    assert done.returncode == 0, done.stderr
    letters, growth = map(int, done.stdout.split())
    return letters, growth


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is counted in kB on Linux")
@pytest.mark.parametrize(
    ("letters", "suffix"),
    [
        (12_000_000, ".fa"),
        (12_000_000, ".fa.gz"),
        pytest.param(100_000_200, ".fa", marks=pytest.mark.long),
        pytest.param(60_000_000, ".fa.gz", marks=pytest.mark.long),
    ],
)
def test_a_record_takes_a_byte_a_letter(tmp_path: Path, letters: int, suffix: str) -> None:
    """Reading, checking and preparing both strands: the letters, and a few pieces of memory."""
    path = tmp_path / f"long{suffix}"
    write_long(path, letters)
    found, growth = grown(path)
    assert found == letters // 600 * 600
    assert growth < 1.15 * found + (12 << 20)


def test_a_record_is_let_go_before_the_next_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_bytes(b"".join(b">%d\n%s\n" % (k, b"ACGT" * 2_000_000) for k in range(3)))
    stream = read_fasta(path)
    tracemalloc.start()
    for _ in range(3):
        assert len(next(stream)) == 8_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15_000_000


def test_codes_take_no_memory_of_their_own() -> None:
    letters = np.resize(ACGT, 20_000_000)
    whole = Sequence("x", "", letters)
    scoring = make_scoring()
    tracemalloc.start()
    frames = make_frames(whole, whole, (None, None), "both", scoring)
    for frame in frames:
        query, target = frame.codes(scoring.query_encoding, scoring.target_encoding)
        assert query.slice(5, 1000).read(3, 900).tolist() == query.read(8, 905).tolist()
        assert len(target.read(10, 1_000_010)) == 1_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_a_memory_map_of_letters_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "letters"
    path.write_bytes(b"ACGT" * 5000 + b"GATTACA" + b"\n!" * 5000)
    mapped = np.memmap(path, np.uint8, "r")
    for target in (mapped, Sequence("mapped", "", mapped)):
        r = align("GATTACA", target, target_range=(19_000, 20_007), plan={"engine": "reference"})
        assert (r.score, r.target_start, r.target_end) == (7, 20_000, 20_007)
        assert np.shares_memory(r.target.letters, mapped)


def test_a_long_path_takes_little_beside_its_moves() -> None:
    rng = np.random.default_rng(2)
    count = 8_000_000
    moves = np.zeros(count, np.uint8)
    moves[rng.integers(0, count, 4000)] = 1
    moves[rng.integers(0, count, 4000)] = 2
    query = np.resize(ACGT, int((moves != 1).sum()))
    target = np.resize(ACGT, int((moves != 2).sum()))
    scoring = make_scoring()
    target[1::50_000] = ord("N")
    tracemalloc.start()
    runs, score = read_moves(moves, query, target, scoring)
    r = Alignment(0, "global", Sequence("", "", query), Sequence("", "", target), scoring,
                  0, len(query), 0, len(target), runs)  # fmt: skip
    total = r.rescore()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gaps = 3 * runs.in_gaps()[0] + 2 * runs.count("ID")
    assert score == total == runs.count("=") - 3 * runs.count("X") - gaps
    bytes_a_run = 200  # runs are pieces of arrays first, and short ones where letters differ
    assert peak < (48 << 20) + bytes_a_run * len(runs)
