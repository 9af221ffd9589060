"""Finds tool calls that a model wrote as text, in the forms that models really write.

An answer that talks about such forms is none: what stands in code is left alone unless it is the
end of a short text and names a tool that there is, markup counts only where a call follows it, and
a tool that nobody knows only where the text ends with it.
"""

import re
from typing import Final

from msgspec import Struct

from roost.turn.text_call_values import ToolNames, json_calls, plain_name, python_calls

_SPACE: Final = r"\s{0,40}"
_NAME: Final = r"""["']?(?P<name>[A-Za-z_][\w.:/-]{0,80})["']?"""
_JSON_NAME: Final = (
    r"""\[?\s{0,40}\{.{0,200}?["'](?:name|tool|tool_name|function)["']\s{0,9}:\s{0,9}""" + _NAME
)
_OPEN_TAG: Final = (
    r"<\|?(?:tool_?calls?|TOOLCALL|function_?calls?|tool_use|tools?|action_start)\|?>"
)


class Markup(Struct, frozen=True):
    """A form that begins with words of its own; the pattern's group `name` is the tool."""

    form: str
    """How the model is told what it wrote."""
    pattern: str


MARKUP: Final = (
    Markup(
        "<invoke name=…>",
        rf"<(?:[\w-]{{1,20}}:|｜DSML｜)?invoke\s{{1,9}}name={_NAME}\s{{0,9}}>"
        rf"(?={_SPACE}(?:<(?:[\w-]{{1,20}}:|｜DSML｜)?parameter\b|</|$))",
    ),
    Markup(
        "<function=…>",
        rf"<function={_NAME}>(?={_SPACE}(?:<parameter=|\{{|</function>|$))",
    ),
    Markup(
        "<tool_call>",
        rf"{_OPEN_TAG}(?:<\|plugin\|>)?{_SPACE}(?:```\w*)?{_SPACE}{_JSON_NAME}",
    ),
    Markup(
        "<tool_call>",
        rf"<tool_call>{_SPACE}{_NAME}{_SPACE}(?=<arg_key>|\{{|</tool_call>)",
    ),
    Markup("[TOOL_CALLS]", rf"\[TOOL_CALLS\]{_SPACE}{_JSON_NAME}"),
    Markup(
        "[TOOL_CALLS]",
        rf"\[TOOL_CALLS\]{_SPACE}{_NAME}(?=(?:\[CALL_ID\]\w{{0,40}})?(?:\[ARGS\])?{_SPACE}\{{)",
    ),
    Markup(
        "<|tool_call_begin|>",
        rf"<\|tool_calls?_(?:section_)?begin\|>{_SPACE}(?:<\|tool_call_begin\|>)?{_SPACE}{_NAME}",
    ),
    Markup(
        "<｜tool▁call▁begin｜>",
        rf"<[｜|]tool▁calls?▁begin[｜|]>(?:{_SPACE}<[｜|]tool▁call▁begin[｜|]>)?"
        rf"(?:function<[｜|]tool▁sep[｜|]>)?{_SPACE}{_NAME}",
    ),
    Markup(
        "<|python_tag|>",
        rf"<\|python_tag\|>{_SPACE}(?:{_JSON_NAME}|{_NAME.replace('<name>', '<other>')})",
    ),
    Markup("to=functions…", rf"(?:commentary|analysis){_SPACE}to=functions\.{_NAME}"),
    Markup(
        "Action: …",
        rf"(?:\A|\n)Action:[ \t]{{0,9}}{_NAME}[ \t]{{0,9}}\n{_SPACE}Action Input:",
    ),
)
_PATTERNS: Final = tuple((one.form, re.compile(one.pattern, re.DOTALL)) for one in MARKUP)
FORMS: Final = (
    *dict.fromkeys(one.form for one in MARKUP),
    "<bash><command>…",
    "JSON",
    "a Python call",
)

_FENCE: Final = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_SPAN: Final = re.compile(r"(`+)(?!`)[^\n]{1,400}?(?<!`)\1(?!`)")
_INDENTED: Final = re.compile(r"^(?: {4}|\t).*$", re.MULTILINE)
_CALL_FENCES: Final = frozenset(
    {
        *("", "json", "jsonc", "xml", "python", "action", "function", "function_call"),
        *("tool", "tool_call", "tool_calls", "tool_code", "tool_use"),
    }
)
"""Languages of blocks that may hold a call; a command in a shell's block is an answer."""
_PYTHON_FENCES: Final = frozenset({"", "tool_code", "tool_call", "tool"})
_END_TOKENS: Final = re.compile(
    r"(?:\s|<\|(?:im_end|eot_id|eom_id|end|call|endoftext)\|>|</s>|<end_of_turn>|<｜end▁of▁sentence｜>)+\Z"
)
_CLOSERS: Final = re.compile(
    r"\A(?:\s|</?[\w:=|｜▁.-]{1,60}>|<\|[\w▁]{1,40}\|>|\[/?[A-Z_]{3,20}\]|[\]})>;,`\"'])*\Z"
)
"""What may stand behind the last call of a text that ends with it."""
_ABOUT: Final = re.compile(
    r"\b(?:examples?|e\.g|for instance|such as|looks? like|syntax|schema|payload|template|"
    r"documented|would (?:be|look|write|send)|you (?:can|could|would|may|might)|instead of|"
    r"snippet|samples?|written as|in the (?:form|format))\b|例如|比如|格式|示例",
    re.IGNORECASE,
)
"""Words of somebody who explains a call and makes none."""
_LEAD: Final = 600
"""Characters of prose beside a call in code, beyond which the text is taken for an explanation."""
_ABOUT_TAIL: Final = 160
"""Characters before a call in which `_ABOUT` is looked for."""
_STARTS: Final = 12
"""Places where JSON at the end of a text may begin, which are tried."""


