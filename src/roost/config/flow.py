"""Values that stand on one line of a front matter: scalars, `[a, b]`, `{a: b}`, and `key: rest`."""

import re
from typing import Any, Final

_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|' + r"'((?:[^']|'')*)'")
_NUMBER: Final = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b"}
_REFUSED: Final = {"&": "an anchor", "!": "a tag", "%": "a directive", "@": "@", "`": "a backtick"}
_WORDS: Final[dict[str, bool | None]] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "Null": None,
    "~": None,
    "": None,
}
_MAX_DEPTH: Final = 12


class FlowError(ValueError):
    """A value that is not understood; its text says why."""


def strip_comment(row: str) -> str:
    """`row` without a comment: a `#` at the start or after a blank, outside quotes."""
    if "#" not in row:
        return row
    quote = ""
    for index, letter in enumerate(row):
        before = row[index - 1] if index else " "
        if quote:
            quote = "" if letter == quote and before != "\\" else quote
        elif letter in "\"'" and before in " [{,:":
            quote = letter
        elif letter == "#" and before in " \t":
            return row[:index]
    return row


def split_key(text: str) -> tuple[str, str]:
    """The key and what follows its colon.

    Raises FlowError when `text` is no `key: value`.
    """
    if quoted := _QUOTED.match(text):
        key, rest = _unquote(quoted), text[quoted.end() :].lstrip()
        if not rest.startswith(":"):
            raise FlowError("has no colon after its quoted name")
        return key, rest[1:].strip()
    found = re.match(r"([^\s:#][^:]*(?::\S[^:]*)*?)\s*:(?:\s+|$)", text)
    if found is None:
        raise FlowError("is not a `key: value` line")
    if found[1] == "<<" or found[1].startswith("? "):
        raise FlowError("uses a kind of YAML key that is not supported here")
    return found[1], text[found.end() :].strip()


def scalar(text: str) -> Any:
    """A quoted or plain scalar: text, a finite number, true, false or null."""
    if text[:1] in {'"', "'"}:
        quoted = _QUOTED.fullmatch(text)
        if quoted is None:
            raise FlowError("has a quote that is never closed, or text after it")
        return _unquote(quoted)
    if text[:1] in _REFUSED or (text[:1] == "*" and len(text) > 1 and text[1:].isalnum()):
        what = _REFUSED.get(text[:1], "an alias")
        raise FlowError(f"starts with {what}, which is not supported here: quote the text")
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return _number(text)
    return text


def _number(text: str) -> int | float:
    if not re.search(r"[.eE]", text):
        return int(text) if len(text) < 20 else float(text)
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise FlowError("is too large for a number")
    return value


def _unquote(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[2].replace("''", "'")
    return _ESCAPE.sub(_escape, match[1])


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)


def read_flow(text: str) -> Any:
    """A `[…]` or `{…}` value; raises FlowError unless it closes where `text` ends."""
    value, end = _value(text, 0, 0)
    if text[end:].strip():
        raise FlowError("has text after its closing bracket")
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > _MAX_DEPTH:
        raise FlowError("is nested too deeply")
    at = _skip(text, at)
    if text[at : at + 1] == "[":
        return _list(text, at + 1, depth)
    if text[at : at + 1] == "{":
        return _map(text, at + 1, depth)
    if quoted := _QUOTED.match(text, at):
        return _unquote(quoted), quoted.end()
    plain = re.compile(r"[^,\[\]{}]*").match(text, at)
    assert plain is not None
    return scalar(plain.group().strip()), plain.end()


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while text[(at := _skip(text, at)) : at + 1] != "]":
        value, at = _value(text, at, depth + 1)
        found.append(value)
        at = _separator(text, at, "]")
    return found, at + 1


def _map(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while text[(at := _skip(text, at)) : at + 1] != "}":
        key, at = _key(text, at)
        if key in found:
            raise FlowError(f"gives {key} twice")
        found[key], at = _value(text, at, depth + 1)
        at = _separator(text, at, "}")
    return found, at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    if quoted := _QUOTED.match(text, at):
        key, at = _unquote(quoted), _skip(text, quoted.end())
    else:
        plain = re.compile(r"[^,\[\]{}:]*").match(text, at)
        assert plain is not None
        key, at = plain.group().strip(), plain.end()
    if text[at : at + 1] != ":":
        raise FlowError("has an entry without a colon between its braces")
    return key, at + 1


def _separator(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    mark = text[at : at + 1]
    if mark == closing:
        return at
    if mark != ",":
        raise FlowError(f"is missing a comma or the closing {closing}")
    return at + 1


def _skip(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at
