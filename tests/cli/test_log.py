"""The log: private, bounded, shared by all processes, without secrets."""

import json
import logging
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from roost.cli.log import (
    FOLDER,
    FORMAT_VARIABLE,
    LEVEL_VARIABLE,
    Format,
    Level,
    LogOptions,
    logging_to,
)
from roost.cli.logs import file as log_file
from roost.cli.logs.file import NAME, LogFile, files_of
from roost.cli.logs.lines import LineFormatter
from roost.cli.secrets import MASK, redact, secrets_in, secrets_of
from roost.config.models import Config
from roost.config.providers import ModelConfig, ProviderConfig
from roost.core.errors import ConfigError, RoostError
from roost.core.log_fields import about, now_about

logger = logging.getLogger("roost.test")
KEY = "canary-000-key"
WRITER = """
import logging, sys
from pathlib import Path
from roost.cli.logs.file import LogFile
file = LogFile(Path(sys.argv[1]), largest=20_000, aside=3)
for number in range(400):
    file.emit(logging.LogRecord("x", 20, "", 1, f"{sys.argv[2]} {number} " + "." * 40, (), None))
"""


def logging_here(
    place: Path,
    secrets: frozenset[str] = frozenset(),
    *,
    level: Level | None = None,
    shape: Format | None = None,
) -> Any:
    return logging_to(place, LogOptions(level=level, format=shape), secrets=secrets)


def logged(data: Path) -> str:
    return "".join(path.read_text() for path in sorted((data / FOLDER).glob("*.log*")))


def records(data: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (data / FOLDER / NAME).read_text().splitlines()]


def written(file: LogFile, *words: str) -> None:
    for one in words:
        file.emit(logging.LogRecord("x", 20, "", 1, one, (), None))


def test_lines_are_on_disk_at_once_and_only_for_this_user(tmp_path: Path) -> None:
    with logging_here(tmp_path) as running:
        logger.info("hello %s", "there")
        (line,) = records(tmp_path)
        assert (line["level"], line["logger"], line["message"]) == (
            *("INFO", "roost.test", "hello there"),
        )
        assert line["pid"] == os.getpid()
        assert stat.S_IMODE(running.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(running.path.parent.stat().st_mode) == 0o700


def test_a_line_says_what_it_is_about(tmp_path: Path) -> None:
    with logging_here(tmp_path):
        with about(session="ses_1", actor="main"):
            now_about(step="msg_1")
            logger.warning("within", extra={"fields": {"tokens": 12, "model": f"a-{KEY}"}})
        logger.info("outside")
    inside, outside = records(tmp_path)
    assert inside["session"] == "ses_1"
    assert (inside["actor"], inside["step"], inside["tokens"]) == ("main", "msg_1", 12)
    assert "session" not in outside


def test_the_log_can_be_words(tmp_path: Path) -> None:
    with logging_here(tmp_path, shape="text"), about(session="ses_1"):
        logger.warning("two\nlines")
    text = logged(tmp_path)
    assert "Z WARN  roost.test: two\n    lines  session=ses_1\n" in text


def test_known_keys_never_reach_the_file(tmp_path: Path) -> None:
    odd = 'odd"key\\with\nall'
    with logging_here(tmp_path, frozenset({KEY, odd})) as running:
        running.hide(frozenset({"second-secret"}))
        logger.info("calling with %s and second-secret", KEY, extra={"fields": {"x": KEY}})
        logger.info("%r %s", odd, json.dumps([odd]))
        logger.error("Authorization: Bearer abcdefgh12345678")
        try:
            raise ValueError(f"bad key {KEY}")
        except ValueError:
            logger.exception("failed")
    text = logged(tmp_path)
    assert KEY not in text
    assert "second-secret" not in text
    assert "abcdefgh12345678" not in text
    assert "with" not in records(tmp_path)[1]["message"]
    assert text.count(MASK) == 7
    assert "Traceback" in text


def test_control_sequences_do_not_reach_the_file(tmp_path: Path) -> None:
    with logging_here(tmp_path):
        logger.info("a\x1b]0;title\x07")
    assert "\x1b" not in logged(tmp_path)
    assert "\\u001b" not in logged(tmp_path)


def test_what_cannot_be_formatted_is_logged_all_the_same(tmp_path: Path) -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    file = LogFile(tmp_path / NAME)
    file.setFormatter(LineFormatter("json"))
    for words, *arguments in (("odd %s", Odd()), ("few %s %s", 1), ("name %s", "a\ud800b")):
        file.emit(logging.LogRecord("x", 20, "", 1, words, tuple(arguments), None))
    file.close()
    lines = (tmp_path / NAME).read_text().splitlines()
    assert [json.loads(one)["message"] for one in lines] == ["odd %s", "few %s %s", "name a\ufffdb"]


def test_what_ends_the_command_is_logged_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyError), logging_here(tmp_path):
        raise KeyError("lost")
    with pytest.raises(RoostError), logging_here(tmp_path):
        raise RoostError("foreseen")
    first, second = records(tmp_path)
    assert "KeyError: 'lost'" in first["error"]
    assert second["message"] == "ended by: foreseen"


