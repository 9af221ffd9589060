"""OpenAI chat completions: the chunks of a stream, or the whole completion."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final

from scripted_model.answer import Answer, Said, encode_json, encode_text
from scripted_model.json_strict import child
from scripted_model.reasoning_rules import Thought
from scripted_model.scenario import Call, Fail, Reasoning, Text

_REASONS: Final = {
    "tool-calls": "tool_calls",
    "content-filter": "content_filter",
    "overflow": "length",
}


class ChatWire:
    """Speaks as `POST /v1/chat/completions` does."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self._id = answer.ids.make("chatcmpl-")
        options = child(answer.request.options, "stream_options")
        self._with_usage = options.get("include_usage") is True
        # The same in every chunk, so it is encoded once.
        self._start = b"data: " + encode_json(self._frame("chat.completion.chunk"))[:-1]
        self._tail = (b',"usage":null' if self._with_usage else b"") + b"}\n\n"

    def _frame(self, kind: str) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": kind,
            "created": self.answer.created,
            "model": self.answer.request.model,
            "service_tier": "default",
            "system_fingerprint": "fp_scripted",
        }

    def _chunk(self, delta: bytes, reason: bytes = b"null") -> bytes:
        return (
            self._start
            + b',"choices":[{"index":0,"delta":'
            + delta
            + b',"logprobs":null,"finish_reason":'
            + reason
            + b"}]"
            + self._tail
        )

    def begin(self) -> list[bytes]:
        """The chunk that only names the role."""
        return [self._chunk(b'{"role":"assistant","content":"","refusal":null}')]

    def text(self, _piece: Text, deltas: tuple[str, ...], /) -> Iterator[bytes]:
        """One chunk a delta; all words of an answer are one content."""
        said = self._open("text") or self.answer.start_text()
        for delta in deltas:
            said.parts.append(delta)
            yield self._chunk(b'{"content":' + encode_text(delta) + b"}")

    def reasoning(self, piece: Reasoning, deltas: tuple[str, ...]) -> Iterator[bytes]:
        """One chunk a delta, in the field that the script names."""
        said = self._open("reasoning") or self.answer.start_reasoning(piece)
        name = encode_text(piece.field)
        for delta in deltas:
            said.parts.append(delta)
            yield self._chunk(b"{" + name + b":" + encode_text(delta) + b"}")

    def _open(self, kind: str) -> Said | None:
        current = self.answer.current
        return current if current is not None and current.kind == kind else None

    def calls(self, calls: list[tuple[Call, tuple[str, ...]]]) -> Iterator[bytes]:
        """A chunk that names each call, then chunks of arguments, of all calls by turns."""
        started: list[tuple[int, Said]] = []
        for call, deltas in calls:
            index = len(self.answer.calls)
            said = self.answer.start_call(call, "call_")
            started.append((index, said))
            first = "".join(deltas) if call.whole else ""
            if call.whole:
                said.parts.append(first)
            yield self._call_chunk(index, first, said)
        streamed = [() if call.whole else deltas for call, deltas in calls]
        for row in zip_longest(*streamed):
            for (index, said), delta in zip(started, row, strict=True):
                if delta is not None:
                    said.parts.append(delta)
                    yield self._call_chunk(index, delta, None)

    def _call_chunk(self, index: int, arguments: str, named: Said | None) -> bytes:
        head = b""
        if named is not None:
            head = b'"id":' + encode_text(named.id) + b"," if named.id else b""
            head += b'"type":"function",'
        name = b'"name":' + encode_text(named.name) + b"," if named is not None else b""
        function = b'"function":{' + name + b'"arguments":' + encode_text(arguments) + b"}"
        return self._chunk(b'{"tool_calls":[{"index":%d,' % index + head + function + b"}]}")

    def finish(self, reason: str) -> list[bytes]:
        """The chunk with the finish reason."""
        return [self._chunk(b"{}", encode_text(_reason(reason)))]

    def end(self) -> list[bytes]:
        """Usage, if asked for, and the mark of the end."""
        found: list[bytes] = []
        if self._with_usage:
            usage = encode_json(self._usage())
            found.append(self._start + b',"choices":[],"usage":' + usage + b"}\n\n")
        return [*found, b"data: [DONE]\n\n"]

    def fail(self, piece: Fail) -> list[bytes]:
        """A chunk that holds an error."""
        error = {"message": piece.message, "type": piece.code, "param": None, "code": piece.code}
        return [b"data: " + encode_json({"error": error}) + b"\n\n"]

    def _usage(self) -> dict[str, Any]:
        numbers = self.answer.numbers
        return {
            "prompt_tokens": numbers.input,
            "completion_tokens": numbers.output,
            "total_tokens": numbers.input + numbers.output,
            "prompt_tokens_details": {"cached_tokens": numbers.read, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": numbers.reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }

    def body(self, reason: str) -> bytes:
        """A `chat.completion`."""
        text = self.handed_back()
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        for block in self.answer.blocks:
            if block.kind == "reasoning":
                message[block.field] = message.get(block.field, "") + block.text
        if self.answer.calls:
            message["tool_calls"] = [_call(each) for each in self.answer.calls]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _reason(reason),
        }
        frame = self._frame("chat.completion")
        return encode_json({**frame, "choices": [choice], "usage": self._usage()})

    def thought(self) -> Thought:
        """All thinking as one text, since the field is one text."""
        return self.answer.thought(joined=True)

    def handed_back(self) -> str:
        """All words as one text."""
        return "".join(self.answer.texts)


def _reason(reason: str) -> str:
    return _REASONS.get(reason, reason)


def _call(said: Said) -> dict[str, Any]:
    function = {"name": said.name, "arguments": said.text}
    return {"id": said.id, "type": "function", "function": function}
