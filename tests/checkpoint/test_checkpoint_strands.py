"""Checkpoints of both strands: one folder, interrupted anywhere, between the strands, too."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from helpers import fault, likely, tune
from saving import (
    MODES,
    REFERENCE,
    Enough,
    interrupted,
    key,
    message,
    options,
    pair,
    resumed_again_and_again,
    stop_at,
    turned,
)

import pysw_cl
from pysw_cl.checkpoint import run as saved_job, store
from pysw_cl.cli import main as cli
from pysw_cl.errors import CheckpointError, InputError, Stopped

pytestmark = pytest.mark.usefixtures("small")


def both(**more: Any) -> dict[str, Any]:
    return options(strand="both", **more)


def texts(kind: str, length: int = 200) -> tuple[str, str]:
    """A pair whose better strand is plus or minus, or whose strands score the same."""
    a, b = pair(length)
    if kind == "equal":
        a = a[: length // 2]
        return a + turned(a), b
    return (a if kind == "plus" else turned(a)), b


def second_strand(done: int, total: int) -> None:
    """A progress callback that ends the run in the second strand."""
    if done > 0.6 * total:
        raise Enough


def names(folder: Path, kind: str) -> list[str]:
    return sorted(f"{p.parent.name}/{p.name}" for p in folder.rglob(f"{kind}*"))


# Going on


@pytest.mark.parametrize("kind", ["plus", "minus", "equal"])
@pytest.mark.parametrize(("mode", "free_ends"), MODES, ids=str)
def test_interrupted_anywhere(tmp_path: Path, mode: str, free_ends: Any, kind: str) -> None:
    """Ended again and again, each time a little later, with other tiles each time."""
    a, b = texts(kind)
    how = {"mode": mode, "free_ends": free_ends}
    worse_first = kind != "minus"
    for minus_first, output in ((worse_first, "path"), (not worse_first, "score")):
        expected = pysw_cl.align(a, b, strand="both", output=output, plan=REFERENCE, **how)
        folder = tmp_path / output
        with likely(minus_first):
            interrupted(folder, 9, a, b, output=output, **both(**how))
        found = resumed_again_and_again(folder, range(10, 2000, 29))
        assert found is not None
        assert key(found) == key(expected)
        assert kind == "minus" or mode != "local" or found.strand == "plus"
        stored = pysw_cl.resume(folder)
        assert key(stored) == key(expected) and stored.stats == found.stats
        with likely(not minus_first):  # the folder's order counts
            again = pysw_cl.align(a, b, output=output, checkpoint=folder, **both(**how))
        assert key(again) == key(expected) and again.stats == found.stats


@pytest.mark.parametrize("kind", ["plus", "minus", "equal"])
def test_interrupted_at_any_moment(tmp_path: Path, kind: str) -> None:
    a, b = texts(kind, 50)
    expected = pysw_cl.align(a, b, strand="both", plan=REFERENCE)
    calls = len(kind)
    while True:
        calls += 6
        folder = tmp_path / str(calls)
        try:
            with likely(kind == "minus"):
                pysw_cl.align(a, b, checkpoint=folder, progress=stop_at(calls), **both())
        except Enough:
            assert key(pysw_cl.resume(folder)) == key(expected)
            assert not names(folder, "rows-") and not list(folder.rglob("*.part"))
            continue
        break
    assert calls > 30


@pytest.mark.parametrize("place", ["part", "drop", "known", "SavedSweep"], ids="before {}".format)
@pytest.mark.parametrize("time", [1, 2])
def test_ended_between_the_strands(tmp_path: Path, place: str, time: int) -> None:
    """Before and after the first strand's result is there, and its rows are gone."""
    a, b = texts("minus")
    expected = pysw_cl.align(a, b, strand="both", plan=REFERENCE)
    owners: tuple[Any, ...] = saved_job, saved_job.SavedStrand, store.Store
    owner = next(one for one in owners if hasattr(one, place))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Enough):
        fault(patch, owner, place, Enough, range(time, time + 1))
        pysw_cl.align(a, b, checkpoint=tmp_path, **both())
    done = len(names(tmp_path, "result"))
    assert done == (time if place == "drop" else time - 1)
    seen: list[tuple[int, int]] = []
    assert key(pysw_cl.resume(tmp_path, progress=lambda *t: seen.append(t))) == key(expected)
    assert len(seen) == 0 if done == 2 else 2 * seen[0][0] == done * seen[0][1]
    assert not names(tmp_path, "rows-") and len(names(tmp_path, "result")) == 2


def test_on_another_device(tmp_path: Path) -> None:
    a, b = texts("minus", 400)
    expected = pysw_cl.align(a, b, strand="both", plan=REFERENCE)
    with likely(False), pytest.raises(Enough):
        pysw_cl.align(a, b, checkpoint=tmp_path, progress=second_strand, **both())
    plan = {"lanes": "scalar32", "B": 3, "T": 2, "alpha": 2, "tile_cells": 5000}
    found = pysw_cl.resume(tmp_path, plan=plan)
    assert key(found) == key(expected)
    assert len({kind.partition("/")[0] for kind in found.stats.cells}) == 2


def test_one_run_for_those_who_watch_it(tmp_path: Path) -> None:
    """Progress rises from 0 to the end; the second strand is pruned by the first."""
    a = b = texts("plus", 300)[0]
    for output in ("path", "score"):
        seen: list[tuple[int, int]] = []
        how = both(output=output, progress=lambda *t, s=seen: s.append(t))
        found = pysw_cl.align(a, b, checkpoint=tmp_path / output, **how)
        shares = [done / total for done, total in seen]
        assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares)
        alone = pysw_cl.align(a, b, output=output, checkpoint=tmp_path / f"{output} +", **options())
        assert found.stats.pruned - alone.stats.pruned > 0.8 * len(a) * len(b)
        assert found.strand == "plus" and key(found) == key(alone)


