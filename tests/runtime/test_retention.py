"""What is old goes when the configuration says so, and nothing else; whoever waits is told."""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from runtime_stage import Desk, desk
from stage import note, prompt

from roost.actors import peers
from roost.actors import store as actors
from roost.actors.peers import Peer
from roost.actors.send import send
from roost.actors.spawn import Brief, spawn
from roost.core.clock import now_ms
from roost.db.transaction import Transaction
from roost.inbox.listing import listed
from roost.inbox.models import Address, InboxRow
from roost.inbox.notices import words
from roost.runtime.retention import ROWS, Retention
from roost.sessions.models import MAIN, ModelName
from roost.tools.output import sweep_old

DAY = 24 * 3_600_000


def kept(
    folder: Path,
    retention: dict[str, int],
    check: Callable[[Desk], Awaitable[None]],
    **more: dict[str, int],
) -> None:
    """Run `check` in a home whose own configuration keeps things so long."""
    config = folder / "home" / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "roost.json").write_text(json.dumps({"retention": retention, **more}))

    async def go() -> None:
        async with desk(folder) as place:
            await check(place)

    asyncio.run(go())


def retention_of(place: Desk) -> Retention:
    runtime = place.runtime
    return Retention(runtime.database, runtime.projects, runtime.paths)


async def aged(place: Desk, table: str, days: float, column: str = "created") -> None:
    """Let everything in a table have happened so many days earlier."""
    shift = int(days * DAY)
    await place.runtime.database.write(
        lambda tx: tx.run(f"UPDATE {table} SET {column} = {column} - ?", (shift,))
    )


async def rows(place: Desk) -> list[InboxRow]:
    return await place.runtime.database.read(lambda db: listed(db, None, 10_000))


async def helper_of(place: Desk, main: Address) -> Address:
    """An idle actor that main could write to."""
    parent = await place.runtime.actor(main)
    like = actors.new_main(main.session_id, "explore")

    def make(tx: Transaction) -> Address:
        made = msgspec.structs.replace(
            like, actor_id="explore-1", mode="subagent", fronts=False, parent=parent.address
        )
        actors.register(tx, made)
        return made.address

    return await place.runtime.database.write(make)


def test_mail_that_came_to_its_end_is_kept_for_so_many_days_and_queued_mail_for_ever(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "heard")
        quiet = note(Address(session.id, MAIN), "for later", wake=False)
        await place.runtime.database.write(lambda tx: send(tx, quiet))
        await aged(place, "inbox", 2.9)
        await aged(place, "inbox", 2.9, "delivered")
        await retention_of(place).apply()
        assert [row.state for row in await rows(place)] == ["delivered", "queued"]
        await aged(place, "inbox", 0.2)
        await aged(place, "inbox", 0.2, "delivered")
        await retention_of(place).apply()
        assert [row.state for row in await rows(place)] == ["queued"]
        assert len(await place.messages(session.id)) == 2, "what was said stays"

    kept(tmp_path, {"inbox": 3}, check)


