"""Requests of a session that another one directs: who hears of them, who may answer, until when."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from stage import LIMITS, MODEL, everybody_lives, furnish, note

from roost.actors import claim as claims
from roost.actors import peers
from roost.actors.models import Budgets, Claim
from roost.actors.send import send
from roost.actors.spawn import Brief, spawn, spawn_peer
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, DeniedError, NotFoundError, UsageError
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.inbox.models import Address, InboxRow, NoteBody
from roost.inbox.store import from_row
from roost.permissions import asks, forwarding, gate
from roost.permissions.asks import Ask, RejectedError
from roost.permissions.forwarding import ForwardTerms
from roost.permissions.gate import Gate, Requester
from roost.permissions.models import Layer, PermissionRequest, Rule, Traits
from roost.sessions.models import NewSession

T = TypeVar("T")
LAYERS = (Layer("test", "user", (Rule("*", "*", "ask"), Rule("bash", "rm *", "deny"))),)


class Tree:
    """A directing session with a child session, which has a subagent; and a gate for them all."""

    def __init__(self, path: Path, *, interactive: bool) -> None:
        self.bus = Bus()
        self.database = Database.open(path, self.bus)
        self.gate = Gate(self.database, self.bus, interactive=interactive, yes=False)
        self.seconds = 60

    async def furnish(self) -> None:
        session_id = await self.database.write(furnish)
        self.head = Address(session_id, "main")
        await self.database.write(lambda tx: send(tx, note(self.head, "go")))
        self.claims = {"head": await self.claim(self.head)}
        brief = Brief(agent="build", description="the fix", task="fix it", model=MODEL)
        new = NewSession(directory="/elsewhere", project_id="project")
        child = await self.database.write(
            lambda tx: spawn_peer(tx, self.claims["head"], brief, new)
        )
        self.child = child.address
        self.claims["child"] = await self.claim(self.child)
        helper = await self.database.write(lambda tx: spawn(tx, self.claims["child"], brief))
        self.helper = helper.address
        self.claims["helper"] = await self.claim(self.helper)

    async def claim(self, address: Address) -> Claim:
        def take(tx: Transaction) -> Claim | None:
            return claims.claim(
                tx,
                address,
                owner="proc",
                is_dead=everybody_lives,
                budgets=Budgets(),
                limits=LIMITS,
            )

        claim = await self.database.write(take)
        assert claim is not None
        return claim

    async def check(self, pattern: str, who: str = "child", **more: Any) -> str:
        claim = self.claims[who]
        by = Requester(
            claim,
            "msg_1",
            "call_1",
            "project",
            LAYERS,
            terms=ForwardTerms(self.seconds, 200),
        )
        request = PermissionRequest("bash", (pattern,), title=pattern, **more)
        try:
            await self.gate.check(request, by)
        except RejectedError as error:
            return f"rejected: {error.message}"
        except DeniedError as error:
            return f"denied: {error.message}"
        return "allowed"

    async def open(self, number: int = 1) -> list[Ask]:
        while len(found := await self.database.read(asks.listed)) < number:
            await asyncio.sleep(0.005)
        return found

    async def mail(self) -> list[InboxRow]:
        """All news of requests that the directing actor was ever sent."""
        sql = "SELECT * FROM inbox WHERE receiver_session = ? AND kind = 'permission' ORDER BY seq"
        rows = await self.database.read(lambda db: db.all(sql, (self.head.session_id,)))
        return [from_row(row) for row in rows]

    async def approve(self, ask: Ask, own: Address | None = None) -> None:
        await self.database.write(lambda tx: forwarding.approve(tx, ask.id, own or self.head))

    async def grant(self, child: str) -> list[Ask]:
        return await self.database.write(lambda tx: forwarding.grant(tx, self.head, child))

    async def reply(self, ask: Ask, answer: Any) -> None:
        await self.database.write(lambda tx: gate.reply(tx, ask.id, answer, None, "project"))


def in_a_tree(path: Path, play: Callable[[Tree], Awaitable[T]], *, interactive: bool = True) -> T:
    async def go() -> T:
        tree = Tree(path / "roost.db", interactive=interactive)
        try:
            await tree.furnish()
            return await asyncio.wait_for(play(tree), 30)
        finally:
            tree.database.close()

    return asyncio.run(go())


@pytest.mark.parametrize("who", ["child", "helper"])
def test_the_directing_actor_is_told_once_and_may_agree_once(tmp_path: Path, who: str) -> None:
    async def play(tree: Tree) -> None:
        waiting = asyncio.create_task(tree.check("make test", who))
        (ask,) = await tree.open()
        (row,) = await tree.mail()
        assert isinstance(row.body, NoteBody)
        assert ask.id in row.body.text
        assert "make test" in row.body.text
        assert (row.state, row.wake, row.sender) == ("queued", True, tree.claims[who].address)
        assert ask.deadline is not None
        assert 55_000 < ask.deadline - now_ms() <= 60_000
        await tree.approve(ask)
        assert await waiting == "allowed"
        (row,) = await tree.mail()
        assert row.state == "rejected"  # what is answered need not be told any more
        again = asyncio.create_task(tree.check("make test", who))
        assert (await tree.open())[0].id != ask.id
        with pytest.raises(ConflictError, match="answered already"):
            await tree.approve(ask)
        again.cancel()

    in_a_tree(tmp_path, play)


def test_the_row_is_one_of_the_child_and_listed_above_it_too(tmp_path: Path) -> None:
    async def play(tree: Tree) -> None:
        waiting = [
            asyncio.create_task(tree.check(f"make {who}", who)) for who in ("child", "helper")
        ]
        found = await tree.open(2)
        assert {ask.session_id for ask in found} == {tree.child.session_id}
        named = {ask.request["patterns"][0]: ask.request.get("actorID") for ask in found}
        assert named == {"make child": None, "make helper": tree.helper.actor_id}
        for top in (tree.head.session_id, tree.child.session_id):
            assert await tree.database.read(lambda db, s=top: asks.listed_below(db, s)) == found
        by_pattern = {ask.request["patterns"][0]: ask for ask in found}
        await tree.reply(by_pattern["make helper"], "once")
        await tree.reply(by_pattern["make child"], "reject")
        assert await asyncio.gather(*waiting) == ["rejected: The user refused this.", "allowed"]

    in_a_tree(tmp_path, play)


def test_whoever_answers_second_is_told_so(tmp_path: Path) -> None:
    async def play(tree: Tree) -> None:
        waiting = asyncio.create_task(tree.check("make"))
        (ask,) = await tree.open()
        await tree.approve(ask)
        with pytest.raises(ConflictError):
            await tree.reply(ask, "reject")
        assert await waiting == "allowed"

    in_a_tree(tmp_path, play)


def test_what_nobody_answers_is_refused_at_its_deadline_with_the_reason(tmp_path: Path) -> None:
    async def play(tree: Tree) -> None:
        tree.seconds = 0
        said = await tree.check("make")
        assert said.startswith("denied: ")
        assert said.endswith(", and nobody answered within 0 s")
        assert await tree.database.read(asks.listed) == []
        (row,) = await tree.mail()
        assert row.state == "rejected"

    in_a_tree(tmp_path, play)


def test_a_grant_answers_what_waits_and_lets_later_requests_of_that_child_pass(
    tmp_path: Path,
) -> None:
    async def play(tree: Tree) -> None:
        waiting = asyncio.create_task(tree.check("make"))
        await tree.open()
        assert await tree.grant("ses_another") == []
        assert not waiting.done()
        assert len(await tree.grant(tree.child.session_id)) == 1
        assert await waiting == "allowed"
        assert await tree.check("cargo build") == "allowed"
        assert await tree.check("cargo test", "helper") == "allowed"
        assert len(await tree.mail()) == 1
        # What is denied to anybody in the line stays denied.
        assert (await tree.check("rm -r x")).startswith("denied: running `rm -r x` is denied")

    in_a_tree(tmp_path, play)


@pytest.mark.parametrize(
    "forced", [{"forced": True}, {"needs_person": True}, {"forced": True, "needs_person": True}]
)
def test_what_needs_a_person_neither_approval_nor_grant_answers(
    tmp_path: Path, forced: dict[str, bool]
) -> None:
    async def play(tree: Tree) -> None:
        await tree.grant(peers.EVERY_CHILD)
        waiting = asyncio.create_task(tree.check("delete", **forced))
        (ask,) = await tree.open()
        (row,) = await tree.mail()
        assert isinstance(row.body, NoteBody)
        assert "Only a person can agree" in row.body.text
        with pytest.raises(UsageError, match="only a person"):
            await tree.approve(ask)
        assert await tree.grant(tree.child.session_id) == []
        assert not waiting.done()
        await tree.reply(ask, "once")
        assert await waiting == "allowed"

    in_a_tree(tmp_path, play)


def test_a_grant_does_not_count_for_what_its_text_does_not_tell(tmp_path: Path) -> None:
    async def play(tree: Tree) -> None:
        await tree.grant(tree.child.session_id)
        waiting = asyncio.create_task(tree.check("$TOOL", traits=(Traits(opaque=True),)))
        (ask,) = await tree.open()
        assert await tree.grant(peers.EVERY_CHILD) == []
        await tree.approve(ask)
        assert await waiting == "allowed"

    in_a_tree(tmp_path, play)


def test_only_the_actor_that_directs_the_session_may_agree(tmp_path: Path) -> None:
    async def play(tree: Tree) -> None:
        waiting = asyncio.create_task(tree.check("make", "helper"))
        (ask,) = await tree.open()
        with pytest.raises(NotFoundError, match="no session of yours"):
            await tree.approve(ask, tree.child)  # its own parent, in the same session
        with pytest.raises(NotFoundError, match="per_nothing"):
            await tree.database.write(lambda tx: forwarding.approve(tx, "per_nothing", tree.head))
        own = asyncio.create_task(tree.check("make", "head"))
        found = await tree.open(2)
        (mine,) = [one for one in found if one.session_id == tree.head.session_id]
        assert mine.deadline is None
        with pytest.raises(NotFoundError):
            await tree.approve(mine)
        for task in (waiting, own):
            task.cancel()

    in_a_tree(tmp_path, play)


def test_where_nobody_can_be_asked_it_is_refused_at_once(tmp_path: Path) -> None:
    async def play(tree: Tree) -> None:
        await tree.grant(tree.child.session_id)
        before = now_ms()
        assert "there is nobody to ask" in await tree.check("make")
        assert now_ms() - before < 1_000
        assert await tree.mail() == []

    in_a_tree(tmp_path, play, interactive=False)
