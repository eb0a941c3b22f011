"""Kernels: joined sources, a cache of programs, arguments set by name."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BuildError, DeviceError, InternalError
from ..folders import TROUBLE, cache_folder, usual_cache
from . import builds
from .buffers import LASTING
from .device import Runtime
from .kernel_store import POCL, store_of
from .resources import kernel_source

HINT = f" (is PoCL's cache folder full or damaged?  See {TROUBLE})"
#: The types of a kernel's integer arguments.
INTEGERS: Mapping[str, type[np.integer[Any]]] = {"int": np.int32, "long": np.int64}


@dataclass(frozen=True)
class KernelSpec:
    """A kernel's name, the files it is joined from and its arguments in order: "name" for a
    buffer, "name:int" for a 32-bit integer, "name:long" for a 64-bit one."""

    name: str
    files: tuple[str, ...]
    arguments: tuple[str, ...]
    #: The limit of registers of a profile that holds for it; None: there is none.
    limit: str | None = "registers"


def joined_source(files: tuple[str, ...]) -> str:
    """The text of ``files``, joined.  An item is a file under cl/, or "MACRO=value", which defines
    a macro for the files after it.  The digest of the text is the key of profiles."""
    return _joined(files, kernel_source)


@cache
def _joined(files: tuple[str, ...], source_of: Callable[[str], str]) -> str:

    def part(name: str) -> str:
        macro, given, value = name.partition("=")
        if given:
            return f"#undef {macro}\n#define {macro} {value}\n"
        return f"// ---- {name}\n{source_of(name)}"

    return "\n".join(part(name) for name in files)


def _options(defines: Mapping[str, int]) -> str:
    return _options_of(tuple(defines.items()))


@cache
def _options_of(defines: tuple[tuple[str, int], ...]) -> str:
    return " ".join(["-cl-std=CL1.2", *(f"-D{k}={v}" for k, v in sorted(defines))])


def build(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> Any:
    """The program of ``spec``, from the runtime's cache or built now.

    The cache's key is the joined source text and the options.  PyOpenCL and the driver keep
    binaries on disk by source, options, device and driver version.
    """
    import pyopencl as cl

    key = key_of(runtime, spec, defines)
    built = runtime.programs.get(key)
    if built is not None:  # without the lock: another thread may hold it for seconds to build
        return built
    with runtime.lock:
        if key in runtime.building:
            runtime.building[key].join()
        if key not in runtime.programs:
            store = store_of(runtime)
            kept = store is not None and store.keeps(digest_of(runtime, key))
            begun = builds.begun(runtime.info.name, spec.name, kept)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", cl.CompilerWarning)
                    program = compiled(runtime, spec, key)
            except BuildError:
                builds.ended(begun)
                raise
            runtime.programs[key] = program
            if begun is not None:
                runtime.begun[program] = begun
        return runtime.programs[key]


def key_of(runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]) -> tuple[str, str]:
    """What a program is known by: its source and the compiler's options."""
    source = _joined(spec.files, runtime.source_of)
    return source, f"{_options(defines)} {runtime.options_of(spec.limit)}".rstrip()


def compiled(runtime: Runtime, spec: KernelSpec, key: tuple[str, str]) -> Any:
    """The program of ``spec``, which is known by ``key``, built now."""
    import pyopencl as cl

    source, options = key
    digest, store = digest_of(runtime, key), store_of(runtime)

    def built() -> Any:
        program = cl.Program(runtime.context, source)
        return cached(lambda: program.build(options, [runtime.device]))

    try:
        if store is None:
            return built()
        with store.building(digest):
            try:
                program = built()
            except cl.Error:
                if not store.drop(digest):
                    raise
                program = built()
        store.pending[program] = digest
        return program
    except cl.Error as error:
        raise BuildError(
            f"{runtime.info.name} cannot build the kernel {spec.name} with {options}: {error}"
            f"{HINT * (store is None and POCL in runtime.info.platform)}"
        ) from None


def cached(make: Callable[[], Any]) -> Any:
    """What ``make`` gives, by PyOpenCL; without its cache if that cannot be used: it cannot be
    written, is full, damaged or locked."""
    import pyopencl as cl

    cl._PYOPENCL_NO_CACHE = cl._PYOPENCL_NO_CACHE or cache_folder() != usual_cache()
    try:
        return make()
    except Exception as error:  # of files, SQLite, pickle or its lock
        if cl._PYOPENCL_NO_CACHE or isinstance(error, cl.Error):
            raise
        cl._PYOPENCL_NO_CACHE = True
        return make()


