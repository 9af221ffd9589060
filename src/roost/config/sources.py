"""Finds and reads the configuration files of the user and of the repository."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from roost.config.loaded import LayerKind, PluginFile, SkillFile
from roost.config.paths import Paths
from roost.config.skill_files import skills_of_repository
from roost.core.errors import ConfigError

FILE_VARIABLE: Final = "ROOST_CONFIG"
CONTENT_VARIABLE: Final = "ROOST_CONFIG_CONTENT"
NO_PROJECT_VARIABLE: Final = "ROOST_DISABLE_PROJECT_CONFIG"

_OWN: Final = ("roost.json", "roost.jsonc")
_FOREIGN: Final = ("opencode.json", "opencode.jsonc")
PROJECT_FILES: Final = (*_OWN, *_FOREIGN)
PROJECT_FOLDERS: Final = (".roost", ".opencode")
"""What configures Roost in a repository; of two folders beside each other the first counts."""
_PAGES: Final[dict[str, Literal["agent", "command"]]] = {
    "agent": "agent",
    "agents": "agent",
    "command": "command",
    "commands": "command",
}
_UNTRACKED: Final = {"plans", ".git", "__pycache__"}
"""Folders of `.roost/` that hold no configuration: what an agent plans there asks for no trust."""
KEYS_FILE: Final = "keys.json"
"""In the user's folder: settings that hold nothing but the keys that clients were given."""
PLUGINS_FOLDER: Final = "plugins"
"""Beside the configuration: Python files with hooks."""
_MAX_FILE: Final = 4_000_000
_MAX_FILES: Final = 2_000
_MAX_TOTAL: Final = 32_000_000


class Source(Struct, frozen=True):
    """One configuration file as it was read, once: what is checked is what is used."""

    path: Path | None
    """None for the inline text."""
    name: str
    kind: LayerKind
    data: bytes
    form: Literal["settings", "agent", "command"]
    key: str = ""
    """The name of the agent or command that the file is."""
    foreign: bool = False
    """Made for OpenCode: keys that Roost does not know are left out, not refused."""


