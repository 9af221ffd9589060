"""The completion scripts in the shells that they are for, as far as those are installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from roost.cli.completion.bash import bash_script
from roost.cli.completion.fish import fish_script
from roost.cli.completion.words import commands
from roost.cli.completion.zsh import zsh_script
from roost.cli.grammar import COMMANDS

ASKED = [
    ("roost req", ["requests"]),
    ("roost requests a", ["allow", "answer"]),
    ("roost requests allow --al", ["--always"]),
    ("roost requests deny --b", ["--because"]),
    ("roost requests --format ", ["json", "text"]),
    ("roost agents ", ["list", "show"]),
    ("roost agents show --di", ["--dir"]),
    ("roost sessions --state a", ["asking"]),
    ("roost sessions list --state i", ["interrupted"]),
]


def said_by(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout


@pytest.mark.parametrize(("line", "words"), ASKED)
def test_bash_completes_what_is_new(line: str, words: list[str]) -> None:
    typed = " ".join(f"'{word}'" for word in line.split(" "))
    ask = f"COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _roost"
    script = f'{bash_script(commands())}\n{ask}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    found = said_by("bash", "-c", script).split()
    assert sorted(one for one in found if not one.startswith("-") or "-" in line) == words


@pytest.mark.parametrize(("line", "words"), ASKED)
def test_fish_completes_what_is_new(tmp_path: Path, line: str, words: list[str]) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed here")
    script = tmp_path / "roost.fish"
    script.write_text(fish_script(commands()))
    shown = said_by("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'")
    assert sorted(row.split("\t")[0] for row in shown.splitlines()) == words


def test_zsh_understands_its_script(tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed here")
    script = tmp_path / "_roost"
    script.write_text(zsh_script(commands()))
    assert said_by("zsh", "-f", "-n", str(script)) == ""
    load = f"compdef() {{ : }}; source {script}; print -l ${{(k)functions}}"
    functions = said_by("zsh", "-f", "-c", load)
    for name in ("_roost_requests_allow", "_roost_agents_show"):
        assert name in functions.split()


def test_every_command_is_in_every_script() -> None:
    for make in (bash_script, zsh_script, fish_script):
        script = make(commands())
        assert [one.name for one in COMMANDS if one.name not in script] == []
