"""The record that a judge is given: bounded, evidence apart from claims, marked as data. Pure.

Whatever others wrote stands behind a bar at the beginning of each line, so that no text can put on
the heading of a section, or pass for an entry of another one.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from roost.core.amounts import counted
from roost.goals.models import Verdict
from roost.sessions.models import AssistantInfo, Message, UserInfo
from roost.sessions.parts import Part, TextPart, ToolCompleted, ToolFailed, ToolPart

PROMPTS: Final = 6_000
FILES: Final = 3_000
COMMANDS: Final = 10_000
TAIL: Final = 14_000
EARLIER: Final = 2_000
"""Bytes of each section of a record, at most."""
LARGEST: Final = PROMPTS + 2 * FILES + COMMANDS + TAIL + EARLIER + 2_000
"""Bytes of a whole record, headings included."""
ONE_PROMPT: Final = 3_000
ONE_COMMAND: Final = 1_600
ONE_SAYING: Final = 2_400
ONE_RESULT: Final = 700
"""Bytes of one entry of a section: its beginning and its end."""
_COMMAND_LINE: Final = 500
_LINE: Final = 300
_BAR: Final = "| "
_HEAD_SHARE: Final = 0.4
"""Of what is kept of a long text; results stand at the end."""
_OLDER: Final = "[older ones are left out]"
_NOTHING: Final = "(nothing)"
_SHELL: Final = "bash"


class Evidence(Struct, frozen=True, kw_only=True):
    """What a record is made of."""

    messages: tuple[Message, ...]
    """The conversation, oldest first."""
    changed: tuple[str, ...] | None = None
    """Files that differ from the last commit, a line each; None: nobody can tell."""
    earlier: tuple[Verdict, ...] = ()
    """What was said of the same goal before, oldest first."""


class _Step(Struct, frozen=True):
    """A message, and the how many-th step of the agent it is or stands behind."""

    number: int
    message: Message


def record(evidence: Evidence) -> str:
    """The record, at most `LARGEST` bytes of UTF-8."""
    steps = _numbered(evidence.messages)
    total = steps[-1].number if steps else 0
    sections = [
        ("What the person asked for, the newest last", _newest(_prompts(steps), PROMPTS)),
        ("What judges found missing before", _newest(_earlier(evidence.earlier), EARLIER)),
        ("Evidence: files that the agent's tools changed", _newest(_files(steps), FILES)),
        *_differing(evidence.changed),
        ("Evidence: the newest commands, and what they returned", _newest(_runs(steps), COMMANDS)),
        (
            "The end of the conversation; what the agent says is a claim",
            _newest(_tail(steps), TAIL),
        ),
    ]
    shown = "\n\n".join(f"## {head}\n{body}" for head, body in sections)
    return f"The agent took {counted(total, 'step')}; numbers count them.\n\n{shown}"


def marked(text: str) -> str:
    """`text` between two lines with a mark that cannot stand in it, since it is made of `text`."""
    mark = sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
    return f"--- record {mark} ---\n{text}\n--- end of record {mark} ---"


def quoted(text: str, limit: int) -> str:
    """`text` with a bar before each line, in at most `limit` bytes: all of it, or its beginning and
    its end.
    """
    data = "\n".join(_BAR + line for line in text.splitlines()).encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    note = f"\n{_BAR}[… {len(data) - limit:,} bytes left out …]\n{_BAR}"
    room = max(0, limit - len(note.encode()))
    head = int(room * _HEAD_SHARE)
    begin = data[:head].decode(errors="ignore")
    end = data[len(data) - (room - head) :].decode(errors="ignore")
    return begin + note + end


def _line(text: str, limit: int = _LINE) -> str:
    """The same of what is one line, without a bar."""
    return quoted(" ".join(text.split()), limit).removeprefix(_BAR).replace("\n" + _BAR, " ")


def _newest(entries: Iterable[str], limit: int) -> str:
    """As many of `entries`, which come newest first, as fit into `limit` bytes; oldest first."""
    kept: list[str] = []
    room = limit - len(_OLDER.encode()) - 1
    for entry in entries:
        room -= len(entry.encode()) + 1
        if room < 0:
            kept.append(_OLDER)
            break
        kept.append(entry)
    return "\n".join(reversed(kept)) or _NOTHING


def _numbered(messages: Iterable[Message]) -> list[_Step]:
    found: list[_Step] = []
    number = 0
    for message in messages:
        if isinstance(message.info, AssistantInfo):
            if message.info.hidden:
                continue
            number += 1
        found.append(_Step(number, message))
    return found


def _prompts(steps: Sequence[_Step]) -> Iterable[str]:
    for step in reversed(steps):
        if _by_a_person(step.message) and (text := _words(step.message.parts)):
            yield f"[behind step {step.number}]\n{quoted(text, ONE_PROMPT)}"


def _by_a_person(message: Message) -> bool:
    return isinstance(message.info, UserInfo) and message.info.provenance is None


def _words(parts: Iterable[Part], *, also_ours: bool = False) -> str:
    texts = [
        part.text
        for part in parts
        if isinstance(part, TextPart) and not part.ignored and (also_ours or not part.synthetic)
    ]
    return "\n".join(text for text in texts if text.strip()).strip()


def _earlier(verdicts: Sequence[Verdict]) -> list[str]:
    return [quoted(one.reason, 2 * _LINE) for one in reversed(verdicts) if one.result == "gap"]


def _differing(changed: tuple[str, ...] | None) -> list[tuple[str, str]]:
    if changed is None:
        return []
    head = "Evidence: files that differ from the last commit, whoever changed them"
    return [(head, _newest([_BAR + _line(line) for line in changed[::-1]], FILES))]


def _files(steps: Sequence[_Step]) -> list[str]:
    """One line a file, in the order of the last change."""
    found: dict[str, tuple[int, int, int]] = {}
    for step in steps:
        changes = [change for part in step.message.parts for change in _changes(part)]
        for path, added, removed in changes:
            _, before, gone = found.pop(path, (0, 0, 0))
            found[path] = (step.number, before + added, gone + removed)
    return [
        f"{_BAR}{_line(path)} +{added} -{removed}, last in step {number}"
        for path, (number, added, removed) in reversed(found.items())
    ]


def _changes(part: Part) -> Iterable[tuple[str, int, int]]:
    """Path, lines added and lines removed of what a call changed, as the tools tell clients."""
    if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
        return
    one, several = part.state.metadata.get("filediff"), part.state.metadata.get("files")
    listed = [one] if one else cast("list[Any]", several) if isinstance(several, list) else []
    for change in [cast("dict[str, Any]", each) for each in listed if isinstance(each, dict)]:
        path = change.get("relativePath") or change.get("file") or change.get("filePath")
        if isinstance(path, str):
            yield path, int(change.get("additions", 0)), int(change.get("deletions", 0))


def _runs(steps: Sequence[_Step]) -> Iterable[str]:
    for step in reversed(steps):
        for part in reversed(step.message.parts):
            if isinstance(part, ToolPart) and part.tool == _SHELL:
                command = _line(str(part.state.input.get("command", "")), _COMMAND_LINE)
                yield f"[step {step.number}] $ {command}\n{_result(part, ONE_COMMAND)}"


def _result(part: ToolPart, limit: int) -> str:
    match part.state:
        case ToolCompleted(output=output, metadata=metadata):
            code = metadata.get("exit")
            ended = f"exit code {code}" if isinstance(code, int) else "it returned"
            return f"{ended}:\n{quoted(output.strip() or '(no output)', limit)}"
        case ToolFailed(error=error):
            return f"it failed:\n{quoted(error.strip(), limit)}"
        case _:
            return "it has not ended"


def _tail(steps: Sequence[_Step]) -> Iterable[str]:
    for step in reversed(steps):
        yield from reversed(_entries(step))


def _entries(step: _Step) -> list[str]:
    message = step.message
    if isinstance(message.info, AssistantInfo):
        return [entry for part in message.parts if (entry := _done(step.number, part))]
    who = "the person said" if _by_a_person(message) else "the runtime told the agent"
    text = _words(message.parts, also_ours=True)
    return [f"[behind step {step.number}] {who}:\n{quoted(text, ONE_RESULT)}"] if text else []


def _done(number: int, part: Part) -> str:
    """What a part of a step says or does; empty if it is neither."""
    match part:
        case TextPart(text=text, ignored=False) if text.strip():
            return f"[step {number}] the agent said:\n{quoted(text.strip(), ONE_SAYING)}"
        case ToolPart(tool=tool, state=state):
            given = _line(msgspec.json.encode(state.input).decode())
            head = f"[step {number}] the agent called {_line(tool)} {given}"
            return f"{head}\n{_result(part, ONE_RESULT)}"
        case _:
            return ""
