"""The log of a process: private, bounded, without secrets."""

import logging
import os
import stat
import threading
from pathlib import Path

import pytest

from roost.cli import log
from roost.cli.log import FOLDER, KEPT, LogFile, logging_to
from roost.cli.secrets import MASK, redact, secrets_in, secrets_of
from roost.config.models import Config
from roost.config.providers import ModelConfig, ProviderConfig

logger = logging.getLogger("roost.test")
KEY = "canary-000-key"


def logged(data: Path) -> str:
    return "".join(path.read_text() for path in sorted((data / FOLDER).glob("*.log*")))


def test_lines_are_on_disk_at_once_and_only_for_this_user(tmp_path: Path) -> None:
    with logging_to(tmp_path, secrets=frozenset()) as running:
        logger.info("hello %s", "there")
        assert "INFO roost.test: hello there\n" in running.path.read_text()
        assert stat.S_IMODE(running.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(running.path.parent.stat().st_mode) == 0o700


def test_a_log_without_lines_leaves_no_file(tmp_path: Path) -> None:
    with logging_to(tmp_path, secrets=frozenset(), level="ERROR"):
        logger.info("not important")
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_known_keys_never_reach_the_file(tmp_path: Path) -> None:
    with logging_to(tmp_path, secrets=frozenset({KEY})) as running:
        running.hide(frozenset({"second-secret"}))
        logger.info("calling with %s and second-secret", KEY)
        logger.error("Authorization: Bearer abcdefgh12345678")
        try:
            raise ValueError(f"bad key {KEY}")
        except ValueError:
            logger.exception("failed")
    text = logged(tmp_path)
    assert KEY not in text
    assert "second-secret" not in text
    assert "abcdefgh12345678" not in text
    assert text.count(MASK) == 4
    assert "Traceback" in text


def test_control_sequences_do_not_reach_the_file(tmp_path: Path) -> None:
    with logging_to(tmp_path, secrets=frozenset()):
        logger.info("a\x1b]0;title\x07")
    assert "\x1b" not in logged(tmp_path)


def test_what_ends_the_command_is_logged_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(KeyError), logging_to(tmp_path, secrets=frozenset()):
        raise KeyError("lost")
    assert "KeyError: 'lost'" in logged(tmp_path)


def test_an_error_in_a_thread_is_logged(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("nobody awaits this")

    with logging_to(tmp_path, secrets=frozenset()):
        thread = threading.Thread(target=fail, name="worker")
        thread.start()
        thread.join()
    assert "nobody awaits this" in logged(tmp_path)
    assert "the thread worker failed" in logged(tmp_path)


def test_a_file_that_grows_too_large_is_set_aside_once(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "a.log", largest=100)
    for number in range(20):
        file.emit(logging.LogRecord("x", 20, "", 1, "line %d", (number,), None))
    file.close()
    assert (tmp_path / "a.log").stat().st_size <= 100
    assert (tmp_path / "a.log.1").stat().st_size <= 100
    assert "line 19" in (tmp_path / "a.log").read_text()


def test_text_that_is_not_unicode_is_logged_all_the_same(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "a.log")
    file.emit(logging.LogRecord("x", 20, "", 1, "name %s", ("a\ud800b",), None))
    file.close()
    assert (tmp_path / "a.log").read_text() == "name a?b\n"


def test_only_the_latest_logs_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    for number in range(KEPT + 10):
        path = folder / f"{number:03}.log"
        path.write_text("x")
        os.utime(path, (number, number))
    with logging_to(tmp_path, secrets=frozenset()):
        pass
    assert len(list(folder.iterdir())) == KEPT
    assert not (folder / "000.log").exists()


def test_the_log_of_a_process_that_still_runs_stays(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    mine = folder / f"20200101T000000-{os.getpid()}.log"
    for path in (mine, *(folder / f"{number:03}.log" for number in range(KEPT + 5))):
        path.write_text("x")
    os.utime(mine, (1, 1))
    with logging_to(tmp_path, secrets=frozenset()):
        pass
    assert mine.exists()


def test_a_full_disk_does_not_stop_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with logging_to(tmp_path, secrets=frozenset()):
        monkeypatch.setattr(log.os, "write", full)
        logger.error("cannot be stored")
        monkeypatch.undo()


def test_the_level_of_the_command_line_beats_the_configuration(tmp_path: Path) -> None:
    with logging_to(tmp_path, secrets=frozenset(), level="ERROR") as running:
        running.use_level("DEBUG")
        logger.info("unseen")
    with logging_to(tmp_path, secrets=frozenset()) as running:
        running.use_level("DEBUG")
        logger.debug("seen")
    assert "unseen" not in logged(tmp_path)
    assert "seen" in logged(tmp_path)


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
