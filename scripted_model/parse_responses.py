"""OpenAI responses: from the body of a request to the picture of it."""

from typing import Any, Final, cast

from scripted_model import schema_responses as schema
from scripted_model.grammar import check, media_from_url
from scripted_model.json_strict import Object, items, text
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

_TAKEN: Final = {"model", "input", "tools", "stream"}


class ResponsesGrammar:
    """`POST /v1/responses`."""

    dialect: Dialect = "responses"
    list_key = "input"

    def head(self, body: Object) -> Request:
        """Everything but the messages; an `input` that is a text becomes the one message."""
        said = text(body, "input")
        limit = body.get("max_output_tokens")
        return Request(
            dialect="responses",
            model=text(body, "model"),
            system=tuple(filter(None, [text(body, "instructions")])),
            messages=(Message("user", (TextBlock(said),)),)
            if isinstance(body.get("input"), str)
            else (),
            tools=tuple(_tool(each) for each in items(body, "tools")),
            stream=body.get("stream") is True,
            max_output=limit if isinstance(limit, int) else None,
            cache_key=text(body, "prompt_cache_key"),
            options={key: value for key, value in body.items() if key not in _TAKEN},
        )

    def message(self, item: Any) -> Message:
        """One item; each kind of item is a message of its own."""
        kind = text(item, "type")
        if kind == "reasoning":
            return Message("assistant", (_reasoning(item),))
        if kind == "function_call":
            call = CallBlock(text(item, "call_id"), text(item, "name"), text(item, "arguments"))
            return Message("assistant", (call,))
        if kind == "function_call_output":
            return Message("tool", (_result(item),))
        role = text(item, "role")
        if role in ("system", "developer"):
            return Message("system", _content(item, "content"))
        return Message("assistant" if role == "assistant" else "user", _content(item, "content"))

    def check_head(self, body: Object) -> list[Violation]:
        """Fields of the body, and what may not stand together."""
        found = check("responses", body, schema.Body)
        if "stream_options" in body and body.get("stream") is not True:
            message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
            found.append(Violation("fields", message, "stream_options"))
        if body.get("tool_choice") == "required" and not body.get("tools"):
            message = "Tool choice 'required' must be specified with 'tools' parameter."
            found.append(Violation("fields", message, "tool_choice"))
        if previous := text(body, "previous_response_id"):
            message = f"Previous response with id '{previous}' not found."
            code = "previous_response_not_found"
            found.append(Violation("fields", message, "previous_response_id", code))
        return found

    def check_item(self, item: Any, path: str) -> list[Violation]:
        """Fields of one item."""
        if text(item, "type") not in ("", "message"):
            return check("responses", item, schema.TypedItem, path)
        if text(item, "role") == "assistant":
            return check("responses", item, schema.OutputMessage, path)
        return check("responses", item, schema.InputMessage, path)


def _tool(each: Any) -> Tool:
    return Tool(
        name=text(each, "name"),
        description=text(each, "description"),
        schema=cast("Object", each).get("parameters") if isinstance(each, dict) else None,
        strict=isinstance(each, dict) and cast("Object", each).get("strict") is True,
    )


def _reasoning(item: Any) -> ReasoningBlock:
    summary = "".join(text(part, "text") for part in items(item, "summary"))
    return ReasoningBlock(summary, text(item, "encrypted_content"), text(item, "id"))


def _result(item: Any) -> ResultBlock:
    blocks = _content(item, "output")
    return ResultBlock(
        text(item, "call_id"),
        "".join(block.text for block in blocks if isinstance(block, TextBlock)),
        tuple(block for block in blocks if isinstance(block, MediaBlock)),
    )


def _content(item: Any, key: str) -> tuple[Block, ...]:
    content = cast("Object", item).get(key) if isinstance(item, dict) else None
    if isinstance(content, str):
        return (TextBlock(content),)
    return tuple(_part(part) for part in items(item, key))


def _part(part: Any) -> Block:
    kind = text(part, "type")
    if kind == "input_image":
        return media_from_url(text(part, "image_url"))
    if kind == "input_file":
        data = text(part, "file_data")
        return media_from_url(data) if data else MediaBlock("", "", text(part, "file_url"))
    return TextBlock(text(part, "refusal") if kind == "refusal" else text(part, "text"))
