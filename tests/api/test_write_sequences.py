"""``write_sequences``, the counterpart of ``read_sequences``."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import pysw_cl
from pysw_cl.errors import FileError, InputError, SequenceError

rng = np.random.default_rng(5)


def record(name: str, description: str, length: int) -> pysw_cl.Sequence:
    letters = rng.choice(np.frombuffer(b"ACGTN*", np.uint8), length)
    quality = rng.integers(33, 127, length).astype(np.uint8)
    return pysw_cl.Sequence(name, description, letters, quality)


RECORDS = [
    record("one", "the first", 1),
    record("s\udce9", "caf\udce9 \xe9", 60),
    record("@>+", "", 61),
    record("big", "x", 30_007),
]


def same(found: list[pysw_cl.Sequence], quality: bool) -> bool:
    return len(found) == len(RECORDS) and all(
        (a.name, a.description, str(a)) == (b.name, b.description, str(b))
        and np.array_equal(a.quality, b.quality if quality else None)
        for a, b in zip(found, RECORDS, strict=True)
    )


@pytest.mark.parametrize("packed", ["", ".gz", ".bz2", ".xz", ".zst", ".GZ"])
@pytest.mark.parametrize("kind", ["fa", "fastq"])
def test_what_is_written_is_read(kind: str, packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}{packed}"
    pysw_cl.write_sequences(iter(RECORDS), path)
    assert same(list(pysw_cl.read_sequences(path)), kind == "fastq")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    start = path.read_bytes()[:3]
    magic = {"": b"", ".bz2": b"BZh", ".xz": b"\xfd7z", ".zst": b"(\xb5/"}
    assert start.startswith(magic.get(packed, b"\x1f\x8b"))
    if packed in (".gz", ".bz2", ".xz"):
        tool = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}[packed]
        subprocess.run([tool, "-t", str(path)], check=True)


def test_biopython_reads_it(tmp_path: Path) -> None:
    some = [RECORDS[0], RECORDS[3]]
    for kind in ("fasta", "fastq"):
        pysw_cl.write_sequences(some, tmp_path / "x", kind)
        found = list(SeqIO.parse(tmp_path / "x", kind))
        assert [(one.id, str(one.seq)) for one in found] == [(one.name, str(one)) for one in some]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("ACgt", ">1\nACgt\n"),
        (["AC", b"GT"], ">1\nAC\n>2\nGT\n"),
        ([], ""),
        (pysw_cl.Sequence("a b", "c\nd", np.frombuffer(b"ACGTA", np.uint8)), ">a_b c d\nACGTA\n"),
        (SeqRecord(Seq("AC"), "r", description="r two"), ">r two\nAC\n"),
        (Seq("AC"), ">1\nAC\n"),
        ([SeqRecord(Seq("AC"), "s\x1b\udce9")], ">s%1B%E9\nAC\n"),
    ],
)
def test_to_a_stream(given: Any, text: str) -> None:
    stream = io.StringIO()
    pysw_cl.write_sequences(given, stream, "fasta")
    assert stream.getvalue() == text


def test_a_long_record(tmp_path: Path) -> None:
    long = record("long", "", 1_100_003)
    pysw_cl.write_sequences(long, tmp_path / "x.fa", width=59)
    (found,) = pysw_cl.read_sequences(tmp_path / "x.fa")
    assert found == long
    lines = (tmp_path / "x.fa").read_bytes().split()[1:]
    assert {len(line) for line in lines[:-1]} == {59}


def test_width(tmp_path: Path) -> None:
    stream = io.StringIO()
    pysw_cl.write_sequences(["ACGTA"], stream, "fasta", width=2)
    assert stream.getvalue() == ">1\nAC\nGT\nA\n"
    pysw_cl.write_sequences(["ACGTA"], tmp_path / "x.fa", width=10**12)
    assert (tmp_path / "x.fa").read_text() == ">1\nACGTA\n"


@pytest.mark.parametrize(
    ("given", "path", "how", "words"),
    [
        (["AC"], "x.txt", {}, r"x.txt' says no format .*format='fasta' or 'fastq'"),
        (["AC"], "-", {}, "says no format"),
        (["AC"], "x.fa", {"format": "paf"}, "format must be 'fasta' or 'fastq'"),
        (["AC"], "x.fa", {"width": 0}, "width"),
        (["AC", "A-C"], "x.fa", {}, "sequence 2 has the gap"),
        (["AC", ""], "x.fa", {}, "sequence 2 is empty"),
        (["AC", "A>C"], "x.fa", {}, "sequence 2, '2', has '>'"),
        (["AC"], "x.fq", {}, "sequence 1, '1', has no qualities"),
        (5, "x.fq", {}, "sequences must be"),
        ([5], "x.fq", {}, "sequence 1 is a int"),
    ],
)
def test_what_cannot_be_written(
    given: Any, path: str, how: dict[str, Any], words: str, tmp_path: Path
) -> None:
    """It is an error, and no file is left."""
    place = path if path == "-" else tmp_path / path
    with pytest.raises((InputError, SequenceError), match=words):
        pysw_cl.write_sequences(given, place, **how)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    for end in ("fa", "fa.gz", "fa.xz", "fa.zst"):
        with pytest.raises(FileNotFoundError, match="cannot be written") as caught:
            pysw_cl.write_sequences("ACGT", tmp_path / "no" / f"x.{end}")
        assert isinstance(caught.value, FileError)
