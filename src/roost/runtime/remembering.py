"""Memory and history of a process: one index, and what a session's actors know of it."""

from msgspec import Struct

from roost.config.paths import Paths
from roost.context.agents import Agent
from roost.context.recall import MEMORY, Remembered, memory_block
from roost.core.secrets import Secrets
from roost.db.database import Database
from roost.llm.models import Model
from roost.memory.index import Index
from roost.memory.layout import Layout, Whose
from roost.memory.search import scopes_of
from roost.memory.sections import sections
from roost.runtime.history import History
from roost.runtime.history_port import HistoryPort
from roost.runtime.memory_port import MemoryPort, own_files
from roost.runtime.project import Project
from roost.sessions.models import Session


def index_of(paths: Paths) -> Index:
    """The index of a user: what it holds can be made again, so it lies with what may be lost."""
    return Index(paths.cache / "search.db")


class Recall(Struct, frozen=True):
    """Memory as the turns of one session see it."""

    memory: MemoryPort
    history: HistoryPort
    layout: Layout
    whose: Whose
    writable: bool

    def count(self, agent: Agent | None) -> int:
        """How many files of memory there are for one who works as `agent`."""
        if agent is None or not agent.may_call(MEMORY):
            return 0
        scopes = scopes_of(self.layout, self.whose, "own")
        return sum(len(self.layout.files(*one, self.whose)) for one in scopes)

    def block(self, agent: Agent, model: Model) -> str:
        """What the system prompt says of memory to one who is shown its tool."""
        if model.small_prompt or not agent.may_call(MEMORY):
            return ""
        files = [
            Remembered(
                one.file.name,
                tuple(part.heading for part in sections(one.text) if part.level > 1),
            )
            for one in own_files(self.layout, self.whose)
        ]
        return memory_block(files, writable=self.writable)


class Remembering:
    """What all sessions of a process share."""

    def __init__(self, paths: Paths, database: Database) -> None:
        self._layout = Layout(paths.data)
        self._database = database
        self._index = index_of(paths)

    def close(self) -> None:
        """Let go of the index."""
        self._index.close()

    def of(self, session: Session, project: Project, secrets: Secrets) -> Recall:
        """Memory as the turns of `session` see it."""
        config = project.loaded.config
        whose = Whose(session.project_id, session.id)
        writable = not config.memory.disable_write
        history = History(self._database, self._index, config.history.kinds)
        return Recall(
            memory=MemoryPort(self._index, self._layout, whose, secrets, writable=writable),
            history=HistoryPort(self._database, history, whose),
            layout=self._layout,
            whose=whose,
            writable=writable,
        )
