"""Device choice: the devices of this machine, whether they are usable, what ``device=`` means."""

from __future__ import annotations

import atexit
import copy
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError
from ..folders import TROUBLE
from ..planning.profiles.profile import Identity, Profile
from ..planning.profiles.store import profile_for, stamp
from . import kernel_store
from .builds import Build
from .identity import identity_of, kernels_digest
from .kernel_times import KernelTimes
from .quirks import traits_of
from .resources import kernel_source

if TYPE_CHECKING:
    import pyopencl as cl

_CPU = 'for the CPU (the extra "pocl"): pip install "pyopencl[pocl]"'
_GPU = f"for a GPU: its vendor's driver, and in a container access to it ({TROUBLE})"
_VARIABLES = ("PYSW_CL_DEVICE", "PYOPENCL_CTX")  # name the device that "auto" means
_KINDS = ((4, "gpu"), (8, "accelerator"), (2, "cpu"))  # in the order that "auto" prefers


@dataclass(frozen=True)
class DeviceInfo:
    """One OpenCL device.  ``index`` is "platform:device".  ``kind`` is "gpu", "accelerator", "cpu"
    or "other".  ``global_memory`` is in bytes.  ``reason`` says why it is not ``usable``."""

    index: str
    platform: str
    name: str
    kind: str
    compute_units: int
    global_memory: int
    driver: str
    usable: bool
    reason: str
    lanes: str
    form: str

    def __repr__(self) -> str:
        return f"<Device {' '.join(str(self).split())}>"

    def __str__(self) -> str:
        state = "" if self.usable else f"  not usable: {self.reason}"
        return (
            f"{self.index}  {self.kind:<4} {self.name} [{self.platform}], "
            f"{self.compute_units} units, {self.global_memory / 2**30:.1f} GiB{state}"
        )


def _platforms() -> list[Any]:
    try:
        import pyopencl as cl
    except ImportError as error:
        raise DeviceError(f"pyopencl does not load ({error}); {_CPU}; {_GPU}") from None
    try:
        return list(cl.get_platforms())
    except cl.Error:  # the loader's "no platform" is an error of its own
        return []


def hint(platforms: str) -> str:
    """What to do where ``platforms`` show no usable device."""
    if kernel_store.POCL in platforms:
        return _GPU
    cpu = "for the CPU: PoCL is installed, but OpenCL's loader does not find it: unset OCL_ICD_*"
    return f"{cpu if find_spec('pocl_binary_distribution') else _CPU}; {_GPU}"


def _kind(device: Any) -> str:
    return next((name for bit, name in _KINDS if device.type & bit), "other")


def _describe(platform: Any, device: Any, index: str) -> DeviceInfo:
    traits, rows = traits_of(platform.name, device)
    reason = "; ".join(quirk.why for quirk in rows if quirk.then.get("usable") is False)
    return DeviceInfo(
        index=index,
        platform=platform.name.strip(),
        name=device.name.strip(),
        kind=_kind(device),
        compute_units=int(device.max_compute_units),
        global_memory=int(device.global_mem_size),
        driver=device.driver_version.strip(),
        usable=traits.usable,
        reason=reason,
        lanes=traits.lanes,
        form=traits.form,
    )


def _no_device(platform: Any, index: str, wrong: str) -> DeviceInfo:
    """The entry of a platform without a device; ``wrong``: why, if that is known."""
    reason = f"the platform shows no device{': ' * bool(wrong)}{wrong}"
    name = platform.name.strip()
    return DeviceInfo(index, name, "(none)", "other", 0, 0, "", False, reason, "", "")


def _scan() -> Iterator[tuple[Any, DeviceInfo]]:
    platforms = _platforms()
    import pyopencl as cl

    for p, platform in enumerate(platforms):
        with kernel_store.opened(platform) as wrong:
            try:
                found = [] if wrong else platform.get_devices()
            except cl.Error:  # CL_DEVICE_NOT_FOUND
                found = []
        for d, device in enumerate(found):
            yield device, _describe(platform, device, f"{p}:{d}")
        if not found:
            yield None, _no_device(platform, f"{p}:", wrong)


def devices() -> list[DeviceInfo]:
    """All OpenCL devices of this machine, with a reason for each unusable one.  A platform without
    devices has one unusable entry.  Raises DeviceError if pyopencl is broken."""
    return [info for _, info in _scan()]


def _preference(info: DeviceInfo) -> tuple[int, int]:
    kinds = [name for _, name in _KINDS]
    rank = kinds.index(info.kind) if info.kind in kinds else len(kinds)
    return rank, -info.compute_units


