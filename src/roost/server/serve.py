"""Runs a server: listens, answers, and stops within seconds whatever its clients do."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from socket import socket
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from roost.runtime.history_keeper import HistoryKeeper
from roost.runtime.remembering import index_of
from roost.runtime.retention import Retention
from roost.runtime.runtime import Runtime
from roost.server.advert import FOLDER, advertised, place_name
from roost.server.app import application
from roost.server.auth import Secret, new_secret, require_password
from roost.server.ending import signalled, until_told
from roost.server.models import Listening, ServerSettings
from roost.server.origins import Origins, bracketed
from roost.server.service import Service
from roost.server.sockets import listen
from roost.server.stopping import Stoppable

HEAD_SECONDS: Final = 20.0
"""How long a new connection may take to send the head of its first request."""


async def serve(
    runtime: Runtime, settings: ServerSettings, ready: Callable[[Listening], None]
) -> None:
    """Serve until a signal, the owner's end or the end of standard input asks to stop.

    `ready` is called once the server answers. Turns go on until `runtime` is closed. Main thread
    only. Raises `ConfigError`, `UsageError`, `ConflictError` or `StorageError` when it cannot
    start.
    """
    stop = asyncio.Event()
    with signalled(stop):
        async with listening(runtime, settings) as place:
            ready(place)
            await until_told(settings, stop)


@asynccontextmanager
async def listening(runtime: Runtime, settings: ServerSettings) -> AsyncGenerator[Listening]:
    """A server that answers as long as the block runs. Raises as `serve` does."""
    if settings.socket is None:
        require_password(settings.hostname, settings.password)
    with _socket(settings) as listener:
        place = _place(runtime, settings, listener)
        key = new_secret()
        service = Service(runtime, settings, key)
        origins = Origins(settings.hostname, place.port, settings.origins)
        app = application(service, Secret(place.token), origins)
        roots = [str(root) for root in service.directories.roots]
        old = Retention(runtime.database, runtime.projects, runtime.paths)
        index = index_of(runtime.paths)
        keeper = HistoryKeeper(runtime.database, index, runtime.scheduler.is_idle)
        with advertised(runtime.paths.state, place, key, roots):
            async with old.at_work(), keeper.at_work(), _answering(app, listener, service):
                yield place


@contextmanager
def _socket(settings: ServerSettings) -> Generator[socket]:
    listener = listen(settings)
    try:
        yield listener
    finally:
        listener.close()
        if settings.socket is not None:
            settings.socket.unlink(missing_ok=True)


def _place(runtime: Runtime, settings: ServerSettings, listener: socket) -> Listening:
    port = None if settings.socket else int(listener.getsockname()[1])
    folder = runtime.paths.state / FOLDER
    token_file = folder / f"{place_name(port, settings.socket)}.token"
    return Listening(
        url=f"http://{bracketed(settings.hostname)}:{port}" if port else "http://localhost",
        token=settings.password or new_secret(),
        socket=settings.socket,
        port=port,
        token_file=None if settings.password else token_file,
    )


@asynccontextmanager
async def _answering(app: ASGIApp, listener: socket, service: Service) -> AsyncGenerator[None]:
    requests = Stoppable(app)
    config = uvicorn.Config(
        requests,
        http=_Protocol,
        ws="none",
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # paths and queries of a conversation are nobody's business
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=max(1, round(service.settings.grace)),
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    try:
        yield
    finally:
        service.closing.set()
        requests.stop()
        await _stop(server)


async def _stop(server: uvicorn.Server) -> None:
    """Let requests end, then end them."""
    state = server.server_state
    await server.shutdown()
    for connection in list(state.connections):
        if (transport := getattr(connection, "transport", None)) is not None:
            transport.abort()
    await asyncio.gather(*state.tasks, return_exceptions=True)


class _Protocol(H11Protocol):
    """A connection that its request can cut (`scope["state"]["abort"]`), and that ends if no
    request ever comes.
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.app_state: dict[str, Any] = {**self.app_state, "abort": transport.abort}
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        # The base class has None there until the first request, which its types do not say.
        if vars(self).get("cycle") is None:
            self.transport.abort()
