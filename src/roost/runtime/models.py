"""What callers of the runtime give and get: prompts, receipts, results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from roost.actors.models import Turn
from roost.config.models import Candidates
from roost.core.wire_names import wire_name
from roost.sessions.models import AssistantInfo, Message, ModelName


class TextInput(Struct, frozen=True, tag_field="type", tag="text", rename=wire_name):
    """Words of a prompt."""

    text: str
    id: str | None = None
    synthetic: bool = False
    ignored: bool = False
    metadata: dict[str, Any] | None = None


class FileInput(Struct, frozen=True, tag_field="type", tag="file", rename=wire_name):
    """A file of a prompt: a `data:` or `file:` URL (`?start=&end=` choose lines)."""

    mime: str
    url: str
    id: str | None = None
    filename: str | None = None
    source: dict[str, Any] | None = None


class AgentInput(Struct, frozen=True, tag_field="type", tag="agent", rename=wire_name):
    """A mention of an agent."""

    name: str
    id: str | None = None
    source: dict[str, Any] | None = None


class SubtaskInput(Struct, frozen=True, tag_field="type", tag="subtask", rename=wire_name):
    """A task for an agent, which is started for it before the model is asked."""

    prompt: str
    description: str
    agent: str
    id: str | None = None
    model: ModelName | None = None
    command: str | None = None
    """The command that it came of."""


PromptInputPart = TextInput | FileInput | AgentInput | SubtaskInput


class PromptInput(Struct, frozen=True, rename=wire_name):
    """A prompt as OpenCode's clients send it; unknown fields are ignored."""

    parts: tuple[PromptInputPart, ...]
    message_id: str | None = None
    """Chosen by the client; the same id twice is the same prompt."""
    model: ModelName | None = None
    agent: str | None = None
    variant: str | None = None
    system: str | None = None
    tools: dict[str, bool] | None = None
    no_reply: bool = False
    """Store it, start no turn."""
    format: dict[str, Any] | None = None
    """`{type: "json_schema", schema, retryCount}`: the answer must fit the schema."""
    max_mode: bool | Candidates | None = None
    """Candidates that each step of its turn is chosen from; true: as many as the configuration
    says; None: as the agent says."""
    goal: str | None = None
    """What the session is to reach from now on, in place of the goal it has."""


class Accepted(Struct, frozen=True):
    """A prompt that is stored and will be answered."""

    message_id: str
    """The id that the client chose, by which it is known; the message may have another."""
    inbox_id: str
    new: bool
    """False when the same prompt had been accepted before."""


class TurnResult(Struct, frozen=True):
    """How the turn that took up a prompt ended."""

    turn: Turn
    message: Message | None
    """The last thing the model said in it."""

    @property
    def structured(self) -> Any:
        """The answer in the format that was asked for, where one was."""
        info = self.message.info if self.message else None
        return info.structured if isinstance(info, AssistantInfo) else None


class Settings(Struct, frozen=True, kw_only=True):
    """How this process runs its actors."""

    environment: Mapping[str, str]
    interactive: bool
    """Somebody can answer permission requests and questions."""
    yes: bool = False
    """Allow what would be asked; never what is denied."""
    model: str | None = None
    """`provider/model` that beats every config."""
    limits: dict[str, float] = {}
    """Budgets of a turn that beat every config."""
    make_titles: bool = True
    """Let the small model name new sessions."""
    recover_all: bool = False
    """Look after interrupted turns of every session, not only of those that are used here."""
    runs_actors: bool = True
    """Run turns here; False: only read and write, and leave what is to run to other processes."""
    home: Path | None = None
    """All folders below it; None: as the environment says."""
