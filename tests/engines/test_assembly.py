"""What compilers make of packed lanes for devices that are not at hand: AMD's by clang, Intel's by
ocloc."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pysw_cl.engines.wavefront.kernel import spec_of
from pysw_cl.opencl.program import joined_source
from pysw_cl.planning.plan import Plan
from pysw_cl.planning.program import Program, mixed_macros
from pysw_cl.scoring.scoring import make_scoring

CLANG = next((name for name in ("clang-15", "clang") if shutil.which(name)), None)
OCLOC = shutil.which("ocloc")
#: Rows of a lane.
ALPHA = 8


def knows_amd() -> bool:
    """Can clang make code for AMD's devices?"""
    if CLANG is None:
        return False
    targets = subprocess.run([CLANG, "--print-targets"], capture_output=True, text=True).stdout
    return "amdgcn" in targets


def kernel(plan: Plan, score: str, letters: int) -> tuple[str, list[str]]:
    """The source of a plan's kernel, and the compiler's options."""
    widths = plan.lane_set.widths
    own = {"widths": widths, "mixed": mixed_macros(make_scoring(), widths), "letters": letters}
    program = Program(plan, score, True, plan.T, plan.form, best=1, prunes=True, skewed=True, **own)  # type: ignore[arg-type]
    defines = program.defines
    options = ["-cl-std=CL1.2", *(f"-D{name}={value}" for name, value in defines.items())]
    return joined_source(spec_of(program).files), options


@pytest.mark.skipif(not knows_amd(), reason="there is no clang with AMD's target")
@pytest.mark.parametrize(("gpu", "lanes_of_a_warp"), [("gfx90a", 64), ("gfx1100", 32)])
@pytest.mark.parametrize(
    ("lanes", "score", "letters"), [("packed", "match", 0), ("packed_profile", "matrix", 25)]
)
def test_amd(
    gpu: str, lanes_of_a_warp: int, lanes: str, score: str, letters: int, tmp_path: Path
) -> None:
    """Each row of a step is additions and maxima of pairs; scores of a profile are made by a
    permutation of bytes, and none by a comparison."""
    T = 2 * lanes_of_a_warp
    plan = Plan(lanes=lanes, form="two-phase", T=T, alpha=ALPHA, B=64, chunk=128)
    text, options = kernel(plan, score, letters)
    source, assembly = tmp_path / "kernel.cl", tmp_path / "kernel.s"
    source.write_text(text)
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib"]
    command = [str(CLANG), "-x", "cl", *target, "-Xclang", "-finclude-default-header"]
    command += ["-O3", "-S", "-w", *options, str(source), "-o", str(assembly)]
    subprocess.run(command, check=True, capture_output=True)
    found = Counter(re.findall(r"^\s+(v_\w+)", assembly.read_text(), re.MULTILINE))
    # the main loop has two steps, and the loop with masks has one, in two places each
    least = 3 * ALPHA
    assert found["v_pk_add_u16"] > 3 * least, found
    assert found["v_pk_max_i16"] > 3 * least, found
    assert (found["v_perm_b32"] >= least) == (lanes == "packed_profile"), found
    assert not found["v_max_i16"] and not found["v_max_i16_e32"], found


@pytest.mark.skipif(OCLOC is None, reason="there is no ocloc, Intel's offline compiler")
@pytest.mark.parametrize("gpu", ["dg2", "tgllp"])
@pytest.mark.parametrize(
    ("lanes", "score", "letters"),
    [("packed", "match", 0), ("mixed", "match", 0), ("packed_profile", "matrix", 25)],
)
def test_intel(gpu: str, lanes: str, score: str, letters: int, tmp_path: Path) -> None:
    """The kernels compile for sub-groups of 16.  (Few rows of a lane: more take longer.)"""
    plan = Plan(lanes=lanes, form="ticketed", T=32, alpha=4, B=64, chunk=64)
    text, options = kernel(plan, score, letters)
    source = tmp_path / "kernel.cl"
    source.write_text(text)
    command = [str(OCLOC), "compile", "-file", str(source), "-device", gpu]
    command += ["-options", " ".join(["-w", *options]), "-output", "made"]
    command += ["-out_dir", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # the file's name ends with the device's
    made = [path.stat().st_size for path in tmp_path.glob("made*.bin")]
    assert made and min(made) > 0, ran.stdout + ran.stderr
