"""What the runtime says beside new words to an actor.

That it plans now, or may work again, is stored once, as a row of the actor's own inbox. That a
person spoke while it was at work is said at the end of the requests of that turn, behind all that
is cached, and kept nowhere: it is about how the words came, which nobody wants to read later.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.actors.models import Claim
from roost.actors.send import send
from roost.context.modes import ModeNews, mode_news, told
from roost.db.transaction import Transaction
from roost.inbox.drain import drain
from roost.inbox.models import Letter, NoteBody
from roost.sessions.models import Message, UserInfo
from roost.sessions.parts import TextPart
from roost.sessions.plan_file import plan_file
from roost.turn.world import World

STEERED: Final = (
    "The user's last {messages} came while you were at work. Heed {them} from now on. If that"
    " changes what you were doing, change it; if not, go on with it afterwards: what is not"
    " finished is still to be done, unless the user says otherwise."
)
STACKED: Final = (
    "The user's last {count} messages are not answered yet. Heed all of them, the newest first"
    " where they differ."
)


class Remarks(Struct, frozen=True):
    """Writes the remarks of one turn."""

    world: World
    claim: Claim

    def behind(
        self, tx: Transaction, slice_: Sequence[Message], new: Sequence[Message]
    ) -> list[Message]:
        """What is stored behind `new`, which was just delivered to an actor that knows `slice_`."""
        heard = [message.info for message in new if isinstance(message.info, UserInfo)]
        if not heard or self.claim.actor.cancel is not None:
            return []
        news = self._mode(heard[-1].agent, (*slice_, *new))
        if news is None:
            return []
        self._send(tx, news.mode, news.words, heard[-1].id)
        address, turn_id = self.claim.address, self.claim.turn.id
        return drain(tx, address, turn_id, agent=heard[-1].agent, model=heard[-1].model)

    def _mode(self, agent: str, known: Sequence[Message]) -> ModeNews | None:
        world = self.world
        plan = plan_file(world.session)
        return mode_news(
            told(known),
            plans=world.resolve_agent(agent).plans,
            below=any(one.plans for one in world.lenders),
            plan=plan,
            written=(world.place.root / plan).is_file(),
        )

    def _send(self, tx: Transaction, origin: str, words: str, behind: str) -> None:
        letter = Letter(
            receiver=self.claim.address,
            kind="system",
            body=NoteBody(words, origin=origin),
            sender=self.claim.address,
            sender_turn=self.claim.turn.id,
            key=f"{origin}:{behind}",
        )
        send(tx, letter)


def steering(new: Sequence[Message], *, begun: bool) -> str:
    """What to say of words of a person among `new`; empty if they are a turn's usual beginning.

    `begun`: the turn had taken a step before.
    """
    count = sum(map(_is_said, new))
    if begun and count:
        one = count == 1
        return STEERED.format(
            messages="message" if one else f"{count} messages", them="it" if one else "them"
        )
    return STACKED.format(count=count) if count > 1 else ""


def _is_said(message: Message) -> bool:
    """Whether a person wrote something in it."""
    info = message.info
    if not isinstance(info, UserInfo) or info.provenance is not None:
        return False
    return any(not isinstance(part, TextPart) or not part.synthetic for part in message.parts)
