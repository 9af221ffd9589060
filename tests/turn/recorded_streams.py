"""Answers of the scripted model as the bytes that came over the wire, and what Roost makes of them
in whatever pieces they arrive.
"""

import http.client
import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from roost.llm.models import (
    Dialect,
    Finish,
    Model,
    ModelRequest,
    StreamEvent,
    Text,
    ToolSpec,
    UserMessage,
)
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.dialects import prepare
from roost.llm.sse import EventParser
from roost.turn.reducer import Append, Close, OpenCall, OpenReasoning, OpenText, StreamState, reduce
from scripted_model.scenario import Call, Parallel, Piece, Reasoning, Reply
from scripted_model.scenario import Text as Said
from scripted_model.scenario import Usage as Tokens

DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic")
TOOL = ToolSpec(
    "bash",
    "Runs a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
WORDS = (
    "plain words", " and more", "\n\n", "data: {}", "event: ping\n", "\r\n", "[DONE]", "“quoted”",
    "项目说明，", "naïve ", "🙂👩‍👩‍👧", "e\u0301", "\u2028", "\\n", '"', "}", "```python\n", "\t",
    "<tool_call>", "0123456789" * 5,
)  # fmt: skip


class Block(Struct):
    """One part of an answer."""

    kind: str
    text: str = ""
    name: str = ""
    id: str = ""
    metadata: dict[str, Any] = {}
    closed: bool = False


class Told(Struct, frozen=True):
    """All that an answer says, in order, and how it ended."""

    blocks: tuple[Block, ...]
    finish: str | None
    usage: Any

    @property
    def words(self) -> list[tuple[str, str, str, str]]:
        """Without what a provider only wants back."""
        return [(one.kind, one.name, one.id, one.text) for one in self.blocks]


def request(dialect: Dialect, url: str) -> ModelRequest:
    """What is asked to get an answer at all."""
    model = Model("test", "scripted", dialect, f"{url}/v1", api_key="sk-test-000", reasons=True)
    return ModelRequest(
        model=model,
        system=("You help.",),
        messages=(UserMessage((Text("go"),)),),
        tools=(TOOL,),
    )


class Wire:
    """A connection that keeps the bytes of an answer."""

    def __init__(self, dialect: Dialect, url: str) -> None:
        self._asked = request(dialect, url)
        self._url = urlsplit(url)

    def record(self) -> bytes:
        """The body of one answer as it came."""
        wire, _ = prepare(self._asked, EncodingCache())
        assert self._url.hostname
        connection = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=20)
        headers = {"content-type": "application/json", **wire.headers}
        connection.request("POST", f"/v1{wire.path}", wire.body, headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        assert response.status == 200, body
        return body

    def events(self, chunks: Iterable[bytes]) -> list[StreamEvent]:
        """The answer in these pieces as the client gives it."""
        _, decoder = prepare(self._asked, EncodingCache())
        parser = EventParser()
        events = [
            event
            for chunk in chunks
            for item in parser.feed(chunk)
            for event in decoder.feed(item.data)
        ]
        events += [event for item in parser.close() for event in decoder.feed(item.data)]
        return events + decoder.end()

    def play(self, chunks: Iterable[bytes]) -> Told:
        """What comes of the answer in these pieces, as the reducer writes it."""
        state = StreamState()
        blocks: list[Block] = []
        open_blocks: dict[str, Block] = {}
        events = self.events(chunks)
        for event in events:
            state, writes = reduce(state, event)
            for write in writes:
                match write:
                    case OpenText(key=key):
                        open_blocks[key] = Block("text")
                        blocks.append(open_blocks[key])
                    case OpenReasoning(key=key):
                        open_blocks[key] = Block("reasoning")
                        blocks.append(open_blocks[key])
                    case OpenCall(key=key, id=id_, name=name, metadata=metadata):
                        open_blocks[key] = Block("call", "", name, id_, dict(metadata))
                        blocks.append(open_blocks[key])
                    case Append(key=key, text=text):
                        open_blocks[key].text += text
                    case Close(key=key, metadata=metadata):
                        block = open_blocks.pop(key)
                        block.metadata |= metadata
                        block.closed = True
        assert isinstance(events[-1], Finish)
        return Told(tuple(blocks), state.finish, state.usage)


def answer(pick: random.Random, size: int) -> Reply:
    """Some answer, said in deltas of `size` characters (0: each block in one)."""
    numbers = iter(range(100))
    pieces: list[Piece] = []
    if pick.random() < 0.6:
        pieces.append(Reasoning(text(pick), size=size))
    for _ in range(pick.randint(1, 3)):
        match pick.randint(0, 3):
            case 0:
                pieces.append(Said(text(pick), size=size))
            case 1:
                pieces.append(call(pick, next(numbers), size))
            case 2:
                calls = tuple(call(pick, next(numbers), size) for _ in range(pick.randint(2, 4)))
                pieces.append(Parallel(calls))
            case _:
                pieces.append(Said(text(pick), size=size, new=True))
    if not any(isinstance(one, Said | Call | Parallel) for one in pieces):
        pieces.append(Said(text(pick), size=size))
    pieces.append(Tokens(input=100, output=pick.randint(1, 500), reasoning=0, cache_read=10))
    newline = pick.choice(("\n", "\n", "\r\n", "\r"))
    return Reply(tuple(pieces), newline=newline)


def text(pick: random.Random) -> str:
    return "x" + "".join(pick.choice(WORDS) for _ in range(pick.randint(1, 6)))


def call(pick: random.Random, number: int, size: int) -> Call:
    given = {"command": text(pick), "n": [pick.random(), None, {"深": "层"}]}
    return Call("bash", given, id=f"call_{number}", size=size)


def chunkings(body: bytes, pick: random.Random) -> Iterator[list[bytes]]:
    """The same bytes in awkward pieces."""
    yield even(body, pick.choice((1, 2, 3, 7, 64, 1_000)))
    for _ in range(2):
        count = min(len(body), pick.randint(1, 60))
        yield cut_at(body, sorted(pick.sample(range(len(body) + 1), count)))
    # Inside of characters, and between the two halves of a line end.
    yield cut_at(
        body, [at for at in range(1, len(body)) if body[at] & 0xC0 == 0x80 or body[at] < 32]
    )


def even(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def cut_at(body: bytes, places: list[int]) -> list[bytes]:
    return [body[a:b] for a, b in pairwise([0, *places, len(body)])]
