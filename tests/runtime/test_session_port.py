"""Sessions that one directs, on a real runtime: topics under concurrency, trees, deletion."""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from runtime_stage import Desk, desk

from roost.actors import claim as claims
from roost.actors import peers
from roost.actors import store as actors
from roost.actors.cancel import hold
from roost.actors.limits import ActorLimits
from roost.actors.models import Budgets, Claim
from roost.core.errors import ConflictError, NotFoundError, StaleFenceError, UsageError
from roost.db.transaction import Transaction
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.permissions.forwarding import director
from roost.runtime import session_ask
from roost.runtime.models import TurnResult
from roost.runtime.session_port import SessionPort
from roost.sessions import store as sessions
from roost.sessions.models import ModelName
from roost.tools.session_port import Opened, SessionOrder
from roost.turn.world import Caller
from roost.workspace import worktrees
from roost.workspace.worktrees import Removal, Worktree
from scripted_model.scenario import scenario


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Head:
    """A session that directs others, in the middle of a turn."""

    def __init__(self, place: Desk, session_id: str, caller: Caller, port: SessionPort) -> None:
        self.place = place
        self.session_id = session_id
        self.caller = caller
        self.claim: Claim = caller.claim
        self.port = port

    async def create(self, task: str = "Work.", **more: Any) -> Opened:
        return await self.port.create(SessionOrder(task=task, **more))

    async def rest(self, session_id: str) -> None:
        await self.place.runtime.wait_idle(session_id)

    async def take_over(self) -> None:
        """Let another process take up the directing actor, as if this one had died."""
        await self.place.runtime.database.write(
            lambda tx: claims.recover_actor(tx, self.claim.address, lambda _: True, ActorLimits())
        )

    @property
    def trees(self) -> list[Path]:
        folder = self.place.runtime.paths.worktrees
        return sorted(folder.glob("*/*"))


def directing(
    folder: Path, play: Callable[[Head], Awaitable[None]], *, agent: str = "orchestrator"
) -> None:
    project = folder / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "a.txt").write_text("a\n")
    (project / "sub").mkdir()
    (project / "sub" / "b.txt").write_text("b\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")

    async def go() -> None:
        async with desk(folder, scenario(default="done")) as place:
            runtime = place.runtime
            session = await runtime.create_session(project, agent=agent)
            address = (await runtime.named(session.id)).address
            claim = await runtime.database.write(
                lambda tx: claims.claim(
                    tx,
                    address,
                    owner="test",
                    is_dead=lambda _: False,
                    budgets=Budgets(),
                    limits=ActorLimits(),
                    reason="resume",
                )
            )
            assert claim is not None
            async with runtime.worlds.world_of(address) as world:
                caller = Caller(
                    claim=claim,
                    agent=world.resolve_agent(agent),
                    model=ModelName("test", "scripted"),
                    message_id="msg_1",
                    seen="msg_1",
                    wait_until=lambda _: None,
                )
                await play(Head(place, session.id, caller, world.sessions(caller)))

    asyncio.run(go())


