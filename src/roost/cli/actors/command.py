"""`roost actors [ACTION]`: imports the module of the action and runs it."""

from typing import Any


def execute(given: dict[str, Any]) -> int:
    """Do what was asked for; without an action, list. Raises `RoostError`."""
    if given.pop("action") == "cancel":
        from roost.cli.actors import cancelling

        return cancelling.execute(given)
    from roost.cli.actors import listing

    return listing.execute(given)
