"""What of a repository's configuration takes effect before the user trusts it.

Kept is what is as harmless as the text of the repository itself, or what only makes Roost more
careful: instruction files inside the repository, `ask` and `deny`, tools switched off, sharing
switched off, providers switched off, paths that the watcher leaves out, and commands that are
nothing but a prompt. All else could run code, send code or keys somewhere, or cost money.
"""

import re
from collections.abc import Callable
from typing import Any, Final, cast

from roost.config.loaded import Withheld
from roost.config.substitute import has_reference

_REASONS: Final = {
    "agent": "an agent's prompt, model and tools steer what is done and allowed",
    "provider": "it decides where your code and keys are sent",
    "mcp": "it starts programs or connects to servers",
    "plugin": "it runs code",
    "hook": "it runs programs",
    "formatter": "it runs programs",
    "lsp": "it runs programs",
    "model": "it decides where your code is sent and what that costs",
    "small_model": "it decides where your code is sent and what that costs",
    "model_groups": "it decides where your code is sent and what that costs",
    "server": "it opens this machine to others",
    "skills": "skills may bring scripts from elsewhere",
    "snapshot": "it switches undo off",
    "share": "it publishes the conversation",
    "limits": "it decides what a turn may cost",
    "telemetry": "it sends numbers about your work elsewhere",
    "goal": "it decides where your code is sent and what that costs",
    "max_mode": "it decides where your code is sent and what that costs",
}
_OTHER: Final = "it changes how Roost works"
_REFERENCE: Final = "it reads the environment or a file"
_OUTSIDE: Final = re.compile(r"^(/|~|[A-Za-z][A-Za-z0-9+.-]*:)|(^|/)\.\.(/|$)|\\")
_REACHING: Final = re.compile(r"!`|@\s*(/|~|\$|\S*\.\.)")
_STRICTER: Final = {"ask", "deny"}


class Sieve:
    """Parts the settings of one untrusted file into what is kept and what is withheld."""

    def __init__(self, source: str, taken_commands: frozenset[str]) -> None:
        self.source = source
        self.taken_commands = taken_commands
        """Commands of the user, which a repository must not replace."""
        self.withheld: list[Withheld] = []

    def kept(self, value: dict[str, Any]) -> dict[str, Any]:
        """The part of `value` that counts at once; the rest is in `withheld`."""
        keepers: dict[str, Callable[[Any, str], Any]] = {
            "$schema": lambda value, _: value,
            "instructions": self._instructions,
            "permission": self._permission,
            "tools": self._switched_off,
            "agent": self._agents,
            "command": self._commands,
            "share": self._unless(lambda value: value == "disabled"),
            "formatter": self._unless(lambda value: value is False),
            "lsp": self._unless(lambda value: value is False),
            "disabled_providers": lambda value, _: value,
            "watcher": lambda value, _: value,
        }
        found: dict[str, Any] = {}
        for key, inner in value.items():
            if key in {"keybinds", "theme", "tui"}:
                continue
            keep = keepers.get(key, self._nothing)
            if (part := keep(inner, key)) not in (None, {}, []):
                found[key] = part
        return found

    def _drop(self, key: str, reason: str) -> None:
        self.withheld.append(Withheld(self.source, key, reason))

    def _nothing(self, value: Any, key: str) -> None:
        if value not in (None, {}, []):
            self._drop(key, _REFERENCE if has_reference(value) else _REASONS.get(key, _OTHER))

    def _unless(self, harmless: Callable[[Any], bool]) -> Callable[[Any, str], Any]:
        def keep(value: Any, key: str) -> Any:
            return value if harmless(value) else self._nothing(value, key)

        return keep

    def _instructions(self, value: list[str], key: str) -> list[str]:
        kept = [one for one in value if not _OUTSIDE.search(one) and not has_reference(one)]
        for one in value:
            if one not in kept:
                self._drop(f"{key}: {one}", "it is outside the repository")
        return kept

    def _permission(self, value: Any, key: str) -> Any:
        """The map without what allows, in the same order."""
        if isinstance(value, str):
            if value in _STRICTER:
                return value
            self._drop(key, "it loosens permissions")
            return None
        kept: dict[str, Any] = {}
        for name, inner in cast("dict[str, Any]", value or {}).items():
            if (part := self._permission(inner, f"{key}.{name}")) not in (None, {}):
                kept[name] = part
        return kept

    def _switched_off(self, value: dict[str, bool], key: str) -> dict[str, bool]:
        for name, on in value.items():
            if on:
                self._drop(f"{key}.{name}", "it loosens permissions")
        return {name: on for name, on in value.items() if not on}

    def _agents(self, value: dict[str, dict[str, Any]], key: str) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, agent in value.items():
            permission = self._permission(agent.get("permission"), f"{key}.{name}.permission")
            tools = self._switched_off(agent.get("tools", {}), f"{key}.{name}.tools")
            if set(agent) - {"permission", "tools"}:
                self._drop(f"{key}.{name}", _REASONS["agent"])
            parts = {"permission": permission, "tools": tools}
            kept[name] = {part: inner for part, inner in parts.items() if inner}
        return {name: agent for name, agent in kept.items() if agent}

    def _commands(self, value: dict[str, dict[str, Any]], key: str) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, command in value.items():
            at = f"{key}.{name}"
            if _REACHING.search(command["template"]) or has_reference(command["template"]):
                self._drop(at, "it runs shell commands or reads files outside the repository")
            elif name in self.taken_commands:
                self._drop(at, "it would replace a command of yours")
            else:
                kept[name] = self._prompt_only(command, at)
        return kept

    def _prompt_only(self, command: dict[str, Any], at: str) -> dict[str, Any]:
        for part in ("agent", "model", "variant", "subtask"):
            if command.get(part) is not None:
                self._drop(f"{at}.{part}", "it decides what is allowed or what it costs")
        return {part: command[part] for part in ("template", "description") if command.get(part)}
