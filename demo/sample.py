"""The repository of the demo: made in a temporary folder, tested with the standard library."""

import subprocess
import sys
from pathlib import Path

from scripted_model.demo import write_sample

_AUTHOR = ("-c", "user.name=Demo", "-c", "user.email=demo@example.invalid")
_TEST_SECONDS = 60


def make_repository(folder: Path) -> None:
    """Write the sample with its two bugs to `folder` and commit it. Raises CalledProcessError."""
    write_sample(folder)
    (folder / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    for arguments in (
        ("init", "--quiet"),
        ("add", "."),
        (*_AUTHOR, "commit", "--quiet", "--message", "A shop with two bugs"),
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def failures(folder: Path) -> str:
    """What the tests of the sample complain about; empty when all pass."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "-q"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_TEST_SECONDS,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip() or "the tests do not run"
