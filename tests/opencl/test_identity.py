"""What a profile is kept by: devices, most of them made up, and the digest of the kernels."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from machines import CPU, GPU, Machine, fake, fake_platform

import pysw_cl
from pysw_cl import folders
from pysw_cl.folders import kernels_digest
from pysw_cl.opencl import listing
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.profiles.profile import Identity, Profile, save

ROOT = Path(__file__).resolve().parents[2]


def gpu(name: str, **has: Any) -> Any:
    return fake(GPU, name, vendor="V", **has)


def test_identity_of_devices(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "system", SimpleNamespace(machine=lambda: "AMD64"))
    nvidia = gpu("H200", compute_capability_major_nv=9, compute_capability_minor_nv=0)
    machine(
        fake_platform("NVIDIA CUDA", nvidia),
        fake_platform("AMD", gpu("gfx90a:sramecc+:xnack-"), gpu("Vega")),
        fake_platform("Rusticl", gpu("AMD Radeon (radeonsi, gfx1100, LLVM 17)"), gpu("Arc")),
        fake_platform("P", fake(CPU, "some CPU", 8)),
    )
    found = [get_runtime(index).identity for index in ("0:0", "1:0", "1:1", "2:0", "2:1", "3:0")]
    assert [one.architecture for one in found] == [
        "sm_90", "gfx90a", "", "gfx1100", "", "x86_64",
    ]  # fmt: skip
    assert found[0] == Identity("H200", "NVIDIA CUDA", "V", "sm_90", "1.0", "gpu", 4)
    assert found[5] == Identity("some CPU", "P", "", "x86_64", "1.0", "cpu", 8)
    monkeypatch.setattr(listing, "system", SimpleNamespace(machine=lambda: "arm64"))
    cpu = get_runtime("3:0")
    assert listing.identity_of(cpu.device, cpu.info).architecture == "aarch64"


def test_the_digest_changes_with_any_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = kernels_digest()
    assert len(digest) == 16 and int(digest, 16) >= 0
    real = folders.kernel_source
    read: set[str] = set()

    def other(name: str) -> str:
        read.add(name)
        return real(name) + (" " if name == "score/match.clh" else "")

    monkeypatch.setattr(folders, "kernel_source", other)
    assert kernels_digest.__wrapped__() != digest
    there = {path.relative_to(ROOT / "cl").as_posix() for path in (ROOT / "cl").rglob("*.cl*")}
    assert read == there


@pytest.mark.usefixtures("profile_folder")
def test_profile_of_a_device() -> None:
    """The device at hand, which PyOpenCL knows."""
    runtime = get_runtime("auto")
    assert all((runtime.identity.name, runtime.identity.vendor, runtime.identity.driver))
    assert runtime.profile()[1].startswith("shipped for ")
    save(Profile(runtime.identity, kernels_digest(), {"wavefront/packed": {"alpha": 7}}))
    assert runtime.profile()[1] == "the user's"
    found = pysw_cl.profile()
    assert isinstance(found, pysw_cl.Profile)
    assert found.parameters["wavefront/packed"]["alpha"] == 7
