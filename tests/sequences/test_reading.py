"""Files of sequences: FASTA and FASTQ, plain and compressed, and what is wrong with them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysw_cl
from pysw_cl.errors import CheckpointError, FileError, FormatError, SequenceError
from pysw_cl.sequences.reading import read_fasta, read_sequences


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


def test_letters_of_a_long_record_can_be_let_go(tmp_path: Path) -> None:
    long = b">chromosome\n" + (b"ACGTACGT" * 9 + b"\n") * 40_000
    stream = read_fasta(fasta(tmp_path, long + b">short\nACGT\n"))
    tracemalloc.start()
    try:
        first = next(stream)
        before, letters = tracemalloc.get_traced_memory()[0], len(first)
        del first
        assert before - tracemalloc.get_traced_memory()[0] >= letters == 72 * 40_000
    finally:
        tracemalloc.stop()
    assert next(stream).name == "short"


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
        (b"", FormatError, "no FASTA record; a FASTA record starts with '>'"),
        (b"\n\n", FormatError, "no FASTA record"),
        (packed(b""), FormatError, "no FASTA record"),
        (b"ACGT\n", FormatError, "line 1 is 'ACGT' before the first record"),
        (b"\n\nhello\n>x\nA\n", FormatError, "line 3 is 'hello'"),
        (b"@r1\nACGT\n+\nIIII\n", FormatError, "this looks like FASTQ, which read_sequences"),
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
        (b"BZh91AY&SY", FormatError, "truncated or damaged bzip2"),
        (b"\xfd7zXZ\x00\x00", FormatError, "truncated or damaged xz"),
        (b"\x28\xb5\x2f\xfd\x00\x00", FormatError, "truncated or damaged zstd"),
        (b"PK\x03\x04\x00\x00", FormatError, "compressed with zip; plain, gzip, bzip2, xz and"),
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
        f"record 'empty' of {path} (line 1) has no sequence; it needs at least one letter",
        f"the record 'gap' of {path} (line 4) has the gap character '-' at position 3; take the "
        "gaps out before aligning",
        f"the record 'odd' of {path} (line 7) has byte 195 at position 6, which is not a letter",
        f"record 'last' of {path} (line 11) has no sequence; it needs at least one letter",
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
    with pytest.raises(FormatError, match="cannot be read: Permission denied") as caught:
        records(path)
    assert isinstance(caught.value, PermissionError)


def test_what_the_system_says_of_a_file(tmp_path: Path) -> None:
    """An error of a file is an OSError of its kind as well as one of the package's, everywhere."""
    nothing, folder = tmp_path / "nothing", tmp_path / "folder"
    folder.mkdir()
    found = pysw_cl.align("ACGT", "ACGT")
    uses: list[Callable[[Path], Any]] = [
        lambda path: list(read_sequences(path)),
        lambda path: list(read_fasta(path)),
        lambda path: list(pysw_cl.read(path, "paf")),
        lambda path: pysw_cl.align("ACGT", "ACGT", sub_score=path),
        lambda path: pysw_cl.write(found, path / "x.paf"),
    ]
    for use in uses:
        for path, kind in ((nothing, FileNotFoundError), (folder, OSError)):
            if use is uses[-1]:
                path = path if path is nothing else fasta(tmp_path, PLAIN)
            with pytest.raises(kind) as caught:
                use(path)
            error = caught.value
            assert isinstance(error, FileError)
            assert isinstance(error.__cause__, OSError)
            assert type(error.__cause__) in type(error).__mro__
            assert error.errno == error.__cause__.errno
            assert str(path) in str(error.filename)
            again = pickle.loads(pickle.dumps(error))
            assert (str(again), again.errno) == (str(error), error.errno)
            assert isinstance(again, type(error.__cause__))


def test_a_checkpoint_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is no such folder") as caught:
        pysw_cl.resume(tmp_path / "no")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


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


def begun(kind: str, text: bytes) -> bytes:
    """The text, compressed so that all of it is there, without an end."""
    if kind == "plain":
        return text
    if kind == "gzip":
        packer = zlib.compressobj(wbits=31)
        return packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
    zstd_packer = zstd().ZstdCompressor()
    whole: bytes = zstd_packer.compress(text, mode=zstd_packer.FLUSH_BLOCK)
    return whole


