"""Reads a request into its picture and finds every rule that it breaks.

What was read and found good before is not read again: a request costs what it adds.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from scripted_model.dialogue import LISTS, Spot, finish, follow
from scripted_model.grammar import Grammar, join
from scripted_model.heads import Head, Heads
from scripted_model.history import Entry, Histories, History
from scripted_model.json_strict import JsonError, child, lenient, loads, split, text
from scripted_model.media_rules import check_count, check_media, media_of
from scripted_model.parse_anthropic import AnthropicGrammar
from scripted_model.parse_chat import ChatGrammar
from scripted_model.parse_responses import ResponsesGrammar
from scripted_model.picture import Dialect, MediaBlock, Message, Request, TextBlock
from scripted_model.prompt_cache import Link, PromptCache, Share, count_markers, links
from scripted_model.reasoning_rules import ReasoningBook
from scripted_model.violations import Violation

MAX_BODY: Final = 32 * 1024 * 1024
"""Bytes of a request that any provider reads."""
MAX_MARKERS: Final = 4
"""Cache breakpoints in a request."""
_GRAMMARS: Final[dict[Dialect, Grammar]] = {
    "chat": ChatGrammar(),
    "responses": ResponsesGrammar(),
    "anthropic": AnthropicGrammar(),
}


class Reading(Struct, frozen=True):
    """What a request says, what is wrong with it, and what its input costs."""

    request: Request
    violations: tuple[Violation, ...] = ()
    share: Share = Share(0)


class Reader:
    """Reads requests. With `strict` off only a body that is no JSON is found wrong."""

    def __init__(
        self, book: ReasoningBook, *, strict: bool, extra_fields: frozenset[str] = frozenset()
    ) -> None:
        self._book = book
        self._strict = strict
        self._heads = Heads(strict=strict, extra_fields=extra_fields)
        self._counting = Heads(strict=False, extra_fields=extra_fields)
        self._histories = Histories()
        self._cache = PromptCache()

    def read(self, dialect: Dialect, body: bytes, headers: dict[str, str]) -> Reading:
        """The picture of a request with everything that is wrong with it."""
        grammar = _GRAMMARS[dialect]
        bare = Request(dialect, "", headers=headers, body=body)
        if len(body) > MAX_BODY:
            words = f"Request exceeds the maximum size of {MAX_BODY} bytes"
            return Reading(bare, (Violation("size", words, status=413),))
        try:
            skeleton, raws = split(body, grammar.list_key)
            head = self._heads.read(grammar, skeleton)
        except JsonError as error:
            return Reading(bare, (_not_json(error),))
        owner = f"{dialect} {head.request.model} {head.last.chain}"
        history = self._histories.find(owner, raws)
        known = len(history.raws)
        found = list(head.violations)
        found += self._extend(grammar, head, history, raws)
        if self._strict and not found:
            found = self._check_whole(head, history, known)
        if any(each.rule == "reasoning" for each in found):
            self._book.excuse(tuple(grammar.message(lenient(raw)) for raw in raws))
        request = _complete(head.request, history, headers, body)
        chain = [*head.links, *history.links]
        if head.marks_end:
            chain[-1] = replace(chain[-1], marked=True)
        return Reading(request, tuple(found), self._cache.share(dialect, chain))

    def count(self, dialect: Dialect, body: bytes) -> int:
        """Tokens of the input of a request that is only to be counted. 0 for what is no JSON."""
        try:
            skeleton, raws = split(body, _GRAMMARS[dialect].list_key)
            head = self._counting.read(_GRAMMARS[dialect], skeleton)
            last = head.last
            for item in map(lenient, raws):
                last = links(item, _GRAMMARS[dialect].message(item), last)[-1]
        except JsonError:
            return 0
        return last.upto

    def _extend(
        self, grammar: Grammar, head: Head, history: History, raws: list[bytes]
    ) -> list[Violation]:
        """Add the new messages to the history, up to the first that is wrong."""
        for at in range(len(history.raws), len(raws)):
            before = history.last
            try:
                item = loads(raws[at]) if self._strict else lenient(raws[at])
            except JsonError as error:
                return [_not_json(error)]
            message = grammar.message(item)
            spot = before.spot
            if self._strict:
                where = join(grammar.dialect, LISTS[grammar.dialect], at)
                if found := grammar.check_item(item, where):
                    return found
                after = follow(grammar.dialect, spot, message, at, history.ids)
                found = [after] if isinstance(after, Violation) else []
                found += self._check_message(head.request, message, where)
                if found or isinstance(after, Violation):
                    return found
                spot = after
            new = links(item, message, history.links[-1] if history.links else head.last)
            entry = _entry(before, message, spot, new, count_markers(item))
            history.add(raws[at], message, entry, new)
        return []

    def _check_message(self, request: Request, message: Message, where: str) -> list[Violation]:
        found = check_media(request.dialect, message, where)
        stored = request.options.get("store") is not False
        found += self._book.check_blocks(
            request.dialect, request.model, message, where, stored=stored
        )
        return found

    def _check_whole(self, head: Head, history: History, known: int) -> list[Violation]:
        request = head.request
        if request.messages:
            blank = Violation("empty", "input: must have non-whitespace text", "input")
            return [] if request.messages[0].text.strip() else [blank]
        last = history.last
        found = finish(request.dialect, last.spot, len(history.entries))
        found += check_count(request.dialect, last.media)
        if (markers := head.markers + last.markers) > MAX_MARKERS:
            words = (
                f"A maximum of {MAX_MARKERS} blocks with cache_control may be provided. "
                f"Found {markers}."
            )
            found.append(Violation("cache", words))
        if text(child(request.options, "thinking"), "type") != "disabled":
            found += self._check_thinking(request, history, known)
        return found

    def _check_thinking(self, request: Request, history: History, known: int) -> list[Violation]:
        """Thinking left out of the answers that the new messages belong to."""
        messages = history.messages
        spoken = max(
            (at for at in range(known, len(messages)) if _is_spoken(messages[at])), default=0
        )
        found: list[Violation] = []
        for at in range(max(known, spoken, 1), len(messages)):
            if not messages[at].results or messages[at - 1].role != "assistant":
                continue
            start = at
            while start and messages[start - 1].role == "assistant":
                start -= 1
            where = join(request.dialect, LISTS[request.dialect], start)
            answer = tuple(messages[start:at])
            found += self._book.missing(request.dialect, request.model, answer, where)
        return found


def _entry(
    before: Entry, message: Message, spot: Spot, new: tuple[Link, ...], markers: int
) -> Entry:
    return Entry(
        spot=spot,
        links=before.links + len(new),
        markers=before.markers + markers,
        media=before.media + len(media_of(message)),
    )


def _is_spoken(message: Message) -> bool:
    """Whether a person or the runtime speaks in this message, not only tools."""
    return message.role == "user" and any(
        isinstance(block, TextBlock | MediaBlock) for block in message.blocks
    )


def _not_json(error: JsonError) -> Violation:
    return Violation("json", f"The request body is not valid JSON: {error}")


def _complete(head: Request, history: History, headers: dict[str, str], body: bytes) -> Request:
    messages = head.messages or tuple(history.messages)
    system = list(head.system)
    for message in messages:
        if message.role != "system":
            break
        system.append(message.text)
    return replace(head, messages=messages, system=tuple(system), headers=headers, body=body)
