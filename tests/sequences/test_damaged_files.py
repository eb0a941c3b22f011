"""Compressed files with one bit turned over, or cut off: an error, or exactly what is in them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import struct
import sys
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import FormatError, InputWarning, SequenceError

NAMES = [f"r{k}" for k in range(6)]
FASTA = [f">{name}\n{'ACGTTGCA' * (2 + k)}\n".encode() for k, name in enumerate(NAMES)]
PAF = [f"{name}\t9\t0\t4\t+\tt\t9\t0\t4\t4\t4\t255\n".encode() for name in NAMES]
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def packed(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)


def bgzf(text: bytes) -> bytes:
    """A block of BGZF, without the one that ends a file."""
    packer = zlib.compressobj(wbits=-15)
    data = packer.compress(text) + packer.flush()
    head = struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(data) + 25)
    return head + data + struct.pack("<II", zlib.crc32(text), len(text))


def zstd(text: bytes) -> bytes:
    """With a checksum, as the tool packs it."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    module: Any = pytest.importorskip(name)
    whole: bytes = module.compress(text, options={module.CompressionParameter.checksum_flag: 1})
    return whole


def parts(text: list[bytes], pack: Callable[[bytes], bytes], end: bytes = b"") -> list[bytes]:
    return [pack(b"".join(text[k : k + 2])) for k in (0, 2, 4)] + ([end] if end else [])


def one(text: list[bytes], pack: Callable[[bytes], bytes]) -> list[bytes]:
    return [pack(b"".join(text))]


#: What the compressed parts of a file are; each is a valid file.
KINDS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "gzip": lambda text: one(text, packed),
    "gzip of three members": lambda text: parts(text, packed),
    "gzip and zeros": lambda text: parts(text, packed, b"\0" * 9),
    "BGZF": lambda text: parts(text, bgzf, BGZF_END),
    "bzip2": lambda text: one(text, bz2.compress),
    "bzip2 of three streams": lambda text: parts(text, bz2.compress),
    "xz": lambda text: one(text, lzma.compress),
    "xz of three streams": lambda text: parts(text, lzma.compress),
    "xz and padding": lambda text: [
        one for part in parts(text, lzma.compress) for one in (part, b"\0" * 4, b"\0" * 4)
    ],
    "zstd": lambda text: one(text, zstd),
    "zstd of three frames": lambda text: parts(text, zstd),
    "zstd after a frame to be skipped": lambda text: [b"P*M\x18\x02\0\0\0ab", *parts(text, zstd)],
}


def sequences(path: str) -> list[str]:
    return [f">{s.name}\n{s}\n" for s in pysw_cl.read_sequences(path)]


def alignments(path: str) -> list[str]:
    return [
        f"{r.query_name}\t{r.query_length}\t{r.query_start}\t{r.query_end}\t+\t{r.target_name}\t"
        f"{r.target_length}\t{r.target_start}\t{r.target_end}\t{r.matches}\t{r.columns}\t"
        f"{r.more['mapq']}\n"
        for r in pysw_cl.read(path, "paf")
    ]


def by_file(data: bytes, folder: Path, read: Callable[[str], list[str]]) -> list[str]:
    (folder / "x").write_bytes(data)
    return read(str(folder / "x"))


def by_pipe(data: bytes, folder: Path, read: Callable[[str], list[str]]) -> list[str]:
    out, into = os.pipe()  # which holds all of it
    os.write(into, data)
    os.close(into)
    before = sys.stdin
    try:
        with os.fdopen(out) as sys.stdin:
            return read("-")
    finally:
        sys.stdin = before


def damaged(kind: str, seed: int, count: int, folder: Path, by: Any, text: list[bytes]) -> None:
    read = sequences if text is FASTA else alignments
    whole = KINDS[kind](text)
    data, right = b"".join(whole), [part.decode() for part in text]
    ends = np.cumsum([0, *map(len, whole)]).tolist()
    assert by(data, folder, read) == right
    rng = np.random.default_rng(seed)
    for _ in range(count):
        given, at = bytearray(data), int(rng.integers(len(data)))
        cut = bool(rng.random() < 0.25)
        if cut:
            del given[at:]
        else:
            given[at] ^= 1 << int(rng.integers(8))
        said = pytest.warns(InputWarning, match="BGZF without its last block")
        try:
            with said if kind == "BGZF" and cut and at in ends[1:] else nullcontext():
                found = by(bytes(given), folder, read)
        except (FormatError, SequenceError):
            continue
        if cut and at in ends:  # a whole file, which nobody can know to have been longer
            assert found == right[: len(found)]
        else:
            assert found == right, (kind, at, cut)


@pytest.mark.filterwarnings("ignore:.*BGZF without")
@pytest.mark.parametrize("by", [by_file, by_pipe])
@pytest.mark.parametrize("text", [FASTA, PAF], ids=["sequences", "alignments"])
@pytest.mark.parametrize("kind", KINDS)
def test_damage(kind: str, text: list[bytes], by: Any, tmp_path: Path) -> None:
    damaged(kind, 1, 25, tmp_path, by, text)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*BGZF without")
@pytest.mark.parametrize("by", [by_file, by_pipe])
@pytest.mark.parametrize("text", [FASTA, PAF], ids=["sequences", "alignments"])
@pytest.mark.parametrize("kind", KINDS)
def test_more_damage(kind: str, text: list[bytes], by: Any, tmp_path: Path) -> None:
    damaged(kind, 2, 1_000, tmp_path, by, text)


A, B = (f">{name}\nACGTACGT\n".encode() for name in "ab")


@pytest.mark.parametrize("by", [by_file, by_pipe])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (bz2.compress(A) + bz2.compress(B)[:-9] + b"\xff" + bz2.compress(B)[-8:], "bzip2"),
        (bz2.compress(A) + packed(B), "bzip2"),
        (bz2.compress(A) + b"garbage", "bzip2"),
        (bz2.compress(A) + b"\0" * 4, "bzip2"),
        (lzma.compress(A) + lzma.compress(B)[:40] + b"\xff" + lzma.compress(B)[41:], "xz"),
        (lzma.compress(A) + B, "xz"),
        (lzma.compress(A) + b"\0" * 3 + lzma.compress(B), "xz"),
        (lzma.compress(A) + b"\0" * 6, "xz"),
        (lzma.compress(A) + lzma.compress(B, lzma.FORMAT_ALONE), "xz"),
        (packed(A) + bz2.compress(B), "gzip"),
    ],
)
def test_no_part_is_left_out(data: bytes, kind: str, by: Any, tmp_path: Path) -> None:
    """What follows the first part of a file is read, or the file is damaged."""
    with pytest.raises(
        FormatError, match=f"truncated or damaged {kind} .*; copy or fetch the file again"
    ):
        by(data, tmp_path, sequences)
