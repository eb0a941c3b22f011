"""Where profiles are kept: a file a device in the user's folder, and those that ship.

The user's folder is ``profiles`` in the cache folder of pysw-cl (``platformdirs``), or what the
environment's ``PYSW_CL_PROFILES`` names; "off" means none.  A file's name begins with the device,
so that a look-up reads one file.  Files that ship leave out of their identity what does not matter.
What a user made comes first, then the device, the architecture, another device of the architecture,
the vendor, the kind and any device (the order of CLBlast's database, but for the third: Nugteren
2018, IWOCL, doi 10.1145/3204919.3204924).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...errors import ProfileError, ProfileWarning, warn
from ...folders import cache_folder, kernels_digest, usual_cache
from .profile import MOST_BYTES, Identity, Profile

#: The environment variable that names another folder, and its value for none.
VARIABLE, OFF = "PYSW_CL_PROFILES", "off"
#: The files that ship.
SHIPPED = Path(__file__).with_name("shipped")
#: The most letters of a device's name, and of a driver's, in the name of a file.
NAME_LETTERS, DRIVER_LETTERS = 60, 40
#: In the name of a file: it does not say.
ANY = "any"
#: What may be another one than the name of a file says, what matters most first.
OTHER = ("another number of compute units", "other kernels", "another driver")
#: Predictions by the profile of another device of the same architecture are off by so much at
#: least: its clock differs.
OTHER_SPREAD = 0.5


class Found(NamedTuple):
    """The profile that a device has."""

    profile: Profile
    #: Where it is from, in words.
    source: str
    #: The user's file; None for one that ships.
    path: Path | None = None


#: How often this process has stored or removed a profile.
_changes = 0
#: The files that a warning was given of.
_warned: set[Path] = set()


def stamp() -> tuple[str | None, int]:
    """What changes when devices may find other profiles."""
    return os.environ.get(VARIABLE), _changes


def user_folder() -> Path | None:
    """The user's folder, which need not exist; None where it is switched off."""
    given = os.environ.get(VARIABLE, "").strip()
    if given.lower() == OFF:
        return None
    if given:
        return Path(os.path.expanduser(given))  # noqa: PTH111 (Path's raises without a home)
    usual, now = usual_cache() / "profiles", cache_folder() / "profiles"
    return usual if usual.is_dir() and not now.is_dir() else now


def folder_to_change() -> Path:
    """The user's folder.  Raises ProfileError if there is none."""
    folder = user_folder()
    if folder is None:
        raise ProfileError(
            f"user's profiles are switched off by {VARIABLE}={OFF}; set it to a folder, or unset it"
        )
    if not os.environ.get(VARIABLE, "").strip() and not folder.is_absolute():
        raise ProfileError(
            f"there is no home folder to keep profiles in ({folder}); {VARIABLE} names a folder"
        )
    return folder


@contextmanager
def _changing() -> Iterator[Path]:
    """The user's folder, while something changes in it.  Raises ProfileError."""
    global _changes
    folder = folder_to_change()
    try:
        yield folder
    except OSError as error:
        raise ProfileError(
            f"the folder of profiles {folder} cannot be written: {error.strerror or error}; make "
            f"it writable, or name another in the environment's {VARIABLE}"
        ) from error
    finally:
        _changes += 1


