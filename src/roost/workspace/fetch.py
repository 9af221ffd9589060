"""Fetching a page of the public internet for a model.

The host is resolved here and its addresses are checked before the connection goes to exactly the
address that was checked, on every redirect anew, so neither a redirect nor a name server that
changes its mind leads to a machine in the user's own network.
"""

import asyncio
import codecs
import re
from typing import TYPE_CHECKING, Final, Literal, assert_never

from msgspec import Struct

from roost.core.errors import LimitError, NotFoundError, RoostError, UsageError, plain_words
from roost.core.text import clean, decode
from roost.workspace.addresses import require_public, resolve
from roost.workspace.inflate import Inflater
from roost.workspace.webpage import to_markdown, to_text

if TYPE_CHECKING:
    import httpx2

_MAX_BYTES: Final = 5 * 1024 * 1024
_MAX_SECONDS: Final = 120.0
_CONNECT_SECONDS: Final = 8.0
"""After that the next address of the host is tried."""
_MAX_REDIRECTS: Final = 5
_AGENT: Final = "Mozilla/5.0 (compatible; Roost/1.0)"
_REDIRECTS: Final = {301, 302, 303, 307, 308}
_MEDIA: Final = {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
_TEXTUAL: Final = re.compile(
    r"text/.*|.*[+/](?:json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-javascript|typescript"
    r"|x-sh|graphql|sql|x-ndjson|jsonl)|application/x-www-form-urlencoded|image/svg\+xml"
)
_HTML: Final = {"text/html", "application/xhtml+xml"}
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_ACCEPTED: Final = {
    "markdown": "text/markdown;q=1.0, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
    "text": "text/plain;q=1.0, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
    "html": "text/html;q=1.0, application/xhtml+xml;q=0.9, */*;q=0.1",
}

Format = Literal["markdown", "text", "html"]


class FetchError(RoostError):
    """The page could not be fetched; nothing is wrong with the request as such."""


class FetchedText(Struct, frozen=True):
    """A page that can be read."""

    url: str
    """Where it came from in the end."""
    mime: str
    text: str


class FetchedMedia(Struct, frozen=True):
    """An image or PDF."""

    url: str
    mime: str
    data: bytes


Fetched = FetchedText | FetchedMedia


async def fetch(
    url: str,
    form: Format = "markdown",
    *,
    timeout: float = 30.0,
    allow_private: bool = False,
    limit: int = _MAX_BYTES,
) -> Fetched:
    """The content at `url`, HTML turned into `form`, within `timeout` seconds (at most 120).

    Raises `UsageError` for what is no web address, `DeniedError` for addresses that are not public
    (unless `allow_private`), `LimitError` past `limit` bytes or the time, and `FetchError`.
    """
    seconds = min(timeout, _MAX_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            answer = await _followed(url, form, allow_private=allow_private, limit=limit)
            return await _presented(answer, form)
    except TimeoutError as error:
        raise LimitError(
            f"{url} did not come within {seconds:g} s", hint="Try again with a longer timeout."
        ) from error


class _Answer(Struct, frozen=True):
    url: str
    content_type: str
    data: bytes


async def _followed(url: str, form: Format, *, allow_private: bool, limit: int) -> _Answer:
    for _ in range(_MAX_REDIRECTS + 1):
        answer = await _once(_checked(url), form, allow_private=allow_private, limit=limit)
        if isinstance(answer, _Answer):
            return answer
        url = answer
    raise FetchError(f"more than {_MAX_REDIRECTS} redirects, the last to {url}")


def _checked(url: str) -> "httpx2.URL":
    import httpx2

    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL as error:
        raise UsageError(f"{url!r} is no web address: {error}", hint="Check it.") from error
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise UsageError(
            f"{url!r} is no web address", hint="It must begin with https:// or http://."
        )
    if parsed.userinfo:
        raise UsageError(
            "the address holds a user name or password", hint="Leave them out of the address."
        )
    return parsed


async def _once(
    url: "httpx2.URL", form: Format, *, allow_private: bool, limit: int
) -> "_Answer | str":
    """The answer of one server, or the address that it sends us on to."""
    import httpx2

    proxy = _proxy_for(url)
    if proxy:
        targets = [url]
        if not allow_private:
            await _require_public_behind_proxy(url)
    else:
        targets = await _pinned(url, allow_private=allow_private)
    failed = "it has no address"
    for target in targets:
        try:
            return await _asked(url, target, form, proxy=proxy, limit=limit)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            failed = plain_words(error)
        except httpx2.HTTPError as error:
            failed = plain_words(error)
            break
    raise FetchError(
        f"{url} could not be fetched: {failed}", hint="Check the address and the network."
    )


async def _asked(
    url: "httpx2.URL", target: "httpx2.URL", form: Format, *, proxy: str | None, limit: int
) -> "_Answer | str":
    """The answer to a request for `url` that goes to `target`."""
    import httpx2

    headers = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": _AGENT,
        "Accept": _ACCEPTED[form],
        "Accept-Encoding": "gzip, deflate",
    }
    # With the address in place of the name, TLS still asks for and checks the name.
    extensions = {"sni_hostname": url.raw_host.decode("ascii")}
    verify = httpx2.create_ssl_context() if url.scheme == "https" else False
    patience = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    async with (
        httpx2.AsyncClient(trust_env=False, proxy=proxy, verify=verify, timeout=patience) as client,
        client.stream("GET", target, headers=headers, extensions=extensions) as response,
    ):
        return await _read(url, response, limit)


async def _pinned(url: "httpx2.URL", *, allow_private: bool) -> "list[httpx2.URL]":
    """`url` with each checked address of its host in place of the name."""
    host = url.raw_host.decode("ascii")
    addresses = await resolve(host, url.port or 443)
    if not allow_private:
        require_public(host, addresses)
    return [url.copy_with(host=str(address)) for address in addresses]


def _proxy_for(url: "httpx2.URL") -> str | None:
    from urllib.request import getproxies, proxy_bypass

    proxy = getproxies().get(url.scheme)
    return None if not proxy or proxy_bypass(url.host) else proxy


async def _require_public_behind_proxy(url: "httpx2.URL") -> None:
    """Refuse what is known to be private; a name that only the proxy can resolve is its affair."""
    host = url.raw_host.decode("ascii")
    try:
        addresses = await resolve(host, url.port or 443)
    except NotFoundError:
        return
    require_public(host, addresses)


async def _read(url: "httpx2.URL", response: "httpx2.Response", limit: int) -> _Answer | str:
    status = response.status_code
    location = response.headers.get("location")
    if status in _REDIRECTS and location:
        return str(url.join(location))
    if status >= 400:
        raise FetchError(f"{url} answered {status} {response.reason_phrase}".strip())
    content_type = response.headers.get("content-type", "")
    mime = content_type.partition(";")[0].strip().lower()
    if mime and mime not in _MEDIA and not _TEXTUAL.fullmatch(mime):
        raise FetchError(
            f"{url} is of type {mime}, which cannot be read",
            hint="Download it with a shell command if you need it.",
        )
    data = await _body(url, response, limit)
    return _Answer(url=str(url), content_type=content_type, data=data)


async def _body(url: "httpx2.URL", response: "httpx2.Response", limit: int) -> bytes:
    inflater = Inflater(response.headers.get("content-encoding", "").strip().lower())
    data = bytearray()
    announced = response.headers.get("content-length", "")
    packed = 0
    if not (announced.isdigit() and int(announced) > limit):
        async for chunk in response.aiter_raw():
            packed += len(chunk)
            data += inflater.feed(chunk, limit + 1 - len(data))
            if len(data) > limit or packed > limit:
                break
        else:
            return bytes(data)
    raise LimitError(
        f"{url} is larger than {limit:,} bytes",
        hint="Download it with a shell command and read a part.",
    )


async def _presented(answer: _Answer, form: Format) -> Fetched:
    mime = answer.content_type.partition(";")[0].strip().lower()
    if mime in _MEDIA:
        return FetchedMedia(url=answer.url, mime=mime, data=answer.data)
    if not mime and b"\x00" in answer.data[:1024]:
        raise FetchError(f"{answer.url} is binary and of unknown type")
    text = _decoded(answer)
    start = text[:1024].lstrip().lower()
    if mime not in _HTML and (mime or not start.startswith(("<!doctype html", "<html"))):
        return FetchedText(url=answer.url, mime=mime or "text/plain", text=text)
    # In a thread: a large page takes a second or two.
    return FetchedText(
        url=answer.url,
        mime=mime or "text/html",
        text=await asyncio.to_thread(_in_form, text, form, answer.url),
    )


def _in_form(page: str, form: Format, base: str) -> str:
    match form:
        case "markdown":
            return to_markdown(page, base)
        case "text":
            return to_text(page)
        case "html":
            return page
        case _:
            assert_never(form)


def _decoded(answer: _Answer) -> str:
    """The text by its byte order mark, the header, the page's own word, or its looks."""
    data = answer.data
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return clean(data[len(mark) :].decode(name, "replace"))
    said = _CHARSET.search(answer.content_type) or _CHARSET.search(data[:2048].decode("latin-1"))
    try:
        return clean(data.decode(said[1], "strict")) if said else decode(data)
    except (LookupError, UnicodeDecodeError, ValueError):
        return decode(data)
