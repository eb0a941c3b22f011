"""What PoCL has built is kept in checked files, whatever happens to folders and processes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import IMPORTS

from pysw_cl import folders
from pysw_cl.errors import BuildError, CacheWarning
from pysw_cl.opencl import kernel_store
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.kernel_store import KernelStore, unusable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files are locked as POSIX has it")
MADE = {"program.bc": b"code", "batch/1-1-1/batch.so": b"machine code", "last_accessed": b""}
#: Computes something with a kernel that is soon built.
USE = """
import numpy as np
import pyopencl as cl
from pysw_cl.opencl.device import get_runtime
from pysw_cl.opencl.program import BoundKernel, KernelSpec
runtime = get_runtime("cpu")
runtime.source_of = lambda name: "__kernel void fill(__global int *to) { to[0] = 63; }"
found = np.zeros(1, np.int32)
buffer = cl.Buffer(runtime.context, cl.mem_flags.READ_WRITE, 4)
BoundKernel(runtime, KernelSpec("fill", ("fill.cl",), ("to",)), {}).bind(to=buffer).launch(1, 1)
cl.enqueue_copy(runtime.queue, found, buffer)
print(*found)
"""
RIGHT = "63\n"


def store_in(folder: Path) -> KernelStore:
    """A store, and PoCL's folder in it."""
    store = KernelStore(folder)
    store.run.mkdir()
    return store


def build(store: KernelStore, digest: str) -> bool:
    """Do what PoCL does, unless it finds the program; say whether it did not."""
    with store.building(digest):
        folder = store.run / "AB" / digest
        known = folder.is_dir()
        for name, data in MADE.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    return not known


def kept_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder in which one program is kept."""
    store = store_in(tmp_path)
    assert build(store, "one")
    store.close()
    assert kept_in(tmp_path) == ["one.built"]
    return tmp_path / "one.built"


def test_another_process_builds_nothing(kept: Path) -> None:
    before = kept.stat()
    store = store_in(kept.parent)
    assert not build(store, "one") and build(store, "two")
    (store.run / "AB" / "two" / "later.so").write_bytes(b"of another launch")
    store.keep("two")
    assert store.keeps("two")
    store.close()
    assert kept_in(kept.parent) == ["one.built", "two.built"]
    assert kept.stat().st_mtime_ns == before.st_mtime_ns  # what is kept is not written again


def test_files_that_pocl_runs_stay(kept: Path) -> None:
    """Programs whose texts differ in comments alone have one folder of PoCL's."""
    shutil.copy(kept, kept.with_stem("two"))
    store = store_in(kept.parent)
    files = [store.run / "AB" / "one" / name for name in MADE]
    assert not build(store, "one")
    for file in files:
        os.utime(file, (1, 1))
    with store.building("two"):
        assert [file.stat().st_mtime for file in files] == [1] * len(files)


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: data[:-9] + bytes(9)],
    ids=["empty", "half", "other bytes"],
)
def test_damaged_files_are_left_aside(kept: Path, damage: Callable[[bytes], bytes]) -> None:
    kept.write_bytes(damage(kept.read_bytes()))
    store = store_in(kept.parent)
    with pytest.warns(CacheWarning, match=r"built again.*one\.aside.*damaged.*troubleshooting"):
        assert build(store, "one")
    store.close()
    assert kept_in(kept.parent) == ["one.aside", "one.built"]
    assert not build(store_in(kept.parent), "one")


def test_what_pocl_cannot_use_is_left_aside(kept: Path) -> None:
    store = store_in(kept.parent)
    assert not build(store, "one")
    with pytest.warns(CacheWarning, match=r"one\.aside.*cannot use"):
        assert store.drop("one")
    assert not store.drop("one") and build(store, "one")


def test_a_process_that_died_leaves_nothing(kept: Path) -> None:
    died, living = store_in(kept.parent), store_in(kept.parent)
    build(died, "half")
    died._living.close()
    store = store_in(kept.parent)
    store.sweep()
    assert not died.run.exists() and living.run.exists() and store.run.exists()
    for one in (living, store):
        one.close()
    assert kept_in(kept.parent) == ["one.built"]


def test_no_room(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(kept.parent)
    monkeypatch.setattr(kernel_store, "ROOM", 1 << 62)
    assert "is full" in unusable(kept.parent)
    with pytest.raises(BuildError, match=r"disk of .* is full; make room, or set POCL_CACHE_DIR"):
        build(store, "two")
    assert "cannot be used" in unusable(Path("/dev/null/folder"))


def test_folders_of_others_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder below TMPDIR that others can write may hold anything."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    first = next(folders.temporary_folders())
    assert first.parent == tmp_path and first.stat().st_mode & 0o77 == 0
    first.chmod(0o777)
    assert first not in list(folders.temporary_folders())
    first.rmdir()
    first.symlink_to(tmp_path)
    assert first not in list(folders.temporary_folders())


def process(folder: Path, code: str = USE, **more: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    names = {"XDG_CACHE_HOME": str(folder), "PYTHONPATH": IMPORTS, **more}
    env = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"} | names
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env)


def needs_pocl() -> None:
    if kernel_store.POCL not in get_runtime("cpu").info.platform:
        pytest.skip("another driver keeps its builds itself")


def test_processes(tmp_path: Path) -> None:
    """The real driver: built, found, damaged, without PyOpenCL's cache, and in use before."""
    needs_pocl()
    kept = tmp_path / "pysw-cl" / "pocl"
    assert process(tmp_path).communicate() == (RIGHT, "")
    (file,) = kept.iterdir()
    before = file.stat().st_mtime_ns
    code = "import os; assert 'POCL_CACHE_DIR' not in os.environ"
    assert process(tmp_path, USE + code).communicate() == (RIGHT, "")
    assert file.stat().st_mtime_ns == before
    for other in (tmp_path / "pytools").iterdir():
        other.write_bytes(b"damaged")
    file.write_bytes(file.read_bytes()[:-1])
    out, err = process(tmp_path).communicate()
    assert out == RIGHT and err.count("CacheWarning") == 1 and f"{file.stem}.aside" in err
    first = "import pyopencl as cl; [p.get_devices() for p in cl.get_platforms()]\n"
    assert process(tmp_path, first + USE).communicate() == (RIGHT, "")
    assert kept_in(kept) == [f"{file.stem}.aside", file.name]


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    needs_pocl()
    for name in ("XDG_CACHE_HOME", "POCL_CACHE_DIR"):
        env = {"XDG_CACHE_HOME": str(tmp_path), name: "/dev/null/x", "TMPDIR": str(tmp_path)}
        out, err = process(Path(), **env).communicate()
        assert out == RIGHT and err.count("CacheWarning") == 1
        assert "/dev/null/x" in err and f"kept in {tmp_path}" in err


@pytest.mark.long
def test_processes_killed_at_once_and_at_random_moments(tmp_path: Path) -> None:
    """Each leaves the folder fit for the next one."""
    needs_pocl()
    rng = random.Random(1)
    for _ in range(50):
        running = [process(tmp_path) for _ in range(4)]
        time.sleep(rng.uniform(0, 3))
        for one in running:
            one.send_signal(signal.SIGKILL)
            assert one.communicate()[0] in ("", RIGHT)
        assert process(tmp_path).communicate() == (RIGHT, "")
        for file in (tmp_path / "pysw-cl" / "pocl").glob("*.built"):
            if rng.random() < 0.5:
                file.unlink()