def save(profile: Profile) -> Path:
    """Store a profile as the user's of its device, in place of one with the same driver, compute
    units and kernels.  Returns the file.

    The file is written beside its place and renamed, so that it is whole whoever else writes it.
    Raises ProfileError if the profile names no device or cannot be stored, or if the folder cannot
    be written.
    """
    text = profile.text()
    with _changing() as folder:
        path = folder / _file_name(profile.identity, profile.kernels)
        part = folder / f".{secrets.token_hex(8)}.part"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with part.open("w", encoding="ascii", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:  # after an error or an interrupt
            with suppress(OSError):
                part.unlink()
    return path


def measurements(profile: Profile, resume: bool) -> Path | None:
    """The file of measurements of a tuning that goes on later, beside that of a profile; empty
    unless an earlier one is to ``resume``.  None where it cannot be written."""
    with suppress(ProfileError), _changing() as folder:
        path = folder / f"{_file_name(profile.identity, profile.kernels)}l"
        folder.mkdir(parents=True, exist_ok=True)
        path.open("ab" if resume else "wb").close()
        return path
    return None


def reset(identity: Identity) -> list[Path]:
    """Remove the user's profiles of a device, of any driver and kernels, damaged ones too; their
    files.  Raises ProfileError if the folder cannot be written."""
    with _changing() as folder:
        paths = _files(folder, identity)
        for path in paths:
            path.unlink(missing_ok=True)
    return paths


def profile_for(identity: Identity) -> Found:
    """The profile of a device: the user's, best with the same compute units, kernels and driver,
    else with others, which the words say; else what ships.  A file that cannot be used is a
    ProfileWarning, once a process."""
    folder = user_folder()
    paths = [] if folder is None else _files(folder, identity)
    wanted = _file_name(identity, kernels_digest() if paths else "")

    def same(path: Path) -> list[bool]:
        """Is each of `OTHER` as the device has it?"""
        both = (Path(name).stem.split("__")[1:] for name in (path, wanted))
        return [one in (own, ANY) for one, own in zip(*both, strict=False)]

    hint = f"`pysw-cl profile reset --device '{identity.name.partition(':')[0]}'` removes it"
    for path in sorted(paths, key=same, reverse=True):
        profile = _read(path, hint, _device_key(identity))
        if profile is not None:
            others = [text for text, one in zip(OTHER, same(path), strict=False) if not one]
            others += ["measured beside other work"] * (profile.others > 0)
            said = f"the user's ({', '.join(others)})" if others else "the user's"
            return Found(profile, said, path)
    return shipped_for(identity)


def shipped_for(identity: Identity) -> Found:
    """The most specific profile that ships and fits a device.  The compute units of another device
    of its architecture do the same work."""

    def fits(said: Identity) -> bool:
        return all(
            value in ("", 0, getattr(identity, name)) or (name == "name" and said.architecture)
            for name, value in vars(said).items()
        )

    def order(profile: Profile) -> list[bool]:
        said = profile.identity
        less = said.vendor, said.kind, said.platform, said.driver, said.compute_units
        named = said.name != identity.name, not said.architecture, bool(said.name)
        return [*named, *(not one for one in less)]

    profile = min((one for one in _shipped() if fits(one.identity)), key=order, default=Profile())
    source = f"shipped for {profile.identity}"
    if profile.identity.name in ("", identity.name):
        return Found(profile, source)
    wider = replace(profile, spread=max(profile.spread, OTHER_SPREAD))
    return Found(wider, f"{source}; {identity.name} has the same architecture")


@cache
def _shipped() -> list[Profile]:
    """The profiles that ship."""
    read = (_read(path, "install pysw-cl again") for path in sorted(SHIPPED.glob("*.json")))
    return [profile for profile in read if profile is not None]


def _read(path: Path, hint: str, device: str = "") -> Profile | None:
    """The profile in a file; None, with a warning, if it cannot be used, or is not of the
    ``device`` whose key is given."""
    try:
        with path.open("rb") as file:
            profile = Profile.of_text(file.read(MOST_BYTES + 1))
        if not device or _device_key(profile.identity) == device:
            return profile
        why = "it is of another device"
    except FileNotFoundError:  # another process has just removed it
        return None
    except ProfileError as error:
        why = str(error)
    except OSError as error:
        why = f"it cannot be read ({error.strerror or error})"
    if path not in _warned:
        _warned.add(path)
        text = f"the profile {path} is ignored: {why}; {hint}"
        warn(text, ProfileWarning)
    return None


def _files(folder: Path, identity: Identity) -> list[Path]:
    """The user's files of a device, the latest first; none if the folder cannot be read."""
    with suppress(OSError):
        files = [*folder.glob(f"{_device_key(identity)}__*.json")]
        files = [path for path in files if path.is_file()]
        return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)
    return []


def _file_name(identity: Identity, kernels: str) -> str:
    """The name of a file: the device, then what may differ (`OTHER`)."""
    units = f"{identity.compute_units}-units" if identity.compute_units else ANY
    parts = _device_key(identity), units, _slug(kernels), _slug(identity.driver)
    return "__".join(parts) + ".json"


def _device_key(identity: Identity) -> str:
    """The start of the names of a device's files; no other device has it.  Its driver may change,
    and how much of it is used."""
    said = "\0".join((identity.name, identity.platform, identity.architecture, identity.kind))
    digest = hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{_slug(identity.name, NAME_LETTERS)}-{digest}"


def _slug(text: str, most: int = DRIVER_LETTERS) -> str:
    """A text as a part of a file's name: letters, digits and single dashes, dots, underlines."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", text)
    return re.sub(r"([._-])[._-]+", r"\1", safe)[:most].strip("._-") or ANY
