"""``pysw-cl profile``: what it prints, and how it ends."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from machines import GPU, Machine, fake, fake_platform
from profiles_made import made

from pysw_cl.cli import main as cli
from pysw_cl.cli.devices import UNITS, _seconds
from pysw_cl.folders import kernels_digest
from pysw_cl.opencl.device import get_runtime
from pysw_cl.planning.profiles.profile import VARIABLE, Identity, Profile, save

pytestmark = pytest.mark.usefixtures("profile_folder")


@pytest.fixture(autouse=True)
def card(machine: Machine) -> Identity:
    """The only device."""
    machine(fake_platform("P", fake(GPU, "Card", 8, vendor="V", driver_version="7.1")))
    return get_runtime("auto").identity


@pytest.fixture
def mine(card: Identity) -> Profile:
    """The user's profile of it."""
    profile = Profile(
        card,
        kernels_digest(),
        {"wavefront/packed": {"groups": 8, "chunk": 17592186044416, "T": 7 / 3}},
        {"wavefront/packed/permute4/16": {"column": 1.25e-8, "row": 0}, "call": {"call": 2e-4}},
        0.0375,
        "pysw-cl 9, 2031-02-03",
        ({"B": 8},) * 1200,
    )
    save(profile)
    return profile


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(["profile", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def fails(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 1) -> str:
    """The one line on standard error of a command that fails."""
    found, out, err = run(capsys, *argv)
    assert (found, out, err.count("\n")) == (code, "", 1)
    assert err.startswith("pysw-cl") and "internal error" not in err
    return err


def test_show(capsys: pytest.CaptureFixture[str], mine: Profile, profile_folder: Path) -> None:
    path = next(profile_folder.iterdir())
    code, out, err = run(capsys, "show")
    assert (code, err) == (0, "")
    assert (
        out
        == f"""\
device      Card [P], gpu, 8 units, driver 7.1
profile     the user's
file        {path}
made on     Card [P], gpu, 8 units, driver 7.1
kernels     {mine.kernels} (these)
made by     pysw-cl 9, 2031-02-03
spread      nine of ten predictions are off by at most 3.75%
measured    1,200 runs

parameters
  wavefront/packed  groups 8  chunk 17592186044416  T 2.333

times
  call                          call 200 us
  wavefront/packed/permute4/16  column 12.5 ns  row 0
"""
    )


def test_show_of_another_driver_and_kernels(
    capsys: pytest.CaptureFixture[str], mine: Profile, machine: Machine
) -> None:
    save(replace(mine, kernels="0" * 16))
    machine(fake_platform("P", fake(GPU, "Card", 8, vendor="V", driver_version="8")))
    assert "\nprofile     the user's (another driver)\n" in run(capsys, "show")[1]
    machine(fake_platform("P", fake(GPU, "Card", 2, vendor="V", driver_version="7.1")))
    out = run(capsys, "show", "--device", "card")[1]
    assert "device      Card [P], gpu, 2 units, driver 7.1" in out
    assert "profile     the user's (another number of compute units)" in out
    assert "made on     Card [P], gpu, 8 units, driver 7.1" in out


def test_show_of_what_ships(capsys: pytest.CaptureFixture[str], shipped_profiles: Path) -> None:
    text = json.dumps(made(3, Identity(vendor="V", kind="gpu"), "").facts())
    (shipped_profiles / "v.json").write_text(text)
    code, out, err = run(capsys, "show")
    assert (code, err) == (0, "")
    assert "profile     shipped for V, gpu\nholds for   V, gpu\nkernels     any (these are" in out
    assert "  wavefront/packed  groups 8  alpha 3\n" in out
    assert json.loads(run(capsys, "show", "--json")[1])["file"] is None


def test_show_where_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "show")
    assert (code, err) == (0, "")
    assert "profile     shipped for any device\nholds for   any device\n" in out
    assert "plans have their defaults" in out
    assert fails(capsys, "show", "--device", "no such") != ""


def test_show_as_json(
    capsys: pytest.CaptureFixture[str], mine: Profile, profile_folder: Path
) -> None:
    code, out, err = run(capsys, "show", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    path = next(profile_folder.iterdir())
    assert (found["source"], found["file"]) == ("the user's", str(path))
    assert Profile.of_text(out.encode()) == mine


def test_a_text_of_a_file_does_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], mine: Profile
) -> None:
    bad = "a\x1b[2J\nb\udc00"
    save(replace(mine, made=bad, times={bad: {bad: 1.0}}))
    out = run(capsys, "show")[1]
    assert "made by     a%1B[2J b%ED%B0%80\n" in out
    assert "  a%1B[2J b%ED%B0%80  a%1B[2J b%ED%B0%80 1 s\n" in out


