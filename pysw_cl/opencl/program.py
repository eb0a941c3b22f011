"""Kernels: joined sources, a cache of programs, arguments set by name."""

from __future__ import annotations

import hashlib
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from ..errors import BuildError, DeviceError, InternalError
from ..folders import TROUBLE, cache_folder, kernel_source, usual_cache
from ..planning.profiles.profile import user_folder
from . import apart, builds
from .buffers import LASTING
from .device import Runtime
from .early import POCL
from .listing import DeviceInfo

HINT = f" (is PoCL's cache folder full or damaged?  See {TROUBLE})"
#: Between two looks at a program's first launch.
WATCH_SECONDS = 0.02
#: The text of a program, and the compiler's options.
Key = tuple[str, str]
#: The types of a kernel's integer arguments.
INTEGERS: Mapping[str, type[np.integer[Any]]] = {"int": np.int32, "long": np.int64}


@dataclass(frozen=True)
class KernelSpec:
    """A kernel's name, the files it is joined from, and its arguments in order: "name" for a
    buffer, "name:int" for a 32-bit integer, "name:long" for a 64-bit one."""

    name: str
    files: tuple[str, ...]
    arguments: tuple[str, ...]
    #: The limit of registers of a profile that holds for it; None: there is none.
    limit: str | None = "registers"

    @cached_property
    def places(self) -> dict[str, tuple[int, type[np.integer[Any]] | None]]:
        """The place of each argument, and the type of an integer."""
        parts = (argument.partition(":") for argument in self.arguments)
        return {name: (k, INTEGERS.get(kind)) for k, (name, _, kind) in enumerate(parts)}


@cache
def joined_source(files: tuple[str, ...], source_of: Callable[[str], str] = kernel_source) -> str:
    """The text of ``files``, joined.  An item is a file under cl/, or "MACRO=value", which defines
    a macro for the files after it."""

    def part(name: str) -> str:
        macro, given, value = name.partition("=")
        if given:
            return f"#undef {macro}\n#define {macro} {value}\n"
        return f"// ---- {name}\n{source_of(name)}"

    return "\n".join(map(part, files))


@cache
def _options(defines: tuple[tuple[str, int], ...]) -> str:
    return " ".join(["-cl-std=CL1.2", *(f"-D{k}={v}" for k, v in sorted(defines))])


