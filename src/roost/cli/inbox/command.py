"""`roost inbox ACTION`: imports the module of the action and runs it."""

import importlib
from collections.abc import Callable
from typing import Any, Final, cast

_MODULES: Final = {
    "list": "listing",
    "ls": "listing",
    "send": "sending",
    "withdraw": "withdrawing",
}


def execute(given: dict[str, Any]) -> int:
    """Do what was asked for; without an action, list. Raises `RoostError`."""
    name = _MODULES[given.pop("action") or "list"]
    module = importlib.import_module(f"roost.cli.inbox.{name}")
    return cast("Callable[[dict[str, Any]], int]", module.execute)(given)
