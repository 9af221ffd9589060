"""OpenAI chat completions: from the body of a request to the picture of it."""

from typing import Any, Final, cast

from scripted_model import schema_chat as schema
from scripted_model.grammar import check, media_from_url
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

REASONING_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text")
_TAKEN: Final = {"model", "messages", "tools", "stream"}


class ChatGrammar:
    """`POST /v1/chat/completions`."""

    dialect: Dialect = "chat"
    list_key = "messages"

    def head(self, body: Object) -> Request:
        """Everything but the messages."""
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        return Request(
            dialect="chat",
            model=text(body, "model"),
            tools=tuple(_tool(child(each, "function")) for each in items(body, "tools")),
            stream=body.get("stream") is True,
            max_output=limit if isinstance(limit, int) else None,
            cache_key=text(body, "prompt_cache_key"),
            options={key: value for key, value in body.items() if key not in _TAKEN},
        )

    def message(self, item: Any) -> Message:
        """One message."""
        role = text(item, "role")
        if role in ("system", "developer"):
            return Message("system", _content(item))
        if role == "tool":
            said = "".join(b.text for b in _content(item) if isinstance(b, TextBlock))
            return Message("tool", (ResultBlock(text(item, "tool_call_id"), said),))
        if role == "assistant":
            return Message("assistant", (*_reasoning(item), *_content(item), *_calls(item)))
        return Message("user", _content(item))

    def check_head(self, body: Object) -> list[Violation]:
        """Fields of the body, and what may not stand together."""
        found = check("chat", body, schema.Body)
        if "max_tokens" in body and "max_completion_tokens" in body:
            found.append(_refused("max_tokens", "cannot be set beside 'max_completion_tokens'"))
        if "stream_options" in body and body.get("stream") is not True:
            found.append(_refused("stream_options", "is only allowed when streaming"))
        for key in ("tool_choice", "parallel_tool_calls"):
            if key in body and not body.get("tools"):
                found.append(_refused(key, "is only allowed when 'tools' are specified"))
        return found

    def check_item(self, item: Any, path: str) -> list[Violation]:
        """Fields of one message."""
        return check("chat", item, schema.Message, path)


def _refused(name: str, why: str) -> Violation:
    message = f"Invalid value for '{name}': '{name}' {why}."
    return Violation("fields", message, name, "invalid_value")


def _tool(function: Object) -> Tool:
    return Tool(
        name=text(function, "name"),
        description=text(function, "description"),
        schema=function.get("parameters"),
        strict=function.get("strict") is True,
    )


def _reasoning(item: Any) -> list[Block]:
    said = [text(item, field) for field in REASONING_FIELDS]
    return [ReasoningBlock(each) for each in said if each]


def _calls(item: Any) -> list[Block]:
    found: list[Block] = []
    for call in items(item, "tool_calls"):
        function = child(call, "function")
        found.append(
            CallBlock(text(call, "id"), text(function, "name"), text(function, "arguments"))
        )
    return found


def _content(item: Any) -> tuple[Block, ...]:
    content = cast("Object", item).get("content") if isinstance(item, dict) else None
    if isinstance(content, str):
        return (TextBlock(content),)
    return tuple(block for part in items(item, "content") for block in _part(part))


def _part(part: Any) -> tuple[Block, ...]:
    kind = text(part, "type")
    if kind == "image_url":
        return (media_from_url(text(child(part, "image_url"), "url")),)
    if kind == "file":
        data = media_from_url(text(child(part, "file"), "file_data"))
        return (data if data.data else MediaBlock("", "", "file"),)
    return (TextBlock(text(part, "refusal") if kind == "refusal" else text(part, "text")),)
