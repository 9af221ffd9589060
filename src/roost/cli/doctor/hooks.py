"""Checks of hooks: programs that can be started, plugins that can be loaded, names that fit."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from roost.cli.doctor.findings import Finding, fail, ok, warn
from roost.cli.doctor.hook_programs import fault_of
from roost.config.hooks import HookPoint, Matcher
from roost.config.loaded import Loaded
from roost.config.paths import Paths, home_of
from roost.config.sources import PLUGINS_FOLDER, is_plugin, project_folders
from roost.config.validate import near
from roost.context.agents import agents
from roost.core.amounts import counted
from roost.hooks.matcher import BUILT_IN_AGENTS, applies
from roost.hooks.models import Mode
from roost.hooks.plugins import (
    Plugin,
    installed_plugins,
    load_plugins,
    plugin_of,
    user_plugins,
)

_NAME: Final = "hooks"
_MODES: Final[tuple[Mode, ...]] = ("main", "subagent", "peer")
_LOOKALIKES: Final = ("plugin", "hook", "hooks")
"""Folders that nothing looks into, though they are named as if."""
_MISMATCH: Final = "Mend the name, or this hook is never asked because of it."


async def check_hooks(
    loaded: Loaded, paths: Paths, directory: Path, environ: Mapping[str, str]
) -> AsyncIterator[Finding]:
    """What is wrong with the hooks in force in `directory`, or how many there are.

    Plugins are loaded as a turn would load them; no hook is asked.
    """
    found: list[Finding] = []
    commands = loaded.config.hook
    found += _commands(loaded, directory, environ)
    own, unread = user_plugins(paths.config / PLUGINS_FOLDER)
    found += [_told(words) for words in unread]
    plugins = [*own, *map(plugin_of, loaded.plugins), *installed_plugins()]
    count = 0
    known = set(agents(loaded)) | BUILT_IN_AGENTS
    for plugin in plugins:
        made = await load_plugins([plugin])
        found += [_told(words) for words in made.warnings]
        count += len(made.hooks)
        for name, hook in made.hooks:
            found += _mismatches(name, hook.on, hook.matcher, known)
    for name, hook in commands.items():
        found += _mismatches(name, hook.on, hook.matcher, known)
    found += _misplaced(paths, directory, environ)
    for finding in found or [ok(_NAME, _summary(len(commands), plugins, count))]:
        yield finding


def _summary(commands: int, plugins: list[Plugin], hooks: int) -> str:
    parts = [counted(commands, "command")] if commands else []
    if plugins:
        parts.append(f"{counted(len(plugins), 'plugin')} with {counted(hooks, 'hook')}")
    return ", ".join(parts) or "none"


def _told(warning: str) -> Finding:
    """A plugin that cannot be used: `The plugin PATH ... Way out.`"""
    words = warning[0].lower() + warning[1:]
    said, dot, hint = words.partition(". ")
    return fail(_NAME, said, hint if dot else "Mend it, or take it out of the folder.")


def _commands(loaded: Loaded, directory: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    for name, hook in loaded.config.hook.items():
        if (fault := fault_of(hook, directory, environ)) is not None:
            detail = f"the command of {name} ({hook.on}): {fault.what}"
            yield fail(_NAME, detail, fault.mend or f"Mend hook.{name} in {_source(loaded, name)}.")


def _source(loaded: Loaded, name: str) -> str:
    """The file that the hook of that name comes from."""
    return next(
        (source for path, source in loaded.origins.items() if path[:2] == ("hook", name)),
        "the configuration",
    )


def _mismatches(
    name: str, on: HookPoint, matcher: Matcher | None, known: set[str]
) -> Iterator[Finding]:
    """Agents that a matcher names and that there are not."""
    if matcher is None:
        return
    of = f"the matcher of {name}"
    named = matcher.agent if isinstance(matcher.agent, tuple) else ()
    for one in (*named, *matcher.exclude, *(matcher.exclude_only or ())):
        if one not in known:
            meant = near(one, known)
            guess = f"; did you mean {meant}?" if meant else ""
            yield warn(_NAME, f"{of}: there is no agent {one}{guess}", _MISMATCH)
    fits = any(applies(matcher, on, agent, mode) for agent in known for mode in _MODES)
    if isinstance(matcher.agent, str) and not fits:
        yield warn(_NAME, f"{of}: no agent fits it", _MISMATCH)


def _misplaced(paths: Paths, directory: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Files that look like plugins and are not taken for such."""
    dotted = [folder / ".roost" for folder in project_folders(directory, home_of(environ))]
    for place in (paths.config, *dotted):
        for path in _files(place / PLUGINS_FOLDER):
            if not is_plugin(path.name) and not path.name.startswith(("_", ".")):
                detail = f"{path} is no plugin: its name does not end with .py"
                yield warn(_NAME, detail, "Rename it, or put it elsewhere.")
        for folder in (place / name for name in _LOOKALIKES):
            if any(is_plugin(path.name) for path in _files(folder)):
                mend = f"Plugins lie in {place / PLUGINS_FOLDER}."
                yield warn(_NAME, f"nothing looks into {folder}", mend)


def _files(folder: Path) -> Iterable[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.is_dir())
    except OSError:
        return ()
