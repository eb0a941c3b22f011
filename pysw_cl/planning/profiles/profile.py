"""A profile: the parameters that were tuned for a device, and the times that were measured on it.

Plans take their parameters from it (:mod:`pysw_cl.planning.plan`), cost models and predictions
their times (:mod:`pysw_cl.planning.model`).  :mod:`.store` finds the profile of a device.
docs/dev/profiles.md lists the names of all groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...errors import ProfileError

#: What a file says it is, and its version.
SCHEMA, VERSION = "pysw-cl profile", 1

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
                identity=Identity(**facts["identity"]),
                kernels=str(facts["kernels"]),
                parameters=_numbers(facts["parameters"]),
                times=_numbers(facts["times"]),
                spread=float(facts["spread"]),
                made=str(facts["made"]),
                runs=tuple(dict(run) for run in facts["runs"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProfileError(f"it is damaged: {type(error).__name__} {error}") from None


def _numbers(groups: Any) -> dict[str, dict[str, float]]:
    """Named numbers by subject, checked.  Raises TypeError."""
    found: dict[str, dict[str, float]] = {}
    for subject, numbers in groups.items():
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{subject}.{name} is {value!r}, not a number")
        found[subject] = dict(numbers)
    return found