def find(text: str, tools: ToolNames) -> str:
    """The form of a tool call in `text`, a step's words; empty if there is none."""
    text = _END_TOKENS.sub("", text)
    if not text:
        return ""
    bare = _without_code(text)
    for form, pattern in _PATTERNS:
        if any(_is_meant(found, bare, tools) for found in pattern.finditer(bare)):
            return form
    if _is_element(bare, tools):
        return "<bash><command>…"
    return _of_values(text, bare, tools) or _in_a_fence(text, tools)


def _without_code(text: str) -> str:
    """`text` with blanks in place of what is quoted as code, so that places stay where they are."""

    def blanks(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    for pattern in (_FENCE, _SPAN, _INDENTED):
        text = pattern.sub(blanks, text)
    return text


def _is_meant(found: re.Match[str], text: str, tools: ToolNames) -> bool:
    """Whether markup stands for a call: of a tool that there is, at the start of a line or the end
    of the text; of any other, when the text is little else.
    """
    names = found.groupdict()
    name = plain_name((names.get("name") or names.get("other") or "").partition(".call")[0])
    before = text[: found.start()]
    opens_line = not before.rpartition("\n")[2].strip(" \t") or before.rstrip().endswith(">")
    if name in tools and opens_line:
        return not _explains(before)
    ends = _CLOSERS.match(_behind_call(text[found.end() :])) is not None
    return ends and not _explains(before) and (name in tools or len(before.strip()) <= _LEAD)


def _behind_call(rest: str) -> str:
    """What stands behind the arguments of a call, that is behind its last bracket or tag."""
    last = max(rest.rfind(mark) for mark in ("}", ">", "]", ")"))
    return rest[last + 1 :]


def _explains(before: str) -> bool:
    return _ABOUT.search(before[-_ABOUT_TAIL:]) is not None


def _is_element(text: str, tools: ToolNames) -> bool:
    """A tool's name as an element that holds its arguments as elements, at the end of the text."""
    for found in re.finditer(r"^ {0,3}<([\w-]{1,60})>\s{0,40}<([\w-]{1,60})>", text, re.MULTILINE):
        name, argument = found.groups()
        if argument not in tools.get(name, ()) or _explains(text[: found.start()]):
            continue
        rest = text[found.end() :]
        if _CLOSERS.match(rest.rpartition(f"</{name}>")[2] if f"</{name}>" in rest else "-"):
            return True
    return False


def _of_values(text: str, bare: str, tools: ToolNames) -> str:
    """JSON or Python calls that are the whole text, or its end behind a few words."""
    if json_calls(text, tools):
        return "JSON"
    if python_calls(text, tools):
        return "a Python call"
    starts = [found.start() for found in re.finditer(r"^[\[{]", bare, re.MULTILINE)]
    for start in starts[:_STARTS]:
        if json_calls(bare[start:], tools):
            return "" if _explains(bare[:start]) else "JSON"
    last = max(bare.rstrip().rfind("\n\n"), bare.rstrip().rfind(":\n"))
    if last >= 0 and python_calls(bare[last + 2 :], tools) and not _explains(bare[:last]):
        return "a Python call"
    return ""


def _in_a_fence(text: str, tools: ToolNames) -> str:
    """A call in a block of code that is the end of a short text."""
    fences = list(_FENCE.finditer(text))
    if not fences or text[fences[-1].end() :].strip():
        return ""
    last = fences[-1]
    before = _without_code(text[: last.start()])
    if len(before.split()) > 90 or len(before.strip()) > _LEAD or _explains(before):
        return ""
    language, content = last.group(2).lower(), last.group(3).strip()
    if language not in _CALL_FENCES:
        return ""
    if json_calls(content, tools):
        return "JSON"
    if language in _PYTHON_FENCES and python_calls(content, tools):
        return "a Python call"
    for form, pattern in _PATTERNS:
        found = pattern.match(content)
        if found is not None and plain_name(found.groupdict().get("name") or "") in tools:
            return form
    return ""
