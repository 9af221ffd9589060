"""A turn that changed something and leaves work that is not committed is told so once, where the
configuration asks for that.
"""

from typing import Final

from roost.turn.models import Action, Facts, Inject
from roost.turn.policy import Allowance, Policy

BUDGET: Final = "uncommitted_hint"
LIMIT: Final = 1
SHOWN: Final = 12
"""Files that are named."""
WORDS: Final = (
    "Not committed in the working tree: {files}. If the user or the project's instructions want"
    " the work committed, do that now, with what belongs to it alone. If not, leave it as it is:"
    " do not commit, stash or discard anything. Then end with your answer as it was, and say in"
    " one line what is not committed."
)


def judge(facts: Facts) -> Action | None:
    """Go on with the names of the files."""
    if facts.review is None or not facts.review.uncommitted:
        return None
    if facts.budgets.left(BUDGET, LIMIT) <= 0:
        return None
    return Inject(BUDGET, WORDS.format(files=named(facts.review.uncommitted)))


def named(files: tuple[str, ...]) -> str:
    """The first of `files`, and how many more there are."""
    more = len(files) - SHOWN
    shown = ", ".join(files[:SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown


POLICY: Final = Policy(
    name="uncommitted work",
    looks_at="`uncommitted_hint` of the configuration, a turn of a person's prompt in which tools"
    " ran, and files that are not committed",
    answers="tell which",
    judge=judge,
    allowances=(Allowance(name=BUDGET, limit=LIMIT, nudge=False),),
    spent="end all the same",
    words=(WORDS,),
)
