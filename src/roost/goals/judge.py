"""What a judge is asked, and what its answer says. Pure: who calls it waits and retries."""

import re
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.core.text import clean, cut
from roost.goals.digest import Evidence, marked, record
from roost.llm.models import AssistantMessage, Model, ModelRequest, Text, UserMessage

OUTPUT: Final = 8_000
"""Tokens of an answer, reasoning included."""
REASON: Final = 2_000
"""Characters that are kept of a reason."""
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["met", "gap", "impossible"]},
        "reason": {"type": "string"},
    },
    "required": ["verdict", "reason"],
    "additionalProperties": False,
}
_SYSTEM: Final = Path(__file__).with_name("judge.md")
_FENCE: Final = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_QUOTED: Final = 2_000
"""Characters of an answer that is given back to be mended."""
SHAPE: Final = '{"verdict": "met" | "gap" | "impossible", "reason": "..."}'
_AGAIN: Final = (
    "That is no answer that can be read: {problem}. Answer again, with the JSON object alone:"
    " {shape}"
)


class Opinion(Struct, frozen=True):
    """What a judge answered."""

    verdict: Literal["met", "gap", "impossible"]
    reason: str


class UnreadableOpinionError(Exception):
    """An answer that is not what was asked for; the words say in which way."""


_decoder: Final = msgspec.json.Decoder(Opinion)


def request(model: Model, condition: str, evidence: Evidence) -> ModelRequest:
    """The question whether `condition` is reached."""
    asked = (
        f"The goal:\n{condition}\n\n{_how_to_read(condition)}The record:\n"
        f"{marked(record(evidence))}\n\nIs the goal reached? Answer with the JSON object alone."
    )
    return ModelRequest(
        model=model,
        system=(_SYSTEM.read_text(encoding="utf-8").strip(),),
        messages=(UserMessage((Text(asked),)),),
        max_output=min(model.output, OUTPUT),
        output_schema=SCHEMA,
    )


def _how_to_read(condition: str) -> str:
    """A question is no state of things: it is reached with its answer."""
    if not condition.rstrip().endswith(("?", "\uff1f")):
        return ""
    return (
        "It is a question: it is reached once the agent has answered it directly, yes or no,"
        " good or bad, and the record supports the answer.\n\n"
    )


def again(asked: ModelRequest, answer: str, problem: str, shape: str = SHAPE) -> ModelRequest:
    """The same question after an answer that could not be read; it is to have that `shape`."""
    said = AssistantMessage((Text(cut(answer, _QUOTED) if answer.strip() else "(nothing)"),))
    words = UserMessage((Text(_AGAIN.format(problem=problem, shape=shape)),))
    return msgspec.structs.replace(asked, messages=(*asked.messages, said, words))


def read(answer: str) -> Opinion:
    """The opinion in `answer`, which must be the JSON object and nothing beside it.

    Words around it are no answer: an object among them may be one that was quoted. Raises
    `UnreadableOpinionError`.
    """
    try:
        opinion = _decoder.decode(bare(answer))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UnreadableOpinionError(str(error)) from error
    reason = cut(" ".join(clean(opinion.reason).split()), REASON)
    if not reason:
        raise UnreadableOpinionError("`reason` is empty")
    return Opinion(opinion.verdict, reason)


def bare(answer: str) -> str:
    """The answer without thoughts before it and a block of code around it. Raises
    `UnreadableOpinionError` if that is nothing.
    """
    text = _THOUGHT.sub("", answer).strip()
    if (fenced := _FENCE.match(text)) is not None:
        text = fenced[1].strip()
    if not text:
        raise UnreadableOpinionError("it is empty")
    return text
