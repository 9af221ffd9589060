"""`roost completion SHELL`."""

from collections.abc import Callable
from typing import Any, Final

from roost.cli.completion.bash import bash_script
from roost.cli.completion.fish import fish_script
from roost.cli.completion.words import Node, commands
from roost.cli.completion.zsh import zsh_script

_SCRIPTS: Final[dict[str, Callable[[tuple[Node, ...]], str]]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}


def execute(given: dict[str, Any]) -> int:
    """Print the script."""
    print(_SCRIPTS[given["shell"]](commands()), end="")
    return 0
