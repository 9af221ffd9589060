import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from stage import HELPER, LIMITS, everybody_lives, furnish, note, recover

from roost.actors import claim as claims
from roost.actors.models import Budgets, Claim
from roost.actors.send import send
from roost.core.errors import ConflictError, DeniedError, NotFoundError, StaleFenceError
from roost.db.database import Database
from roost.events.bus import Bus, Subscription
from roost.inbox.models import Address
from roost.permissions import asks
from roost.permissions.asks import Ask, RejectedError
from roost.permissions.gate import Gate, Requester, reply
from roost.permissions.models import Layer, PermissionRequest, Rule

T = TypeVar("T")
LAYERS = (
    Layer(
        "test",
        "user",
        (
            Rule("*", "*", "ask"),
            Rule("read", "*", "allow"),
            Rule("bash", "rm *", "deny"),
        ),
    ),
)


class Desk:
    """A gate, the rows behind it, and a person who answers."""

    def __init__(self, path: Path, *, interactive: bool = True, yes: bool = False) -> None:
        self.bus = Bus()
        self.database = Database.open(path, self.bus)
        self.gate = Gate(self.database, self.bus, interactive=interactive, yes=yes)
        self.claims: dict[str, Claim] = {}
        self.news: Subscription

    async def furnish(self) -> None:
        session_id = await self.database.write(furnish)
        for actor_id in ("main", HELPER):
            address = Address(session_id, actor_id)
            await self.database.write(lambda tx, a=address: send(tx, note(a, "go")))
            claim = await self.database.write(
                lambda tx, a=address: claims.claim(
                    tx,
                    a,
                    owner="proc",
                    is_dead=everybody_lives,
                    budgets=Budgets(),
                    limits=LIMITS,
                )
            )
            assert claim is not None
            self.claims[actor_id] = claim

    async def take_over(self) -> None:
        """Let another process take up the main actor, as if this one had died."""
        address = self.claims["main"].address
        await self.database.write(
            lambda tx: claims.recover_actor(tx, address, lambda _: True, LIMITS)
        )

    def by(self, actor_id: str = "main") -> Requester:
        claim = self.claims[actor_id]
        return Requester(claim, "msg_1", "call_1", "project", LAYERS)

    async def check(self, *patterns: str, permission: str = "bash", actor: str = "main") -> None:
        request = PermissionRequest(permission, patterns, always=tuple(f"{p} *" for p in patterns))
        await self.gate.check(request, self.by(actor))

    async def open(self, number: int = 1) -> list[Ask]:
        """The open requests, once there are so many."""
        while True:
            found = await self.database.read(asks.listed)
            if len(found) >= number:
                return found
            await asyncio.sleep(0.005)

    async def reply(self, ask: Ask, answer: Any, message: str | None = None) -> None:
        await self.database.write(lambda tx: reply(tx, ask.id, answer, message, "project"))


def at_a_desk(path: Path, play: Callable[[Desk], Awaitable[T]], **how: bool) -> T:
    async def go() -> T:
        desk = Desk(path / "roost.db", **how)
        try:
            await desk.furnish()
            with desk.bus.subscribe(lambda event: "." in event.type) as desk.news:
                return await play(desk)
        finally:
            desk.database.close()

    return asyncio.run(go())


async def outcome(check: Awaitable[None]) -> str:
    try:
        await check
    except RejectedError as error:
        return f"rejected, {'stop' if error.blocks else 'go on'}: {error.message}"
    except DeniedError as error:
        return f"denied: {error.message}"
    return "allowed"


