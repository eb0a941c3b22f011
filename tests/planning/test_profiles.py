"""Profiles: which one a device has, where they are kept, and two processes that write one."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers import IMPORTS
from profiles_made import H200, KERNELS, alpha_of, made

from pysw_cl import folders
from pysw_cl.errors import ProfileError
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.profiles import profile as store
from pysw_cl.planning.profiles.profile import (
    SHIPPED,
    VARIABLE,
    Identity,
    Profile,
    profile_for,
    reset,
    save,
    user_folder,
)

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.usefixtures("profile_folder")


# Which one


def test_the_users_own_comes_first(profile_folder: Path) -> None:
    assert alpha_of() == (None, "shipped for any device")
    assert not profile_folder.exists()  # a look-up makes nothing
    path = save(made(20))
    assert path.parent == profile_folder
    assert path.name.startswith("NVIDIA-H200-") and KERNELS in path.name and "580.1" in path.name
    assert alpha_of() == (20, "the user's")
    assert profile_for(H200).path == path
    assert profile_for(H200).profile == made(20)
    assert save(made(21)) == path  # another of the same kind takes its place
    assert alpha_of() == (21, "the user's")


def test_another_driver_other_kernels_other_units() -> None:
    later, smaller = replace(H200, driver="590.2"), replace(H200, compute_units=16)
    save(made(20))
    assert alpha_of(later) == (20, "the user's (another driver)")
    assert alpha_of(H200, "f" * 16) == (20, "the user's (other kernels)")
    assert alpha_of(later, "f" * 16) == (20, "the user's (other kernels, another driver)")
    assert alpha_of(smaller) == (20, "the user's (another number of compute units)")
    save(made(16, smaller))
    save(made(12, later, "f" * 16))
    assert alpha_of() == (20, "the user's")
    assert alpha_of(smaller, "0" * 16) == (16, "the user's (other kernels)")
    assert alpha_of(later) == (20, "the user's (another driver)")  # before one of other kernels
    assert alpha_of(later, "f" * 16) == (12, "the user's")
    for other in (
        replace(H200, name="NVIDIA H100"),
        replace(H200, name="NVIDIA/H200"),
        replace(H200, platform="Portable Computing Language"),
        replace(H200, architecture="sm_80"),
        replace(H200, kind="accelerator"),
    ):
        assert alpha_of(other) == (None, "shipped for any device"), other


def test_of_two_the_later_one_is_taken() -> None:
    old, new = replace(H200, driver="1"), replace(H200, driver="2")
    for first, second in ((old, new), (new, old)):
        path = save(made(1, first))
        os.utime(path, (1, 1))
        save(made(2, second))
        assert alpha_of() == (2, "the user's (another driver)")


def test_a_profile_of_any_driver_and_kernels() -> None:
    save(made(20, replace(H200, driver="", compute_units=0), ""))
    assert alpha_of() == (20, "the user's")


def test_fall_back_order_of_what_ships(shipped_profiles: Path) -> None:
    order = [
        Identity(),
        Identity(kind="gpu"),
        Identity(kind="gpu", platform="NVIDIA CUDA"),
        Identity(vendor="NVIDIA Corporation"),
        Identity(vendor="NVIDIA Corporation", kind="gpu"),
        Identity(architecture="sm_90"),
        Identity(architecture="sm_90", kind="gpu"),
        Identity(name="NVIDIA H200", platform="NVIDIA CUDA"),
    ]
    others = [
        Identity(kind="cpu"),
        Identity(architecture="sm_90", kind="cpu"),
        Identity(name="NVIDIA H200", platform="other"),
        Identity(name="NVIDIA H200", driver="other"),
    ]
    assert profile_for(H200) == (Profile(), "shipped for any device", None)
    for number, identity in enumerate([*others, *order]):
        text = json.dumps(made(number, identity).facts())
        (shipped_profiles / f"{99 - number}.json").write_text(text)
        store._shipped.cache_clear()
        store.changes[0] += 1
        if number >= len(others):
            alpha, source = alpha_of()
            assert alpha == number
            assert source.startswith("shipped for ")
    assert source == "shipped for NVIDIA H200 [NVIDIA CUDA]"
    assert alpha_of(replace(H200, name="NVIDIA H100"))[1] == "shipped for gpu, sm_90"
    assert alpha_of(Identity("Z", "Z", "Z", "Z", "Z", "cpu", 4))[1] == "shipped for cpu"
    assert str(Identity(platform="PoCL", kind="cpu")) == "PoCL, cpu"
    assert alpha_of(Identity("Z", "Z", "Z", "Z", "Z", "other", 4))[1] == "shipped for any device"
    save(made(50))
    assert alpha_of() == (50, "the user's")


def test_what_ships_for_another_device_of_the_architecture(shipped_profiles: Path) -> None:
    other = replace(H200, name="NVIDIA H100", compute_units=114)
    said = [
        Identity(vendor="NVIDIA Corporation", kind="gpu"),
        Identity(name="NVIDIA H200", architecture="sm_90"),
        Identity(architecture="sm_90"),
        Identity(name="NVIDIA H100", kind="gpu"),
    ]
    for number, identity in enumerate(said, 1):
        text = json.dumps(replace(made(number, identity), spread=0.1).facts())
        (shipped_profiles / f"{number}.json").write_text(text)
        store._shipped.cache_clear()
        store.changes[0] += 1
        assert alpha_of(other)[0] == number
        found, source, _ = profile_for(other)
        assert found.spread == (0.5 if number == 2 else 0.1)
        if number == 2:
            assert source == "shipped for NVIDIA H200, sm_90; NVIDIA H100 has the same architecture"
    assert alpha_of(H200)[0] == 2
    assert alpha_of(replace(H200, name="Other", architecture="sm_80"))[0] == 1


def test_what_ships_can_be_read() -> None:
    paths = sorted(SHIPPED.iterdir())
    assert all(path.suffix == ".json" for path in paths)
    for path in paths:
        Profile.of_text(path.read_bytes())
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert config["options.package_data"]["pysw_cl.planning.profiles"] == "shipped/*.json"


def test_look_ups_are_kept_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up reads one file; a device keeps what it found."""
    save(made(20))
    runs = [{"B": number, "seconds": [0.1] * 5} for number in range(300)]
    save(replace(made(21, replace(H200, driver="2")), runs=tuple(runs)))
    best = 1.0
    for _ in range(5):
        store.changes[0] += 1
        began = time.perf_counter()
        assert alpha_of() == (20, "the user's")
        best = min(best, time.perf_counter() - began)
    assert best < 2e-3
    found = get_runtime("cpu").profile()
    monkeypatch.setattr(store, "_read", lambda *_: pytest.fail("it is read again"))
    assert get_runtime("cpu").profile() is found


