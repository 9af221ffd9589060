"""What must hold after every scenario (the nine invariants), asserted from outside."""

import re
from pathlib import Path

from household import KEY, Household

from scripted_model.scenario import Text, scenario

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def assert_sound(house: Household, *, ping: bool = True) -> None:
    """Everything that can be checked from outside; `ping` also asks for one more answer."""
    assert house.model.violations == []
    house.wait_until_nothing_lives()
    assert_rows_are_sound(house)
    assert_no_marker_no_secret(house)
    if ping:
        assert_session_still_answers(house)


def assert_rows_are_sound(house: Household) -> None:
    """Invariants 2, 3 and 5: nothing lost, doubled, reordered, left open or damaged.

    What the answer of a tool told stands there, before others that waited meanwhile; what an actor
    says to itself once its result is delivered goes before what others say.
    """
    assert [tuple(row) for row in house.rows("PRAGMA integrity_check")] == [("ok",)]
    assert house.rows("PRAGMA foreign_key_check") == []
    assert house.rows("SELECT actor_id FROM actor WHERE status = 'running' AND owner IS NULL") == []
    delivered = house.rows(
        "SELECT i.receiver_session || '/' || i.receiver_actor AS receiver, m.seq AS at,"
        " m.id AS found, m.role = 'user' AND (i.kind != 'system' OR i.sender_actor IS NULL)"
        " AS queues FROM inbox i"
        " LEFT JOIN message m ON m.id = i.message_id"
        " WHERE i.state = 'delivered' ORDER BY i.receiver_session, i.receiver_actor, i.seq"
    )
    assert all(row["found"] for row in delivered)
    for receiver in {row["receiver"] for row in delivered}:
        order = [row["at"] for row in delivered if row["receiver"] == receiver and row["queues"]]
        assert order == sorted(order)
    assert_notices_are_exact(house)
    prompts = house.rows(
        "SELECT message_id FROM inbox WHERE kind = 'prompt' AND state = 'delivered'"
    )
    assert len({row["message_id"] for row in prompts}) == len(prompts)


def assert_notices_are_exact(house: Household) -> None:
    """Each turn of a child that came out somehow gave its parent one notice of that, no more."""
    ended = house.rows(
        "SELECT t.id FROM turn t JOIN actor a"
        " ON a.session_id = t.session_id AND a.actor_id = t.actor_id"
        " WHERE a.parent_actor_id IS NOT NULL AND t.outcome IS NOT NULL"
    )
    told = house.rows("SELECT key FROM inbox WHERE kind = 'notice' AND key LIKE 'turn:%'")
    assert sorted(row["key"] for row in told) == sorted(f"turn:{row['id']}" for row in ended)


def assert_nothing_open(house: Household) -> None:
    """Invariant 3 for a household in which no process lives any more."""
    assert house.rows("SELECT id FROM message WHERE is_open = 1") == []
    for status in ("pending", "running"):
        found = house.rows(
            "SELECT id FROM part WHERE type = 'tool' AND data LIKE ?",
            f'%"state":{{"status":"{status}"%',
        )
        assert found == []


def assert_no_marker_no_secret(house: Household) -> None:
    """Invariant 6: nothing was written outside, and the key is in no file."""
    assert not list(house.folder.rglob("PWN"))
    for path in house.home.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def assert_session_still_answers(house: Household) -> None:
    """Invariant 1: the stored history passes the strict model, and `ping` gets an answer."""
    house.play(scenario(Text("pong"), scope="server"))
    before = len(house.model.requests)
    answer = house.prompt("ping", "--continue")
    assert house.model.violations == []
    assert (answer.code, answer.text) == (0, "pong"), answer.err
    assert len(house.model.requests) == before + 1
    assert_nothing_open(house)
    assert_rows_are_sound(house)


def assert_plain(text: str) -> None:
    """Invariant 8: no control code but newline and tab."""
    assert _CONTROL.search(text) is None


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by relative name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
