"""Compilers have nothing to say about the kernels: some drivers pass it on to standard error."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pyopencl as cl
import pytest

import pysw_cl
from pysw_cl.engines.wavefront.kernel import kernel_spec
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.program import joined_source
from pysw_cl.planning.lane_sets import LANE_SETS

CLANG = next((name for name in ("clang", "clang-14", "clang-15") if shutil.which(name)), None)
LETTERS = "ACGTTGCATTAC" * 40


def test_drivers() -> None:
    """Of all programs that this process has built for the usual device, a few at least."""
    pysw_cl.align(LETTERS, LETTERS[3:], plan={"engine": "wavefront"})
    pysw_cl.align_many([(LETTERS, LETTERS[5:])])
    runtime = get_runtime("auto")
    assert len(runtime.programs) >= 3
    for program in runtime.programs.values():
        log = program.get_build_info(runtime.device, cl.program_build_info.LOG)
        assert "warning:" not in log


@pytest.mark.skipif(CLANG is None, reason="there is no clang")
@pytest.mark.parametrize("form", ["ticketed", "two-phase"])
@pytest.mark.parametrize("lanes", ["vector", "packed", "warp32", "scalar32"])
def test_clang(lanes: str, form: str, tmp_path: Path) -> None:
    source = tmp_path / "kernel.cl"
    source.write_text(joined_source(kernel_spec(form, lanes, "match").files))
    group = LANE_SETS[lanes].of_warps
    target = "nvptx64 -D__NV_CL_C_VERSION=120" if group else "spir64"
    options = f"-x cl -cl-std=CL1.2 -target {target} -Xclang -finclude-default-header -DT=32 -DR=8 "
    options += f"-DTICKETED={int(form == 'ticketed')} -DSKEWED_SCORES={int(group)} -fsyntax-only"
    done = subprocess.run([str(CLANG), *options.split(), source], capture_output=True, text=True)
    assert done.returncode == 0 and not re.findall("warning: .*", done.stderr), done.stderr
