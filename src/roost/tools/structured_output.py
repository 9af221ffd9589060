"""The tool `structured_output`: the answer in the format that a prompt asks for."""

from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from roost.tools.answer_format import AnswerFormat
from roost.tools.contract import Tool, ToolContext, ToolError, ToolOutput

NAME = "structured_output"


class GivenAnswer(Struct, frozen=True):
    """An answer that fits the format."""

    value: Any


class StructuredOutputTool(Tool[GivenAnswer]):
    """Takes the answer of one step. Made anew for each step."""

    name: ClassVar[str] = NAME
    parameters: ClassVar[type[Struct]] = GivenAnswer
    permission: ClassVar[str] = NAME
    given: ClassVar[bool] = True

    def __init__(self, format_: AnswerFormat) -> None:
        self._format = format_
        self.answer: GivenAnswer | None = None
        """What was given; the first answer of a step counts."""

    def schema(self) -> dict[str, Any]:
        """The schema that the prompt gave."""
        return self._format.arguments

    def parse(self, value: dict[str, Any]) -> GivenAnswer:
        """The answer in `value`. Raises `msgspec.ValidationError` with everything that is wrong."""
        if faults := self._format.faults(value):
            raise msgspec.ValidationError("\n" + "\n".join(faults))
        return GivenAnswer(self._format.answer(value))

    async def run(self, arguments: GivenAnswer, context: ToolContext) -> ToolOutput:
        """Take the answer."""
        del context
        if self.answer is not None:
            raise ToolError("The answer was given already in this step; that one counts.")
        self.answer = arguments
        return ToolOutput("The answer was taken.", "Structured output", {"valid": True})
