"""The tool `history`: looks into what was said."""

import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, ClassVar, Final, Literal, assert_never

from msgspec import Meta, Struct

from roost.core.amounts import counted
from roost.core.clock import now_ms
from roost.core.text import cut
from roost.memory.rank import Hit
from roost.sessions.models import AssistantInfo
from roost.sessions.said import Said, SaidKind, said_in
from roost.sessions.spoken import Spoken
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput
from roost.tools.history_port import MOST, Found, HistoryFound, HistoryQuery, Reach

NAME: Final = "history"
LIMIT: Final = 10
BESIDE: Final = 5
PAGE: Final = 8_000
"""Characters of a page of a part."""
_LINE: Final = 400
"""Characters of a text among others."""
REPLY: Final = 19_500
"""Bytes of an answer."""
_UNITS: Final = {"min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO: Final = re.compile(rf"(\d{{1,6}}) ?({'|'.join(_UNITS)})")
_NAMES: Final[dict[SaidKind, str]] = {
    "user_text": "user",
    "assistant_text": "assistant",
    "tool_input": "call of",
    "tool_error": "error of",
    "reasoning": "reasoning",
    "tool_output": "output of",
    "tool_value": "output of",
}


class HistoryArguments(Struct, frozen=True):
    """What to look for, or at."""

    action: Annotated[Literal["search", "around", "get"], Meta(description="What to do.")]
    query: Annotated[str, Meta(description="For search: words, or a phrase in quotes.")] | None = (
        None
    )
    scope: Annotated[Reach, Meta(description="For search: whose sessions (project).")] | None = None
    kinds: Annotated[tuple[SaidKind, ...], Meta(description="For search: only these.")] | None = (
        None
    )
    tool: Annotated[str, Meta(description="For search: only calls of this tool.")] | None = None
    since: Annotated[str, Meta(description="For search: 2h, 3d or 2026-01-31.")] | None = None
    until: Annotated[str, Meta(description="For search, as since.")] | None = None
    limit: (
        Annotated[int, Meta(ge=1, le=50, description="For search: most passages (10).")] | None
    ) = None
    message_id: Annotated[str, Meta(description="For around.")] | None = None
    count: Annotated[int, Meta(ge=1, le=50, description="For around: on each side (5).")] | None = (
        None
    )
    part_id: Annotated[str, Meta(description="For get.")] | None = None
    offset: Annotated[int, Meta(ge=0, description="For get: characters to pass over.")] | None = (
        None
    )


class HistoryTool(Tool[HistoryArguments]):
    """Searches messages, shows them with their neighbours and whole."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = HistoryArguments
    permission: ClassVar[str] = NAME
    effects: ClassVar[Literal["reads", "writes"]] = "reads"

    async def run(self, arguments: HistoryArguments, context: ToolContext) -> ToolOutput:
        """Do what `action` says."""
        match arguments.action:
            case "search":
                return await _search(arguments, context)
            case "around":
                return await _around(arguments, context)
            case "get":
                return await _get(arguments, context)
            case _:
                assert_never(arguments.action)


async def _search(arguments: HistoryArguments, context: ToolContext) -> ToolOutput:
    words = (arguments.query or "").strip()
    if not words:
        raise ToolError("search needs query.", hint="Give names, numbers or a quoted phrase.")
    kinds = arguments.kinds or ()
    left_out = [one for one in kinds if one not in context.history.kinds]
    if left_out and len(left_out) == len(kinds):
        raise ToolError(
            f"{', '.join(left_out)} cannot be found here.",
            hint="The setting history.kinds says what can: " + ", ".join(context.history.kinds),
        )
    reach: Reach = arguments.scope or "project"
    query = HistoryQuery(
        words=words,
        kinds=kinds,
        tool=(arguments.tool or "").strip(),
        since=_moment(arguments.since),
        until=_moment(arguments.until),
        limit=min(arguments.limit or LIMIT, MOST),
    )
    found = await context.history.search(query, reach)
    title = f"History: {cut(words, 60)}"
    return ToolOutput(_told(found, words, reach), title, {"count": len(found.hits)})


def _told(found: HistoryFound, words: str, reach: Reach) -> str:
    behind = ""
    if found.behind:
        behind = f"\n\n({counted(found.behind, 'older message')} not searched yet; search again.)"
    if not found.hits:
        return _ladder(words, reach) + behind
    lines: list[str] = []
    for number, hit in enumerate(found.hits, start=1):
        entry = f"{number}. {place(hit)}\n   {hit.snippet.marked()}"
        if len("\n\n".join([*lines, entry]).encode()) > REPLY:
            break
        lines.append(entry)
    return "\n\n".join(lines) + behind


def place(hit: Hit[Found]) -> str:
    """Who said it, when and where, with the ids to go on with."""
    spoken, said = hit.of.spoken, hit.of.said
    info = spoken.message.info
    ids = f"{info.session_id} message {info.id} part {said.part.id}"
    return f"{_when(info.time.created)} {_who(said)} — {ids}"


def _when(moment: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment / 1000))


def _who(said: Said) -> str:
    return f"{_NAMES[said.kind]} {said.tool}".strip()


def _ladder(words: str, reach: Reach) -> str:
    where = {
        "session": "this session",
        "project": "the sessions of this project",
        "global": "any session",
    }
    steps = ["Fewer and rarer words: a name, a number, an error code; no filters."]
    if reach == "session":
        steps.append("`scope: project`, then `scope: global`.")
    elif reach == "project":
        steps.append("`scope: global`: the sessions of all projects.")
    steps.append("The tool `memory`: what was written down.")
    steps.append("The files of the project and its git log; ask the user last.")
    ladder = "\n".join(f"{number}. {one}" for number, one in enumerate(steps, start=1))
    return f"Nothing in {where[reach]} fits {cut(words, 80)!r}. What may help:\n{ladder}"


async def _around(arguments: HistoryArguments, context: ToolContext) -> ToolOutput:
    message_id = (arguments.message_id or "").strip()
    if not message_id:
        raise ToolError("around needs message_id.", hint="`search` shows the ids of messages.")
    found = await context.history.around(message_id, min(arguments.count or BESIDE, MOST))
    wanted = next(i for i, one in enumerate(found) if one.message.info.id == message_id)
    order = sorted(range(len(found)), key=lambda at: abs(at - wanted))
    shown: dict[int, str] = {}
    for at in order:  # the nearest first, as far as there is room
        entry = _message(found[at], context.history.kinds, here=at == wanted)
        if len("\n\n".join([*shown.values(), entry]).encode()) > REPLY and shown:
            break
        shown[at] = entry
    text = "\n\n".join(shown[at] for at in sorted(shown))
    if len(shown) < len(found):
        text += f"\n\n({len(found) - len(shown)} more did not fit; ask for fewer.)"
    return ToolOutput(text, f"Around {message_id}", {"count": len(shown)}, capped=True)


def _message(spoken: Spoken, kinds: Sequence[SaidKind], *, here: bool) -> str:
    """A message with the beginnings of its texts; of those that are not of `kinds`, the size."""
    info = spoken.message.info
    who = "assistant" if isinstance(info, AssistantInfo) else "user"
    mark = "→ " if here else "  "
    lines = [f"{mark}{_when(info.time.created)} {who} {info.id}"]
    for said in said_in(spoken.message):
        head = f"    {_who(said)} ({said.part.id}, {counted(len(said.text), 'character')})"
        text = f": {cut(' '.join(said.text.split()), _LINE)}" if said.kind in kinds else ""
        lines.append(f"{head}{text}")
    return "\n".join(lines)


async def _get(arguments: HistoryArguments, context: ToolContext) -> ToolOutput:
    part_id = (arguments.part_id or "").strip()
    if not part_id:
        raise ToolError("get needs part_id.", hint="`search` and `around` show the ids of parts.")
    texts = await context.history.text(part_id)
    whole = "\n\n".join(f"[{_who(one)}]\n{one.text}" for one in texts)
    offset = arguments.offset or 0
    if offset and offset >= len(whole):
        raise ToolError(f"{part_id} has {counted(len(whole), 'character')}; none at {offset}.")
    page = whole[offset : offset + PAGE].encode()[:REPLY].decode(errors="ignore")
    end = offset + len(page)
    rest = f"\n\n(Characters {offset} to {end} of {len(whole)}; go on with offset {end}.)"
    metadata = {"characters": len(whole), "nextOffset": end if end < len(whole) else None}
    text = page + rest if end < len(whole) else page
    return ToolOutput(text, f"History of {part_id}", metadata, capped=True)


def _moment(words: str | None) -> int | None:
    """`2h`, `3d`, or a date, as milliseconds since the epoch."""
    if not words or not words.strip():
        return None
    if match := _AGO.fullmatch(words.strip()):
        return now_ms() - int(match[1]) * _UNITS[match[2]] * 1000
    try:
        return int(datetime.fromisoformat(words.strip()).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise ToolError(f"{words!r} is no moment; say 30min, 2h, 3d or 2026-01-31.") from None
