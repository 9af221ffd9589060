"""The log of a command: where it goes, from which level on, and what must never stand in it."""

import contextlib
import logging
import sys
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from roost.cli.logs.file import NAME, LogFile
from roost.cli.logs.lines import Format, LineFormatter
from roost.core.errors import ConfigError, RoostError, StorageError

Level = Literal["DEBUG", "INFO", "WARN", "ERROR"]
FOLDER: Final = "log"
LEVEL_VARIABLE: Final = "ROOST_LOG_LEVEL"
FORMAT_VARIABLE: Final = "ROOST_LOG_FORMAT"
_NOISY: Final = ("httpx2", "httpcore2", "asyncio", "uvicorn.access")

logger = logging.getLogger("roost")


class LogOptions(Struct, frozen=True, kw_only=True):
    """How a command is to log, as its words and its environment say."""

    level: Level | None = None
    """None: as the configuration says."""
    format: Format | None = None
    """None: JSON in the file, words on stderr."""
    print_logs: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any], environ: Mapping[str, str]) -> "LogOptions":
        """The options in the arguments of a command; what they leave open, variables decide.

        Raises `ConfigError` for a variable that says something else than it may.
        """
        level = given.get("log_level") or _said(environ, LEVEL_VARIABLE, get_args(Level))
        shape = given.get("log_format") or _said(environ, FORMAT_VARIABLE, get_args(Format))
        return cls(level=level, format=shape, print_logs=bool(given.get("print_logs")))


def _said(environ: Mapping[str, str], name: str, known: tuple[str, ...]) -> Any:
    """Which of `known` a variable names, in letters of any case; None if it is not set."""
    value = environ.get(name, "").strip()
    if not value:
        return None
    found = next((one for one in known if one.lower() == value.lower()), None)
    if found is None:
        raise ConfigError(f"{name} is {value!r}", hint=f"Use one of: {', '.join(known)}.")
    return found


class Log:
    """The running log."""

    def __init__(self, path: Path, formatters: list[LineFormatter], *, level_given: bool) -> None:
        self.path = path
        self._formatters = formatters
        self._level_given = level_given

    def hide(self, secrets: frozenset[str]) -> None:
        """Never write these values."""
        for formatter in self._formatters:
            formatter.hide(secrets)

    def use_level(self, level: Level | None) -> None:
        """Log from `level` on, unless the command line or the environment chose another."""
        if level is not None and not self._level_given:
            logging.getLogger().setLevel(_number(level))


@contextlib.contextmanager
def logging_to(data: Path, options: LogOptions, *, secrets: frozenset[str]) -> Generator[Log]:
    """Log below the folder `data` until the block ends; an error that leaves the block is logged.

    Raises `StorageError` when the folder cannot be written.
    """
    handlers: list[logging.Handler] = [_file(data / FOLDER)]
    formatters = [LineFormatter(options.format or "json")]
    if options.print_logs:
        handlers.append(logging.StreamHandler(sys.stderr))
        formatters.append(LineFormatter(options.format or "text"))
    log = Log(data / FOLDER / NAME, formatters, level_given=options.level is not None)
    log.hide(secrets)
    with _attached(handlers, formatters, _number(options.level or "INFO")):
        try:
            yield log
        except RoostError as error:
            logger.info("ended by: %s", error.message)
            raise
        except Exception:
            logger.exception("the command failed")
            raise


def _file(folder: Path) -> LogFile:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return LogFile(folder / NAME)
    except OSError as error:
        raise StorageError(
            f"the log in {folder} cannot be written: {error.strerror}",
            hint="Make the folder writable, or set ROOST_HOME to another one.",
        ) from error


@contextlib.contextmanager
def _attached(
    handlers: list[logging.Handler], formatters: list[LineFormatter], level: int
) -> Generator[None]:
    root = logging.getLogger()
    before = root.level
    root.setLevel(level)
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    for handler, formatter in zip(handlers, formatters, strict=True):
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


def _number(level: Level) -> int:
    return logging.WARNING if level == "WARN" else logging.getLevelNamesMapping()[level]
