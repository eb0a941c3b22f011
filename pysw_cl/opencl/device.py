"""The runtime of a device: its context, its queues and what is kept; what ``device=`` means."""

from __future__ import annotations

import atexit
import copy
import os
import subprocess
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter, is_
from typing import Any, TypeVar

from ..errors import DeviceError
from ..folders import kernel_source
from ..planning import parameters
from ..planning.facts import DeviceFacts
from ..planning.profiles.profile import VARIABLE, Identity, Profile, changes, profile_for
from . import kernel_store, listing
from .early import POCL, VARIABLES as NAMES, context_of
from .listing import DeviceInfo
from .quirks import traits_of

T = TypeVar("T")
#: Launches at most whose events are kept; CL_QUEUE_PROFILING_ENABLE.
MOST_KEPT, PROFILING = 1024, 2


class KernelTimes:
    """The times of launches on queues with profiling.  Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events = deque[tuple[str, Any]]()
        self._nanoseconds = Counter[str]()

    def add(self, name: str, event: Any) -> None:
        with self._lock:
            self._events.append((name, event))
            self._read(MOST_KEPT)

    def total(self) -> Counter[str]:
        """Nanoseconds by kernel of all launches so far; waits for them."""
        with self._lock:
            self._read(0)
            return self._nanoseconds.copy()

    def _read(self, most: int) -> None:
        """Wait for the earliest launches, until the events of at most so many are left.  Those that
        failed do not count, which is reported where their results are read."""
        import pyopencl as cl

        while len(self._events) > most:
            name, event = self._events.popleft()
            with suppress(cl.Error):
                event.wait()
                self._nanoseconds[name] += int(event.profile.end) - int(event.profile.start)


def stopwatch(times: KernelTimes | None) -> Callable[[], dict[str, float]]:
    """What tells the seconds that kernels have taken since now, by kernel; it waits for what was
    launched.  Without ``times`` it tells nothing."""
    if times is None:
        return dict
    before = times.total()
    return lambda: {name: took / 1e9 for name, took in (times.total() - before).items()}


def stamp() -> tuple[str | None, int]:
    """What changes when devices may find other profiles."""
    return os.environ.get(VARIABLE), changes[0]


class Runtime:
    """One device with its context and programs.  Threads may share it; each has a queue."""

    def __init__(self, device: Any, info: DeviceInfo, context: Any = None, queue: Any = None):
        self.device, self.info, self._context, self._given = device, info, context, queue
        self.traits, self._quirks = traits_of(info.platform, device)
        if self.traits.prepare is not None:
            self.traits.prepare(device)
        #: Where the text of a kernel file comes from, by the file's name.
        self.source_of: Callable[[str], str] = kernel_source
        self.programs: dict[tuple[str, str], Any] = {}
        self.building: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        #: What is done once the first launch of a program is over.
        self.unlaunched: dict[Any, Callable[[], object]] = {}
        self.lock = threading.RLock()
        #: What launches take, where that is measured (`timed`).
        self.times: KernelTimes | None = None
        self.salt = ""
        self._own: Profile | None = None
        #: The profile that was found, and when that was right.
        self._looked_up: tuple[tuple[str | None, int], tuple[Profile, str]] | None = None
        self._facts: tuple[Any, DeviceFacts] | None = None
        self._local = threading.local()

    @property
    def context(self) -> Any:
        """The device's context, made when first needed: that may be slow.  Raises DeviceError."""
        if self._context is None:
            import pyopencl as cl

            with self.lock:  # it is one for all threads
                try:
                    self._context = context_of(self.device) or cl.Context([self.device])
                except cl.Error as error:
                    raise DeviceError(f"{self.info.name} cannot be started: {error}") from None
        return self._context

    def wait(self, event: Any) -> None:
        """Wait for a launch, but not for what was enqueued after it."""
        with self.failing():
            event.wait()

    def failed(self, error: Exception) -> DeviceError:
        """What becomes of an error of the driver."""
        return DeviceError(f"{self.info.name} failed: {error}")

    @contextmanager
    def failing(self) -> Iterator[None]:
        """A context in which errors of the driver become DeviceErrors."""
        import pyopencl as cl

        try:
            yield
        except cl.Error as error:
            error.__traceback__ = None  # it would keep what frames refer to, in a cycle with them
            raise self.failed(error) from None

    @cached_property
    def identity(self) -> Identity:
        """The device, as profiles name it."""
        return listing.identity_of(self.device, self.info)

    @property
    def facts(self) -> DeviceFacts:
        """What of the device decides how tiles are computed; the device is asked once."""
        device, traits = self.device, self.traits
        if self._facts is None or self._facts[0] != (device, traits):
            named = ("least_T", "refused_lanes", "refused_row_items")
            why = {one: "; ".join(q.why for q in self._quirks if one in q.then) for one in named}
            facts = DeviceFacts(
                **vars(traits),
                memory=int(device.global_mem_size),
                largest=int(device.max_mem_alloc_size),
                units=self.info.compute_units,
                part_align=max(128, int(device.mem_base_addr_align) // 8),
                name=self.info.name,
                most_items=int(device.max_work_group_size),
                local_bytes=int(device.local_mem_size),
                why=why,
            )
            self._facts = (device, traits), facts
        return self._facts[1]

    def profile(self) -> tuple[Profile, str]:
        """The profile of the device, and where it is from, in words."""
        if self._own is not None:
            return self._own, "given"
        now = stamp()
        if self._looked_up is None or self._looked_up[0] != now:
            self._looked_up = now, profile_for(self.identity)[:2]
        return self._looked_up[1]

    def made_once(self, name: str, make: Callable[[Runtime], T]) -> T:
        """What follows from a device without wishes: this thread makes it once."""
        of = self.info, self.traits, self.device, parameters.usual, self.profile()[0]
        known: dict[str, Any] = self.kept(name, dict)
        if not known or not all(map(is_, known["of"], of)):
            known |= {"of": of, "made": make(self)}
        made: T = known["made"]
        return made

    @property
    def store(self) -> kernel_store.KernelStore | None:
        """What keeps the device's programs; None if its driver does."""
        return kernel_store.store if POCL in self.info.platform and not self.salt else None

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
        own = vars(self._local).get("queue")  # asked for often
        return self._given or own or self.kept("queue", self._new_queue)

    def _new_queue(self) -> Any:
        """An in-order queue, with profiling where launches are measured."""
        import pyopencl as cl

        measured: dict[str, Any] = {} if self.times is None else {"properties": PROFILING}
        return cl.CommandQueue(self.context, self.device, **measured)

    def _with(self, **changed: Any) -> Runtime:
        """A runtime of this device and its context with other values, and queues of its own."""
        other = copy.copy(self)
        vars(other).update(changed, _context=self.context, _local=threading.local())
        return other

    def timed(self) -> Runtime:
        """This thread's runtime that measures what launches take (``times``), on queues of its own;
        itself where the caller's queue, which is used, has no profiling."""
        unable = self._given is not None and not self._given.properties & PROFILING
        if unable or self.times is not None:
            return self
        return self.kept("timed", lambda: self._with(times=KernelTimes()))

    def anew(self, salt: str) -> Runtime:
        """A runtime that has built nothing, with a macro's value, ``salt``, that no cache knows."""
        return self._with(salt=f"-DSALT={salt}", programs={}, unlaunched={}, building={})

    def having(self, profile: Profile) -> Runtime:
        """A runtime of this device, and of its programs, with this profile in place of another."""
        return self._with(_own=profile)

    def unpolled(self) -> Runtime:
        """This thread's runtime that falls asleep at once where it waits: one that polls keeps
        other threads from Python's lock."""
        if not self.traits.polled_seconds:
            return self
        traits = replace(self.traits, polled_seconds=0.0)
        return self.kept("unpolled", lambda: self._with(traits=traits))

    def beside(self, k: int) -> Runtime:
        """This thread's k-th runtime with a queue of its own, beside which others may run."""
        return self.kept(f"beside {k}", lambda: self._with(_given=self._new_queue()))

    def forget(self) -> None:
        """Drop what this thread keeps, and the programs."""
        kept = vars(self._local)
        for name in {"timed", "pool"} & kept.keys():
            kept[name].forget()
        for known in (kept, self.building, self.programs, self.unlaunched):
            known.clear()

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """What this thread keeps under a name; ``make()`` makes it at first."""
        kept: dict[str, T] = vars(self._local)
        if name not in kept:
            kept[name] = make()
        return kept[name]


@atexit.register
def _forget() -> None:
    """Release kernels, buffers and contexts at exit, before the drivers are unloaded."""
    for runtime in list(_runtimes.values()):
        runtime.forget()
    _runtimes.clear()
    _named.clear()
    if kernel_store.store is not None:
        kernel_store.store.close()


#: The most runtimes that are kept for contexts and queues of the caller.
MOST_GIVEN = 8
_runtimes: dict[Any, Runtime] = {}
_named: dict[Any, list[Runtime]] = {}
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


def _meaning(device: str) -> tuple[str | None, ...]:
    """A device's name with all that decides which one it means."""
    return (device, *map(os.environ.get, NAMES))


def runtimes_to_choose_from(device: Any) -> list[Runtime]:
    """The runtimes of usable devices, one of each kind, the preferred kind first, if ``device``
    leaves the choice to the program: "auto", where no variable of the environment names one."""
    _check_process()
    if not isinstance(device, str) or device.strip().lower() != "auto":
        return []
    named = _meaning("every device")
    if any(given and given.strip() for given in named[1:]):
        return []
    if named not in _named:
        usable = (info for _, info in listing.scan() if info.usable)
        kinds = groupby(sorted(usable, key=listing.preference), attrgetter("kind"))
        _named[named] = [get_runtime(next(some).index) for _, some in kinds]
    return _named[named]


def named_apart(device: Any) -> list[Any] | None:
    """The devices that one argument names, if it may mean several: a list, "a,b", or "all"."""
    if isinstance(device, str):
        name = listing.name_and_threads(device)[0].lower()
        return ["all"] if name == "all" else device.split(",") if "," in device else None
    return list(device) if isinstance(device, list | tuple) else None


def get_runtime(device: Any = "auto") -> Runtime:
    """The runtime for ``device``: "auto", "cpu", "gpu", "platform:device" (indices or parts of
    names), or a pyopencl Device, Context (its first device) or CommandQueue.  "cpu/4" is the CPU in
    four threads.

    Raises DeviceError when nothing fits or the device cannot be used."""
    global _used_in
    _check_process()
    context = queue = named = None
    if isinstance(device, Runtime):
        return device
    if named_apart(device) is not None:
        raise DeviceError(
            f"device={device!r} means several devices, which a search and a single pair "
            "use at once, and nothing else; name one"
        )
    if isinstance(device, str):
        named = _meaning(device)
        if named in _named:  # looking for devices takes as long as aligning a short pair
            return _named[named][0]
        chosen, info = listing.choose(device)
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
        known = (info for other, info in listing.scan() if other == chosen)
        info = next(known, None) or listing.describe(chosen.platform, chosen, "given")
        if not info.usable:
            raise DeviceError(f"{info.name} cannot be used: {info.reason}")
    key = (chosen.int_ptr, context.int_ptr if context else 0, queue.int_ptr if queue else 0)
    with _runtimes_lock:
        if key not in _runtimes:
            _used_in = os.getpid()
            _runtimes[key] = Runtime(chosen, info, context, queue)
            for old in [k for k in _runtimes if k[1:] != (0, 0)][:-MOST_GIVEN]:
                del _runtimes[old]
        if named is not None:
            _named[named] = [_runtimes[key]]
        return _runtimes[key]
