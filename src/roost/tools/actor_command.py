"""Reads one action from a line such as `actor spawn explore "description" "prompt" --model lite`.

Quoting is that of a POSIX shell; nothing is expanded. A text of several lines may stand between
quotes or as a here-document, bare (`<<'EOF'`) or the way it is often written for real shells
(`"$(cat <<'EOF' … EOF)"`).
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Struct

from roost.core.text import cut
from roost.tools.actor_operations import Action, Kinds
from roost.tools.actor_reading import kind_of, refuse, shown

POSITIONS: Final[dict[str, tuple[str, ...]]] = {
    "spawn": ("subagent_type", "description", "prompt"),
    "run": ("subagent_type", "description", "prompt"),
    "status": ("actor_id",),
    "wait": ("actor_id",),
    "cancel": ("actor_id",),
    "send": ("to_actor_id", "content"),
    "models": (),
}
"""The fields that are given by their place; all others are flags."""
EXAMPLES: Final = {
    "spawn": 'actor spawn explore "Find the loader" "Where is the configuration read?"',
    "run": 'actor run explore "Find the loader" "Where is it?" --timeout 60000',
    "status": "actor status explore-1",
    "wait": "actor wait explore-1 --timeout 60000",
    "cancel": "actor cancel explore-1 --mode forced",
    "send": 'actor send explore-1 "Look in docs/ too"',
    "models": "actor models --vision",
}
_SHORT: Final = {"timeout_ms": "timeout", "to_session_id": "session"}
"""Flags that are not called as their fields are."""
_FIELDS: Final = {
    **{flag: name for name, flag in _SHORT.items()},
    "task": "task_id",
    "schema": "output_schema",
}
"""The fields of flags that are called otherwise."""
_SWITCHES: Final = {"vision"}
"""Flags that mean true where no value follows."""
_FLAG: Final = re.compile(r"--(?P<name>[A-Za-z][A-Za-z0-9_-]*)(?:=(?P<value>.*))?", re.DOTALL)
_HERE: Final = re.compile(r"<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)")
_CAT: Final = re.compile(r"\$\(\s*cat[ \t]+(?=<<)")
_AFTER_CAT: Final = re.compile(r'\s*\)"')
_BLANKS: Final = " \t\r\n"
_GAP: Final = re.compile(r"(?:[ \t\r\n]|\\\n)*")
"""What stands between words; a line that ends with a backslash goes on."""
_ESCAPED: Final = {'"', "\\"}
"""What a backslash takes the meaning from between double quotes."""
_SHOWN: Final = 60


class Word(Struct, frozen=True):
    """One word of a line."""

    text: str
    plain: bool = True
    """It began outside of quotes and here-documents, so it may be a flag."""


def usage(verb: str, kind: type[Action]) -> str:
    """How a line with `verb` is written: `<needed>`, `[left out]`."""
    fields = {one.encode_name: one for one in msgspec.structs.fields(kind)}
    placed = [name for name in POSITIONS[verb] if name in fields]
    words = [f"<{one}>" if fields[one].required else f"[{one}]" for one in placed]
    for name in fields:
        if name not in placed:
            value = "" if name in _SWITCHES else " …"
            words.append(f"[--{_flag_name(name)}{value}]")
    return " ".join(("actor", verb, *words))


def operation_of_line(line: str, kinds: Kinds) -> dict[str, Any]:
    """The fields of the action that `line` says. Raises `msgspec.ValidationError`.

    The values are text as it was written; `actor_reading.checked` reads them further.
    """
    found = list(words(line))
    if found and found[0] == Word("actor"):
        del found[0]
    if not found:
        refuse(f"command: got {shown(line)}, expected a line such as {EXAMPLES['status']}")
    verb = found[0].text
    kind = kind_of(verb, kinds)
    placed, flags = _sorted(verb, kind, found[1:])
    names = [name for name in POSITIONS[verb] if name not in flags]
    _check_count(verb, kind, names, placed)
    return {"action": verb, **dict(zip(names, placed, strict=False)), **flags}


def _sorted(verb: str, kind: type[Action], found: list[Word]) -> tuple[list[str], dict[str, Any]]:
    """What is given by its place, and the flags by the names of their fields."""
    placed: list[str] = []
    flags: dict[str, Any] = {}
    rest = iter(enumerate(found))
    for at, word in rest:
        if word == Word("--"):
            placed += [one.text for _, one in rest]
            break
        match = _FLAG.fullmatch(word.text) if word.plain else None
        if match is None:
            placed.append(word.text)
            continue
        name = _field_name(verb, kind, match["name"])
        if name in flags:
            refuse(f"{verb}: --{match['name']} is given twice")
        value = match["value"]
        if value is None and not (name in _SWITCHES and _no_value(found[at + 1 :])):
            _, following = next(rest, (0, None))
            if following is None or (following.plain and _FLAG.fullmatch(following.text)):
                refuse(f"{verb}: --{match['name']} needs a value")
            value = following.text
        flags[name] = True if value is None else value
    return placed, flags


def _no_value(rest: list[Word]) -> bool:
    return not rest or rest[0].text.lower() not in {"true", "false"}


def _field_name(verb: str, kind: type[Action], flag: str) -> str:
    name = flag.replace("-", "_").lower()
    name = _FIELDS.get(name, name)
    known = kind.__struct_fields__
    # Flags that name an actor are refused with better words, where all fields are looked at.
    if name not in known and not name.endswith("_id"):
        listed = ", ".join(f"--{_flag_name(one)}" for one in known if one not in POSITIONS[verb])
        refuse(
            f"{verb} has no flag --{cut(flag, _SHOWN)}; it has {listed or 'none'}."
            " Put a text that begins with -- between quotes, or `--` before it."
        )
    return name


def _flag_name(field: str) -> str:
    return _SHORT.get(field, field.replace("_", "-"))


def _check_count(verb: str, kind: type[Action], names: list[str], placed: list[str]) -> None:
    fields = {one.encode_name: one for one in msgspec.structs.fields(kind)}
    needed = [name for name in names if name in fields and fields[name].required]
    if len(needed) <= len(placed) <= len(names):
        return
    expected = ", ".join(needed) or "none"
    count = str(len(needed)) + (f" to {len(names)}" if len(names) > len(needed) else "")
    got = ", ".join(shown(cut(one, _SHOWN)) for one in placed[:8]) or "none"
    hint = " Put a text with blanks between quotes." if len(placed) > len(names) else ""
    refuse(
        f"{verb}: got {len(placed)} arguments ({got}), expected {count} ({expected})."
        f"{hint} Example: {EXAMPLES[verb]}"
    )


def words(line: str) -> Iterator[Word]:
    """The words of `line`. Raises `msgspec.ValidationError` for a quote that is not closed."""
    return _Splitter(line).words()


class _Splitter:
    """One walk over a line."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def words(self) -> Iterator[Word]:
        while self._skip_blanks():
            plain = self._line[self._at] not in "'\"<"
            yield Word(self._word(), plain=plain)

    def _skip_blanks(self) -> bool:
        """Go to the next word. Whether there is one."""
        match = _GAP.match(self._line, self._at)
        self._at = match.end() if match else self._at
        return self._at < len(self._line)

    def _word(self) -> str:
        text: list[str] = []
        while self._at < len(self._line) and (letter := self._line[self._at]) not in _BLANKS:
            self._at += 1
            if letter == "'":
                text.append(self._until_quote())
            elif letter == '"':
                text.append(self._in_double_quotes())
            elif letter == "\\":
                text.append(self._escaped())
            elif letter == "<" and (match := _HERE.match(self._line, self._at - 1)):
                text.append(self._document(match))
            else:
                text.append(letter)
        return "".join(text)

    def _until_quote(self) -> str:
        start = self._at
        end = self._line.find("'", start)
        if end < 0:
            self._unclosed(start)
        self._at = end + 1
        return self._line[start:end]

    def _in_double_quotes(self) -> str:
        start = self._at
        match = _CAT.match(self._line, start)
        document = self._cat(match.end()) if match else None
        if document is not None:
            return document
        text: list[str] = []
        while (letter := self._line[self._at : self._at + 1]) != '"':
            if not letter:
                self._unclosed(start)
            following = self._line[self._at + 1 : self._at + 2]
            escaped = letter == "\\" and following in _ESCAPED
            text.append(following if escaped else letter)
            self._at += 2 if escaped else 1
        self._at += 1
        return "".join(text)

    def _cat(self, at: int) -> str | None:
        """The text of `$(cat <<END … END)"`; None if it is not whole."""
        match = _HERE.match(self._line, at)
        found = _body(self._line, match) if match else None
        if found is None or not (closing := _AFTER_CAT.match(self._line, found[1])):
            return None
        self._at = closing.end()
        return found[0]

    def _escaped(self) -> str:
        if self._at >= len(self._line):
            refuse("command: the line ends with a backslash that stands for nothing")
        letter = self._line[self._at]
        self._at += 1
        return "" if letter == "\n" else letter

    def _document(self, match: re.Match[str]) -> str:
        """The body of a here-document, which stands behind the rest of its line."""
        found = _body(self._line, match)
        if found is None:
            refuse(f"command: no line holds only {match['end']}, which ends the here-document")
        body, end = found
        rest, _, _ = self._line[match.end() :].partition("\n")
        self._line = f"{self._line[: match.end()]}{rest}{self._line[end:]}"
        self._at = match.end()
        return body

    def _unclosed(self, start: int) -> NoReturn:
        refuse(
            f"command: the quote before {shown(cut(self._line[start:], _SHOWN))} is not closed. A"
            " text with quotes in it can stand in a here-document: <<'EOF', a line's end, the text,"
            " and EOF on a line of its own."
        )


def _body(line: str, match: re.Match[str]) -> tuple[str, int] | None:
    """The text of a here-document and where the line that ends it ends."""
    begin = line.find("\n", match.end()) + 1
    end = re.compile(rf"^[ \t]*{re.escape(match['end'])}[ \t\r]*$", re.MULTILINE)
    if not begin or not (found := end.search(line, begin)):
        return None
    return line[begin : max(begin, found.start() - 1)], found.end()
