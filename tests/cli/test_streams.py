"""Standard output that is unbuffered (``PYTHONUNBUFFERED``), full, limited, slow or closed: every
byte is written, or an error says so."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from test_cli import A, B, fasta

import pysw_cl
from pysw_cl.cli import main as cli
from pysw_cl.results.formats.files import whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")

REFERENCE = ["--plan", "engine=reference"]
#: More than a pipe takes at once.
TEXT = "0123456789abcde\n" * 30_000

#: The arguments of every subcommand; those of the second list take seconds.
COMMANDS = {
    "help": ["--help"],
    "align": ["align", "a.fa", "b.fa", *REFERENCE],
    "fasta": ["align", "a.fa", "b.fa", "--outfmt", "fasta", *REFERENCE],
    "ends": ["ends", "a.fa", "b.fa", "-k", "9", "--engine", "reference"],
    "resume": ["resume", "job"],
    "predict": ["predict", "1k", "1k"],
    "plan": ["plan", "1k", "1k"],
    "devices": ["devices"],
    "profile": ["profile", "show"],
}
SLOW = {
    "plot": ["plot", "a.fa", "b.fa", "picture.svg", *REFERENCE],
    "demo": ["demo"],
    "prepare": ["prepare", "--for", "dna"],
    "tune": ["tune", "--budget", "1s", "--subject", "rowscan/vector32"],
}
EACH = [*COMMANDS, *(pytest.param(name, marks=pytest.mark.long) for name in SLOW)]


@contextmanager
def unbuffered(fd: int) -> Iterator[None]:
    """Standard output as Python makes it with PYTHONUNBUFFERED."""
    was = sys.stdout
    raw = io.FileIO(fd, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(raw, "utf-8", write_through=True)
    try:
        yield
    finally:
        sys.stdout = was


def received(write: Callable[[int], None], wait: bool = True) -> bytes:
    """What a slow reader gets that ``write`` writes to; ``wait``: does the pipe block?"""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, wait)
    got: list[bytes] = []

    def read() -> None:
        while data := os.read(ours, 50_000):
            got.append(data)
            time.sleep(0.001)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        write(theirs)
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    return b"".join(got)


@pytest.mark.parametrize("wait", [True, False])
def test_every_byte_goes_through_a_pipe(wait: bool) -> None:
    def write(fd: int) -> None:
        with unbuffered(fd):
            stream = whole(sys.stdout, "it")
        stream.write(TEXT)
        stream.flush()

    assert received(write, wait) == TEXT.encode()


def test_the_library_writes_every_byte(tmp_path: Path) -> None:
    """To ``-``, and to the stream itself."""
    results = [pysw_cl.align(A, B, plan={"engine": "reference"})] * 800
    pysw_cl.write(results, tmp_path / "x.txt", "pair")
    expected = (tmp_path / "x.txt").read_bytes()
    for name in ("-", ""):

        def write(fd: int, name: str = name) -> None:
            with unbuffered(fd):
                pysw_cl.write(results, name or sys.stdout, "pair")

        assert received(write, wait=False) == expected


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
from pysw_cl.cli.main import main
sys.exit(main())
"""


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """As on a disk that becomes full, or with a quota: an unbuffered write is cut short there."""
    path = fasta(tmp_path / "a.fa", ("a", (A + B) * 60))
    argv = ["align", path, path, "--outfmt", "pair", "--plan", "engine=reference"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    out = tmp_path / "out.txt"
    with out.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, *argv], stdout=file, stderr=-1, env=env, timeout=120
        )
    assert done.stderr == b"pysw-cl: standard output: File too large\n"
    assert (done.returncode, out.stat().st_size) == (1, 4096)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that `COMMANDS` name."""
    monkeypatch.chdir(tmp_path)
    fasta(tmp_path / "a.fa", ("a", A * 3))
    fasta(tmp_path / "b.fa", ("b", B * 3))
    pysw_cl.align(A, B, checkpoint="job", plan={"engine": "reference"})
    return tmp_path


@pytest.mark.parametrize("name", EACH)
@pytest.mark.usefixtures("files", "profile_folder")
def test_every_subcommand(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Unbuffered into a pipe, onto a full disk, and with a reader that went away."""
    if name == "plot":
        pytest.importorskip("matplotlib")
    argv = {**COMMANDS, **SLOW}[name]
    assert cli.main(argv) == 0
    expected = capsys.readouterr().out
    assert expected

    def write(fd: int) -> None:
        with unbuffered(fd):
            assert cli.main(argv) == 0

    got = received(write, wait=False).decode()
    if name not in SLOW:  # which tell times
        assert got == expected
    assert got.count("\n") == expected.count("\n")
    assert capsys.readouterr().err == ""

    with suppress(FileNotFoundError), open("/dev/full", "wb") as full:  # noqa: PTH123
        with unbuffered(full.fileno()):
            assert cli.main(argv) == 1
        said = capsys.readouterr().err
        assert said == "pysw-cl: standard output: No space left on device\n"

    ours, theirs = os.pipe()
    os.close(ours)
    with open(theirs, "wb") as pipe, unbuffered(pipe.fileno()):  # noqa: PTH123
        assert cli.main(argv) == 1
    assert capsys.readouterr().err == ""