def digest_of(runtime: Runtime, key: tuple[str, str]) -> str:
    """32 hexadecimal digits for a program of a device and its driver."""
    return _digest(runtime.info.name, runtime.info.driver, *key)


@cache
def _digest(*said: str) -> str:
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:32]


def wait(runtime: Runtime, event: Any) -> None:
    """Wait for a launch, but not for what was enqueued after it."""
    import pyopencl as cl

    try:
        event.wait()
    except cl.Error as error:
        raise DeviceError(f"{runtime.info.name} failed: {error}") from None


def running(runtime: Runtime, event: Any) -> bool:
    """Is an enqueued and flushed command not complete yet?  Raises DeviceError if it failed."""
    import pyopencl as cl

    state = int(event.command_execution_status)
    if state < 0:
        raise DeviceError(f"{runtime.info.name} failed: OpenCL error {state}")
    return state != cl.command_execution_status.COMPLETE


def _unfinished(event: Any) -> bool:
    """Is an enqueued command neither complete nor failed?"""
    return int(event.command_execution_status) > 0


@cache
def _places(arguments: tuple[str, ...]) -> tuple[dict[str, int], dict[str, Any]]:
    """The index of each argument, and the types of the integers."""
    places = {argument.partition(":")[0]: place for place, argument in enumerate(arguments)}
    typed = (argument.partition(":") for argument in arguments if ":" in argument)
    return places, {name: INTEGERS[kind] for name, _, kind in typed}


def _kernel_of(runtime: Runtime, spec: KernelSpec, program: Any) -> Any:
    """A kernel object of a program."""
    import pyopencl as cl

    try:
        kernel = cached(lambda: cl.Kernel(program, spec.name))
    except cl.Error as error:
        raise BuildError(
            f"{runtime.info.name} cannot create the kernel {spec.name}: {error}"
        ) from None
    if kernel.num_args != len(spec.arguments):
        raise InternalError(f"{spec.name} has {kernel.num_args} arguments")
    return kernel


def on_device(
    arguments: Mapping[str, Any], upload: Callable[[NDArray[Any]], Any]
) -> dict[str, Any]:
    """The ``arguments`` of a kernel, by name, with what ``upload`` makes of arrays."""
    array = np.ndarray
    return {k: upload(v) if isinstance(v, array) else v for k, v in arguments.items()}


class BoundKernel:
    """This thread's kernel object for a spec; its arguments are set by name."""

    def __init__(self, runtime: Runtime, spec: KernelSpec, defines: Mapping[str, int]):
        key = spec.name, len(spec.arguments), key_of(runtime, spec, defines)
        kernels = runtime.kernels
        if key not in kernels:
            program = build(runtime, spec, defines)
            kernels[key] = _kernel_of(runtime, spec, program), {}, program
        self._kernel, self._bound, self._program = kernels[key]
        self._runtime, self._name = runtime, spec.name
        self._place, self._integer = _places(spec.arguments)
        #: The arguments' names, in order.
        self.names: Collection[str] = self._place.keys()

    def bind(self, **values: Any) -> BoundKernel:
        """Set arguments.  Raises InternalError for an unknown name."""
        for name, value in values.items():
            if name not in self._place:
                raise InternalError(f"no kernel argument is called {name}")
            integer, bound = self._integer.get(name), self._bound.get(name)
            if bound is not None and (bound == value if integer else bound is value):
                continue  # it has this value already
            self._kernel.set_arg(self._place[name], integer(value) if integer else value)
            if integer or id(value) in LASTING:
                self._bound[name] = value
            else:
                self._bound.pop(name, None)
        return self

    def launch(self, groups: int, group_size: int, at_once: bool = False) -> Any:
        """Enqueue ``groups`` work-groups; returns the event.  ``at_once``: flush the queue, so that
        the device begins now."""
        import pyopencl as cl

        try:
            event = cl.enqueue_nd_range_kernel(
                self._runtime.queue, self._kernel, (groups * group_size,), (group_size,)
            )
            if self._runtime.times is not None:
                self._runtime.times.add(self._name, event)
            pending = self._runtime.begun
            begun = pending.pop(self._program, None) if pending else None
            if begun is not None:  # its code may be generated now, before it runs
                builds.when_over(partial(_unfinished, event), partial(builds.ended, begun))
            store = store_of(self._runtime)
            if store is not None and self._program in store.pending:
                keep = partial(store.keep, store.pending.pop(self._program, ""))
                builds.when_over(partial(_unfinished, event), keep)
            if at_once:
                self._runtime.queue.flush()
        except cl.Error as error:  # some drivers find out here that memory or registers lack
            raise DeviceError(
                f"{self._runtime.info.name} cannot run the kernel {self._name}: {error}"
            ) from None
        return event