def test_an_error_in_a_thread_is_logged(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("nobody awaits this")

    with logging_here(tmp_path):
        thread = threading.Thread(target=fail, name="worker")
        thread.start()
        thread.join()
    (line,) = records(tmp_path)
    assert line["message"] == "the thread worker failed"
    assert "nobody awaits this" in line["error"]


def test_a_file_that_grows_too_large_is_set_aside_a_bounded_number_of_times(
    tmp_path: Path,
) -> None:
    path = tmp_path / NAME
    file = LogFile(path, largest=100, aside=2)
    written(file, *(f"line {number}" for number in range(60)))
    file.close()
    files = sorted(one.name for one in tmp_path.glob(f"{NAME}*"))
    assert files == [NAME, f"{NAME}.1", f"{NAME}.2"]
    assert all(one.stat().st_size <= 100 for one in files_of(path))
    assert "line 59" in path.read_text()


def test_a_line_that_is_larger_than_a_file_is_written_once(tmp_path: Path) -> None:
    file = LogFile(tmp_path / NAME, largest=10)
    written(file, "x" * 50, "y" * 50)
    file.close()
    assert [len(one.read_text()) for one in files_of(tmp_path / NAME)] == [51, 51]


def test_processes_that_write_at_once_lose_no_line_and_keep_the_bound(tmp_path: Path) -> None:
    path = tmp_path / NAME
    command = [sys.executable, "-c", WRITER, str(path)]
    running = [subprocess.Popen([*command, name]) for name in "abc"]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    files = files_of(path)
    lines = [line for one in reversed(files) for line in one.read_text().splitlines()]
    assert sum(one.stat().st_size for one in files) < 4 * 20_000 + 3 * 100
    for name in "abc":
        numbers = [int(line.split()[1]) for line in lines if line[0] == name]
        assert numbers == list(range(numbers[0], 400))
    assert all(line.endswith("." * 40) for line in lines)


def test_a_log_that_somebody_removed_begins_anew(tmp_path: Path) -> None:
    file = LogFile(tmp_path / NAME)
    written(file, "one")
    (tmp_path / NAME).unlink()
    written(file, "two")
    file.close()
    assert (tmp_path / NAME).read_text() == "two\n"


def test_a_full_disk_does_not_stop_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with logging_here(tmp_path):
        monkeypatch.setattr(log_file.os, "write", full)
        logger.error("cannot be stored")
        monkeypatch.undo()
        logger.error("can be stored")
    assert [one["message"] for one in records(tmp_path)] == ["can be stored"]


def test_a_crash_of_the_interpreter_leaves_its_traces(tmp_path: Path) -> None:
    program = (
        "import faulthandler, sys; from pathlib import Path\n"
        "from roost.cli.logs.file import LogFile\n"
        "file = LogFile(Path(sys.argv[1])); faulthandler._sigsegv()"
    )
    ended = subprocess.run([sys.executable, "-c", program, tmp_path / NAME], check=False)
    assert ended.returncode < 0
    assert "Segmentation fault" in (tmp_path / NAME).read_text()


def test_the_command_line_beats_variables_and_these_the_configuration(tmp_path: Path) -> None:
    environ = {LEVEL_VARIABLE: "error", FORMAT_VARIABLE: "Text"}
    assert LogOptions.of({}, environ) == LogOptions(level="ERROR", format="text")
    given = {"log_level": "INFO", "log_format": "json", "print_logs": True}
    assert LogOptions.of(given, environ) == LogOptions(level="INFO", format="json", print_logs=True)
    with pytest.raises(ConfigError, match="ROOST_LOG_LEVEL is 'loud'"):
        LogOptions.of({}, {LEVEL_VARIABLE: "loud"})
    with logging_here(tmp_path, level="ERROR") as running:
        running.use_level("DEBUG")
        logger.info("unseen")
    with logging_here(tmp_path) as running:
        running.use_level("DEBUG")
        logger.debug("seen")
    assert [one["message"] for one in records(tmp_path)] == ["seen"]


def test_secrets_are_found_by_the_names_of_variables_and_in_the_configuration() -> None:
    environ = {"DEMO_API_KEY": KEY, "GH_TOKEN": "t" * 20, "PATH": "/usr/bin", "X_KEY": "short"}
    assert secrets_in(environ) == {KEY, "t" * 20}
    provider = ProviderConfig(
        env=("SPECIAL",),
        options={"apiKey": "k" * 10, "headers": {"x-auth": "h" * 10}},
        models={"m": ModelConfig(headers={"y": "m" * 10})},
    )
    found = secrets_of(Config(provider={"p": provider}), {"SPECIAL": "s" * 10})
    assert found == {"k" * 10, "h" * 10, "m" * 10, "s" * 10}


def test_what_looks_like_a_key_is_masked_too() -> None:
    assert redact("key sk-abcdefghijklmnop1234 here", ()) == f"key {MASK} here"
    assert redact("an ordinary sk-line", ()) == "an ordinary sk-line"