def test_a_message_that_nobody_reads_expires_and_its_sender_is_told_once(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        main = Address(session.id, MAIN)
        helper = await helper_of(place, main)
        letter = note(helper, "are you there?", sender=main, wake=False)
        sent = await place.runtime.database.write(lambda tx: send(tx, letter))
        await aged(place, "inbox", 8)
        with place.runtime.bus.subscribe(lambda event: event.type == "inbox.updated") as news:
            await retention_of(place).apply()
            (told,) = news.take()
        assert (told.properties["id"], told.properties["state"]) == (sent.id, "expired")
        await place.runtime.wait_idle(session.id)
        await retention_of(place).apply()
        expired, notice = await rows(place)
        assert (expired.state, notice.kind, notice.state) == ("expired", "notice", "delivered")
        assert words(notice.body) == f"Actor explore-1 never read your message {sent.id}."
        assert (await place.runtime.actor(main)).turns == 1, "the news woke it"

    kept(tmp_path, {"queued": 7}, check)


def test_the_news_of_an_unread_message_wakes_its_sender_only_within_the_configured_hops(
    tmp_path: Path,
) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        main = Address(session.id, MAIN)
        helper = await helper_of(place, main)
        for hops in (1, 2):
            letter = note(helper, f"after {hops}", sender=main, wake=False, hops=hops)
            await place.runtime.database.write(lambda tx, one=letter: send(tx, one))
        await aged(place, "inbox", 8)
        place.runtime.scheduler.wake = lambda *_: None
        await retention_of(place).apply()
        news = [row for row in await rows(place) if row.kind == "notice"]
        assert [(row.hops, row.wake) for row in news] == [(2, True), (3, False)]

    kept(tmp_path, {"queued": 7}, check, actors={"hops": 2})


def test_a_prompt_that_expires_is_shown_no_longer_and_its_actor_sleeps(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        main = Address(session.id, MAIN)
        place.runtime.scheduler.wake = lambda *_: None  # a process that runs nothing
        await place.runtime.database.write(lambda tx: send(tx, prompt(main, "hello")))
        await aged(place, "inbox", 8)
        await retention_of(place).apply()
        assert (await place.runtime.actor(main)).status == "idle"
        assert await place.messages(session.id) == []

    kept(tmp_path, {"queued": 7}, check)


def test_a_thousand_rows_go_in_transactions_of_bounded_size(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        main = Address(session.id, MAIN)

        def fill(tx: Transaction) -> None:
            for number in range(2 * ROWS + 10):
                send(tx, note(main, str(number), wake=False))

        await place.runtime.database.write(fill)
        await aged(place, "inbox", 8)
        sizes: list[int] = []
        write = place.runtime.database.write

        async def counted(transaction: Callable[[Transaction], Any]) -> Any:
            def count(tx: Transaction) -> Any:
                before = tx.one("SELECT total_changes() AS n")
                result = transaction(tx)
                after = tx.one("SELECT total_changes() AS n")
                assert before is not None
                assert after is not None
                sizes.append(after["n"] - before["n"])
                return result

            return await write(count)

        place.runtime.database.write = counted
        await retention_of(place).apply()
        assert {row.state for row in await rows(place)} == {"expired"}
        assert sorted(sizes) == [10, ROWS, ROWS]

    kept(tmp_path, {"queued": 7, "inbox": 30}, check)


def test_sessions_that_nobody_uses_go_unless_they_are_in_use_in_some_way(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        runtime, base = place.runtime, place.project
        old = await place.session()
        await place.ask(old.id, "hello")
        above = await place.session()
        below = await runtime.create_session(base, parent_id=above.id)
        busy = await place.session()
        tree = await place.session()

        def arrange(tx: Transaction) -> None:
            tx.run("UPDATE actor SET status = 'pending' WHERE session_id = ?", (busy.id,))
            made = Peer(session_id=tree.id, parent_session_id=tree.id, worktree=Path("/somewhere"))
            peers.put(tx, made)

        await runtime.database.write(arrange)
        await aged(place, "session", 31, "updated")
        fresh = await place.session()
        await retention_of(place).apply()
        found = await runtime.database.read(lambda db: db.all("SELECT id FROM session"))
        assert {row["id"] for row in found} == {busy.id, tree.id, fresh.id}
        assert below.id not in {row["id"] for row in found}
        left = await runtime.database.read(lambda db: db.all("SELECT 1 FROM message"))
        assert left == []

    kept(tmp_path, {"sessions": 30}, check)


def test_outputs_are_kept_for_so_many_days(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        folder = place.runtime.paths.data / "outputs"
        folder.mkdir()
        for name, days in {"tool_old": 31, "tool_new": 29, "other": 99}.items():
            (folder / name).write_text("x")
            os.utime(folder / name, (0, time.time() - days * 24 * 3_600))
        await retention_of(place).apply()
        assert sorted(path.name for path in folder.iterdir()) == ["other", "tool_new"]

    kept(tmp_path, {"outputs": 30}, check)


def outputs(folder: Path, **days: float) -> Path:
    """A folder of outputs, each so many days old."""
    made = folder / "home" / "data" / "outputs"
    made.mkdir(parents=True, exist_ok=True)
    for name, age in days.items():
        (made / name).write_text("x")
        os.utime(made / name, (0, time.time() - age * 24 * 3_600))
    return made


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def nothing(_: Desk) -> None:
    """A process that begins and ends."""


def test_a_process_that_ends_removes_old_outputs_once_a_day(tmp_path: Path) -> None:
    folder = outputs(tmp_path, tool_old=8, tool_new=6, other=99)
    kept(tmp_path, {}, nothing)
    assert names(folder) == ["other", "tool_new"]
    outputs(tmp_path, tool_again=8)
    kept(tmp_path, {}, nothing)
    assert "tool_again" in names(folder), "somebody has looked today"
    os.utime(tmp_path / "home/state/retention-of-outputs", (0, time.time() - 24 * 3_600 - 1))
    kept(tmp_path, {}, nothing)
    assert names(folder) == ["other", "tool_new"]


def test_a_process_that_ends_keeps_what_the_configuration_keeps(tmp_path: Path) -> None:
    folder = outputs(tmp_path, tool_old=8)
    kept(tmp_path, {"outputs": 9}, nothing)
    assert names(folder) == ["tool_old"]


def test_old_outputs_are_looked_for_within_a_moment(tmp_path: Path) -> None:
    folder = outputs(tmp_path, **{f"tool_{number}": 99 for number in range(50)})
    assert sweep_old(folder, 0, within=0) == 1
    assert sweep_old(folder, 0, within=60) == 49


def test_nothing_goes_where_nothing_is_said_but_outputs_after_a_week(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        await place.ask(session.id, "hello")
        quiet = note(Address(session.id, MAIN), "for later", wake=False)
        await place.runtime.database.write(lambda tx: send(tx, quiet))
        for table, column in (("inbox", "created"), ("inbox", "delivered"), ("session", "updated")):
            await aged(place, table, 3_000, column)
        await retention_of(place).apply()
        assert [row.state for row in await rows(place)] == ["delivered", "queued"]

    kept(tmp_path, {}, check)


def test_one_process_of_all_looks_once_an_hour(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        first, second = retention_of(place), retention_of(place)
        assert first.is_due()
        assert not second.is_due()
        stamp = place.runtime.paths.state / "retention"
        os.utime(stamp, (0, time.time() - 3_601))
        assert second.is_due()
        assert not first.is_due()

    kept(tmp_path, {}, check)


def test_a_brief_that_nobody_reads_is_told_to_the_parent(tmp_path: Path) -> None:
    async def check(place: Desk) -> None:
        session = await place.session()
        main = Address(session.id, MAIN)
        place.runtime.scheduler.wake = lambda *_: None  # a process that runs nothing
        database = place.runtime.database
        await database.write(lambda tx: send(tx, prompt(main, "go")))
        terms = await place.runtime.worlds.terms_of(session.id)
        claim = await database.write(
            lambda tx: place.runtime.scheduler._claimed(tx, main, "prompt", terms)
        )
        assert claim is not None
        brief = Brief(agent="general", description="d", task="t", model=ModelName("a", "b"))
        child = await database.write(lambda tx: spawn(tx, claim, brief))
        await database.write(
            lambda tx: tx.run(
                "UPDATE inbox SET created = ? WHERE kind = 'brief'", (now_ms() - 9 * DAY,)
            )
        )
        await retention_of(place).apply()
        assert (await place.runtime.actor(child.address)).status == "idle"
        (told,) = [row for row in await rows(place) if row.kind == "notice"]
        assert told.receiver == main
        assert words(told.body).startswith("Actor general-1 never read your message inb_")

    kept(tmp_path, {"queued": 7}, check)