def _matches(text: str, info: DeviceInfo) -> bool:
    """PyOpenCL's notation: "platform", "platform:device", each an index or a part of a name."""
    platform_part, _, device_part = text.partition(":")
    platform_index, device_index = info.index.split(":")

    def fits(part: str, index: str, name: str) -> bool:
        part = part.strip()
        return part == index if part.isdigit() else part.lower() in name.lower()

    if ":" in text or text.strip().isdigit():
        return fits(platform_part, platform_index, info.platform) and (
            not device_part or fits(device_part, device_index, info.name)
        )
    return fits(text, platform_index, info.platform) or fits(text, device_index, info.name)


def _name_and_threads(text: str) -> tuple[str, int | None]:
    """A device's name, and the threads that follow it: "cpu/4"."""
    name, _, threads = map(str.strip, text.rpartition("/"))
    return (name, int(threads)) if threads.isdecimal() and name else (text.strip(), None)


def _with_threads(device: Any, info: DeviceInfo, threads: int) -> tuple[Any, DeviceInfo]:
    """A part of a CPU that computes in so many threads; all of it, if it has no more."""
    import pyopencl as cl

    if info.kind != "cpu":
        wrong = f"{threads} threads are for a CPU; {info.name} is not one, and has what it needs"
        raise DeviceError(f"{wrong}: leave the number out, or take device='cpu/{threads}'")
    if threads < 1:
        raise DeviceError(f"{threads} threads cannot compute; take 1 or more, as in 'cpu/1'")
    if threads >= info.compute_units:
        return device, info
    try:
        part, *_ = device.create_sub_devices([cl.device_partition_property.EQUALLY, threads, 0])
    except cl.Error as error:
        raise DeviceError(
            f"{info.name} cannot be had in part, by {threads} threads: {error}"
        ) from None
    return part, replace(info, index=f"{info.index}/{threads}", compute_units=threads)


def _choose(text: str) -> tuple[Any, DeviceInfo]:
    found = list(_scan())
    if not any(info.usable for _, info in found):
        reasons = "; ".join(f"{info.platform}: {info.reason}" for _, info in found)
        if reasons:
            raise DeviceError(f"no usable OpenCL device: {reasons}; {hint(reasons)}")
        raise DeviceError(f"no OpenCL device found; {hint('')}")
    usable = sorted((pair for pair in found if pair[1].usable), key=lambda p: _preference(p[1]))
    (wanted, threads), source = _name_and_threads(text), "device"
    if not wanted.strip(":"):
        raise DeviceError(f"device={text!r} names no device; 'auto' lets the program choose")
    if wanted.lower() == "auto":
        for variable in _VARIABLES:
            if os.environ.get(variable, "").strip():
                (wanted, most), source = _name_and_threads(os.environ[variable]), variable
                threads = threads or most
                break
    if wanted.lower() == "auto":
        matching = usable
    elif wanted.lower() in ("cpu", "gpu", "accelerator"):
        matching = [pair for pair in usable if pair[1].kind == wanted.lower()]
    else:
        matching = [pair for pair in usable if _matches(wanted, pair[1])]
    if not matching:
        listed = "; ".join(str(info) for _, info in found)
        raise DeviceError(f"{source}={wanted!r} matches no usable device; there are: {listed}")
    return matching[0] if threads is None else _with_threads(*matching[0], threads)


