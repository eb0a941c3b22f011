"""Checkpoints: a folder with all that a run needs to continue, and in the end its result.

    job.json            the job, the order of two strands, and the resources that are the defaults
                        of a resumed run
    query, target       the letters
    rows-FROM-TO        a slab: its last row of cells (the special row), its parts of the special
                        columns, the best cell and the costs down to it
    walk-NUMBER         a part of the path, from its end backward
    band-NUMBER         tiles of a search in a diagonal band; only while there are no slabs
    blocks              where a cluster cuts the matrix into blocks
    tile-ROW-COLUMN     the edges, best cell and costs of a block
    whole               an empty file: a search in a diagonal band saves no work
    result              the result
    thin                an empty file: of a finished run only the result is there
    plus/, minus/       with both strands: the slabs, path and result of each

Every file is sealed (:mod:`pysw_cl.checkpoint.container`) and names its job, so a file that is
missing, damaged or of another job is noticed.  Method: the special rows of CUDAlign 2 (Sandes & de
Melo, IPDPS 2011)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..drivers.job import Job, canonical, digest
from ..drivers.resources import AlignResources, ResumeResources
from ..errors import CheckpointError
from ..planning import parameters
from ..planning.plan import Plan
from ..sequences.coded import Alphabet
from ..sequences.kmers import likely_minus
from ..sequences.parallel import in_threads
from ..sequences.sequence import Sequence
from .container import (
    DamagedFile,
    SealedFile,
    SealedWriter,
    cannot_write,
    finish_file,
    pack_bytes,
    to_write,
    unpack_bytes,
)

try:
    import fcntl
except ImportError:  # a system without it: two runs on one folder are not noticed
    fcntl = None  # type: ignore[assignment]

#: The format; no other can be read.
FORMAT = 2
#: Names of files in a checkpoint.
_OURS = re.compile(
    r"plus|minus|(lock|job\.json|query|target|result|whole|thin|rows-\d+-\d+|walk-\d+|band-\d+|blocks|tile-\d+-\d+)(\..*part)?"
)
#: Letters, moves and runs are written in pieces of so many bytes.
PIECE = 1 << 19


@dataclass(frozen=True)
class StoredResources:
    """What a checkpoint stores of the resources; objects and callbacks are each run's own."""

    prune: bool
    #: The diagonal band (`AlignResources.band_cost`): "auto", a number, or None.
    max_cost: str | float | None
    #: The device's name; "auto" if it was given as an object.
    device: str
    #: The plan's fields that were given.
    plan: dict[str, Any] | None
    disk_size: int | None
    left_align: bool = False

    @classmethod
    def of(cls, resources: AlignResources, mode: str, left_align: bool = False) -> StoredResources:
        device, plan, cost = resources.device, resources.plan, resources.band_cost(mode)
        if isinstance(plan, Plan):
            plan = plan.overrides()
        if plan is not None:
            plan = {str(k): v if isinstance(v, str | float) else int(v) for k, v in plan.items()}
        cost = cost if cost is None or isinstance(cost, str) else float(cost)
        device = device if isinstance(device, str) else "auto"
        return cls(resources.prune, cost, device, plan, resources.disk_size, left_align)

    def resumed(self, given: ResumeResources) -> AlignResources:
        """The resources ``given``, else the stored ones; another device gets no stored plan."""
        stored = {**vars(self), "plan": self.plan if given.device is None else None}
        del stored["left_align"]
        if given.cluster is not None:
            stored["disk_size"] = None
        return AlignResources(**stored | {k: v for k, v in vars(given).items() if v is not None})


