"""Finding and loading hooks that are Python: plugin files, and installed packages.

A plugin is a module with a function `hooks()` that returns its hooks. Files are compiled from the
bytes that were read and never from a `.pyc`, so that what the user trusted is what is run.
"""

import asyncio
import logging
import os
import site
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from roost.config.hooks import HOOK_POINTS, Matcher
from roost.config.loaded import PluginFile
from roost.config.sources import is_plugin, read_file
from roost.core.errors import ConfigError, described
from roost.hooks.models import Hook, HookFailedError
from roost.hooks.threads import BoundedCall

LOAD_SECONDS: Final = 10.0
"""What loading one plugin may take."""
MOST_HOOKS: Final = 100
"""Of one plugin."""
ENTRY_POINTS: Final = "roost.plugins"
"""The group in which an installed package names a module of hooks."""
_UNREADABLE: Final = (AttributeError, KeyError, OSError, TypeError, ValueError)
"""What the standard library raises where the description of a package is not as it should be."""
_MOST_BYTES: Final = 1_000_000

logger = logging.getLogger(__name__)


class Plugin(Struct, frozen=True):
    """Something that can be loaded."""

    name: str
    """Of the file without its ending, or of the entry point."""
    place: str
    """The path of the file, or the package: for people."""
    load: Callable[[], object]
    """Gives the module, or its function `hooks`."""


class LoadedPlugins(Struct, frozen=True):
    """The hooks of all plugins, each with the name it is told by, and what could not be loaded."""

    hooks: tuple[tuple[str, Hook], ...] = ()
    warnings: tuple[str, ...] = ()


async def load_plugins(plugins: Iterable[Plugin]) -> LoadedPlugins:
    """Load all `plugins`; a faulty one is told in a warning and left out."""
    hooks: list[tuple[str, Hook]] = []
    warnings: list[str] = []
    for plugin in plugins:
        try:
            found = await BoundedCall(_hooks_of, plugin.name)(plugin, seconds=LOAD_SECONDS)
            hooks += [(f"{plugin.name}: {_name(hook)}", hook) for hook in found]
        except asyncio.CancelledError:
            raise
        except Exception as error:
            logger.exception("the plugin %s cannot be used", plugin.place)
            words = str(error) if isinstance(error, HookFailedError) else described(error)
            warnings.append(f"The plugin {plugin.place} cannot be used: {words}")
    return LoadedPlugins(tuple(hooks), tuple(warnings))


def user_plugins(folder: Path) -> tuple[list[Plugin], list[str]]:
    """The user's own plugin files, and warnings about those that cannot be read."""
    try:
        paths = sorted(path for path in folder.iterdir() if is_plugin(path.name))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        return [], [] if missing else [
            f"The plugins in {folder} cannot be listed: {error.strerror}"
        ]
    found: list[Plugin] = []
    warnings: list[str] = []
    for path in paths:
        try:
            found.append(plugin_of(PluginFile(str(path), read_file(path))))
        except ConfigError as error:
            warnings.append(f"The plugin {error.message}. {error.hint}")
    return found, warnings


def plugin_of(file: PluginFile) -> Plugin:
    """The plugin that a file is."""
    return Plugin(Path(file.path).stem, file.path, lambda: _loaded(file))


def _loaded(file: PluginFile) -> object:
    # Imported here: the machinery of imports is slow to import, and most projects have no plugin.
    from roost.hooks.source import load_source

    return load_source(file)


def installed_plugins(folders: Iterable[str] | None = None) -> list[Plugin]:
    """What installed packages name in the group `roost.plugins`.

    Only the environment's own folders of packages are looked at (`folders`, in tests): the folder
    that Roost works in can be on the module path too, and is not trusted. Looking through them
    this way takes a millisecond where the standard library's way takes a hundred.
    """
    wanted = f"[{ENTRY_POINTS}]".encode()
    marked: list[Path] = []
    for folder in _package_folders() if folders is None else folders:
        marked += [path for path in _described(folder) if wanted in _start_of(path)]
    return [plugin for path in marked for plugin in _entry_points(path.parent)]


def _package_folders() -> list[str]:
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [folder for folder in dict.fromkeys(folders) if folder in sys.path]


def _described(folder: str) -> list[Path]:
    """The descriptions of entry points in a folder of packages."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".dist-info"))
    except OSError:
        return []
    return [Path(folder, name, "entry_points.txt") for name in names]


def _start_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def _entry_points(folder: Path) -> list[Plugin]:
    # Imported here: a tenth of a second, and hardly anybody has such a package.
    from importlib.metadata import Distribution

    found = Distribution.at(folder)
    try:
        package = found.metadata["Name"]
        points = found.entry_points.select(group=ENTRY_POINTS)
    except _UNREADABLE as error:
        return [_unusable(folder, f"its description cannot be read ({described(error)})")]
    return [Plugin(one.name, f"{one.name} of {package}", one.load) for one in points]


def _unusable(folder: Path, why: str) -> Plugin:
    def load() -> object:
        raise HookFailedError(why)

    return Plugin(folder.stem, str(folder), load)


def _hooks_of(plugin: Plugin) -> list[Hook]:
    """Runs in a thread of its own: what it calls is foreign."""
    source: Any = plugin.load()
    make: object = getattr(source, "hooks", source)
    if not callable(make):
        raise HookFailedError("it has no function hooks()")
    made: object = make()
    if isinstance(made, Hook):
        return [_sound(made)]
    if not isinstance(made, Iterable):
        raise HookFailedError(f"hooks() returns a {type(made).__name__}, not a list of Hook")
    found = [_sound(one) for one in islice(cast("Iterable[object]", made), MOST_HOOKS + 1)]
    if len(found) > MOST_HOOKS:
        raise HookFailedError(f"hooks() returns more than {MOST_HOOKS} hooks")
    return found


def _sound(made: object) -> Hook:
    if not isinstance(made, Hook):
        raise HookFailedError(f"hooks() returns a {type(made).__name__} where a Hook is needed")
    given = msgspec.structs.asdict(made)  # annotations bind nobody: look at what was given
    matcher, timeout = given["matcher"], given["timeout"]
    if made.on not in HOOK_POINTS:
        raise HookFailedError(f"{made.on!r} is no hook point; there are {', '.join(HOOK_POINTS)}")
    if not callable(made.run):
        raise HookFailedError(f"the hook at {made.on} cannot be called")
    if matcher is not None and not isinstance(matcher, Matcher):
        raise HookFailedError(f"the matcher of the hook at {made.on} is no Matcher")
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise HookFailedError(f"the hook at {made.on} has a timeout that is no number of seconds")
    return made


def _name(hook: Hook) -> str:
    return str(hook.name or getattr(hook.run, "__name__", hook.on))
