from typing import Any

import pytest
from stage import Stage, user_message

from roost.core.errors import ConflictError, NotFoundError
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import NewSession


def new(stage: Stage, **more: Any) -> str:
    given = {"directory": "/a", "project_id": "p", **more}
    return stage.do(lambda tx: sessions.create(tx, NewSession(**given)).id)


def titles(stage: Stage, **filters: Any) -> list[str]:
    found = stage.read(lambda db: sessions.listed(db, **filters))
    return [session.title for session in found]


def test_sessions_are_listed_by_last_use_and_by_what_is_asked_for(stage: Stage) -> None:
    first = new(stage, title="Alpha one", directory="/b")
    new(stage, title="Beta", project_id="q")
    new(stage, title="Alpha child", parent_id=first)
    stage.do(lambda tx: sessions.touch(tx, first, 9_999_999_999_999))
    assert titles(stage)[0] == "Alpha one"
    assert titles(stage, directory="/b") == ["Alpha one"]
    assert titles(stage, project_id="q") == ["Beta"]
    assert set(titles(stage, search="ALPHA")) == {"Alpha one", "Alpha child"}
    assert titles(stage, search="alpha", roots=True) == ["Alpha one"]
    assert titles(stage, since=9_999_999_999_999) == ["Alpha one"]
    assert len(titles(stage, limit=2)) == 2


def test_what_a_search_contains_is_no_pattern(stage: Stage) -> None:
    new(stage, title="100% done")
    new(stage, title="1000 done")
    new(stage, title="snake_case")
    assert titles(stage, search="100%") == ["100% done"]
    assert titles(stage, search="e_c") == ["snake_case"]
    assert titles(stage, search="\\") == []


def test_a_search_finds_letters_of_any_script(stage: Stage) -> None:
    new(stage, title="ÜBERSICHT Straße")
    assert titles(stage, search="übersicht") == ["ÜBERSICHT Straße"]
    assert titles(stage, search="Übersicht S") == ["ÜBERSICHT Straße"]


def test_a_title_that_a_person_chose_is_replaced_by_a_person_only(stage: Stage) -> None:
    def rename(title: str, source: str, revision: int | None = None) -> str:
        return stage.do(
            lambda tx: (
                sessions.set_title(
                    tx, stage.session_id, title, source=source, revision=revision
                ).title
            )
        )

    assert stage.read(lambda db: sessions.is_unnamed(db, stage.session_id))
    assert rename("first words", "prompt") == "first words"
    assert rename("a better one", "model") == "a better one"
    assert rename("mine", "user", revision=2) == "mine"
    assert rename("clever", "model") == "mine"
    with pytest.raises(ConflictError, match="renamed meanwhile"):
        rename("late", "user", revision=2)
    assert not stage.read(lambda db: sessions.is_unnamed(db, stage.session_id))


def test_deleting_a_session_takes_all_that_belongs_to_it_and_nothing_else(stage: Stage) -> None:
    parent = new(stage)
    child = new(stage, parent_id=parent)
    grandchild = new(stage, parent_id=child)
    for session_id in (parent, child, grandchild, stage.session_id):
        message = user_message(session_id)
        stage.do(
            lambda tx, m=message: transcript.append_message(tx, m, actor_id="main", turn_id=None)
        )
    stage.events.clear()
    stage.do(lambda tx: sessions.delete(tx, parent))
    assert stage.event_types() == ["session.deleted"] * 3
    left = stage.read(lambda db: db.all("SELECT id FROM session"))
    assert [row["id"] for row in left] == [stage.session_id]
    assert len(stage.read(lambda db: db.all("SELECT 1 FROM message"))) == 1
    with pytest.raises(NotFoundError, match=parent):
        stage.read(lambda db: sessions.get(db, parent))


def test_rules_of_a_session_are_added_and_it_can_be_put_away(stage: Stage) -> None:
    rule = {"permission": "bash", "pattern": "*", "action": "deny"}
    session = stage.do(lambda tx: sessions.set_permission(tx, stage.session_id, [rule]))
    session = stage.do(lambda tx: sessions.set_permission(tx, stage.session_id, [rule]))
    assert session.permission == [rule, rule]
    assert stage.do(lambda tx: sessions.set_archived(tx, session.id, 5)).time.archived == 5
    with pytest.raises(NotFoundError):
        stage.do(lambda tx: sessions.set_archived(tx, "ses_nowhere", 5))


def test_a_session_with_a_known_id_is_not_stored_twice(stage: Stage) -> None:
    session = stage.read(lambda db: sessions.get(db, stage.session_id))
    with pytest.raises(ConflictError, match=session.id):
        stage.do(lambda tx: sessions.insert(tx, session))
