"""``pysw-cl prepare``."""

from __future__ import annotations

import pytest

from pysw_cl.api.prepare import KINDS
from pysw_cl.cli.main import main


def test_it_says_what_is_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared: list[object] = []
    monkeypatch.setitem(
        KINDS, "dna", lambda runtime: iter([lambda device: prepared.append(device)] * 2)
    )
    assert main(["prepare", "--for", "dna"]) == 0
    assert len(prepared) == 2
    out, err = capsys.readouterr()
    assert "programs are ready on " in out
    assert err == ""  # no terminal


def test_an_unknown_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", "--for", "dna,rna"]) != 0
    assert "'rna' is not one of dna, protein, global, many" in capsys.readouterr().err
