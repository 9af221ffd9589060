"""`make setup` keeps a .venv that is of use and makes any other anew."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKES_ANEW = "-m venv"
INSTALLS = "pip install"


def planned(venv: Path, *words: str) -> str:
    """What `make setup` would do with the `venv` as it is."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed here")
    done = subprocess.run(
        ["make", "-n", "setup", f"VENV={venv}", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def made(folder: Path, code: int, version: str = "3.11") -> Path:
    """A folder like a .venv that is ready; its Python answers with `code` and `version`."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\necho {version}\nexit {code}\n")
    python.chmod(0o755)
    (folder / ".ready").touch()
    return folder


def test_a_venv_that_is_ready_is_left_alone(tmp_path: Path) -> None:
    plan = planned(made(tmp_path / "venv", 0))
    assert INSTALLS not in plan
    assert "ready: " in plan


def test_a_venv_whose_python_is_too_old_or_does_not_run_is_made_anew(tmp_path: Path) -> None:
    broken = made(tmp_path / "broken", 0)
    (broken / "bin" / "python").unlink()
    (broken / "bin" / "python").symlink_to("/nonexistent/python3")
    for venv in (made(tmp_path / "old", 1), broken, tmp_path / "none"):
        plan = planned(venv)
        assert f'test -n "" || {{ echo "making {venv}' in plan
        assert MAKES_ANEW in plan
        assert INSTALLS in plan


def test_another_python_that_is_asked_for_makes_the_venv_anew(tmp_path: Path) -> None:
    venv = made(tmp_path / "venv", 0, "3.11")
    same, other = made(tmp_path / "same", 0, "3.11"), made(tmp_path / "other", 0, "3.12")
    assert INSTALLS not in planned(venv, f"PYTHON={same}/bin/python")
    assert 'test -n "" ||' in planned(venv, f"PYTHON={other}/bin/python")


def test_each_slow_step_says_what_it_does_first(tmp_path: Path) -> None:
    lines = planned(tmp_path / "none").splitlines()
    for slow in (MAKES_ANEW, INSTALLS):
        at = next(n for n, line in enumerate(lines) if slow in line)
        assert "echo" in "".join(lines[:at])
    assert all("-q -q" in line for line in lines if INSTALLS in line)