@dataclass(frozen=True, eq=False)
class Store:
    """A checkpoint folder, locked by this run while it is open (a context manager)."""

    folder: Path
    job: Job
    #: The defaults of a resumed run.
    resources: StoredResources
    minus_first: bool
    #: The folder of the job of both strands, where this is the part for one of them.
    whole: Path | None = None

    def __post_init__(self) -> None:
        with contextlib.suppress(OSError):  # of a run that died; it cannot be removed everywhere
            for path in self.folder.glob("*.part"):
                path.unlink()

    @classmethod
    @contextlib.contextmanager
    def begin(
        cls, folder: str | os.PathLike[str], job: Job, resources: StoredResources
    ) -> Iterator[Store]:
        """The folder for a job: a new one, or that of an earlier run of the same job.  Raises
        CheckpointError if the folder holds anything else, is in use, or cannot be written."""
        path = Path(folder)
        with to_write(path, begun=False):
            path.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            manifest, minus_first = path / "job.json", None
            others = [p.name for p in path.iterdir() if not _OURS.fullmatch(p.name)]
            if manifest.exists():
                with contextlib.suppress(DamagedFile):  # it is written again
                    content = _read_manifest(manifest)
                    _check_same(path, content["job"], job)
                    minus_first = content["minus_first"]
            elif others:
                raise CheckpointError(
                    f"{path} holds other files ({min(others)}) and no job.json; give an empty or "
                    "a new folder"
                )
            if minus_first is None:
                name, usual = "sweep.guessed_cells", parameters.usual.sweep.guessed_cells
                least = (resources.plan or {}).get(name, usual)
                minus_first = job.both and likely_minus(job.frame, least)
            store = cls(path, job, resources, minus_first)
            if not (path / "thin").exists():
                list(in_threads(store._save_letters, ("query", "target"), few=2))
            store._write_manifest()
            yield store

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: str | os.PathLike[str]) -> Iterator[Store]:
        """The folder of a run that is to be continued.  Raises CheckpointError if it holds no
        checkpoint, is in use or of another format, or if the job or its sequences are damaged."""
        path = Path(folder)
        try:
            (path / "job.json").stat()
        except OSError as error:
            why = "there is no job.json in it" if os.path.isdir(path) else "there is no such folder"  # noqa: PTH112
            if os.path.exists(path / "command.json"):  # noqa: PTH110
                why = f"it is that of several pairs; continue with: pysw-cl resume {path}"
            raise CheckpointError(f"{path} holds no checkpoint: {why}") from error
        with _locked(path):
            try:
                content = _read_manifest(path / "job.json")
                job = _job(path, content)
            except DamagedFile as error:
                raise CheckpointError(
                    f"{str(error).partition(';')[0]}; align the same sequences again with this "
                    "folder as checkpoint: the rows in it are used"
                ) from error
            yield cls(path, job, StoredResources(**content["wishes"]), content["minus_first"])

    @staticmethod
    def read(folder: str | os.PathLike[str]) -> Job:
        """The job in a folder that another process may have locked.  Raises DamagedFile."""
        path = Path(folder)
        return _job(path, _read_manifest(path / "job.json"))

    def part(self, job: Job) -> Store:
        """The part for a ``job`` of one strand of this one's."""
        folder = self.folder / job.frame.strand
        with to_write(folder):
            folder.mkdir(exist_ok=True)
        return Store(folder, job, self.resources, self.minus_first, self.folder)

    @property
    def how(self) -> str:
        """How to continue, for messages."""
        folder = self.whole or self.folder
        return f"continue with pysw_cl.resume({str(folder)!r}) or: pysw-cl resume {folder}"

    @property
    def what(self) -> str:
        """Which strand this is, for messages; empty for a whole job."""
        return "" if self.whole is None else f" of the {self.job.frame.strand} strand"

    def used(self) -> int:
        """Bytes in the whole folder."""
        paths = (self.whole or self.folder).rglob("*")
        return sum(path.stat().st_size for path in paths if path.is_file())

    def free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def save_arrays(
        self,
        name: str,
        arrays: Mapping[str, NDArray[np.uint8]],
        facts: Mapping[str, Any],
        strategy: int = zlib.Z_RLE,
    ) -> None:
        """Write byte arrays, which zlib compresses by ``strategy``, and facts to a sealed file."""
        pack = partial(pack_bytes, strategy=strategy)
        with contextlib.closing(SealedWriter(self.folder / name)) as file:
            for key, array in arrays.items():
                data = np.ascontiguousarray(array).data
                parts = [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
                for k, packed in enumerate(in_threads(pack, parts)):
                    file.put(key, k * PIECE, len(parts[k]), packed)
            file.seal({"job": self.job.key, **facts})

    def arrays(self, name: str) -> tuple[dict[str, NDArray[np.uint8]], dict[str, Any]] | None:
        """What `save_arrays` wrote; None if it is missing, damaged or of another job."""
        with contextlib.suppress(DamagedFile):
            for file in self.sealed(name):
                keys = {piece.name for piece in file.pieces}
                return {key: _joined(file, key) for key in keys}, file.facts
        return None

    def drop(self, *kinds: str) -> None:
        """Remove the files of these kinds."""
        with to_write(self.folder):
            for kind in kinds:
                for path in self.folder.glob(f"{kind}-*"):
                    path.unlink()

    def sealed(self, pattern: str) -> Iterator[SealedFile]:
        """The files whose names match, of this job and with a sound index."""
        for path in self.folder.glob(pattern):
            with contextlib.suppress(DamagedFile):
                file = SealedFile(path)
                if file.facts["job"] == self.job.key:
                    yield file

    def _save_letters(self, name: str) -> None:
        """Write the letters of the "query" or "target", unless they are there."""
        letters, saved = getattr(self.job, name).letters, self.arrays(name)
        if saved is None or not np.array_equal(saved[0].get("letters", []), letters):
            # few letters have no runs that a search for them would find
            self.save_arrays(name, {"letters": letters}, {}, zlib.Z_HUFFMAN_ONLY)

    def _write_manifest(self) -> None:
        sides = {"query": self.job.query, "target": self.job.target}
        content: dict[str, Any] = {
            "format": FORMAT,
            "made_by": f"pysw_cl {__version__}",
            "job": self.job.facts,
            "names": {k: [one.name, one.description] for k, one in sides.items()},
            "minus_first": self.minus_first,
            "wishes": asdict(self.resources),
        }
        path = self.folder / "job.json"
        with contextlib.suppress(DamagedFile, CheckpointError):
            if _read_manifest(path) == json.loads(canonical(content)):
                return
        content["checksum"] = hashlib.sha256(canonical(content)).hexdigest()
        part = path.with_name("job.json.part")
        with to_write(path), part.open("w") as file:
            json.dump(content, file, indent=1)
            finish_file(file, part, path)


def keep_result(folder: Path) -> None:
    """Remove all but the result of a finished run, which a run of the same job reads."""
    with to_write(folder):
        (folder / "thin").touch()
        for name in "query target rows-* walk-* band-* tile-* blocks whole *.part".split():
            for path in folder.rglob(name):
                path.unlink()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other runs.  The lock ends with the process, even if it is killed.
    One that cannot be written is locked, as far as it can be, if a result may be read from it."""
    name, exclusive = folder / "lock", True
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(name.open("w"))
        except OSError as error:
            if not any(folder.rglob("result")):
                raise cannot_write(folder, error, begun=(folder / "job.json").exists()) from error
            there, exclusive = os.access(name, os.R_OK), False
            lock = stack.enter_context((name if there else folder / "job.json").open())
        if fcntl is not None:
            try:
                fcntl.flock(lock, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CheckpointError(
                    f"{folder} is in use by another run; wait for it or take another folder"
                ) from None
            except OSError:  # a file system without locks
                pass
        yield


def _read_manifest(path: Path) -> dict[str, Any]:
    """job.json, checked.  Raises DamagedFile, or CheckpointError for another format version."""
    try:
        content = json.loads(path.read_text())
        sound = content.pop("checksum") == hashlib.sha256(canonical(content)).hexdigest()
    except (OSError, ValueError, KeyError, AttributeError):
        sound = False
    if not sound:
        raise DamagedFile(f"{path} is damaged")
    if content["format"] != FORMAT:
        raise CheckpointError(
            f"{path.parent} is of checkpoint format {content['format']}, written by "
            f"{content['made_by']}; this version reads format {FORMAT}; resume it with the "
            "version that wrote it"
        )
    return dict(content)


def _check_same(folder: Path, there: Mapping[str, Any], job: Job) -> None:
    here = json.loads(canonical(job.identity))
    different = [name.replace("_", " ") for name in here if there.get(name) != here[name]]
    if "range" in different and {"query", "target"} & set(different):
        different.remove("range")  # without a range it says how long they are
    if different:
        *first, last = different
        differ = f"{', '.join(first)} and {last} differ" if first else f"its {last} differs"
        raise CheckpointError(
            f"{folder} is the checkpoint of another job: {differ}; give another folder, or the "
            "arguments of that job"
        )


def _job(folder: Path, content: Mapping[str, Any]) -> Job:
    facts, sides = content["job"], []
    alphabet = facts["scoring"].get("alphabet")
    of = None if alphabet is None else Alphabet(**alphabet)
    for name in ("query", "target"):
        letters = _joined(SealedFile(folder / name), "letters")
        letters.flags.writeable = False
        title, description = content["names"][name]
        sequence = Sequence(title, description, letters, alphabet=of)
        if digest(sequence) != facts[name]:
            raise DamagedFile(f"{folder / name} is damaged")
        sides.append(sequence)
    return Job.of(facts, *sides)


def _joined(file: SealedFile, name: str) -> NDArray[np.uint8]:
    """A byte array that `Store.save_arrays` wrote."""
    parts = [unpack_bytes(file.read(piece)) for piece in file.named(name)]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint8)
