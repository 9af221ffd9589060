"""Watches that each request of a turn continues the one before it byte for byte, so that providers
find it in their cache. Whatever changes what was sent before has to declare it.
"""

import logging

from roost.llm.models import ModelRequest, ToolSpec
from roost.tools.structured_output import NAME

logger = logging.getLogger(__name__)


class Continuity:
    """The requests of one turn."""

    def __init__(self) -> None:
        self.declared: list[str] = []
        """Why requests did not continue the ones before them, in order."""
        self.unplanned = 0
        """Requests that did not, and nobody had said so: each is a defect."""
        self._due: list[str] = []
        self._last: ModelRequest | None = None

    def declare(self, reason: str) -> None:
        """Say that the next request will not continue the last one, and why."""
        if self._last is not None:
            self._due.append(reason)

    def see(self, request: ModelRequest) -> None:
        """Look at the next request, before it is made."""
        last, self._last = self._last, request
        due, self._due = self._due, []
        if last is None or continues(request, last):
            return
        if _format_of(request) != _format_of(last):
            due.append("the answer is wanted in another form")
        if due:
            self.declared += due
            logger.info("a request begins anew: %s", ", ".join(due))
        else:
            self.unplanned += 1
            logger.warning("a request does not continue the one before it, and nobody said why")


def _format_of(request: ModelRequest) -> ToolSpec | None:
    """What takes the answer, which belongs to a prompt and not to the pinned tools."""
    return next((one for one in request.tools if one.name == NAME), None)


def continues(request: ModelRequest, last: ModelRequest) -> bool:
    """Whether all that `last` said, but for its reminders, is how `request` begins."""
    return (
        request.model.ref == last.model.ref
        and request.system == last.system
        and request.tools == last.tools
        and request.messages[: len(last.messages)] == last.messages
    )
