"""Requests to one server: encoded, sent, decoded, failures raised as the errors they are."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from roost.client.models import RateError, ServerPlace, UnreachableError
from roost.core.errors import (
    BusyError,
    ConfigError,
    ConflictError,
    DeniedError,
    LimitError,
    NotFoundError,
    RoostError,
    StorageError,
    UsageError,
    plain_words,
)

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 30.0
"""Longest silence within an answer: three heartbeats of the server."""
VIEW_HEADER: Final = "x-roost-view"
"""Asks the server for actors as they are; to others it shows their slices as sessions."""
T = TypeVar("T")
Query = Mapping[str, str | int | bool | None]

_BY_NAME: Final[dict[str, type[RoostError]]] = {
    "BadRequestError": UsageError,
    "BusyError": BusyError,
    "ConfigError": ConfigError,
    "ConflictError": ConflictError,
    "ForbiddenError": DeniedError,
    "LimitError": LimitError,
    "NotFoundError": NotFoundError,
    "StorageError": StorageError,
    "UnauthorizedError": DeniedError,
}


class _Words(Struct, frozen=True):
    message: str = ""
    hint: str = ""


class _Problem(Struct, frozen=True):
    name: str = ""
    data: _Words = _Words()


class Connection:
    """A pool of connections to one server; `aclose` when done."""

    def __init__(self, place: ServerPlace) -> None:
        self.place = place
        self._opened: httpx2.AsyncClient | None = None

    def _client(self) -> "httpx2.AsyncClient":
        if self._opened is None:
            # Imported here: it is needed only once something is asked.
            import httpx2

            socket = str(self.place.socket) if self.place.socket else None
            # The environment's proxies are not for this: they would get to see the token.
            transport = httpx2.AsyncHTTPTransport(
                uds=socket, trust_env=False, verify=self.place.url.startswith("https:")
            )
            self._opened = httpx2.AsyncClient(
                base_url=self.place.url,
                headers=self._headers(),
                transport=transport,
                timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
                trust_env=False,
            )
        return self._opened

    def _headers(self) -> dict[str, str]:
        headers = {"authorization": f"Bearer {self.place.token}", VIEW_HEADER: "actors"}
        if self.place.directory is not None:
            headers["x-opencode-directory"] = quote(self.place.directory)
        return headers

    async def aclose(self) -> None:
        """Close every connection."""
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = None

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncGenerator["httpx2.Response"]:
        """A successful answer whose body is still to be read.

        Raises `UnreachableError`, or the error that the server answers with.
        """
        import httpx2

        client = self._client()
        request = client.build_request(
            method,
            path,
            params=_parameters(query),
            content=None if body is None else msgspec.json.encode(body),
            headers={**(headers or {}), **({"content-type": "application/json"} if body else {})},
        )
        try:
            response = await client.send(request, stream=True)
            try:
                if response.is_error:
                    raise _error(response.status_code, await response.aread(), response.headers)
                yield response
            finally:
                await response.aclose()
        except httpx2.ConnectError as error:
            # Not chained: the frames of the HTTP library say nothing that the words do not.
            raise UnreachableError(
                f"there is no server at {self.place.shown} ({plain_words(error)})",
                hint=f"Start it with: {self.place.start_command}",
            ) from None
        except httpx2.TransportError as error:
            words = plain_words(error)
            raise UnreachableError(
                f"the server at {self.place.shown} does not answer: {words}",
                hint=f"If it no longer runs, start it again: {self.place.start_command}",
            ) from None

    async def ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        query: Query | None = None,
        body: object = None,
    ) -> T:
        """The answer as `kind`. Raises as `open` does."""
        async with self.open(method, path, query=query, body=body) as response:
            data = await response.aread()
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.MsgspecError as error:
            raise UnreachableError(f"{path} was not answered as expected: {error}") from error

    async def tell(
        self, method: str, path: str, *, query: Query | None = None, body: object = None
    ) -> None:
        """Ask for something whose answer does not matter. Raises as `open` does."""
        async with self.open(method, path, query=query, body=body) as response:
            await response.aread()


def _parameters(query: Query | None) -> dict[str, str]:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
    }


def _error(status: int, body: bytes, headers: Mapping[str, str]) -> RoostError:
    if status == 429:
        wait = headers.get("retry-after", "1")
        return RateError(_words(body).message, retry_after=float(wait) if wait.isdigit() else 1.0)
    problem = _problem(body)
    words = _words(body)
    kind = _BY_NAME.get(problem.name, RoostError)
    return kind(words.message or f"the server answered with status {status}", hint=words.hint)


def raise_problem(body: bytes) -> None:
    """Raise the error that stands in a body whose status was sent before the error was known."""
    problem = _problem(body)
    if problem.name:
        raise _BY_NAME.get(problem.name, RoostError)(problem.data.message, hint=problem.data.hint)


def _words(body: bytes) -> _Words:
    return _problem(body).data


def _problem(body: bytes) -> _Problem:
    try:
        return msgspec.json.decode(body, type=_Problem)
    except msgspec.MsgspecError:
        return _Problem()
