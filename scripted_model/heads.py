"""The part of a request that stays the same from step to step: model, tools, system, options."""

from collections import OrderedDict
from typing import Any, Final, cast

from msgspec import Struct

from scripted_model.grammar import Grammar, join
from scripted_model.json_strict import JsonError, Object, items, lenient, loads
from scripted_model.picture import Request
from scripted_model.prompt_cache import START, Link, count_markers, link
from scripted_model.tool_rules import check_tools
from scripted_model.violations import Violation

_KEPT: Final = 128


class Head(Struct, frozen=True):
    """A request without its messages, what is wrong with it, and its place in the prompt cache."""

    request: Request
    violations: tuple[Violation, ...]
    links: tuple[Link, ...]
    markers: int
    marks_end: bool
    """The last block of the whole request is a cache breakpoint too."""

    @property
    def last(self) -> Link:
        """Where the messages go on from."""
        return self.links[-1]


class Heads:
    """Reads heads, each distinct one once."""

    def __init__(self, *, strict: bool, extra_fields: frozenset[str]) -> None:
        self._strict = strict
        self._extra = extra_fields
        self._kept: OrderedDict[tuple[str, bytes], Head] = OrderedDict()

    def read(self, grammar: Grammar, skeleton: bytes) -> Head:
        """The head in a body whose messages were taken out. Raises `JsonError`."""
        key = (grammar.dialect, skeleton)
        if key not in self._kept:
            body = loads(skeleton) if self._strict else lenient(skeleton)
            if not isinstance(body, dict):
                raise JsonError("the body must be an object")
            self._kept[key] = self._parse(grammar, cast("Object", body))
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _parse(self, grammar: Grammar, body: Object) -> Head:
        request = grammar.head(body)
        found: list[Violation] = []
        if self._strict:
            known = {key: value for key, value in body.items() if key not in self._extra}
            found = [*grammar.check_head(known), *check_tools(request), *_check_system(request)]
        chain = [link({"model": request.model}, START)]
        for part in (*items(body, "tools"), *_system_parts(body)):
            chain.append(link(part, chain[-1]))
        markers = sum(count_markers(items(body, key)) for key in ("tools", "system"))
        marks_end = bool(body.get("cache_control"))
        return Head(request, tuple(found), tuple(chain), markers + marks_end, marks_end)


def _system_parts(body: Object) -> list[Any]:
    said = [body[key] for key in ("instructions", "system") if isinstance(body.get(key), str)]
    return [*said, *items(body, "system")]


def _check_system(request: Request) -> list[Violation]:
    found: list[Violation] = []
    for at, said in enumerate(request.system):
        if not said.strip():
            where = join(request.dialect, "system", at)
            message = f"{where}: text content blocks must contain non-whitespace text"
            found.append(Violation("empty", message, where))
    return found
