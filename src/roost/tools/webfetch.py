"""The tool `webfetch`: a page of the web, as data."""

import asyncio
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from roost.core.text import clean
from roost.llm.models import Media
from roost.permissions.models import PermissionRequest, Traits
from roost.tools import markup
from roost.tools.contract import Tool, ToolContext, ToolOutput
from roost.tools.output import cap

if TYPE_CHECKING:
    from roost.workspace.fetch import Fetched, FetchedMedia, FetchedText

DEFAULT_SECONDS: Final = 30
MAX_SECONDS: Final = 120


class WebfetchArguments(Struct, frozen=True):
    """What to fetch, and how to show it."""

    url: Annotated[str, Meta(min_length=1, description="The address.")]
    format: (
        Annotated[
            Literal["markdown", "text", "html"],
            Meta(description="How to show HTML; markdown if left out."),
        ]
        | None
    ) = None
    timeout: Annotated[float, Meta(gt=0, description="Seconds, at most 120.")] | None = None


class WebfetchTool(Tool[WebfetchArguments]):
    """Shows a page, fenced so that it cannot pass for anybody else's words."""

    name: ClassVar[str] = "webfetch"
    parameters: ClassVar[type[Struct]] = WebfetchArguments
    effects: ClassVar[Literal["reads", "writes"]] = "reads"
    permission: ClassVar[str] = "webfetch"

    async def run(self, arguments: WebfetchArguments, context: ToolContext) -> ToolOutput:
        """Fetch it once it is allowed, wherever it leads."""
        # Loaded only now: most sessions fetch nothing.
        from roost.workspace.fetch import FetchedText, fetch

        url, form = arguments.url.strip(), arguments.format or "markdown"
        seconds = min(arguments.timeout or DEFAULT_SECONDS, MAX_SECONDS)
        shown: dict[str, object] = {"url": url, "format": form, "timeout": seconds}
        await context.ask(_request(url, shown))
        fetched = await fetch(url, form, timeout=seconds, allow_private=context.allow_private_hosts)
        if _site(fetched.url) != _site(url):
            await context.ask(_request(fetched.url, {**shown, "url": clean(fetched.url)}))
        if isinstance(fetched, FetchedText):
            return await asyncio.to_thread(_page, fetched, context)
        return await asyncio.to_thread(_media, fetched, context)


def _request(url: str, shown: dict[str, object]) -> PermissionRequest:
    pattern, same = _spellings(url)
    site = _site(url)
    return PermissionRequest(
        "webfetch",
        (pattern,),
        always=(f"{site}/*",) if site else (),
        metadata=dict(shown),
        title=f"Fetch {clean(url)}",
        traits=(Traits(same=same, covers=(clean(url),)),),
    )


def _spellings(url: str) -> tuple[str, tuple[str, ...]]:
    """`url` as the connection will be made, so that no odd spelling slips past a rule."""
    import httpx2

    site = _site(url)
    if not site:
        return clean(url), ()
    path = clean(httpx2.URL(url).raw_path.decode("ascii", "replace"))
    return f"{site}{path}", (site,) if path == "/" else ()


def _site(url: str) -> str:
    """Scheme, host and unusual port of `url` in the one spelling; empty if it has no host."""
    import httpx2

    try:
        parts = httpx2.URL(url)
    except httpx2.InvalidURL:
        return ""
    host = parts.raw_host.decode("ascii", "replace").rstrip(".")
    port = f":{parts.port}" if parts.port is not None else ""
    return f"{parts.scheme}://{host}{port}" if host else ""


def _page(fetched: "FetchedText", context: ToolContext) -> ToolOutput:
    text, path = cap(fetched.text, context.spill_folder, context.call_id)
    body = markup.escaped(text.strip("\n")) or "(The page is empty.)"
    url = markup.name(fetched.url).replace('"', "%22")
    output = f'<web_page url="{url}">\n{body}\n</web_page>'
    return ToolOutput(output, _title(fetched), _metadata(fetched, path is not None), capped=True)


def _media(fetched: "FetchedMedia", context: ToolContext) -> ToolOutput:
    from roost.workspace.media import PDF, checked_media

    visible = context.reads_pdf if fetched.mime == PDF else context.reads_images
    if not visible:
        said = f"The address holds a file of type {fetched.mime}, which you cannot see."
        return ToolOutput(said, _title(fetched), _metadata(fetched, truncated=False))
    name = urlsplit(fetched.url).path.rpartition("/")[2] or "download"
    checked = checked_media(fetched.data, clean(name))
    media = Media(checked.mime, checked.base64, clean(name))
    said = f"The {checked.mime} file is attached. {checked.note}".strip()
    return ToolOutput(said, _title(fetched), _metadata(fetched, truncated=False), (media,))


def _title(fetched: "Fetched") -> str:
    return clean(f"{fetched.url} ({fetched.mime})")


def _metadata(fetched: "Fetched", truncated: bool) -> dict[str, object]:
    return {"url": clean(fetched.url), "mime": clean(fetched.mime), "truncated": truncated}
