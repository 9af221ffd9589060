"""Names in the configuration's permissions that fit nothing, so that their rules never count."""

from typing import Final

from roost.config.loaded import Loaded
from roost.config.validate import near
from roost.permissions.layers import DEFAULTS
from roost.tools.registry import builtin_tools

_OF_OPENCODE: Final = ("external_directory", "doom_loop", "todowrite", "todoread", "multiedit")
"""Names that files made for OpenCode hold for good reason."""


def mistyped(loaded: Loaded) -> list[str]:
    """One line for each name that looks like a mistyped one.

    Others may be tools of servers that are not running now, so they are taken as they are.
    """
    tools = builtin_tools().values()
    known = {tool.name for tool in tools} | {tool.permission for tool in tools}
    known |= {rule.permission for rule in DEFAULTS.rules} | set(_OF_OPENCODE) | {"*"}
    return [
        f"{layer.source}: no tool is called {name}; did you mean {meant}?"
        for layer in loaded.permissions
        for name in (
            *(layer.permission if isinstance(layer.permission, dict) else {}),
            *layer.tools,
        )
        if name not in known and "*" not in name and (meant := near(name, known))
    ]
