"""Aligners: a scoring, options and a device that are checked once and used many times."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from numpy.typing import NDArray

from ..drivers.options import AlignOptions, ManyOptions, ManyOutput, Output, Resources, TopOptions
from ..drivers.problem import Mode
from ..drivers.progress import Progress
from ..drivers.resources import AlignResources
from ..errors import InputError
from ..planning.plan import Plan
from ..results.alignment import Alignment
from ..scoring.scoring import Scoring, made_of
from ..sequences.view import Strand
from .align import align_with
from .many import align_many_with
from .pair_aligner import PairAligner
from .top import align_top_with

Range = tuple[int, int] | None


class Aligner(AbstractContextManager["Aligner"]):
    """Aligns with one scoring, the same options and on the same device, from any thread.

    The arguments are those of :func:`pysw_cl.align`, whose defaults they have; a gap of k letters
    costs ``open + k * extend``.  They are checked here, and the scoring is made once, so that small
    pairs take less time than with :func:`pysw_cl.align`, above all with a matrix that is given as
    an array or a file.  The device is looked for at the first call.

    All methods may be called from several threads at once: each has a queue and kernels of its own.
    Python's lock is free while the device works.  Results do not depend on the thread.

    :meth:`align_many` keeps tables and memory on the device for the next call; `close`, or
    the end of a ``with`` block, frees them.  A closed aligner can go on.

    An aligner can be pickled, and so be sent to other processes, if ``device`` is a string; objects
    of PyOpenCL belong to their process."""

    def __init__(
        self,
        sub_score: Any = (1, -3),
        gap_cost: Any = None,
        *,
        mode: Mode = "local",
        free_ends: bool | tuple[bool, ...] = False,
        wildcard: str | None = None,
        iupac: str = "mismatch",
        unknown: str = "error",
        allow_odd_scoring: bool = False,
        second_best: bool = False,
        strand: Strand = "plus",
        left_align: bool = False,
        prune: bool = True,
        max_cost: Any = "auto",
        device: Any = "auto",
        plan: Plan | Mapping[str, Any] | None = None,
        kernel_times: bool = False,
    ) -> None:
        plan = dict(plan) if isinstance(plan, Mapping) else plan  # a mapping may change
        given = locals()
        options = made_of(AlignOptions, given)
        resources = made_of(AlignResources, given)
        resources.band_cost(mode)
        self._begin(replace(options, sub_score=options.scoring), resources)

    def _begin(self, options: AlignOptions, resources: AlignResources) -> None:
        self._resources, self._given = resources, vars(options)
        self._for_output = cache(lambda output: replace(options, output=output))
        self._lock = threading.Lock()
        self._idle: list[PairAligner] = []

    @property
    def scoring(self) -> Scoring:
        """The scoring."""
        return self._given["scoring"]  # type: ignore[no-any-return]

    def align(
        self,
        a: Any,
        b: Any,
        *,
        output: Output = "path",
        query_range: Range = None,
        target_range: Range = None,
        progress: Progress | bool | None = None,
    ) -> Alignment:
        """Align query ``a`` with target ``b``; see :func:`pysw_cl.align`."""
        if query_range is None and target_range is None and isinstance(output, str):
            options = self._for_output(output)
        else:
            options = made_of(AlignOptions, {**self._given, **locals()})
        return align_with(a, b, options, self._telling(progress))

    def align_many(
        self,
        pairs: Iterable[Any],
        *,
        output: ManyOutput = "score",
        min_score: float | None = None,
        progress: Progress | bool | None = None,
    ) -> NDArray[Any]:
        """Align every query with its target; see :func:`pysw_cl.align_many`."""
        options = made_of(ManyOptions, {**self._given, **locals()})
        kept = self._resources
        resources = Resources(device=kept.device, plan=kept.plan, progress=progress)
        return align_many_with(pairs, options, resources, self._lent(options, resources))[0]

    def align_top(
        self,
        a: Any,
        b: Any,
        *,
        k: int = 10,
        min_score: float = 1,
        output: Output = "path",
        query_range: Range = None,
        target_range: Range = None,
        progress: Progress | bool | None = None,
    ) -> list[Alignment]:
        """The best local alignments that share no aligned pair; see :func:`pysw_cl.align_top`.
        Raises InputError unless the aligner's mode is local."""
        if self._given["mode"] != "local":
            raise InputError("align_top finds local alignments, and this Aligner's mode is global")
        if self._given["second_best"]:
            raise InputError("align_top has no second_best; make an Aligner without it")
        options = made_of(TopOptions, {**self._given, **locals()})
        return align_top_with(a, b, options, self._telling(progress))

    def close(self) -> None:
        """Free the device's memory that `align_many` keeps from call to call."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.__exit__()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        mode, strand, device = self._given["mode"], self._given["strand"], self._resources.device
        return f"<Aligner {mode}, strand {strand}, device {device!r}: {self.scoring.in_words}>"

    def __getstate__(self) -> dict[str, Any]:
        resources = self._resources
        if not isinstance(resources.device, str):
            raise InputError(
                f"an Aligner with a {type(resources.device).__name__} as its device cannot be "
                "pickled, because that object belongs to this process; name the device, as in "
                "device='gpu' or device='0:0'"
            )
        return {"options": self._for_output("path"), "resources": resources}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(**state)

    def _telling(self, progress: Progress | bool | None) -> AlignResources:
        """The resources of `align`, with a progress callback."""
        kept = self._resources
        return kept if progress is None else replace(kept, progress=progress)

    @contextmanager
    def _lent(self, options: ManyOptions, resources: Resources) -> Iterator[PairAligner]:
        """An aligner of pairs that no other thread uses.  It is kept if nothing goes wrong."""
        with self._lock:
            one = self._idle.pop() if self._idle else PairAligner(options, resources)
        one.options = options  # output and least score are those of the call
        try:
            yield one
        except BaseException:
            one.__exit__()
            raise
        with self._lock:
            self._idle.append(one)
