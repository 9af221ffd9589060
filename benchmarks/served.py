"""A server as a process, in front of a model, with a reader of its events."""

import http.client
import json
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from benchmarks.programs import ROOST
from benchmarks.stage import LENIENT, Stage, staged
from scripted_model.process import ScriptedProcess
from scripted_model.scenario import Scenario

PASSWORD: Final = "bench"
HEADERS: Final = {"Authorization": f"Bearer {PASSWORD}", "Content-Type": "application/json"}


class Reader:
    """Reads the event stream in a thread, and counts what it sees."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._changed = threading.Condition()
        self.characters = 0
        """Of all deltas."""
        self.idle = 0
        """How often a turn has ended."""
        self.last_delta = 0.0
        """When the newest delta was read, by the monotonic clock."""
        connection.request("GET", "/event", headers=HEADERS)
        self._stream = connection.getresponse()
        if self._stream.status != 200:
            raise RuntimeError(f"the event stream answered {self._stream.status}")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while line := self._stream.readline():
            if line.startswith(b"data: "):
                event: dict[str, Any] = json.loads(line[6:])
                with self._changed:
                    self._note(event)
                    self._changed.notify_all()

    def _note(self, event: dict[str, Any]) -> None:
        if event["type"] == "message.part.delta":
            self.last_delta = time.monotonic()
            self.characters += len(event["properties"]["delta"])
        elif event["type"] == "session.idle":
            self.idle += 1

    def wait(self, *, idle: int = 0, characters: int = 0, timeout: float = 120) -> None:
        """Wait until so many turns have ended and so many characters have come."""

        def seen() -> bool:
            return self.idle >= idle and self.characters >= characters

        with self._changed:
            if not self._changed.wait_for(seen, timeout):
                raise TimeoutError(f"{self.characters} characters and {self.idle} ends came")


class Server:
    """`roost serve`, running."""

    def __init__(self, stage: Stage, model: ScriptedProcess) -> None:
        self._stage = stage
        self._model = model
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [ROOST.version[0], "serve", "--port", "0", "--until-eof"],
            env=stage.environment | {"ROOST_SERVER_PASSWORD": PASSWORD},
            cwd=stage.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if "http://" not in line:
            raise RuntimeError("the server did not start")
        self._place: SplitResult = urlsplit(line.split()[-1])
        self.reader = Reader(self._connect())

    @property
    def pid(self) -> int:
        """The process id, for measuring it."""
        return self._process.pid

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._place.hostname or "", self._place.port, timeout=120)

    def post(self, path: str, body: Any) -> Any:
        """Ask for something on a connection of its own."""
        connection = self._connect()
        try:
            connection.request("POST", path, json.dumps(body), HEADERS)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{path} answered {answer.status}: {data[:200]!r}")
        return json.loads(data) if data else None

    def session(self) -> str:
        """The id of a new session."""
        return self.post("/session", {})["id"]

    def prompt(self, session_id: str) -> None:
        """Prompt without waiting for the answer."""
        body = {"parts": [{"type": "text", "text": "go"}]}
        self.post(f"/session/{session_id}/prompt_async", body)

    def time_to_word(self, session_id: str, gate: str, word: str) -> float:
        """Seconds from opening `gate`, at which the model waits to say `word`, to the reader."""
        self.prompt(session_id)
        while gate not in self._model.state()["waiting"]:
            time.sleep(0.02)
        time.sleep(0.2)  # whatever else belongs to the beginning is over
        heard, ended = self.reader.characters, self.reader.idle
        began = time.monotonic()
        self._model.release(gate)
        self.reader.wait(characters=heard + len(word))
        taken = self.reader.last_delta - began
        self.reader.wait(idle=ended + 1)
        return taken

    def end(self) -> None:
        """Let it end in order."""
        self._process.communicate()  # closes its stdin, which it waits for

    def database_bytes(self) -> int:
        """The size of its database on the disk."""
        return sum(path.stat().st_size for path in self._stage.folder.rglob("roost.db*"))


@contextmanager
def served(scenario: Scenario) -> Generator[Server]:
    """A server in front of a model that plays `scenario`."""
    with ScriptedProcess(scenario, *LENIENT) as model, staged(ROOST, model) as stage:
        server = Server(stage, model)
        try:
            yield server
        finally:
            server.end()
