"""OpenCode itself, from npm: installed once into a cache, or not at all, within bounds.

Whoever needs it and cannot have it is skipped with the reason.
"""

import contextlib
import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

OLD, NEW = "1.14.34", "1.18.33"
"""The version whose wire Roost speaks, and one that came long after it."""
VERSIONS = (OLD, NEW)
SECONDS = 60.0
"""For installing one version; what takes longer is not waited for."""
AGAIN_SECONDS = 600.0
"""After a failure nobody tries again for so long."""
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class OpenCode:
    """One installed version."""

    def __init__(self, version: str, folder: Path, package: str) -> None:
        self.version = version
        self.modules = folder / "node_modules"
        self.program = self.modules / package / "bin" / "opencode"
        self._folder = folder

    def document(self) -> dict[str, Any]:
        """Its OpenAPI document, which it is asked for once."""
        kept = self._folder / "openapi.json"
        if not kept.exists():
            with tempfile.TemporaryDirectory() as home:
                environment = {"HOME": home, "PATH": os.environ["PATH"]}
                said = subprocess.run(
                    [self.program, "generate"],
                    env=environment,
                    cwd=home,
                    capture_output=True,
                    timeout=60,
                    check=True,
                ).stdout
            _put(kept, said)
        return json.loads(kept.read_bytes())


def opencode(version: str) -> OpenCode:
    """That version. Skips the test if it cannot be had."""
    for program in ("npm", "node"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    package = _package()
    folder = _cache() / f"opencode-{version}"
    with _alone(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            _install(folder, version, package)
    return OpenCode(version, folder, package)


def _package() -> str:
    """The npm package that holds the program for this machine."""
    system = _SYSTEMS.get(platform.system())
    machine = _MACHINES.get(platform.machine())
    if system is None or machine is None:
        pytest.skip(f"OpenCode has no program for {platform.system()} on {platform.machine()}")
    return f"opencode-{system}-{machine}"


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "roost-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Hold a lock, unless another process has it for longer than an installation may take."""
    deadline = time.monotonic() + SECONDS + 10
    with lock.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    pytest.skip("another process has been installing OpenCode for long")
                time.sleep(0.2)
            else:
                break
        yield


def _install(folder: Path, version: str, package: str) -> None:
    failed = folder.with_suffix(".failed")
    if failed.exists() and time.time() - failed.stat().st_mtime < AGAIN_SECONDS:
        pytest.skip(failed.read_text())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    wanted = (f"{package}@{version}", f"@opencode-ai/sdk@{version}")
    problem = _npm(folder, wanted) or _try(folder / "node_modules" / package / "bin" / "opencode")
    if problem:
        shutil.rmtree(folder, ignore_errors=True)
        words = f"OpenCode {version} cannot be installed: {problem}"
        failed.write_text(words)
        pytest.skip(words)
    (folder / "complete").touch()
    failed.unlink(missing_ok=True)


def _npm(folder: Path, wanted: tuple[str, ...]) -> str:
    """Install packages; what went wrong, empty if nothing did."""
    options = ("--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0")
    process = subprocess.Popen(
        ["npm", "install", "--prefix", folder, *options, *wanted],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, said = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"npm takes longer than {SECONDS:g} s"
    return "" if process.returncode == 0 else said.strip().splitlines()[0][:200]


def _try(program: Path) -> str:
    """Whether the program runs on this machine; why not, if it does not."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": os.environ["PATH"]}
        try:
            subprocess.run(
                [program, "--version"],
                env=environment,
                capture_output=True,
                timeout=30,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return f"it does not run here ({error})"
    return ""


def _put(path: Path, data: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.replace(path)
