"""Paths that a model gave: where they lead, how they are shown, and leave to touch them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from roost.core.text import clean
from roost.permissions.models import PermissionRequest
from roost.permissions.path_requests import outside_request, path_request
from roost.tools.contract import ToolContext
from roost.workspace.guard import Located


def locate(given: str, context: ToolContext, *, write: bool = False) -> Located:
    """Where `given` leads, relative to the actor's directory.

    Raises `UsageError` for what is no path and `DeniedError` where nobody may go.
    """
    located = context.guard.locate(given, context.directory)
    context.guard.require(located, write=write)
    return located


def relative(path: Path, context: ToolContext) -> str:
    """A path for people and models: from the project's root if it lies below."""
    for root in (context.guard.root, context.root):
        if path.is_relative_to(root):
            return clean(str(path.relative_to(root)))
    return clean(str(path))


def from_directory(path: Path, context: ToolContext) -> str:
    """A path as the actor may name it: relative to its directory if it lies below."""
    if path.is_relative_to(context.directory):
        return clean(str(path.relative_to(context.directory)))
    return clean(str(path))


async def permit_reading(context: ToolContext, places: Sequence[Located]) -> None:
    """Return when `places` may be read or listed, those outside the project too.

    Raises `DeniedError`.
    """
    await permit_outside(context, places)
    shown = ", ".join(place.shown for place in places)
    await ask(context, path_request("read", places, context.guard.root, title=f"Read {shown}"))


async def permit_outside(context: ToolContext, places: Sequence[Located]) -> None:
    """Return when those of `places` that lie outside the project may be looked at.

    Raises `DeniedError`.
    """
    outside = [place for place in places if not (place.inside or place.readable)]
    if outside:
        await ask(context, outside_request(outside, context.guard.root, Path.home()))


async def permit_editing(
    context: ToolContext, places: Sequence[Located], metadata: dict[str, Any]
) -> None:
    """Return when `places` may be changed as the difference in `metadata` shows.

    Raises `DeniedError`.
    """
    shown = ", ".join(place.shown for place in places)
    names = ", ".join(relative(place.real, context) for place in places)
    path = clean(str(places[0].real)) if len(places) == 1 else names
    request = path_request(
        "edit",
        places,
        context.guard.root,
        title=f"Edit {shown}",
        metadata={**metadata, "filepath": path},
    )
    await ask(context, request)


async def ask(context: ToolContext, request: PermissionRequest) -> None:
    """Put `request`, in text that can be stored: a file name need not be valid UTF-8."""
    metadata = dict(request.metadata)
    if "paths" in metadata:
        metadata["paths"] = [clean(path) for path in metadata["paths"]]
    await context.ask(
        replace(
            request,
            patterns=tuple(map(clean, request.patterns)),
            always=tuple(map(clean, request.always)),
            title=clean(request.title),
            metadata=metadata,
        )
    )
