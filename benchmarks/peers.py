"""Roost beside what its users would pick instead: the same model, the same measures.

Each program is installed once into a cache folder outside of the repository (`ROOST_BENCH_CACHE`,
else below the user's cache). Whatever cannot be had here is skipped with one word of reason.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from benchmarks import delegation
from benchmarks.headless import Costs, costs
from benchmarks.measure import MB
from benchmarks.programs import ROOST, Program, mini, opencode, vibe

INSTALL_SECONDS: Final = 600
OPENCODE: Final = "opencode-ai"
VIBE: Final = "mistral-vibe==2.18.4"
MINI: Final = "mini-swe-agent"
_VIBE_PYTHONS: Final = ("3.12", "3.13", "3.14")


class SkippedError(Exception):
    """Cannot be measured here; the word says why."""


def lines(name: str | None = None) -> Iterator[str]:
    """The table, line by line as it is measured; with `name` of one program beside Roost."""
    heads = f"{'version':>11}{'1st request':>13}{'a step':>10}{'commands':>10}{'memory':>10}"
    yield f"{'':<10}{heads}{'10 children':>13}"
    yield _line("roost", costs(ROOST), delegation.wall(ROOST))
    for peer, install in PEERS.items():
        if name in {None, peer}:
            yield _measured(peer, install)


def _measured(name: str, install: Callable[[], Program]) -> str:
    try:
        program = install()
        children = delegation.wall(program) if program.delegate else None
        return _line(name, costs(program, starts=3, loops=1), children)
    except SkippedError as reason:
        return f"{name:<10}{f'({reason})':>11}"
    except TimeoutError:
        return f"{name:<10}{'(timeout)':>11}"
    except RuntimeError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return f"{name:<10}{'(failed)':>11}"


def _line(name: str, cost: Costs, children: float | None = None) -> str:
    cells = (
        f"{cost.version:>8,.0f} ms{cost.first_request:>10,.0f} ms{cost.step:>7.1f} ms"
        f"{cost.commands:>7.1f} ms{cost.peak / MB:>7,.0f} MB"
    )
    together = "" if children is None else f"{children:>11.2f} s"
    return f"{name:<10}{cells}{together}"


def _cache() -> Path:
    given = os.environ.get("ROOST_BENCH_CACHE")
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(usual) / "roost-bench"


def _opencode() -> Program:
    npm = shutil.which("npm")
    if npm is None:
        raise SkippedError("npm")
    folder = _cache() / "opencode"
    if not list(_opencode_binaries(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        _install([npm, "install", "--no-fund", "--no-audit", "--prefix", str(folder), OPENCODE])
    # The launcher would add the start of a second program to every figure.
    for binary in _opencode_binaries(folder):
        return opencode(binary)
    raise SkippedError("platform")


def _opencode_binaries(folder: Path) -> Iterator[Path]:
    found = sorted(folder.glob("node_modules/opencode-*-*/bin/opencode"))
    yield from (binary for binary in found if "baseline" not in str(binary))


def _vibe() -> Program:
    python = next(filter(None, map(_python, _VIBE_PYTHONS)), None)
    if python is None:
        raise SkippedError("python")
    return vibe(_from_pip("vibe", python, VIBE))


def _mini() -> Program:
    return mini(_from_pip("mini", sys.executable, MINI))


def _python(version: str) -> str | None:
    """An interpreter of that version, from the path or from pyenv."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    places = sorted(root.glob(f"versions/{version}.*/bin/python"))
    return str(places[-1]) if places else shutil.which(f"python{version}")


def _from_pip(name: str, python: str, package: str) -> Path:
    folder = _cache() / name
    binary = folder / "bin" / name
    if not binary.exists():
        _install([python, "-m", "venv", "--clear", str(folder)])
        _install([str(folder / "bin" / "pip"), "install", "--quiet", package])
    return binary


def _install(command: list[str]) -> None:
    """Raises `SkippedError` when that does not work here."""
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise SkippedError("slow") from None
    except (subprocess.CalledProcessError, OSError):
        raise SkippedError("unreachable") from None


PEERS: Final[dict[str, Callable[[], Program]]] = {
    "opencode": _opencode,
    "vibe": _vibe,
    "mini": _mini,
}
"""By the name under which `--only` knows them."""
