"""What the judge of proposals is asked, and what its answer says. Pure."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.core.text import clean, cut
from roost.goals import judge
from roost.goals.digest import Evidence, marked, quoted, record
from roost.goals.judge import REASON, UnreadableOpinionError
from roost.llm.models import Model, ModelRequest, Text, UserMessage
from roost.sessions.models import Message
from roost.turn.proposals import Proposal

OUTPUT: Final = 8_000
"""Tokens of an answer, reasoning included."""
WORDS: Final = 6_000
THOUGHTS: Final = 2_000
ONE_CALL: Final = 4_000
CALLS: Final = 24_000
"""Bytes that are shown of the parts of one proposal."""
SHAPE: Final = '{"choice": NUMBER, "reason": "..."}'
_SYSTEM: Final = Path(__file__).with_name("ensemble_judge.md")


class Choice(Struct, frozen=True):
    """What a judge answered."""

    choice: int
    """From 1."""
    reason: str


class Option(Struct, frozen=True):
    """A proposal, and how many candidates made it."""

    proposal: Proposal
    by: int


_decoder: Final = msgspec.json.Decoder(Choice)


def request(model: Model, messages: tuple[Message, ...], options: Sequence[Option]) -> ModelRequest:
    """The question which of `options` is to be taken."""
    total = sum(one.by for one in options)
    shown = "\n\n".join(_shown(at, one, total) for at, one in enumerate(options, 1))
    asked = (
        f"The record:\n{marked(record(Evidence(messages=messages)))}\n\n"
        f"The proposals:\n{marked(shown)}\n\n"
        f"Which of the {len(options)} is to be carried out? Answer with the JSON object alone."
    )
    return ModelRequest(
        model=model,
        system=(_SYSTEM.read_text(encoding="utf-8").strip(),),
        messages=(UserMessage((Text(asked),)),),
        max_output=min(model.output, OUTPUT),
        output_schema=_schema(len(options)),
    )


def _schema(count: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "choice": {"type": "integer", "enum": list(range(1, count + 1))},
            "reason": {"type": "string"},
        },
        "required": ["choice", "reason"],
        "additionalProperties": False,
    }


def _shown(number: int, option: Option, total: int) -> str:
    proposal = option.proposal
    lines = [f"## Proposal {number} (of {option.by} of {total} candidates)"]
    if proposal.reasoning:
        lines += ["Thoughts:", quoted(proposal.reasoning, THOUGHTS)]
    if proposal.text:
        lines += ["Words:", quoted(proposal.text, WORDS)]
    room = CALLS
    for call in proposal.calls:
        arguments = quoted(call.arguments, min(ONE_CALL, max(room, 200)))
        room -= len(arguments.encode())
        lines += [f"Call of {call.name}:", arguments]
    if not proposal.calls:
        lines.append("It calls no tool and ends the turn.")
    return "\n".join(lines)


def again(asked: ModelRequest, answer: str, problem: str) -> ModelRequest:
    """The same question after an answer that could not be read."""
    return judge.again(asked, answer, problem, SHAPE)


def reader(count: int) -> Callable[[str], Choice]:
    """What reads the choice among `count` in an answer, and raises `UnreadableOpinionError`."""

    def read(answer: str) -> Choice:
        try:
            found = _decoder.decode(judge.bare(answer))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UnreadableOpinionError(str(error)) from error
        if not 1 <= found.choice <= count:
            raise UnreadableOpinionError(f"`choice` must be from 1 to {count}")
        return Choice(found.choice, cut(" ".join(clean(found.reason).split()), REASON))

    return read
