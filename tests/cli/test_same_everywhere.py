"""What is called the same in every command, and ends them with the same code."""

import json
from typing import Any

import pytest
from terminal_user import User

from roost.cli.completion.words import Node, commands
from scripted_model.scenario import scenario

LISTS = (
    ("sessions",),
    ("sessions", "list"),
    ("sessions", "show"),
    ("actors",),
    ("actors", "list", "--all"),
    ("inbox",),
    ("inbox", "list"),
    ("requests",),
    ("requests", "list"),
    ("agents",),
    ("agents", "show", "build"),
    ("teams",),
    ("teams", "ls"),
    ("models", "test"),
    ("config",),
    ("config", "path"),
    ("doctor",),
)


@pytest.fixture
def session(user: User) -> str:
    """A session of the folder, whose actor sleeps."""
    user.model.use(scenario(default="pong"))
    return str(user.run("run", "--format", "json", "--title", "A game", "ping").result["session"])


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_every_list_can_be_json(user: User, session: str, words: tuple[str, ...]) -> None:
    del session
    first = user.call(*words, "--format", "json")
    assert first.code == 0, first.err
    assert isinstance(json.loads(first.out), list | dict)
    assert type(json.loads(user.call(*words, "--json").out)) is type(json.loads(first.out))
    text = user.call(*words, "--format", "text")
    assert text.code == 0
    assert text.out != first.out


def test_the_older_names_of_formats_are_taken(user: User, session: str) -> None:
    assert session in user.call("sessions", "list", "--format", "table").out
    assert json.loads(user.call("models", "test", "--verbose").out)[0]["id"] == "test/scripted"


def test_a_session_is_named_by_position_or_by_option(user: User, session: str) -> None:
    for words in (("sessions", "show"), ("sessions", "export"), ("inbox", "list")):
        plain = user.call(*words, session)
        assert plain.code == 0, plain.err
        assert user.call(*words, "-s", session).out == plain.out
        assert user.call(*words, f"--session={session[:14]}").out == plain.out
        assert user.call(*words, f"-s{session[:14]}").out == plain.out
        twice = user.call(*words, session, "-s", session)
        assert twice.code == 2
    assert session in user.call("actors", "--all", "-s", session).out
    for given in (("-s", session, "one"), ("two", "-s", session), (session, "three")):
        sent = user.call("inbox", "send", *given, "--json")
        assert json.loads(sent.out)["sessionID"] == session, sent.err
    between = user.call("inbox", "send", session, "--actor", "main", "four")
    assert between.code == 0, between.err
    said = [one["body"]["parts"][0]["text"] for one in mail(user, "--state", "queued")]
    assert said == ["one", "two", "three", "four"]
    assert user.call("sessions", "delete", "-s", session, "--yes").code == 0


def mail(user: User, *words: str) -> list[dict[str, Any]]:
    return json.loads(user.call("inbox", *words, "--json").out)


@pytest.mark.parametrize(
    "words",
    [
        ("sessions", "show", "ses_nothing"),
        ("sessions", "show", "--actor", "nobody"),
        ("sessions", "export", "ses_nothing"),
        ("sessions", "delete", "ses_nothing", "--yes"),
        ("run", "-s", "ses_nothing", "hello"),
        ("actors", "-s", "ses_nothing"),
        ("actors", "cancel", "nobody"),
        ("actors", "cancel", "ses_nothing/main"),
        ("actors", "cancel", "nobody", "-s", "{session}"),
        ("inbox", "list", "ses_nothing"),
        ("inbox", "list", "--actor", "nobody"),
        ("inbox", "send", "ses_nothing", "hello"),
        ("inbox", "send", "{session}", "hello", "--actor", "nobody"),
        ("inbox", "withdraw", "inb_nothing"),
        ("requests", "-s", "ses_nothing"),
        ("requests", "show", "per_nothing"),
        ("requests", "allow", "per_nothing"),
        ("agents", "show", "nobody"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_ends_with_2_and_says_what_to_do(
    user: User, session: str, words: tuple[str, ...]
) -> None:
    done = user.call(*(word.format(session=session) for word in words))
    assert done.code == 2, done.err
    assert done.out == ""
    message, *hint = done.err.splitlines()
    assert message.startswith("error: ")
    assert hint, "and what to do about it"


def test_a_list_takes_its_options_with_and_without_its_action(user: User, session: str) -> None:
    for words in (("--all",), ("list", "--all"), ("--all", "list"), ("ls", "--all")):
        assert session in user.call("sessions", *words).out


def nodes(known: tuple[Node, ...], before: str = "") -> list[tuple[str, Node]]:
    """Every command and action by its words."""
    found: list[tuple[str, Node]] = []
    for node in known:
        name = f"{before} {node.names[0]}".strip()
        found += [(name, node), *nodes(node.actions, name)]
    return found


@pytest.mark.parametrize(("name", "node"), nodes(commands()), ids=lambda one: str(one)[:40])
def test_every_option_is_explained(name: str, node: Node, user: User) -> None:
    shown = user.call(*name.split(), "--help").out
    assert shown.startswith(f"usage: roost {name}")
    assert node.summary
    for option in node.options:
        assert option.help, option.names
        assert all(each in shown for each in option.names)
