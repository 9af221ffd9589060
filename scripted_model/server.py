"""The scripted model as a server: in a thread of a test, or as the whole of a process.

In a test::

    with ScriptedModel(scenario(Call("bash", {"command": "ls"}), "All done.")) as model:
        ...  # give the program model.url + "/v1"
        assert model.violations == []
"""

import asyncio
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from scripted_model.connection import BadRequestError, ClientGoneError, Connection
from scripted_model.model_service import ModelService, Settings
from scripted_model.recording import Log, Record
from scripted_model.routes import Routes
from scripted_model.scenario import Scenario, Script
from scripted_model.violations import Violation, error_body

_START_LIMIT: Final = 10.0
_BACKLOG: Final = 2048


class ScriptedModel:
    """A server that plays a scenario; as a context manager it runs in a thread of its own.

    All keywords but `port` (0: a free one) and `log` are those of `Settings`. Leaving the context
    raises what went wrong inside the server or a script.
    """

    def __init__(
        self,
        scenario: Scenario | Script,
        *,
        strict: bool = True,
        api_key: str | None = None,
        models: Iterable[str] = (),
        context: int | Mapping[str, int] = 1_000_000,
        extra_fields: Iterable[str] = (),
        keep: int | None = None,
        secret: str = "scripted-model",
        seed: str | None = None,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        settings = Settings(
            strict=strict,
            api_key=api_key,
            models=tuple(models),
            context=context,
            extra_fields=frozenset(extra_fields),
            keep=keep,
            secret=secret,
        )
        self.port = port
        self.crashes: list[Exception] = []
        """Errors of the server itself and of scripts."""
        self._log = Log(log) if log is not None else None
        self._logged = 0
        self._changed = threading.Condition()
        self._service = ModelService(
            scenario, settings, seed=seed or uuid.uuid4().hex, on_change=self._note
        )
        self._routes = Routes(self._service)
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def _note(self, record: Record) -> None:
        if self._log is not None:
            if record.ended is not None:
                self._log.end(record)
            elif record.number == self._logged:
                self._logged += 1
                self._log.begin(record)
        with self._changed:
            self._changed.notify_all()

    @property
    def url(self) -> str:
        """The root of the server, without `/v1`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Record]:
        """Every request for an answer so far, in order of arrival."""
        return list(self._service.records)

    @property
    def violations(self) -> list[Violation]:
        """Every broken rule so far."""
        return [each for record in self.requests for each in record.violations]

    @property
    def playing(self) -> int:
        """How many requests are being answered now."""
        return sum(record.ended is None for record in self.requests)

    def use(self, scenario: Scenario | Script) -> None:
        """Play another scenario from now on; conversations begin anew."""
        self._call(lambda: self._service.use(scenario))

    def release(self, name: str) -> None:
        """Open a barrier, for all that wait at it and all that come later."""
        self._call(lambda: self._service.barriers.release(name))

    def wait_for_barrier(self, name: str, *, count: int = 1, timeout: float = 10.0) -> None:
        """Wait until `count` answers have come to a barrier. Raises `TimeoutError`."""
        self.wait_until(lambda: self._service.barriers.arrived(name) >= count, timeout=timeout)

    def wait_for_requests(self, count: int, *, timeout: float = 10.0) -> list[Record]:
        """Wait until `count` requests have come. Raises `TimeoutError`."""
        self.wait_until(lambda: len(self._service.records) >= count, timeout=timeout)
        return self.requests

    def wait_until_quiet(self, *, timeout: float = 10.0) -> None:
        """Wait until no request is being answered. Raises `TimeoutError`."""
        self.wait_until(lambda: self.playing == 0, timeout=timeout)

    def wait_until(self, fits: Callable[[], bool], *, timeout: float = 10.0) -> None:
        """Wait until `fits` holds, asked anew whenever a request comes, waits or ends, and often
        between that, since it may be about anything.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while not self._changed.wait_for(fits, 0.05):
                if time.monotonic() < deadline:
                    continue
                seen = [(each.dialect, each.outcome) for each in self.requests]
                raise TimeoutError(f"nothing like it within {timeout} s; requests: {seen}")

    def _call(self, action: Callable[[], None]) -> None:
        """Run `action` on the server's loop and wait for it."""
        if self._loop is None or self._thread is None:
            action()
            return
        done = threading.Event()

        def run() -> None:
            action()
            done.set()

        self._loop.call_soon_threadsafe(run)
        done.wait(_START_LIMIT)

    def start(self) -> None:
        """Run in a thread; returns when the port is open. Raises what kept it from opening."""
        self._thread = threading.Thread(target=self._run, name="scripted-model", daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_LIMIT) or self.crashes:
            raise RuntimeError("the scripted model did not start") from (
                self.crashes[0] if self.crashes else None
            )

    def _run(self) -> None:
        try:
            asyncio.run(self.serve())
        except OSError as error:
            self.crashes.append(error)
            self._ready.set()

    def stop(self) -> None:
        """Close every connection and end the thread."""
        if self._loop is not None and self._stop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(_START_LIMIT)
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        for crash in self.crashes:
            if error is None:
                raise crash
            error.add_note(f"inside the scripted model: {crash!r}")

    async def serve(self, *, on_ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `request_stop`; for a process that is nothing else."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        listener = _listener(self.port)
        self.port = listener.getsockname()[1]
        async with asyncio.TaskGroup() as group:
            server = await asyncio.start_server(
                lambda reader, writer: self._accept(group, reader, writer),
                sock=listener,
                backlog=_BACKLOG,
            )
            self._ready.set()
            on_ready()
            try:
                await self._stop.wait()
            finally:
                server.close()
                for task in self._tasks:
                    task.cancel()

    def request_stop(self) -> None:
        """Let `serve` return; from any thread."""
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    def _accept(
        self,
        group: asyncio.TaskGroup,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        task = group.create_task(self._converse(Connection(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, connection: Connection) -> None:
        try:
            while connection.keep_alive:
                http = await connection.read_request()
                if http is None:
                    break
                await self._routes.handle(http, connection)
        except BadRequestError as error:
            connection.keep_alive = False
            connection.respond(400, {}, error_body("chat", 400, str(error)))
        except ClientGoneError:
            connection.keep_alive = False
        except Exception as error:  # noqa: BLE001 - one broken script must not stop the others
            self.crashes.append(error)
            self._confess(connection, error)
        finally:
            await connection.close()

    def _confess(self, connection: Connection, error: Exception) -> None:
        """Tell the client of a crash, finally, so that it does not try again for long."""
        if not connection.is_streaming and not connection.is_closing:
            body = error_body("chat", 400, f"the scripted model failed: {error!r}")
            connection.respond(400, {"content-type": "application/json"}, body)


def _listener(port: int) -> socket.socket:
    """A listening socket whose connections send each write at once.

    asyncio turns off Nagle's algorithm only where the protocol is named.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
