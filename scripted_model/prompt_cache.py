"""Tokens of a request, and how many of them an earlier request already paid for."""

from bisect import bisect_left
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from scripted_model.json_strict import Object, items, text
from scripted_model.media_rules import media_tokens
from scripted_model.picture import Dialect, Message

BYTES_A_TOKEN: Final = 4
LOOKBACK: Final = 20
"""Blocks before a breakpoint in which Anthropic looks for an earlier one."""
_MEDIA: Final = {"base64", "image_url", "input_image", "input_file", "file"}


class Link(Struct, frozen=True):
    """One block of the prompt in the chain of all blocks before it."""

    chain: int
    """Hash of this block and everything before it."""
    upto: int
    """Tokens of this block and everything before it."""
    marked: bool = False
    """A cache breakpoint stands on it."""


START: Final = Link(0, 0)
"""What the first block of a prompt follows."""


class Share(Struct, frozen=True):
    """How the input tokens of one request divide."""

    total: int
    read: int = 0
    written: int = 0


def count_tokens(data: bytes | str) -> int:
    """About four bytes a token, at least one for anything at all."""
    size = len(data.encode("utf-8", errors="replace")) if isinstance(data, str) else len(data)
    return -(-size // BYTES_A_TOKEN)


def link(part: Any, before: Link, *, extra: int = 0) -> Link:
    """The link of one block; `extra` tokens are for what its text does not show."""
    data = msgspec.json.encode(_canonical(part, media=False))
    tokens = before.upto + count_tokens(data) + extra
    return Link(hash((before.chain, data)), tokens, is_marked(part))


def links(item: Any, message: Message, before: Link) -> tuple[Link, ...]:
    """The links of one message or item."""
    if not isinstance(item, dict):
        return (link(item, before),)
    fields = cast("Object", item)
    blocks = items(fields, "content")
    frame = {key: value for key, value in fields.items() if key != "content"} if blocks else fields
    found = [link(frame, before, extra=media_tokens(message))]
    for part in blocks:
        found.append(link(part, found[-1]))
    return tuple(found)


def is_marked(part: Any) -> bool:
    """Whether a block carries a cache breakpoint."""
    return isinstance(part, dict) and bool(cast("Object", part).get("cache_control"))


def count_markers(value: Any) -> int:
    """Cache breakpoints in a block and in the blocks inside it."""
    if isinstance(value, list):
        return sum(count_markers(each) for each in cast("list[Any]", value))
    if not isinstance(value, dict):
        return 0
    return is_marked(value) + count_markers(cast("Object", value).get("content"))


def _canonical(value: Any, *, media: bool) -> Any:
    """`value` without breakpoints, and with a hash in place of the bytes of media."""
    if isinstance(value, str):
        return f"#{hash(value)}" if media and len(value) > 256 else value
    if isinstance(value, list):
        return [_canonical(each, media=media) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("Object", value)
    inside = media or text(fields, "type") in _MEDIA
    return {
        key: _canonical(each, media=inside)
        for key, each in fields.items()
        if key != "cache_control"
    }


class PromptCache:
    """Remembers the prompts of earlier requests, as chains of blocks."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._written: set[int] = set()

    def share(self, dialect: Dialect, chain: list[Link]) -> Share:
        """How the tokens of the prompt `chain` divide; the prompt counts as seen from now on."""
        if dialect == "anthropic":
            return self._at_breakpoints(chain)
        # Whoever saw a block saw all before it, so the first unseen one is found by halving.
        at = bisect_left(chain, True, key=lambda each: each.chain not in self._seen)
        self._seen.update(each.chain for each in chain[at:])
        return Share(chain[-1].upto, read=chain[at - 1].upto if at else 0)

    def _at_breakpoints(self, chain: list[Link]) -> Share:
        marks = [at for at, each in enumerate(chain) if each.marked]
        total = chain[-1].upto
        if not marks:
            return Share(total)
        hit = max(self._hit(chain, mark) for mark in marks)
        self._written.update(chain[mark].chain for mark in marks)
        read = chain[hit].upto if hit >= 0 else 0
        return Share(total, read=read, written=max(0, chain[marks[-1]].upto - read))

    def _hit(self, chain: list[Link], mark: int) -> int:
        for at in range(mark, max(-1, mark - LOOKBACK), -1):
            if chain[at].chain in self._written:
                return at
        return -1