def test_stop_after(tmp_path: Path) -> None:
    a, b = texts("minus", 300)
    expected = pysw_cl.align(a, b, strand="both", plan=REFERENCE)
    said = [
        message(lambda: pysw_cl.align(a, b, checkpoint=tmp_path, stop_after=0, **both()), Stopped)
    ]
    found = None
    while found is None:
        try:
            found = pysw_cl.resume(tmp_path, stop_after=0)
        except Stopped as stop:
            said.append(str(stop))
    assert key(found) == key(expected)
    strands = [text.split(" of the ")[2].split()[0] for text in said if "% of the cells" in text]
    assert strands == sorted(strands, reverse=True) and set(strands) == {"plus", "minus"}
    assert all(f"pysw-cl resume {tmp_path}" in text for text in said)


def test_the_folder_keeps_its_size(tmp_path: Path) -> None:
    a, b = texts("plus", 600)
    most, size = [0], 60_000

    def watch(done: int, total: int) -> None:
        files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".part"]
        most[0] = max(most[0], sum(path.stat().st_size for path in files))

    how = both(output="score", prune=False, disk_size=size)
    pysw_cl.align(a, b, checkpoint=tmp_path, progress=watch, **how)
    assert size // 2 < most[0] <= size


def test_ranges_and_names_of_both(tmp_path: Path) -> None:
    a, b = texts("minus")
    how = both(query_range=(20, 190), target_range=(10, 180), sub_score=(2, -3))
    expected = pysw_cl.align(a, b, **{k: v for k, v in how.items() if k != "disk_size"})
    interrupted(tmp_path, 30, a, b, **how)
    found = pysw_cl.resume(tmp_path)
    assert key(found) == key(expected) and found.strand == "minus"


# Damage and refusal


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 16
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [flip, Path.unlink], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", ["plus", "minus"])
def test_damaged_files(tmp_path: Path, kind: str, damage: Any) -> None:
    """The first result, the second strand's rows, both results: what is lost is computed again."""
    a, b = texts(kind, 140)
    expected = pysw_cl.align(a, b, strand="both", plan=REFERENCE)
    for number, lost in enumerate(["plus/result", "minus/result", "*/result", "*/rows-*", "*/*"]):
        for progress, end in ((None, nullcontext()), (second_strand, pytest.raises(Enough))):
            folder = tmp_path / f"{number} {progress is None}"
            with likely(False), end:
                pysw_cl.align(a, b, checkpoint=folder, progress=progress, **both())
            there = list(folder.glob(lost))
            assert there or progress is None or lost.startswith("minus")
            for path in there:
                damage(path)
            assert key(pysw_cl.resume(folder)) == key(expected)


@pytest.mark.parametrize("other_order", [False, True])
def test_a_lost_job(tmp_path: Path, other_order: bool) -> None:
    """The same call goes on, in another order, too: files for another order do not count."""
    a, b = texts("plus")
    expected = pysw_cl.align(a, b, strand="both", plan=REFERENCE)
    with likely(True), pytest.raises(Enough):
        pysw_cl.align(a, b, checkpoint=tmp_path, progress=second_strand, **both())
    assert len(names(tmp_path, "result")) == 1
    (tmp_path / "job.json").unlink()
    assert "no job.json" in message(lambda: pysw_cl.resume(tmp_path), CheckpointError)
    with likely(not other_order):
        assert key(pysw_cl.align(a, b, checkpoint=tmp_path, **both())) == key(expected)
    assert key(pysw_cl.resume(tmp_path)) == key(expected)


def test_other_jobs_are_refused(tmp_path: Path) -> None:
    a, b = texts("plus", 100)
    strands = ("plus", "minus", "both")
    for strand in strands:
        interrupted(tmp_path / strand, 3, a, b, **options(strand=strand))
        for other in {*strands} - {strand}:
            how = options(strand=other, checkpoint=tmp_path / strand)
            said = message(lambda how=how: pysw_cl.align(a, b, **how), CheckpointError)
            assert "another job: its strand differs" in said
    with pytest.raises(InputError, match="too little for one row"):
        pysw_cl.align(a, b, checkpoint=tmp_path / "x", **{**both(), "disk_size": 500})


def test_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, letters in zip("ab", texts("minus"), strict=True):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
        files.append(str(tmp_path / f"{name}.fa"))
    plan = ",".join(f"{name}={value}" for name, value in REFERENCE.items())
    command = ["align", *files, "--strand", "both", "--plan", plan]
    assert cli.main(command) == 0
    expected = capsys.readouterr().out
    assert "\t-\t" in expected
    folder = str(tmp_path / "job")
    saving = ["--checkpoint", folder, "--disk-size", "30K", "--stop-after", "0.000001s"]
    assert cli.main([*command, *saving]) == 3
    assert "strand" in capsys.readouterr().err
    assert cli.main(["resume", folder]) == 0
    assert capsys.readouterr().out == expected


def test_the_likely_strand_is_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, {"sweep.guessed_cells": 10_000})
    for kind in ("plus", "minus"):
        a, b = texts(kind, 600)
        folder = tmp_path / kind
        interrupted(folder, 60, a, b, **both())
        assert {name.split("/")[0] for name in names(folder, "rows-")} == {kind}
        expected = pysw_cl.align(a, b, strand="both", plan=REFERENCE)
        assert key(pysw_cl.resume(folder)) == key(expected)
