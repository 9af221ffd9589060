"""The actors at work below one whose context begins anew: it must neither forget them nor start
what they do a second time.

A turn that a person begins while children are at work has the section as a row of its own inbox,
behind the prompt. It is stored, once a turn, and not put behind the request: what was sent once
stays where it was, so that each request still begins with the whole of the one before it and the
provider's cache holds; and a turn that is taken over by another process knows them too.
"""

from typing import Final

from roost.actors import family
from roost.actors.view import ActorView, view
from roost.core.text import cut
from roost.db.transaction import Reader
from roost.inbox.models import Address

LINE: Final = 200
"""Characters of a description."""
HEAD: Final = (
    "## Active actors\n"
    "These actors of yours are at work now. A notice comes when the turn of one ends; what one of"
    " them does is not to be begun a second time."
)


def active_actors(db: Reader, address: Address) -> str:
    """The section about the children of `address` that run or are to run; empty if none do."""
    busy = [one for one in family.children(db, address) if one.status != "idle"]
    return "\n".join([HEAD, *(_line(view(db, one)) for one in busy)]) if busy else ""


def _line(one: ActorView) -> str:
    about = cut(" ".join(one.description.split()), LINE)
    doing = f", {one.doing}" if one.doing else ""
    facts = f"{one.actor_id} ({one.agent}): {about}" if about else f"{one.actor_id} ({one.agent})"
    return f"- {facts} [{one.liveness}{doing}; began {_age(one.age)} ago]"


def _age(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds // 60:.0f} min"
