"""`profile`: what was tuned and measured of a device."""

from __future__ import annotations

from typing import Any

from ..opencl.device import get_runtime
from ..planning.profiles.profile import Profile


def profile(device: Any = "auto") -> Profile:
    """The profile that plans and predictions for a device use.

    It is the user's if there is one, else the one that ships for the device, its architecture, its
    vendor or its kind.  ``pysw-cl profile show`` says which, and prints it.

    Parameters
    ----------
    device :
        As for :func:`align`.

    Returns
    -------
    Profile
        ``parameters`` and ``times`` (in seconds) by subject, the ``identity`` of the device that
        they are of, and the ``kernels`` that were measured; "" and 0 where any will do.

    Raises
    ------
    DeviceError
        If there is no usable device.

    Warns
    -----
    ProfileWarning
        For a file that is ignored, because it is damaged or of another version.
    """
    return get_runtime(device).profile()[0]
