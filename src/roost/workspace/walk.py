"""Walking a folder in Python, where ripgrep is not installed; the same files as ripgrep finds."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

from roost.workspace.ignore import IgnoreFolder


class Walk:
    """One walk over the files below `root`, meant for a thread of its own.

    Hidden files belong to it; `.git`, ignored files, links and special files do not. `stop` ends it
    early, and so does `deadline` (of `time.monotonic`); `complete` tells whether that happened.
    """

    def __init__(self, root: Path, deadline: float, stop: Event) -> None:
        self.complete = True
        self._root = root
        self._deadline = deadline
        self._stop = stop

    def files(self) -> Iterator[str]:
        """The paths of the files, relative to the root."""
        prefix = len(f"{self._root}/".replace("//", "/"))
        waiting = [(str(self._root), IgnoreFolder.above(self._root))]
        while waiting:
            if self._stop.is_set() or time.monotonic() > self._deadline:
                self.complete = False
                return
            path, ignore = waiting.pop()
            entries = _entries(path)
            if path != str(self._root):
                ignore = ignore.below(path, {entry.name for entry in entries})
            for entry in entries:
                kind = _kind(entry)
                if kind is None or entry.name == ".git":
                    continue
                if ignore.ignores(entry.path, directory=kind == "directory"):
                    continue
                if kind == "directory":
                    waiting.append((entry.path, ignore))
                else:
                    yield entry.path[prefix:]


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError:
        return []  # not readable for us: nothing to find there, as for ripgrep


def _kind(entry: os.DirEntry[str]) -> str | None:
    try:
        if entry.is_dir(follow_symlinks=False):
            return "directory"
        return "file" if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None  # gone since the folder was read
