"""Profiles that cannot be used: damaged files, old ones, and those of other things."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from profiles_made import H200, alpha_of, made

from pysw_cl.errors import ProfileError, ProfileWarning
from pysw_cl.planning.profiles import profile as store
from pysw_cl.planning.profiles.profile import SCHEMA, VERSION, Identity, Profile, reset, save

pytestmark = pytest.mark.usefixtures("profile_folder")


def facts(**changed: Any) -> dict[str, Any]:
    return {**made().facts(), **changed}


def text(**changed: Any) -> bytes:
    return json.dumps(facts(**changed)).encode()


WRONG = {
    "empty": (b"", "it is empty"),
    "blank": (b" \n", "it is empty"),
    "truncated": (text()[:-30], r"it is not JSON"),
    "binary": (b"\x1f\x8b\x08\x00\xff\xfe", "it is not JSON"),
    "letters": (b">a\nACGT\n", "it is not JSON"),
    "nested": (b"[" * 100_000, "it is not JSON"),
    "list": (b"[1, 2]", "it is not a profile"),
    "other": (b'{"schema": "something"}', "it is not a profile"),
    "newer": (text(version=VERSION + 1), f"version {VERSION + 1}; this pysw-cl reads version 1"),
    "older": (text(version=0), "it has version 0"),
    "short": (json.dumps({"schema": SCHEMA, "version": VERSION}).encode(), "damaged: KeyError"),
    "word": (text(parameters={"a": {"T": "32"}}), r"a\.T is '32', not a number"),
    "bool": (text(times={"a": {"x": True}}), r"a\.x is True"),
    "nan": (text(times={"a": {"x": float("nan")}}), r"a\.x is nan"),
    "negative": (text(times={"a": {"x": -1.0}}), r"a\.x is -1\.0, not a number from 0 to"),
    "large": (text(times={"a": {"x": 10**400}}), r"a\.x is 10+, not a number from 0 to"),
    "list of numbers": (text(times=[1]), "damaged: AttributeError"),
    "spread": (text(spread=float("inf")), "spread is inf"),
    "kernels": (text(kernels=None), "kernels is None"),
    "runs": (text(runs=[1]), "damaged: TypeError"),
    "name": (text(identity={"name": 5}), r"identity\.name is 5"),
    "units": (text(identity={"compute_units": "4"}), r"identity\.compute_units is '4'"),
    "field": (text(identity={"colour": "red"}), "damaged: TypeError"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_damaged_file_is_ignored_with_one_warning(what: str, profile_folder: Path) -> None:
    data, why = WRONG[what]
    path = save(made(20))
    path.write_bytes(data)
    with pytest.warns(ProfileWarning, match=why) as warned:
        for _ in range(3):
            store.changes[0] += 1
            assert alpha_of() == (None, "shipped for any device")
    assert len(warned) == 1
    said = str(warned[0].message)
    assert str(path) in said and "pysw-cl profile reset --device 'NVIDIA H200'" in said
    save(made(18, replace(H200, driver="older")))  # the next best one
    assert alpha_of() == (18, "the user's (another driver)")
    assert len(reset(H200)) == 2  # the damaged one, too
    assert list(profile_folder.iterdir()) == []


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_profile_is_not_imported(what: str, profile_folder: Path) -> None:
    data, why = WRONG[what]
    with pytest.raises(ProfileError, match=why):
        Profile.of_text(data)
    assert not profile_folder.exists()


def test_files_of_other_things_in_the_folder(profile_folder: Path) -> None:
    path = save(made(20))
    path.rename(profile_folder / "renamed.json")  # nobody's
    (profile_folder / "notes.txt").write_text("mine")
    path.mkdir()  # a folder of that name
    store.changes[0] += 1
    assert alpha_of() == (None, "shipped for any device")
    with pytest.raises(ProfileError, match="directory"):
        save(made(20))
    path.rmdir()
    other = save(made(20, replace(H200, name="Other")))
    path.write_bytes(other.read_bytes())
    store.changes[0] += 1
    with pytest.warns(ProfileWarning, match="of another device"):
        assert alpha_of() == (None, "shipped for any device")
    assert reset(H200) == [path]
    assert sorted(one.name for one in profile_folder.iterdir()) == sorted(
        ["renamed.json", "notes.txt", other.name]
    )


def test_a_file_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(made(20))
    monkeypatch.setattr(store, "MOST_BYTES", path.stat().st_size - 1)
    with pytest.warns(ProfileWarning, match="too long"):
        assert alpha_of()[0] is None


def test_a_damaged_file_that_ships(shipped_profiles: Path) -> None:
    (shipped_profiles / "one.json").write_text("{")
    (shipped_profiles / "two.json").write_text(json.dumps(made(3, Identity()).facts()))
    with pytest.warns(ProfileWarning, match="install pysw-cl again"):
        assert alpha_of() == (3, "shipped for any device")


@pytest.mark.parametrize(
    "wrong",
    [
        made(identity=replace(H200, name="")),
        made(identity=replace(H200, platform="")),
        made(identity=replace(H200, kind="")),
        made(float("nan")),
        replace(made(), runs=({"a": {1, 2}},)),
        replace(made(), spread=float("inf")),
        replace(made(), times={"a": {"x": "1"}}),  # type: ignore[dict-item]
    ],
)
def test_what_could_not_be_read_is_not_stored(wrong: Profile, profile_folder: Path) -> None:
    with pytest.raises(ProfileError, match="the profile cannot be stored: "):
        save(wrong)
    assert not profile_folder.exists()


def test_names_of_files_are_safe(profile_folder: Path) -> None:
    names = [
        "../../etc/passwd",
        "a" * 300,
        "",
        "ß 中文",
        "A:B|C?",
        "x__y",
        ".",
        "tab\tnul\0",
        "\udcff",
    ]
    for number, name in enumerate(names):
        who = replace(H200, name=name or "-", driver=name)
        path = save(made(number, who))
        assert path.parent == profile_folder and len(path.name) < 200 and path.name.isascii()
        assert path.is_file() and path.name[0] not in ".-"
    for number, name in enumerate(names):
        assert alpha_of(replace(H200, name=name or "-", driver=name)) == (number, "the user's")


def test_an_interrupt_while_a_profile_is_stored(
    profile_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(made())
    assert list(profile_folder.iterdir()) == []
