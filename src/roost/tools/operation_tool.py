"""A tool whose calls are one action out of several, some of which name an agent."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar, cast

from roost.core.text import cut
from roost.tools.actor_operations import Action
from roost.tools.contract import Tool, flat_schema

_ABOUT: Final = 400
"""Characters that are told of an agent."""

A = TypeVar("A", bound=Action)


class OperationTool(Tool[A]):
    """Made for a set of agents; its words and its schema are made once, since each step shows them.

    Subclasses say the file of their description and the field that an agent is named in.
    """

    repeats: ClassVar[bool] = True
    words: ClassVar[str]
    """The Markdown file beside this one."""
    agent_field: ClassVar[str]

    def __init__(self, agents: Mapping[str, str]) -> None:
        """`agents`: name and description of each that may be named."""
        self._agents = dict(agents)

    @abstractmethod
    def parse(self, value: dict[str, Any]) -> A:
        """The action in `value`. Raises `msgspec.ValidationError` that names the field."""

    def _further(self) -> tuple[str, ...]:
        """What stands in the description between its words and the agents."""
        return ()

    @cached_property
    def _description(self) -> str:
        parts = [page(self.words), *self._further()]
        if self._agents:
            listed = [f"- {name}: {_about(text)}" for name, text in self._agents.items()]
            parts.append("\n".join([f"Values of `{self.agent_field}`:", *listed]))
        return "\n\n".join(parts)

    @property
    def description(self) -> str:
        """What the model is told, with the agents there are."""
        return self._description

    @cached_property
    def _schema(self) -> dict[str, Any]:
        schema = flat_schema(self.parameters)
        operation = schema["properties"].get("operation")
        if operation is not None:
            operation["type"] = "object"  # without it some models write it as a string
            for one in cast("list[dict[str, Any]]", operation["anyOf"]):
                if self.agent_field in one["properties"]:
                    one["properties"][self.agent_field]["enum"] = list(self._agents)
        return schema

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return self._schema


def page(name: str) -> str:
    """A Markdown file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()


def _about(text: str) -> str:
    return cut(" ".join(text.split()), _ABOUT) or "(no description)"
