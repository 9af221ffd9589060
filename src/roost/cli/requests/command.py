"""`roost requests [ACTION]`: imports the module of the action and runs it."""

import importlib
from collections.abc import Callable
from typing import Any, Final, cast

_MODULES: Final = {
    "list": "listing",
    "ls": "listing",
    "show": "showing",
    "allow": "permitting",
    "deny": "refusing",
    "answer": "answering",
}


def execute(given: dict[str, Any]) -> int:
    """Do what was asked for; without an action, list. Raises `RoostError`."""
    name = _MODULES[given.pop("action") or "list"]
    module = importlib.import_module(f"roost.cli.requests.{name}")
    return cast("Callable[[dict[str, Any]], int]", module.execute)(given)
