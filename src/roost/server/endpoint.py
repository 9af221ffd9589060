"""What a route is: its method and path, and a handler whose signature is its contract.

`async def handler(call: Call[Query, Body]) -> Answer` says everything: `Query` is a struct of query
parameters, `Body` a struct (None: no body; `Body | None`: it may be missing), `Answer` what msgspec
encodes, a `Reply` that adds headers, None for 204, or a `Streamed` answer. The same signature
decodes requests and writes the OpenAPI document.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct
from starlette.requests import Request
from starlette.types import Receive, Send

from roost.core.errors import UsageError
from roost.inbox.models import Address
from roost.runtime.project import Project
from roost.server.faces import View
from roost.server.service import Service
from roost.server.slices import Slice, parse_id
from roost.sessions.models import Session

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
DIRECTORY_HEADER: Final = "x-opencode-directory"
"""Names the folder that a request is about, where its query does not."""
VIEW_HEADER: Final = "x-roost-view"
"""`actors`: the client knows actors. To all others their slices are shown as sessions; the query
parameter `view` says the same.
"""
LOCATION_QUERY: Final = "location[directory]"
"""How the second API of OpenCode's clients names it."""
Q = TypeVar("Q")
B = TypeVar("B")
T = TypeVar("T")


class NoQuery(Struct, frozen=True):
    """A route without query parameters of its own."""


class ActorQuery(Struct, frozen=True):
    """Which actor of the session is meant."""

    agent_id: str | None = None
    """None: the one that fronts the session."""


class Call(Generic[Q, B]):
    """One request, decoded and allowed."""

    def __init__(
        self, service: Service, request: Request, *, directory: str, query: Q, body: B
    ) -> None:
        self.service = service
        self.request = request
        self.directory = directory
        """The folder that is meant; the server was opened for it."""
        self.query = query
        self.body = body

    @property
    def path(self) -> Mapping[str, str]:
        """The parameters in the path."""
        return self.request.path_params

    async def project(self) -> Project:
        """The project of the folder that is meant."""
        return await self.service.project(self.directory)

    @property
    def view(self) -> View:
        """What the client knows, and is shown."""
        named = self.request.query_params.get("view") or self.request.headers.get(VIEW_HEADER)
        return "actors" if named == "actors" else "sessions"

    async def session(self) -> Session:
        """The session in the path.

        Raises `NotFoundError`, `DeniedError` for one in a folder that is not served, and
        `UsageError` for the slice of an actor that is shown as a session.
        """
        found = await self.slice()
        if found.actor_id is not None:
            raise UsageError(
                f"{self.path['sessionID']} is the part that an actor has in {found.session.id}, "
                "and this is possible with a whole session alone"
            )
        return found.session

    async def slice(self) -> Slice:
        """The session in the path, and the actor whose slice is meant. Raises as `session` does."""
        session_id, actor_id = parse_id(self.path["sessionID"])
        session = await self.service.session(session_id)
        if actor_id is not None:
            await self.service.runtime.actor(Address(session_id, actor_id))
        return Slice(session, actor_id)

    def count_prompt(self) -> None:
        """Note that whoever asks leaves a prompt. Raises `TooManyError`."""
        client = self.request.client
        self.service.count_prompt(client.host if client else "socket")


class Reply(Generic[T]):
    """An answer with headers."""

    def __init__(self, value: T, headers: dict[str, str]) -> None:
        self.value = value
        self.headers = headers


class Streamed(ABC):
    """An answer that is sent bit by bit."""

    media_type = "application/json"
    answer: Any = None
    """The type of its JSON; None: it is a stream of events."""

    @abstractmethod
    async def send(self, receive: Receive, send: Send) -> None:
        """Send all of it; returns when it ends or the client is gone."""


def is_streamed(answer: Any) -> bool:
    """Whether a handler's return type is a `Streamed`."""
    return isinstance(answer, type) and issubclass(answer, Streamed)


Handler = Callable[[Call[Any, Any]], Awaitable[Any]]


class Endpoint(Struct, frozen=True, kw_only=True):
    """One route."""

    method: Method
    path: str
    handler: Handler
    query: type[Struct]
    body: Any
    """None: it takes none."""
    body_optional: bool
    answer: Any
    """None: 204."""
    scoped: bool
    """It is about a folder, named by `directory` or the header."""
    name: str
    """Its operation id."""

    @property
    def summary(self) -> str:
        """What it does, in one sentence."""
        return (self.handler.__doc__ or "").partition("\n")[0]


def endpoint(
    method: Method, path: str, handler: Handler, *, scoped: bool = True, name: str = ""
) -> Endpoint:
    """A route from its handler; `name` tells routes apart that share one."""
    hints = get_type_hints(handler)
    query, body = get_args(hints["call"])
    kinds = _alternatives(body)
    optional = NoneType in kinds
    body = None if kinds == (NoneType,) else _without_none(body, kinds)
    answer = hints["return"]
    return Endpoint(
        method=method,
        path=path,
        handler=handler,
        query=query,
        body=body,
        body_optional=optional,
        answer=None if answer is NoneType else answer,
        scoped=scoped,
        name=name or handler.__name__,
    )


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def _without_none(body: Any, kinds: tuple[Any, ...]) -> Any:
    if NoneType not in kinds:
        return body
    (only,) = [kind for kind in kinds if kind is not NoneType]
    return only