def key_of(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> Key:
    """What a program is known by: its source and the compiler's options."""
    options = f"{_options(tuple(defines.items()))} {runtime.options_of(spec.limit)}"
    return joined_source(spec.files, runtime.source_of), options.rstrip()


def build(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> Any:
    """The program of ``spec``, from the runtime's cache or built now.  PyOpenCL and the driver keep
    binaries on disk by source, options, device and driver version."""
    key = key_of(runtime, spec, defines)
    built = runtime.programs.get(key)
    if built is not None:  # without the lock: another thread may hold it for seconds to build
        return built
    with runtime.lock:
        if key in runtime.building:
            runtime.building[key].wait()
        if key not in runtime.programs:
            store = runtime.store
            kept = store is not None and store.keeps(_digest_of(runtime.info, key))
            builds.begun(runtime.info.name, spec.name, kept)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                runtime.programs[key] = _compiled(runtime, spec, key)
            with suppress(OSError):
                if (mark := _mark(runtime, key)) is not None:
                    mark.parent.mkdir(parents=True, exist_ok=True)
                    mark.touch()
        return runtime.programs[key]


def _compiled(runtime: Runtime, spec: KernelSpec, key: Key) -> Any:
    (source, options), store = key, runtime.store

    def built() -> Any:
        return _cached(lambda: cl.Program(runtime.context, source).build(options, [runtime.device]))

    try:
        if store is None:
            return built()
        digest = _digest_of(runtime.info, key)
        with store.building(digest):
            try:
                program = built()
            except cl.Error:
                if not store.drop(digest):
                    raise
                program = built()
        runtime.unlaunched[program] = partial(store.keep, digest)
        return program
    except cl.Error as error:
        raise BuildError(
            f"{runtime.info.name} cannot build the kernel {spec.name} with {options}: {error}"
            f"{HINT * (store is None and POCL in runtime.info.platform)}"
        ) from None


def _cached(make: Callable[[], Any]) -> Any:
    """What ``make`` gives, by PyOpenCL; without its cache if that cannot be used."""
    cl._PYOPENCL_NO_CACHE = cl._PYOPENCL_NO_CACHE or cache_folder() != usual_cache()
    try:
        return make()
    except Exception as error:  # of files, SQLite, pickle or its lock
        if cl._PYOPENCL_NO_CACHE or isinstance(error, cl.Error):
            raise
        cl._PYOPENCL_NO_CACHE = True
        return make()


@cache
def _digest_of(info: DeviceInfo, key: Key) -> str:
    """32 hexadecimal digits for a program of a device and its driver."""
    return hashlib.sha256("\n".join((info.name, info.driver, *key)).encode()).hexdigest()[:32]


# What a driver has built is on disk: an empty file in the user's cache folder tells processes.


def known_built(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> bool:
    """Was the program of ``spec`` built before, by this process or another one?"""
    key = key_of(runtime, spec, defines)
    return key in runtime.programs or ((mark := _mark(runtime, key)) is not None and mark.exists())


def _mark(runtime: Runtime, key: Key) -> Path | None:
    """The file that says that a program was built; None: no cache folder, or built here alone."""
    folder = user_folder() if runtime.traits.builds_apart and not runtime.salt else None
    return None if folder is None else folder / "built" / _digest_of(runtime.info, key)


def build_apart(runtime: Runtime, programs: Iterable[tuple[KernelSpec, Mapping[str, int]]]) -> None:
    """Let another process build those of these programs that were not built before and that no
    process builds now, where that spares this one the time (`DeviceTraits.builds_apart`)."""
    index, wanted = runtime.info.index, dict[Key, str]()
    if not index.replace(":", "").isdecimal():  # a part of a device, or one that was given
        return
    for spec, defines in programs:
        mark = _mark(runtime, key := key_of(runtime, spec, defines))
        if mark is not None and not mark.exists() and apart.claimed(mark):
            wanted[key] = str(mark)
    process = apart.begin(index, [(*key, mark) for key, mark in wanted.items()])
    if process is not None:
        runtime.building.update(dict.fromkeys(wanted, process))


def running(runtime: Runtime, event: Any) -> bool:
    """Is an enqueued and flushed command not complete yet?  Raises DeviceError if it failed."""
    state = int(event.command_execution_status)
    if state < 0:
        raise DeviceError(f"{runtime.info.name} failed: OpenCL error {state}")
    return state != cl.command_execution_status.COMPLETE


def when_over(event: Any, then: Callable[[], object]) -> None:
    """Call ``then`` when a launch is complete, or has failed.  A thread looks now and then: a
    process that ended in a callback, or while a thread waited, would end with an error."""

    def watch() -> None:
        while int(event.command_execution_status) > 0:
            time.sleep(WATCH_SECONDS)
        then()

    threading.Thread(target=watch, name="pysw_cl build", daemon=True).start()


class BoundKernel:
    """This thread's kernel object for a spec; its arguments are set by name."""

    def __init__(self, runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]):
        key = spec.name, len(spec.arguments), key_of(runtime, spec, defines)
        # a kernel object holds its arguments, so threads must not share one; they are kept because
        # making one takes longer than a small launch
        kernels: dict[Any, Any] = runtime.kept("kernels", dict)
        if key not in kernels:
            program = build(runtime, spec, defines)
            try:
                kernel = _cached(lambda: cl.Kernel(program, spec.name))
            except cl.Error as error:
                raise BuildError(
                    f"{runtime.info.name} cannot create the kernel {spec.name}: {error}"
                ) from None
            if kernel.num_args != len(spec.arguments):
                raise InternalError(f"{spec.name} has {kernel.num_args} arguments")
            kernels[key] = kernel, {}, program
        self._kernel, self._bound, self._program = kernels[key]
        self.runtime, self.spec = runtime, spec

    def bind(self, **values: Any) -> BoundKernel:
        """Set arguments.  Raises InternalError for an unknown name."""
        known = self._bound
        for name, value in values.items():
            if (bound := known.get(name)) is value and bound is not None:
                continue  # it has this value already
            if name not in self.spec.places:
                raise InternalError(f"no kernel argument is called {name}")
            place, integer = self.spec.places[name]
            if integer and bound == value:
                continue
            self._kernel.set_arg(place, integer(value) if integer else value)
            if integer or id(value) in LASTING:
                known[name] = value
            else:
                known.pop(name, None)
        return self

    def launch(self, groups: int, group_size: int, at_once: bool = False) -> Any:
        """Enqueue work-groups; returns the event.  ``at_once``: the device begins now (a flush)."""
        try:
            event = cl.enqueue_nd_range_kernel(
                self.runtime.queue, self._kernel, (groups * group_size,), (group_size,)
            )
            if self.runtime.times is not None:
                self.runtime.times.add(self.spec.name, event)
            then = self.runtime.unlaunched.pop(self._program, None)
            if then is not None:  # some drivers generate the code now
                when_over(event, then)
            if at_once:
                self.runtime.queue.flush()
        except cl.Error as error:  # some drivers find out here that memory or registers lack
            raise DeviceError(
                f"{self.runtime.info.name} cannot run the kernel {self.spec.name}: {error}"
            ) from None
        return event
