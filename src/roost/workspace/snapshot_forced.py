"""Files that the user's repository holds although its ignore files name them."""

import os
import subprocess
from pathlib import Path
from typing import Final

from roost.workspace.git_folder import repository_of
from roost.workspace.program import quiet_environment

_SECONDS: Final = 5.0
_ARGUMENTS: Final = (
    "git",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.excludesFile=/dev/null"),
    *("ls-files", "-z", "--cached", "--ignored", "--exclude-standard"),
)


class ForcedPaths:
    """Asks git again only when the repository's index has changed; reads it and nothing else."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: tuple[int, int] | None = None
        self._paths: frozenset[str] = frozenset()

    def current(self) -> frozenset[str]:
        """The paths, relative to the root. None outside of git, without git, or if it is slow."""
        seen = self._sign()
        if seen != self._seen:
            self._paths = self._asked() if seen else frozenset()
            self._seen = seen
        return self._paths

    def _sign(self) -> tuple[int, int] | None:
        found = repository_of(self._root)
        if found is None:
            return None
        index = _index_of(found[0] / ".git", found[1])
        try:
            status = index.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _asked(self) -> frozenset[str]:
        environment = quiet_environment() | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        try:
            done = subprocess.run(
                _ARGUMENTS,
                cwd=self._root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return frozenset()
        names = done.stdout.split(b"\0")[:-1] if done.returncode == 0 else []
        return frozenset(os.fsdecode(name) for name in names)


def _index_of(link: Path, shared: Path) -> Path:
    """The index of the working tree whose `.git` is at `link`."""
    if link.is_dir():
        return shared / "index"
    try:
        target = link.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    except (OSError, UnicodeDecodeError):
        return shared / "index"
    return link.parent / target / "index"
