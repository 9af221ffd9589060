"""The rules that hold from message to message: calls and results, who speaks, nothing empty.

`follow` is a pure step from the state after one message to the state after the next, so a server
that remembers the states of a conversation checks only what was added.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from scripted_model.grammar import join
from scripted_model.json_strict import is_object
from scripted_model.picture import (
    CallBlock,
    Dialect,
    MediaBlock,
    Message,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from scripted_model.violations import Rule, Violation

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID_LENGTH: Final = {"chat": 40, "responses": 64, "anthropic": 128}
LISTS: Final[dict[Dialect, str]] = {
    "chat": "messages",
    "responses": "input",
    "anthropic": "messages",
}


class Spot(Struct, frozen=True):
    """Where the dialogue stands after a message."""

    speaker: str = ""
    """Role of the last message; empty at the start."""
    pending: tuple[str, ...] = ()
    """Calls without a result yet."""
    answering: bool = False
    """Results have begun, so the rest of them must follow."""
    thought: str = ""
    """Responses: id of a reasoning item that still needs the item it led to."""


class _Finding(Exception):  # noqa: N818
    """Stops the walk through a message at the first thing that is wrong."""

    def __init__(self, rule: Rule, words: str, param: str = "", code: str = "") -> None:
        super().__init__(words)
        self.violation = Violation(rule, words, param, code)


def follow(
    dialect: Dialect, spot: Spot, message: Message, index: int, seen: Mapping[str, int]
) -> Spot | Violation:
    """The state after `message`, or the first rule that it breaks.

    `index` is the place of the message in its list, `seen` the call ids of all earlier messages.
    """
    try:
        _speak(dialect, spot, message, index)
        _not_empty(dialect, message, index)
        for at, block in enumerate(message.blocks):
            place = _place(dialect, index, at)
            if isinstance(block, CallBlock):
                spot = _call(dialect, spot, block, place, seen)
            elif isinstance(block, ResultBlock):
                spot = _result(dialect, spot, block, place, seen)
            elif isinstance(block, ReasoningBlock):
                spot = replace(spot, thought=block.id or "?" if dialect == "responses" else "")
            else:
                _no_result_missing(dialect, spot, message, index)
        if dialect == "responses" and not message.reasoning:
            spot = _led_somewhere(spot, message, index)
    except _Finding as finding:
        return finding.violation
    return replace(spot, speaker=message.role)


def finish(dialect: Dialect, spot: Spot, count: int) -> list[Violation]:
    """What is wrong with where the dialogue of `count` messages ends."""
    where = LISTS[dialect]
    if count == 0 or spot.speaker == "":
        return [Violation("empty", f"{where}: at least one message is required", where)]
    try:
        _open_calls(dialect, spot, count - 1)
        if spot.thought:
            _led_somewhere(spot, Message("system", ()), count - 1)
    except _Finding as finding:
        return [finding.violation]
    if spot.speaker in ("assistant", "system"):
        words = (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )
        return [Violation("order", words, where)]
    return []


def _place(dialect: Dialect, index: int, at: int) -> str:
    if dialect == "responses":
        return join(dialect, "input", index)
    return join(dialect, "messages", index, "content", at)


def _speak(dialect: Dialect, spot: Spot, message: Message, index: int) -> None:
    where = join(dialect, LISTS[dialect], index, "role")
    if message.role == "system" and spot.speaker not in ("", "system"):
        raise _Finding("order", "System message must be at the beginning.", where)
    if spot.speaker in ("", "system") and message.role not in ("user", "system"):
        first = 'messages: first message must use the "user" role'
        if message.role == "tool":
            raise _Finding("pairing", _orphan(dialect, message.results[0].id, where), where)
        raise _Finding("order", first, where)
    if dialect == "anthropic" and message.role == spot.speaker:
        words = (
            'messages: roles must alternate between "user" and "assistant", but found multiple '
            f'"{message.role}" roles in a row'
        )
        raise _Finding("order", words, where)
    if message.role != "tool" and dialect != "anthropic":
        _no_result_missing(dialect, spot, message, index)


def _no_result_missing(dialect: Dialect, spot: Spot, message: Message, index: int) -> None:
    # In responses one answer of the model is several items, so more of it may follow a call.
    if dialect == "responses" and message.role == "assistant" and not spot.answering:
        return
    if message.role == "assistant" and dialect == "anthropic" and not spot.answering:
        return
    _open_calls(dialect, spot, index - 1)


def _open_calls(dialect: Dialect, spot: Spot, index: int) -> None:
    if not spot.pending:
        return
    ids = ", ".join(spot.pending)
    where = join(dialect, LISTS[dialect], index)
    if dialect == "anthropic":
        words = (
            f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{ids}. Each `tool_use` block must have a corresponding `tool_result` block in the "
            "next message."
        )
    elif dialect == "responses":
        words = f"No tool output found for function call {spot.pending[0]}."
    else:
        words = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{ids}"
        )
    raise _Finding("pairing", words, where)


def _orphan(dialect: Dialect, identifier: str, where: str) -> str:
    if dialect == "anthropic":
        return (
            f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {identifier}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous "
            "message."
        )
    if dialect == "responses":
        return f"No tool call found for function call output with call_id {identifier}."
    return (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'."
    )


def _call(
    dialect: Dialect, spot: Spot, call: CallBlock, place: str, seen: Mapping[str, int]
) -> Spot:
    limit = _ID_LENGTH[dialect]
    if not re.fullmatch(r"[a-zA-Z0-9_-]+", call.id) or len(call.id) > limit:
        words = f"{place}.id: '{call.id}' must match '^[a-zA-Z0-9_-]+$', at most {limit} long"
        raise _Finding("ids", words, place, "invalid_value")
    if call.id in seen or call.id in spot.pending:
        raise _Finding("ids", f"{place}: `tool_use` ids must be unique: {call.id}", place)
    if not NAME.fullmatch(call.name):
        words = f"Invalid '{place}.name': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
        raise _Finding("tools", words, place, "invalid_value")
    if wrong := is_object(call.arguments):
        words = f"{place}: tool arguments must be a JSON object: {wrong}"
        raise _Finding("json", words, place, "invalid_value")
    if spot.answering and spot.pending:
        _open_calls(dialect, spot, -1)
    return replace(spot, pending=(*spot.pending, call.id), answering=False)


def _result(
    dialect: Dialect, spot: Spot, result: ResultBlock, place: str, seen: Mapping[str, int]
) -> Spot:
    if result.id not in spot.pending:
        words = _orphan(dialect, result.id, place)
        if result.id in seen:
            words = (
                f"{place}: each tool_use must have a single result. Found multiple or late "
                f"`tool_result` blocks with id: {result.id}"
            )
        raise _Finding("pairing", words, place)
    rest = tuple(each for each in spot.pending if each != result.id)
    return replace(spot, pending=rest, answering=bool(rest))


def _not_empty(dialect: Dialect, message: Message, index: int) -> None:
    where = join(dialect, LISTS[dialect], index)
    for at, block in enumerate(message.blocks):
        place = _place(dialect, index, at)
        if isinstance(block, TextBlock) and not block.text.strip():
            words = f"{place}: text content blocks must contain non-whitespace text"
            raise _Finding("empty", words, place)
        if isinstance(block, ResultBlock) and not (block.text.strip() or block.media):
            words = f"{place}: tool results must have non-empty content"
            raise _Finding("empty", words, place)
        if isinstance(block, ReasoningBlock) and not (block.text.strip() or block.proof):
            raise _Finding("empty", f"{place}: reasoning must have non-empty content", place)
    said = [block for block in message.blocks if not isinstance(block, ReasoningBlock)]
    if not said and dialect != "responses":
        raise _Finding("empty", f"{where}: all messages must have non-empty content", where)
    if not message.blocks:
        raise _Finding("empty", f"{where}: all messages must have non-empty content", where)
    if dialect == "anthropic" and isinstance(message.blocks[-1], ReasoningBlock):
        words = f"{where}: The final block in an assistant message cannot be `thinking`."
        raise _Finding("reasoning", words, where)
    if message.role == "assistant" and any(
        isinstance(block, MediaBlock) for block in message.blocks
    ):
        raise _Finding("media", f"{where}: images are only allowed in user messages", where)


def _led_somewhere(spot: Spot, message: Message, index: int) -> Spot:
    if spot.thought and message.role != "assistant":
        words = (
            f"Item '{spot.thought}' of type 'reasoning' was provided without its required "
            "following item."
        )
        raise _Finding("reasoning", words, join("responses", "input", index))
    return replace(spot, thought="")