def test_the_kernels_are_read_only_to_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "kernels_digest", lambda: pytest.fail("there is no file yet"))
    assert profile_for(H200)[1].startswith("shipped")


# The folder


@pytest.fixture
def folders_anew() -> Iterator[Callable[[], None]]:
    """Forgets which folders were found, now and when the test has ended."""

    def forget() -> None:
        folders.usual_cache.cache_clear()
        folders.cache_folder.cache_clear()

    yield forget
    forget()


def test_the_usual_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folders_anew: Callable[[], None]
) -> None:
    folders_anew()
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: f"{tmp_path}/{name}")
    for nothing in ("", "  "):
        monkeypatch.setenv(VARIABLE, nothing)
        assert user_folder() == tmp_path / "pysw-cl" / "profiles"
    monkeypatch.setenv(VARIABLE, "~/here")
    assert user_folder() == Path("~/here").expanduser()


@pytest.mark.filterwarnings("ignore::pysw_cl.errors.CacheWarning")
def test_without_a_home_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folders_anew: Callable[[], None]
) -> None:
    """Profiles are kept below TMPDIR, or nowhere if that cannot be written."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: f"~/.cache/{name}")
    monkeypatch.delenv(VARIABLE)
    for there in (True, False):
        found = [tmp_path / "mine"] * there
        monkeypatch.setattr(folders, "temporary_folders", lambda found=found: iter(found))
        folders_anew()
        assert alpha_of()[1] == "shipped for any device"
        if there:
            assert save(made()).parent == tmp_path / "mine" / "profiles"
            reset(H200)
        else:
            with pytest.raises(ProfileError, match=r"no home folder.*PYSW_CL_PROFILES"):
                save(made())


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    save(made(20))
    monkeypatch.setenv(VARIABLE, "Off")
    assert alpha_of() == (None, "shipped for any device")
    for change in (lambda: save(made()), lambda: reset(H200)):
        with pytest.raises(ProfileError, match="switched off by PYSW_CL_PROFILES=off"):
            change()


def test_a_folder_that_cannot_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Below a file nothing can be written, whoever runs the test."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "profiles"):
        monkeypatch.setenv(VARIABLE, str(place))
        assert alpha_of() == (None, "shipped for any device")
        assert reset(H200) == []
        with pytest.raises(ProfileError) as caught:
            save(made())
        assert str(place) in str(caught.value) and VARIABLE in str(caught.value)
    assert (tmp_path / "file").read_text() == ""


def test_a_full_disk_leaves_what_was_there(
    profile_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(made(20))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProfileError, match="No space left"):
        save(made(21))
    assert alpha_of() == (20, "the user's")
    assert len(list(profile_folder.iterdir())) == 1  # no part of it is left
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: full())
    with pytest.raises(ProfileError, match=r"cannot be written: No space left"):
        reset(H200)


WRITER = """
import sys
from dataclasses import replace
from pysw_cl.planning.profiles.profile import Identity, Profile, save
who = Identity("D", "P", kind="gpu")
print(flush=True)
sys.stdin.readline()
for number in range(40):
    runs = tuple({"from": sys.argv[1], "number": number} for _ in range(400))
    save(Profile(who, "k", made=sys.argv[1], runs=runs))
"""


def test_two_processes_write_at_once(profile_folder: Path) -> None:
    """Whenever it is read, it is one of theirs, whole."""
    who = Identity("D", "P", kind="gpu")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name],
            env=dict(os.environ, PYTHONPATH=IMPORTS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in "ab"
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    seen = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while any(writer.poll() is None for writer in writers) or not seen:
            store.changes[0] += 1
            found = profile_for(who)
            if found.path is not None:
                seen += 1
                run = found.profile.runs[0]
                assert run["from"] == found.profile.made
                assert found.profile.runs == (run,) * 400
    assert [writer.wait() for writer in writers] == [0, 0]
    for writer in writers:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdin.close()
        writer.stdout.close()
    assert len(list(profile_folder.iterdir())) == 1


# Storing, handing on, removing


def test_reset_removes_all_of_a_device() -> None:
    other = replace(H200, name="NVIDIA H200 NVL")
    kept = save(made(1, other))
    paths = [save(made(2)), save(made(3, replace(H200, driver="1"))), save(made(4, kernels="f"))]
    assert sorted(reset(H200)) == sorted(paths)
    assert alpha_of() == (None, "shipped for any device")
    assert (alpha_of(other), kept.exists()) == ((1, "the user's"), True)
    assert reset(H200) == []
