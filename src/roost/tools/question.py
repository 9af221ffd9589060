"""The tool `question`: asks the person and waits."""

from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct

from roost.core.text import clean, cut
from roost.tools.contract import Option, Question, Tool, ToolContext, ToolOutput

_HEADER: Final = 30
"""Characters of a header that clients have room for."""


class Item(Struct, frozen=True):
    """One question."""

    question: Annotated[str, Meta(min_length=1, description="The whole question.")]
    header: Annotated[str, Meta(description="A label for it, at most 30 characters.")] = ""
    options: Annotated[tuple[Option, ...], Meta(max_length=12, description="The choices.")] = ()
    multiple: Annotated[bool, Meta(description="Several may be chosen.")] | None = None
    custom: Annotated[bool, Meta(description="Free text is allowed; true if left out.")] | None = (
        None
    )


class QuestionArguments(Struct, frozen=True):
    """What to ask."""

    questions: Annotated[
        tuple[Item, ...], Meta(min_length=1, max_length=8, description="The questions.")
    ]


class QuestionTool(Tool[QuestionArguments]):
    """Puts questions to the person and gives the answers back."""

    name: ClassVar[str] = "question"
    parameters: ClassVar[type[Struct]] = QuestionArguments
    permission: ClassVar[str] = "question"

    async def run(self, arguments: QuestionArguments, context: ToolContext) -> ToolOutput:
        """Wait for the answers."""
        asked = tuple(map(_question, arguments.questions))
        answers = await context.question(asked)
        count = len(asked)
        pairs = zip(asked, answers, strict=False)
        lines = [f"{one.question}\n→ {_words(chosen)}" for one, chosen in pairs]
        return ToolOutput(
            "The user answered:\n\n" + "\n\n".join(lines),
            f"Asked {count} question{'s' if count > 1 else ''}",
            {"answers": [[clean(label) for label in chosen] for chosen in answers]},
        )


def _question(item: Item) -> Question:
    return Question(
        question=item.question,
        header=cut(item.header or item.question, _HEADER),
        options=item.options,
        multiple=bool(item.multiple),
        custom=item.custom is not False or not item.options,
    )


def _words(chosen: tuple[str, ...]) -> str:
    return clean(", ".join(chosen)) or "(no answer)"