class Runtime:
    """One device with its context and program cache.  Threads may share it; each has a queue."""

    def __init__(self, device: Any, info: DeviceInfo, context: Any = None, queue: Any = None):
        self.device = device
        self.info = info
        self._context = context
        self.traits, self._quirks = traits_of(info.platform, device)
        self.traits.prepare(device)
        #: where the text of a kernel file comes from, by the file's name
        self.source_of: Callable[[str], str] = kernel_source
        self.programs: dict[tuple[str, str], Any] = {}
        #: The threads that build programs for later calls.
        self.building: dict[tuple[str, str], threading.Thread] = {}
        #: The programs that were not launched yet and whose build somebody was told of.
        self.begun: dict[Any, Build] = {}
        self.lock = threading.RLock()
        #: What launches take, where that is measured (`timed`).
        self.times: KernelTimes | None = None
        self.salt = ""
        self._given = queue
        self._own: Profile | None = None
        #: The profile that was found, and when that was right.
        self._looked_up: tuple[tuple[str | None, int], tuple[Profile, str]] | None = None
        self._local = threading.local()

    @property
    def started(self) -> bool:
        """Is there a context of the device?  Making one takes a part of a second on some."""
        return self._context is not None

    def start(self) -> None:
        """Make the context of the device, unless there is one.  Copies share it.  Raises
        DeviceError."""
        if self._context is not None:
            return
        import pyopencl as cl

        with self.lock:
            if self._context is None:
                try:
                    self._context = cl.Context([self.device])
                except cl.Error as error:
                    raise DeviceError(f"{self.info.name} cannot be started: {error}") from None

    @property
    def context(self) -> cl.Context:
        """The context of the device, made when it is needed first."""
        self.start()
        context: cl.Context = self._context
        return context

    def why(self, trait: str) -> str:
        """The reasons that the quirk table gives for a trait, by its name."""
        return "; ".join(quirk.why for quirk in self._quirks if trait in quirk.then)

    @cached_property
    def identity(self) -> Identity:
        """The device, as profiles name it."""
        return identity_of(self)

    def profile(self) -> tuple[Profile, str]:
        """The profile of the device, and where it is from, in words."""
        if self._own is not None:
            return self._own, "given"
        now = stamp()
        if self._looked_up is None or self._looked_up[0] != now:
            self._looked_up = now, profile_for(self.identity, kernels_digest)
        return self._looked_up[1]

    @property
    def build_options(self) -> str:
        """Compiler options of most kernels: see :meth:`options_of`."""
        return self.options_of("registers")

    def options_of(self, limit: str | None) -> str:
        """Compiler options: the traits', and the profile's ``limit`` of registers of this name."""
        option, parts = self.traits.register_option, [self.salt]
        if limit is not None and option:
            registers = self.profile()[0].parameters.get("build", {}).get(limit, 0.0)
            if 16 <= registers <= 255:
                parts.append(option.format(int(registers)))
        return " ".join([self.traits.build_options, *parts]).strip()

    @property
    def queue(self) -> Any:
        """This thread's in-order queue, or the queue that the caller gave."""
        if self._given is not None:
            return self._given
        if not hasattr(self._local, "queue"):
            self._local.queue = self._new_queue()
        return self._local.queue

    def _new_queue(self) -> Any:
        """An in-order queue, with profiling where launches are measured."""
        import pyopencl as cl

        if self.times is None:
            return cl.CommandQueue(self.context, self.device)
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        return cl.CommandQueue(self.context, self.device, properties=profiling)

    def timed(self) -> Runtime:
        """This thread's runtime that measures what launches take (``times``), on queues of its own;
        itself where the caller's queue, which is used, has no profiling."""
        import pyopencl as cl

        profiling = cl.command_queue_properties.PROFILING_ENABLE
        unable = self._given is not None and not self._given.properties & profiling
        if unable or self.times is not None:
            return self
        if not hasattr(self._local, "timed"):
            self.start()
            other = self._local.timed = copy.copy(self)
            other.times, other._local = KernelTimes(), threading.local()
        timed: Runtime = self._local.timed
        return timed

    def anew(self, salt: str) -> Runtime:
        """A runtime of this device that has built nothing, with options of the compiler that no
        cache knows: ``salt`` is a macro's value."""
        self.start()
        other = copy.copy(self)
        other.salt = f"-DSALT={salt}"
        other.programs, other.begun, other._local = {}, {}, threading.local()
        other.building = {}
        return other

    def having(self, profile: Profile) -> Runtime:
        """A runtime of this device that has this profile, whichever one is stored, and queues of
        its own.  Programs are shared: those of other build options are others."""
        self.start()
        other = copy.copy(self)
        other._own, other._local = profile, threading.local()
        return other

    def beside(self, k: int) -> Runtime:
        """This thread's k-th runtime with a queue of its own, which may run concurrently with other
        queues."""
        if not hasattr(self._local, "beside"):
            self._local.beside = {}
        if k not in self._local.beside:
            self.start()
            other = self._local.beside[k] = copy.copy(self)
            other._given = self._new_queue()
            other._local = threading.local()
        side: Runtime = self._local.beside[k]
        return side

    def forget(self) -> None:
        """Drop this thread's kernels and arena, and the programs."""
        if hasattr(self._local, "timed"):
            self._local.timed.forget()
        arena = getattr(self._local, "arena", None)
        if arena is not None:
            arena.forget()
        self._local.__dict__.clear()
        self.settle()
        self.building.clear()
        self.programs.clear()
        self.begun.clear()

    def settle(self) -> None:
        """Wait for the programs that are built for later calls."""
        for thread in list(self.building.values()):
            thread.join()

    def arena(self, make: Callable[[Runtime], Any]) -> Any:
        """This thread's arena or pool of small buffers; ``make(self)`` makes it at first."""
        if not hasattr(self._local, "arena"):
            self._local.arena = make(self)
        return self._local.arena

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """What this thread keeps under a name; ``make()`` makes it at first."""
        kept: dict[str, Any] = self._local.__dict__.setdefault("kept", {})
        if name not in kept:
            kept[name] = make()
        return kept[name]

    @property
    def kernels(self) -> dict[Any, Any]:
        """This thread's kernel objects.  A kernel object holds its arguments, so threads must not
        share one.  They are kept because making one takes longer than a small launch."""
        if not hasattr(self._local, "kernels"):
            self._local.kernels = {}
        kernels: dict[Any, Any] = self._local.kernels
        return kernels


