"""Anthropic messages: the events of a stream, or the whole message."""

from collections.abc import Iterator
from typing import Any, Final

from scripted_model.answer import Answer, Said, arguments_value, encode_json, encode_text
from scripted_model.reasoning_rules import Thought
from scripted_model.scenario import Call, Fail, Reasoning, Text

_REASONS: Final = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool-calls": "tool_use",
    "content-filter": "refusal",
    "overflow": "model_context_window_exceeded",
}
_ERRORS: Final = {"server_error": "api_error", "overloaded": "overloaded_error"}
_PING: Final = b'event: ping\ndata: {"type": "ping"}\n\n'


def _event(name: str, **fields: Any) -> bytes:
    data = encode_json({"type": name, **fields})
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


class AnthropicWire:
    """Speaks as `POST /v1/messages` does."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self._id = answer.ids.make("msg_")
        self._is_open = False

    @property
    def _index(self) -> int:
        return len(self.answer.blocks) - 1

    def begin(self) -> list[bytes]:
        """The event that opens the message, with what the input costs."""
        message = self._message([], None, {**self._input_usage(), "output_tokens": 1})
        return [_event("message_start", message=message)]

    def _message(self, content: list[Any], reason: str | None, usage: Any) -> dict[str, Any]:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self.answer.request.model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }

    def _input_usage(self) -> dict[str, Any]:
        numbers = self.answer.numbers
        return {
            "input_tokens": max(0, numbers.input - numbers.read - numbers.written),
            "cache_creation_input_tokens": numbers.written,
            "cache_read_input_tokens": numbers.read,
            "service_tier": "standard",
        }

    def _start(self, block: dict[str, Any]) -> Iterator[bytes]:
        self._is_open = True
        yield _event("content_block_start", index=self._index, content_block=block)
        if self._index == 0:
            yield _PING

    def _deltas(
        self, said: Said, kind: str, field: str, deltas: tuple[str, ...]
    ) -> Iterator[bytes]:
        # Encoded by hand: of this event an answer may have tens of thousands.
        head = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
            b'"delta":{"type":"%b","%b":' % (self._index, kind.encode(), field.encode())
        )
        for delta in deltas:
            said.parts.append(delta)
            yield head + encode_text(delta) + b"}}\n\n"

    def _close(self) -> Iterator[bytes]:
        said = self.answer.current
        if not self._is_open or said is None:
            return
        if said.kind == "reasoning" and not said.redacted:
            said.proof = self.answer.signer.sign(self.answer.request.model, said.text)
            yield from self._signature(said)
        self._is_open = False
        yield _event("content_block_stop", index=self._index)

    def _signature(self, said: Said) -> Iterator[bytes]:
        delta = {"type": "signature_delta", "signature": said.proof}
        yield _event("content_block_delta", index=self._index, delta=delta)

    def _goes_on(self, kind: str, *, new: bool) -> Said | None:
        current = self.answer.current
        is_same = self._is_open and current is not None and current.kind == kind
        return current if is_same and not new else None

    def text(self, piece: Text, deltas: tuple[str, ...], /) -> Iterator[bytes]:
        """A block of words with one event a delta."""
        said = self._goes_on("text", new=piece.new)
        if said is None:
            yield from self._close()
            said = self.answer.start_text()
            yield from self._start({"type": "text", "text": ""})
        yield from self._deltas(said, "text_delta", "text", deltas)

    def reasoning(self, piece: Reasoning, deltas: tuple[str, ...]) -> Iterator[bytes]:
        """A block of thinking; its signature comes when it closes. Redacted: one opaque event."""
        said = self._goes_on("reasoning", new=piece.new or piece.redacted)
        if said is None:
            yield from self._close()
            said = self.answer.start_reasoning(piece)
            if piece.redacted:
                said.parts.extend(deltas)
                said.proof = self.answer.signer.redact(self.answer.request.model, said.text)
                yield from self._start({"type": "redacted_thinking", "data": said.proof})
                return
            yield from self._start({"type": "thinking", "thinking": "", "signature": ""})
        yield from self._deltas(said, "thinking_delta", "thinking", deltas)

    def calls(self, calls: list[tuple[Call, tuple[str, ...]]]) -> Iterator[bytes]:
        """One block a call. No arguments at all stream as one empty delta."""
        for call, deltas in calls:
            yield from self._close()
            said = self.answer.start_call(call, "toolu_")
            yield from self._start(_call(said, {}))
            streamed = () if deltas == ("{}",) else deltas
            yield from self._deltas(said, "input_json_delta", "partial_json", ("", *streamed))

    def finish(self, reason: str) -> list[bytes]:
        """Close the open block; say the stop reason and what the output cost."""
        numbers = self.answer.numbers
        usage = {**self._input_usage(), "output_tokens": numbers.output}
        del usage["service_tier"]
        if numbers.reasoning:
            usage["output_tokens_details"] = {"thinking_tokens": numbers.reasoning}
        delta = {"stop_reason": _REASONS.get(reason, reason), "stop_sequence": None}
        return [*self._close(), _event("message_delta", delta=delta, usage=usage)]

    def end(self) -> list[bytes]:
        """The event that ends the message."""
        return [_event("message_stop")]

    def fail(self, piece: Fail) -> list[bytes]:
        """An `error` event."""
        error = {"type": _ERRORS.get(piece.code, piece.code), "message": piece.message}
        return [_event("error", error=error)]

    def body(self, reason: str) -> bytes:
        """A `message`."""
        # A block gets its signature when it closes.
        list(self._close())
        content = [_block(each) for each in self.answer.blocks]
        usage = {**self._input_usage(), "output_tokens": self.answer.numbers.output}
        return encode_json(self._message(content, _REASONS.get(reason, reason), usage))

    def thought(self) -> Thought:
        """The blocks with their signatures, in order."""
        return self.answer.thought(joined=False)

    def handed_back(self) -> str:
        """The blocks of words."""
        return "\n".join(self.answer.texts)


def _block(said: Said) -> dict[str, Any]:
    if said.kind == "text":
        return {"type": "text", "text": said.text, "citations": None}
    if said.kind == "call":
        return _call(said, arguments_value(said.text))
    if said.redacted:
        return {"type": "redacted_thinking", "data": said.proof}
    return {"type": "thinking", "thinking": said.text, "signature": said.proof}


def _call(said: Said, value: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": said.id, "name": said.name, "input": value}
