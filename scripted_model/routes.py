"""Which address leads where: the three dialects, the list of models, and the control routes."""

from typing import Any, Final
from urllib.parse import parse_qs, unquote

import msgspec

from scripted_model.connection import Connection, HttpRequest
from scripted_model.model_service import ModelService
from scripted_model.picture import Dialect
from scripted_model.scenario import Scenario
from scripted_model.violations import error_body

_ANSWERS: Final[dict[str, Dialect]] = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "anthropic",
}
_JSON: Final = {"content-type": "application/json"}
_BORN: Final = 1_750_000_000
"""When all models of this server came into the world."""


class Routes:
    """Answers requests by their address."""

    def __init__(self, service: ModelService) -> None:
        self._service = service

    async def handle(self, http: HttpRequest, connection: Connection) -> None:
        """Answer one request."""
        dialect = _ANSWERS.get(http.path)
        if dialect is not None and http.method == "POST":
            await self._service.answer(dialect, http, connection)
        elif http.path == "/v1/messages/count_tokens" and http.method == "POST":
            self._count(http, connection)
        elif http.path.startswith("/v1/models") and http.method == "GET":
            self._models(http, connection)
        elif http.path.startswith("/control/"):
            self._control(http, connection)
        else:
            status = 405 if dialect is not None else 404
            message = f"Invalid URL ({http.method} {http.path})"
            connection.respond(status, _JSON, error_body("chat", status, message))

    def _count(self, http: HttpRequest, connection: Connection) -> None:
        tokens = self._service.count(http)
        connection.respond(200, _JSON, msgspec.json.encode({"input_tokens": tokens}))

    def _models(self, http: HttpRequest, connection: Connection) -> None:
        anthropic = "anthropic-version" in http.headers
        shape = _anthropic_model if anthropic else _openai_model
        names = self._service.settings.models or ("scripted-model",)
        one = unquote(http.path.removeprefix("/v1/models").strip("/"))
        if one and one not in names:
            dialect: Dialect = "anthropic" if anthropic else "chat"
            connection.respond(404, _JSON, error_body(dialect, 404, f"model: {one}"))
            return
        found: Any = shape(one) if one else {"data": [shape(name) for name in names]}
        if not one and anthropic:
            found |= {"has_more": False, "first_id": names[0], "last_id": names[-1]}
        elif not one:
            found |= {"object": "list"}
        connection.respond(200, _JSON, msgspec.json.encode(found))

    def _control(self, http: HttpRequest, connection: Connection) -> None:
        what = http.path.removeprefix("/control/")
        name = parse_qs(http.query).get("name", [""])[0]
        if http.method == "POST" and what == "release":
            self._service.barriers.release(name)
            found: Any = {"released": name}
        elif http.method == "POST" and what == "scenario":
            self._service.use(msgspec.json.decode(http.body, type=Scenario))
            found = {"steps": "begin anew"}
        elif http.method == "GET" and what == "state":
            found = self._state()
        else:
            connection.respond(404, _JSON, error_body("chat", 404, f"No such control: {what}"))
            return
        connection.respond(200, _JSON, msgspec.json.encode(found))

    def _state(self) -> dict[str, Any]:
        records = self._service.records
        return {
            "requests": len(records),
            "playing": sum(record.outcome == "playing" for record in records),
            "waiting": self._service.barriers.closed(),
            "violations": [each for record in records for each in record.violations],
            "outcomes": [record.outcome for record in records],
        }


def _openai_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _BORN, "owned_by": "scripted-model"}


def _anthropic_model(name: str) -> dict[str, Any]:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2025-06-15T00:00:00Z",
        "lifecycle": "active",
    }
