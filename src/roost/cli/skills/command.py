"""`roost skills [ACTION]`: imports the module of the action and runs it."""

from typing import Any


def execute(given: dict[str, Any]) -> int:
    """Do what was asked for; without an action, list. Raises `RoostError`."""
    if given.pop("action") == "show":
        from roost.cli.skills import showing

        return showing.execute(given)
    from roost.cli.skills import listing

    return listing.execute(given)
