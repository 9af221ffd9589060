"""What all actors that work in a project share: its shell, and what no tool may show."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from roost.config.paths import Paths
from roost.config.show import is_secret
from roost.core.secrets import Secrets
from roost.hooks.runner import Hooks, hook_place
from roost.llm.known_providers import known_key_variables
from roost.llm.retry import RetryPolicy
from roost.runtime.project import Project
from roost.workspace.environment import OWN_SECRETS
from roost.workspace.shell import Shell

_ORDINARY: Final = frozenset(
    {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "PWD", "TMPDIR", "TERM"}
)
"""Variables that commands need, and that are no secret wherever a configuration names them."""


class Desk:
    """What all actors that work in a project share: its shell, and what no tool may show."""

    def __init__(self, project: Project, environment: Mapping[str, str], paths: Paths) -> None:
        self.project = project
        hidden = _secret_variables(project)
        self.secrets = _secrets(project, hidden, environment)
        self.shell = Shell(environment, secrets=hidden, hidden=self.secrets)
        self.hooks = Hooks(
            hook_place(
                project.loaded,
                paths,
                project.directory,
                environment,
                secrets=hidden,
                hidden=self.secrets,
            )
        )

    async def close(self) -> None:
        """End what was started for the project and still runs."""
        await self.shell.close()
        await self.hooks.close()


def retry_policy(project: Project) -> RetryPolicy:
    """The retry budgets, with the config's own number of tries and first wait."""
    config = project.loaded.config.limits
    changes: dict[str, Any] = {}
    if config.retries is not None:
        changes["tries"] = config.retries
    if config.retry_wait is not None:
        changes |= {"base": config.retry_wait, "first": None}
    policy = RetryPolicy()
    kinds = ("rate_limit", "server", "network", "unreadable")
    budgets = {kind: msgspec.structs.replace(getattr(policy, kind), **changes) for kind in kinds}
    # Of an endpoint that never answered patience is no help, however much of it is configured.
    fewer = changes | {"tries": min(changes.get("tries", 99), policy.unreached.tries)}
    budgets["unreached"] = msgspec.structs.replace(policy.unreached, **fewer)
    return msgspec.structs.replace(policy, **budgets)


def secrets_of(project: Project, environment: Mapping[str, str]) -> Secrets:
    """What nobody may be shown of what a project's tools and files hold."""
    return _secrets(project, _secret_variables(project), environment)


def _secret_variables(project: Project) -> frozenset[str]:
    """Variables that no child process of a tool may see."""
    providers = project.loaded.config.provider.values()
    named = {name for provider in providers for name in provider.env or ()}
    for path, written in project.loaded.references.items():
        if is_secret(path):
            named.update(re.findall(r"\{env:([^}]+)\}", written))
    return known_key_variables() | frozenset(OWN_SECRETS) | (named - _ORDINARY)


def _secrets(
    project: Project, variables: frozenset[str], environment: Mapping[str, str]
) -> Secrets:
    """The keys of the providers, wherever they come from, and the server's password."""
    named = {name: environment[name] for name in variables if name in environment}
    for name, provider in project.loaded.config.provider.items():
        options = provider.settings
        named[f"key of {name}"] = options.api_key or ""
        named |= {
            f"{one} of {name}": options.headers[one] for one in options.headers if is_secret((one,))
        }
    return Secrets(named)