def test_creates_of_one_topic_at_once_make_one_session_and_lose_no_task(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        names = [f"task {number}" for number in range(5)]
        made = await asyncio.gather(
            *(head.create(name, topic=" The-Topic", isolate=True) for name in names)
        )
        assert len({one.session_id for one in made}) == 1
        assert [one.new for one in made].count(True) == 1
        assert all(one.sent is None or one.sent.inbox_id for one in made)
        assert len(head.trees) == 1
        assert len(git(head.place.project, "branch", "--list", "roost/*").split("\n")) == 2
        await head.rest(made[0].session_id)
        said = str(await head.place.messages(made[0].session_id))
        assert all(name in said for name in names)

    directing(tmp_path, play)


def test_a_topic_whose_folder_is_gone_gets_a_new_session(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        first = await head.create(topic="it", isolate=True)
        await head.rest(first.session_id)
        ended = await head.port.cancel(first.session_id)
        assert "is removed" in ended.tree
        assert head.trees == []
        second = await head.create(topic="it")
        assert second.new
        assert second.session_id != first.session_id
        with pytest.raises(UsageError, match="no letter or digit"):
            await head.create(topic=" -- ")

    directing(tmp_path, play)


def test_an_isolated_session_works_where_its_folder_is_in_the_tree(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        (head.place.project / "a.txt").write_text("changed\n")
        made = await head.create(directory="sub", isolate=True, title="Odd / name: ü!")
        (tree,) = head.trees
        assert tree.name == "odd-name-u"
        assert Path(made.directory) == tree / "sub"
        assert made.notes == (
            "Not in the working tree: 1 file that the project has not committed.",
        )
        session = await head.place.runtime.session(made.session_id)
        own = await head.place.runtime.session(head.session_id)
        assert session.parent_id == own.id
        assert session.project_id == own.project_id
        project = await head.place.runtime.project_of(made.session_id)
        located = project.guard.locate("b.txt", project.directory)
        assert located.inside
        assert project.guard.refusal(located, write=True) is None
        other = project.guard.locate(str(tree.parent / "elsewhere" / "c.txt"))
        assert project.guard.refusal(other, write=True) is not None

    directing(tmp_path, play)


def test_what_fails_leaves_neither_session_nor_tree(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        for order in (
            {"isolate": True, "model": "nobody/nothing"},
            {"isolate": True, "agent": "explore"},
            {"directory": "nowhere"},
        ):
            with pytest.raises(UsageError):
                await head.create(**order)
        found = await head.place.runtime.database.read(
            lambda db: sessions.children(db, head.session_id)
        )
        assert found == []
        assert head.trees == []
        assert git(head.place.project, "branch", "--list", "roost/*") == ""

    directing(tmp_path, play)


def test_only_sessions_of_its_own_can_be_named(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        other = await head.place.session()
        for call in (
            head.port.send(other.id, "Hello."),
            head.port.status(other.id),
            head.port.cancel(other.id),
            head.port.ask(other.id, "Why?"),
            head.port.switch(other.id),
            head.port.grant(other.id),
        ):
            with pytest.raises(NotFoundError, match="no session"):
                await call
        joined = await head.port.join([other.id, "ses_none"], 60_000)
        assert (joined.how, joined.unknown) == ("rest", (other.id, "ses_none"))

    directing(tmp_path, play)


def test_a_switch_is_news_for_the_clients_of_the_folder(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        made = await head.create()
        seen: list[Event] = []
        head.place.runtime.bus.listen(
            lambda event: seen.append(event) if event.type == "tui.session.select" else None
        )
        await head.port.switch(made.session_id)
        (event,) = seen
        assert event.properties == {"sessionID": made.session_id}
        assert event.directory == str(head.place.project)

    directing(tmp_path, play)


def test_a_copy_answers_for_a_session_at_rest(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        made = await head.create()
        await head.rest(made.session_id)
        reply = await head.port.ask(made.session_id, "What did you do?")
        assert (reply.fault, reply.text) == (False, "done")
        view = await head.port.status(made.session_id)
        assert view.actor.actor_id == made.session_id

    directing(tmp_path, play)


def test_a_directed_session_is_deleted_only_when_its_tree_holds_nothing(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        runtime = head.place.runtime
        made = await head.create(isolate=True, title="one")
        empty = await head.create(isolate=True, title="two")
        for one in (made, empty):
            await head.rest(one.session_id)
        (first, _) = head.trees
        (first / "new.txt").write_text("work\n")
        with pytest.raises(ConflictError, match="1 untracked file") as caught:
            await runtime.delete_session(made.session_id)
        assert str(first) in caught.value.message
        assert await runtime.session(made.session_id)
        assert await runtime.delete_session(empty.session_id) == []
        assert head.trees == [first]
        (kept,) = await runtime.delete_session(made.session_id, force=True)
        assert "1 untracked file" in kept
        assert (first / "new.txt").exists()
        with pytest.raises(NotFoundError):
            await runtime.session(made.session_id)

    directing(tmp_path, play)


def test_a_child_of_a_session_is_directed_by_it_and_its_tree_is_known(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        made = await head.create(isolate=True)
        actor = await head.place.runtime.named(made.session_id)
        found = await head.place.runtime.database.read(lambda db: director(db, actor))
        assert found is not None
        assert found.address == head.claim.address
        (peer,) = await head.place.runtime.database.read(
            lambda db: peers.with_worktree(db, head.session_id)
        )
        assert peer.session_id == made.session_id

    directing(tmp_path, play)


def test_trees_that_nobody_uses_go_after_a_day_if_they_hold_nothing(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        made = await head.create(isolate=True, title="used")
        (used,) = head.trees
        left = [used.parent / name for name in ("empty", "full", "new", "bare", "ahead")]
        for one in (*left[:3], left[4]):
            branch = f"roost/{one.name}"
            git(head.place.project, "worktree", "add", "-q", "-b", branch, str(one))
        git(left[4], "commit", "-q", "--allow-empty", "-m", "work")
        left[3].mkdir()
        (left[3] / "file.txt").write_text("work")
        (left[1] / "file.txt").write_text("work")
        for one in (used, left[0], left[1], left[3], left[4]):
            os.utime(one, (1_000_000_000, 1_000_000_000))
        again = await head.create(isolate=True, title="again")
        stay = ["again", "ahead", "bare", "full", "new", "used"]
        assert [one.name for one in head.trees] == stay
        for one in (made, again):
            await head.rest(one.session_id)

    directing(tmp_path, play)


def test_a_call_that_is_stopped_leaves_neither_tree_nor_work(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        for wait in (0.0, 0.05, 0.1, 0.2):
            task = asyncio.create_task(head.create(isolate=True, title="stopped"))
            await asyncio.sleep(wait)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            for view in await head.port.listed(with_trees=False):
                await head.rest(view.actor.session_id)
            known = {Path(one.directory) for one in await head.port.listed(with_trees=False)}
            assert set(head.trees) == known

    directing(tmp_path, play)


def test_a_turn_that_was_lost_changes_nothing_in_the_sessions_below(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        made = await head.create()
        await head.rest(made.session_id)
        await head.take_over()
        one = made.session_id
        for call in (
            head.create("More."),
            head.port.send(one, "Hello."),
            head.port.switch(one),
            head.port.set_agent(one, "plan"),
            head.port.cancel(one),
            head.port.approve("per_none"),
            head.port.grant(one),
            head.port.grant("*"),
            head.port.ask(one, "Why?"),
            head.port.join([one], 1_000),
        ):
            with pytest.raises(StaleFenceError):
                await call
        view = await head.port.status(one)
        assert (view.actor.agent, view.actor.status, view.actor.turns) == ("build", "idle", 1)

    directing(tmp_path, play)


def test_a_stop_while_an_unused_tree_is_removed_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(head: Head) -> None:
        await head.create(topic="it")
        begun, may_go = asyncio.Event(), asyncio.Event()
        route, remove = SessionPort._route, worktrees.remove
        first = True

        def routed(self: SessionPort, tx: Transaction, key: str, task: str) -> Opened | None:
            nonlocal first
            if first:  # as if the topic was taken only while the tree was made
                first = False
                return None
            return route(self, tx, key, task)

        async def removed(repository: Path, tree: Worktree) -> Removal:
            begun.set()
            await may_go.wait()
            return await remove(repository, tree)

        monkeypatch.setattr(SessionPort, "_route", routed)
        monkeypatch.setattr(worktrees, "remove", removed)
        task = asyncio.create_task(head.create(topic="it", isolate=True))
        await begun.wait()
        task.cancel()
        await asyncio.sleep(0)
        may_go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert head.trees == []

    directing(tmp_path, play)


@pytest.mark.parametrize("moment", ["actor.registered", "actor.status"])
def test_a_copy_whose_answer_is_not_waited_for_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    moment: str,
) -> None:
    async def play(head: Head) -> None:
        runtime = head.place.runtime
        made = await head.create()
        await head.rest(made.session_id)
        with monkeypatch.context() as patched:
            patched.setattr(session_ask, "SECONDS", 0.0)
            reply = await head.port.ask(made.session_id, "What did you do?")
        assert (reply.fault, reply.text) == (True, "The question took too long.")
        asking = asyncio.create_task(head.port.ask(made.session_id, "And then?"))
        runtime.bus.listen(lambda event: asking.cancel() if event.type == moment else None)
        with pytest.raises(asyncio.CancelledError):
            await asking
        found = await runtime.database.read(lambda db: actors.of_session(db, made.session_id))
        assert [one.actor_id for one in found] == [made.session_id]
        page = await runtime.transcripts.page(made.session_id, everybody=True)
        assert "copy of yourself" not in str(page)
        rows = await runtime.database.read(lambda db: inbox.queued(db, head.claim.address))
        assert [row.sender.actor_id for row in rows if row.sender] == [made.session_id]
        assert not caplog.records

    directing(tmp_path, play)


def test_who_waits_for_all_below_takes_up_a_session_whose_process_died(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        runtime = head.place.runtime
        made = await head.create()
        await head.rest(made.session_id)
        address = (await runtime.named(made.session_id)).address
        lost = await runtime.database.write(
            lambda tx: claims.claim(
                tx,
                address,
                owner="one that died",
                is_dead=lambda _: False,
                budgets=Budgets(),
                limits=ActorLimits(),
                reason="resume",
            )
        )
        assert lost is not None
        result = TurnResult(head.claim.turn, None)
        await asyncio.wait_for(runtime.wait_tree(head.claim.address, result), 20)
        assert (await runtime.actor(address)).status == "idle"

    directing(tmp_path, play)


def test_who_writes_to_one_that_was_stopped_is_told_that_it_is_not_woken(tmp_path: Path) -> None:
    async def play(head: Head) -> None:
        runtime = head.place.runtime
        other = await head.place.session()
        address = (await runtime.named(other.id)).address
        await runtime.database.write(lambda tx: hold(tx, address))
        own = await head.create()
        await head.rest(own.session_id)
        await runtime.database.write(lambda tx: hold(tx, Address(own.session_id, own.session_id)))
        async with runtime.worlds.world_of(head.claim.address) as world:
            port = world.actors(head.caller)
            sent = await port.send("main", "Hello.", to_session_id=other.id, reply_to=None)
            assert (sent.busy, sent.held) == (False, True)
        sent = await head.port.send(own.session_id, "Go on.")
        assert (sent.busy, sent.held) == (False, False)
        await head.rest(own.session_id)

    directing(tmp_path, play)