def _forget() -> None:
    """Release kernels, buffers and contexts at exit, before the drivers are unloaded."""
    for runtime in list(_runtimes.values()):
        runtime.forget()
    _runtimes.clear()
    _named.clear()
    kernel_store.close()


atexit.register(_forget)

#: The most runtimes that are kept for contexts and queues of the caller.
MOST_GIVEN = 8
_runtimes: dict[Any, Runtime] = {}
_named: dict[Any, Any] = {}
_runtimes_lock = threading.Lock()
_used_in = os.getpid()


def _check_process() -> None:
    """Raise DeviceError in a forked process: a driver's threads do not exist in the child."""
    if _runtimes and os.getpid() != _used_in:
        raise DeviceError(
            "OpenCL was used before this process was forked, and drivers do not survive that; "
            "start processes by 'spawn' or 'forkserver' (multiprocessing.set_start_method), or "
            "use the device in the children only"
        )


def _info_of(device: Any) -> DeviceInfo:
    for other, info in _scan():
        if other == device:
            return info
    return _describe(device.platform, device, "given")


def _meaning(device: str) -> tuple[Any, ...]:
    """The cache key of a device name: all that decides which device it means."""
    try:
        import pyopencl as cl

        asked: Any = cl.get_platforms
    except ImportError:
        asked = None
    variables = _VARIABLES if _name_and_threads(device)[0].lower() == "auto" else ()
    return (device, asked, *map(os.environ.get, variables))


def runtimes_to_choose_from(device: Any) -> list[Runtime]:
    """The runtimes of all usable devices, if ``device`` leaves the choice to the program: "auto",
    where no variable of the environment names one.  The first is the one that is preferred by its
    kind; of devices of one kind there is one."""
    _check_process()
    if not isinstance(device, str) or device.strip().lower() != "auto":
        return []
    _, _, *variables = meaning = _meaning("auto")
    if any(given and given.strip() for given in variables):
        return []
    named = ("every device", *meaning)
    if named not in _named:
        usable = sorted((info for _, info in _scan() if info.usable), key=_preference)
        first = {info.kind: info for info in reversed(usable)}
        kinds = sorted(first.values(), key=_preference)
        _named[named] = [get_runtime(info.index) for info in kinds]
    found: list[Runtime] = _named[named]
    return found


def get_runtime(device: Any = "auto") -> Runtime:
    """The runtime for ``device``: "auto", "cpu", "gpu", "platform:device" (indices or parts of
    names), or a pyopencl Device, Context (its first device) or CommandQueue.  "cpu/4" is the CPU in
    four threads.

    Raises DeviceError when nothing fits or the device cannot be used.
    """
    global _used_in
    _check_process()
    context = queue = named = None
    if isinstance(device, Runtime):
        return device
    if isinstance(device, str):
        named = _meaning(device)
        if named in _named:  # looking for devices takes as long as aligning a short pair
            known: Runtime = _named[named]
            return known
        chosen, info = _choose(device)
    else:
        import pyopencl as cl

        if isinstance(device, cl.CommandQueue):
            context, chosen = device.context, device.device
            out_of_order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
            # launches must run in order, so an out-of-order queue is not used itself
            queue = None if device.properties & out_of_order else device
        elif isinstance(device, cl.Context):
            context, chosen = device, device.devices[0]
        elif isinstance(device, cl.Device):
            chosen = device
        else:
            listed = "; of what devices() lists give .index" * isinstance(device, DeviceInfo)
            raise DeviceError(
                f"device must be a string or a pyopencl Device, Context or CommandQueue, "
                f"not {type(device).__name__}{listed}"
            )
        info = _info_of(chosen)
        if not info.usable:
            raise DeviceError(f"{info.name} cannot be used: {info.reason}")
    key = (chosen.int_ptr, context.int_ptr if context else 0, queue.int_ptr if queue else 0)
    with _runtimes_lock:
        if key not in _runtimes:
            _used_in = os.getpid()
            _runtimes[key] = Runtime(chosen, info, context, queue)
            given = [k for k in _runtimes if k[1:] != (0, 0)]
            for old in given[:-MOST_GIVEN]:
                del _runtimes[old]
        if named is not None:
            _named[named] = _runtimes[key]
        return _runtimes[key]
