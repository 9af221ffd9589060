"""Turns the parts of a prompt as a client sends them into the parts that are stored: files are
read, media checked, ids chosen. What a model could choke on is refused or mended here.
"""

import asyncio
import base64
import binascii
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, assert_never
from urllib.parse import parse_qs, unquote, unquote_to_bytes, urlsplit

from roost.core.amounts import counted
from roost.core.errors import RoostError, TooLargeError, UsageError
from roost.core.ids import new_id
from roost.core.text import clean, cut, echo
from roost.inbox.models import PromptPart
from roost.runtime.actor_port import spawnable
from roost.runtime.models import (
    AgentInput,
    FileInput,
    PromptInput,
    PromptInputPart,
    SubtaskInput,
    TextInput,
)
from roost.runtime.project import Project
from roost.sessions.parts import AgentPart, FilePart, SubtaskPart, TextPart
from roost.skills.loading import loaded_by, named_in
from roost.skills.models import Skill, Skills
from roost.workspace.media import checked_media, media_type
from roost.workspace.textfile import is_binary, readable_text

FILE_LIMIT: Final = 50 * 1024 * 1024
"""Bytes of one attachment."""
TEXT_LIMIT: Final = 50 * 1024
"""Characters of a text file that go into the prompt; the model reads the rest by itself."""
ENTRIES: Final = 500
"""Names of a folder that go into the prompt."""
PROMPT_LIMIT: Final = 4 * 1024 * 1024
"""Characters of all that a prompt says in words: more than any model takes in."""
PARTS_LIMIT: Final = 200
_LAST_LINE: Final = 10_000_000
"""Where a stretch of lines ends whose URL does not say so."""
_TITLE: Final = 60
_NAMED: Final = 300
"""Characters of what a client calls a subtask, and a resource."""
_MENTION: Final = """\
The user mentions the agent {agent}: they want it to do what they ask for here. Start it with the \
tool `actor`, with a prompt of your own that says all that it has to know. If you may not start \
it, say so."""
_RESOURCE: Final = """\
The user attached the resource {uri} of the MCP server {server}. Roost does not speak MCP yet, so \
what it holds is not here. Say so, and go on with what can be done without it."""
_NO_MCP: Final = "Roost does not speak MCP yet, so resources of MCP servers cannot be attached"


