"""Checks of the user's folders: who can read them, room on the disk, locks, the journal."""

import fcntl
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import Final

from roost.cli.doctor.findings import Finding, fail, ok, warn
from roost.config.paths import Paths
from roost.core.errors import ConfigError, StorageError, plain_words
from roost.db.opening import open_file

NEEDED: Final = 100_000_000
"""Bytes without which a day's work may not fit."""
COMFORTABLE: Final = 1_000_000_000
_WHAT_IS_LARGE: Final = "Free some space. What is large: du -xh ~ 2>/dev/null | sort -h | tail -20"
_ELSEWHERE: Final = "export ROOST_HOME=/path/of/a/folder/on/a/local/disk"


def check_folders(paths: Paths) -> Iterator[Finding]:
    """The four folders and the disk below them. Creates what is missing."""
    yield _modes(paths)
    try:
        paths.prepare()
    except ConfigError as error:
        yield fail("folders", error.message, error.hint)
        return
    yield _room(paths.data)
    yield _locks(paths.state)
    yield _journal(paths.data)


def _modes(paths: Paths) -> Finding:
    """As they are before anything mends them."""
    files = [paths.database, paths.trust_file]
    found = [path for path in (*paths.all, *files) if path.exists()]
    if not found:
        return ok("folders", f"{paths.data} and others will be made when first needed")
    for path in found:
        about = path.stat()
        if about.st_uid != os.getuid():
            mend = f"sudo chown -R {os.getuid()} {quote(str(path))}"
            return fail("folders", f"{path} belongs to another user", mend)
        if stat.S_IMODE(about.st_mode) & 0o077:
            return warn(
                "folders",
                f"others can read {path} (mode {stat.S_IMODE(about.st_mode):o})",
                f"chmod go= {quote(str(path))}",
            )
    return ok("folders", f"{paths.data} and the others are yours alone")


def _room(folder: Path) -> Finding:
    usage = shutil.disk_usage(folder)
    shown = f"{usage.free / 1_000_000_000:.1f} GB free at {folder}"
    if usage.free < NEEDED:
        return fail("disk", f"{shown}: too little to store sessions", _WHAT_IS_LARGE)
    if usage.free < COMFORTABLE:
        return warn("disk", f"{shown}: it may run full", _WHAT_IS_LARGE)
    return ok("disk", shown)


def _locks(folder: Path) -> Finding:
    """Whether two processes can exclude each other: the proof of life of each hangs on it."""
    with (
        tempfile.NamedTemporaryFile(dir=folder, prefix="doctor-") as first,
        Path(first.name).open("rb") as second,
    ):
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return ok("locks", "file locks work")
        except OSError as error:
            detail = f"{folder}: file locks fail: {error.strerror}"
            return fail("locks", detail, _ELSEWHERE)
    detail = f"{folder}: its file system grants the same lock twice"
    return fail("locks", detail, _ELSEWHERE)


def _journal(folder: Path) -> Finding:
    """Whether a write-ahead log works on this file system, tried on a database of its own."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="doctor-") as place:
        try:
            with closing(open_file(Path(place) / "try.db").connection) as connection:
                mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        except (StorageError, sqlite3.Error) as error:
            return fail("journal", plain_words(error), _ELSEWHERE)
    if mode != "wal":
        detail = f"{mode} instead of a write-ahead log: this file system makes Roost slower"
        return warn("journal", detail, _ELSEWHERE)
    return ok("journal", "write-ahead log")
