"""What can be seen of a turn, whether it comes from this process's bus or from the database."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.actors.models import RetryStatus
from roost.cli.run.max_lines import Choosing
from roost.config.hooks import HookPoint
from roost.events.types import Delta, Event
from roost.goals.models import Goal, Verdict
from roost.inbox.models import InboxRow, NoteBody
from roost.inbox.notices import NoticeBody
from roost.permissions.asks import Ask
from roost.sessions.models import AssistantInfo, Info, Message, UserInfo
from roost.sessions.parts import Part
from roost.turn.policies import hooks
from roost.turn.verdict import NUDGES


class Words(Struct, frozen=True):
    """More text of a part that is still growing."""

    message_id: str
    part_id: str
    text: str


class Head(Struct, frozen=True):
    """A message as it now is, without its parts."""

    info: Info


class Piece(Struct, frozen=True):
    """A part as it now is."""

    part: Part


class Gone(Struct, frozen=True):
    """A part that was taken back: the model writes its answer again."""

    message_id: str
    part_id: str


class Retrying(Struct, frozen=True):
    """A model call failed for the `attempt`-th time; the next try comes at `next` (milliseconds
    since the epoch)."""

    attempt: int
    message: str
    next: int
    tries: int | None = None
    """Tries after the first failure that there are at most."""

    @property
    def turn(self) -> str:
        """Which attempt comes next: `attempt 2 of 6`."""
        most = "" if self.tries is None else f" of {self.tries + 1}"
        return f"attempt {self.attempt + 1}{most}"


class Trouble(Struct, frozen=True):
    """The session reported an error."""

    error: dict[str, Any]
    """`{name, data: {message}}`."""


class Noticed(Struct, frozen=True):
    """The actor is told how the turn of another one ended, or that it is silent."""

    notice: NoticeBody
    mail_id: str = ""


class SentOn(Struct, frozen=True):
    """A hook has the actor go on although it was about to stop, or has ended."""

    point: HookPoint
    reason: str
    mail_id: str = ""


class AskedAgain(Struct, frozen=True):
    """A step was no good, and the model is told so."""

    budget: str
    """What of the turn's budgets that uses."""
    words: str
    mail_id: str = ""


class Asking(Struct, frozen=True):
    """Somebody at work for the prompt waits for a person's answer."""

    ask: Ask


class Judged(Struct, frozen=True):
    """The session was given a goal, or that was judged, paused or cleared."""

    goal: Goal
    verdict: Verdict | None


class Warned(Struct, frozen=True):
    """Something beside the answer went wrong that a person should know, such as a failing hook."""

    warnings: tuple[str, ...]


class Stale(Struct, frozen=True):
    """News was lost: the state must be read again."""


Sighting = (
    Words
    | Head
    | Piece
    | Gone
    | Retrying
    | Trouble
    | Noticed
    | SentOn
    | AskedAgain
    | Asking
    | Judged
    | Choosing
    | Warned
    | Stale
)


_HOOKS: Final[dict[str, HookPoint]] = {
    hooks.BUDGET: "actor.pre_stop",
    hooks.POST_BUDGET: "actor.post_stop",
}
"""What mail of a hook names as its origin."""


def sighting_of(event: Event, actor_id: str) -> Sighting | None:
    """What `event` shows of the actor's turn, if anything."""
    if isinstance(event, Delta):
        return Words(event.place.message_id, event.place.part_id, event.text)
    properties: dict[str, Any] = event.properties
    match event.type:
        case "message.updated":
            return Head(properties["info"])
        case "message.part.updated":
            part = properties["part"]
            return Piece(part) if isinstance(part, Part) else None
        case "message.part.removed":
            return Gone(properties["messageID"], properties["partID"])
        case "actor.status" if properties["actorID"] == actor_id:
            status = properties["status"]
            if isinstance(status, RetryStatus):
                return Retrying(status.attempt, status.message, status.next, status.tries)
            return None
        case "inbox.arrived":
            return mail_seen(properties["row"], actor_id)
        case "hook.executed":
            warnings = tuple(properties["warnings"])
            return Warned(warnings) if warnings else None
        case "undo.limited":
            return Warned((properties["message"],))
        case "session.goal":
            return Judged(properties["goal"], properties["verdict"])
        case "session.max_mode" if properties["actorID"] == actor_id:
            return msgspec.convert(properties, Choosing)
        case "session.error":
            return _trouble(properties, actor_id)
        case "server.resync":
            return Stale()
        case _:
            return None


Mailed = Noticed | SentOn | AskedAgain


def mail_seen(row: InboxRow, actor_id: str) -> Mailed | None:
    """What mail to the actor shows, if it is for people, too."""
    if row.receiver.actor_id != actor_id:
        return None
    if isinstance(row.body, NoticeBody):
        return Noticed(row.body, row.id)
    if isinstance(row.body, NoteBody) and (point := _HOOKS.get(row.body.origin)):
        return SentOn(point, row.body.text, row.id)
    if isinstance(row.body, NoteBody) and row.kind == "system" and row.body.origin in NUDGES:
        return AskedAgain(row.body.origin, row.body.text, row.id)
    return None


def _trouble(properties: dict[str, Any], actor_id: str) -> Trouble | None:
    if properties.get("ownerActorId", actor_id) != actor_id:
        return None
    return Trouble(msgspec.to_builtins(properties["error"]))


class Looks:
    """What looks at the database show, one after another, as if it had just been seen happening."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, None]] = {}

    def see(
        self, messages: Iterable[Message], mail: Mapping[str, Mailed] | None = None
    ) -> list[Sighting]:
        """The state that was read now; parts that are no longer there were taken back.

        `mail` is what is to be told of mail that the messages hold, by its id.
        """
        seen: list[Sighting] = []
        for message in messages:
            if isinstance(message.info, AssistantInfo):
                seen += self._message(message.info, message.parts)
            elif mail:
                seen += [mail[one] for one in mail_in(message.info) if one in mail]
        return seen

    def _message(self, info: AssistantInfo, parts: Iterable[Part]) -> list[Sighting]:
        now = {part.id: None for part in parts}
        before, self._parts[info.id] = self._parts.get(info.id, {}), now
        seen: list[Sighting] = [Gone(info.id, part_id) for part_id in before if part_id not in now]
        seen.append(Head(_begun(info)))
        seen += [Piece(part) for part in parts]
        if info.time.completed is not None:
            seen.append(Head(info))  # it says that nothing follows
        return seen


def mail_in(info: Info) -> list[str]:
    """The ids of the mail that a message consists of; none of a prompt's."""
    provenance = info.provenance if isinstance(info, UserInfo) else None
    return [str(row["id"]) for row in (provenance or {}).get("inbox", ())]


def _begun(info: AssistantInfo) -> AssistantInfo:
    """The head as it was before the message was complete."""
    return msgspec.structs.replace(info, time=msgspec.structs.replace(info.time, completed=None))
