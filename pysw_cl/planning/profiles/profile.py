"""A profile: the parameters that were tuned for a device, and the times that were measured on it.

Plans take their parameters from it (:mod:`pysw_cl.planning.plan`), cost models and predictions
their times (:mod:`pysw_cl.planning.model`).  docs/dev/profiles.md lists the names of all groups,
and says where files are kept and which one a device has: the user's first, then in the order of
CLBlast's database (Nugteren 2018, IWOCL, doi 10.1145/3204919.3204924), but for another device of
the architecture, which comes before the vendor."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ProfileError, ProfileWarning, warn
from ...folders import cache_folder, kernels_digest, usual_cache

#: What a file says it is, and its version.
SCHEMA, VERSION = "pysw-cl profile", 1
MOST_BYTES = 64 << 20
#: No parameter is larger, no time longer, in seconds, and no prediction further off.
MOST_VALUE, MOST_SECONDS = 1e20, 10_000.0
MOST = {"spread": 1000.0, "others": 1.0}
#: Named numbers of one subject.
Numbers = Mapping[str, float]
#: The environment variable that names another folder, and its value for none.
VARIABLE, OFF = "PYSW_CL_PROFILES", "off"
SHIPPED = Path(__file__).with_name("shipped")
#: The most letters of a device's name, and of a driver's, in the name of a file.
NAME_LETTERS, DRIVER_LETTERS = 60, 40
#: In the name of a file: it does not say.
ANY = "any"
#: What may be another one than the name of a file says, what matters most first.
OTHER = ("another number of compute units", "other kernels", "another driver")
#: Predictions by a similar device's profile are off by so much at least: clocks differ.
OTHER_SPREAD = 0.5


@dataclass(frozen=True)
class Identity:
    """What a profile was made on; "" and 0 where any will do."""

    name: str = ""
    platform: str = ""
    vendor: str = ""
    #: What devices of one speed per compute unit share, such as "sm_90" or "x86_64".
    architecture: str = ""
    driver: str = ""
    kind: str = ""
    compute_units: int = 0

    def __str__(self) -> str:
        name, platform = self.name or self.vendor, self.platform
        parts = (
            f"{name} [{platform}]" if name and platform else name or platform,
            self.kind,
            self.architecture,
            f"{self.compute_units} units" if self.compute_units else "",
            f"driver {self.driver}" if self.driver else "",
        )
        return ", ".join(filter(None, parts)) or "any device"


@dataclass(frozen=True)
class Profile:
    """What was tuned and measured of one device."""

    identity: Identity = Identity()
    #: The digest of the kernels that were measured; "": of any.
    kernels: str = ""
    #: Parameters by subject: an engine and its lanes ("wavefront/packed"), "tuning" or "build".
    parameters: Mapping[str, Numbers] = field(default_factory=dict)
    #: Seconds by subject, for example "wavefront/packed/permute4" or "call".
    times: Mapping[str, Numbers] = field(default_factory=dict)
    #: Nine of ten predictions are off by at most this share.
    spread: float = 1.0
    #: The program and the day that made it.
    made: str = ""
    #: What was measured: one mapping a run, for pictures and for going on with a tuning.
    runs: tuple[Mapping[str, Any], ...] = ()
    #: The share of the processors that worked for others while its times were measured.
    others: float = 0.0
    #: Compute units that the device had, if the identity does not tell, and its bytes; or 0.
    units: int = 0
    memory: int = 0

    def facts(self) -> dict[str, Any]:
        """The profile as JSON can hold it."""
        return {"schema": SCHEMA, "version": VERSION, **asdict(self), "runs": list(self.runs)}

    def text(self) -> str:
        """The text of its file.  Raises ProfileError if that could not be read again."""
        try:
            text = json.dumps(self.facts(), indent=1, allow_nan=False) + "\n"
            self.of_text(text.encode(), named=True)
        except (ProfileError, TypeError, ValueError) as error:
            raise ProfileError(f"the profile cannot be stored: {error}") from None
        return text

    @classmethod
    def of_text(cls, text: bytes, named: bool = False) -> Profile:
        """The profile in a file, with its device if ``named``.  Raises ProfileError."""
        if len(text) > MOST_BYTES:
            raise ProfileError(f"it is too long for a profile, over {MOST_BYTES >> 20} MiB")
        if not text.strip():
            raise ProfileError("it is empty")
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ProfileError(f"it is not JSON ({error})") from None
        if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
            raise ProfileError("it is not a profile of pysw-cl")
        if (version := facts.get("version")) != VERSION:
            raise ProfileError(f"it has version {version!r}; this pysw-cl reads version {VERSION}")
        try:
            facts = {"others": 0.0, "units": 0, "memory": 0, **facts}  # older files lack them
            known = {one.name: facts[one.name] for one in fields(cls)}
            identity = known["identity"] = Identity(**known["identity"])
            known["runs"] = tuple(map(dict, known["runs"]))
            for name, value in vars(identity).items():
                _check(f"identity.{name}", value, type(getattr(Identity, name)))
            for name in ("kernels", "made", "spread", "others", "units", "memory"):
                _check(name, known[name], type(getattr(cls, name)), MOST.get(name, MOST_VALUE))
            for group, most in (("parameters", MOST_VALUE), ("times", MOST_SECONDS)):
                for subject, numbers in known[group].items():
                    for name, value in numbers.items():
                        _check(f"{subject}.{name}", value, float, most)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProfileError(f"it is damaged: {type(error).__name__} {error}") from None
        if named and not (identity.name and identity.platform and identity.kind):
            raise ProfileError("it does not name its device: identity.name, .platform and .kind")
        return cls(**known)


def _check(name: str, value: Any, kind: type, most: float = MOST_VALUE) -> None:
    """Raises TypeError for what is no text, or no number from 0 to ``most``, if it must be one."""
    if kind is str:
        right, must = isinstance(value, str), "a text"
    else:
        right = type(value) in (int, kind) and 0 <= value <= most
        must = f"a number from 0 to {most:g}"
    if not right:
        raise TypeError(f"{name} is {value!r}, not {must}")


def run_facts(
    subject: str, use: str, m: int, n: int, values: Numbers, seconds: Iterable[float]
) -> dict[str, Any]:
    """A run of m x n cells as `Profile.runs` have it; times have six digits."""
    kept = [float(f"{one:.6g}") for one in seconds]
    return {"subject": subject, "values": dict(values), "m": m, "n": n, "seconds": kept, "use": use}


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
    folder = folder_to_change()
    try:
        yield folder
    except OSError as error:
        raise ProfileError(
            f"the folder of profiles {folder} cannot be written: {error.strerror or error}; make "
            f"it writable, or name another in the environment's {VARIABLE}"
        ) from error
    finally:
        changes[0] += 1


def save(profile: Profile) -> Path:
    """Store a profile as the user's of its device, in place of one with the same driver, compute
    units and kernels.  Returns the file, which is whole whoever else writes it.  Raises
    ProfileError if the profile names no device, or if it or the folder cannot be written."""
    text = profile.text()
    with _changing() as folder:
        path = folder / _file_name(profile.identity, profile.kernels)
        write_whole(path, text)
    return path


def write_whole(path: Path, text: str) -> None:
    """Write a file (ASCII), and its folder; it is whole whoever else writes it.  Raises OSError."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="ascii", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:  # after an error or an interrupt
        with suppress(OSError):
            part.unlink()


