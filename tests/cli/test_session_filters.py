"""Finding sessions in the list: by words, time, state, and with those below others."""

import json
import sqlite3
from datetime import datetime

import pytest
from terminal_user import User

from roost.cli.since import moment
from roost.core.errors import UsageError
from scripted_model.scenario import scenario

NOW = 1_800_000_000_000
HOUR = 3_600_000


def made(user: User, title: str, *words: str) -> str:
    user.model.use(scenario(default="pong"))
    done = user.run("run", "--format", "json", "--title", title, *words, "ping")
    return str(done.result["session"])


def found(user: User, *words: str) -> list[str]:
    done = user.call("sessions", *words, "--json")
    assert done.code == 0, done.err
    return [one["id"] for one in json.loads(done.out)]


def changed(user: User, session: str, **columns: object) -> None:
    """Let the session have been made otherwise."""
    (path,) = user.home.rglob("roost.db")
    with sqlite3.connect(path) as connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE session SET {name} = ? WHERE id = ?", (value, session))
    connection.close()


def test_sessions_are_found_by_words_of_their_title(user: User) -> None:
    parser, other = made(user, "Mend the Parser, 100%"), made(user, "Something else")
    assert found(user, "--search", "parser") == [parser]
    assert found(user, "--search", "100%") == [parser]
    assert found(user, "--search", "%") == [parser]
    assert found(user) == [other, parser]
    none = user.call("sessions", "--search", "no such words")
    assert (none.code, none.out) == (0, "")
    assert none.err.startswith("There are no such sessions of this project; --all lists")


def test_sessions_are_found_by_when_they_were_used(user: User) -> None:
    old, new = made(user, "Old"), made(user, "New")
    changed(user, old, updated=1_600_000_000_000)
    assert found(user, "--since", "2h") == [new]
    assert found(user, "--since", "2020-01-01") == [new, old]
    wrong = user.call("sessions", "--since", "yesterday")
    assert wrong.code == 2
    assert "'yesterday' is no moment" in wrong.err


def test_sessions_are_found_by_what_they_are_doing(user: User) -> None:
    idle, waiting = made(user, "Idle"), made(user, "Waiting")
    elsewhere = user.folder.parent / "elsewhere"
    elsewhere.mkdir()
    other = made(user, "Other", "--dir", str(elsewhere))
    for session in (waiting, other):
        assert user.call("inbox", "send", session, "later").code == 0
    assert found(user, "--state", "waiting") == [waiting]
    assert set(found(user, "--state", "waiting", "--all")) == {waiting, other}
    assert found(user, "--state", "waiting", "--search", "idle") == []
    assert found(user, "--state", "running") == []
    assert idle in found(user)


def test_sessions_below_others_are_listed_on_demand(user: User) -> None:
    above, below = made(user, "Above"), made(user, "Below")
    changed(user, below, parent_id=above)
    assert found(user) == [above]
    assert set(found(user, "--children")) == {above, below}


def test_one_that_was_put_aside_is_shown_as_that(user: User) -> None:
    changed(user, made(user, "Done"), archived=NOW)
    assert "archived" in user.call("sessions").out


def test_a_list_that_was_narrowed_and_cut_tells_how_many_there_are(user: User) -> None:
    for title in ("Part one", "Part two", "Other"):
        made(user, title)
    cut = user.call("sessions", "--search", "part", "-n", "1")
    assert cut.err == "1 session of 2; -n 2 shows all\n"


@pytest.mark.parametrize(
    ("words", "ago"),
    [("30min", HOUR // 2), ("2h", 2 * HOUR), ("3 d", 72 * HOUR), ("1w", 168 * HOUR)],
)
def test_a_moment_counts_back_from_now(words: str, ago: int) -> None:
    assert moment(words, NOW) == NOW - ago


def test_a_day_begins_where_the_user_is() -> None:
    assert moment("2026-01-31", NOW) == int(datetime(2026, 1, 31).astimezone().timestamp() * 1000)
    assert moment("2026-01-31T12:30+00:00", NOW) == 1_769_862_600_000


@pytest.mark.parametrize("words", ["", "h", "-1h", "2 fortnights", "31.1.2026", "9999999h"])
def test_what_is_no_moment_is_refused_with_examples(words: str) -> None:
    with pytest.raises(UsageError) as caught:
        moment(words, NOW)
    assert "2h" in caught.value.hint
