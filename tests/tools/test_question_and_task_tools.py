from pathlib import Path

import pytest
from tool_world import ToolWorld, in_world

from roost.core.errors import ConflictError, DeniedError, NotFoundError
from roost.tools.arguments import ArgumentsError
from roost.tools.contract import Option, ToolError


def test_questions_reach_the_person_and_answers_come_back(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.answers = (("Postgres",), ("a", "b"), ())
        questions = [
            {
                "question": "Which database?",
                "header": "A header that is far too long to be shown",
                "options": [{"label": "Postgres", "description": "Big"}, {"label": "SQLite"}],
            },
            {"question": "Which?", "header": "Which", "multiple": True, "custom": False},
            {"question": "Why?"},
        ]
        answer = await world.call("question", questions=questions)
        first, second, third = world.questions
        assert len(first.header) == 30
        assert first.options[1] == Option("SQLite")
        assert first.custom
        assert not first.multiple
        assert second.multiple
        assert second.custom, "without options only free text can answer"
        assert third.header == "Why?"
        assert answer.title == "Asked 3 questions"
        assert answer.metadata == {"answers": [["Postgres"], ["a", "b"], []]}
        assert "Which database?\n→ Postgres" in answer.output
        assert "Why?\n→ (no answer)" in answer.output

    in_world(tmp_path, test)


def test_a_question_that_nobody_answers_is_an_error(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with pytest.raises(DeniedError, match="Nobody"):
            await world.call("question", questions=[{"question": "Why?", "header": "Why"}])
        with pytest.raises(ArgumentsError, match="questions"):
            await world.call("question", questions=[])

    in_world(tmp_path, test)


def test_tasks_are_created_moved_and_listed(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        first = await world.call("task", action="create", summary="Build the  house")
        assert first.output == "Created T1 [open] Build the house"
        assert first.metadata["task"]["owner"] == "main"
        part = await world.call("task", action="create", summary="Dig", parentID="T1")
        assert part.output == "Created T1.1 [open] Dig"
        await world.call("task", action="start", id="T1.1")
        with pytest.raises(ConflictError, match=r"open parts: T1\.1"):
            await world.call("task", action="done", id="T1")
        done = await world.call("task", action="done", id="T1.1")
        assert done.output == "  T1.1 [done] Dig\n1 not finished; next: T1 [open] Build the house"
        await world.call("task", action="block", id="T1", reason="rain")
        listed = await world.call("task", action="list")
        assert listed.output == "T1 [blocked] Build the house (rain)\n(1 more in other states)"
        everything = await world.call("task", action="list", status="all")
        assert everything.metadata == {"count": 2}
        only = await world.call("task", action="list", status="done")
        assert only.output == "  T1.1 [done] Dig\n(1 more in other states)"
        renamed = await world.call("task", action="rename", id="T1", summary="Build it")
        assert renamed.output == "T1 [blocked] Build it (rain)"
        shown = await world.call("task", action="get", id="T1")
        assert shown.output == "T1 [blocked] Build it (rain)\n  T1.1 [done] Dig"
        assert world.requests == []

    in_world(tmp_path, test)


def test_a_task_call_that_lacks_something_says_what(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with pytest.raises(ToolError, match="create needs summary"):
            await world.call("task", action="create")
        with pytest.raises(ToolError, match="start needs id"):
            await world.call("task", action="start")
        with pytest.raises(NotFoundError, match="none yet"):
            await world.call("task", action="get", id="T9")
        with pytest.raises(ArgumentsError, match="action"):
            await world.call("task", action="explode")

    in_world(tmp_path, test)


def test_changes_of_tasks_are_told_to_clients(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with world.bus.subscribe(lambda event: event.type == "todo.updated") as news:
            await world.call("task", action="create", summary="Dig")
            (event,) = await news.batch()
        assert [todo.content for todo in event.properties["todos"]] == ["T1 Dig"]

    in_world(tmp_path, test)
