"""A runtime over a real home folder, in front of a scripted model."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from roost.runtime.models import PromptInput, Settings, TextInput, TurnResult
from roost.runtime.runtime import Runtime
from roost.sessions.models import Message, Session
from scripted_model.scenario import Scenario, Script, scenario
from scripted_model.server import ScriptedModel

KEY = "sk-test-000"


class Desk:
    """The runtime, its model, and a folder to work in."""

    def __init__(self, runtime: Runtime, model: ScriptedModel, project: Path) -> None:
        self.runtime = runtime
        self.model = model
        self.project = project

    async def session(self, folder: Path | None = None) -> Session:
        return await self.runtime.create_session(folder or self.project)

    async def prompt(self, session_id: str, text: str, **more: Any) -> str:
        """Leave a prompt and give the id of its message."""
        given = PromptInput(parts=(TextInput(text),), **more)
        return (await self.runtime.prompt(session_id, given)).message_id

    async def ask(self, session_id: str, text: str) -> TurnResult:
        """Prompt, and wait for the end of the turn."""
        return await self.runtime.wait_turn(session_id, await self.prompt(session_id, text))

    async def messages(self, session_id: str) -> list[Message]:
        """What was said, oldest first."""
        return (await self.runtime.transcripts.page(session_id)).messages

    async def reached(self, barrier: str) -> None:
        """Return when the model waits at `barrier`."""
        await asyncio.to_thread(self.model.wait_for_barrier, barrier)


@asynccontextmanager
async def desk(
    folder: Path,
    script: Scenario | Script | None = None,
    *,
    config: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncGenerator[Desk]:
    """A runtime on the home below `folder`."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    with ScriptedModel(script or scenario(default="pong"), api_key=KEY) as model:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": KEY},
            "models": {"scripted": {"limit": {"context": 200_000, "output": 8_000}}},
        }
        given_config = {"model": "test/scripted", "provider": {"test": provider}, **(config or {})}
        environment = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "ROOST_HOME": str(folder / "home"),
            "ROOST_CONFIG_CONTENT": json.dumps(given_config),
        }
        given: dict[str, Any] = {"interactive": False, "yes": True, "make_titles": False}
        made = Settings(environment=environment, **{**given, **settings})
        async with Runtime.open(made) as runtime:
            yield Desk(runtime, model, project)
