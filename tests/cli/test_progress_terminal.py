"""The progress bar on a terminal: what is shown while the command runs, and what is left of it.

Runs of the reference engine need no build of a kernel and take the same time everywhere relative to
each other.  The long tests measure real runs of some ten seconds with real sequences.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import shlex
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, Popen, run

import numpy as np
import pytest

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

WIDTH = 120
COMMAND = f"{shlex.quote(sys.executable)} -m pysw_cl"
SLOW = "--plan engine=reference,tile_cells=15000,traceback_tile_cells=100000"
ACGT = np.frombuffer(b"ACGT", np.uint8)
Files = tuple[str, str, str, str]
DATA = Path(os.environ.get("PYSW_CL_TEST_DATA", "/nowhere"))


@dataclass
class Session:
    """What a terminal got: the texts with their times, and the time that all took."""

    writes: list[tuple[float, str]]
    seconds: float
    code: int

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.writes)

    @property
    def shares(self) -> list[float]:
        """The shares shown, in percent, one after the other."""
        return [float(share) for share in re.findall(r"([\d.]+)%\|", self.text)]

    def screen(self) -> list[str]:
        """The lines that stand there in the end."""
        lines, line, at = [], [" "] * WIDTH, 0
        for char in self.text.replace("\x1b[A", ""):
            if char == "\r":
                at = 0
            elif char == "\n":
                lines.append("".join(line).rstrip())
                line, at = [" "] * WIDTH, 0
            else:
                line += [" "] * (at + 1 - len(line))
                line[at], at = char, at + 1
        return [*lines, "".join(line).rstrip()]

    def estimate_at_half(self) -> float:
        """The time of the whole run that was shown last in its first half, as a share of what it
        took."""
        best = None
        for at, text in self.writes:
            found = re.findall(r"((?:\d+:)?\d+):(\d\d) left", text)
            if at <= self.seconds / 2 and found:
                minutes, seconds = found[-1]
                left = 60 * int(minutes) + int(seconds)
                best = (at + left) / self.seconds
        assert best is not None
        return best


def on_terminal(
    command: str, cwd: Path | None = None, size: tuple[int, int] = (40, WIDTH)
) -> Session:
    """Run a shell command whose output and errors go to one terminal of ``size``, rows and
    columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, np.array([*size, 0, 0], np.uint16).tobytes())
    started, writes = time.monotonic(), []
    text = codecs.getincrementaldecoder("utf-8")()  # a read may end inside a character of the bar
    with Popen(command, shell=True, stdin=DEVNULL, stdout=theirs, stderr=theirs, cwd=cwd) as job:
        os.close(theirs)
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # nobody has the terminal any more
                break
            if not data:
                break
            writes.append((time.monotonic() - started, text.decode(data)))
    os.close(ours)
    return Session(writes, time.monotonic() - started, job.returncode)


