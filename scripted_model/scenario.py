"""The scenario language: what the model says, in which pieces, and what goes wrong meanwhile.

A `Scenario` is a list of steps. A request gets the first step that its conversation has not used up
and whose `when` fits. In Python a scenario is one line::

    scenario(Call("bash", {"command": "ls"}), "All done.")
    scenario(Status(429, {"retry-after": "1"}), "pong", step("A title", when=When(tools=False)))

The same structs load from JSON (`load`), where a piece is an object with a `type`.
"""

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from scripted_model.picture import Request

ALWAYS: Final = 1_000_000_000
"""`times` of a step that never runs out."""
_UNKNOWN: Final = re.compile(r"unknown field `([^`]*)`")


class Described(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a scenario is described with: a key that it does not know is a mistake."""


class Begin(Described, frozen=True, tag="begin"):
    """The response head and the opening events go out now, not with the first content."""


class Reasoning(Described, frozen=True, tag="reasoning"):
    """Thinking; pieces in a row make one block, unless `new`."""

    text: str
    size: int = 24
    """Characters a delta; 0 means all in one."""
    chunks: tuple[str, ...] = ()
    """The deltas themselves; then `text` may be left empty."""
    new: bool = False
    redacted: bool = False
    """Anthropic only: the text is sent as an opaque block."""
    field: str = "reasoning_content"
    """Chat completions only: the name of the delta's field."""


class Text(Described, frozen=True, tag="text"):
    """Words of the answer; pieces in a row make one block, unless `new`."""

    text: str = ""
    size: int = 24
    """Characters a delta; 0 means all in one."""
    chunks: tuple[str, ...] = ()
    """The deltas themselves; then `text` may be left empty."""
    repeat: int = 1
    """How often the text is said, for long answers."""
    new: bool = False


class Call(Described, frozen=True, tag="call"):
    """A request for a tool. Text for arguments goes out as it is, be it broken JSON."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str | None = None
    """None: made by the server. Empty: none is sent (chat completions only)."""
    size: int = 24
    """Characters of arguments a delta; 0 means all in one."""
    chunks: tuple[str, ...] = ()
    """The deltas of the arguments themselves."""
    whole: bool = False
    """Chat completions only: name and arguments in one delta, as many servers do."""


class Parallel(Described, frozen=True, tag="parallel"):
    """Calls whose deltas alternate where the dialect can (Anthropic sends one after another)."""

    calls: tuple[Call, ...]


class Delay(Described, frozen=True, tag="delay"):
    """Silence, then on."""

    seconds: float


class Barrier(Described, frozen=True, tag="barrier"):
    """Silence until the test calls `release(name)`."""

    name: str


class Drop(Described, frozen=True, tag="drop"):
    """The connection closes. First in a reply: before any response."""

    cut: int = 0
    """So many bytes of one more text event are sent first."""


class Reset(Described, frozen=True, tag="reset"):
    """The connection is reset (RST)."""


class Stall(Described, frozen=True, tag="stall"):
    """Silence until the client goes."""


class Status(Described, frozen=True, tag="status"):
    """An HTTP answer in place of a stream."""

    code: int
    headers: dict[str, str] = {}
    body: str | None = None
    """None: the error body of the dialect for this code."""


class Fail(Described, frozen=True, tag="fail"):
    """An error event in the middle of the stream, in the shape of the dialect; then the end."""

    code: str = "server_error"
    message: str = "The server had an error while processing your request."


class Finish(Described, frozen=True, tag="finish"):
    """Why the answer ends. Without it: `tool-calls` if there are calls, else `stop`."""

    reason: Literal["stop", "length", "tool-calls", "content-filter", "overflow"] | str = "stop"
    """Another word is sent as it is."""


class Usage(Described, frozen=True, tag="usage"):
    """Tokens to report; None means computed from sizes. `input` includes cached tokens."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class NoEnd(Described, frozen=True, tag="no-end"):
    """The response ends cleanly, but without the terminal events that are still due."""


class Raw(Described, frozen=True, tag="raw"):
    """Bytes put into the stream as they are (base64 in a JSON file)."""

    data: bytes


Piece = (
    Begin
    | Reasoning
    | Text
    | Call
    | Parallel
    | Delay
    | Barrier
    | Drop
    | Reset
    | Stall
    | Status
    | Fail
    | Finish
    | Usage
    | NoEnd
    | Raw
)


class Reply(Described, frozen=True):
    """One answer of the model and how its bytes reach the wire."""

    pieces: tuple[Piece, ...] = ()
    headers: dict[str, str] = {}
    """Added to the response head."""
    pace: float = 0.0
    """Seconds between deltas."""
    wire_chunk: int = 0
    """Bytes an HTTP chunk, wherever that cuts; 0 means one event a chunk."""
    newline: Literal["\n", "\r\n", "\r"] = "\n"
    """Line end inside the event stream; the format allows all three."""


class When(Described, frozen=True, kw_only=True):
    """Which requests a step is for. All that is given must fit; texts fit when contained."""

    user: str | None = None
    """In the last text of the user."""
    result: str | None = None
    """In one of the tool results at the end of the request."""
    system: str | None = None
    model: str | None = None
    """In the model's name."""
    anywhere: str | None = None
    """In any text of the request."""
    tools: tuple[str, ...] | bool | None = None
    """Tools that are all offered; or whether any is."""
    dialect: Literal["chat", "responses", "anthropic"] | None = None

    def fits(self, request: Request) -> bool:
        """Whether `request` is one that the step is for."""
        return (
            _within(self.user, request.last_user_text)
            and _within(self.system, "\n".join(request.system))
            and _within(self.model, request.model)
            and (self.result is None or any(self.result in one for one in request.results))
            and (self.anywhere is None or self.anywhere in request.all_text)
            and (self.dialect is None or self.dialect == request.dialect)
            and self._offers(request.tool_names)
        )

    def _offers(self, names: tuple[str, ...]) -> bool:
        if isinstance(self.tools, bool):
            return self.tools == bool(names)
        return self.tools is None or set(self.tools) <= set(names)


def _within(part: str | None, whole: str) -> bool:
    return part is None or part in whole


class Step(Described, frozen=True):
    """A reply, the requests it is for, and how often one conversation may have it."""

    reply: Reply
    when: When | None = None
    times: int = 1


class Scenario(Described, frozen=True):
    """Steps in order; see the module for how one is chosen."""

    steps: tuple[Step, ...] = ()
    default: Reply | None = None
    """For requests that no step is left for. None: refused, and noted as a violation."""
    scope: Literal["conversation", "server"] = "conversation"
    """`server`: all requests use up the same steps, whatever conversation they belong to."""


Script = Callable[[Request], Reply | None]
"""A scenario as code; None means the request is refused and noted."""

Said = str | Piece | Reply | list[Piece] | tuple[Piece, ...]
"""What `step` and `scenario` take for a reply: a text, a piece, several pieces, or a `Reply`."""


def reply(said: Said) -> Reply:
    """`said` as a `Reply`."""
    if isinstance(said, Reply):
        return said
    if isinstance(said, str):
        return Reply((Text(said),))
    return Reply(tuple(said)) if isinstance(said, list | tuple) else Reply((said,))


def step(*said: Said, when: When | None = None, times: int = 1) -> Step:
    """A step of everything `said`, one after another in one answer."""
    parts = [reply(each) for each in said]
    pieces = tuple(piece for part in parts for piece in part.pieces)
    # Wire settings come from the one Reply that was given; pieces alone have the defaults.
    wire = next((part for each, part in zip(said, parts, strict=True) if each is part), Reply())
    return Step(msgspec.structs.replace(wire, pieces=pieces), when, times)


def scenario(
    *steps: Step | Said,
    default: Said | None = None,
    scope: Literal["conversation", "server"] = "conversation",
) -> Scenario:
    """A scenario of `steps`; whatever is no `Step` becomes one that is used once."""
    made = tuple(each if isinstance(each, Step) else step(each) for each in steps)
    return Scenario(made, None if default is None else reply(default), scope)


def load(path: Path) -> Scenario:
    """The scenario in a JSON file. Raises `msgspec.ValidationError` naming what is wrong where, and
    for a key that is unknown the one that was meant.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scenario)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(f"{error}{_meant(str(error))}") from error


def _meant(problem: str) -> str:
    """Which key was meant by the unknown one that `problem` names, as a sentence; often empty."""
    unknown = _UNKNOWN.search(problem)
    if unknown is None:
        return ""
    known = {name for kind in Described.__subclasses__() for name in kind.__struct_fields__}
    near = get_close_matches(unknown.group(1), sorted(known), n=1)
    return f". Did you mean `{near[0]}`?" if near else ""


def cut(text: str, size: int) -> tuple[str, ...]:
    """`text` in pieces of `size` characters; 0 means in one piece."""
    if size <= 0:
        return (text,) if text else ()
    return tuple(text[at : at + size] for at in range(0, len(text), size))
