"""The kernels compile for AMD's processors to packed 16-bit instructions, where a compiler is at
hand; no device is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from pysw_cl.engines.wavefront.kernel import kernel_spec
from pysw_cl.opencl.program import joined_source

#: Processors, lanes of two wavefronts' work-items, the first clang that knows the processor.
PROCESSORS = [("gfx90a", 128, 14), ("gfx1100", 64, 15)]
OPTIONS = (
    "-x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -nogpulib -Xclang -finclude-default-header "
    "-O3 -S -DR=8 -DLOCAL=1 -DBEST=1 -DSTORE_MOVES=0 -DTICKETED=0 -DUNROLL=2 -DCHUNK=64 "
    "-DSKEWED_SCORES=1 -DPRUNE=1"
).split()


def clang_of(least: int) -> str:
    """A clang of that version or a later one that makes code for AMD's processors."""
    names = ["clang", *(f"clang-{version}" for version in range(14, 31))]
    tried = []
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        version = re.search(r"version (\d+)", said)
        targets = subprocess.run([path, "--print-targets"], capture_output=True, text=True).stdout
        if version and int(version[1]) >= least and "amdgcn" in targets:
            return path
        tried.append(f"{name} ({version[1] if version else 'version unknown'})")
    pytest.skip(f"no clang {least} or later that knows amdgcn; found: {', '.join(tried) or 'none'}")


@pytest.mark.parametrize("processor, T, least", PROCESSORS)
def test_packed_instructions(processor: str, T: int, least: int, tmp_path: Path) -> None:
    clang = clang_of(least)
    source = tmp_path / "packed.cl"
    source.write_text(joined_source(kernel_spec("two-phase", "packed", "match").files))
    command = [clang, *OPTIONS, f"-mcpu={processor}", f"-DT={T}", str(source), "-o", "-"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    used = Counter(re.findall(r"^\s+(\w+)", made.stdout, re.MULTILINE))
    # a step of 8 rows takes at least 4 maxima and 5 sums a row
    assert used["v_pk_max_i16"] >= 100
    assert used["v_pk_add_u16"] + used["v_pk_add_i16"] >= 100
    assert used["ds_bpermute_b32"] >= 10
