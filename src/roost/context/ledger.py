"""What is gathered of a conversation without a model, so that it can be shortened at any moment:
which files it read and changed, the commands it ran, what failed, exact values, and sentences in
which the user set a rule or the model a decision. Pure; newest last.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.core.text import cut
from roost.inbox.shown import is_prompt
from roost.sessions.exact import EXACT, LINE, stretches
from roost.sessions.models import AssistantInfo, Message, UserInfo
from roost.sessions.parts import PatchPart, ToolCompleted, ToolFailed, ToolPart

_SCANNED: Final = 20_000
"""Characters of one text that are looked at."""
_OUTPUT: Final = 4_000
"""The same of what a tool answered: its head and its end."""
MOST: Final = {
    "files": 150,
    "commands": 60,
    "failures": 40,
    "rules": 120,
    "decisions": 120,
    "dead_ends": 60,
    "values": 250,
    "printed": 100,
}
"""Entries of each kind; beyond that the oldest go, of rules the ones in the middle."""
_RULE: Final = re.compile(
    r"\b(always|never|must|mustn't|do not|don't|only use|use only|make sure|remember|prefer|avoid"
    r"|from now on|keep in mind|no matter|important|required|forbidden|rule)\b"
    r"|必须|不要|不得|禁止|务必|一律|始终|总是|记住|只能|别再|优先|避免|从现在起",
    re.IGNORECASE,
)
_DECISION: Final = re.compile(
    r"\b(decid\w+|decision|we will use|we'll use|i will use|i'll use|chose|choosing|settled on"
    r"|agreed|going with|instead of|opted|plan is to)\b|决定|采用|改用|选择|确定用|约定",
    re.IGNORECASE,
)
_DEAD_END: Final = re.compile(
    r"\b(dead end|did not work|didn't work|does not work|doesn't work|no use|ruled out|in vain"
    r"|not the cause|won't work|cannot work|tried .{1,80} but)\b"
    r"|行不通|不起作用|无效|走不通|排除了",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？;；])\s*|\n+")
_READS: Final = frozenset({"read", "grep", "glob", "list"})


class Ledger(Struct, frozen=True, omit_defaults=True):
    """What was gathered. Lists are without doubles, the newest last."""

    files: dict[str, str] = {}
    """What was last done with a file, by path."""
    commands: tuple[str, ...] = ()
    """Command lines, with how they ended."""
    failures: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """Sentences of the user's."""
    decisions: tuple[str, ...] = ()
    dead_ends: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """Lines of what was said with something in them that must be known to the letter."""
    printed: tuple[str, ...] = ()
    """The same of what commands printed."""


class _Found:
    """Collects in order; what is said again moves to the end."""

    def __init__(self, known: Ledger) -> None:
        self.files = dict(known.files)
        self.lists: dict[str, dict[str, None]] = {
            name: dict.fromkeys(getattr(known, name)) for name in MOST if name != "files"
        }

    def add(self, name: str, entry: str) -> None:
        kept = self.lists[name]
        words = cut(" ".join(entry.split()), LINE)
        if words:
            kept.pop(words, None)
            kept[words] = None

    def touch(self, path: str, what: str) -> None:
        self.files.pop(path, None)
        self.files[path] = what

    def ledger(self) -> Ledger:
        lists = {name: _bounded(name, tuple(kept)) for name, kept in self.lists.items()}
        files = dict(list(self.files.items())[-MOST["files"] :])
        return Ledger(files=files, **lists)


def _bounded(name: str, entries: tuple[str, ...]) -> tuple[str, ...]:
    most = MOST[name]
    if len(entries) <= most:
        return entries
    if name != "rules":
        return entries[-most:]
    half = most // 2
    return entries[:half] + entries[-half:]


def gathered(messages: Iterable[Message], known: Ledger | None = None) -> Ledger:
    """`known` with what `messages` add to it."""
    found = _Found(known or Ledger())
    for message in messages:
        info = message.info
        if isinstance(info, UserInfo) and is_prompt(info):
            _of_user(found, message.own_words[:_SCANNED])
        elif isinstance(info, AssistantInfo):
            _of_model(found, message.own_words[:_SCANNED])
            for part in message.parts:
                if isinstance(part, ToolPart):
                    _of_tool(found, part)
                elif isinstance(part, PatchPart):
                    for path in part.files:
                        found.touch(path, "changed")
    return found.ledger()


def sentences(text: str) -> list[str]:
    """The sentences and lines of `text` that say something."""
    return [one.strip(" \t-*>#") for one in _SENTENCE.split(text) if one.strip(" \t-*>#")]


def _of_user(found: _Found, text: str) -> None:
    for sentence in sentences(text):
        if _RULE.search(sentence):
            found.add("rules", sentence)
    _values(found, text)


def _of_model(found: _Found, text: str) -> None:
    for sentence in sentences(text):
        if _DEAD_END.search(sentence):
            found.add("dead_ends", sentence)
        elif _DECISION.search(sentence):
            found.add("decisions", sentence)
    _values(found, text)


def _values(found: _Found, text: str, name: str = "values") -> None:
    for line in stretches(text):
        if EXACT.search(line):
            found.add(name, line)


def _of_tool(found: _Found, part: ToolPart) -> None:
    given: Mapping[str, Any] = part.state.input
    match part.state:
        case ToolCompleted() as state:
            if part.tool == "bash":
                found.add("commands", _command(given, state.metadata))
                _values(found, _ends(state.output), "printed")
            elif (path := _path(given)) is not None:
                found.touch(path, "read" if part.tool in _READS else "changed")
        case ToolFailed() as state:
            about = _command(given, {}) if part.tool == "bash" else _path(given) or ""
            found.add("failures", f"{part.tool} {about}: {_first_line(state.error)}")
        case _:
            pass


def _command(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    line = " ".join(str(given.get("command", "")).split())
    code = metadata.get("exit")
    return f"{line} → exit {code}" if isinstance(code, int) and code else line


def _path(given: Mapping[str, Any]) -> str | None:
    named = (given.get(key) for key in ("filePath", "file_path", "path"))
    return next((one for one in named if isinstance(one, str) and one), None)


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _ends(text: str) -> str:
    if len(text) <= _OUTPUT:
        return text
    half = _OUTPUT // 2
    return f"{text[:half]}\n{text[-half:]}"


_decoder: Final = msgspec.json.Decoder(Ledger)


def decode(data: str) -> Ledger:
    """A ledger from JSON text; one that cannot be read is empty, for it can be gathered again."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        return Ledger()


def encode(ledger: Ledger) -> str:
    """A ledger as JSON text."""
    return msgspec.json.encode(ledger).decode()


SECTIONS: Final[Sequence[tuple[str, str]]] = (
    ("rules", "Rules that the user set (their words)"),
    ("decisions", "Decisions"),
    ("dead_ends", "What did not work"),
    ("values", "Exact values, as they were written"),
    ("printed", "Exact values that commands printed"),
    ("files", "Files, and what was last done with them"),
    ("commands", "Commands that were run"),
    ("failures", "What failed"),
)
"""The kinds of entries in the order in which they are told, with their headings."""


def lines_of(ledger: Ledger, name: str) -> tuple[str, ...]:
    """The entries of one kind, the newest last."""
    if name == "files":
        return tuple(f"{path}: {what}" for path, what in ledger.files.items())
    return tuple(getattr(ledger, name))
