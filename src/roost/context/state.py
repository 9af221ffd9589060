"""What a child is told of its parent's session when it is to know its state: a bounded digest."""

from typing import Final

from roost.core.text import cut
from roost.db.transaction import Reader
from roost.inbox.models import Address
from roost.inbox.render import as_data
from roost.sessions import transcript
from roost.sessions.models import AssistantInfo, Message, UserInfo
from roost.tasks import store as tasks
from roost.tasks.models import TERMINAL

RECENT: Final = 60
"""Messages that are looked at."""
WORDS_LIMIT: Final = 4_000
"""Characters of one quotation."""


def session_state(db: Reader, address: Address) -> str:
    """What the person asked of the actor last, what it said last, and the session's open tasks.

    Empty if nothing of that is there.
    """
    messages = transcript.load(db, address.session_id, address.actor_id, limit=RECENT)
    open_tasks = [
        f"{one.id} [{one.status}] {one.summary}"
        for one in tasks.listed(db, address.session_id)
        if one.status not in TERMINAL
    ]
    sections = (
        ("What the user asked last", _newest(messages, said_by_person=True)),
        ("What the parent said last", _newest(messages, said_by_person=False)),
        ("Open tasks", "\n".join(open_tasks)),
    )
    told = [f"## {title}\n{as_data(text)}" for title, text in sections if text]
    if not told:
        return ""
    return "<session-state>\n{}\n</session-state>".format("\n\n".join(told))


def _newest(messages: list[Message], *, said_by_person: bool) -> str:
    for message in reversed(messages):
        info = message.info
        by_person = isinstance(info, UserInfo) and info.provenance is None
        fits = by_person if said_by_person else isinstance(info, AssistantInfo)
        text = message.own_words if fits else ""
        if text:
            return cut(text, WORDS_LIMIT)
    return ""
