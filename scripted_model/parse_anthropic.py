"""Anthropic messages: from the body of a request to the picture of it."""

from typing import Any, Final, cast

import msgspec

from scripted_model import schema_anthropic as schema
from scripted_model.grammar import check
from scripted_model.json_strict import Object, child, items, text
from scripted_model.picture import (
    Block,
    CallBlock,
    Dialect,
    MediaBlock,
    Message,
    ReasoningBlock,
    Request,
    ResultBlock,
    TextBlock,
    Tool,
)
from scripted_model.violations import Violation

_TAKEN: Final = {"model", "messages", "system", "tools", "stream"}


class AnthropicGrammar:
    """`POST /v1/messages`."""

    dialect: Dialect = "anthropic"
    list_key = "messages"

    def head(self, body: Object) -> Request:
        """Everything but the messages."""
        limit = body.get("max_tokens")
        system = _content(body, "system")
        return Request(
            dialect="anthropic",
            model=text(body, "model"),
            system=tuple(block.text for block in system if isinstance(block, TextBlock)),
            tools=tuple(_tool(each) for each in items(body, "tools")),
            stream=body.get("stream") is True,
            max_output=limit if isinstance(limit, int) else None,
            cache_key=text(child(body, "metadata"), "user_id"),
            options={key: value for key, value in body.items() if key not in _TAKEN},
        )

    def message(self, item: Any) -> Message:
        """One message; tool results are part of a user's."""
        role = "assistant" if text(item, "role") == "assistant" else "user"
        return Message(role, _content(item, "content"))

    def check_head(self, body: Object) -> list[Violation]:
        """Fields of the body, and what may not stand together."""
        found = check("anthropic", body, schema.Body)
        thinking = child(body, "thinking")
        on = text(thinking, "type") == "enabled"
        budget, limit = thinking.get("budget_tokens"), body.get("max_tokens")
        if on and isinstance(budget, int) and isinstance(limit, int) and budget >= limit:
            message = "`max_tokens` must be greater than `thinking.budget_tokens`."
            found.append(Violation("fields", message, "max_tokens"))
        if on and body.get("temperature", 1) != 1:
            message = "`temperature` may only be set to 1 when thinking is enabled."
            found.append(Violation("fields", message, "temperature"))
        if "temperature" in body and "top_p" in body:
            message = "`temperature` and `top_p` cannot both be specified for this model."
            found.append(Violation("fields", message, "top_p"))
        choice = text(child(body, "tool_choice"), "type")
        if on and choice in ("any", "tool"):
            message = "Thinking may not be enabled when tool_choice forces tool use."
            found.append(Violation("fields", message, "tool_choice"))
        if choice and not body.get("tools"):
            message = "tool_choice may only be specified while providing tools."
            found.append(Violation("fields", message, "tool_choice"))
        return found

    def check_item(self, item: Any, path: str) -> list[Violation]:
        """Fields of one message."""
        return check("anthropic", item, schema.Message, path)


def _tool(each: Any) -> Tool:
    return Tool(
        name=text(each, "name"),
        description=text(each, "description"),
        schema=cast("Object", each).get("input_schema") if isinstance(each, dict) else None,
        strict=isinstance(each, dict) and cast("Object", each).get("strict") is True,
    )


def _content(item: Any, key: str) -> tuple[Block, ...]:
    content = cast("Object", item).get(key) if isinstance(item, dict) else None
    if isinstance(content, str):
        return (TextBlock(content),)
    return tuple(_part(part) for part in items(item, key))


def _part(part: Any) -> Block:
    match text(part, "type"):
        case "image" | "document":
            return _media(child(part, "source"))
        case "thinking":
            return ReasoningBlock(text(part, "thinking"), text(part, "signature"))
        case "redacted_thinking":
            return ReasoningBlock("", text(part, "data"), redacted=True)
        case "tool_use":
            arguments = msgspec.json.encode(child(part, "input")).decode()
            return CallBlock(text(part, "id"), text(part, "name"), arguments)
        case "tool_result":
            return _result(part)
        case _:
            return TextBlock(text(part, "text"))


def _media(source: Object) -> MediaBlock:
    return MediaBlock(text(source, "media_type"), text(source, "data"), text(source, "url"))


def _result(part: Any) -> ResultBlock:
    blocks = _content(part, "content")
    return ResultBlock(
        text(part, "tool_use_id"),
        "".join(block.text for block in blocks if isinstance(block, TextBlock)),
        tuple(block for block in blocks if isinstance(block, MediaBlock)),
        cast("Object", part).get("is_error") is True,
    )
