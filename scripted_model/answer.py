"""An answer while it is being said: its blocks, ids, thinking and tokens, free of any dialect."""

import hashlib
import json
from typing import Any, Literal

import msgspec
from msgspec import Struct

from scripted_model.picture import ReasoningBlock, Request
from scripted_model.prompt_cache import Share, count_tokens
from scripted_model.reasoning_rules import Thought
from scripted_model.scenario import Call, Reasoning, Usage
from scripted_model.signing import Signer


class Ids:
    """Ids in a row: the same for the same seed, else like nobody else's."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def make(self, prefix: str) -> str:
        """A new id with this prefix."""
        self._count += 1
        data = f"{self._seed} {self._count}".encode()
        return prefix + hashlib.blake2b(data, digest_size=12).hexdigest()


class Numbers(Struct, frozen=True):
    """The tokens that the answer reports."""

    input: int
    """Cached tokens included."""
    output: int
    """Reasoning included."""
    reasoning: int
    read: int
    written: int


class Said(Struct):
    """One block of the answer."""

    kind: Literal["text", "reasoning", "call"]
    parts: list[str] = []
    id: str = ""
    name: str = ""
    proof: str = ""
    redacted: bool = False
    field: str = ""

    @property
    def text(self) -> str:
        """Everything said in it so far."""
        return "".join(self.parts)


class Answer:
    """What was said so far in reply to one request."""

    def __init__(
        self,
        request: Request,
        share: Share,
        *,
        usage: Usage | None,
        ids: Ids,
        signer: Signer,
        created: int,
    ) -> None:
        self.request = request
        self.ids = ids
        self.signer = signer
        self.created = created
        self.blocks: list[Said] = []
        self._share = share
        self._usage = usage or Usage()

    @property
    def current(self) -> Said | None:
        """The block that is being said."""
        return self.blocks[-1] if self.blocks else None

    def start_text(self) -> Said:
        """Begin a block of words."""
        return self._add(Said("text"))

    def start_reasoning(self, piece: Reasoning) -> Said:
        """Begin a block of thinking."""
        return self._add(Said("reasoning", redacted=piece.redacted, field=piece.field))

    def start_call(self, piece: Call, prefix: str) -> Said:
        """Begin a tool call; the server makes an id where the script gives none."""
        identifier = self.ids.make(prefix) if piece.id is None else piece.id
        return self._add(Said("call", id=identifier, name=piece.name))

    def _add(self, said: Said) -> Said:
        self.blocks.append(said)
        return said

    @property
    def texts(self) -> list[str]:
        """The blocks of words."""
        return [block.text for block in self.blocks if block.kind == "text"]

    @property
    def calls(self) -> list[Said]:
        """The tool calls."""
        return [block for block in self.blocks if block.kind == "call"]

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Ids of the tool calls."""
        return tuple(block.id for block in self.calls if block.id)

    @property
    def numbers(self) -> Numbers:
        """Tokens: as scripted, else from sizes."""
        thought = sum(count_tokens(b.text) for b in self.blocks if b.kind == "reasoning")
        said = sum(count_tokens(b.name + b.text) for b in self.blocks if b.kind != "reasoning")
        reasoning = _or(self._usage.reasoning, thought)
        return Numbers(
            input=_or(self._usage.input, self._share.total),
            output=_or(self._usage.output, max(1, said + reasoning)),
            reasoning=reasoning,
            read=_or(self._usage.cache_read, self._share.read),
            written=_or(self._usage.cache_write, self._share.written),
        )

    def thought(self, *, joined: bool, deliverable: bool = True) -> Thought:
        """The thinking as the client should hand it back; `joined`: all blocks as one text."""
        blocks = [b for b in self.blocks if b.kind == "reasoning"]
        if joined:
            text = "".join(block.text for block in blocks)
            given = (ReasoningBlock(text),) if text else ()
        else:
            given = tuple(
                ReasoningBlock("" if b.redacted else b.text, b.proof, b.id, b.redacted)
                for b in blocks
            )
        return Thought(self.request.dialect, self.request.model, given, deliverable)


def _or(scripted: int | None, computed: int) -> int:
    return computed if scripted is None else scripted


def arguments_text(call: Call) -> str:
    """The arguments of a call as they go out."""
    if call.chunks:
        return "".join(call.chunks)
    if isinstance(call.arguments, str):
        return call.arguments
    try:
        return msgspec.json.encode(call.arguments).decode()
    except UnicodeEncodeError:
        return json.dumps(call.arguments)


def arguments_value(text: str) -> Any:
    """Arguments for an API that gives them as JSON; text that is no JSON stays text."""
    try:
        return msgspec.json.decode(text) if text else {}
    except msgspec.DecodeError:
        return text


def encode_text(text: str) -> bytes:
    """`text` as a JSON string. A lone surrogate goes out as an escape, as some models send it."""
    return encode_json(text)


def encode_json(value: Any) -> bytes:
    """The same for any JSON value."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
