"""What a message says, for people: without the marks by which models tell who speaks to them.

Whoever wants it as a model reads it exports the session.
"""

import re
from html import unescape
from typing import Final

from roost.actors.header import RETURN_FORMAT
from roost.sessions.models import Message, UserInfo
from roost.sessions.parts import TextPart

_BLOCK: Final = re.compile(
    r"<(?P<kind>system-reminder|notice|permission|message|brief)"
    r"(?P<attributes>(?: [a-z-]+=\"[^\"]*\")*)>\n(?P<body>.*?)\n</(?P=kind)>",
    re.DOTALL,
)
"""One row of an inbox as `inbox.render` writes it. Nothing in its body can end it."""
_ATTRIBUTE: Final = re.compile(r"([a-z-]+)=\"([^\"]*)\"")
_HOW_TO_END: Final = RETURN_FORMAT.strip("\n")


def plain(part: TextPart) -> str:
    """The words of `part`. What a person or a model has written stays as it is."""
    text = _BLOCK.sub(_words, part.text) if part.synthetic else part.text
    return without_format(text)


def without_format(text: str) -> str:
    """A brief without what is said to the child about the form of its report."""
    return text.replace(_HOW_TO_END, "").strip("\n")


def said_by(message: Message) -> str:
    """Who says a message that is no model's answer: `you`, an actor, `roost`, or it is a brief."""
    provenance = message.info.provenance if isinstance(message.info, UserInfo) else None
    if provenance is None:
        return "you"
    if {row["kind"] for row in provenance.get("inbox", ())} == {"brief"}:
        return "brief"
    senders = [_sender(part) for part in message.parts if isinstance(part, TextPart)]
    return ", ".join(dict.fromkeys(one or "roost" for one in senders))


def _sender(part: TextPart) -> str | None:
    """The actor whose words `part` is; None if it is news of Roost itself."""
    match = _BLOCK.match(part.text) if part.synthetic else None
    return _attributes(match).get("from") if match and match["kind"] == "message" else None


def _words(match: re.Match[str]) -> str:
    body = unescape(match["body"])
    subject = _attributes(match).get("subject") if match["kind"] == "message" else None
    return f"{subject}: {body}" if subject else body


def _attributes(match: re.Match[str]) -> dict[str, str]:
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(match["attributes"])}