def measurements(profile: Profile, resume: bool) -> Path | None:
    """The file of measurements of a tuning, empty unless to ``resume``; None: not writable."""
    with suppress(ProfileError), _changing() as folder:
        path = folder / f"{_file_name(profile.identity, profile.kernels)}l"
        folder.mkdir(parents=True, exist_ok=True)
        path.open("ab" if resume else "wb").close()
        return path
    return None


def reset(identity: Identity) -> list[Path]:
    """Remove the user's profiles of a device; their files.  Raises ProfileError."""
    with _changing() as folder:
        paths = _files(folder, identity)
        for path in paths:
            path.unlink(missing_ok=True)
    return paths


def profile_for(identity: Identity) -> Found:
    """The profile of a device: the user's, best with the same `OTHER`, else with others, which the
    words say; else what ships.  A file that cannot be used is a ProfileWarning, once a process."""
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
    """The most specific profile that ships for a device, or for one of its architecture."""

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


def measured() -> list[Profile]:
    """The profiles with times of devices whose size is known, the user's first."""
    folder = user_folder()
    paths = [] if folder is None else sorted(folder.glob("*.json"))
    every = (*(_read(path, "remove it") for path in paths), *_shipped())
    return [one for one in every if one and one.times and (one.units or one.identity.compute_units)]


@cache
def _shipped() -> list[Profile]:
    read = (_read(path, "install pysw-cl again") for path in sorted(SHIPPED.glob("*.json")))
    return [profile for profile in read if profile is not None]


def _read(path: Path, hint: str, device: str = "") -> Profile | None:
    """The profile in a file; None, with a warning, if it is unusable, or not of this ``device``."""
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
        warn(f"the profile {path} is ignored: {why}; {hint}", ProfileWarning)
    return None


def _files(folder: Path, identity: Identity) -> list[Path]:
    """The user's files of a device, the latest first; none if the folder cannot be read."""
    with suppress(OSError):
        files = filter(Path.is_file, folder.glob(f"{_device_key(identity)}__*.json"))
        return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)
    return []


def _file_name(identity: Identity, kernels: str) -> str:
    """The name of a file: the device, then what may differ (`OTHER`)."""
    units = f"{identity.compute_units}-units" if identity.compute_units else ANY
    return f"{_device_key(identity)}__{units}__{_slug(kernels)}__{_slug(identity.driver)}.json"


def _device_key(identity: Identity) -> str:
    """The start of the names of a device's files, whatever its driver and its load."""
    said = "\0".join((identity.name, identity.platform, identity.architecture, identity.kind))
    digest = hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{_slug(identity.name, NAME_LETTERS)}-{digest}"


def _slug(text: str, most: int = DRIVER_LETTERS) -> str:
    """A text as a part of a file's name: letters, digits and single dashes, dots, underlines."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", text)
    return re.sub(r"([._-])[._-]+", r"\1", safe)[:most].strip("._-") or ANY
