"""A project with a store beside it, and ways to look at both with git itself."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from roost.workspace.snapshots import SnapshotLimits, Snapshots

USER = ("-c", "user.name=n", "-c", "user.email=e")


def git(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """What git says in `folder`."""
    done = subprocess.run(
        ["git", "-C", str(folder), *USER, *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, **(env or {})},
    )
    return done.stdout.decode()


class World:
    """A folder `project`, and its snapshots in `data`."""

    def __init__(self, folder: Path, *, limits: SnapshotLimits | None = None) -> None:
        self.root = folder / "project"
        self.root.mkdir(exist_ok=True)
        self.store = folder / "data" / "snapshots" / "p1"
        self.warnings: list[str] = []
        self._limits = limits
        self.snapshots = self.opened()

    def opened(self) -> Snapshots:
        """Another process's view of the same project."""
        return Snapshots(self.root, self.store, warn=self.warnings.append, limits=self._limits)

    def write(self, path: str, text: str | bytes = "", mode: int | None = None) -> Path:
        real = self.root / path
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_bytes(text.encode() if isinstance(text, str) else text)
        if mode is not None:
            real.chmod(mode)
        return real

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def track(self) -> str:
        found = self.snapshots.track()
        assert found is not None
        return found

    def held(self, tree: str) -> dict[str, str]:
        """Path and mode of everything in a tree, as git reads it."""
        text = git(self.store, "--git-dir=.", "ls-tree", "-r", "-z", tree)
        rows = [row.partition("\t") for row in text.split("\0")[:-1]]
        return {path: head.split(" ")[0] for head, _, path in rows}

    def content(self, tree: str, path: str) -> str:
        return git(self.store, "--git-dir=.", "cat-file", "-p", f"{tree}:{path}")

    def state(self) -> dict[str, tuple[int, bytes]]:
        """Every file and link of the project: mode and bytes, without git's own."""
        found: dict[str, tuple[int, bytes]] = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".git"]
            for name in (*files, *folders):
                path = Path(folder) / name
                if path.is_symlink():
                    found[str(path.relative_to(self.root))] = (0, os.fsencode(path.readlink()))
                elif path.is_file():
                    data = path.read_bytes()
                    found[str(path.relative_to(self.root))] = (path.stat().st_mode, data)
        return found
