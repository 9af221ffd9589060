"""A project, a database and a context for running tools as the turn does."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from fake_actors import FakeActors
from fake_sessions import FakeSessions
from fake_teams import FakeTeams

from roost.actors import store as actors
from roost.core.errors import DeniedError
from roost.core.ids import new_id
from roost.core.secrets import Secrets
from roost.db.database import Database
from roost.events.bus import Bus
from roost.inbox.models import Address
from roost.memory.index import Index
from roost.memory.layout import Layout, Whose
from roost.permissions.layers import DEFAULTS
from roost.permissions.models import Layer, PermissionRequest, Rule
from roost.permissions.rules import evaluate
from roost.runtime.history import History
from roost.runtime.history_port import HistoryPort
from roost.runtime.memory_port import MemoryPort
from roost.sessions import store as sessions
from roost.sessions.models import NewSession
from roost.skills.models import Skills
from roost.tools.arguments import parse_call
from roost.tools.contract import Question, ToolContext, ToolOutput
from roost.tools.registry import builtin_tools
from roost.workspace.guard import Guard
from roost.workspace.ledger import ReadLedger
from roost.workspace.shell import Shell

SECRET = "ROOST_TEST_SECRET_KEY"


class ToolWorld:
    """Runs calls in a project of its own; what the person would be asked is in `asked`."""

    def __init__(self, folder: Path, database: Database, bus: Bus, session_id: str) -> None:
        self.root = folder / "project"
        self.outside = folder / "outside"
        self.spill = folder / "data" / "outputs"
        self.database = database
        self.bus = bus
        self.requests: list[PermissionRequest] = []
        self.asked: list[PermissionRequest] = []
        self.agrees = True
        """What the person says to every request."""
        self.before_answer: Callable[[PermissionRequest], None] = lambda _: None
        """What happens while a request is looked at."""
        self.rules: tuple[Rule, ...] = ()
        """The user's own."""
        self.answers: tuple[tuple[str, ...], ...] | None = None
        self.questions: tuple[Question, ...] = ()
        self.progress: list[dict[str, Any]] = []
        self.directory = self.root
        self.ledger = ReadLedger()
        self.reads_images = True
        self.reads_pdf = False
        self.allows_private_hosts = True
        self.address = Address(session_id, "main")
        self.shell = Shell({**os.environ, SECRET: "hunter2"}, secrets={SECRET})
        self.guard = Guard(self.root, [self.spill], protected=[folder / "data"])
        self.actors = FakeActors()
        self.sessions = FakeSessions()
        self.teams = FakeTeams()
        self.whose = whose = Whose("p", session_id)
        self.index = Index(folder / "cache" / "search.db")
        self.layout = Layout(folder / "data")
        self.secrets = Secrets({"KEY": "hunter2-hunter2"})
        self.memory = self.memory_port(writable=True)
        self.history = HistoryPort(database, History(database, self.index), whose)
        self.skills = Skills()
        self.titles: list[str | None] = []
        self.tools = builtin_tools()

    def memory_port(self, *, writable: bool) -> MemoryPort:
        """Memory as the tool sees it."""
        return MemoryPort(self.index, self.layout, self.whose, self.secrets, writable=writable)

    async def call(self, tool: str, call_id: str | None = None, **arguments: Any) -> ToolOutput:
        """Run a call whose arguments come as a model writes them."""
        raw = msgspec.json.encode(arguments).decode()
        parsed = parse_call(self.tools, tool, raw, complete=True)
        return await parsed.tool.run(parsed.arguments, self.context(call_id or new_id("tool")))

    def context(self, call_id: str) -> ToolContext:
        """What the turn gives to a call."""
        return ToolContext(
            actor=self.address,
            agent="build",
            turn_id="trn_1",
            message_id="msg_1",
            call_id=call_id,
            directory=self.directory,
            root=self.root,
            guard=self.guard,
            ledger=self.ledger,
            database=self.database,
            spill_folder=self.spill,
            shell=self.shell,
            reads_images=self.reads_images,
            reads_pdf=self.reads_pdf,
            allow_private_hosts=self.allows_private_hosts,
            ask=self._ask,
            question=self._question,
            actors=self.actors,
            sessions=self.sessions,
            teams=self.teams,
            skills=self.skills,
            memory=self.memory,
            history=self.history,
            progress=self._progress,
        )

    def file(self, name: str, content: str | bytes = "") -> Path:
        """Make a file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def git(self, *arguments: str) -> None:
        """Run git in the project."""
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(
            ["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True
        )

    def asked_for(self) -> list[str]:
        """The permissions that the person was asked for, in order."""
        return [request.permission for request in self.asked]

    def _progress(self, title: str | None, metadata: dict[str, Any]) -> None:
        self.titles.append(title)
        self.progress.append(metadata)

    async def _ask(self, request: PermissionRequest) -> None:
        self.requests.append(request)
        msgspec.json.encode([request.patterns, request.always, request.metadata, request.title])
        self.before_answer(request)
        verdict = evaluate(request, (DEFAULTS, Layer("user", "user", self.rules)))
        if verdict.action == "ask":
            self.asked.append(request)
        if verdict.action == "deny" or (verdict.action == "ask" and not self.agrees):
            raise DeniedError(verdict.reason)

    async def _question(self, questions: tuple[Question, ...]) -> tuple[tuple[str, ...], ...]:
        self.questions = questions
        if self.answers is None:
            raise DeniedError("Nobody is there to answer.")
        return self.answers


@asynccontextmanager
async def tool_world(folder: Path) -> AsyncIterator[ToolWorld]:
    """A world below `folder` whose processes end with it."""
    for name in ("project", "outside", "data"):
        (folder / name).mkdir()
    bus = Bus()
    database = Database.open(folder / "data" / "roost.db", bus)
    try:
        new = NewSession(directory=str(folder / "project"), project_id="p")
        session = await database.write(lambda tx: sessions.create(tx, new))
        await database.write(lambda tx: actors.register(tx, actors.new_main(session.id, "build")))
        world = ToolWorld(folder, database, bus, session.id)
        try:
            yield world
        finally:
            world.index.close()
            await world.shell.close()
    finally:
        database.close()


def in_world(folder: Path, test: Callable[[ToolWorld], Awaitable[None]]) -> None:
    """Run `test` in a world of its own."""

    async def run() -> None:
        async with tool_world(folder) as world:
            await test(world)

    asyncio.run(run())
