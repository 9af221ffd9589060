"""A real server on a real socket, over a real runtime, in front of a scripted model."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from roost.client.models import ServerPlace
from roost.runtime.models import Settings
from roost.runtime.runtime import Runtime
from roost.server.models import Listening, ServerSettings
from roost.server.serve import listening
from scripted_model.scenario import Scenario, Script, scenario
from scripted_model.server import ScriptedModel

KEY = "sk-test-000"


class Served:
    """The server, the runtime behind it, and an HTTP client that knows the token."""

    def __init__(
        self, runtime: Runtime, place: Listening, project: Path, model: ScriptedModel
    ) -> None:
        self.runtime = runtime
        self.place = place
        self.project = project
        self.model = model
        self.http = self.client(
            **{"Authorization": f"Bearer {place.token}", "x-roost-view": "actors"}
        )
        """A client that knows actors."""
        self.plain = self.client(Authorization=f"Bearer {place.token}")
        """One that does not, as those of OpenCode."""

    def client(self, **headers: str) -> httpx2.AsyncClient:
        """A client that sends nothing but `headers`."""
        return httpx2.AsyncClient(
            base_url=self.place.url, headers=headers, trust_env=False, timeout=30
        )

    @property
    def client_place(self) -> ServerPlace:
        """What Roost's own client needs."""
        return ServerPlace(self.place.url, self.place.token, directory=str(self.project))

    async def session(self, **body: Any) -> str:
        """A new session's id."""
        answer = await self.http.post("/session", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]

    async def prompt(self, session_id: str, text: str, **more: Any) -> httpx2.Response:
        """Prompt and wait for the answer."""
        body = {"parts": [{"type": "text", "text": text}], **more}
        return await self.http.post(f"/session/{session_id}/message", json=body)

    async def texts(self, session_id: str) -> list[str]:
        """What was said in a session, in order."""
        answer = await self.http.get(f"/session/{session_id}/message")
        return [text_of(message) for message in answer.json()]

    @asynccontextmanager
    async def events(
        self, path: str = "/event", *, client: httpx2.AsyncClient | None = None, **headers: str
    ) -> AsyncGenerator[AsyncIterator[dict[str, Any]]]:
        """The events of a stream, as JSON; for `client` where one is given."""
        async with (client or self.http).stream("GET", path, headers=headers) as response:
            assert response.status_code == 200
            yield _events(response)


async def _events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def text_of(message: dict[str, Any]) -> str:
    """The words of a message as the wire shows it."""
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def configuration(model: ScriptedModel) -> dict[str, Any]:
    return {
        "model": "test/scripted",
        "provider": {
            "test": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{model.url}/v1", "apiKey": KEY},
                "models": {"scripted": {"limit": {"context": 200_000, "output": 8_000}}},
            }
        },
        "command": {"greet": {"template": "Say hello to $1, then: $ARGUMENTS"}},
    }


@asynccontextmanager
async def served(
    folder: Path,
    script: Scenario | Script | None = None,
    *,
    config: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncGenerator[Served]:
    """A server opened for `folder/project`; `settings` are those of `ServerSettings`."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    with ScriptedModel(script or scenario(default="pong"), api_key=KEY) as model:
        environment = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "ROOST_HOME": str(folder / "home"),
            "ROOST_CONFIG_CONTENT": json.dumps({**configuration(model), **(config or {})}),
        }
        made = Settings(environment=environment, interactive=True, make_titles=False)
        given = ServerSettings(**{"directories": (project,), **settings})
        async with Runtime.open(made) as runtime, listening(runtime, given) as place:
            stage = Served(runtime, place, project, model)
            async with stage.http, stage.plain:
                yield stage


def on_server(folder: Path, check: Callable[[Served], Awaitable[None]], **more: Any) -> None:
    """Run `check` on a server of its own."""

    async def run() -> None:
        async with served(folder, **more) as stage:
            await check(stage)

    asyncio.run(run())


def changed(settings: ServerSettings, **more: Any) -> ServerSettings:
    return msgspec.structs.replace(settings, **more)