def zstd() -> Any:
    """Python's module for zstd, or its copy for older ones, which xopen brings."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return pytest.importorskip(name)


@pytest.mark.parametrize(
    ("text", "there"),
    [(b">a\nAC\n>b\nGT\n", 1), (b"@a\nAC\n+\nII\n@b\nGT\n+\nII\n@c", 2)],
)
@pytest.mark.parametrize("kind", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("stdin", [False, True])
def test_a_pipe_is_read_as_it_comes(
    text: bytes, there: int, kind: str, stdin: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that are there are given at once, though the writer has not closed the pipe."""
    out, into = os.pipe()
    more = threading.Timer(20, os.close, [into])
    more.start()
    try:
        os.write(into, begun(kind, text))
        start = time.perf_counter()
        monkeypatch.setattr("sys.stdin", os.fdopen(out, closefd=False))
        stream = read_sequences("-" if stdin else f"/dev/fd/{out}")
        assert [next(stream).name for _ in range(there)] == ["a", "b"][:there]
        assert time.perf_counter() - start < 15
    finally:
        more.cancel()
        if more.is_alive():
            os.close(into)
        os.close(out)


# Compression


@pytest.mark.parametrize("stdin", [False, True])
def test_the_first_bytes_of_a_pipe_come_one_by_one(
    stdin: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a file is compressed with is known when its first bytes are there."""
    out, into = os.pipe()

    def write() -> None:
        for k, byte in enumerate(packed(PLAIN)):
            time.sleep(0.02 if k < 6 else 0)
            os.write(into, bytes([byte]))
        os.close(into)

    writer = threading.Thread(target=write)
    writer.start()
    monkeypatch.setattr("sys.stdin", os.fdopen(out, closefd=False))
    assert records("-" if stdin else f"/dev/fd/{out}") == PARSED
    writer.join()
    os.close(out)


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": packed,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstd().compress(data),
}
FASTQ = b"@one the first\nACGTacgt\n+\nIIII!~5;\n@two\nTT\n+two\n@+\n"


@pytest.mark.parametrize("kind", PACK)
def test_compressed_files(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the name says; also of several members, from a pipe and from standard input."""
    pack, path = PACK[kind], tmp_path / "x.fa"
    for data in (pack(PLAIN), pack(PLAIN[:20]) + pack(PLAIN[20:])):
        path.write_bytes(data)
        assert records(path) == PARSED
        stdin = Stdin(data)
        monkeypatch.setattr("sys.stdin", stdin)
        assert records("-") == PARSED
        assert not stdin.buffer.closed
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        assert records(pipe) == PARSED
        writer.join()
        pipe.unlink()
    path.write_bytes(pack(FASTQ))
    assert [one.name for one in read_sequences(path)] == ["one", "two"]
    path.write_bytes(pack(b""))
    with pytest.raises(FormatError, match="no FASTA or FASTQ record"):
        list(read_sequences(path))


@pytest.mark.parametrize("kind", PACK)
def test_damaged_compressed_files(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(1)
    text = b">x\n" + rng.choice(np.frombuffer(b"ACGT", np.uint8), 300_000).tobytes() + b"\n>y\nA\n"
    data, path = PACK[kind](text), tmp_path / "x.fa"
    middle = len(data) // 2
    wrong = [data[:middle], data[:12], data[:-2]]
    if kind != "zstd":  # it keeps no sum of what it packed
        wrong.append(data[:middle] + b"\xff" * 64 + data[middle + 64 :])
    for given in wrong:
        path.write_bytes(given)
        for read in (lambda: list(read_fasta(path)), lambda: list(read_fasta(path, print))):
            with pytest.raises(FormatError, match=rf"x\.fa: truncated or damaged {kind} \("):
                read()


def test_the_tools_of_the_shell(tmp_path: Path) -> None:
    """What gzip, bzip2, xz, zstd and bgzip write is read."""
    path = fasta(tmp_path, PLAIN)
    found = [tool for tool in ("gzip", "bzip2", "xz", "zstd", "bgzip") if shutil.which(tool)]
    for tool in found:
        done = subprocess.run([tool, "-c", str(path)], capture_output=True, check=True)
        (tmp_path / tool).write_bytes(done.stdout)
        assert records(tmp_path / tool) == PARSED
    if not found:
        pytest.skip("no such tool is installed")


# FASTQ


@pytest.mark.parametrize(
    "data",
    [
        FASTQ,
        FASTQ.rstrip(b"\n"),
        FASTQ.replace(b"\n", b"\r\n"),
        b"\n \r\n" + FASTQ + b"\n\n",
        b"\xef\xbb\xbf" + FASTQ,
        FASTQ.replace(b"\n@two", b"\n\n@two"),
        FASTQ.replace(b"the first", b" the first\t").replace(b"+\nII", b"+one the first\nII"),
    ],
)
def test_fastq(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(data))
    for path in (fasta(tmp_path, data), "-"):
        one, two = read_sequences(path)
        assert (one.name, one.description, str(one)) == ("one", "the first", "ACGTACGT")
        assert (two.name, two.description, str(two)) == ("two", "", "TT")
        assert one.quality is not None and two.quality is not None
        assert (one.quality.tobytes(), two.quality.tobytes()) == (b"IIII!~5;", b"@+")


def test_records_of_fasta_have_no_quality(tmp_path: Path) -> None:
    path = fasta(tmp_path, PLAIN)
    assert list(read_sequences(path)) == list(read_fasta(path)) == ["ACGTACGT", "TT"]
    assert [one.quality for one in pysw_cl.read_sequences(path)] == [None, None]


GOOD = b"@a\nACGT\n+\nIIII\n"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"@r x\nACGT\n+\nIII\n", "has 4 letters and 3 qualities (line 8)"),
        (b"@r\nACGT\n+\nIIIII\n", "has 4 letters and 5 qualities (line 8)"),
        (b"@r\nACGT\n+\n\n", "has 4 letters and 0 qualities (line 8)"),
        (b"@r\n\n+\n\n", "has no sequence"),
        (b"@r\nAC-T\n+\nIIII\n", "has the gap character '-' at position 3"),
        (b"@r\nACGT\n+\nI\x07II\n", "has byte 7 at position 2 of its qual"),
        (b"@r\nACGT\n+q\nIIII\n", "is called 'q' in line 7"),
        (b"@r\nACGT\nACGT\n+\nIIIIIIII\n", "has 'ACGT' in place of '+' in line 7"),
        (b"@r\nACGT\n+\n", "has 4 letters and 2 qualities (line 8)"),
        (b"ACGT\n+\nIIII\n", "line 5 of {} is 'ACGT', and a record of FASTQ begins with '@'"),
        (b">r\nACGT\n", "line 5 of {} is '>r', and a record of FASTQ begins with '@'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("pipe", [False, True])
def test_a_bad_record_of_fastq(
    tmp_path: Path, bad: bytes, words: str, pipe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, and can be left out: the next record is found."""
    path = fasta(tmp_path, GOOD + bad + b"@b\nTT\n+\n@@\n" + GOOD)
    given = "-" if pipe else str(path)
    where = "standard input" if pipe else str(path)
    words = words.format(where) if "{}" in words else f"record 'r' of {where} (line 5) {words}"
    monkeypatch.setattr("sys.stdin", Stdin(path.read_bytes()))
    stream = read_sequences(given)
    assert next(stream).name == "a"
    with pytest.raises(SequenceError) as caught:
        next(stream)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr("sys.stdin", Stdin(path.read_bytes()))
    errors: list[SequenceError] = []
    assert [one.name for one in read_sequences(given, errors.append)] == ["a", "b", "a"]
    assert [str(error) for error in errors] == [str(caught.value)]


@pytest.mark.parametrize(
    "end", ["@r", "@r\n", "@r\nACGT", "@r\nACGT\n", "@r\nACGT\n+", "@r\nACGT\n+\n"]
)
def test_a_record_that_is_cut_off(tmp_path: Path, end: str) -> None:
    path = fasta(tmp_path, GOOD + b"\n" + end.encode())
    count = len(end.split())
    words = f"record 'r' of {path} (line 6) is cut off: the file ends after {count} of its 4 lines"
    errors: list[SequenceError] = []
    assert [one.name for one in read_sequences(path, errors.append)] == ["a"]
    assert [str(error) for error in errors] == [words]
    with pytest.raises(SequenceError, match="is cut off"):
        list(read_sequences(path))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no FASTA or FASTQ record; a FASTA record starts with '>', one of FASTQ with '@'"),
        (b"\n\nhello\n", "line 3 is 'hello' before the first record"),
        (b"@HD\tVN:1.6\n@SQ\tSN:x\tLN:5\n", "this looks like SAM"),
    ],
)
def test_neither_fasta_nor_fastq(tmp_path: Path, data: bytes, words: str) -> None:
    path = fasta(tmp_path, data)
    with pytest.raises(FormatError) as caught:
        list(read_sequences(path))
    assert words in str(caught.value)


def test_reading_loads_what_it_needs(tmp_path: Path) -> None:
    """Plain files need no library for compressed ones, and the package neither."""
    path = fasta(tmp_path, PLAIN)
    code = (
        "import sys, pysw_cl; assert 'numpy' not in sys.modules; "
        f"list(pysw_cl.read_sequences({str(path)!r})); assert 'xopen' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("start", [b"", b">ok\nAC\n"])
def test_a_line_end_of_old_macintoshes_in_a_header(tmp_path: Path, start: bytes) -> None:
    """Letters behind it would be taken for the description."""
    path = tmp_path / "x.fa"
    path.write_bytes(start + b">one\rACGT\r\nGG\r\n>two\r\nGT\n")
    with pytest.raises(SequenceError, match=r"'one' .*line \d.* carriage return within its header"):
        list(read_sequences(path))
    bad: list[SequenceError] = []
    assert [one.name for one in read_sequences(path, bad.append)][-1] == "two"
    assert len(bad) == 1
    path.write_bytes(b">one x\r\nACGT\r\n>two\r\nGT\r\n")
    assert [str(one) for one in read_sequences(path)] == ["ACGT", "GT"]
