"""The log of one process: a private file of its own in `data/log`, so that no two share a rotation.

Every line is one unbuffered write, so a kill loses none. Known key values never reach it.
"""

import contextlib
import faulthandler
import logging
import os
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, Literal

from roost.cli.secrets import redact
from roost.core.errors import RoostError, StorageError
from roost.core.text import clean, terminal_safe

Level = Literal["DEBUG", "INFO", "WARN", "ERROR"]
FOLDER: Final = "log"
KEPT: Final = 20
"""Log files of earlier processes that stay."""
LARGEST: Final = 5_000_000
"""Bytes after which a file is set aside once; what was set aside before is dropped."""
_NOISY: Final = ("httpx2", "httpcore2", "asyncio", "uvicorn.access")

logger = logging.getLogger("roost")


class _Formatter(logging.Formatter):
    """One line a record, in UTC, safe for a terminal and without secrets."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s")
        self.converter = time.gmtime
        self.default_time_format = "%Y-%m-%dT%H:%M:%S"
        self.datefmt = self.default_time_format
        self.secrets: frozenset[str] = frozenset()

    def format(self, record: logging.LogRecord) -> str:
        return terminal_safe(clean(redact(super().format(record), self.secrets)))


class LogFile(logging.Handler):
    """Writes each record at once; set aside when it has grown too large."""

    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        super().__init__()
        self.path = path
        self._largest = largest
        self._descriptor = _open(path)
        self._size = 0
        faulthandler.enable(self._descriptor)

    def emit(self, record: logging.LogRecord) -> None:
        """Append `record`; on a full disk the line is lost, since there is nowhere to say so."""
        line = (self.format(record) + "\n").encode("utf-8", "replace")
        with contextlib.suppress(OSError):
            if self._size + len(line) > self._largest:
                self._turn_over()
            self._size += os.write(self._descriptor, line)

    def _turn_over(self) -> None:
        self.path.replace(self.path.with_suffix(".log.1"))
        fresh = _open(self.path)
        faulthandler.enable(fresh)
        os.close(self._descriptor)
        self._descriptor = fresh
        self._size = 0

    def close(self) -> None:
        """Close the file, and remove it if nothing was written."""
        if self._descriptor < 0:
            return
        faulthandler.disable()
        empty = os.fstat(self._descriptor).st_size == 0
        os.close(self._descriptor)
        self._descriptor = -1
        if empty:
            self.path.unlink(missing_ok=True)
        super().close()


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


class Log:
    """The running log."""

    def __init__(self, file: LogFile, formatter: _Formatter, *, level_given: bool) -> None:
        self._file = file
        self._formatter = formatter
        self._level_given = level_given

    @property
    def path(self) -> Path:
        """The file of this process."""
        return self._file.path

    def hide(self, secrets: frozenset[str]) -> None:
        """Never write these values."""
        self._formatter.secrets |= secrets

    def use_level(self, level: Level | None) -> None:
        """Log from `level` on, unless the command line chose another."""
        if level is not None and not self._level_given:
            logging.getLogger().setLevel(_number(level))


@contextlib.contextmanager
def logging_to(
    data: Path, *, secrets: frozenset[str], level: Level | None = None, print_logs: bool = False
) -> Generator[Log]:
    """Log below the folder `data` until the block ends; an error that leaves the block is logged.

    Old files are removed. Raises `StorageError` when the folder cannot be written.
    """
    formatter = _Formatter()
    formatter.secrets = secrets
    file = _new_file(data / FOLDER)
    handlers: list[logging.Handler] = [file]
    if print_logs:
        handlers.append(logging.StreamHandler(sys.stderr))
    with _attached(handlers, formatter, _number(level or "INFO")):
        try:
            yield Log(file, formatter, level_given=level is not None)
        except RoostError as error:
            logger.info("ended by: %s", error.message)
            raise
        except Exception:
            logger.exception("the command failed")
            raise


def _new_file(folder: Path) -> LogFile:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(folder)
        return LogFile(folder / f"{stamp}-{os.getpid()}.log")
    except OSError as error:
        raise StorageError(
            f"the log in {folder} cannot be written: {error.strerror}",
            hint="Make the folder writable, or set ROOST_HOME to another one.",
        ) from error


@contextlib.contextmanager
def _attached(
    handlers: list[logging.Handler], formatter: logging.Formatter, level: int
) -> Generator[None]:
    root = logging.getLogger()
    before = root.level
    root.setLevel(level)
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)
    hook = threading.excepthook
    threading.excepthook = _log_thread
    try:
        yield
    finally:
        threading.excepthook = hook
        root.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def _log_thread(failed: Any) -> None:
    """A thread died of an error that nobody awaits."""
    if failed.exc_value is not None:
        name = failed.thread.name if failed.thread else "?"
        logger.error("the thread %s failed", name, exc_info=failed.exc_value)


def _prune(folder: Path) -> None:
    """Keep the logs that were written last, and those of processes that still run."""
    found: list[tuple[float, Path]] = []
    for path in folder.glob("*.log*"):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime, path))
    for _, path in sorted(found, reverse=True)[KEPT:]:
        if not _is_running(path):
            path.unlink(missing_ok=True)


def _is_running(path: Path) -> bool:
    """Whether the process that a log is named for is there."""
    pid = path.name.partition(".")[0].rpartition("-")[2]
    return pid.isdigit() and Path(f"/proc/{pid}").exists()


def _number(level: Level) -> int:
    return logging.WARNING if level == "WARN" else logging.getLevelNamesMapping()[level]
