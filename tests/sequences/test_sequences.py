"""Sequences from Python objects and from FASTA files, and every input that is refused."""

from __future__ import annotations

import gzip
import io
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pysw_cl.errors import FormatError, InputError, SequenceError
from pysw_cl.sequences.sequence import Sequence, as_letters, as_sequence, read_fasta


def records(path: str | Path) -> list[tuple[str, str, str]]:
    found = list(read_fasta(path))
    return [(s.name, s.description, s.letters.tobytes().decode()) for s in found]


def fasta(folder: Path, data: bytes) -> Path:
    path = folder / "a file.fa"
    path.write_bytes(data)
    return path


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


# Python objects


@pytest.mark.parametrize(
    "x",
    [
        "ACgt*",
        b"ACgt*",
        bytearray(b"ACgt*"),
        memoryview(b"ACgt*"),
        memoryview(b"A.C.g.t.*")[::2],
        np.frombuffer(b"ACgt*", np.uint8),
        np.frombuffer(b"A.C.g.t.*", np.uint8)[::2],
        Sequence("x", "", np.frombuffer(b"ACgt*", np.uint8)),
    ],
)
def test_every_form(x: Any) -> None:
    letters = as_letters(x)
    assert letters.tobytes() == b"ACgt*"
    assert letters.dtype == np.uint8
    assert letters.flags.c_contiguous
    assert as_sequence(x).letters.tobytes() == b"ACgt*"


def test_scikit_bio_and_biopython_sequences() -> None:
    skbio = pytest.importorskip("skbio")
    dna = skbio.DNA("ACGTN", metadata={"id": "d1", "description": "some dna"})
    assert as_letters(dna).tobytes() == b"ACGTN"
    sequence = as_sequence(dna)
    assert (sequence.name, sequence.description, len(sequence)) == ("d1", "some dna", 5)
    assert as_letters(skbio.Protein("MKW")[::-1]).tobytes() == b"WKM"
    with pytest.raises(SequenceError, match="gap character '-' at position 3;"):
        as_letters(skbio.DNA("AC-T"))
    seq = pytest.importorskip("Bio.Seq")
    assert as_letters(seq.Seq("ACGT")).tobytes() == b"ACGT"


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ("", "query is empty"),
        (b"", "query is empty"),
        (np.empty(0, np.uint8), "query is empty"),
        ("AC\u00e9T", "non-ASCII character '\u00e9' at position 3"),
        ("AC\u0391", "non-ASCII character '\u0391' at position 3"),
        (b"AC\xc3", "byte 195 at position 3"),
        (np.array([0, 1, 2, 3], np.uint8), "byte 0 at position 1.*not codes"),
        ("AC GT", "a blank at position 3"),
        ("AC\n", "a line break at position 3"),
        (">x\nACGT", "begins with '>', as a FASTA record does"),
        (iter("ACGT"), "take one of them"),
        (["ACGT"], "take one of them"),
        ("AC-T", "gap character '-' at position 3"),
        ("AC.T", "gap character '.' at position 3"),
        (np.array([65, 67]), "array of int64 and shape"),
        (np.array([65.0]), "array of float64"),
        (np.full((2, 2), 65, np.uint8), r"shape \(2, 2\)"),
        (np.array(65, np.uint8), r"shape \(\)"),
        (memoryview(np.array([65, 67])), "memoryview of"),
        (["A", "C"], "query is a list"),
        (None, "query is a NoneType"),
        (65, "query is a int"),
    ],
)
def test_refused(x: Any, words: str) -> None:
    with pytest.raises(SequenceError, match=words) as caught:
        as_letters(x, "query")
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, InputError | ValueError)


# FASTA


def packed(text: bytes) -> bytes:
    """As gzip packs it at no time, so that tests have the same names in every run."""
    return gzip.compress(text, mtime=0)


