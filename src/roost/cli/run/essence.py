"""What a tool call does, in a few words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct

from roost.core.text import cut

LONGEST: Final = 160
"""Characters of what is shown of one argument."""
OPERATIONS: Final = frozenset({"actor", "session", "task", "team"})
"""Tools that take one action of several."""
_WHO: Final = (
    "subagent_type", "agent", "actor_id", "to_actor_id", "session_id", "request_id", "name", "id",
)  # fmt: skip
"""What names whom an action is about; the first that is given is shown."""
_ABOUT: Final = (
    "description", "content", "title", "task", "question", "text", "purpose", "summary", "reason",
)  # fmt: skip
"""The words of an action."""


class Place(Struct, frozen=True):
    """What paths are shown relative to."""

    directory: str

    def short(self, path: object) -> str:
        """`path` as one would type it in the folder."""
        text = str(path or "")
        if Path(text).is_absolute() and Path(text).is_relative_to(self.directory):
            return str(Path(text).relative_to(self.directory))
        return text


def essence(tool: str, arguments: dict[str, Any], place: Place) -> str:
    """What a call does, in a few words."""
    tell = _TELLERS.get(tool, _anything)
    words = tell(arguments, place)
    if tool == "bash":
        return words
    return f"{tool} {words}".rstrip()


def one_line(text: object, limit: int = LONGEST) -> str:
    """`text` on one line, cut to `limit` characters."""
    return cut(" ".join(str(text or "").split()), limit)


def _command(arguments: dict[str, Any], _: Place) -> str:
    return one_line(arguments.get("command"))


def _path(arguments: dict[str, Any], place: Place) -> str:
    return place.short(arguments.get("filePath") or arguments.get("path"))


def _read(arguments: dict[str, Any], place: Place) -> str:
    path = _path(arguments, place)
    offset, limit = arguments.get("offset"), arguments.get("limit")
    if isinstance(offset, int) and isinstance(limit, int):
        return f"{path}:{max(offset, 1)}-{max(offset, 1) + limit - 1}"
    if isinstance(offset, int):
        return f"{path}:{max(offset, 1)}-"
    return f"{path}:1-{limit}" if isinstance(limit, int) else path


def _pattern(arguments: dict[str, Any], place: Place) -> str:
    where = place.short(arguments.get("path"))
    include = arguments.get("include")
    words = f'"{one_line(arguments.get("pattern"))}"'
    if where and where != ".":
        words += f" in {where}"
    return f"{words} ({include})" if include else words


def _first_of(*names: str) -> Callable[[dict[str, Any], Place], str]:
    def tell(arguments: dict[str, Any], _: Place) -> str:
        return one_line(next((arguments[n] for n in names if arguments.get(n)), ""))

    return tell


def _operation(arguments: dict[str, Any], _: Place) -> str:
    """What is asked of whom: `spawn explore: Find the tests`, `send api: the schema is done`."""
    given = arguments.get("operation", arguments)
    if not isinstance(given, dict):
        return one_line(arguments.get("command") or given)
    asked = cast("dict[str, Any]", given)
    if "action" not in asked:
        return one_line(asked.get("command") or asked.get("description") or asked.get("prompt"))
    who = next((asked[name] for name in _WHO if asked.get(name)), "")
    if asked["action"] == "wait" and not who:
        who = "for mail"
    role = f"as {asked['role']}" if asked.get("role") and asked["action"] != "send" else ""
    about = next((asked[name] for name in _ABOUT if asked.get(name)), "")
    words = " ".join(str(one) for one in (asked["action"], who, role) if one)
    return one_line(f"{words}: {about}" if about else words)


def _looking(arguments: dict[str, Any], _: Place) -> str:
    """What is looked for or written down where: `append project/MEMORY.md § Ports: use 8080`."""
    where = [arguments.get(name) for name in ("action", "file", "message_id", "part_id")]
    words = " ".join(str(one) for one in where if one)
    if heading := arguments.get("heading"):
        words += f" § {heading}"
    if query := arguments.get("query"):
        words += f' "{query}"'
    about = arguments.get("text")
    return one_line(f"{words}: {about}" if about else words)


def _questions(arguments: dict[str, Any], _: Place) -> str:
    asked = arguments.get("questions")
    listed = cast("list[Any]", asked) if isinstance(asked, list) else []
    found = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
    return one_line(" ".join(str(one.get("question", "")) for one in found))


def _todos(arguments: dict[str, Any], _: Place) -> str:
    todos = arguments.get("todos")
    return f"{len(cast('list[Any]', todos))} items" if isinstance(todos, list) else ""


def _anything(arguments: dict[str, Any], place: Place) -> str:
    """`name=value` of the short arguments."""
    shown = [
        f"{name}={one_line(place.short(value), 60)}"
        for name, value in arguments.items()
        if isinstance(value, str | int | float | bool)
    ]
    return one_line(" ".join(shown))


_TELLERS: Final[dict[str, Callable[[dict[str, Any], Place], str]]] = {
    "bash": _command,
    "read": _read,
    "write": _path,
    "edit": _path,
    "list": _path,
    "glob": _pattern,
    "grep": _pattern,
    "webfetch": _first_of("url"),
    "websearch": _first_of("query"),
    "skill": _first_of("name"),
    **dict.fromkeys(OPERATIONS, _operation),
    "memory": _looking,
    "history": _looking,
    "question": _questions,
    "todowrite": _todos,
    "patch": lambda _, __: "",
    "apply_patch": lambda _, __: "",
}
