"""Follows one prompt to the end of the turn that took it up.

What this process does itself comes over its bus. When another process runs the session the prompt
steers it, and its work is seen by reading the database again and again.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Final, Self, TypeVar

from msgspec import Struct

from roost.cli.run.max_lines import Choosing
from roost.cli.run.sightings import (
    AskedAgain,
    Asking,
    Gone,
    Head,
    Judged,
    Looks,
    Mailed,
    Noticed,
    Piece,
    Retrying,
    SentOn,
    Sighting,
    Stale,
    Trouble,
    Warned,
    Words,
    mail_in,
    mail_seen,
    sighting_of,
)
from roost.cli.run.stopping import Stop
from roost.core.errors import ConflictError, NotFoundError, RoostError
from roost.events.bus import Subscription
from roost.events.types import Delta, Event
from roost.goals.models import Goal
from roost.inbox import store as inbox
from roost.inbox.models import Address
from roost.permissions import asks
from roost.runtime.models import TurnResult
from roost.runtime.runtime import Runtime
from roost.sessions.models import AssistantInfo, Info, Message, agent_id_of

POLL_SECONDS: Final = 0.3
WINDOW_SECONDS: Final = 0.016
"""Deltas that come within this time are shown together."""
SNAPSHOT: Final = 100
"""Messages that one look at the database takes in."""
TROUBLES: Final = 3
"""Times that the turn may fail to start before the run gives up."""

T = TypeVar("T")
Show = Callable[[list[Sighting]], Awaitable[None]]


class Followed(Struct, frozen=True):
    """How following ended. All empty: the prompt was taken back before anybody read it."""

    result: TurnResult | None = None
    failure: RoostError | None = None
    """Why there is no result: nothing more can be waited for."""
    left: bool = False
    """The turn goes on in another process."""
    cut: bool = False
    """The turn had ended, and what it had left at work was stopped."""
    goal: Goal | None = None
    """What the session was to reach with this prompt, as it stands at the end."""


class _Slice:
    """Which messages belong to the answer."""

    def __init__(self, address: Address) -> None:
        self._agent_id = agent_id_of(address.session_id, address.actor_id)
        self._known: set[str] = set()
        self._mail: set[str] = set()
        self._looks = Looks()

    def takes(self, sighting: Sighting) -> bool:
        """Whether `sighting` is about the answer; a message that is new and open joins it."""
        match sighting:
            case Head(info=info):
                return info.id in self._known or self._joins(info)
            case Words(message_id=message_id) | Gone(message_id=message_id):
                return message_id in self._known
            case Piece(part=part):
                return part.message_id in self._known
            case Noticed(mail_id=mail_id) | SentOn(mail_id=mail_id) | AskedAgain(mail_id=mail_id):
                return self._is_new(mail_id)
            case Retrying() | Trouble() | Asking() | Warned() | Stale():
                return True
            case Judged() | Choosing():
                return True

    def _joins(self, info: Info) -> bool:
        """A message that is complete when first seen is an older one that was mended."""
        if not isinstance(info, AssistantInfo) or info.agent_id != self._agent_id:
            return False
        if info.time.completed is not None:
            return False
        self._known.add(info.id)
        return True

    def _is_new(self, mail_id: str) -> bool:
        """Mail is seen when it arrives, and again where it is heard."""
        is_new = mail_id not in self._mail
        self._mail.add(mail_id)
        return is_new

    def of(self, messages: list[Message], mail: dict[str, Mailed]) -> list[Sighting]:
        """What `messages` show, an answer as it is stored with mail that it heard; they belong to
        it from now on.
        """
        self._known.update(message.info.id for message in messages)
        fresh = {one: seen for one, seen in mail.items() if self._is_new(one)}
        return self._looks.see(messages, fresh)


class _Tasks:
    """Tasks that end with the block; whatever fails in the block comes out as it is."""

    def __init__(self) -> None:
        self._pending: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._pending.add(task)
        return task

    async def wait(self, timeout: float) -> "set[asyncio.Task[Any]]":
        """The tasks that are done now; each is given once."""
        done, self._pending = await asyncio.wait(
            self._pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
        )
        return done

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._pending:
            task.cancel()
        await asyncio.gather(*self._pending, return_exceptions=True)


def _without_words(events: Iterable[Event]) -> deque[Event]:
    return deque(event for event in events if not isinstance(event, Delta))


class Follower:
    """One prompt on its way. `news` must have been subscribed before the prompt was sent."""

    def __init__(
        self, runtime: Runtime, address: Address, message_id: str, *, news: Subscription, stop: Stop
    ) -> None:
        self._runtime = runtime
        self._address = address
        self._message_id = message_id
        self._news = news
        self._stop = stop
        self._slice = _Slice(address)
        self._troubles: list[Trouble] = []
        self._asked: set[str] = set()
        self._cut = False

    async def follow(self, show: Show) -> Followed:
        """Hand everything to `show` until the turn has ended or the run is stopped."""
        async with _Tasks() as tasks:
            ended = tasks.start(self._ended())
            stopped = tasks.start(self._stop.asked.wait())
            news = tasks.start(self._news.batch(WINDOW_SECONDS))
            outcome: Followed | None = None
            while outcome is None and not ended.done():
                done = await tasks.wait(POLL_SECONDS)
                if news in done:
                    await self._show_events(news.result(), show)
                    news = tasks.start(self._news.batch(WINDOW_SECONDS))
                if stopped in done:
                    outcome = await self._end_turn()
                if not done:
                    await show(await self._look())
                if len(self._troubles) >= TROUBLES and not ended.done():
                    outcome = await self._give_up()
        if outcome is None:
            outcome = ended.result()
            await self._show_events(self._news.take(), show)
            await show(await self._snapshot())
        return outcome

    @property
    def _runs_here(self) -> bool:
        return self._runtime.scheduler.is_running(self._address)

    async def _ended(self) -> Followed:
        try:
            session_id = self._address.session_id
            result = await self._runtime.wait_turn(session_id, self._message_id)
            if result.turn.outcome == "interrupted":
                return Followed(result)  # whoever took the actor over goes on with it and its tree
            if result.turn.outcome == "success":
                last = await self._runtime.wait_tree(self._address, result)
                return Followed(last, cut=self._cut)
            # What comes of a turn that the news of others began meanwhile is no end of this one.
            await self._runtime.stop_below(self._address)
            await self._runtime.wait_tree(self._address, result)
            return Followed(result)
        except NotFoundError:
            return Followed()
        except RoostError as error:
            return Followed(failure=error)

    async def _show_events(self, events: Iterable[Event], show: Show) -> None:
        seen: list[Sighting] = []
        waiting = deque(events)
        if any(event.type == "server.resync" for event in waiting):
            waiting = _without_words(waiting)  # with gaps between them: the state has them all
        while waiting:
            event = waiting.popleft()
            sighting = sighting_of(event, self._address.actor_id)
            if isinstance(
                sighting, Head
            ):  # mail that came from elsewhere is seen where it is heard
                heard = await self._mail_in([sighting.info])
                seen += filter(self._slice.takes, heard.values())
            if sighting is None or not self._slice.takes(sighting):
                continue
            if isinstance(sighting, Stale):
                seen += await self._snapshot()
                waiting += _without_words(self._news.take())  # the state has these words too
            elif isinstance(sighting, Trouble):
                self._troubles.append(sighting)
            seen.append(sighting)
        await show(seen)

    async def _look(self) -> list[Sighting]:
        """What no event of this process tells: the work of others, and what waits for a person."""
        seen = [] if self._runs_here else await self._snapshot()
        return [*seen, *await self._asking()]

    async def _asking(self) -> list[Sighting]:
        """The requests that wait and were not shown before."""
        session_id = self._address.session_id
        waiting = await self._runtime.database.read(lambda db: asks.listed_below(db, session_id))
        fresh = [ask for ask in waiting if ask.id not in self._asked]
        self._asked.update(ask.id for ask in fresh)
        return [Asking(ask) for ask in fresh]

    async def _snapshot(self) -> list[Sighting]:
        messages = await self._runtime.transcripts.answer(
            self._address.session_id, self._message_id, limit=SNAPSHOT
        )
        mail = await self._mail_in(message.info for message in messages)
        return self._slice.of(messages, mail)

    async def _mail_in(self, heads: Iterable[Info]) -> dict[str, Mailed]:
        """What is to be told of the mail that these messages consist of, by its id."""
        ids = [one for info in heads for one in mail_in(info)]
        if not ids:
            return {}
        rows = await self._runtime.database.read(lambda db: [inbox.find(db, one) for one in ids])
        seen = {row.id: mail_seen(row, self._address.actor_id) for row in rows if row is not None}
        return {one: sighting for one, sighting in seen.items() if sighting is not None}

    async def _end_turn(self) -> Followed | None:
        """Take the prompt back if nobody has read it, else stop the turn if it runs here, and what
        it has left at work if it has ended.
        """
        if await self._withdraw():
            return None
        address = self._address
        if (await self._runtime.actor(address)).status == "idle":
            self._cut = await self._runtime.stop_below(address)
        elif not self._runs_here:
            return Followed(left=True)
        else:
            await self._runtime.abort(address.session_id, actor_id=address.actor_id, tree=True)
        return None

    async def _withdraw(self) -> bool:
        try:
            await self._runtime.withdraw(self._message_id)
        except ConflictError:
            return False
        return True

    async def _give_up(self) -> Followed:
        await self._withdraw()
        message = self._troubles[-1].error.get("data", {}).get("message", "unknown error")
        error = RoostError(f"the turn cannot go on: {message}")
        return Followed(failure=error)
