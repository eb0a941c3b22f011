"""What compilers make of packed lanes for devices that are not at hand: AMD's by clang."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pysw_cl.engines.wavefront.kernel import Program, kernel_spec
from pysw_cl.opencl.program import joined_source
from pysw_cl.opencl.traits import DeviceTraits
from pysw_cl.planning.plan import Plan

CLANG = next((name for name in ("clang-15", "clang") if shutil.which(name)), None)
#: Rows of a lane.
ALPHA = 8


def knows_amd() -> bool:
    """Can clang make code for AMD's devices?"""
    if CLANG is None:
        return False
    targets = subprocess.run([CLANG, "--print-targets"], capture_output=True, text=True).stdout
    return "amdgcn" in targets


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
    program = Program(
        plan=Plan(lanes=lanes, T=T, alpha=ALPHA, B=64, chunk=128),
        form="two-phase",
        T=T,
        score=score,
        widths=(16,),
        local=True,
        best=1,
        moves=False,
        forbidden=False,
        prunes=True,
        skewed=True,
        warps=1,
        letters=letters,
    )
    spec = kernel_spec(program.form, lanes, score, program.widths)
    defines = program.defines(DeviceTraits(lanes="packed", warp_width=lanes_of_a_warp))
    source, assembly = tmp_path / "kernel.cl", tmp_path / "kernel.s"
    source.write_text(joined_source(spec.files))
    target = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib"]
    given = [f"-D{name}={value}" for name, value in defines.items()]
    command = [str(CLANG), "-x", "cl", "-cl-std=CL1.2", *target, "-Xclang"]
    command += ["-finclude-default-header", "-O3", "-S", "-w", *given, str(source), "-o"]
    subprocess.run([*command, str(assembly)], check=True, capture_output=True)
    found = Counter(re.findall(r"^\s+(v_\w+)", assembly.read_text(), re.MULTILINE))
    # the main loop has two steps, and the loop with masks has one, in two places each
    least = 3 * ALPHA
    assert found["v_pk_add_u16"] > 3 * least, found
    assert found["v_pk_max_i16"] > 3 * least, found
    assert (found["v_perm_b32"] >= least) == (lanes == "packed_profile"), found
    assert not found["v_max_i16"] and not found["v_max_i16_e32"], found
