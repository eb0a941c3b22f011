"""A profile: the parameters that were tuned for a device, and the times that were measured on it.

Plans take their parameters from it (:mod:`pysw_cl.planning.plan`), cost models and predictions
their times (:mod:`pysw_cl.planning.model`).  :mod:`.store` finds the profile of a device.
docs/dev/profiles.md lists the names of all groups.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ...errors import ProfileError

#: What a file says it is, and its version.
SCHEMA, VERSION = "pysw-cl profile", 1
#: The most bytes of a file.
MOST_BYTES = 64 << 20
#: No parameter is larger, no time longer, in seconds, and no prediction further off.
MOST_VALUE, MOST_SECONDS, MOST_SPREAD = 1e20, 10_000.0, 1000.0
#: Named numbers of one subject.
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Identity:
    """What a profile was made on; "" and 0 where any will do."""

    name: str = ""
    platform: str = ""
    vendor: str = ""
    #: What devices with the same kernels' speed per compute unit have in common, for example
    #: "sm_90" or "x86_64".
    architecture: str = ""
    driver: str = ""
    kind: str = ""
    compute_units: int = 0

    def __str__(self) -> str:
        """The device in a line."""
        parts = (
            f"{self.name or self.vendor} [{self.platform}]".removesuffix(" []").strip(),
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
        """The profile in a file, which must name its device if it is to be ``named``.  Raises
        ProfileError, which says what is wrong."""
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
            facts.setdefault("others", 0.0)  # older files lack it
            known = {one.name: facts[one.name] for one in fields(cls)}
            identity = known["identity"] = Identity(**known["identity"])
            known["runs"] = tuple(map(dict, known["runs"]))
            for name, value in vars(identity).items():
                _check(f"identity.{name}", value, type(getattr(Identity, name)))
            for name, kind, most in (
                ("kernels", str, 0.0),
                ("made", str, 0.0),
                ("spread", float, MOST_SPREAD),
                ("others", float, 1.0),
            ):
                _check(name, known[name], kind, most)
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
