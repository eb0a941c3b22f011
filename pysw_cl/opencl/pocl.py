"""PoCL on a processor that is newer than the LLVM it was built with."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path
from typing import Any

#: Names of processors that every LLVM since 12 knows, and the flags of /proc/cpuinfo they need.
_AVX512 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_BYTES = {"avx512vbmi", "avx512_vbmi2", "avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq"}
LEVELS = (
    (b"icelake-server", _AVX512 | _BYTES | {"avx512ifma", "gfni", "vaes", "vpclmulqdq", "sha_ni"}),
    (b"x86-64-v3", {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}),
    (b"x86-64-v2", {"cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"}),
    (b"x86-64", set[str]()),
)
#: Words of a device's record that are searched for the name.
RECORD_WORDS = 512
#: Names that were set.  PoCL points to them, so they stay allocated.
_given: list[Any] = []


def unnamed(device: Any) -> bool:
    """Is this a device of PoCL 3 whose processor its LLVM does not know?  PoCL then names it
    "generic", which its compiler does not accept for x86, so every build fails."""
    version = getattr(device, "version", "")
    return "PoCL HSTR: " in version and version.rstrip().endswith(
        "x86_64-unknown-linux-gnu-generic"
    )


def name_processor(device: Any) -> None:
    """Make PoCL use the name of a known processor whose instructions this one has.

    PoCL 3 has no setting for it.  So this replaces the pointer to the name "generic" in the
    device's record, whose address is the ``cl_device_id``.  It does nothing if there is none.
    """
    flags = set[str]()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("flags"):
            flags = set(line.split(":", 1)[1].split())
            break
    name = next(name for name, needs in LEVELS if needs <= flags)
    readable = _readable()

    def there(address: int, size: int) -> bool:
        return any(start <= address and address + size <= end for start, end in readable)

    words = (ctypes.c_uint64 * RECORD_WORDS).from_address(device.int_ptr)
    for k in itertools.takewhile(lambda k: there(device.int_ptr + 8 * k, 8), range(RECORD_WORDS)):
        if there(words[k], 8) and ctypes.string_at(words[k], 8) == b"generic\0":
            _given.append(ctypes.create_string_buffer(name))
            words[k] = ctypes.addressof(_given[-1])
            return


def _readable() -> list[tuple[int, int]]:
    """The address ranges of the process's readable memory."""
    found = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, rights = line.split()[:2]
        if rights.startswith("r") and "[v" not in line:
            start, end = (int(part, 16) for part in place.split("-"))
            found.append((start, end))
    return found
