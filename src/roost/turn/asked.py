"""A prompt with which a person asks to have the conversation shortened. It says nothing that is to
be answered, and what an earlier prompt asked for beside its words goes on to hold behind it.
"""

from collections.abc import Mapping
from typing import Any, Final

from roost.inbox.shown import is_prompt
from roost.sessions.models import Message, UserInfo

ASKED: Final[Mapping[str, Any]] = {"type": "compact"}
"""The `format` of such a prompt."""


def is_asked(message: Message) -> bool:
    """Whether a message is such a prompt."""
    info = message.info
    return isinstance(info, UserInfo) and (info.format or {}).get("type") == ASKED["type"]


def binds(message: Message) -> bool:
    """Whether a message is a prompt whose format, tools and system prompt hold until the next."""
    return isinstance(message.info, UserInfo) and is_prompt(message.info) and not is_asked(message)


def wants_answer(message: Message) -> bool:
    """Whether somebody else than Roost itself said something to the actor with a message."""
    info = message.info
    if not isinstance(info, UserInfo) or is_asked(message):
        return False
    rows = (info.provenance or {}).get("inbox", ())
    return info.provenance is None or any(row["kind"] != "system" for row in rows)
