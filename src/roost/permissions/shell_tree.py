"""Parses a shell command with tree-sitter-bash, and says where its tree cannot be relied on.

The grammar is made for highlighting: it drops bytes it does not understand and ends some heredocs
too early. What decides over permissions must see every byte, so the tree is checked against the
text: every token is of a form that bash reads the same way, and nothing but blanks is between them.
"""

import functools
import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES: Final = 100_000
_ODD: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_UNREADABLE: Final = re.compile(r"\{[0-9]*(?:\.\.[0-9]*)?[^\x00-\xff]")
"""Here the parser (tree-sitter-bash 0.25) looks a character up in a table that ends at 255, which
crashes the process now and then."""
_BLANK: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_TOKENS: Final = {
    "word": re.compile(rb"(?:[^ \t\n|&;()<>\"'`$\\]|\\[^\n])+"),
    "raw_string": re.compile(rb"'[^']*'"),
    "ansi_c_string": re.compile(rb"\$'(?:[^'\\]|\\.)*'", re.DOTALL),
    "extglob_pattern": re.compile(rb"[\w.*?\[\]@+!\-|()/^:,~=%]*"),
    "regex": re.compile(rb"[^`;&<>\n$\"']*\$?"),
    "file_descriptor": re.compile(rb"\d+"),
    "variable_name": re.compile(rb"\w+"),
    "special_variable_name": re.compile(rb"[*@?!#$0_-]"),
    "number": re.compile(rb"-?[\w.#@]+"),
    "test_operator": re.compile(rb"-[a-zA-Z]{1,2}"),
    "heredoc_start": re.compile(rb"\w+|'[^'\n\\]+'|\"[^\"\n\\$`]+\"|\\\w+"),
}
_INSIDE: Final = {"string", "heredoc_body"}
"""Nodes whose text is not all covered by children."""
_WHOLE: Final = {"heredoc_end", "comment", *_TOKENS}
_LIVE: Final = re.compile(rb"\\.|`|\$[({\w@*#?!$-]", re.DOTALL)
_BEFORE_COMMENT: Final = b" \t\n;&|()"
_AROUND: Final = b" \t\n;&|()<>`"
_WORDS: Final = {
    *("concatenation", "variable_assignment", "expansion", "simple_expansion", "subscript"),
    *("command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression"),
    *("array", "binary_expression", "unary_expression", "postfix_expression"),
    *("parenthesized_expression", "ternary_expression", "test_command", "compound_statement"),
}
_RESERVED: Final = {
    *("!", "{", "}", "[[", "]]", "[", "]", "if", "then", "elif", "else", "fi", "for", "select"),
    *("while", "until", "do", "done", "case", "in", "esac", "function"),
}


_parsing = threading.Lock()
"""A parser is for one thread at a time; long commands are analysed beside the event loop."""


@functools.cache
def _parser() -> "Parser":
    # Imported here: only a command that is not plain needs them.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(command: str) -> "tuple[Node | None, str]":
    """The tree of `command`, and why it may not be what bash would run; empty: it is.

    No tree is given for text that cannot be a command.
    """
    if _ODD.search(command):
        return None, "it holds control characters"
    if _UNREADABLE.search(command):
        return None, "a brace stands before a character that cannot be checked"
    try:
        data = command.encode()
    except UnicodeEncodeError:
        return None, "it is not valid text"
    if len(data) > MAX_BYTES:
        return None, "it is too long to be checked"
    with _parsing:
        root = _parser().parse(data).root_node
    if root.has_error:
        return root, "it cannot be parsed"
    try:
        return root, next(_doubts(root, data), "")
    except RecursionError:
        return None, "it is nested too deeply"


def _doubts(root: "Node", data: bytes) -> Iterator[str]:
    at = 0
    before: Node | None = None
    for node in _leaves(root):
        gap = data[at : node.start_byte]
        if node.start_byte < at or not _BLANK.fullmatch(gap):
            yield "a part of it is not understood"
        if b"\\\n" in gap and not re.search(rb"[ \t\n]", gap.replace(b"\\\n", b"")):
            yield "a line is continued inside a word"
        if not gap and before is not None and _joined(before, node, data):
            yield "where a word ends is not understood"
        yield from _token_doubts(node, data)
        at, before = node.end_byte, node
    if not _BLANK.fullmatch(data[at:]):
        yield "its end is not understood"


def _joined(before: "Node", node: "Node", data: bytes) -> bool:
    """Whether bash reads two tokens as one word that the tree has in two."""
    seam = data[node.start_byte - 1 : node.start_byte + 1]
    return not any(mark in _AROUND for mark in seam) and _word_of(before) != _word_of(node)


def _word_of(node: "Node") -> int:
    """The outermost node around a token that is still a word."""
    while node.parent is not None and node.parent.type in _WORDS:
        node = node.parent
    return node.id


def _leaves(node: "Node") -> Iterator["Node"]:
    """Tokens in the order of the text; strings and the like count as one."""
    if node.is_missing:
        return
    if node.type in _WHOLE or node.type in _INSIDE or not node.child_count:
        yield node
        return
    for child in node.children:
        yield from _leaves(child)


