"""Runs the hooks of one project: finds those that apply, asks each, puts the answers together.

Nothing is looked for before the first question, and a project without hooks is asked for them once.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from roost.config.hooks import HookConfig, HookPoint, Matcher
from roost.config.loaded import Loaded, PluginFile
from roost.config.paths import Paths
from roost.config.sources import PLUGINS_FOLDER
from roost.core.errors import described
from roost.core.secrets import Secrets
from roost.hooks.matcher import TASK_WORKERS, applies
from roost.hooks.models import (
    POST_STOP_LIMIT,
    PRE_STOP_LIMIT,
    Answer,
    Hook,
    HookFailedError,
    HookInput,
    HookRaisedError,
    HookReport,
    HookRun,
    Mode,
    PostStop,
    PreStop,
    SessionPost,
    SessionPre,
    StepPost,
    StepPre,
)

logger = logging.getLogger(__name__)


class HookPlace(Struct, frozen=True, kw_only=True):
    """Whose hooks are run, and with what."""

    directory: Path
    """Where commands run."""
    data: Path
    """Roost's folder for data, where journals are."""
    user_plugins: Path
    environment: Mapping[str, str]
    """What commands see, without what `secrets` names."""
    commands: Mapping[str, HookConfig] = {}
    plugins: tuple[PluginFile, ...] = ()
    """Of the repository, trusted."""
    secrets: frozenset[str] = frozenset()
    """Names of variables, or patterns."""
    hidden: Secrets | None = None
    """What the output of commands never shows."""
    memory_writable: bool = True


def hook_place(
    loaded: Loaded,
    paths: Paths,
    directory: Path,
    environment: Mapping[str, str],
    *,
    secrets: frozenset[str] = frozenset(),
    hidden: Secrets | None = None,
) -> HookPlace:
    """The hooks that a configuration asks for; those of a repository only if it is trusted."""
    return HookPlace(
        directory=directory,
        data=paths.data,
        user_plugins=paths.config / PLUGINS_FOLDER,
        environment=environment,
        commands=loaded.config.hook,
        plugins=loaded.plugins,
        secrets=secrets,
        hidden=hidden,
        memory_writable=not loaded.config.memory.disable_write,
    )


class _Bound(Struct, frozen=True):
    """A hook that is ready to be asked."""

    name: str
    on: HookPoint
    matcher: Matcher | None
    ask: Callable[[HookInput], Awaitable[Answer]]
    """Bounded in time. Raises HookFailedError, and anything if what a plugin gives back is odd."""


