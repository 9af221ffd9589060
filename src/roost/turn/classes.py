"""What kind of step it was: seven classes and the one table that tells them apart.

First promise: a tool that ran always goes back to the model, whatever else the step says.
"""

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from roost.llm.models import ToolSpec
from roost.sessions.models import AssistantInfo, Message
from roost.sessions.parts import ReasoningPart, TextPart, ToolFailed, ToolPart
from roost.turn.text_call_values import ToolNames
from roost.turn.text_calls import find

StepClass = Literal[
    "final",  # words for the user
    "continue",  # tools answered: the model goes on
    "text-tool-call",  # a tool call written as text
    "filtered",  # the provider withheld the answer
    "think-only",  # reasoning and nothing else
    "invalid",  # nothing at all
    "failed",  # an error
]


class Traits(Struct, frozen=True, kw_only=True):
    """What of a step its class depends on."""

    observed: bool
    """A tool was called and has a result, or an error of its own; one that was interrupted has
    none.
    """
    error: bool
    """The step carries an error."""
    finish: str | None
    """Why the model stopped, as `FinishReason`; None: nobody knows."""
    text_call: str
    """The form of a tool call that was written as text; empty: there is none."""
    text: bool
    """It holds words for the user."""
    reasoning: bool
    """It holds thoughts."""


class Row(Struct, frozen=True, kw_only=True):
    """One row of the table: what must hold for its class; what is None may be as it likes."""

    kind: StepClass
    what: str
    """For people."""
    observed: bool | None = None
    error: bool | None = None
    finish: frozenset[str | None] | None = None
    """Any of these."""
    text_call: bool | None = None
    text: bool | None = None
    reasoning: bool | None = None
    degraded: str = ""
    """Why an answer is less than it should be, for people; empty: it is a good one."""

    def fits(self, traits: Traits) -> bool:
        """Whether a step with `traits` is of this row."""
        return (
            (self.finish is None or traits.finish in self.finish)
            and self.observed in {None, traits.observed}
            and self.error in {None, traits.error}
            and self.text_call in {None, bool(traits.text_call)}
            and self.text in {None, traits.text}
            and self.reasoning in {None, traits.reasoning}
        )


_FILTER: Final = frozenset[str | None]({"content-filter"})
_USUAL: Final = frozenset[str | None]({"stop", "length"})
_CALLS: Final = frozenset[str | None]({"tool-calls"})

TABLE: Final = (
    Row(kind="continue", what="a tool ran, well or not", observed=True),
    Row(kind="failed", what="the call of the model failed or was cut off", error=True),
    Row(kind="failed", what="the provider ended it as an error", finish=frozenset({"error"})),
    Row(
        kind="final",
        what="words before a content filter cut in",
        finish=_FILTER,
        text=True,
        degraded="The provider's content filter ended this answer early",
    ),
    Row(kind="filtered", what="a content filter left nothing", finish=_FILTER),
    Row(kind="text-tool-call", what="a tool call written as text", text_call=True),
    Row(
        kind="invalid", what="words that end with calls which never came", finish=_CALLS, text=True
    ),
    Row(kind="final", what="words for the user", finish=_USUAL, text=True),
    Row(
        kind="final",
        what="words with an end that nobody knows",
        text=True,
        degraded="The provider ended this answer in a way that Roost does not know",
    ),
    Row(kind="think-only", what="thoughts and nothing else", reasoning=True),
    Row(kind="invalid", what="nothing at all"),
)
"""The first row that fits is the class of a step; the last fits every step."""


def row_of(traits: Traits) -> Row:
    """The row of the table that a step with `traits` is of."""
    return next(row for row in TABLE if row.fits(traits))


def traits_of(message: Message, tools: Iterable[ToolSpec] = ()) -> Traits:
    """What the table looks at; `tools` are those that the model was shown."""
    info = message.info
    assert isinstance(info, AssistantInfo)
    observed = any(_observed(part) for part in message.parts if isinstance(part, ToolPart))
    text = "" if observed else spoken(message)
    return Traits(
        observed=observed,
        error=info.error is not None,
        finish=info.finish,
        text_call=find(text, _names(tools)) if text else "",
        text=bool(text),
        reasoning=any(
            isinstance(part, ReasoningPart) and part.text.strip() for part in message.parts
        ),
    )


def _names(tools: Iterable[ToolSpec]) -> ToolNames:
    return {tool.name: frozenset(tool.schema.get("properties", ())) for tool in tools}


def _observed(part: ToolPart) -> bool:
    """A call whose result the model must see; one that was interrupted has none."""
    state = part.state
    return not (isinstance(state, ToolFailed) and (state.metadata or {}).get("interrupted"))


def spoken(message: Message) -> str:
    """The words of a step that are meant for the user."""
    texts = (part.text for part in message.parts if isinstance(part, TextPart) and part.is_own)
    return "\n".join(text for text in texts if text.strip()).strip()
