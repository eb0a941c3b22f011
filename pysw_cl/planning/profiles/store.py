"""Where profiles are kept: a file a device in the user's folder, and those that ship.

The user's folder is ``profiles`` in the cache folder of pysw-cl (``platformdirs``), or what the
environment's ``PYSW_CL_PROFILES`` names; "off" means none.  A file's name begins with the device,
so that a look-up reads one file.  Files that ship leave out of their identity what does not matter.
What a user made comes first, then the device, the architecture, another device of the architecture,
the vendor, the kind and any device (the order of CLBlast's database, but for the third: Nugteren
2018, IWOCL, doi 10.1145/3204919.3204924).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...errors import ProfileError, ProfileWarning, warn
from ...folders import cache_folder, usual_cache
from .profile import Identity, Profile

#: The environment variable that names another folder, and its value for none.
VARIABLE, OFF = "PYSW_CL_PROFILES", "off"
#: The files that ship.
SHIPPED = Path(__file__).with_name("shipped")
#: The most bytes of a file.
MOST_BYTES = 64 << 20
#: The most letters of a device's name, and of a driver's, in the name of a file.
NAME_LETTERS, DRIVER_LETTERS = 60, 40
#: In the name of a file: it does not say.
ANY = "any"
#: The fields that say which device it is; its driver may change, and how much of it is used.
DEVICE = ("name", "platform", "architecture", "kind")
#: Of two files that ship and fit, the one with the earlier of these fields is taken.
SPECIFIC = ("name", "architecture", "vendor", "kind", "platform", "driver", "compute_units")

#: Predictions by the profile of another device of the same architecture are off by so much at
#: least: its clock differs.
OTHER_SPREAD = 0.5

#: A digest of the kernels, or what gives it, which is asked only if there is a file to compare.
Digest = str | Callable[[], str]


class Found(NamedTuple):
    """The profile that a device has."""

    profile: Profile
    #: Where it is from, in words.
    source: str
    #: The user's file; None for one that ships.
    path: Path | None = None


#: How often this process has stored or removed a profile, after which others may be found.
changes = [0]
#: The files that a warning was given of.
_warned: set[Path] = set()


def user_folder() -> Path | None:
    """The user's folder, which need not exist; None where it is switched off."""
    given = os.environ.get(VARIABLE, "").strip()
    if given.lower() == OFF:
        return None
    if given:
        return Path(os.path.expanduser(given))  # noqa: PTH111 (Path's raises without a home)
    usual, now = usual_cache() / "profiles", cache_folder() / "profiles"
    return usual if usual.is_dir() and not now.is_dir() else now


def profile_for(identity: Identity, digest: Digest) -> Found:
    """The profile of a device: the user's, best with the same compute units, kernels and driver,
    else with others, which the words say; else what ships.  A file that cannot be used is a
    ProfileWarning, once a process."""
    folder = user_folder()
    mine = None if folder is None else _users(folder, identity, digest)
    return mine or shipped_for(identity)


def save(profile: Profile) -> Path:
    """Store a profile as the user's of its device, in place of one with the same driver, compute
    units and kernels.  Returns the file.

    The file is written beside its place and renamed, so that it is whole whoever else writes it.
    Raises ProfileError if the profile names no device or cannot be stored, or if the folder cannot
    be written.
    """
    text = as_text(profile)
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
            with contextlib.suppress(OSError):
                part.unlink()
    return path


def measurements(profile: Profile, resume: bool) -> Path | None:
    """The file of measurements of a tuning that goes on later, beside that of a profile; not those
    of an earlier one unless it is to ``resume``.  None where it cannot be written."""
    folder = user_folder()
    if folder is None:
        return None
    path = folder / f"{_file_name(profile.identity, profile.kernels)}l"
    try:
        if not resume:
            path.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError:
        return None
    return path


def reset(identity: Identity) -> list[Path]:
    """Remove the user's profiles of a device, of any driver and kernels, damaged ones too; their
    files.  Raises ProfileError if the folder cannot be written."""
    with _changing() as folder:
        paths = _files(folder, identity)
        for path in paths:
            path.unlink(missing_ok=True)
    return paths


def export(identity: Identity, digest: Digest) -> str:
    """The text of the user's profile of a device.  Raises ProfileError if there is none."""
    found = profile_for(identity, digest)
    if found.path is None:
        raise ProfileError(
            f"there is no profile of {identity.name} to export in {_folder_to_change()}; "
            "`pysw-cl tune` makes one"
        )
    return as_text(found.profile)


def import_(data: bytes, where: str) -> tuple[Profile, Path]:
    """The profile in the content of a file, and its new file: it is stored as the user's of the
    device that it names.  Raises ProfileError, which calls the file ``where``."""
    try:
        profile = parsed(data, named=True)
    except ProfileError as error:
        raise ProfileError(
            f"{where} cannot be imported: {error}; give a file of `pysw-cl profile export`"
        ) from None
    return profile, save(profile)


def as_text(profile: Profile) -> str:
    """A profile as the text of a file.  Raises ProfileError for one that could not be read."""
    try:
        text = json.dumps(profile.facts(), indent=1, allow_nan=False) + "\n"
        parsed(text.encode(), named=True)
    except (ProfileError, TypeError, ValueError) as error:
        raise ProfileError(f"the profile cannot be stored: {error}") from None
    return text


