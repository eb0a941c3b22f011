"""PoCL on a processor that its LLVM does not know."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

from pysw_cl.opencl import pocl


def test_which_devices() -> None:
    def version(processor: str) -> SimpleNamespace:
        text = f"OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-{processor}"
        return SimpleNamespace(version=text)

    assert pocl.unnamed(version("generic"))
    assert not pocl.unnamed(version("znver3"))
    assert not pocl.unnamed(SimpleNamespace(version="OpenCL 3.0 CUDA"))
    assert not pocl.unnamed(SimpleNamespace())


def test_the_name_is_exchanged() -> None:
    """Only the word that points to the name; others stay."""
    name, other = ctypes.create_string_buffer(b"generic"), ctypes.create_string_buffer(b"generics")
    record = (ctypes.c_uint64 * pocl.RECORD_WORDS)()
    before = [1, 0, ctypes.addressof(other), 2**63, ctypes.addressof(name), 7]
    record[: len(before)] = before
    device = SimpleNamespace(int_ptr=ctypes.addressof(record))
    pocl.name_processor(device)
    now = record[: len(before)]
    assert [a == b for a, b in zip(now, before, strict=True)] == [True] * 4 + [False, True]
    assert ctypes.string_at(now[4]) in [name for name, _ in pocl.LEVELS]
    pocl.name_processor(device)  # there is none any more
    assert record[: len(before)] == now
