"""A profile: the parameters that were tuned for a device, and the times that were measured on it.

Plans take their parameters from it (:mod:`pysw_cl.planning.plan`), cost models and predictions
their times (:mod:`pysw_cl.planning.model`).  :mod:`.store` finds the profile of a device.
docs/dev/profiles.md lists the names of all groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

from ...errors import ProfileError

#: What a file says it is, and its version.
SCHEMA, VERSION = "pysw-cl profile", 1

#: No time is longer, in seconds, and no prediction further off.
MOST_SECONDS, MOST_SPREAD = 10_000.0, 1000.0
#: Named numbers of one subject.
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Identity:
    """What a profile was made on; "" where any will do."""

    name: str = ""
    platform: str = ""
    vendor: str = ""
    #: What devices with the same kernels' speed per compute unit have in common, for example
    #: "sm_90" or "x86_64".
    architecture: str = ""
    driver: str = ""
    kind: str = ""
    compute_units: int = 0


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

    @classmethod
    def of_facts(cls, facts: Any) -> Profile:
        """The profile that :meth:`facts` stored.  Raises ProfileError for anything else."""
        if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
            raise ProfileError("it is not a profile of pysw-cl")
        if facts.get("version") != VERSION:
            raise ProfileError(
                f"it has version {facts.get('version')!r}; this pysw-cl reads version {VERSION}"
            )
        try:
            return cls(
                identity=_identity(facts["identity"]),
                kernels=_text("kernels", facts["kernels"]),
                parameters=_numbers(facts["parameters"]),
                times=_numbers(facts["times"], MOST_SECONDS),
                spread=_number("spread", facts["spread"], MOST_SPREAD),
                others=_number("others", facts.get("others", 0.0)),
                made=_text("made", facts["made"]),
                runs=tuple(dict(run) for run in facts["runs"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ProfileError(f"it is damaged: {type(error).__name__} {error}") from None


def _identity(facts: Any) -> Identity:
    """An identity, its fields checked.  Raises TypeError."""
    found = Identity(**facts)
    for name, value in vars(found).items():
        if type(value) is not type(getattr(Identity, name)):
            raise TypeError(f"identity.{name} is {value!r}")
    return found


def _text(name: str, value: Any) -> str:
    """A text.  Raises TypeError for anything else."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}, not a text")
    return value


def _number(name: str, value: Any, most: float | None = None) -> float:
    """A finite number, from 0 to ``most`` if that is given.  Raises TypeError for anything else."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not isfinite(value):
        raise TypeError(f"{name} is {value!r}, not a number")
    if most is not None and not 0 <= value <= most:
        raise TypeError(f"{name} is {value!r}, not from 0 to {most}")
    return value  # type: ignore[no-any-return]


def _numbers(groups: Any, most: float | None = None) -> dict[str, dict[str, float]]:
    """Named numbers by subject, checked.  Raises TypeError."""
    return {
        subject: {name: _number(f"{subject}.{name}", one, most) for name, one in numbers.items()}
        for subject, numbers in groups.items()
    }
