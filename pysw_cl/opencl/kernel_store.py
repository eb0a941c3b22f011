"""What PoCL has built: a checked file for each program, and a folder for this process.

PoCL keeps what it builds in one folder, and trusts it: a damaged file there, or a full disk, ends
the process.  So it gets a new folder in every process, which is removed at the end.  What is kept
of a program is checked and copied into it before a build.  After the program's first launch all
that PoCL made of it is packed into a file with a digest, which is renamed to its place: a process
that dies leaves nothing half made, and any number of them may run at once."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
import secrets
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import BuildError, CacheWarning, warn
from ..folders import TROUBLE, cache_folder, say_elsewhere, temporary_folders
from .early import POCL

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

VARIABLE = "POCL_CACHE_DIR"
#: Bytes that a build may need on a disk, and those that are written to try it.
ROOM, WRITTEN = 16 << 20, 1 << 18
DIGEST_BYTES = 32


def unusable(folder: Path) -> str:
    """Why kernels cannot be built in a folder, which is made; "" if they can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < ROOM:
            return f"the disk of {folder} is full"
        with tempfile.TemporaryFile(dir=folder) as file:  # a quota is not in what is free
            file.write(bytes(WRITTEN))
            file.flush()
            mmap.mmap(file.fileno(), 1, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
    except OSError as error:
        return f"{folder} cannot be used ({error.strerror or error})"
    return ""


class KernelStore:
    """Kept programs, each known by a digest, and PoCL's folder in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._process, self._lock = folder, os.getpid(), threading.RLock()
        #: PoCL's folder, which it makes, and a file that is locked while this process lives.
        self.run = folder / f"run-{secrets.token_hex(8)}"
        self._living = self.run.with_suffix(".lock").open("wb")
        fcntl.flock(self._living, fcntl.LOCK_EX)
        #: The folders of programs in PoCL's, and the names of their files that are kept.
        self._dirs: dict[str, set[Path]] = {}
        self._kept: dict[str, set[str]] = {}

    @contextmanager
    def building(self, digest: str) -> Iterator[None]:
        """A context in which PoCL builds a program.  Raises BuildError if there is no room."""
        with self._lock:
            try:
                wrong = unusable(self.run)
                if not wrong and digest not in self._dirs and self.keeps(digest):
                    self._take(digest)
            except OSError as error:
                for path in self._dirs.pop(digest, ()):  # half copied
                    shutil.rmtree(path, ignore_errors=True)
                wrong = f"{self.run} cannot be used ({error.strerror or error})"
            if wrong:
                raise BuildError(
                    f"no kernel can be built: {wrong}; make room, or set {VARIABLE} to another "
                    f"folder ({TROUBLE})"
                )
            before = self._seen()
            yield
            asked = {path for path, _ in self._seen() - before}
            new = asked - {path for path, _ in before}  # else a launch may have asked for others
            self._dirs.setdefault(digest, set()).update(new or asked)

    def _seen(self) -> set[tuple[Path, int]]:
        """PoCL's folders of programs, with the times at which it has last asked for each."""
        return {(one.parent, one.stat().st_mtime_ns) for one in self.run.glob("??/*/last_accessed")}

    def _take(self, digest: str) -> None:
        """Copy what is kept of a program into PoCL's folder.  Raises OSError if that is full."""
        path = self._path(digest)
        data = path.read_bytes()
        if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
            self._leave(path, "the file is damaged")
            return
        with zipfile.ZipFile(io.BytesIO(data[DIGEST_BYTES:])) as packed:
            names = self._kept[digest] = set(packed.namelist())
            self._dirs[digest] = {self.run.joinpath(*Path(name).parts[:2]) for name in names}
            for name in names:
                place = self.run / name
                if place.exists():  # programs that are one to PoCL share what it may be running
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                part = self.run / f"{secrets.token_hex(8)}.part"
                part.write_bytes(packed.read(name))
                part.replace(place)  # whole, whoever reads it

    def drop(self, digest: str) -> bool:
        """Leave aside what was kept of a program; False if nothing was."""
        for path in self._dirs.pop(digest, ()):
            shutil.rmtree(path, ignore_errors=True)
        known = self._kept.pop(digest, None) is not None
        if known:
            self._leave(self._path(digest), "PoCL cannot use it")
        return known

    def keep(self, digest: str) -> None:
        """Pack what PoCL has made of a program, unless all of it is kept."""
        with self._lock, suppress(OSError):
            files = [file for path in self._dirs.get(digest, ()) for file in path.rglob("*")]
            named = {str(file.relative_to(self.run)): file for file in files if file.is_file()}
            if named.keys() <= self._kept.get(digest, set()):
                return
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                for name, file in named.items():
                    archive.writestr(name, file.read_bytes())
            data, part = packed.getvalue(), self.run / f"{digest}.part"
            part.write_bytes(hashlib.sha256(data).digest() + data)
            part.replace(self._path(digest))
            self._kept[digest] = set(named)

    def keeps(self, digest: str) -> bool:
        return self._path(digest).is_file()

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest}.built"

    def _leave(self, path: Path, why: str) -> None:
        aside = path.with_suffix(".aside")
        with suppress(OSError):
            path.replace(aside)
        text = f"kernels are built again: what was kept is left aside in {aside}: {why} ({TROUBLE})"
        warn(text, CacheWarning)

    def sweep(self) -> None:
        """Remove PoCL's folders of processes that have died."""
        for path in self.folder.glob("run-*.lock"):
            with suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink()

    def close(self) -> None:
        if os.getpid() == self._process:  # not in a forked child
            for digest in list(self._dirs):
                self.keep(digest)
            shutil.rmtree(self.run, ignore_errors=True)
            self.run.with_suffix(".lock").unlink(missing_ok=True)
            self._living.close()


#: The store of PoCL's programs, if there is one.
store: KernelStore | None = None
_asked, _opening = False, threading.RLock()


@contextmanager
def opened(platform: Any) -> Iterator[str]:
    """A context in which a platform's devices are asked for: the first time PoCL reads which
    folder it has.  Gives why it cannot be used, or ""."""
    global store, _asked
    with _opening:
        if fcntl is None or _asked or POCL not in platform.name:
            yield ""
            return
        given = os.environ.get(VARIABLE)
        wanted = Path(given, "pysw-cl") if given else cache_folder() / "pocl"
        wrong = unusable(wanted)
        usable = (path for one in temporary_folders() if not unusable(path := one / "pocl"))
        folder = next(usable, None) if wrong else wanted
        if folder is None:
            yield f"{wrong}; set {VARIABLE} to a folder for its kernels ({TROUBLE})"
            return
        if wrong:
            say_elsewhere(folder, wrong)
        _asked, new = True, KernelStore(folder)
        os.environ[VARIABLE] = str(new.run)
        try:
            yield ""
        finally:
            del os.environ[VARIABLE]
            os.environ.update({} if given is None else {VARIABLE: given})
        if new.run.is_dir():
            store = new
            new.sweep()
        else:  # PoCL was in use before: it has a folder
            new.close()
