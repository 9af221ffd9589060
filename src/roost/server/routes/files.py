"""Files of a folder: listed, read, found by name and by content. Nothing outside of the project."""

import asyncio
import base64
import mimetypes
import os
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from roost.core.errors import DeniedError, NotFoundError, UsageError
from roost.core.text import clean, decode
from roost.runtime.project import Project
from roost.server.endpoint import Call, Endpoint, endpoint
from roost.server.file_names import Kind
from roost.server.matches import text_matches
from roost.server.models import MEGABYTE
from roost.server.wire import FileContent, FileNode, TextMatch
from roost.workspace.guard import Located
from roost.workspace.ignore import IgnoreFolder
from roost.workspace.search import Search

CONTENT_LIMIT: Final = 20 * MEGABYTE
_LINES: Final = 100
"""Lines that a search by content gives."""
_ENTRIES: Final = 10_000
PathText = Annotated[str, Meta(max_length=4_096)]


class PathQuery(Struct, frozen=True):
    """Which file or folder, relative to the folder that is meant."""

    path: PathText


class ListQuery(Struct, frozen=True):
    """Which folder; empty: the one that is meant."""

    path: PathText = ""


class TextQuery(Struct, frozen=True):
    """A regular expression for one line."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1_000)]


class NameQuery(Struct, frozen=True):
    """Letters of a path, in order."""

    query: Annotated[str, Meta(max_length=1_000)]
    dirs: Literal["true", "false"] = "true"
    """Whether folders are wanted too."""
    type: Kind | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 10


async def list_files(call: Call[ListQuery, None]) -> list[FileNode]:
    """The entries of a folder, folders first."""
    project = await call.project()
    place = _inside(project, call.query.path or ".")
    return await asyncio.to_thread(_entries, project, place.real)


def _inside(project: Project, path: str) -> Located:
    try:
        located = project.guard.locate(path, project.directory)
    except OSError as error:
        raise UsageError(f"there is no such path: {error.strerror}") from error
    if not located.real.is_relative_to(project.root):
        raise DeniedError(f"{located.shown} is outside of the project")
    project.guard.require(located, write=False)
    return located


def _entries(project: Project, folder: Path) -> list[FileNode]:
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry in found if entry.name != ".git"]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"there is no folder {folder}") from error
    except OSError as error:
        raise DeniedError(f"{folder} cannot be listed: {error.strerror}") from error
    ignoring = IgnoreFolder.above(folder)
    nodes = [_node(project, entry, ignoring) for entry in entries[:_ENTRIES]]
    return sorted(nodes, key=lambda node: (node.type != "directory", node.name.casefold()))


def _node(project: Project, entry: "os.DirEntry[str]", ignoring: IgnoreFolder) -> FileNode:
    is_folder = entry.is_dir()
    return FileNode(
        name=clean(entry.name),
        path=clean(os.path.relpath(entry.path, project.directory)),
        absolute=clean(entry.path),
        type="directory" if is_folder else "file",
        ignored=ignoring.ignores(entry.path, directory=is_folder),
    )


async def read_file(call: Call[PathQuery, None]) -> FileContent:
    """What a file holds."""
    project = await call.project()
    place = _inside(project, call.query.path)
    return await asyncio.to_thread(_content, place.real)


def _content(path: Path) -> FileContent:
    try:
        if not path.is_file():
            raise NotFoundError(f"there is no file {path}")
        if path.stat().st_size > CONTENT_LIMIT:
            raise UsageError(f"{path} is larger than {CONTENT_LIMIT // MEGABYTE} MB")
        data = path.read_bytes()
    except OSError as error:
        raise DeniedError(f"{path} cannot be read: {error.strerror}") from error
    kind = mimetypes.guess_type(path.name)[0]
    if b"\x00" in data[:8192] or (kind or "").startswith(("image/", "audio/", "video/")):
        content = base64.b64encode(data).decode()
        return FileContent("binary", content, "base64", kind or "application/octet-stream")
    return FileContent("text", decode(data), mime_type=kind)


async def find_text(call: Call[TextQuery, None]) -> list[TextMatch]:
    """The lines of a folder's files that match, of the most recently changed files first."""
    project = await call.project()
    found = await Search.installed().grep(project.directory, call.query.pattern, limit=_LINES)
    return await asyncio.to_thread(text_matches, found.lines, call.query.pattern, project.directory)


async def find_names(call: Call[NameQuery, None]) -> list[str]:
    """The paths below a folder that are most like the letters given."""
    project = await call.project()
    query = call.query
    kind: Kind | None = "file" if query.dirs == "false" and query.type is None else query.type
    return await call.service.file_names.find(
        project.directory, query.query, kind=kind, limit=query.limit
    )


ROUTES: Final[tuple[Endpoint, ...]] = (
    endpoint("GET", "/file", list_files),
    endpoint("GET", "/file/content", read_file),
    endpoint("GET", "/find", find_text),
    endpoint("GET", "/find/file", find_names),
)
