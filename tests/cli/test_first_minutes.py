"""What somebody meets who tries things for the first time."""

import json
import subprocess
import sys

import pytest
from terminal_user import User

from roost.cli.terminal import Look
from roost.cli.undo.words import listed, shown
from roost.sessions.undo_store import Prompt

_WITHOUT_RUNTIME = """
import sys
from roost.cli.dispatch import dispatch
code = dispatch(sys.argv[1:])
sys.exit(99 if "roost.runtime.runtime" in sys.modules else code)
"""


@pytest.mark.parametrize(
    "words",
    [["goal"], ["sessions", "show"], ["trace"], ["inbox"], ["undo", "--list"], ["btw", "why"]],
)
def test_a_folder_without_sessions_says_how_to_begin_one(user: User, words: list[str]) -> None:
    done = user.run(*words)
    assert done.code == 2
    assert 'Begin one: roost run "..."' in done.err


def test_a_goal_is_shown_and_given_without_what_runs_turns(user: User) -> None:
    assert user.run("run", "hello").code == 0
    for words in (["goal", "set", "all is green"], ["goal"], ["goal", "clear"]):
        command = [sys.executable, "-c", _WITHOUT_RUNTIME, *words]
        done = subprocess.run(
            command, cwd=user.folder, env=user.environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done


def test_the_clients_for_goals_do_not_load_what_runs_turns() -> None:
    look = "import roost.client.client, sys; sys.exit('roost.runtime.runtime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


def test_a_prompt_without_words_is_named_in_lists_of_prompts() -> None:
    assert shown(" \n") == "a prompt without words of yours"
    assert shown("fix\n it") == "“fix it”"


def test_the_configuration_is_shown_by_name_too(user: User) -> None:
    shown_config = user.run("config", "show", "--json")
    assert shown_config.code == 0
    assert shown_config.out == user.run("config", "--json").out
    assert user.run("config", "show").out == user.run("config").out


def test_what_can_be_done_without_a_model_fits_a_screen(user: User) -> None:
    user.environment.pop("ROOST_CONFIG_CONTENT")
    user.environment.pop("DEMO_API_KEY")
    done = user.run("run", "hello")
    assert done.code == 2
    assert "there is no model to talk to" in done.err
    assert max(map(len, done.err.splitlines())) <= 80, done.err


def test_what_roost_says_of_itself_is_listed_as_its_own(user: User) -> None:
    (user.folder / "rules.md").write_text("# Rules\n\nUse tabs.\n")
    user.environment["EDITOR"] = f"cp {user.folder / 'rules.md'}"
    assert user.run("memory", "edit").code == 0
    assert user.run("run", "hello").code == 0
    rows = json.loads(user.run("inbox", "list", "--json").out)
    assert [row["kind"] for row in rows] == ["prompt", "system"]
    listed = user.run("inbox", "list").out.splitlines()[1:]
    assert "  you  " in listed[0]
    assert "  roost  " in listed[1]
    assert "reminder of" not in user.run("trace").out


def test_a_passage_that_was_found_has_a_short_line_about_it(user: User) -> None:
    words = "please look why the " + "very " * 20 + "slow query takes so long"
    assert user.run("run", words).code == 0
    found = user.run("history", "search", "slow query").out.splitlines()
    assert "ses_" in found[0]
    assert len(found[0]) <= 80


def test_a_list_of_prompts_fits_a_narrow_screen() -> None:
    prompts = [Prompt("msg_22e4363e2000NFcPXReW9J8r47", at, "why is it so " * 9) for at in (1, 2)]
    lines = listed(prompts, 2, Look(), 80)
    assert [len(line) for line in lines] == [80, 80]
    assert [line.endswith("taken back") for line in lines] == [True, False]
    assert len(listed(prompts, None, Look(), None)[0]) == len(prompts[0].message_id) + 4 + 60


@pytest.mark.parametrize("editor", ["no-such-editor", "/", "vi 'unclosed"])
def test_an_editor_that_cannot_be_started_is_named(user: User, editor: str) -> None:
    user.environment["EDITOR"] = editor
    user.environment.pop("VISUAL", None)
    done = user.run("memory", "edit")
    assert done.code == 2
    assert f"the editor {editor} cannot be started" in done.err
    assert "Set VISUAL or EDITOR" in done.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["run", "-f", "nope.png", "look"], "Paths start from"),
        (["run", "--schema", "nope.json", "look"], "--schema takes a file"),
        (["run", "--schema", "half.json", "look"], "It has to hold a JSON Schema"),
        (["sessions", "import", "nope.json"], "`roost sessions export` wrote"),
        (["serve", "--unix", "no/such/folder"], "Give a path in a folder that exists"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_to_give(
    user: User, words: list[str], hint: str
) -> None:
    (user.folder / "half.json").write_text("{")
    done = user.run(*words)
    assert done.code == 2
    assert hint in done.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model": ', ":1: is not JSON: Unclosed object\n"),
        ('{"model" "x"}', ":1: is not JSON: Expected colon, found '\"'\n"),
    ],
)
def test_settings_that_are_no_json_say_so_in_words(user: User, text: str, said: str) -> None:
    user.environment["ROOST_CONFIG_CONTENT"] = text
    done = user.run("config")
    assert done.code == 2
    assert said in done.err