def parsed(data: bytes, named: bool = False) -> Profile:
    """The profile in the content of a file, which must name its device if it is to be ``named``.
    Raises ProfileError, which says what is wrong."""
    if len(data) > MOST_BYTES:
        raise ProfileError(f"it is too long for a profile, over {MOST_BYTES >> 20} MiB")
    if not data.strip():
        raise ProfileError("it is empty")
    try:
        facts = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"it is not JSON ({error})") from None
    profile = Profile.of_facts(facts)
    identity = profile.identity
    if named and not (identity.name and identity.platform and identity.kind):
        raise ProfileError("it does not name its device: identity.name, .platform and .kind")
    return profile


def _slug(text: str, most: int = DRIVER_LETTERS) -> str:
    """A text as a part of a file's name: letters, digits and single dashes, dots, underlines."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", text)
    return re.sub(r"([._-])[._-]+", r"\1", safe)[:most].strip("._-") or ANY


def _device_key(identity: Identity) -> str:
    """The start of the names of a device's files; no other device has it."""
    said = "\0".join(getattr(identity, name) for name in DEVICE)
    digest = hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{_slug(identity.name, NAME_LETTERS)}-{digest}"


def _file_name(identity: Identity, kernels: str) -> str:
    """The name of a file: the device, then what matters most first."""
    units = f"{identity.compute_units}-units" if identity.compute_units else ANY
    parts = _device_key(identity), units, _slug(kernels), _slug(identity.driver)
    return "__".join(parts) + ".json"


def _files(folder: Path, identity: Identity) -> list[Path]:
    """The user's files of a device; none if the folder cannot be read."""
    try:
        files = [*folder.glob(f"{_device_key(identity)}__*.json")]
        return sorted(path for path in files if path.is_file())
    except OSError:
        return []


def _users(folder: Path, identity: Identity, digest: Digest) -> Found | None:
    """The best of the user's profiles of a device."""
    if not (paths := _files(folder, identity)):
        return None
    kernels = digest if isinstance(digest, str) else digest()
    wanted = _file_name(identity, kernels).removesuffix(".json").split("__")

    def rank(path: Path) -> tuple[list[bool], float]:
        said = path.name.removesuffix(".json").split("__")
        same = [part in (ours, ANY) for part, ours in zip(said, wanted, strict=False)]
        with contextlib.suppress(OSError):
            return same, path.stat().st_mtime
        return same, 0.0

    hint = f"`pysw-cl profile reset --device '{identity.name.partition(':')[0]}'` removes it"
    for path in sorted(paths, key=rank, reverse=True):
        profile = _read(path, hint, _device_key(identity))
        if profile is not None:
            made = profile.identity
            others = {
                "another number of compute units": made.compute_units
                not in (0, identity.compute_units),
                "other kernels": profile.kernels not in ("", kernels),
                "another driver": made.driver not in ("", identity.driver),
                "measured beside other work": profile.others > 0,
            }
            named = ", ".join(text for text, other in others.items() if other)
            return Found(profile, f"the user's ({named})" if named else "the user's", path)
    return None


def _read(path: Path, hint: str, device: str = "") -> Profile | None:
    """The profile in a file; None, with a warning, if it cannot be used, or is not of the
    ``device`` whose key is given."""
    try:
        with path.open("rb") as file:
            profile = parsed(file.read(MOST_BYTES + 1))
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


@cache
def _shipped() -> list[Profile]:
    """The profiles that ship."""
    read = (_read(path, "install pysw-cl again") for path in sorted(SHIPPED.glob("*.json")))
    return [profile for profile in read if profile is not None]


def shipped_for(identity: Identity) -> Found:
    """The most specific profile that ships and fits a device.  The compute units of another device
    of its architecture do the same work."""

    def order(profile: Profile) -> list[bool]:
        said = profile.identity
        other = said.name not in ("", identity.name)
        unsaid = (not getattr(said, name) for name in SPECIFIC)
        return [said.name != identity.name, not said.architecture, other, *unsaid]

    def fits(said: Identity) -> bool:
        return all(
            value in ("", 0, getattr(identity, name)) or (name == "name" and said.architecture)
            for name, value in vars(said).items()
        )

    fitting = [one for one in _shipped() if fits(one.identity)]
    if not fitting:
        return Found(Profile(), "none")
    profile = min(fitting, key=order)
    asked = profile.identity
    said = ", ".join(str(getattr(asked, name)) for name in SPECIFIC if getattr(asked, name))
    source = f"shipped for {said or 'any device'}"
    if asked.name in ("", identity.name):
        return Found(profile, source)
    wider = replace(profile, spread=max(profile.spread, OTHER_SPREAD))
    return Found(wider, f"{source}; {identity.name} has the same architecture")


def _folder_to_change() -> Path:
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


@contextlib.contextmanager
def _changing() -> Iterator[Path]:
    """Something changes in the user's folder.  Raises ProfileError."""
    folder = _folder_to_change()
    try:
        yield folder
    except OSError as error:
        raise ProfileError(
            f"the folder of profiles {folder} cannot be written: {error.strerror or error}; make "
            f"it writable, or name another in the environment's {VARIABLE}"
        ) from error
    finally:
        _forget()


def _forget() -> None:
    """What devices have found is looked up again."""
    changes[0] += 1
