"""What is said when something is asked for by a name that nothing has."""

from collections.abc import Iterable

from roost.cli.parser import near_match
from roost.core.errors import NotFoundError
from roost.core.text import echo


def not_there(kind: str, name: str, known: Iterable[str]) -> NotFoundError:
    """The error for it, with the nearest of those there are and the list of them."""
    names = list(known)
    guess = near_match(name, names)
    return NotFoundError(
        f"there is no {kind} {echo(name)}", hint=f"{guess}There are: {', '.join(names)}."
    )
