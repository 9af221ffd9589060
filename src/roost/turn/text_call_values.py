"""Whether a value that a model wrote, as JSON or as a Python call, is a call of a known tool.

A name alone says little: descriptions of tools have one too. So at least one argument that the tool
takes must stand beside it.
"""

import ast
import json
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Literal, cast

ToolNames = Mapping[str, frozenset[str]]
"""The arguments of each tool that the model was shown, by its name."""

_NAME_KEYS: Final = ("name", "tool", "tool_name", "function", "recipient_name", "action")
_ARGUMENT_KEYS: Final = (
    "arguments", "parameters", "args", "input", "tool_input", "action_input", "params", "kwargs",
)  # fmt: skip
_WRAPPERS: Final = ("function", "function_call", "tool_call", "tool_calls", "tool_uses", "toolCall")
_PREFIXES: Final = ("functions.", "default_api.", "tools.", "tool.", "multi_tool_use.")
_UNREADABLE: Final = (ValueError, SyntaxError, MemoryError, RecursionError)
_CALL_START: Final = re.compile(r"\[?\s{0,40}[\w.]{1,80}\(")
_PYTHON_LIMIT: Final = 20_000
"""Characters of a Python expression that are parsed."""


def plain_name(name: str) -> str:
    """A tool's name without the name space that models put before it, and the number behind it."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name.partition(":")[0]


def json_calls(text: str, tools: ToolNames) -> bool:
    """Whether `text` is nothing but JSON values that are calls, one or several after each other."""
    rest = text.strip().rstrip(";,")
    found = False
    while rest:
        try:
            value, end = _decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            quoted = rest.startswith(("{'", "[{'"))
            return not found and quoted and _is_call(_python_value(rest), tools)
        if not _is_call(value, tools):
            return False
        found = True
        rest = rest[end:].lstrip(" \t\r\n,;")
    return found


_decoder: Final = json.JSONDecoder(strict=False)


def _python_value(text: str) -> Any:
    """A dict or list as Python writes it: models that mean JSON now and then do that."""
    with suppress(*_UNREADABLE):
        return ast.literal_eval(_parsed(text, "eval"))
    return None


def _parsed(text: str, mode: Literal["eval", "exec"]) -> Any:
    """The tree of Python in `text`. Raises one of `_UNREADABLE`."""
    if len(text) > _PYTHON_LIMIT:
        raise ValueError
    with warnings.catch_warnings():  # what a model writes is no code of ours to be warned of
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)


def _is_call(value: Any, tools: ToolNames) -> bool:
    if isinstance(value, list):
        several = cast("list[Any]", value)
        return bool(several) and all(_is_call(one, tools) for one in several)
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Any]", value)
    for key in _WRAPPERS:
        if isinstance(fields.get(key), dict | list) and _is_call(fields[key], tools):
            return True
    names = (fields[key] for key in _NAME_KEYS if isinstance(fields.get(key), str))
    name = plain_name(next(names, ""))
    return name in tools and _takes(tools[name], fields)


def _takes(known: frozenset[str], fields: dict[str, Any]) -> bool:
    """Whether arguments stand in `fields`, in a field of their own or beside the name."""
    for key in _ARGUMENT_KEYS:
        if key not in fields:
            continue
        given = fields[key]
        if isinstance(given, str):
            with suppress(ValueError, RecursionError):
                given = _decoder.decode(given)
        if isinstance(given, dict):
            return not known.isdisjoint(cast("dict[str, Any]", given)) or not (given or known)
    beside = {key for key in fields if key not in {*_NAME_KEYS, "type", "id"}}
    return bool(beside) and beside <= known


def python_calls(text: str, tools: ToolNames) -> bool:
    """Whether `text` is nothing but calls such as `bash(command="ls")`, a list of them, or such
    calls inside of `print`.
    """
    text = text.strip()
    if _CALL_START.match(text) is None or not text.endswith((")", "]")):
        return False
    try:
        body = _parsed(text, "exec").body
    except _UNREADABLE:
        return False
    return bool(body) and all(
        isinstance(one, ast.Expr) and _is_python_call(one.value, tools) for one in body
    )


def _is_python_call(node: ast.expr, tools: ToolNames) -> bool:
    if isinstance(node, ast.List):
        return bool(node.elts) and all(_is_python_call(one, tools) for one in node.elts)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1:
        return _is_python_call(node.args[0], tools)
    known = tools.get(plain_name(ast.unparse(node.func)), frozenset())
    given = {one.arg for one in node.keywords if one.arg is not None}
    return not node.args and bool(given) and given <= known
