"""The words that take the place of a conversation which was too long, and the tail that stays.

Pure. What hardly changes stands first, so that providers find it in their cache after the next
shortening too. All foreign words are quoted line by line: none of them can pass for a heading.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from roost.context.estimate import tokens_in, tokens_of
from roost.context.ledger import SECTIONS, Ledger, lines_of
from roost.sessions.models import Message

TAIL_SHARE: Final = 0.4
"""Share of the room that the tail may fill."""
MOST_WORDS: Final = 48_000
"""Tokens of the words, however large the window is."""
LEAST: Final = 300
"""Tokens that the words may always have."""
_TRIMS: Final = (24_000, 8_000, 2_000, 600)
"""Characters that one text of the tail is cut to, the first that leaves room for it."""
HEAD: Final = (
    "This conversation was longer than what you can be shown at once. What follows stands for its"
    " beginning; the messages after it are its end, unchanged. Nothing is lost: the `history` tool"
    " finds every earlier message by its words, word for word. Files may have changed since they"
    " were read: read again what you rely on."
)
SEAM: Final = (
    "Go on with the work where it was left, in the sense of what the user asked for last. Do not"
    " begin anew, do not greet, and do not sum up what is written here."
)


class Heard(Struct, frozen=True):
    """Something that the user said."""

    message_id: str
    text: str


class Materials(Struct, frozen=True, kw_only=True):
    """All that the words can be made of."""

    goal: str = ""
    """What the session is to reach."""
    remembered: tuple[tuple[str, str], ...] = ()
    """Texts that were kept for long, with their headings."""
    account: str = ""
    """A checkpoint, or a summary, that a model wrote."""
    ledger: Ledger = Ledger()
    tasks: tuple[str, ...] = ()
    actors: str = ""
    """The actors at work, as a section."""
    heard: tuple[Heard, ...] = ()
    """What the user said before the tail, the newest first."""
    activity: tuple[str, ...] = ()
    """What was done before the tail, the newest last."""


class _Section(Struct, frozen=True):
    title: str
    lines: tuple[str, ...]
    """In the order in which they stand; the last ones are kept when there is no room."""
    share: float
    """Of the room, before what others leave is given away."""


_SHARES: Final = {
    "rules": 0.09,
    "decisions": 0.06,
    "dead_ends": 0.03,
    "values": 0.09,
    "printed": 0.03,
    "files": 0.05,
    "commands": 0.03,
    "failures": 0.03,
}


def compose(materials: Materials, room: int) -> str:
    """The words, of `room` tokens at most (by an estimate, and not counting a frame that is always
    there).
    """
    sections = [one for one in _sections(materials) if one.lines]
    left = min(max(room, LEAST), MOST_WORDS) - tokens_in(HEAD) - tokens_in(SEAM)
    rooms = _rooms(sections, left)
    told = [_fitted(one, most) for one, most in zip(sections, rooms, strict=True)]
    return "\n\n".join([HEAD, *filter(None, told), SEAM])


def _sections(materials: Materials) -> list[_Section]:
    kept = [
        _Section(title, _quoted(text), 0.12 if at == 0 else 0.05)
        for at, (title, text) in enumerate(materials.remembered)
    ]
    noted = [
        _Section(title, tuple(f"- {one}" for one in lines_of(materials.ledger, name)), share)
        for name, title in SECTIONS
        for share in (_SHARES[name],)
    ]
    return [
        _Section("The goal of this session", _quoted(materials.goal), 0.1),
        *kept,
        _Section("The account so far", _quoted(materials.account), 0.25),
        *noted,
        _Section("Tasks", tuple(f"- {one}" for one in materials.tasks), 0.05),
        _Section("", tuple(materials.actors.splitlines()), 0.04),
        _Section("What the user said, the newest last", _said(materials.heard), 0.25),
        _Section("What was done last", tuple(f"- {one}" for one in materials.activity), 0.08),
    ]


def _quoted(text: str) -> tuple[str, ...]:
    return tuple(f"> {line}" for line in text.strip().splitlines())


def _said(heard: Sequence[Heard]) -> tuple[str, ...]:
    """One entry for each thing that was said, so that none is told in part but by `shortened`."""
    return tuple(f"({one.message_id})\n" + "\n".join(_quoted(one.text)) for one in reversed(heard))


def _rooms(sections: Sequence[_Section], room: int) -> list[int]:
    """Tokens for each section: what it needs within its share, then in order of what is left."""
    needs = [sum(tokens_in(line) for line in one.lines) + tokens_in(one.title) for one in sections]
    whole = max(1.0, sum(one.share for one in sections))
    shares = [int(room * one.share / whole) for one in sections]
    rooms = [min(need, share) for need, share in zip(needs, shares, strict=True)]
    left = room - sum(rooms)
    by_weight = sorted(range(len(sections)), key=lambda at: -sections[at].share)
    for at in by_weight:
        more = min(max(0, left), needs[at] - rooms[at])
        rooms[at] += more
        left -= more
    return rooms


def _fitted(section: _Section, room: int) -> str:
    """A section with as many of its last lines as there is room for; empty if there is for none."""
    left = room - tokens_in(section.title)
    kept: list[str] = []
    for line in reversed(section.lines):
        left -= tokens_in(line)
        if left < 0:
            break
        kept.append(line)
    if not kept:
        return ""
    kept.reverse()
    omitted = len(section.lines) - len(kept)
    mark = [f"({omitted} older left out here; `history` finds them)"] if omitted else []
    title = [f"## {section.title}"] if section.title else []
    return "\n".join([*title, *mark, *kept])


class Tail(Struct, frozen=True):
    """The end of a conversation that stays as it is."""

    start: int
    """Its first message, as a place in the slice; the length of that if there is none."""
    tokens: int
    trim: int | None
    """Characters that are shown of one text; None: all."""


def choose_tail(messages: Sequence[Message], room: int) -> Tail:
    """The newest messages that `room` tokens hold; the last one always, with its texts cut if they
    are too long. A call and its result are one message, so nothing is torn apart.
    """
    whole = _tail(messages, room, None)
    if whole.start < len(messages) or not messages:
        return whole
    for trim in _TRIMS:
        found = _tail(messages, room, trim)
        if found.start < len(messages):
            return found
    last = len(messages) - 1
    return Tail(last, tokens_of(messages[last], _TRIMS[-1]), _TRIMS[-1])


def _tail(messages: Sequence[Message], room: int, trim: int | None) -> Tail:
    total, start = 0, len(messages)
    for at in range(len(messages) - 1, -1, -1):
        more = tokens_of(messages[at], trim)
        if total + more > room:
            break
        total, start = total + more, at
    return Tail(start, total, trim)
