"""`roost memory`: lists, shows and searches files of memory, and opens them in an editor."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.memory.place import painted, whose
from roost.cli.storage import Home, database_of, run_at_home
from roost.cli.table import age, as_json, table
from roost.cli.terminal import Look, columns_of, look_of
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.core.text import cut, decode, echo, terminal_safe
from roost.memory import search, writer
from roost.memory.layout import MAIN, Layout, Located, Whose
from roost.memory.search import MemoryHit, scopes_of
from roost.memory.sections import sections
from roost.runtime.remembering import index_of


class MemoryOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost memory`."""

    action: Literal["list", "ls", "show", "search", "edit"] | None = None
    file: str | None = None
    words: list[str] = []
    all: bool = False
    session: str | None = None
    dir: str | None = None
    max_count: int = 10
    format: Literal["text", "json"] = "text"


class _Shown(Struct, frozen=True):
    """A file, for programs."""

    name: str
    path: str
    bytes: int
    headings: list[str]
    changed: int


def execute(given: dict[str, Any]) -> int:
    """Do what was asked for; without an action, list. Raises `RoostError`."""
    options = msgspec.convert(given, MemoryOptions)
    return run_at_home(given, lambda home: _act(home, options))


async def _act(home: Home, options: MemoryOptions) -> int:
    with database_of(home) as database:
        mine = await whose(database, options.session, options.dir)
    layout = Layout(home.paths.data)
    match options.action:
        case "show":
            return _show(layout, mine, options)
        case "search":
            return _search(home, layout, mine, options)
        case "edit":
            return _edit(home, layout.locate(options.file or f"project/{MAIN}", mine))
        case _:
            return _list(layout, mine, options)


def _list(layout: Layout, mine: Whose, options: MemoryOptions) -> int:
    reach = "all" if options.all else "own"
    files = [
        _shown(one)
        for scope, owner in scopes_of(layout, mine, reach)
        for one in layout.files(scope, owner, mine)
    ]
    if options.format == "json":
        print(as_json(files))
    elif files:
        now = now_ms()
        rows = [
            [one.name, f"{one.bytes:,}", age(one.changed, now), "; ".join(one.headings)]
            for one in files
        ]
        head = ["FILE", "BYTES", "CHANGED", "SECTIONS"]
        print("\n".join(table([head, *rows], columns_of(sys.stdout))))
    else:
        tell("Nothing is remembered here yet. `roost memory edit` begins project/MEMORY.md.\n")
    return 0


def _shown(file: Located) -> _Shown:
    text = writer.read(file)
    return _Shown(
        name=file.name,
        path=str(file.path),
        bytes=len(text.encode()),
        headings=[one.heading for one in sections(text) if one.level > 1],
        changed=file.path.stat().st_mtime_ns // 1_000_000,
    )


def _show(layout: Layout, mine: Whose, options: MemoryOptions) -> int:
    file = layout.locate(options.file or f"project/{MAIN}", mine)
    text = writer.read(file)
    if not text:
        raise NotFoundError(
            f"{file.name} is not there yet",
            hint="`roost memory` lists the files there are; `roost memory edit` begins one.",
        )
    if options.format == "json":
        print(as_json({"name": file.name, "path": str(file.path), "text": text}))
    else:
        print(terminal_safe(text), end="" if text.endswith("\n") else "\n")
    return 0


def _search(home: Home, layout: Layout, mine: Whose, options: MemoryOptions) -> int:
    words = " ".join(options.words)
    index = index_of(home.paths)
    try:
        reach = "all" if options.all else "own"
        limit = options.max_count
        hits = search.search(index, layout, words, mine, reach=reach, limit=limit)
    finally:
        index.close()
    if options.format == "json":
        print(as_json([_fields(one) for one in hits]))
    elif hits:
        look = look_of(sys.stdout, os.environ)
        print("\n\n".join(_hit(one, look) for one in hits))
    else:
        wider = "" if options.all else " --all looks at all projects and sessions."
        tell(f"Nothing in memory fits {cut(words, 80)!r}.{wider}\n")
    return 0 if hits else 1


def _hit(one: MemoryHit, look: Look) -> str:
    heading = f" § {terminal_safe(one.found.heading)}" if one.found.heading else ""
    name = look.paint(one.file.name, "bold") + look.paint(heading, "cyan")
    when = look.paint(age(one.found.changed, now_ms()), "dim")
    return f"{name}  {when}\n  {painted(one.hit.snippet, look)}"


def _fields(one: MemoryHit) -> dict[str, Any]:
    return {
        "file": one.file.name,
        "path": str(one.file.path),
        "line": one.found.line,
        "heading": one.found.heading,
        "changed": one.found.changed,
        "score": round(one.hit.score, 3),
        "text": one.found.text,
    }


def _edit(home: Home, file: Located) -> int:
    """Open a copy in the editor, so that what actors write meanwhile is not lost."""
    editor = home.environ.get("VISUAL") or home.environ.get("EDITOR")
    if not editor:
        raise UsageError(
            "neither VISUAL nor EDITOR says which editor to use",
            hint=f"Set one of them, or open the file yourself: {file.path}",
        )
    before = writer.read(file)
    with tempfile.TemporaryDirectory(prefix="roost-") as folder:
        copy = Path(folder) / file.path.name
        copy.write_text(before, encoding="utf-8")
        code = _opened(editor, copy)
        new = decode(copy.read_bytes()) if copy.exists() else before
    if code or new == before:
        tell(f"{file.name} is as it was.\n")
        return 1 if code else 0

    def made(now: str) -> str:
        if now != before:
            raise ConflictError(
                f"{file.name} was changed while you edited it; nothing was written",
                hint=f"Edit it again. Your text was:\n{new}",
            )
        return new

    writer.change(file, made)
    tell(f"{file.name} is changed.\n")
    return 0


def _opened(editor: str, path: Path) -> int:
    """The exit code of the editor. Raises `UsageError` for one that cannot be started."""
    try:
        return subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"the editor {echo(editor)} cannot be started: {cause}",
            hint="Set VISUAL or EDITOR to one that can.",
        ) from error
