"""The grammar: every command is found, wrong words are told with a near match."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roost.cli.dispatch import dispatch
from roost.cli.grammar import COMMANDS, Command, find_command, parse
from roost.core.errors import UsageError

PYTHON = [sys.executable, "-X", "importtime", "-m", "roost.cli"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.name)
def test_every_command_has_help_with_examples(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    name = command.name
    assert dispatch([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"usage: roost {name}" in shown
    assert "examples:" in shown
    assert "--print-logs" in shown


def test_run_help_tells_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    for code in ("0 ", "1 ", "2 ", "3 ", "124 ", "130 "):
        assert f"\n  {code}" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rn"], "Did you mean `run`?"),
        (["sesions"], "Did you mean `sessions`?"),
        (["zzz"], "See `roost --help`."),
        (["--frobnicate"], "there is no option --frobnicate"),
        (["run", "--fromat", "json", "x"], "Did you mean `--format`?"),
        (["run", "--form", "json", "x"], "unrecognized arguments: --form"),
        (["run", "--format", "xml", "x"], "invalid choice: 'xml'"),
        (["run", "--time-limit", "0", "x"], "'0' is not a number above 0"),
        (["run", "--time-limit", "nan", "x"], "'nan' is not a number above 0"),
        (["run", "--max-steps", "-1", "x"], "--max-steps"),
        (["run", "-c", "-s", "ses_1", "x"], "-s/--session and -c/--continue exclude each other"),
        (["serve", "--port", "70000"], "'70000' is not a port"),
        (["sessions", "lst"], "`roost sessions` has no action lst"),
        (["sessions", "lst"], "Did you mean `list`?"),
        (["sessions", "delete"], "required: ID"),
        (["completion", "tcsh"], "invalid choice"),
    ],
)
def test_wrong_usage_is_told_in_two_lines_and_ends_with_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert said in shown.err
    assert "Traceback" not in shown.err


def parsed(name: str, *words: str) -> dict[str, Any]:
    command = find_command(name)
    assert command is not None
    return parse(command, list(words))


def test_options_may_stand_between_the_words_of_a_prompt() -> None:
    given = parsed("run", "fix", "--yes", "the", "tests", "-f", "a", "-f", "b")
    assert given["message"] == ["fix", "the", "tests"]
    assert given["yes"]
    assert given["files"] == ["a", "b"]


def test_after_two_dashes_everything_belongs_to_the_prompt() -> None:
    given = parsed("run", "first", "--yes", "--", "--fix it", "-x", "--")
    assert given["message"] == ["first", "--fix it", "-x", "--"]
    assert given["yes"]


def test_log_options_may_stand_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["--print-logs", "--log-level", "DEBUG", "completion", "bash"]) == 0
    assert "complete -F" in capsys.readouterr().out


def test_a_level_given_before_the_action_is_kept() -> None:
    given = parsed("sessions", "--log-level", "DEBUG", "list")
    assert given["log_level"] == "DEBUG"
    assert given["action"] == "list"


def test_a_bare_roost_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch([]) == 0
    shown = capsys.readouterr().out
    assert "roost run" in shown
    assert "roost serve" in shown


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_lists_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(words) == 0
    shown = capsys.readouterr().out
    assert all(command.name in shown for command in COMMANDS)


def test_help_of_a_command_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["help", "session"]) == 0
    assert "usage: roost sessions" in capsys.readouterr().out


def test_an_error_of_ours_shows_its_traceback_only_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_DEBUG", "1")
    assert dispatch(["nothing"]) == UsageError.exit_code
    assert "Traceback" in capsys.readouterr().err


def _imported(words: list[str], tmp_path: Path) -> set[str]:
    done = subprocess.run(
        [*PYTHON, *words],
        capture_output=True,
        text=True,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "ROOST_HOME": str(tmp_path / "home"),
            "ROOST_CONFIG_CONTENT": '{"disabled_providers": ["local"]}',
        },
        timeout=60,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_the_version_is_answered_before_anything_is_imported(tmp_path: Path) -> None:
    imported = _imported(["--version"], tmp_path)
    assert not imported & {"argparse", "msgspec", "asyncio", "logging", "roost.cli.dispatch"}


def test_a_run_imports_no_server(tmp_path: Path) -> None:
    imported = _imported(["run", "--dir", str(tmp_path), "hello"], tmp_path)
    assert "roost.runtime.runtime" in imported
    assert not imported & {"starlette", "uvicorn", "roost.server.serve", "roost.cli.serve"}
