"""Compressed files: blocks that gzip reads, and that samtools and tabix index."""

from __future__ import annotations

import gzip
import io
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest
from writing import named, random_results

import pysw_cl
from pysw_cl.results.formats.files import BlockGzip


def blocks(data: bytes) -> list[bytes]:
    """What each block holds, by its own size, checksum and length."""
    found, at = [], 0
    while at < len(data):
        assert data[at : at + 16] == bytes.fromhex("1f8b08040000000000ff060042430200")
        size = int(struct.unpack("<H", data[at + 16 : at + 18])[0]) + 1
        part = zlib.decompress(data[at + 18 : at + size - 8], -15)
        assert struct.unpack("<II", data[at + size - 8 : at + size]) == (
            zlib.crc32(part),
            len(part),
        )
        found.append(part)
        at += size
    return found


@pytest.mark.parametrize("size", [0, 1, 65279, 65280, 65281, 130560, 300_000])
@pytest.mark.parametrize("piece", [7919, 65280, 1 << 20])
def test_blocks(size: int, piece: int) -> None:
    """Letters that cannot be compressed are the largest blocks."""
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()
    kept = io.BytesIO()
    kept.close = lambda: None  # type: ignore[method-assign]
    with BlockGzip(kept) as file:
        for start in range(0, size, piece):
            assert file.write(data[start : start + piece]) == len(data[start : start + piece])
    packed = kept.getvalue()
    assert gzip.decompress(packed) == data
    *parts, last = blocks(packed)
    assert last == b"" and [len(part) for part in parts[:-1]] == [65280] * (len(parts) - 1)


@pytest.mark.parametrize("end", ["sam", "paf", "SAM"])
def test_files_are_in_blocks(tmp_path: Path, end: str) -> None:
    results = random_results(9)
    pysw_cl.write(results, tmp_path / f"x.{end}.{'GZ' if end.isupper() else 'gz'}")
    pysw_cl.write(results, tmp_path / "y", end.lower())
    (packed,) = tmp_path.glob("x.*")
    assert b"".join(blocks(packed.read_bytes())) == (tmp_path / "y").read_bytes()
    assert len(list(pysw_cl.read(packed))) > 5


def test_a_disk_that_is_full() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        file = BlockGzip(full)
        with pytest.raises(OSError, match="No space"):
            file.close()
        assert full.closed


@pytest.mark.skipif(shutil.which("samtools") is None, reason="needs samtools")
def test_samtools_indexes_it(tmp_path: Path) -> None:
    """A file whose results are sorted, as one query against a target from left to right is."""
    target = named("t", "ACGTTGCAGGATCCATTGACCAGTAGGA" * 40)
    pairs = [(target[k : k + 40], target) for k in range(0, 28, 4)]
    found = [pysw_cl.align(*pair, plan={"engine": "reference"}) for pair in pairs]
    path = tmp_path / "x.sam.gz"
    pysw_cl.write(sorted(found, key=lambda r: r.target_start or 0), path)
    text = gzip.decompress(path.read_bytes()).replace(b"SO:unsorted", b"SO:coordinate")
    with BlockGzip(path.open("wb")) as file:
        file.write(text)
    for argv in (["quickcheck", path], ["index", path]):
        subprocess.run(["samtools", *argv], check=True, timeout=60, capture_output=True)
    done = subprocess.run(["samtools", "view", path, "t:1-10"], capture_output=True, timeout=60)
    assert done.stdout.count(b"\n") == sum((r.target_start or 0) < 10 for r in found) > 0


@pytest.mark.skipif(shutil.which("tabix") is None, reason="needs tabix")
def test_tabix_indexes_it(tmp_path: Path) -> None:
    target = named("t", "ACGTTGCAGGATCCATTGACCAGTAGGA")
    pairs = [(target[k : k + 12], target) for k in range(0, 16, 4)]
    path = tmp_path / "x.bed.gz"
    pysw_cl.write([pysw_cl.align(*pair, plan={"engine": "reference"}) for pair in pairs], path)
    subprocess.run(["tabix", "-p", "bed", path], check=True, timeout=60)
    done = subprocess.run(["tabix", path, "t:1-6"], capture_output=True, timeout=60)
    assert done.stdout.count(b"\n") == 2
