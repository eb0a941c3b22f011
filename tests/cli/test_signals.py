"""Signals end the command at once, at any moment: with the usual exit code, one line, and nothing
left beside the file of results."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGTERM

import numpy as np
import pytest
from test_cli import A, fasta

import pysw_cl

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

SAID = {SIGINT: "interrupted", SIGTERM: "terminated", SIGHUP: "the terminal was closed"}
#: As the installed command is.
COMMAND = [sys.executable, "-c", "import sys; from pysw_cl.__main__ import main; sys.exit(main())"]


def started(command: list[str], folder: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(pysw_cl.__file__).parents[1])}
    for number in SAID:
        if signal.getsignal(number) == signal.SIG_IGN:  # these tests run in the background
            signal.signal(number, signal.SIG_DFL)
    env.update(PYTHONPYCACHEPREFIX=str(folder.parent / "bytecode"), PYTHONDONTWRITEBYTECODE="")
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=env, cwd=folder)


@pytest.mark.parametrize("number", SAID)
def test_nothing_is_left(number: signal.Signals, tmp_path: Path) -> None:
    fasta(tmp_path / "a.fa", ("a", A * 3000))
    (tmp_path / "out").write_text("old")
    slow = ["--plan", "engine=reference,tile_cells=100"]
    child = started([*COMMAND, "align", "a.fa", "a.fa", *slow, "-o", "out"], tmp_path)
    until = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(list(tmp_path.iterdir())) == 3  # the file that is written aside
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (128 + number, "", f"pysw-cl: {SAID[number]}\n")
    assert {path.name for path in tmp_path.iterdir()} == {"a.fa", "out"}
    assert (tmp_path / "out").read_text() == "old"


#: Signals itself, before what it needs is imported, and inside a destructor.
EARLY = """
import os, signal, time
from pysw_cl.cli.ending import prepare
prepare()
class Held:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(30)
Held()
"""


@pytest.mark.parametrize("number", SAID)
def test_at_once_and_everywhere(number: signal.Signals, tmp_path: Path) -> None:
    """As soon as the command is run, and in a destructor, which no exception leaves."""
    code = EARLY.replace("{name}", number.name)
    child = started([sys.executable, "-c", code], tmp_path)
    out, err = child.communicate(timeout=25)
    assert (child.returncode, out, err) == (128 + number, "", f"pysw-cl: {SAID[number]}\n")


def test_ignored_signals_stay_ignored(tmp_path: Path) -> None:
    """As ``nohup`` and shells' background jobs have them."""
    code = (
        "import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
        "from pysw_cl.cli.ending import prepare; prepare(); os.kill(os.getpid(), signal.SIGHUP)"
    )
    child = started([sys.executable, "-c", code], tmp_path)
    assert child.communicate(timeout=60) == ("", "") and child.returncode == 0


# At random moments

RUNS = {
    "align": ["align", "a.fa", "b.fa", "-o", "out"],
    "saved": ["align", "a.fa", "b.fa", "-o", "out", "--checkpoint", "job", "--disk-size", "100K"],
    "ends": ["ends", "a.fa", "b.fa", "-k", "20", "-o", "out"],
    "plot": ["plot", "a.fa", "b.fa", "out.png", "-o", "out"],
}


@pytest.mark.long
@pytest.mark.parametrize("number", SAID)
def test_at_random_moments(number: signal.Signals, tmp_path: Path) -> None:
    """200 moments over four commands, half of them in the first third of the run."""
    choose, rng = random.Random(int(number)), np.random.default_rng(1)
    folder = tmp_path / "runs"
    folder.mkdir()
    texts = ["".join(rng.choice(list("ACGT"), 8000)) for _ in range(2)]
    a, b = texts[0], texts[0][:5000] + texts[1][:2000]
    fasta(folder / "a.fa", ("a", a))
    fasta(folder / "b.fa", ("b", b))
    expected, seconds = {}, {}
    for name, run in RUNS.items():
        for _ in range(2):  # the second time everything is built
            begun = time.monotonic()
            assert started([*COMMAND, *run], folder).wait(300) == 0
            seconds[name] = time.monotonic() - begun
            expected[name] = (folder / "out").read_text()
            clean(folder)
    counts = {"ended": 0, "over": 0, "before": 0, "resumed": 0}
    for k in range(200):
        name = list(RUNS)[k % len(RUNS)]
        at = choose.random() * seconds[name] * choose.choice([0.3, 1.05])
        child = started([*COMMAND, *RUNS[name]], folder)
        time.sleep(at)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        what = f"{name} after {at:.3f} of {seconds[name]:.3f} s: {child.returncode}, {err}"
        left = {path.name for path in folder.iterdir()} - {"a.fa", "b.fa", "job", "out", "out.png"}
        assert not left and out == "" and "/pysw_cl/" not in err, what
        if "out" in {path.name for path in folder.iterdir()}:
            assert (folder / "out").read_text() == expected[name], what
        if child.returncode == 0:
            assert (folder / "out").exists() and err == "", what
            counts["over"] += 1
        elif child.returncode == 128 + number and "Traceback" not in err:
            assert err.startswith(f"pysw-cl: {SAID[number]}") and err.count("\n") == 1, what
            counts["ended"] += 1
        else:  # Python itself was starting, or had ended all of ours; a shell says 128 + number
            done = (folder / "out").exists() and err == ""
            assert child.returncode == -number or err.endswith("KeyboardInterrupt\n"), what
            counts["over" if done else "before"] += 1
        if "continue with" in err or (folder / "job" / "job.json").exists():
            assert pysw_cl.resume(folder / "job").to_paf() == expected["saved"].rstrip("\n"), what
            counts["resumed"] += 1
        clean(folder)
    print(number.name, counts)
    assert counts["ended"] > 100


def clean(folder: Path) -> None:
    """Remove what runs leave."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.name not in ("a.fa", "b.fa"):
            path.rmdir() if path.is_dir() else path.unlink()