class Hooks:
    """The hooks of one project. Must be closed.

    Each question runs every hook that applies, one after another in a fixed order (built in, the
    user's plugins, the repository's, installed ones, then commands by their order in the
    configuration), and returns what they said. It raises nothing because of a hook: one that
    fails is told in the report, and does not stand in the way.
    """

    def __init__(self, place: HookPlace) -> None:
        self._place = place
        self._table: tuple[_Bound, ...] | None = None
        self._loading = asyncio.Lock()
        self._untold: tuple[str, ...] = ()
        self._closing: list[Callable[[], Awaitable[None]]] = []

    async def close(self) -> None:
        """Let helper processes go. Questions that are still open must be cancelled before."""
        while self._closing:
            await self._closing.pop()()

    async def wants(self, on: HookPoint, agent: str, mode: Mode) -> bool:
        """Whether any hook applies, so that what is costly to find out need not be."""
        return bool(await self._applying(on, agent, mode))

    async def pre_stop(self, given: PreStop) -> HookReport:
        """Ask before a turn ends; `reason` of the report sends the actor on."""
        held = given.iteration >= PRE_STOP_LIMIT
        return await self._asked("actor.pre_stop", given, held=held)

    async def post_stop(self, given: PostStop) -> HookReport:
        """Ask after the outcome was delivered, whatever it is; `reason` sends the actor on."""
        held = given.iteration >= POST_STOP_LIMIT or given.outcome != "success"
        return await self._asked("actor.post_stop", given, held=held)

    async def session_pre(self, given: SessionPre) -> HookReport:
        """Ask before a turn begins; `refusal` of the report keeps it from beginning."""
        return await self._asked("session.pre", given)

    async def session_post(self, given: SessionPost) -> HookReport:
        """Tell that a turn is over. Whoever ran the turn does it, at most once."""
        return await self._asked("session.post", given)

    async def step_pre(self, given: StepPre) -> HookReport:
        """Ask before the model is called; `refusal` of the report ends the turn."""
        return await self._asked("step.pre", given)

    async def step_post(self, given: StepPost) -> HookReport:
        """Tell of a step that was taken."""
        return await self._asked("step.post", given)

    async def _asked(self, on: HookPoint, given: HookInput, *, held: bool = False) -> HookReport:
        hooks = await self._applying(on, given.agent, given.mode)
        told_of = msgspec.structs.replace(given, directory=str(self._place.directory))
        runs = [await _run(hook, told_of) for hook in hooks]
        told, self._untold = self._untold, ()
        warnings = [f"The hook {one.name!r} ({on}) {one.error}" for one in runs if one.error]
        return HookReport(on=on, runs=tuple(runs), warnings=(*told, *warnings), held=held)

    async def _applying(self, on: HookPoint, agent: str, mode: Mode) -> list[_Bound]:
        if self._table is None:
            async with self._loading:
                if self._table is None:
                    self._table = await self._loaded()
        return [
            one for one in self._table if one.on == on and applies(one.matcher, on, agent, mode)
        ]

    async def _loaded(self) -> tuple[_Bound, ...]:
        return (self._checker(), *await self._from_plugins(), *self._from_commands())

    def _checker(self) -> _Bound:
        place = self._place

        def check(given: PostStop) -> Answer:
            # Imported here, as is all that only a project with such hooks needs.
            from roost.hooks.progress import ProgressChecker

            return ProgressChecker(place.data, writable=place.memory_writable).check(given)

        return _bound("progress checker", Hook(on="actor.post_stop", run=check), TASK_WORKERS)

    async def _from_plugins(self) -> list[_Bound]:
        from roost.hooks.plugins import installed_plugins, load_plugins, plugin_of, user_plugins

        own, unread = user_plugins(self._place.user_plugins)
        found = [*own, *map(plugin_of, self._place.plugins), *installed_plugins()]
        loaded = await load_plugins(found)
        self._untold = (*unread, *loaded.warnings)
        return [_bound(name, hook, hook.matcher) for name, hook in loaded.hooks]

    def _from_commands(self) -> list[_Bound]:
        place = self._place
        if not place.commands:
            return []
        from roost.hooks.commands import Commands

        commands = Commands(
            place.directory, place.environment, secrets=place.secrets, hidden=place.hidden
        )
        self._closing.append(commands.close)

        def asking(hook: HookConfig) -> Callable[[HookInput], Awaitable[Answer]]:
            return lambda given: commands.run(hook, given)

        return [
            _Bound(name, hook.on, hook.matcher, asking(hook))
            for name, hook in place.commands.items()
        ]


def _bound(name: str, hook: Hook, matcher: Matcher | None) -> _Bound:
    from roost.hooks.answers import checked
    from roost.hooks.threads import BoundedCall

    call = BoundedCall(hook.run, name)

    async def ask(given: HookInput) -> Answer:
        return checked(hook.on, await call(given, seconds=hook.timeout))

    return _Bound(name, hook.on, matcher, ask)


async def _run(hook: _Bound, given: HookInput) -> HookRun:
    """Ask one hook, and note what became of it."""
    started = time.monotonic()
    try:
        answer, error = await hook.ask(given), None
    except HookRaisedError as failure:
        answer, error = None, f"failed ({failure})"
        logger.exception("the hook %s failed", hook.name)
    except HookFailedError as failure:
        answer, error = None, str(failure)
        logger.warning("the hook %s failed: %s", hook.name, error)
    except Exception as failure:
        answer, error = None, f"failed ({described(failure)})"
        logger.exception("the hook %s failed", hook.name)
    return HookRun(hook.name, time.monotonic() - started, answer, error)
