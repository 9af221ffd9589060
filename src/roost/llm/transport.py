"""HTTP to model servers: requests out, chunks of bytes in, every failure a `ModelError`.

httpx2 takes 80 ms to import, so it is loaded when the first model is called.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterable
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from roost import __version__
from roost.core.errors import plain_words
from roost.llm.addresses import is_http, is_loopback
from roost.llm.errors import Refusal, classify, redacted
from roost.llm.models import Model, ModelError
from roost.llm.patience import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2

CONNECT_TIMEOUT: Final = 20.0
"""Seconds until a connection stands, name look-up and TLS included."""
SEND_TIMEOUT: Final = 120.0
"""Seconds that one write of a request may block."""
REFUSAL_TIMEOUT: Final = 10.0
"""Seconds for reading why a server refused."""
REFUSAL_BYTES: Final = 64 * 1024
_MEDIA_MARKS: Final = (b";base64,", b'"type":"base64"')
"""What a request holds that shows a file."""
_Reach = Literal["https", "http", "home"]
"""Encrypted, plain, and plain on this machine; each has a client of its own."""
_KEEPALIVE: Final = 120.0
"""Seconds that an idle connection is kept: tools run between two calls."""
_KEPT_CONNECTIONS: Final = 64
_KNOWN_ADDRESSES: Final = 64


class Answer:
    """The body of a successful response, read chunk by chunk within one task."""

    def __init__(self, response: httpx2.Response, model: Model, patience: Patience) -> None:
        self.media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._model = model
        self._patience = patience
        # Straight from the connection: the layers above only decompress, and nothing is compressed.
        packed = "content-encoding" in response.headers
        stream = response.aiter_bytes() if packed else response.stream
        assert isinstance(stream, AsyncIterable)
        self._chunks = aiter(stream)

    async def chunk(self, timeout: float) -> bytes | None:
        """The next bytes, None at the end. Raises ModelError `network` after `timeout` seconds."""
        try:
            return await self._patience.wait(anext(self._chunks, None), timeout)
        except TimeoutError:
            raise _network(self._model, f"sent nothing for {timeout:.0f} s") from None
        except Exception as error:
            raise failure(error, self._model) from error

    async def rest(self, limit: int, timeout: float) -> bytes:
        """All bytes that are left, at most about `limit`, within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        data = b""
        while len(data) < limit:
            chunk = await self.chunk(max(0.0, deadline - time.monotonic()))
            if chunk is None:
                break
            data += chunk
        return data


class Transport:
    """Connections to model servers, pooled."""

    def __init__(self) -> None:
        self._clients: dict[_Reach, httpx2.AsyncClient] = {}
        self._answered: set[str] = set()
        """The servers that have answered in this process, whatever they said."""

    async def aclose(self) -> None:
        """Close every connection."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    def client(self, url: str) -> httpx2.AsyncClient:
        """The client for `url`. Loading certificates (90 ms) waits for the first https URL."""
        reach = _reach(url)
        if reach not in self._clients:
            self._clients[reach] = _make_client(reach)
        return self._clients[reach]

    @asynccontextmanager
    async def send(
        self,
        model: Model,
        path: str,
        *,
        headers: dict[str, str],
        timeout: float,
        body: bytes | None = None,
    ) -> AsyncGenerator[Answer]:
        """POST `body` (GET without one) to `path` under the model's base URL.

        `timeout` bounds the wait for the head of the answer. The connection is closed on leaving,
        or kept when the answer was read to its end. Raises ModelError.
        """
        url = address(model, path)
        sent = {"accept-encoding": "identity", "user-agent": f"roost/{__version__}"}
        sent |= {"content-type": "application/json"} if body is not None else {}
        sent |= headers | model.headers
        response = await self._open(model, url, headers=sent, body=body, timeout=timeout)
        try:
            with Patience() as patience:
                answer = Answer(response, model, patience)
                if response.status_code != 200:
                    raise await _refusal(response, answer, model, body or b"")
                yield answer
        finally:
            await response.aclose()

    async def _open(
        self, model: Model, url: str, *, headers: dict[str, str], body: bytes | None, timeout: float
    ) -> httpx2.Response:
        try:
            client = self.client(url)
            method = "GET" if body is None else "POST"
            request = client.build_request(method, _parsed(url), headers=headers, content=body)
            async with asyncio.timeout(timeout):
                response = await client.send(request, stream=True)
        except TimeoutError:
            raise _network(model, f"did not answer within {timeout:.0f} s") from None
        except Exception as error:
            known = failure(error, model)
            if known.kind == "network" and _server(url) not in self._answered:
                known = _never_answered(known, model)
            raise known from error
        self._answered.add(_server(url))
        return response


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def _parsed(url: str) -> httpx2.URL:
    import httpx2

    return httpx2.URL(url)


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def _reach(url: str) -> _Reach:
    if url.startswith("https:"):
        return "https"
    return "home" if is_loopback(url) else "http"


def _make_client(reach: _Reach) -> httpx2.AsyncClient:
    import ssl

    import httpx2

    return httpx2.AsyncClient(
        # A context that trusts nobody is free to make, and http needs none.
        verify=True if reach == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        # No proxy leads to this machine.
        trust_env=reach != "home",
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT, write=SEND_TIMEOUT),
        limits=httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=_KEPT_CONNECTIONS,
            keepalive_expiry=_KEEPALIVE,
        ),
    )


def address(model: Model, path: str) -> str:
    """`path` under the model's base URL, whose query stays. Raises ModelError."""
    if (found := _below(model.base_url, path)) is None:
        raise ModelError(
            "bad_request",
            f"the base URL of {model.provider} must start with http:// or https://,"
            f" not {redacted(model.base_url, model)!r}",
        )
    return found


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def _below(base_url: str, path: str) -> str | None:
    """`path` under `base_url`; None for one that HTTP does not know."""
    if not is_http(base_url):
        return None
    parts = urlsplit(base_url)
    path, _, asked = path.partition("?")
    query = "&".join(filter(None, (parts.query, asked)))
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, query, ""))


