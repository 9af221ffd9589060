"""Inputs, and a project's hooks in a folder of their own."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from roost.config.hooks import HookConfig, HookPoint
from roost.config.loaded import PluginFile
from roost.core.secrets import Secrets
from roost.hooks.models import PostStop, PreStop, SessionPost, SessionPre, StepPost, StepPre
from roost.hooks.runner import HookPlace, Hooks

T = TypeVar("T")
WHO: dict[str, Any] = {"session_id": "ses_1", "actor_id": "worker-1", "agent": "worker"}
STOP: dict[str, Any] = {
    **WHO,
    "mode": "subagent",
    "lifecycle": "ephemeral",
    "task": "Mend the parser",
    "final_text": "Done.",
}


def pre_stop(**changes: Any) -> PreStop:
    return PreStop(**{**STOP, **changes})


def post_stop(**changes: Any) -> PostStop:
    return PostStop(**{**STOP, "outcome": "success", **changes})


def session_pre(**changes: Any) -> SessionPre:
    return SessionPre(**{**WHO, "mode": "main", **changes})


def session_post(**changes: Any) -> SessionPost:
    return SessionPost(**{**WHO, "mode": "main", "outcome": "completed", **changes})


def step_pre(**changes: Any) -> StepPre:
    return StepPre(**{**WHO, "mode": "main", "step": 1, **changes})


def step_post(**changes: Any) -> StepPost:
    given = {"mode": "main", "step": 1, "message_id": "msg_1", "outcome": "completed"}
    return StepPost(**{**WHO, **given, **changes})


def place(folder: Path, **changes: Any) -> HookPlace:
    """`commands` by name, each a HookConfig; `plugin` the text of one plugin of the repository."""
    if (text := changes.pop("plugin", None)) is not None:
        changes["plugins"] = (PluginFile(str(folder / "mine.py"), text.encode()),)
    known: dict[str, Any] = {
        "directory": folder,
        "data": folder / "data",
        "user_plugins": folder / "config" / "plugins",
        "environment": dict(os.environ),
        "hidden": Secrets({}),
    }
    return HookPlace(**{**known, **changes})


def command(on: HookPoint, text: str | tuple[str, ...], **changes: Any) -> HookConfig:
    return HookConfig(on=on, command=text, **changes)


def asked(where: HookPlace, work: Callable[[Hooks], Awaitable[T]]) -> T:
    """What `work` gives with the hooks of a project, which are closed afterwards."""

    async def scenario() -> T:
        hooks = Hooks(where)
        try:
            return await work(hooks)
        finally:
            await hooks.close()

    return asyncio.run(scenario())
