"""``--checkpoint`` of several pairs, which ends anywhere and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from saving import pair
from test_cli import fasta, run

import pysw_cl
from pysw_cl.errors import CheckpointError


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    texts = [pair(60, seed) for seed in range(3)]
    queries = [(f"q{k}", a) for k, (a, _) in enumerate(texts)]
    targets = [(f"t{k}", b) for k, (_, b) in enumerate(texts)]
    return [fasta(tmp_path / "q.fa", *queries), fasta(tmp_path / "t.fa", *targets)]


@pytest.mark.parametrize("more", [[], ["--pairs"], ["--strand", "both", "--min-score", "20"]])
def test_a_run_that_ends_and_goes_on(
    files: list[str],
    more: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Ended between two pairs and inside one, by `resume` from elsewhere and by the same command;
    finished pairs are not computed again."""
    asked = ["align", *files, "--plan", "engine=reference", "-q", *more]
    wanted = run(capsys, *asked)[1]
    saved = [*asked, "--checkpoint", str(tmp_path / "job")]
    calls: list[int] = []
    align = __import__("pysw_cl.api.align", fromlist=["align_with"]).align_with

    def ended(*given: object, **how: object) -> object:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return align(*given, **how)

    with monkeypatch.context() as patch:
        patch.setattr("pysw_cl.api.align.align_with", ended)
        assert run(capsys, *saved)[0] == 130
    code, _, err = run(capsys, *saved, "--stop-after", "0.000001s")
    assert code == 3 and err.endswith(f"continue with: pysw-cl resume {tmp_path / 'job'}\n")
    monkeypatch.chdir(tmp_path)
    made: list[int] = []
    engine = pysw_cl.engines.reference.ReferenceEngine.tile
    monkeypatch.setattr(
        "pysw_cl.engines.reference.ReferenceEngine.tile",
        lambda *given: made.append(1) or engine(*given),
    )
    assert run(capsys, "resume", "job", "-q")[:2] == (0, wanted) and made
    made.clear()
    assert run(capsys, "resume", "job", "-q", "-o", "x.paf")[0] == 0
    assert (tmp_path / "x.paf").read_text() == wanted and not made
    assert run(capsys, *saved)[:2] == (0, wanted) and not made
    assert not list((tmp_path / "job").rglob("query")) + list((tmp_path / "job").rglob("rows-*"))
    with pytest.raises(CheckpointError, match="several pairs; continue with: pysw-cl resume"):
        pysw_cl.resume(tmp_path / "job")


def test_what_is_refused(
    files: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A folder of something else, other files than the run began with, a damaged command."""
    saved = ["align", *files, "--plan", "engine=reference", "--pairs", "-q", "--checkpoint"]
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = run(capsys, *saved, str(tmp_path))
    assert code == 1 and "holds other files (mine.txt)" in err
    job = tmp_path / "job"
    assert run(capsys, *saved, str(job))[0] == 0
    fasta(Path(files[0]), *((f"q{k}", pair(60, 9)[0]) for k in range(3)))
    code, _, err = run(capsys, "resume", str(job))
    assert code == 1 and "pair-000000000 is the checkpoint of another job: its query" in err
    (job / "command.json").write_text(json.dumps({"command": "pysw-cl align"}))
    code, _, err = run(capsys, "resume", str(job))
    assert code == 1 and "command.json is damaged; give the command again" in err
