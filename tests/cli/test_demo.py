"""`python -m demo`, in an empty home: the sample is repaired and its tests are green."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from roost.llm.gguf import runtime_is_installed

ROOT = Path(__file__).parent.parent.parent


def demo(home: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "demo", *options],
        cwd=ROOT,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_the_demo_repairs_the_sample(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "all green" in done.stdout
    assert "roost run" in done.stdout
    assert "edit cart.py" in done.stderr
    assert list(tmp_path.glob("roost-demo-*")) == []


def test_the_demo_without_an_embedded_model_says_what_to_install(tmp_path: Path) -> None:
    if runtime_is_installed():
        pytest.skip("an embedded model is installed here")
    done = demo(tmp_path, "--model", "local")
    assert done.returncode == 1
    assert "make local" in done.stdout


def test_the_demo_fails_when_the_model_cannot_be_used(tmp_path: Path) -> None:
    done = demo(tmp_path, "--model", "nobody/nothing")
    assert done.returncode == 1
    assert "roost ended with exit code 2" in done.stderr
