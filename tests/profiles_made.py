"""Profiles of a device that is not there."""

from __future__ import annotations

import pytest

from pysw_cl.planning.profiles import profile as store
from pysw_cl.planning.profiles.profile import Identity, Profile

H200 = Identity("NVIDIA H200", "NVIDIA CUDA", "NVIDIA Corporation", "sm_90", "580.1", "gpu", 132)
KERNELS = "0123456789abcdef"


def made(alpha: float = 24, identity: Identity = H200, kernels: str = KERNELS) -> Profile:
    """A profile; ``alpha`` tells it from others."""
    return Profile(
        identity,
        kernels,
        {"wavefront/packed": {"groups": 8, "alpha": alpha}},
        {"call": {"launch": 1e-5}},
        0.05,
        "a test",
        ({"B": 132, "seconds": [0.1, 0.2], "name": "größer"},),
    )


def alpha_of(identity: Identity = H200, kernels: str = KERNELS) -> tuple[float | None, str]:
    """Which profile a device has, and where it is from."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "kernels_digest", lambda: kernels)
        profile, source, _ = store.profile_for(identity)
    return profile.parameters.get("wavefront/packed", {}).get("alpha"), source