class ProjectSources(Struct, frozen=True):
    """Everything in a repository that configures Roost."""

    root: Path
    sources: tuple[Source, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    """Relative path and bytes of all that trust is about; more than `sources`."""
    plugins: tuple[PluginFile, ...] = ()
    """Those of `files` that hold hooks."""
    skills: tuple[SkillFile, ...] = ()
    """Those of `files` that are skills, and what cannot be read of such."""
    problem: str = ""


def read_file(path: Path) -> bytes:
    """The bytes of a regular file of at most 4 MB.

    Raises ConfigError for anything else: a pipe must not hang the start.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ConfigError(
                    f"{path}: is not a regular file", hint="Remove it, or put a file in its place."
                )
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror}", hint="Make it readable or remove it."
        ) from error
    if len(data) > _MAX_FILE:
        raise ConfigError(f"{path}: is larger than {_MAX_FILE:,} bytes", hint="Make it smaller.")
    return data


def user_sources(environ: Mapping[str, str], paths: Paths) -> tuple[list[Source], list[Source]]:
    """The user's own sources: those below the repository's in precedence, and those above.

    Raises ConfigError for a file that cannot be read, and when `ROOST_CONFIG` names none.
    """
    folder = paths.config
    lowest = (folder / KEYS_FILE, folder / "config.json")
    low = [_settings(path, "global") for path in lowest if _there(path)]
    low += _folder_settings(folder, "global", _OWN, _FOREIGN)
    low += _pages(folder, "global", foreign=False)
    if named := environ.get(FILE_VARIABLE):
        low.append(_settings(Path(named).expanduser(), "file"))
    high: list[Source] = []
    if content := environ.get(CONTENT_VARIABLE):
        data = content.encode("utf-8", "surrogateescape")
        high.append(Source(None, CONTENT_VARIABLE, "inline", data, "settings"))
    return low, high


def project_sources(
    directory: Path, home: Path, paths: Paths, *, others: tuple[str, ...] = ()
) -> ProjectSources:
    """The repository's sources around `directory`, farthest first, `.roost/` folders last.

    `others` are the programs whose skills count, too. A file that cannot be read is told in
    `problem`, so that a foreign repository cannot keep Roost from starting.
    """
    folders = project_folders(directory, home)
    root = folders[0]
    dotted = [dot for folder in folders if (dot := _dot_folder(folder, paths)) is not None]
    try:
        sources = [s for f in folders for s in _folder_settings(f, "project", _OWN, _FOREIGN)]
        for dot in dotted:
            foreign = dot.name == ".opencode"
            own = _FOREIGN if foreign else _OWN
            sources += _folder_settings(dot, "project", own, ())
            sources += _pages(dot, "project", foreign=foreign)
        files = {s.name: s.data for s in sources}
        for dot in dotted:
            if dot.name == ".roost":
                _add_rest(dot, files)
    except ConfigError as error:
        return ProjectSources(root, problem=error.message)
    skills = [one for folder in folders for one in _skills(folder, home, others, dotted)]
    skills = [_as_checked(one, files) for one in skills]
    relative = tuple((os.path.relpath(name, root), data) for name, data in sorted(files.items()))
    plugins = tuple(one for dot in dotted for one in _plugins(dot, files))
    return ProjectSources(root, tuple(sources), relative, plugins, tuple(skills))


def _skills(
    folder: Path, home: Path, others: tuple[str, ...], dotted: list[Path]
) -> Iterator[SkillFile]:
    own = folder / ".roost" in dotted
    return skills_of_repository(folder, others, own=own, shared=folder != home)


def _as_checked(skill: SkillFile, files: dict[str, bytes]) -> SkillFile:
    """`skill` as trust is about it: with what was read of it first."""
    if skill.problem:
        return skill
    data = files.setdefault(skill.path, skill.data)
    return SkillFile(skill.path, data, skill.owner)


def project_folders(directory: Path, home: Path) -> list[Path]:
    """From the git root down to `directory`; without git, from below `home`; else just it."""
    chain = [directory, *directory.parents]
    for index, folder in enumerate(chain):
        if (folder / ".git").exists():
            return chain[: index + 1][::-1]
    if home in directory.parents:
        return chain[: chain.index(home)][::-1]
    return [directory]


def _dot_folder(folder: Path, paths: Paths) -> Path | None:
    for name in PROJECT_FOLDERS:
        dot = folder / name
        if dot.is_dir() and not any(dot == own or dot in own.parents for own in paths.all):
            return dot
    return None


def _there(path: Path) -> bool:
    return os.path.lexists(path)


def _settings(path: Path, kind: LayerKind, *, foreign: bool = False) -> Source:
    return Source(path, str(path), kind, read_file(path), "settings", foreign=foreign)


def _folder_settings(
    folder: Path, kind: LayerKind, own: tuple[str, ...], other: tuple[str, ...]
) -> list[Source]:
    """The files of Roost in `folder`, else those of OpenCode."""
    for names in (own, other):
        found = [folder / name for name in names if _there(folder / name)]
        if found:
            return [_settings(p, kind, foreign=p.name in _FOREIGN) for p in found]
    return []


def _pages(folder: Path, kind: LayerKind, *, foreign: bool) -> list[Source]:
    """Agents and commands that are Markdown files; their relative path is their name."""
    found: list[Source] = []
    for name, form in _PAGES.items():
        base = folder / name
        for path in sorted(_walk(base)) if base.is_dir() else ():
            if path.suffix == ".md":
                key = path.relative_to(base).with_suffix("").as_posix()
                data = read_file(path)
                found.append(Source(path, str(path), kind, data, form, key, foreign))
    return found


def _plugins(folder: Path, files: dict[str, bytes]) -> list[PluginFile]:
    """The plugins in a `.roost/` folder, in the order of their names."""
    if folder.name != ".roost":
        return []
    base = folder / PLUGINS_FOLDER
    paths = (Path(name) for name in sorted(files))
    found = (path for path in paths if path.parent == base and is_plugin(path.name))
    return [PluginFile(str(path), files[str(path)]) for path in found]


def is_plugin(name: str) -> bool:
    """Whether a file of a folder of plugins is one: Python, and neither private nor hidden."""
    return name.endswith(".py") and not name.startswith(("_", "."))


def _add_rest(folder: Path, files: dict[str, bytes]) -> None:
    """Add every other file below `folder`; what was read already must not be read anew."""
    total = 0
    for path in _walk(folder):
        if (data := files.get(str(path))) is None:
            data = files[str(path)] = read_file(path)
        total += len(data)
        if total > _MAX_TOTAL:
            raise ConfigError(f"{folder}: holds more than {_MAX_TOTAL:,} bytes")


def _walk(folder: Path) -> Iterator[Path]:
    """All files below `folder`, through links too, each folder once.

    Raises ConfigError for a folder that cannot be listed or holds too many files.
    """
    seen: set[tuple[int, int]] = set()
    waiting, count = [folder], 0
    while waiting:
        here = waiting.pop()
        for entry in _entries(here, seen):
            if entry.is_dir():
                if entry.name not in _UNTRACKED:
                    waiting.append(Path(entry.path))
                continue
            count += 1
            if count > _MAX_FILES:
                raise ConfigError(f"{folder}: holds more than {_MAX_FILES:,} files")
            yield Path(entry.path)


def _entries(folder: Path, seen: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
    try:
        found = folder.stat()
        if (found.st_dev, found.st_ino) in seen:
            return []
        seen.add((found.st_dev, found.st_ino))
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise ConfigError(
            f"{folder}: cannot be listed: {error.strerror}", hint="Make it readable or remove it."
        ) from error
