"""The end of a session is taken back and brought back: words, and what was done to files."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from runtime_stage import Desk, desk
from stage import texts

from roost.actors.owner import Owner
from roost.core.errors import BusyError, NotFoundError, UsageError
from roost.db.transaction import Transaction
from roost.inbox.listing import listed
from roost.inbox.models import Address
from roost.runtime.undo_change import Undone
from roost.runtime.undo_cleanup import make_way
from roost.sessions import undo_store
from roost.sessions.parts import PatchPart, StepFinishPart, StepStartPart
from roost.sessions.undo_store import Cut, Phase, UndoState
from roost.workspace.changes import FILE_LOCKS
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Stall, Text, reply


def write(path: str, content: str) -> Call:
    return Call("write", {"filePath": path, "content": content})


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


JOBS: dict[str, list[Any]] = {
    "make a": [write("a.txt", "one\ntwo\n")],
    "change a": [
        Call("read", {"filePath": "a.txt"}),
        Call("edit", {"filePath": "a.txt", "oldString": "two", "newString": "2"}),
    ],
    "run": [bash("mkdir -p out && echo made > out/b.txt && echo more >> a.txt && rm -f gone.txt")],
    "look": [bash("ls"), Call("read", {"filePath": "a.txt"})],
    "fail": [bash("exit 3")],
}


def worker(request: Request) -> Reply:
    """Does what the last prompt names, and says so."""
    asked = request.last_user_text.splitlines()[-1]
    calls = JOBS.get(asked, [])
    if asked == "wait":
        return reply([Barrier("held"), Stall()])
    if request.results or not calls:
        return reply([Text(f"done: {asked}")])
    return reply([Text("working"), *calls])


def in_desk(
    folder: Path, check: Callable[[Desk], Awaitable[None]], script: Any = None, **more: Any
) -> None:
    async def go() -> None:
        async with desk(folder, script or worker, **more) as place:
            await check(place)

    asyncio.run(go())


def files_of(place: Desk) -> dict[str, str]:
    return {
        str(path.relative_to(place.project)): path.read_text()
        for path in sorted(place.project.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def actions(done: Undone) -> dict[str, str]:
    return {one.path: one.action for one in done.files}


async def patches(place: Desk, session_id: str) -> list[PatchPart]:
    return [
        part
        for message in await place.messages(session_id)
        for part in message.parts
        if isinstance(part, PatchPart)
    ]


async def ids(place: Desk, session_id: str) -> dict[str, str]:
    """The ids of the prompts by their words."""
    found = await place.runtime.database.read(lambda db: undo_store.prompts(db, session_id, "main"))
    return {one.text: one.message_id for one in found}


def test_a_step_that_changes_files_says_so_and_carries_snapshots(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        (place.project / "gone.txt").write_text("g\n")
        session = await place.session()
        await place.ask(session.id, "make a")
        await place.ask(session.id, "run")
        first, second = await patches(place, session.id)
        assert first.files == (str(place.project / "a.txt"),)
        assert second.files == tuple(
            str(place.project / name) for name in ("a.txt", "gone.txt", "out/b.txt")
        )
        messages = await place.messages(session.id)
        ran = next(m for m in messages if second in m.parts)
        starts = [p for p in ran.parts if isinstance(p, StepStartPart)]
        ends = [p for p in ran.parts if isinstance(p, StepFinishPart)]
        assert (starts[0].snapshot, ends[0].snapshot) == (second.hash, second.after)
        assert second.hash != second.after
        shown = await place.runtime.session(session.id)
        assert shown.summary is not None
        assert (shown.summary.additions, shown.summary.deletions, shown.summary.files) == (4, 1, 3)

    in_desk(tmp_path, check)


def test_a_step_that_changes_nothing_notes_nothing(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "make a")
        for word in ("look", "fail"):
            await place.ask(session.id, word)
        assert len(await patches(place, session.id)) == 1

    in_desk(tmp_path, check)


def test_a_revert_takes_back_words_and_files_and_its_undoing_brings_all_back(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        undo = place.runtime.undo
        (place.project / "gone.txt").write_text("g\n")
        session = await place.session()
        await place.ask(session.id, "make a")
        between = files_of(place)
        await place.ask(session.id, "run")
        await place.ask(session.id, "change a")
        end = files_of(place)
        known = await ids(place, session.id)
        preview = await undo.preview(session.id, known["run"])
        assert files_of(place) == end
        assert preview.prompts == ("run", "change a")
        done = await undo.revert(session.id, known["run"])
        assert done.files == preview.files
        assert actions(done) == {
            "a.txt": "restored",
            "gone.txt": "created",
            "out/b.txt": "deleted",
        }
        assert files_of(place) == between
        shown = (await place.runtime.session(session.id)).revert
        assert shown is not None
        assert (shown.message_id, shown.part_id, shown.left) == (known["run"], None, ())
        assert shown.diff is not None
        assert "--- a/out/b.txt\n+++ /dev/null\n" in shown.diff
        assert len(await place.messages(session.id)) == 9, "nothing is gone yet"
        back = await undo.unrevert(session.id)
        assert files_of(place) == end
        assert back.session.revert is None
        assert back.session.summary is not None
        assert back.session.summary.files == 3
        with pytest.raises(NotFoundError):
            await undo.unrevert(session.id)

    in_desk(tmp_path, check)


def test_the_next_prompt_removes_what_is_taken_back_and_the_model_never_sees_it_again(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        runtime = place.runtime
        session = await place.session()
        await place.ask(session.id, "make a")
        await place.ask(session.id, "change a")
        known = await ids(place, session.id)
        await runtime.undo.revert(session.id, known["change a"])
        with runtime.bus.subscribe(lambda event: event.type == "message.removed") as news:
            await place.ask(session.id, "look")
            assert len(news.take()) == 3
        assert place.model.violations == []
        (last,) = {r.request.all_text for r in place.model.requests[-1:]}
        assert "change a" not in last
        assert "make a" in last
        assert (place.project / "a.txt").read_text() == "one\ntwo\n"
        shown = await runtime.session(session.id)
        assert shown.revert is None
        assert texts(await place.messages(session.id))[-3:] == ["look", "working", "done: look"]
        assert await runtime.database.read(lambda db: undo_store.find(db, session.id)) is None
        rows = await runtime.database.read(lambda db: listed(db, session.id, 100))
        assert [row.message_id for row in rows if row.message_id == known["change a"]] == []

    in_desk(tmp_path, check)


def test_further_back_and_forth_again(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        undo = place.runtime.undo
        session = await place.session()
        states = [files_of(place)]
        for word in ("make a", "run", "change a"):
            await place.ask(session.id, word)
            states.append(files_of(place))
        known = await ids(place, session.id)
        for word, state in (
            ("change a", 2),
            ("make a", 0),
            ("run", 1),
            ("change a", 2),
            ("make a", 0),
        ):
            await undo.revert(session.id, known[word])
            assert files_of(place) == states[state], word
        await undo.unrevert(session.id)
        assert files_of(place) == states[3]

    in_desk(tmp_path, check)


def test_what_the_user_changed_since_stays_and_is_told(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        undo = place.runtime.undo
        session = await place.session()
        await place.ask(session.id, "make a")
        await place.ask(session.id, "run")
        known = await ids(place, session.id)
        (place.project / "out/b.txt").write_text("mine\n")
        text = (place.project / "a.txt").read_text()
        (place.project / "a.txt").write_text("mine\n" + text)
        done = await undo.revert(session.id, known["run"])
        assert actions(done) == {"a.txt": "merged", "out/b.txt": "conflict"}
        assert (place.project / "out/b.txt").read_text() == "mine\n"
        assert (place.project / "a.txt").read_text() == "mine\none\ntwo\n"
        shown = (await place.runtime.session(session.id)).revert
        assert shown is not None
        assert [(one.path, one.reason) for one in shown.left] == [
            ("out/b.txt", "it was made, and somebody changed it since")
        ]
        (place.project / "new.txt").write_text("mine, too\n")
        await undo.unrevert(session.id)
        assert (place.project / "a.txt").read_text() == "mine\n" + text
        assert (place.project / "new.txt").read_text() == "mine, too\n"

    in_desk(tmp_path, check)


def test_the_conversation_alone_can_be_taken_back(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "make a")
        known = await ids(place, session.id)
        done = await place.runtime.undo.revert(session.id, known["make a"], files=False)
        assert done.files == ()
        assert files_of(place) == {"a.txt": "one\ntwo\n"}
        await place.ask(session.id, "look")
        assert texts(await place.messages(session.id)) == ["look", "working", "done: look"]

    in_desk(tmp_path, check)


def test_a_busy_session_refuses_and_says_who_is_at_work(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        first = await place.ask(session.id, "make a")
        known = await ids(place, session.id)
        await place.prompt(session.id, "wait")
        await place.reached("held")
        with pytest.raises(BusyError, match="main is at work") as caught:
            await place.runtime.undo.revert(session.id, known["make a"])
        assert "stop it first" in caught.value.hint
        assert files_of(place) == {"a.txt": "one\ntwo\n"}
        assert first.turn.outcome == "success"
        await place.runtime.abort(session.id)
        await place.runtime.wait_idle(session.id)
        await place.runtime.undo.revert(session.id, known["make a"])
        assert files_of(place) == {}

    in_desk(tmp_path, check)


def test_with_snapshots_switched_off_nothing_is_kept_and_words_are_still_taken_back(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "make a")
        assert await patches(place, session.id) == []
        assert not (tmp_path / "home/data/snapshots").exists()
        known = await ids(place, session.id)
        done = await place.runtime.undo.revert(session.id, known["make a"])
        assert done.files == ()
        assert files_of(place) == {"a.txt": "one\ntwo\n"}

    in_desk(tmp_path, check, config={"snapshot": False})


def test_a_message_that_is_not_there_or_not_heard_is_refused_in_words(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        undo, session = place.runtime.undo, await place.session()
        with pytest.raises(NotFoundError, match="no message msg_nowhere"):
            await undo.revert(session.id, "msg_nowhere")
        await place.ask(session.id, "make a")
        place.runtime.scheduler.wake = lambda *_: None
        waiting = await place.prompt(session.id, "later")
        with pytest.raises(UsageError, match="nobody has heard") as caught:
            await undo.revert(session.id, waiting)
        assert "inbox withdraw" in caught.value.hint

    in_desk(tmp_path, check)


def test_from_a_part_on(tmp_path: Path) -> None:
    JOBS["two"] = [write("x.txt", "x"), write("y.txt", "y")]

    async def check(place: Desk) -> None:
        undo, session = place.runtime.undo, await place.session()
        await place.ask(session.id, "two")
        messages = await place.messages(session.id)
        step = next(m for m in messages if any(isinstance(p, PatchPart) for p in m.parts))
        tools = [part for part in step.parts if part.id.startswith("prt_")]
        second = [p for p in tools if p.__struct_config__.tag == "tool"][1]
        await undo.revert(session.id, step.info.id, second.id)
        assert files_of(place) == {"x.txt": "x"}
        shown = (await place.runtime.session(session.id)).revert
        assert shown is not None
        assert (shown.message_id, shown.part_id) == (step.info.id, second.id)
        await place.ask(session.id, "look")
        left = await place.messages(session.id)
        kept = next(m for m in left if m.info.id == step.info.id)
        assert [p.__struct_config__.tag for p in kept.parts] == [
            "step-start",
            "text",
            "tool",
            "patch",
        ]
        assert place.model.violations == []

    in_desk(tmp_path, check)


def test_who_waits_no_longer_stops_nothing_in_its_middle(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        undo, session = place.runtime.undo, await place.session()
        await place.ask(session.id, "make a")
        known = await ids(place, session.id)
        path = Path(os.path.realpath(place.project / "a.txt"))
        with FILE_LOCKS.held([path]):
            task = asyncio.create_task(undo.revert(session.id, known["make a"]))
            await until(lambda: phase(place, session.id))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await phase(place, session.id) == "reverting"
            with pytest.raises(BusyError, match="just being set back"):
                async with asyncio.timeout(10):
                    await place.runtime.database.write(
                        lambda tx: make_way(tx, Address(session.id, "main"), "msg_new")
                    )
            waiting = asyncio.create_task(place.ask(session.id, "look"))
            await asyncio.sleep(0)
        await waiting
        assert not path.exists()
        assert texts(await place.messages(session.id))[0] == "look"

    in_desk(tmp_path, check)


def test_what_another_process_is_setting_back_is_waited_for(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        runtime, session = place.runtime, await place.session()
        await place.ask(session.id, "make a")
        other = Owner(runtime.paths.state / "owners")
        (prompt,) = (await ids(place, session.id)).values()

        def put(phase: Phase) -> Callable[[Transaction], None]:
            state = UndoState(phase=phase, cut=Cut(prompt, 1), owner=other.id, files=False)
            return lambda tx: undo_store.put(tx, session.id, state)

        await runtime.database.write(put("reverting"))
        waiting = asyncio.create_task(place.ask(session.id, "look"))
        await asyncio.wait([waiting], timeout=0.5)
        assert not waiting.done()
        with pytest.raises(BusyError, match="another process is just setting back files"):
            await runtime.undo.unrevert(session.id)
        await runtime.database.write(put("reverted"))
        await waiting
        assert texts(await place.messages(session.id))[0] == "look"
        await runtime.database.write(put("reverting"))
        other.close()
        await place.ask(session.id, "look")
        assert await phase(place, session.id) is None, "it is dead, so its part is done by us"

    in_desk(tmp_path, check)


async def phase(place: Desk, session_id: str) -> str | None:
    state = await place.runtime.database.read(lambda db: undo_store.find(db, session_id))
    return state.phase if state else None


async def until(check: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(20):
        while not await check():
            await asyncio.sleep(0.01)