async def _refusal(
    response: httpx2.Response, answer: Answer, model: Model, sent: bytes
) -> ModelError:
    status = response.status_code
    if target := response.headers.get("location"):
        shown = redacted(target, model)
        return ModelError(
            "bad_request",
            f"{model.provider} ({status}) redirects to {shown}; a key is never sent on."
            " Set that address as baseURL if it is right.",
            status=status,
        )
    try:
        data = await answer.rest(REFUSAL_BYTES, REFUSAL_TIMEOUT)
    except ModelError as error:
        data = f"(the reason could not be read: {error.message})".encode()
    headers = {name.lower(): value for name, value in response.headers.items()}
    with_media = any(mark in sent for mark in _MEDIA_MARKS)
    body = data.decode(errors="replace")
    return classify(Refusal(model, body, status, headers, with_media), time.time())


def failure(error: Exception, model: Model) -> ModelError:
    """What an exception of the HTTP client means."""
    import httpx2

    words = redacted(plain_words(error), model)
    match error:
        case ModelError():
            return error
        case httpx2.ConnectTimeout():
            at = shown_address(model)
            return _network(model, f"could not be reached at {at} in {CONNECT_TIMEOUT:.0f} s")
        case httpx2.ConnectError() | httpx2.ProxyError():
            why = _why(error) or words
            return _network(model, f"cannot be reached at {shown_address(model)}: {why}")
        case httpx2.LocalProtocolError() | httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return ModelError("bad_request", f"no valid request to {model.provider}: {words}")
        case httpx2.HTTPError() | OSError():
            return _network(model, f"broke the connection: {words}")
        case UnicodeEncodeError():
            text = f"a header or the key for {model.provider} holds characters HTTP cannot carry"
            return ModelError("auth", text)
        case _:
            raise error


def shown_address(model: Model) -> str:
    """The base URL without a password in it."""
    parts = urlsplit(model.base_url)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    return redacted(urlunsplit(plain), model)


def _why(error: BaseException | None) -> str:
    """What the system says about a connection that was not made; empty when it says nothing."""
    while error is not None:
        match error:
            case socket.gaierror():
                return f"its name is not known here ({error.strerror})"
            case ConnectionRefusedError():
                return "connection refused"
            case OSError(strerror=str(words)) if words and error.errno:
                return words
            case BaseExceptionGroup(exceptions=(first, *_)):
                error = first
            case _:
                error = error.__cause__ or error.__context__
    return ""


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def _server(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _never_answered(error: ModelError, model: Model) -> ModelError:
    """The same error of a server that has not answered once: most likely it is not there."""
    place = model.base_url_place
    where = f"The address is set by {place}.\n" if place else ""
    check = (
        "Check that its server runs there"
        if is_loopback(model.base_url)
        else ("Check the address, the network and its proxies")
    )
    return ModelError(
        error.kind,
        error.message,
        hint=f"{where}{check}: `roost models {model.provider} --refresh` asks it.",
        never_answered=True,
    )


def _network(model: Model, what: str) -> ModelError:
    return ModelError("network", f"{model.provider} {what}")
