"""Turns the parts of a prompt as a client sends them into the parts that are stored: files are
read, media checked, ids chosen. What a model could choke on is refused or mended here.
"""

import asyncio
import base64
import binascii
from pathlib import Path
from typing import Final, assert_never
from urllib.parse import parse_qs, unquote, unquote_to_bytes, urlsplit

from roost.core.errors import RoostError, TooLargeError, UsageError
from roost.core.ids import new_id
from roost.core.text import clean, cut
from roost.inbox.models import PromptPart
from roost.runtime.models import AgentInput, FileInput, PromptInput, TextInput
from roost.sessions.parts import AgentPart, FilePart, TextPart
from roost.workspace.guard import Guard
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


class Attachments:
    """The parts of one prompt."""

    def __init__(self, session_id: str, message_id: str, directory: Path, guard: Guard) -> None:
        self._session_id = session_id
        self._message_id = message_id
        self._directory = directory
        self._guard = guard

    async def parts(self, given: PromptInput) -> tuple[PromptPart, ...]:
        """What is to be stored of `given`.

        Raises `UsageError` for a prompt that says nothing, and for a file that cannot be sent;
        `TooLargeError` for more words than `PROMPT_LIMIT`.
        """
        _check_length(given)
        if len(given.parts) > PARTS_LIMIT:
            raise UsageError(f"a prompt has at most {PARTS_LIMIT} parts")
        if not any(_has_substance(part) for part in given.parts):
            raise UsageError("the prompt is empty", hint="Say something, or attach a file.")
        parts: list[PromptPart] = []
        for part in given.parts:
            match part:
                case TextInput():
                    parts.append(self._words(part))
                case AgentInput():
                    parts.append(
                        AgentPart(*self._ids(part.id), name=clean(part.name), source=part.source)
                    )
                case FileInput():
                    parts.extend(await asyncio.to_thread(self._file, part))
                case _:
                    assert_never(part)
        return tuple(parts)

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

    def _file(self, part: FileInput) -> list[PromptPart]:
        scheme = part.url.partition(":")[0].lower()
        if scheme == "data":
            data = _data_of(part.url, part.filename or "the attachment")
            return self._content(part, data, part.filename or "attachment")
        if scheme != "file":
            raise UsageError(f"an attachment is a data: or file: URL, not {cut(part.url, 60)!r}")
        return self._local(part)

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
        lines = parse_qs(parts.query)
        return self._content(part, path.read_bytes(), str(path), _span(lines))

    def _content(
        self, part: FileInput, data: bytes, name: str, lines: slice | None = None
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
        shown = _excerpt(readable_text(data), lines)
        url = part.url if part.url.startswith("file:") else "data:text/plain,"
        return [self._synthetic(f"Content of {name}:\n{shown}"), self._kept(part, name, url)]

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


def _has_substance(part: TextInput | FileInput | AgentInput) -> bool:
    return not isinstance(part, TextInput) or (bool(part.text.strip()) and not part.ignored)


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


def _span(query: dict[str, list[str]]) -> slice | None:
    """Lines `start` to `end`, counted from 1, both included."""
    try:
        start = int(query["start"][0])
        end = int(query["end"][0]) if "end" in query else None
    except (KeyError, ValueError):
        return None
    return slice(max(0, start - 1), end)


def _excerpt(text: str, lines: slice | None) -> str:
    if lines is not None:
        text = "\n".join(text.split("\n")[lines])
    if not text:
        return "(the file is empty)"
    return cut(text, TEXT_LIMIT, "\n… (cut; read the file for the rest)")


def _listing(path: Path) -> str:
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in path.iterdir())
    more = f"\n… and {len(names) - ENTRIES} more" if len(names) > ENTRIES else ""
    return f"Content of the folder {path}:\n" + "\n".join(names[:ENTRIES]) + more