PLAIN = b">one the first\nACGT\nacgt\n>two\n\nTT\n"
PARSED = [("one", "the first", "ACGTACGT"), ("two", "", "TT")]


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        PLAIN.rstrip(b"\n"),
        PLAIN.replace(b"\n", b"\r\n"),
        b"\n\r\n  \n" + PLAIN,
        b"\xef\xbb\xbf" + PLAIN,
        PLAIN.replace(b"one the", b"one\t the"),
        PLAIN.replace(b"ACGT\n", b"AC GT \t\n"),
        packed(PLAIN),
        packed(PLAIN[:20]) + packed(PLAIN[20:]),
    ],
)
def test_fasta(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fasta(tmp_path, data)
    assert records(path) == records(str(path)) == PARSED
    stdin = Stdin(data)
    monkeypatch.setattr("sys.stdin", stdin)
    assert records("-") == PARSED
    assert not stdin.buffer.closed


def test_fasta_is_streamed(tmp_path: Path) -> None:
    stream = read_fasta(fasta(tmp_path, PLAIN + b">three\nAC-T\n"))
    assert [next(stream).name, next(stream).name] == ["one", "two"]
    with pytest.raises(SequenceError, match=r"record 'three' of .*gap character '-' at position 3"):
        next(stream)


def test_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(packed(PLAIN),))
    writer.start()
    assert records(path) == PARSED
    writer.join()


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", FormatError, "no FASTA record"),
        (b"\n\n", FormatError, "no FASTA record"),
        (packed(b""), FormatError, "no FASTA record"),
        (b"ACGT\n", FormatError, "line 1 is 'ACGT' before the first record"),
        (b"\n\nhello\n>x\nA\n", FormatError, "line 3 is 'hello'"),
        (b"@r1\nACGT\n+\nIIII\n", FormatError, "FASTQ"),
        (b"\x00\xff\x01\n", FormatError, r"line 1 is '\\x00\\xff\\x01' before the first record"),
        (b">x\n>y\nA\n", SequenceError, "record 'x' of .* has no sequence"),
        (b">y\nA\n>x", SequenceError, "record 'x' of .* has no sequence"),
        (b">x\nAC\xc3\xa9T\n", SequenceError, "record 'x' of .*byte 195 at position 3"),
        (b">x\nA\nC-T\n", SequenceError, "gap character '-' at position 3"),
        (packed(PLAIN)[:-12], FormatError, "truncated or damaged gzip"),
        (packed(PLAIN)[:6], FormatError, "truncated or damaged gzip"),
        (packed(PLAIN)[:-8] + b"\0" * 8, FormatError, "truncated or damaged gzip"),
        (packed(PLAIN) + b"trailing", FormatError, "truncated or damaged gzip"),
        (b"\x1f\x8bnonsense", FormatError, "truncated or damaged gzip"),
        (packed(PLAIN)[:10] + b"\xff" * 40, FormatError, "truncated or damaged gzip"),
        (b"BZh91AY&SY", FormatError, "compressed with bzip2"),
        (b"\xfd7zXZ\x00\x00", FormatError, "compressed with xz"),
        (b"\x28\xb5\x2f\xfd\x00\x00", FormatError, "compressed with zstd"),
    ],
)
def test_damaged_fasta(tmp_path: Path, data: bytes, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        records(fasta(tmp_path, data))
    assert "a file.fa" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_records_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_bytes(
        b">empty\n>a\nAC\n>gap\nAC-GT\nACGT\n>odd\n" + b"A" * 5 + b"\xc3\xa9GT\n>b x\nGT\n>last\n"
    )
    errors: list[SequenceError] = []
    found = [(one.name, one.letters.tobytes()) for one in read_fasta(path, errors.append)]
    assert found == [("a", b"AC"), ("b", b"GT")]
    assert [str(error) for error in errors] == [
        f"record 'empty' of {path} has no sequence; it needs at least one letter",
        f"the record 'gap' of {path} has the gap character '-' at position 3; take the gaps out "
        "before aligning",
        f"the record 'odd' of {path} has byte 195 at position 6, which is not a letter",
        f"record 'last' of {path} has no sequence; it needs at least one letter",
    ]


def test_a_damaged_file_is_an_error_however_bad_records_are_treated(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_bytes(b"ACGT\n>a\nACGT\n")
    with pytest.raises(FormatError):
        list(read_fasta(path, lambda error: None))


def test_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"GATTACA: cannot be read: No such file .* letters"):
        list(read_fasta("GATTACA"))
    with pytest.raises(FormatError, match="the name of a file is empty"):
        list(read_fasta(""))
    with pytest.raises(FormatError, match=r"nothing\.fa: cannot be read: No such file"):
        records(tmp_path / "nothing.fa")
    with pytest.raises(FormatError, match="cannot be read: Is a directory"):
        records(tmp_path)
    with pytest.raises(FormatError, match="cannot be read: Not a directory"):
        records(fasta(tmp_path, PLAIN) / "below")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission(tmp_path: Path) -> None:
    path = fasta(tmp_path, PLAIN)
    path.chmod(0)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        records(path)


def test_large_record_is_read_fast(tmp_path: Path) -> None:
    line = b"acgtn" * 12 + b"\n"
    path = fasta(tmp_path, b">big\n" + line * 83_334)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        (record,) = read_fasta(path)
        times.append(time.perf_counter() - start)
    assert len(record) == 83_334 * 60
    assert min(times) < 0.5  # about 0.03 s on an idle machine
