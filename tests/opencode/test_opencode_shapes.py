"""What Roost answers has the shapes of OpenCode's own OpenAPI documents; it may say more."""

import json
import threading
from pathlib import Path
from typing import Any, Self

import httpx2
import jsonschema_rs
import pytest
from opencode_packages import OLD, VERSIONS, opencode
from opencode_stage import PASSWORD, Stage, stage

from roost.server.app import ENDPOINTS

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(240)]
QUERIES = {
    "/find": {"pattern": "return"},
    "/find/file": {"query": "app"},
    "/find/symbol": {"query": "add"},
    "/file": {"path": ""},
    "/file/content": {"path": "app.py"},
    "/vcs/diff": {"mode": "git"},
    "/experimental/tool": {"provider": "test", "model": "scripted"},
    "/api/fs/find": {"query": "app"},
}
STREAMS = {"/event", "/global/event"}
NEW_API = {
    "/api/agent",
    "/api/command",
    "/api/fs/find",
    "/api/fs/list",
    "/api/health",
    "/api/integration",
    "/api/location",
    "/api/model",
    "/api/provider",
    "/api/reference",
    "/api/skill",
}
"""What Roost has of the second API."""
UNSERVED = {"/tui/control/next", "/pty/{ptyID}", "/pty/{ptyID}/connect", "/vcs/diff/raw"}


class Shapes:
    """The document of one version."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.paths: dict[str, dict[str, Any]] = document["paths"]
        self._components = _opened(document["components"])

    def faults(self, schema: dict[str, Any], value: Any) -> list[str]:
        """What of `value` does not fit `schema`."""
        whole = {**_opened(schema), "components": self._components}
        found = jsonschema_rs.Draft202012Validator(whole).iter_errors(value)
        return [f"{'/'.join(map(str, one.instance_path))}: {one.message[:300]}" for one in found]

    def answer(self, path: str, method: str = "get") -> dict[str, Any]:
        """The schema of a good answer."""
        content = self.paths[path][method]["responses"]["200"]["content"]
        return next(iter(content.values()))["schema"]

    def event(self, type_: str) -> dict[str, Any] | None:
        """The schema of an event; None if it is none of OpenCode's."""
        for one in self._components["schemas"].values():
            fields = one.get("properties", {})
            kind = fields.get("type", {})
            if "properties" in fields and type_ in (kind.get("const"), *kind.get("enum", ())):
                return one
        return None


def _opened(schema: Any) -> Any:
    """`schema` with objects that may hold more than it says, as Roost's do."""
    if isinstance(schema, list):
        return [_opened(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = schema.get("additionalProperties") is False
    return {k: _opened(v) for k, v in schema.items() if k != "additionalProperties" or not closed}


class Watched:
    """A client that also keeps every event of a folder."""

    def __init__(self, server: Stage) -> None:
        self.http = httpx2.Client(
            base_url=server.url, auth=("opencode", PASSWORD), trust_env=False, timeout=60
        )
        self.events: list[dict[str, Any]] = []
        self._idle = threading.Event()
        self._connected = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._connected.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(20)
        self.http.close()

    def _listen(self) -> None:
        with self.http.stream("GET", "/event") as response:
            for line in response.iter_lines():
                if line.startswith("data: "):
                    event = json.loads(line.removeprefix("data: "))
                    self.events.append(event)
                    self._connected.set()
                    if (
                        event["type"] == "session.idle"
                        and "." not in event["properties"]["sessionID"]
                    ):
                        self._idle.set()
                        return

    def prompt(self, words: str) -> tuple[str, dict[str, Any]]:
        """A new session, and its answer to a prompt."""
        session = self.http.post("/session", json={"title": "Shapes"}).json()["id"]
        body = {"parts": [{"type": "text", "text": words}]}
        answer = self.http.post(f"/session/{session}/message", json=body).json()
        assert self._idle.wait(30)
        return session, answer


def _is_whole(event: dict[str, Any]) -> bool:
    """Whether an event is about a session, not about the slice of one actor in it."""
    return "." not in event["properties"]["sessionID"]


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_and_events_fit_the_document_of_that_version(version: str, tmp_path: Path) -> None:
    shapes = Shapes(opencode(version).document())
    with stage(tmp_path) as server, Watched(server) as watched:
        session, answer = watched.prompt("delegate it")
        prompted = "/session/{sessionID}/message"
        assert shapes.faults(shapes.answer(prompted, "post"), answer) == []
        assert _faults_of_reading(shapes, watched, session) == {}
    assert _faults_of_events(shapes, watched.events) == {}
    # The check itself sees what does not fit.
    assert shapes.faults(shapes.answer("/session"), [{"id": 5}]) != []


def _faults_of_reading(shapes: Shapes, watched: Watched, session: str) -> dict[str, Any]:
    """What does not fit, by route, of everything that can be read."""
    http = watched.http
    messages = http.get(f"/session/{session}/message").json()
    named = {
        "{sessionID}": session,
        "{messageID}": messages[-1]["info"]["id"],
        "{projectID}": http.get("/project/current").json()["id"],
    }
    faults: dict[str, Any] = {}
    for path, operations in shapes.paths.items():
        is_served = not path.startswith("/api/") or path in NEW_API
        if "get" not in operations or path in STREAMS | UNSERVED or not is_served:
            continue
        filled = path
        for name, value in named.items():
            filled = filled.replace(name, value)
        answer = http.get(filled, params=QUERIES.get(path, {}))
        if answer.status_code != 200:
            faults[path] = answer.text
        elif found := shapes.faults(shapes.answer(path), answer.json()):
            faults[path] = found
    return faults


def _faults_of_events(shapes: Shapes, events: list[dict[str, Any]]) -> dict[str, Any]:
    known = [(event, shapes.event(event["type"])) for event in events]
    types = {event["type"] for event, schema in known if schema is not None}
    assert {"session.created", "session.status", "message.updated", "session.idle"} <= types
    assert {"message.part.updated", "message.part.delta", "server.connected"} <= types
    return {
        event["type"]: found
        for event, schema in known
        if schema is not None and (found := shapes.faults(schema, event))
    }


def test_every_operation_of_the_old_version_is_answered_or_refused_by_name() -> None:
    paths = opencode(OLD).document()["paths"]
    served: dict[str, set[str]] = {}
    for one in ENDPOINTS:
        served.setdefault(_unnamed(one.path), set()).add(one.method.lower())
    missing = {
        f"{method} {path}"
        for path, operations in paths.items()
        for method in operations
        if method not in served.get(_unnamed(path), set())
    }
    # The preview of a second API, which no client of that version uses.
    assert {one for one in missing if " /api/session" not in one} == set()


def _unnamed(path: str) -> str:
    return "/".join("{}" if piece.startswith("{") else piece for piece in path.split("/"))
