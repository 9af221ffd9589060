"""How requests begin is read once for a session and a profile, and then stays."""

from pathlib import Path
from typing import Any

import msgspec
from stage import Stage

from roost.context.agents import Agent
from roost.context.prefix import Wanted, hash_of, holding, in_order, made_of, profile_of
from roost.context.prefix_store import find, put
from roost.llm.models import Model, ToolSpec

MODEL = Model("scripted", "one", "openai-chat", "http://127.0.0.1")
READ = ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
BASH = ToolSpec("bash", "Runs.", {"type": "object", "properties": {}})


def wanted(**changes: Any) -> Wanted:
    given: dict[str, Any] = {
        "agent": Agent(name="build"),
        "model": MODEL,
        "extra": None,
        "tools": (READ, BASH),
    }
    return Wanted(**(given | changes))


def changed(spec: ToolSpec, **changes: Any) -> ToolSpec:
    return msgspec.structs.replace(spec, **changes)


def test_a_profile_is_everything_that_was_chosen_and_nothing_that_is_read() -> None:
    others = [
        wanted(model=msgspec.structs.replace(MODEL, id="two")),
        wanted(agent=Agent(name="general", remark="general")),
        wanted(agent=Agent(name="build", prompt="Be brief.")),
        wanted(extra="Speak French."),
        wanted(tools=(READ,)),
    ]
    profiles = [profile_of(one) for one in (wanted(), *others)]
    assert len(set(profiles)) == len(profiles)
    assert profile_of(wanted(tools=(BASH, READ))) == profiles[0]
    assert profile_of(wanted(tools=(changed(READ, description="x"), BASH))) == profiles[0]
    assert profile_of(wanted(agent=Agent(name="build", temperature=0.5))) == profiles[0]
    assert profile_of(wanted(agent=Agent(name="plan", plans=True))) == profiles[0]


def test_sets_of_tools_differ_by_name_words_and_schema_and_not_by_order() -> None:
    same = hash_of((READ, BASH))
    assert hash_of((BASH, READ)) == same
    assert hash_of((changed(READ, schema={"properties": {}, "type": "object"}), BASH)) != same
    assert hash_of((changed(READ, description="Reads a file."), BASH)) != same
    assert hash_of((READ,)) != same


def test_a_prefix_holds_until_its_tools_change() -> None:
    first = made_of(wanted(), ("You help.", "Instructions."))
    assert holding(None, first) == first
    edited = made_of(wanted(), ("You help.", "Other instructions."))
    assert holding(first, edited) is first
    more = made_of(wanted(tools=(changed(READ, description="x"), BASH)), ("You help.", "Other."))
    rotated = holding(first, more)
    assert (rotated.revision, rotated.system) == (2, ("You help.", "Other."))


def test_tools_keep_the_order_in_which_they_were_pinned() -> None:
    prefix = made_of(wanted(tools=(READ, BASH)), ())
    assert list(in_order(prefix, {"bash": 1, "read": 2})) == ["read", "bash"]


def test_what_is_pinned_survives_and_ends_with_its_session(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "roost.db")
    stage.furnish()
    prefix = made_of(wanted(), ("You help.", "项目说明\n“quoted”"))
    stage.do(lambda tx: put(tx, stage.session_id, prefix))
    stage.close()
    again = Stage(tmp_path / "roost.db")
    assert again.read(lambda db: find(db, again.session_id, prefix.profile)) == prefix
    assert again.read(lambda db: find(db, again.session_id, "another")) is None
    rotated = msgspec.structs.replace(prefix, revision=2, tools_hash="x")
    again.do(lambda tx: put(tx, again.session_id, rotated))
    assert again.read(lambda db: find(db, again.session_id, prefix.profile)) == rotated
    again.connection.execute("UPDATE prefix_snapshot SET system = 'damaged'")
    assert again.read(lambda db: find(db, again.session_id, prefix.profile)) is None
    again.do(lambda tx: tx.run("DELETE FROM session WHERE id = ?", (again.session_id,)))
    assert again.connection.execute("SELECT count(*) FROM prefix_snapshot").fetchone()[0] == 0
    again.close()
