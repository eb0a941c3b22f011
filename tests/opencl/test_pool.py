"""Pools of buffers: what they keep from job to job."""

from __future__ import annotations

import numpy as np
import pytest

from pysw_cl.opencl import buffers as module
from pysw_cl.opencl.buffers import LASTING, Buffers, Pool
from pysw_cl.opencl.device import Runtime, get_runtime


@pytest.fixture
def runtime() -> Runtime:
    return get_runtime("auto")


def test_a_constant_is_sent_when_it_is_new_and_kept_when_it_comes_back(runtime: Runtime) -> None:
    pool, array = Pool(runtime), np.arange(50, dtype=np.int32)
    found = []
    for _ in range(4):
        with Buffers(runtime, pool=pool) as buffers:
            found.append(buffers.constant(array))
            buffers.of(np.zeros(50, np.int32))  # what others write is no constant
            assert buffers.bytes == 400
            assert np.array_equal(buffers.read(found[-1], 50), array)
    assert found[1] is found[2] is found[3] is not found[0]
    assert id(found[1]) in LASTING
    with Buffers(runtime, pool=pool) as buffers:
        other = buffers.constant(array + 1)
        assert other is not found[1]
        assert np.array_equal(buffers.read(other, 50), array + 1)
        assert np.array_equal(buffers.read(buffers.constant(array), 50), array)
    pool.forget()
    assert id(found[1]) not in LASTING


def test_few_constants_are_kept(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONSTANTS", 3)
    pool = Pool(runtime)
    for k in range(20):
        with Buffers(runtime, pool=pool) as buffers:
            for value in (k // 2, k // 2 + 1):
                made = buffers.constant(np.full(5, value, np.int32))
                assert buffers.read(made, 5).tolist() == 5 * [value]
        assert len(pool._constants) <= 5
    large = np.zeros(module.CONSTANT_BYTES + 1, np.uint8)
    assert all(pool.constant(large) is None for _ in range(3))


def test_other_requests_keep_their_buffers_once_a_constant_is_known(runtime: Runtime) -> None:
    pool, taken = Pool(runtime), []
    for _ in range(4):
        with Buffers(runtime, pool=pool) as buffers:
            buffers.constant(np.arange(7, dtype=np.int32))
            for size in (5000, 90_000, 3000):
                buffers.empty(size)
        taken.append(pool.bytes)
    assert len(set(taken)) == 1


def test_without_a_pool_a_constant_is_a_copy(runtime: Runtime) -> None:
    with Buffers(runtime, small=True) as small, Buffers(runtime) as buffers:
        for one in (small, buffers):
            made = one.constant(np.arange(9, dtype=np.int32))
            one.send()
            assert one.read(made, 9).tolist() == list(range(9))


def test_one_large_buffer_is_kept(runtime: Runtime) -> None:
    pool, size = Pool(runtime), module.POOLED_BYTES + 4
    with Buffers(runtime, pool=pool) as buffers:
        first = buffers.large(size)
        assert buffers.large(size) is not first  # one job has it once
        assert buffers.bytes == 2 * size
    with Buffers(runtime, pool=pool) as buffers:
        assert buffers.large(size) is first
    with Buffers(runtime, pool=pool) as buffers:
        larger = buffers.large(size + 4)
        assert larger is not first and larger.size == size + 4
    with Buffers(runtime, pool=pool) as buffers:
        assert buffers.large(size) is larger
        assert buffers.large(pool._most_large + 4) is not larger
    pool.forget()
    with Buffers(runtime) as buffers:
        assert buffers.large(100).size == 100