def _token_doubts(node: "Node", data: bytes) -> Iterator[str]:
    text = data[node.start_byte : node.end_byte]
    known = _TOKENS.get(node.type)
    if known is not None and not known.fullmatch(text):
        yield "a word is not understood"
    elif not node.is_named and text != node.type.encode():
        yield "a mark is not understood"
    elif node.type == "$" and not _begins_or_ends(node, data):
        yield "a dollar is not understood"
    elif node.type in _INSIDE:
        yield from _inner_doubts(node, data)
    elif node.type in _RESERVED and not _stands_alone(node, data):
        yield "a reserved word is part of another word"
    elif node.type == "comment":
        before = data[node.start_byte - 1 : node.start_byte]
        if before not in _BEFORE_COMMENT or data[: node.start_byte].endswith(b"\\\n"):
            yield "what looks like a comment is not one"
    elif node.type == "heredoc_end":
        yield from _heredoc_doubts(node, data)


def _stands_alone(node: "Node", data: bytes) -> bool:
    """Bash knows its reserved words only as whole words."""
    if node.parent is not None and node.parent.type == "brace_expression":
        return True
    before, after = data[node.start_byte - 1 : node.start_byte], data[node.end_byte :][:1]
    return before in _AROUND and after in _AROUND


def _begins_or_ends(dollar: "Node", data: bytes) -> bool:
    """A dollar has the name right behind it, or nothing that bash would take for one."""
    if dollar.parent is not None and dollar.parent.type == "simple_expansion":
        following = dollar.next_sibling
        return following is not None and following.start_byte == dollar.end_byte
    return re.match(rb"[\w{(@*#?$!'`-]", data[dollar.end_byte : dollar.end_byte + 1]) is None


def _inner_doubts(node: "Node", data: bytes) -> Iterator[str]:
    """Whether every expansion inside a string or heredoc has its node, and is sound itself."""
    if node.type == "heredoc_body" and _is_raw(node, data):
        return
    children = [c for c in node.children if c.type not in {'"', "$", "string_content"}]
    children = [c for c in children if c.type != "heredoc_content"]
    at = node.start_byte + (1 if node.type == "string" else 0)
    end = node.end_byte - (1 if node.type == "string" else 0)
    for child in [*children, None]:
        text = data[at : child.start_byte if child else end]
        if any(m.group()[:1] != b"\\" for m in _LIVE.finditer(text)):
            yield "an expansion in a text is not understood"
        if node.type == "string" and re.search(rb"(?<!\\)(?:\\\\)*\"", text):
            yield "a quote is not understood"
        if child:
            yield from _sub_doubts(child, data)
            at = child.end_byte


def _sub_doubts(node: "Node", data: bytes) -> Iterator[str]:
    """The same checks for what stands inside a string: tokens and the gaps between them."""
    at = node.start_byte
    for leaf in _leaves(node):
        if not _BLANK.fullmatch(data[at : leaf.start_byte]):
            yield "a part of it is not understood"
        yield from _token_doubts(leaf, data)
        at = leaf.end_byte
    if not _BLANK.fullmatch(data[at : node.end_byte]):
        yield "a part of it is not understood"


def _start_of(node: "Node") -> "Node | None":
    parent = node.parent
    if parent is None:
        return None
    return next((c for c in parent.children if c.type == "heredoc_start"), None)


def _is_raw(body: "Node", data: bytes) -> bool:
    """Whether the heredoc's mark is quoted, so that nothing in the body is expanded."""
    start = _start_of(body)
    return start is not None and data[start.start_byte : start.start_byte + 1] in b"'\"\\"


def _heredoc_doubts(end: "Node", data: bytes) -> Iterator[str]:
    """Whether bash would end the heredoc on the same line as the tree does."""
    start = _start_of(end)
    if start is None:
        yield "a heredoc is not understood"
        return
    mark = data[start.start_byte : start.end_byte].strip(b"'\"\\")
    line_end = data.find(b"\n", start.end_byte)
    if re.search(rb"[\"'`\\#]|\$\(|<<", data[start.end_byte : line_end]):
        yield "a heredoc is not understood"
    tabs = start.prev_sibling is not None and start.prev_sibling.type == "<<-"
    at = line_end + 1
    while at < len(data):
        stop = data.find(b"\n", at)
        line = data[at : stop if stop >= 0 else len(data)]
        if (line.lstrip(b"\t") if tabs else line) == mark:
            break
        at += len(line) + 1
    # Not found, or found before or behind the end of the tree: the slice is not the mark alone.
    if data[at : end.end_byte].lstrip(b"\t") != mark:
        yield "a heredoc ends elsewhere than it seems"
    around = _substitution_of(end)
    if around is not None and data[end.end_byte : around.end_byte - 1].strip():
        # Bash 5.2 loses a semicolon there when it writes the substitution out for itself.
        yield "something follows a heredoc in a substitution"


def _substitution_of(node: "Node") -> "Node | None":
    """The innermost `$(…)`, backticks or `<(…)` around a node."""
    while node.parent is not None:
        node = node.parent
        if node.type in {"command_substitution", "process_substitution"}:
            return node
    return None