def test_a_damaged_file_is_told(
    capsys: pytest.CaptureFixture[str], mine: Profile, profile_folder: Path
) -> None:
    path = next(profile_folder.iterdir())
    path.write_text(path.read_text()[:-20])
    assert run(capsys, "reset")[1] == f"removed {path}\n"
    path.write_text("{")
    code, out, err = run(capsys, "show")
    assert code == 0
    assert "shipped for any device" in out
    assert err.startswith(f"pysw-cl: warning: the profile {path} is ignored: it is not JSON")
    assert err.count("\n") == 1


def test_export_and_import(
    capsys: pytest.CaptureFixture[str],
    mine: Profile,
    profile_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = next(profile_folder.iterdir())
    text = path.read_text()
    plain, packed = tmp_path / "p.json", tmp_path / "p.json.gz"
    assert run(capsys, "export", "-") == (0, text, "")
    for file in (plain, packed):
        assert run(capsys, "export", str(file), "--device", "gpu") == (0, "", "")
    assert plain.read_text() == gzip.decompress(packed.read_bytes()).decode() == text
    for file in ("-", str(plain), str(packed)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        assert run(capsys, "reset") == (0, f"removed {path}\n", "")
        said = f"the profile of Card [P], gpu, 8 units, driver 7.1 is stored in {path}\n"
        assert run(capsys, "import", file) == (0, said, "")
        assert path.read_text() == text
    assert run(capsys, "reset")[0] == 0
    said = f"there is no profile of Card in {profile_folder}\n"
    assert run(capsys, "reset") == (0, said, "")


def test_what_cannot_be_exported(
    capsys: pytest.CaptureFixture[str], mine: Profile, tmp_path: Path
) -> None:
    assert "p.json: cannot be written" in fails(capsys, "export", str(tmp_path / "no" / "p.json"))
    assert "Is a directory" in fails(capsys, "export", str(tmp_path))
    assert run(capsys, "reset")[0] == 0
    assert "no profile of Card to export" in fails(capsys, "export", str(tmp_path / "p.json"))
    assert not (tmp_path / "p.json").exists()


def test_what_cannot_be_imported(
    capsys: pytest.CaptureFixture[str], profile_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "p.json"
    assert f"{file}: cannot be read: No such file" in fails(capsys, "import", str(file))
    assert f"{tmp_path}: cannot be read: Is a directory" in fails(capsys, "import", str(tmp_path))
    for text, why in (
        (">a\nACGT\n", "it is not JSON"),
        ("{}", "it is not a profile of pysw-cl"),
        (json.dumps({**made().facts(), "version": 99}), "it has version 99"),
        (json.dumps(Profile().facts()), "it does not name its device"),
    ):
        file.write_text(text)
        assert f"{file} cannot be imported: {why}" in fails(capsys, "import", str(file))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"{}" * 100)[:-9])
    assert "truncated or damaged gzip" in fails(capsys, "import", str(tmp_path / "cut.gz"))
    assert not profile_folder.exists()


def test_a_folder_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str],
    mine: Profile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "p.json"
    assert run(capsys, "export", str(file))[0] == 0
    monkeypatch.setenv(VARIABLE, str(file / "below"))
    assert f"{file / 'below'} cannot be written: Not a dir" in fails(capsys, "import", str(file))
    assert run(capsys, "show")[0] == 0
    monkeypatch.setenv(VARIABLE, "off")
    for words in (["import", str(file)], ["export", "-"], ["reset"]):
        assert "switched off by PYSW_CL_PROFILES=off" in fails(capsys, *words)
    assert "shipped for any device" in run(capsys, "show")[1]


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["view"], ["export"], ["import"], ["import", "a", "b"], ["show", "x"]):
        assert "--help)" in fails(capsys, *words, code=2), words
    code, out, err = run(capsys)
    assert (code, err) == (0, "") and out.startswith("usage: pysw-cl profile")


def test_help_is_light() -> None:
    code = (
        "import sys; from pysw_cl.cli.main import main; assert main(['profile', '--help']) == 0; "
        "sys.exit(bool({'numpy', 'pyopencl', 'platformdirs'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_times_in_units_that_suit_them() -> None:
    for value, text in (
        (0, "0"), (0.0, "0"), (12.5, "12.5 s"), (1, "1 s"), (0.9999, "1 s"), (0.5, "500 ms"),
        (9.994e-4, "999 us"), (9.999e-4, "1 ms"), (2.5e-8, "25 ns"), (3e-13, "0.3 ps"),
        (-2e-6, "-2 us"), (1e5, "1e+05 s"),
    ):  # fmt: skip
        assert _seconds(value) == text
    assert [size for size, _ in UNITS] == sorted((size for size, _ in UNITS), reverse=True)
