"""What undo needs is kept as long as somebody may want to undo, and not for ever."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from runtime_stage import Desk, desk

from roost.runtime.retention import Retention
from roost.workspace.snapshots import store_of
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply

DAY = 24 * 3_600_000


def worker(request: Request) -> Reply:
    text = request.last_user_text.splitlines()[-1]
    if request.results:
        return reply([Text("done")])
    return reply([Call("write", {"filePath": "a.txt", "content": f"{text}\n"})])


def in_desk(folder: Path, check: Callable[[Desk], Awaitable[None]], **more: Any) -> None:
    async def go() -> None:
        async with desk(folder, worker, **more) as place:
            await check(place)

    asyncio.run(go())


async def look(place: Desk, *, days: float = 0) -> None:
    """What a server does once an hour, so many days after the last use of all sessions."""
    runtime = place.runtime
    await runtime.database.write(
        lambda tx: tx.run("UPDATE session SET updated = updated - ?", (round(days * DAY),))
    )
    await Retention(runtime.database, runtime.projects, runtime.paths).apply()


async def store(place: Desk, session_id: str) -> Path:
    session = await place.runtime.session(session_id)
    return store_of(place.runtime.paths.data, session.project_id)


def objects(folder: Path) -> int:
    return sum(1 for one in (folder / "objects").rglob("*") if one.is_file())


def forget_who_asked(folder: Path) -> None:
    """As if everything had been handed out long ago."""
    log = folder / "roost.roots"
    lines = [line.split() for line in log.read_text().splitlines()]
    log.write_text("".join(f"1000 {root}\n" for _, root in lines))


def test_a_session_can_be_taken_back_while_it_is_in_use_however_old_its_changes_are(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        first = await place.prompt(session.id, "one")
        await place.runtime.wait_turn(session.id, first)
        await place.ask(session.id, "two")
        folder = await store(place, session.id)
        forget_who_asked(folder)
        await look(place, days=29)
        done = await place.runtime.undo.revert(session.id, first)
        assert [one.action for one in done.files] == ["deleted"]
        forget_who_asked(folder)
        await look(place)
        await place.runtime.undo.unrevert(session.id)
        assert (place.project / "a.txt").read_text() == "two\n"

    in_desk(tmp_path, check)


def test_of_a_session_that_nobody_uses_any_more_nothing_is_kept_and_that_is_told(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        prompt = await place.prompt(session.id, "one")
        await place.runtime.wait_turn(session.id, prompt)
        folder = await store(place, session.id)
        assert objects(folder) > 0
        forget_who_asked(folder)
        await look(place, days=31)
        assert objects(folder) == 0
        done = await place.runtime.undo.revert(session.id, prompt)
        assert done.files == ()
        assert "it is kept no longer what files were before" in done.notes[0]
        assert (place.project / "a.txt").read_text() == "one\n"

    in_desk(tmp_path, check)


def test_what_was_asked_for_lately_is_kept_though_no_session_names_it(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "one")
        folder = await store(place, session.id)
        kept = objects(folder)
        await place.runtime.delete_session(session.id)
        await look(place)
        assert objects(folder) == kept
        forget_who_asked(folder)
        await look(place)
        assert objects(folder) == 0

    in_desk(tmp_path, check)


def test_it_is_kept_for_ever_where_the_configuration_says_so(tmp_path: Path) -> None:
    config = tmp_path / "home/config"
    config.mkdir(parents=True)
    (config / "roost.json").write_text('{"retention": {"snapshots": null}}')

    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "one")
        folder = await store(place, session.id)
        kept = objects(folder)
        forget_who_asked(folder)
        await look(place, days=10_000)
        assert objects(folder) == kept

    in_desk(tmp_path, check)


def test_a_process_that_ends_removes_them_once_a_day(tmp_path: Path) -> None:
    stores: list[Path] = []

    async def work(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "one")
        stores.append(await store(place, session.id))
        await place.runtime.delete_session(session.id)
        forget_who_asked(stores[0])

    async def nothing(place: Desk) -> None:
        assert place.project.is_dir()

    in_desk(tmp_path, work)
    assert objects(stores[0]) == 0
    in_desk(tmp_path, work)
    kept = objects(stores[0])
    assert kept > 0, "it was done today"
    stamp = tmp_path / "home/state/retention-of-snapshots"
    os.utime(stamp, (0, time.time() - DAY // 1000 - 1))
    in_desk(tmp_path, nothing)
    assert objects(stores[0]) == 0
