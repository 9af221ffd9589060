"""The block of settings at the head of a Markdown file, in the part of YAML that people use there.

Understood: nested maps by indentation, lists by `-`, `[a, b]` and `{a: b}`, plain and quoted
scalars (YAML 1.2: only true/false, numbers and null are not text), folded plain scalars, `|` and
`>` blocks, comments. Anchors, aliases, tags, merge keys and several documents are refused: a file
that cannot be read for certain must not half apply.
"""

import re
from typing import Any, Final, cast

from msgspec import Struct

from roost.config.flow import FlowError, read_flow, scalar, split_key, strip_comment
from roost.core.errors import ConfigError

_FENCE: Final = re.compile(r"---[ \t]*")
_BLOCK: Final = re.compile(r"([|>])([+-]?)")
_MAX_DEPTH: Final = 12


class Page(Struct, frozen=True):
    """A Markdown file taken apart."""

    settings: dict[str, Any]
    body: str
    """What follows the front matter, without blank lines around it."""


class _Line(Struct, frozen=True):
    number: int
    indent: int
    text: str


def read_page(text: str, name: str) -> Page:
    """Take `text` apart; without `---` on the first line all of it is body.

    Raises ConfigError naming `name` and the line for front matter that is not understood.
    """
    rows = text.removeprefix("\ufeff").splitlines()
    if not rows or not _FENCE.fullmatch(rows[0]):
        return Page({}, text.removeprefix("\ufeff").strip())
    for end, row in enumerate(rows[1:], start=1):
        if _FENCE.fullmatch(row):
            reader = _Reader(rows[1:end], name)
            return Page(reader.document(), "\n".join(rows[end + 1 :]).strip())
    raise ConfigError(
        f"{name}: its front matter is never closed", hint="Put --- on a line after the settings."
    )


class _Reader:
    """One pass over the lines of a front matter."""

    def __init__(self, rows: list[str], name: str) -> None:
        self.rows = rows
        self.name = name
        self.at = 0

    def document(self) -> dict[str, Any]:
        line = self.peek()
        if line is None:
            return {}
        value: object = self.block(line.indent, 0)
        if (left := self.peek()) is not None:
            raise self.fault(left.number, "is indented in a way that fits nothing above")
        if not isinstance(value, dict):
            raise self.fault(line.number, "holds a list where names with values are needed")
        return cast("dict[str, Any]", value)

    def fault(self, number: int, what: str) -> ConfigError:
        return ConfigError(
            f"{self.name}:{number + 2}: {what}",
            hint="Front matter holds `key: value` lines; quote a text with special characters.",
        )

    def peek(self) -> _Line | None:
        """The next line that is neither blank nor comment."""
        while self.at < len(self.rows):
            row = self.rows[self.at]
            text = strip_comment(row).rstrip()
            bare = text.lstrip(" ")
            if bare.startswith("\t"):
                raise self.fault(self.at, "is indented with a tab")
            if bare:
                return _Line(self.at, len(text) - len(bare), bare)
            self.at += 1
        return None

    def block(self, indent: int, depth: int) -> Any:
        """The map or list whose entries stand at `indent`."""
        line = self.peek()
        if depth > _MAX_DEPTH:
            raise self.fault(self.at, "is nested too deeply")
        if line is not None and (line.text == "-" or line.text.startswith("- ")):
            return self.items(indent, depth)
        return self.entries(indent, depth)

    def entries(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self.peek()) is not None and line.indent == indent:
            try:
                key, rest = split_key(line.text)
            except FlowError as error:
                raise self.fault(line.number, str(error)) from error
            if key in found:
                raise self.fault(line.number, f"gives {key} twice")
            self.at += 1
            found[key] = self.value(rest, line, depth)
        return found

    def items(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while (line := self.peek()) is not None and line.indent == indent:
            if line.text != "-" and not line.text.startswith("- "):
                break
            self.at += 1
            rest = line.text[1:].strip()
            if re.match(r"[\w-]+:(\s|$)", rest):
                raise self.fault(line.number, "holds a map in a list; write it as {key: value}")
            found.append(self.value(rest, line, depth))
        return found

    def value(self, rest: str, line: _Line, depth: int) -> Any:
        """What stands after `key:` or `-`, on that line or below it."""
        following = self.peek() if not rest else None
        if following is not None:
            listed = following.text.startswith("- ") and following.indent == line.indent
            if following.indent > line.indent or (listed and not line.text.startswith("-")):
                return self.block(following.indent, depth + 1)
        if head := _BLOCK.fullmatch(rest):
            return self.literal(line.indent, folded=head[1] == ">", chomp=head[2])
        try:
            if rest[:1] in {"[", "{"}:
                return read_flow(self.folded(rest, line))
            return scalar(self.folded(rest, line) if rest else rest)
        except FlowError as error:
            raise self.fault(line.number, str(error)) from error

    def folded(self, first: str, line: _Line) -> str:
        """A scalar that goes on over deeper lines, joined by blanks."""
        pieces = [first]
        while (more := self.peek()) is not None and more.indent > line.indent:
            if first[:1] not in {"[", "{", '"', "'"} and re.search(r":(\s|$)", more.text):
                raise self.fault(more.number, "stands below a value that takes nothing below it")
            pieces.append(more.text)
            self.at += 1
        return " ".join(pieces)

    def literal(self, indent: int, *, folded: bool, chomp: str) -> str:
        """A `|` or `>` block: every line deeper than `indent`, comments included."""
        lines: list[str] = []
        while self.at < len(self.rows):
            row = self.rows[self.at]
            if row.strip() and len(row) - len(row.lstrip(" ")) <= indent:
                break
            lines.append(row)
            self.at += 1
        depths = [len(row) - len(row.lstrip(" ")) for row in lines if row.strip()]
        text = "\n".join(row[min(depths, default=0) :].rstrip() for row in lines)
        if folded:
            text = re.sub(r"(?<!\n)\n(?!\n)", " ", text.rstrip("\n"))
        body = text.rstrip("\n")
        return body if chomp == "-" or not body else body + "\n"
