"""OpenAI responses: the events of a stream, or the whole response."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final

from scripted_model.answer import Answer, Said, encode_json, encode_text
from scripted_model.json_strict import is_object, items
from scripted_model.picture import Tool
from scripted_model.reasoning_rules import Thought
from scripted_model.scenario import Call, Fail, Reasoning, Text

_COMPLETE: Final = {"stop", "tool-calls"}
_REASONS: Final = {
    "length": "max_output_tokens",
    "content-filter": "content_filter",
    "overflow": "max_output_tokens",
}
_PREFIXES: Final = {"text": "msg_", "reasoning": "rs_", "call": "fc_"}


class ResponsesWire:
    """Speaks as `POST /v1/responses` does."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self._id = answer.ids.make("resp_")
        self._sequence = 0
        self._open: list[int] = []
        self._item_ids: list[str] = []
        self._done: list[dict[str, Any]] = []
        self._reason = "stop"
        include = items(answer.request.options, "include")
        self._seals = "reasoning.encrypted_content" in include
        self._stores = answer.request.options.get("store") is not False

    def _event(self, name: str, **fields: Any) -> bytes:
        data = encode_json({"type": name, "sequence_number": self._sequence, **fields})
        self._sequence += 1
        return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"

    def _deltas(
        self, name: str, index: int, extra: bytes, deltas: tuple[str, ...]
    ) -> Iterator[bytes]:
        # Encoded by hand: of this event an answer may have tens of thousands.
        kind = name.encode()
        head = b"event: " + kind + b'\ndata: {"type":"' + kind + b'","sequence_number":'
        tail = b',"item_id":"%b","output_index":%d%b}\n\n' % (
            self._item_ids[index].encode(),
            index,
            extra,
        )
        for delta in deltas:
            self.answer.blocks[index].parts.append(delta)
            yield head + b"%d" % self._sequence + b',"delta":' + encode_text(delta) + tail
            self._sequence += 1

    def begin(self) -> list[bytes]:
        """The events that announce the response."""
        response = self._response("in_progress")
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
        ]

    def _start(self, said: Said) -> Iterator[bytes]:
        index = len(self.answer.blocks) - 1
        self._item_ids.append(self.answer.ids.make(_PREFIXES[said.kind]))
        self._open.append(index)
        if said.kind == "reasoning":
            said.id = self._item_ids[index]
        item = self._item(index, "in_progress")
        yield self._event("response.output_item.added", output_index=index, item=item)
        at = {"item_id": self._item_ids[index], "output_index": index}
        if said.kind == "text":
            part = _output_text("")
            yield self._event("response.content_part.added", **at, content_index=0, part=part)
        elif said.kind == "reasoning":
            part = {"type": "summary_text", "text": ""}
            name = "response.reasoning_summary_part.added"
            yield self._event(name, **at, summary_index=0, part=part)

    def _item(self, index: int, status: str) -> dict[str, Any]:
        said = self.answer.blocks[index]
        identifier = self._item_ids[index]
        begun = status == "in_progress"
        if said.kind == "reasoning":
            summary = [] if begun else [{"type": "summary_text", "text": said.text}]
            item: dict[str, Any] = {"id": identifier, "type": "reasoning", "summary": summary}
            return {**item, "encrypted_content": said.proof or None} if not begun else item
        if said.kind == "call":
            return {
                "id": identifier,
                "type": "function_call",
                "status": status,
                "arguments": "" if begun else said.text,
                "call_id": said.id,
                "name": said.name,
            }
        content = [] if begun else [_output_text(said.text)]
        return {
            "id": identifier,
            "type": "message",
            "status": status,
            "content": content,
            "role": "assistant",
        }

    def _close(self, ending: str = "completed") -> Iterator[bytes]:
        for index in self._open:
            said = self.answer.blocks[index]
            # A limit that falls behind a whole call leaves that call whole.
            whole = said.kind == "call" and not is_object(said.text)
            status = "completed" if whole else ending
            if said.kind == "reasoning" and self._seals:
                model = self.answer.request.model
                said.proof = self.answer.signer.seal(model, said.id, said.text)
            # What broke off in the middle has no `done` of its own, only that of its item.
            if status == "completed":
                yield from self._inner_done(index, said)
            item = self._item(index, status)
            self._done.append(item)
            yield self._event("response.output_item.done", output_index=index, item=item)
        self._open = []

    def _inner_done(self, index: int, said: Said) -> Iterator[bytes]:
        at = {"item_id": self._item_ids[index], "output_index": index}
        if said.kind == "call":
            name = "response.function_call_arguments.done"
            yield self._event(name, **at, arguments=said.text)
        elif said.kind == "text":
            at["content_index"] = 0
            name = "response.output_text.done"
            yield self._event(name, **at, text=said.text, logprobs=[])
            part = _output_text(said.text)
            yield self._event("response.content_part.done", **at, part=part)
        else:
            at["summary_index"] = 0
            name = "response.reasoning_summary_text.done"
            yield self._event(name, **at, text=said.text)
            part = {"type": "summary_text", "text": said.text}
            yield self._event("response.reasoning_summary_part.done", **at, part=part)

    def _goes_on(self, kind: str, *, new: bool) -> bool:
        current = self.answer.current
        return bool(self._open) and current is not None and current.kind == kind and not new

    def text(self, piece: Text, deltas: tuple[str, ...], /) -> Iterator[bytes]:
        """A message item with one event a delta."""
        if not self._goes_on("text", new=piece.new):
            yield from self._close()
            yield from self._start(self.answer.start_text())
        index = len(self.answer.blocks) - 1
        extra = b',"content_index":0,"logprobs":[]'
        yield from self._deltas("response.output_text.delta", index, extra, deltas)

    def reasoning(self, piece: Reasoning, deltas: tuple[str, ...]) -> Iterator[bytes]:
        """A reasoning item whose summary streams; sealed when it closes, if that was asked for."""
        if not self._goes_on("reasoning", new=piece.new):
            yield from self._close()
            yield from self._start(self.answer.start_reasoning(piece))
        index = len(self.answer.blocks) - 1
        name = "response.reasoning_summary_text.delta"
        yield from self._deltas(name, index, b',"summary_index":0', deltas)

    def calls(self, calls: list[tuple[Call, tuple[str, ...]]]) -> Iterator[bytes]:
        """An item a call; the deltas of several alternate, and they close together."""
        yield from self._close()
        indexes: list[int] = []
        for call, _ in calls:
            indexes.append(len(self.answer.blocks))
            yield from self._start(self.answer.start_call(call, "call_"))
        for row in zip_longest(*(deltas for _, deltas in calls)):
            for index, delta in zip(indexes, row, strict=True):
                if delta is not None:
                    name = "response.function_call_arguments.delta"
                    yield from self._deltas(name, index, b"", (delta,))

    def finish(self, reason: str) -> list[bytes]:
        """Close the open items; what ran into a limit stays incomplete."""
        self._reason = reason
        return list(self._close("completed" if reason in _COMPLETE else "incomplete"))

    def end(self) -> list[bytes]:
        """The event that carries the whole response."""
        status = "completed" if self._reason in _COMPLETE else "incomplete"
        return [self._event(f"response.{status}", response=self._response(status))]

    def fail(self, piece: Fail) -> list[bytes]:
        """The event that carries the failed response."""
        response = self._response("failed")
        response["error"] = {"code": piece.code, "message": piece.message}
        return [self._event("response.failed", response=response)]

    def body(self, reason: str) -> bytes:
        """A `response`."""
        self.finish(reason)
        status = "completed" if reason in _COMPLETE else "incomplete"
        return encode_json(self._response(status))

    def thought(self) -> Thought:
        """The reasoning items; without their sealed content they exist only on the server."""
        return self.answer.thought(joined=False, deliverable=self._seals or self._stores)

    def handed_back(self) -> str:
        """The last message: each is an item of its own in the next request."""
        texts = self.answer.texts
        return texts[-1] if texts else ""

    def _response(self, status: str) -> dict[str, Any]:
        asked = self.answer.request.options
        ended = status in ("completed", "incomplete")
        why = (
            {"reason": _REASONS.get(self._reason, self._reason)} if status == "incomplete" else None
        )
        return {
            "id": self._id,
            "object": "response",
            "created_at": self.answer.created,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": why,
            "instructions": asked.get("instructions"),
            "max_output_tokens": asked.get("max_output_tokens"),
            "metadata": asked.get("metadata") or {},
            "model": self.answer.request.model,
            "output": self._done if ended else [],
            "parallel_tool_calls": asked.get("parallel_tool_calls", True),
            "previous_response_id": None,
            "prompt_cache_key": asked.get("prompt_cache_key"),
            "reasoning": asked.get("reasoning") or {"effort": None, "summary": None},
            "service_tier": "default",
            "store": self._stores,
            "temperature": asked.get("temperature", 1.0),
            "text": asked.get("text") or {"format": {"type": "text"}},
            "tool_choice": asked.get("tool_choice") or "auto",
            "tools": [_tool(each) for each in self.answer.request.tools],
            "top_p": asked.get("top_p", 1.0),
            "truncation": "disabled",
            "usage": self._usage() if ended else None,
            "user": None,
        }

    def _usage(self) -> dict[str, Any]:
        numbers = self.answer.numbers
        return {
            "input_tokens": numbers.input,
            "input_tokens_details": {
                "cached_tokens": numbers.read,
                "cache_write_tokens": numbers.written,
            },
            "output_tokens": numbers.output,
            "output_tokens_details": {"reasoning_tokens": numbers.reasoning},
            "total_tokens": numbers.input + numbers.output,
        }


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": tool.strict,
    }