class Attachments:
    """The parts of one prompt."""

    def __init__(self, session_id: str, message_id: str, project: Project) -> None:
        self._session_id = session_id
        self._message_id = message_id
        self._directory = project.directory
        self._guard = project.guard
        self._agents = spawnable(project.agents)
        self._skills = project.skills

    async def parts(self, given: PromptInput) -> tuple[PromptPart, ...]:
        """What is to be stored of `given`.

        Raises `UsageError` for a prompt that says nothing, for a file that cannot be sent, and for
        an agent that nobody can start; `TooLargeError` for more words than `PROMPT_LIMIT`.
        """
        _check_length(given)
        if len(given.parts) > PARTS_LIMIT:
            raise UsageError(f"a prompt has at most {PARTS_LIMIT} parts")
        if not any(_has_substance(part) for part in given.parts):
            raise _nothing_said(given)
        parts: list[PromptPart] = []
        for part in given.parts:
            parts.extend(await self._stored(part))
        parts += await asyncio.to_thread(self._of_skills, given)
        return tuple(parts)

    def _of_skills(self, given: PromptInput) -> list[PromptPart]:
        named = skills_named(given, self._skills)
        return [self._synthetic(one) for one in loaded_by(named)]

    async def _stored(self, part: PromptInputPart) -> list[PromptPart]:
        match part:
            case TextInput():
                return [self._words(part)]
            case AgentInput():
                return self._mention(part)
            case SubtaskInput():
                return [self._subtask(part)]
            case FileInput() if _is_resource(part):
                return [self._synthetic(_resource_words(part))]
            case FileInput():
                return await asyncio.to_thread(self._file, part)
            case _:
                assert_never(part)

    def _ids(self, chosen: str | None = None) -> tuple[str, str, str]:
        return chosen or new_id("part"), self._session_id, self._message_id

    def _words(self, part: TextInput) -> TextPart:
        return TextPart(
            *self._ids(part.id),
            text=clean(part.text),
            synthetic=part.synthetic,
            ignored=part.ignored,
            metadata=part.metadata,
        )

    def _synthetic(self, text: str) -> TextPart:
        return TextPart(*self._ids(), text=clean(text), synthetic=True)

    def _mention(self, part: AgentInput) -> list[PromptPart]:
        name = self._agent(part.name)
        mention = AgentPart(*self._ids(part.id), name=name, source=part.source)
        return [mention, self._synthetic(_MENTION.format(agent=name))]

    def _subtask(self, part: SubtaskInput) -> SubtaskPart:
        prompt, model = clean(part.prompt).strip(), part.model
        if not prompt:
            raise UsageError("a subtask needs a prompt that says what is to be done")
        chosen = model and {"providerID": model.provider_id, "modelID": model.model_id}
        return SubtaskPart(
            *self._ids(part.id),
            prompt=prompt,
            description=clean(part.description).strip() or cut(prompt.split("\n", 1)[0], _TITLE),
            agent=self._agent(part.agent),
            model=chosen,
            command=part.command,
        )

    def _agent(self, given: str) -> str:
        """An agent that can be started. Raises `UsageError` with the one that may be meant."""
        name = clean(given)
        if name in self._agents:
            return name
        near = get_close_matches(name, list(self._agents), n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(
            f"there is no agent {echo(name)!r} that can be started.{guess}",
            hint=f"There are: {', '.join(self._agents)}.",
        )

    def _file(self, part: FileInput) -> list[PromptPart]:
        scheme = part.url.partition(":")[0].lower()
        if scheme == "data":
            data = _data_of(part.url, part.filename or "the attachment")
            return self._content(part, data, part.filename or "attachment")
        if scheme != "file":
            raise UsageError(f"an attachment is a data: or file: URL, not {cut(part.url, 60)!r}")
        try:
            return self._local(part)
        except OSError as error:
            raise UsageError(f"{part.url} cannot be read: {error.strerror}") from error

    def _local(self, part: FileInput) -> list[PromptPart]:
        parts = urlsplit(part.url)
        located = self._guard.locate(unquote(parts.path), self._directory)
        if reason := self._guard.refusal(located, write=False):
            raise UsageError(f"{reason} and is not attached")
        path = located.real
        if path.is_dir():
            return [self._synthetic(_listing(path)), self._kept(part, path.name, part.url)]
        if not path.is_file():
            raise UsageError(f"there is no file {path}")
        if path.stat().st_size > FILE_LIMIT:
            raise UsageError(f"{path} is larger than {FILE_LIMIT // 1024 // 1024} MB")
        return self._content(part, path.read_bytes(), str(path), _span(parts.query, path.name))

    def _content(
        self, part: FileInput, data: bytes, name: str, lines: range | None = None
    ) -> list[PromptPart]:
        if media_type(data[:16]) is not None or part.mime.startswith("image/"):
            try:
                media = checked_media(data, name)
            except RoostError as error:
                raise UsageError(error.message) from error
            note = [self._synthetic(f"{name}: {media.note}")] if media.note else []
            url = f"data:{media.mime};base64,{media.base64}"
            return [*note, self._kept(part, name, url, media.mime)]
        if is_binary(data):
            raise UsageError(f"{name} is a binary file that no model can read")
        text = readable_text(data)
        words = _whole(text, name) if lines is None else _excerpt(text, lines, name)
        url = part.url if part.url.startswith("file:") else "data:text/plain,"
        return [self._synthetic(words), self._kept(part, name, url)]

    def _kept(self, part: FileInput, name: str, url: str, mime: str | None = None) -> FilePart:
        return FilePart(
            *self._ids(part.id),
            mime=mime or part.mime,
            url=url,
            filename=clean(part.filename or Path(name).name),
            source=part.source,
        )


def _check_length(given: PromptInput) -> None:
    said = sum(len(part.text) for part in given.parts if isinstance(part, TextInput))
    said += len(given.system or "")
    if said > PROMPT_LIMIT:
        raise TooLargeError(
            f"the prompt has {said} characters, and more than {PROMPT_LIMIT} cannot be sent",
            hint="Put the text into a file and name the file: the model reads what it needs of it.",
        )


def skills_named(given: PromptInput, skills: Skills) -> list[Skill]:
    """The skills that a person names in what they typed."""
    typed = [part.text for part in given.parts if isinstance(part, TextInput) and _is_typed(part)]
    return named_in("\n".join(typed), skills)


def _is_typed(part: TextInput) -> bool:
    return not part.synthetic and not part.ignored


def _has_substance(part: PromptInputPart) -> bool:
    if isinstance(part, FileInput):
        return not _is_resource(part)
    return not isinstance(part, TextInput) or (bool(part.text.strip()) and not part.ignored)


def _nothing_said(given: PromptInput) -> UsageError:
    if any(isinstance(part, FileInput) for part in given.parts):
        return UsageError(_NO_MCP, hint="Say what you want, or attach a file.")
    return UsageError("the prompt is empty", hint="Say something, or attach a file.")


def _is_resource(part: FileInput) -> bool:
    """Whether it is something that an MCP server is to be asked for."""
    return (part.source or {}).get("type") == "resource"


def _resource_words(part: FileInput) -> str:
    source: Mapping[str, object] = part.source or {}
    uri, server = str(source.get("uri") or part.url), str(source.get("clientName") or "?")
    return _RESOURCE.format(uri=cut(uri, _NAMED), server=cut(server, _NAMED))


def _data_of(url: str, name: str) -> bytes:
    head, comma, body = url.partition(",")
    if not comma:
        raise UsageError(f"{name}: a data: URL needs a comma before its data")
    if len(body) > FILE_LIMIT * 4 // 3:
        raise UsageError(f"{name} is larger than {FILE_LIMIT // 1024 // 1024} MB")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote(body), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{name}: its base64 data cannot be read ({error})") from error


def _span(query: str, name: str) -> range | None:
    """The lines `start` to `end` of a URL's query, counted from 1, both included; None: all.

    Raises `UsageError` for what is no stretch of lines.
    """
    given = parse_qs(query)
    if "start" not in given:
        return None
    try:
        start = int(given["start"][0])
        end = int(given["end"][0]) if "end" in given else _LAST_LINE
    except ValueError as error:
        raise UsageError(f"?{cut(query, 60)} names no lines of {name}") from error
    if start < 1 or end < start:
        raise UsageError(
            f"lines {start} to {end} are no lines of {name}", hint="They are counted from 1."
        )
    return range(start, end + 1)


def _whole(text: str, name: str) -> str:
    return f"Content of {name}:\n{_bounded(text) or '(the file is empty)'}"


def _excerpt(text: str, lines: range, name: str) -> str:
    """Lines of a file, with what they are. Raises `UsageError` where it has none of them."""
    all_lines = text.removesuffix("\n").split("\n")
    shown = all_lines[lines.start - 1 : lines.stop - 1]
    if not shown:
        raise UsageError(
            f"{name} has {counted(len(all_lines), 'line')}, and none is number {lines.start}"
        )
    last = lines.start + len(shown) - 1
    head = f"Lines {lines.start} to {last} of {name}, which has {len(all_lines)}"
    words = _bounded("\n".join(shown))
    return f"{head}:\n{words}"


def _bounded(text: str) -> str:
    return cut(text, TEXT_LIMIT, "\n… (cut; read the file for the rest)")


def _listing(path: Path) -> str:
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in path.iterdir())
    more = f"\n… and {len(names) - ENTRIES} more" if len(names) > ENTRIES else ""
    return f"Content of the folder {path}:\n" + "\n".join(names[:ENTRIES]) + more
