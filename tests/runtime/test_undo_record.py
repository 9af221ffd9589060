"""What a step notes of its changes, whatever becomes of them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from runtime_stage import Desk, desk

from roost.sessions import file_changes
from roost.sessions.parts import PatchPart, StepFinishPart, StepStartPart, ToolFailed, ToolPart
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply


def worker(request: Request) -> Reply:
    asked = request.last_user_text.splitlines()[-1]
    if request.results:
        return reply([Text("done")])
    if asked.startswith("$ "):
        return reply([Call("bash", {"command": asked[2:]})])
    return reply(
        [
            Call("read", {"filePath": "a.txt"}),
            Call("edit", {"filePath": "a.txt", "oldString": "one", "newString": "1"}),
        ]
    )


def in_desk(folder: Path, check: Callable[[Desk], Awaitable[None]], **more: Any) -> None:
    async def go() -> None:
        async with desk(folder, worker, **more) as place:
            (place.project / "a.txt").write_text("one\ntwo\n")
            await check(place)

    asyncio.run(go())


async def parts(place: Desk, session_id: str, kind: type) -> list[Any]:
    messages = await place.messages(session_id)
    return [part for message in messages for part in message.parts if isinstance(part, kind)]


async def until(check: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(20):
        while not (found := await check()):
            await asyncio.sleep(0.02)
        return found


def test_an_edit_that_could_not_be_made_leaves_no_trace_of_a_change(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        runtime, session = place.runtime, await place.session()
        prompt = await place.prompt(session.id, "edit")
        (ask,) = await until(runtime.asks)
        (place.project / "a.txt").write_text("one\nmine\n")
        with runtime.bus.subscribe(lambda event: event.type.startswith("message.part")) as news:
            await runtime.reply_permission(ask.id, "once")
            await runtime.wait_turn(session.id, prompt)
            told = [event.type for event in news.take()]
        edited = (await parts(place, session.id, ToolPart))[1]
        assert isinstance(edited.state, ToolFailed)
        assert "changed while the change was prepared" in edited.state.error
        assert await parts(place, session.id, PatchPart) == []
        assert "message.part.removed" in told
        assert (await runtime.session(session.id)).summary is None
        changed = await runtime.database.read(lambda db: file_changes.of_session(db, session.id))
        assert changed == []
        assert (place.project / "a.txt").read_text() == "one\nmine\n"

    in_desk(tmp_path, check, interactive=True, yes=False, config={"permission": {"edit": "ask"}})


def test_what_waits_for_a_person_is_noted_from_the_moment_it_may_go_on(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        runtime, session = place.runtime, await place.session()
        prompt = await place.prompt(session.id, "$ echo more >> a.txt")
        (ask,) = await until(runtime.asks)
        (place.project / "a.txt").write_text("one\ntwo\nmine\n")
        (place.project / "b.txt").write_text("mine\n")
        await runtime.reply_permission(ask.id, "once")
        await runtime.wait_turn(session.id, prompt)
        (patch,) = await parts(place, session.id, PatchPart)
        assert patch.files == (str(place.project / "a.txt"),)
        await runtime.undo.revert(session.id, prompt)
        assert (place.project / "a.txt").read_text() == "one\ntwo\nmine\n"
        assert (place.project / "b.txt").exists()

    in_desk(tmp_path, check, interactive=True, yes=False, config={"permission": {"bash": "ask"}})


def test_what_a_command_changed_before_it_was_stopped_is_noted(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        runtime, session = place.runtime, await place.session()
        prompt = await place.prompt(session.id, "$ echo more >> a.txt; touch begun; sleep 60")

        async def begun() -> bool:
            return (place.project / "begun").exists()

        await until(begun)
        await runtime.abort(session.id)
        await runtime.wait_idle(session.id)
        (patch,) = await parts(place, session.id, PatchPart)
        assert patch.files == tuple(str(place.project / name) for name in ("a.txt", "begun"))
        await runtime.undo.revert(session.id, prompt)
        assert (place.project / "a.txt").read_text() == "one\ntwo\n"
        assert not (place.project / "begun").exists()

    in_desk(tmp_path, check)


def test_a_command_that_reads_only_costs_no_look_at_files(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "$ ls | head -n 3; cat a.txt | wc -l")
        assert await parts(place, session.id, PatchPart) == []
        starts = await parts(place, session.id, StepStartPart)
        assert starts[0].snapshot is None

    in_desk(tmp_path, check)


def test_steps_carry_the_snapshots_before_and_after_them_once_all_files_were_looked_at(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "$ echo 1 > b.txt")
        await place.ask(session.id, "edit")
        starts = await parts(place, session.id, StepStartPart)
        ends = await parts(place, session.id, StepFinishPart)
        pairs = [(s.snapshot, e.snapshot) for s, e in zip(starts, ends, strict=True)]
        (ran, _, edited, _) = pairs
        assert None not in (*ran, *edited)
        assert ran[0] != ran[1] == pairs[1][0] == pairs[1][1] == edited[0] != edited[1]
        command, edit = await parts(place, session.id, PatchPart)
        assert (command.hash, command.after) == ran
        assert edit.files == (str(place.project / "a.txt"),)

    in_desk(tmp_path, check)


def test_two_sessions_of_one_folder_keep_to_themselves(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        one, two = await place.session(), await place.session()
        first = await place.prompt(one.id, "$ echo one > by-one")
        await place.runtime.wait_turn(one.id, first)
        await place.ask(two.id, "$ echo two > by-two")
        await place.runtime.undo.revert(one.id, first)
        assert not (place.project / "by-one").exists()
        assert (place.project / "by-two").exists()
        assert [d.file for d in await place.runtime.undo.changes(two.id)] == ["by-two"]

    in_desk(tmp_path, check)
