"""Words of a shell command: what is known of them before the shell runs.

Built from nodes of tree-sitter-bash. A node that this module does not know makes the word unknown,
never wrong.
"""

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node

_GLOB: Final = re.compile(r"[*?\[]")
_BRACES: Final = re.compile(r"\{[^{}]*(,|\.\.)[^{}]*\}|\{.*\{|\}.*\}")
_BARE: Final = re.compile(r"[\w@%+=:,./~\[\]*?{}!^#-]+")
_ANSI: Final = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_ANSI_SELF: Final = "\\'\"?"
_ASSIGNING: Final = re.compile(r"[A-Za-z_]\w*\+?=")


class Piece(Struct, frozen=True):
    """A part of a word that has one kind."""

    text: str
    quoted: bool = False
    known: bool = True


class Word(Struct, frozen=True):
    """One argument."""

    text: str
    """Its value with quotes resolved; where it is not known, as it is written."""
    exact: bool = True
    """The shell will pass exactly `text`."""
    stem: str = ""
    """The value up to the first part that is not known."""
    glob: bool = False
    """What is not known are only the names of files that match."""
    pipe: bool = False
    """The name of a pipe or of a file that another command finds: `<(…)`, `{}` of find."""

    @property
    def shown(self) -> str:
        """As a rule sees it: quoted where blanks inside could be taken for the next word."""
        if self.text and _BARE.fullmatch(self.text):
            return self.text
        return self.text if not self.exact else "'" + self.text.replace("'", "'\\''") + "'"


Folders = frozenset[str] | None
"""Where a command may run, as absolute paths; None: it cannot be told."""


class Assignment(Struct, frozen=True):
    """`name=value`, for one command or for the rest of the script."""

    name: str
    value: Word


class Redirect(Struct, frozen=True):
    """A file that the shell opens for a command."""

    target: Word
    writes: bool
    folders: Folders


class Simple(Struct, frozen=True):
    """A program or builtin with its arguments; no words: assignments alone."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    folders: Folders = None
    feeder: int | None = None
    """The index of the command whose output it reads through a pipe."""


class Script(Struct, frozen=True):
    """A command line taken apart."""

    commands: tuple[Simple, ...]
    redirects: tuple[Redirect, ...] = ()
    doubt: str = ""
    """Why there may be more to it than `commands`; empty: this is all of it."""


def plain_word(text: str) -> Word:
    """A word whose value is `text`."""
    return Word(text, stem=text)


def unknown_word(source: str) -> Word:
    """A word of which nothing is known, written as `source`."""
    return Word(source, exact=False)


def source_of(node: "Node") -> str:
    """What is written there."""
    return (node.text or b"").decode("utf-8", "replace")


def to_word(node: "Node", home: str | None) -> Word:
    """The word at `node`; `home` replaces `~` and `$HOME`, None leaves them unknown."""
    pieces = _pieces(node, home)
    bare = "".join("\0" if one.quoted or not one.known else one.text for one in pieces)
    if _BRACES.search(bare):
        return unknown_word(source_of(node))
    pieces = _with_home(pieces, home)
    stem, glob, unknown = "", False, False
    for piece in pieces:
        found = _GLOB.search(piece.text) if piece.known and not piece.quoted else None
        if not (glob or unknown):
            stem += piece.text[: found.start()] if found else piece.text if piece.known else ""
        glob, unknown = glob or found is not None, unknown or not piece.known
    text = unicodedata.normalize("NFC", "".join(one.text for one in pieces))
    return Word(
        text,
        exact=not (glob or unknown),
        stem=unicodedata.normalize("NFC", stem),
        glob=glob and not unknown,
        pipe=node.type == "process_substitution",
    )


def _with_home(pieces: list[Piece], home: str | None) -> list[Piece]:
    """Expand a leading `~`, also behind `name=`, where bash does."""
    if not pieces or pieces[0].quoted or not pieces[0].known:
        return pieces
    first, rest = pieces[0].text, pieces[1:]
    start = match.end() if (match := _ASSIGNING.match(first)) else 0
    if start and ":~" in first:
        return [Piece(first, known=False), *rest]
    if first[start : start + 1] != "~":
        return pieces
    user = re.match(r"[^/]*", first[start + 1 :])
    whole = bool(user and user.group()) or (rest and "/" not in first[start:])
    if home is None or whole:
        return [Piece(first, known=False), *rest]
    expanded = Piece(home + first[start + 1 :], quoted=True)
    return [Piece(first[:start]), expanded, *rest] if start else [expanded, *rest]


def _pieces(node: "Node", home: str | None) -> list[Piece]:
    source = source_of(node)
    match node.type:
        case "word" | "number" | "variable_name" | "test_operator":
            return _bare(source)
        case "concatenation" | "command_name":
            # `$"…"` is a text to be translated: the dollar is no part of it.
            parts = [c for c in node.children if not (c.type == "$" and _is_string(c.next_sibling))]
            return [piece for child in parts for piece in _pieces(child, home)]
        case "raw_string":
            return [Piece(source[1:-1], quoted=True)]
        case "ansi_c_string":
            return [_ansi(source)]
        case "string":
            return _string(node, home)
        case "$":
            return [Piece("$", quoted=True)]
        case "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "unsetenv":
            return [Piece(source)]
        case "simple_expansion" | "expansion":
            if home is not None and source in {"$HOME", "${HOME}"}:
                return [Piece(home, quoted=True)]
            return [Piece(source, known=False)]
        case _:
            return [Piece(source, known=False)]


def _is_string(node: "Node | None") -> bool:
    return node is not None and node.type == "string"


def _bare(source: str) -> list[Piece]:
    """Unquoted text; a backslash quotes what follows it."""
    found: list[Piece] = []
    for match in re.finditer(r"\\(.)|([^\\]+)|\\", source, re.DOTALL):
        if match[2] is not None:
            found.append(Piece(match[2]))
        elif match[1] not in {None, "\n"}:
            found.append(Piece(match[1], quoted=True))
    return found


def _string(node: "Node", home: str | None) -> list[Piece]:
    """A double-quoted string: what stands between the expansions is text."""
    data, base = node.text or b"", node.start_byte
    found: list[Piece] = [Piece("", quoted=True)]
    at = 1
    for child in node.children:
        if child.type in {'"', "string_content", "$"}:
            continue
        found.append(_quoted_text(data[at : child.start_byte - base]))
        found += [Piece(p.text, quoted=True, known=p.known) for p in _pieces(child, home)]
        at = child.end_byte - base
    found.append(_quoted_text(data[at:-1]))
    return found


def _quoted_text(data: bytes) -> Piece:
    text = data.decode("utf-8", "replace")
    text = re.sub(r"\\([$`\"\\\n])", lambda m: "" if m[1] == "\n" else m[1], text)
    return Piece(text, quoted=True)


def _ansi(source: str) -> Piece:
    """`$'…'`; an escape that is not in the table makes it unknown."""
    body = source[2:-1]
    escapes = [m[1] for m in _ANSI.finditer(body)]
    if all(e[0] in "xu01234567" or e in _ANSI_LETTERS or e in _ANSI_SELF for e in escapes):
        text = _ANSI.sub(lambda m: _ansi_letter(m[1]), body)
        return Piece(text, quoted=True, known="\0" not in text)
    return Piece(source, quoted=True, known=False)


def _ansi_letter(escape: str) -> str:
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 0xFF)
    return _ANSI_LETTERS.get(escape, escape)
