import json
import os
from pathlib import Path

import pytest
from terminal_user import User

from roost.cli.memory.options import KINDS
from roost.sessions import said

EDITOR = """#!/bin/sh
printf '# Memory\\n\\n## Ports\\n\\n- use 8080 for the 数据库\\n' > "$1"
"""


@pytest.fixture
def editor(tmp_path: Path) -> str:
    script = tmp_path / "editor.sh"
    script.write_text(EDITOR)
    script.chmod(0o700)
    return str(script)


def test_memory_is_edited_listed_shown_and_found(user: User, editor: str) -> None:
    user.environment["VISUAL"] = editor
    assert user.call("memory").err.startswith("Nothing is remembered here yet.")
    assert user.call("memory", "edit").err == "project/MEMORY.md is changed.\n"
    listed = user.call("memory")
    assert listed.out.splitlines()[0].split() == ["FILE", "BYTES", "CHANGED", "SECTIONS"]
    assert "project/MEMORY.md" in listed.out
    assert "Ports" in listed.out
    assert user.call("memory", "show").out.endswith("- use 8080 for the 数据库\n")
    found = user.call("memory", "search", "数据库")
    assert found.code == 0
    assert found.out == "project/MEMORY.md § Ports  now\n  - use 8080 for the «数据库»\n"
    (as_json,) = json.loads(user.call("memory", "search", "--json", "8080").out)
    assert (as_json["heading"], as_json["line"]) == ("Ports", 3)
    assert Path(as_json["path"]).is_file()


def test_what_is_not_found_says_where_else_to_look(user: User) -> None:
    done = user.call("memory", "search", "zebra")
    assert (done.code, done.out) == (1, "")
    assert "--all" in done.err
    done = user.call("history", "search", "zebra")
    assert (done.code, done.out) == (1, "")
    assert "--all" in done.err


def test_an_editor_that_changes_nothing_or_fails_leaves_the_file(user: User) -> None:
    user.environment["VISUAL"] = "true"
    assert user.call("memory", "edit").code == 0
    user.environment["VISUAL"] = "false"
    assert user.call("memory", "edit").code == 1
    assert user.call("memory", "show").code == 2


def test_what_an_actor_writes_while_the_editor_is_open_is_not_lost(
    user: User, tmp_path: Path, editor: str
) -> None:
    user.environment["VISUAL"] = editor
    user.call("memory", "edit")
    (place,) = json.loads(user.call("memory", "--json").out)
    busy = tmp_path / "busy.sh"
    busy.write_text(f'#!/bin/sh\necho "- new." >> "{place["path"]}"\necho mine > "$1"\n')
    busy.chmod(0o700)
    user.environment["VISUAL"] = str(busy)
    done = user.call("memory", "edit")
    assert done.code == 1
    assert "mine" in done.err
    assert Path(place["path"]).read_text().endswith("- new.\n")


def test_without_an_editor_the_path_is_told(user: User) -> None:
    user.environment.pop("VISUAL", None)
    user.environment.pop("EDITOR", None)
    done = user.call("memory", "edit", "global/MEMORY.md")
    assert done.code == 2
    assert f"global{os.sep}MEMORY.md" in done.err


def test_the_help_names_every_kind_of_text() -> None:
    assert KINDS == said.KINDS


def test_history_needs_to_be_told_what_to_do(user: User) -> None:
    done = user.call("history")
    assert done.code == 2
    assert "roost history search" in done.err