def check(session: Session, results: list[str]) -> None:
    """The share never fell, and only the results are left."""
    assert session.code == 0
    shares = session.shares
    assert shares == sorted(shares)
    assert len(set(shares)) > 2
    assert [line for line in session.screen() if line] == results


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A query, a target like it, three targets, and a short one."""
    rng, tmp_path = np.random.default_rng(1), tmp_path_factory.mktemp("files")
    query = rng.choice(ACGT, 4000)
    near = query.copy()
    near[::20] = rng.choice(ACGT, 200)
    texts = {
        "a": [query],
        "b": [near],
        "d": [near[:1500]],
        "c": [near[:2000], query[:2000][::-1], near[1000:2500]],
    }
    for name, records in texts.items():
        lines = "".join(f">{name}{k}\n{r.tobytes().decode()}\n" for k, r in enumerate(records))
        (tmp_path / f"{name}.fa").write_text(lines)
    return tuple(str(tmp_path / f"{name}.fa") for name in "abcd")  # type: ignore[return-value]


@cache
def expected(command: str) -> list[str]:
    """The lines of a command's standard output, which are the same on any device."""
    done = run(shlex.split(command.replace(SLOW, "")), capture_output=True, text=True, check=True)
    assert done.stderr == ""  # nothing is shown where standard error is no terminal
    return [line.rstrip() for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("pipe", ["", " | cat"])
def test_nothing_is_left_of_it(pipe: str, files: Files) -> None:
    """Whether results go to the terminal or through a pipe to it."""
    command = f"{COMMAND} align {files[0]} {files[2]} {SLOW} --mode global"
    session = on_terminal(command + pipe)
    results = expected(command)
    assert len(results) == 3
    assert session.code == 0
    assert [line for line in session.screen() if line] == results
    assert "left" in session.text  # it was there


@pytest.mark.parametrize("size", [(0, 0), (0, WIDTH), (40, 0)])
def test_a_terminal_that_does_not_know_its_size(size: tuple[int, int], files: Files) -> None:
    """Such as those of ``script`` and of ``docker exec -t``."""
    command = f"{COMMAND} align {files[0]} {files[1]} {SLOW}"
    check(on_terminal(command, size=size), expected(command))


def test_the_stages_of_a_pair(files: Files) -> None:
    command = f"{COMMAND} align {files[0]} {files[1]} {SLOW}"
    session = on_terminal(command)
    check(session, expected(command))
    stages = list(dict.fromkeys(re.findall(r"(?:score|path) \d of \d", session.text)))
    assert stages == ["score 1 of 2", "path 2 of 2"]


def test_the_numbers_of_alignments(files: Files) -> None:
    command = f"{COMMAND} align {files[0]} {files[3]} {SLOW} --alignments 3 --min-score 5"
    session = on_terminal(command)
    check(session, expected(command))
    assert "alignment 1 of 3" in session.text


MANY = """
import numpy as np, pysw_cl
rng = np.random.default_rng(1)
texts = ["".join(rng.choice(list("ACGT"), {letters})) for _ in range(200)]
pairs = [(texts[k % 200], texts[k * 7 % 200]) for k in range({count})]
if {warm}:
    pysw_cl.align_many(pairs[:9000], {how})
pysw_cl.align_many(pairs, progress=True, {how})
"""


def many(folder: Path, count: int, letters: int, how: str, warm: bool) -> str:
    """A command that aligns many pairs, with a bar."""
    path = folder / "many.py"
    path.write_text(MANY.format(count=count, letters=letters, how=how, warm=warm))
    return f"{shlex.quote(sys.executable)} {path}"


def test_many_pairs_from_python(tmp_path: Path) -> None:
    """A bar of the library itself, which stays when all is done."""
    session = on_terminal(many(tmp_path, 400, 250, "plan={'engine': 'reference'}", False))
    assert session.code == 0
    assert session.shares == sorted(session.shares) and session.shares[-1] == 100
    last = next(line for line in reversed(session.screen()) if line)
    assert "100.0%" in last and "400 of 400 pairs, " in last and " pairs/s" in last


def test_quiet(files: Files) -> None:
    command = f"{COMMAND} align {files[0]} {files[3]} {SLOW} --output score"
    results = expected(command)
    session = on_terminal(f"{command} --quiet")
    assert session.text.replace("\r\n", "\n").split("\n") == [*results, ""]


def test_a_run_that_goes_on(files: Files, tmp_path: Path) -> None:
    saved = f"--checkpoint {tmp_path / 'job'} --disk-size 5M"
    command = f"{COMMAND} align {files[0]} {files[1]} {SLOW}"
    first = on_terminal(f"{command} {saved} --stop-after 0.2s")
    assert first.code == 3
    second = on_terminal(f"{COMMAND} resume {tmp_path / 'job'}")
    assert second.code == 0
    assert [line for line in second.screen() if line] == expected(command)
    shares = first.shares + second.shares
    assert shares == sorted(shares)


# How good the estimate is


def cut(name: str, letters: int, folder: Path) -> str:
    """The first letters of a real sequence, in a file."""
    if not (DATA / "dna" / name).exists():
        pytest.skip("the real sequences are not there")
    with gzip.open(DATA / "dna" / name, "rt") as lines:
        text = "".join(line.strip() for line in lines if not line.startswith(">"))[:letters]
    path = folder / f"{name}.{letters}.fa"
    path.write_text(f">{name}\n{text}\n")
    return str(path)


PYLORI = "NC_011333.1.fasta.gz", "NC_017371.1.fasta.gz"
LONG = {
    "a megabase pair": (700_000, "", ""),
    "further alignments": (300_000, "--alignments 20", ""),
    "saved": (500_000, "--checkpoint {job}", ""),
    "resumed": (600_000, "--checkpoint {job}", "--stop-after 3s"),
    "global": (500_000, "--mode global", ""),
}


@pytest.mark.long
def test_half_of_the_time_of_many_pairs(tmp_path: Path) -> None:
    session = on_terminal(many(tmp_path, 360_000, 600, "output='path'", True))
    begun = next(at for at, text in session.writes if "%" in text)
    half, shown = (begun + session.seconds) / 2, None
    for at, text in session.writes:
        found = re.findall(r"(\d+):(\d\d) left", text)
        if at <= half and found:
            shown = at + 60 * int(found[-1][0]) + int(found[-1][1])
    assert shown is not None
    share = (shown - begun) / (session.seconds - begun)
    print("many pairs", round(session.seconds - begun, 1), "s, estimate at half", share)
    assert 0.75 < share < 1.25


@pytest.mark.long
@pytest.mark.parametrize("case", LONG)
def test_half_of_the_time_tells_all_of_it(case: str, tmp_path: Path) -> None:
    """At half of the time, the time of the whole run is known to a quarter.  Of one pair within a
    factor of two: alike genomes prune nothing in their first half."""
    letters, options, first = LONG[case]
    query, target = (cut(name, letters, tmp_path) for name in PYLORI)
    warm = [cut(name, 60_000, tmp_path) for name in PYLORI]
    kinds = options.replace("20", "3").format(job=tmp_path / "warm")
    for more in ("", kinds):  # kernels are built
        run(shlex.split(f"{COMMAND} align {warm[0]} {warm[1]} {more}"), check=True, stdout=DEVNULL)
    job = tmp_path / "job"
    command = f"{COMMAND} align {query} {target} {options.format(job=job)}"
    if first:
        assert on_terminal(f"{command} {first}").code == 3
        command = f"{COMMAND} resume {job}"
    session = on_terminal(command)
    print(case, round(session.seconds, 1), "s, estimate at half", session.estimate_at_half())
    assert session.code == 0
    assert session.shares == sorted(session.shares)
    least, most = (0.5, 2) if case == "a megabase pair" else (0.75, 1.25)
    assert least < session.estimate_at_half() < most
