"""Kernels under Oclgrind, an interpreter that finds races and bad accesses, if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
needs_oclgrind = pytest.mark.skipif(
    shutil.which("oclgrind") is None, reason="Oclgrind is not installed"
)


def interpreted(code: str, *options: str) -> str:
    """What is said of a program, which prints "all alike" if its results are right; races at global
    memory are for the caller to judge, nothing else may be reported."""
    command = ["oclgrind", "--data-races", *options, sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=500)
    said = done.stdout + done.stderr
    assert "all alike" in said, said[-3000:]
    assert not re.search(r"Invalid (read|write)|divergence|race at local", said), said[:3000]
    return said