def test_what_rules_settle_reaches_no_person(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        await desk.check("a.txt", permission="read")
        assert (await outcome(desk.check("rm -rf /"))).startswith("denied: ")
        assert await desk.database.read(asks.listed) == []

    at_a_desk(tmp_path, play)


def test_a_request_is_a_row_that_clients_see_and_its_answer_lets_the_tool_go_on(
    tmp_path: Path,
) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(outcome(desk.check("make test")))
        (ask,) = await desk.open()
        assert ask.id.startswith("per_")
        assert ask.request["patterns"] == ["make test"]
        assert ask.request["tool"] == {"messageID": "msg_1", "callID": "call_1"}
        await asyncio.sleep(0.02)
        assert not waiting.done()
        await desk.reply(ask, "once")
        assert await waiting == "allowed"
        types = [event.type for event in desk.news.take()]
        assert types == ["permission.asked", "permission.replied"]
        assert await desk.database.read(asks.listed) == []

    at_a_desk(tmp_path, play)


def test_requests_of_several_actors_are_all_listed_and_answered_in_any_order(
    tmp_path: Path,
) -> None:
    async def play(desk: Desk) -> None:
        names = ["main", HELPER, "main", HELPER]
        waiting = [
            asyncio.create_task(outcome(desk.check(f"tool-{n}", actor=actor)))
            for n, actor in enumerate(names)
        ]
        found = await desk.open(4)
        assert sorted(ask.actor_id for ask in found) == sorted(names)
        by_pattern = {ask.request["patterns"][0]: ask for ask in found}
        await desk.reply(by_pattern["tool-3"], "once")
        await desk.reply(by_pattern["tool-1"], "reject", "use make instead")
        await desk.reply(by_pattern["tool-0"], "once")
        await desk.reply(by_pattern["tool-2"], "once")
        assert await asyncio.gather(*waiting) == [
            "allowed",
            "rejected, go on: The user refused this and says: use make instead",
            "allowed",
            "allowed",
        ]

    at_a_desk(tmp_path, play)


def test_a_plain_no_stops_the_turn_and_closes_its_other_requests_only(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        first = asyncio.create_task(outcome(desk.check("one")))
        second = asyncio.create_task(outcome(desk.check("two")))
        other = asyncio.create_task(outcome(desk.check("three", actor=HELPER)))
        by_pattern = {ask.request["patterns"][0]: ask for ask in await desk.open(3)}
        await desk.reply(by_pattern["one"], "reject")
        assert await first == "rejected, stop: The user refused this."
        assert (await second).startswith("rejected, stop: The request was withdrawn")
        (left,) = await desk.open()
        assert left.request["patterns"] == ["three"]
        await desk.reply(left, "once")
        assert await other == "allowed"

    at_a_desk(tmp_path, play)


def test_always_is_remembered_and_answers_what_it_covers(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = [
            asyncio.create_task(outcome(desk.check(command)))
            for command in ("make", "make test", "cargo run")
        ]
        by_pattern = {ask.request["patterns"][0]: ask for ask in await desk.open(3)}
        await desk.reply(by_pattern["make"], "always")
        assert await waiting[0] == "allowed"
        assert await waiting[1] == "allowed"
        assert not waiting[2].done()
        await asyncio.wait_for(desk.check("make docs"), 5)
        assert await desk.database.read(lambda db: asks.grants_of(db, "project")) == [
            ("bash", "make *")
        ]
        assert await desk.database.read(lambda db: asks.grants_of(db, "elsewhere")) == []
        assert (await outcome(desk.check("rm -rf /"))).startswith("denied")
        await desk.reply(by_pattern["cargo run"], "once")
        assert await waiting[2] == "allowed"

    at_a_desk(tmp_path, play)


def test_an_answer_is_given_once(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(outcome(desk.check("one")))
        (ask,) = await desk.open()
        await desk.reply(ask, "once")
        with pytest.raises(ConflictError, match="answered already"):
            await desk.reply(ask, "reject")
        assert await waiting == "allowed"
        with pytest.raises(NotFoundError, match="per_nothing"):
            await desk.database.write(lambda tx: reply(tx, "per_nothing", "once", None, "project"))
        with pytest.raises(NotFoundError, match="no question request"):
            await desk.database.write(lambda tx: asks.answer(tx, ask.id, "question", {}))

    at_a_desk(tmp_path, play)


def test_an_answer_through_another_process_is_noticed(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(outcome(desk.check("one")))
        (ask,) = await desk.open()
        elsewhere = Database.open(tmp_path / "roost.db", Bus())
        await elsewhere.write(lambda tx: reply(tx, ask.id, "once", None, "project"))
        elsewhere.close()
        assert await asyncio.wait_for(waiting, 10) == "allowed"

    at_a_desk(tmp_path, play)


def test_a_request_whose_caller_is_stopped_is_withdrawn(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(desk.check("one"))
        (ask,) = await desk.open()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await desk.database.read(asks.listed) == []
        with pytest.raises(ConflictError, match="withdrawn already"):
            await desk.reply(ask, "once")
        assert [event.type for event in desk.news.take()] == [
            "permission.asked",
            "permission.replied",
        ]

    at_a_desk(tmp_path, play)


def test_requests_of_turns_that_ended_are_withdrawn(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = [
            asyncio.create_task(outcome(desk.check("one"))),
            asyncio.create_task(outcome(desk.check("two", actor=HELPER))),
        ]
        await desk.open(2)
        await desk.database.write(lambda tx: recover(tx, lambda _owner: False))
        await desk.database.write(asks.withdraw_lost)
        assert len(await desk.open(2)) == 2
        await desk.database.write(lambda tx: asks.withdraw_open(tx, desk.claims[HELPER].turn.id))
        assert (await waiting[1]).startswith("rejected, stop")
        await desk.database.write(lambda tx: recover(tx, lambda _owner: True))
        await desk.database.write(asks.withdraw_lost)
        assert (await waiting[0]).startswith("rejected, stop")

    at_a_desk(tmp_path, play)


def test_where_nobody_is_there_the_answer_is_no_at_once_and_says_why(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        began = time.monotonic()
        with pytest.raises(DeniedError) as caught:
            await desk.check("date", actor=HELPER)
        assert "start the run with --yes" in caught.value.hint
        assert caught.value.message
        await desk.check("a.txt", permission="read")
        with pytest.raises(DeniedError, match="Nobody is there to answer"):
            await desk.gate.question([], desk.by())
        assert time.monotonic() - began < 5
        assert desk.news.take() == []

    at_a_desk(tmp_path, play, interactive=False)


@pytest.mark.parametrize("interactive", [True, False])
def test_yes_to_all_allows_what_would_be_asked_and_never_what_is_denied(
    tmp_path: Path, interactive: bool
) -> None:
    async def play(desk: Desk) -> None:
        await desk.check("date")
        assert (await outcome(desk.check("rm -rf /"))).startswith("denied")
        assert desk.news.take() == []

    at_a_desk(tmp_path, play, interactive=interactive, yes=True)


def test_a_question_gives_the_labels_that_were_chosen(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        questions = [{"question": "Which?", "header": "W", "options": []}]
        answered = asyncio.create_task(desk.gate.question(questions, desk.by()))
        (ask,) = await desk.open()
        assert (ask.kind, ask.request["questions"]) == ("question", questions)
        words: dict[str, Any] = {"answers": [["the red one"]]}
        await desk.database.write(lambda tx: asks.answer(tx, ask.id, "question", words))
        assert await answered == [["the red one"]]
        silent = asyncio.create_task(desk.gate.question(questions, desk.by()))
        (ask,) = await desk.open()
        no: dict[str, Any] = {"rejected": True}
        await desk.database.write(lambda tx: asks.answer(tx, ask.id, "question", no))
        with pytest.raises(RejectedError, match="did not answer"):
            await silent
        assert [event.type for event in desk.news.take()] == [
            "question.asked",
            "question.replied",
            "question.asked",
            "question.rejected",
        ]

    at_a_desk(tmp_path, play)


def test_a_turn_that_was_lost_asks_nobody(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        waiting = asyncio.create_task(outcome(desk.check("make")))
        (ask,) = await desk.open()
        await desk.take_over()
        with pytest.raises(StaleFenceError):
            await desk.check("make docs")
        with pytest.raises(StaleFenceError):
            await desk.gate.question([{"question": "Which?"}], desk.by())
        assert await desk.open() == [ask]
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await desk.database.read(asks.listed) == []

    at_a_desk(tmp_path, play)
