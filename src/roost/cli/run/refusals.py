"""Calls that were refused in a run, and what a user can do about them. Pure."""

from collections.abc import Iterable

from roost.core.amounts import counted
from roost.sessions.parts import ToolFailed, ToolPart


class Refusals:
    """Collects the refused calls of a run."""

    def __init__(self) -> None:
        self.count = 0
        self._asked: dict[str, None] = {}
        """The permissions that nobody was there to agree to."""
        self._alone: dict[str, None] = {}
        """Those of them that no flag stands in for."""

    def see(self, part: ToolPart) -> None:
        """Take note of `part`, a call that is over, if it was refused."""
        state = part.state
        told = (state.metadata or {}) if isinstance(state, ToolFailed) else {}
        if not told.get("denied"):
            return
        self.count += 1
        if name := str(told.get("permission") or ""):
            (self._alone if told.get("needsPerson") else self._asked)[name] = None

    def advice(self) -> str:
        """How many there were, and what allows such calls next time."""
        said = [counted(self.count, "call was", "calls were") + " refused."]
        if self._asked:
            said.append(
                "--yes allows what would be asked, though never what is denied; for good,"
                f" {_rule(self._asked)}."
            )
        if self._alone:
            said.append(
                "--yes does not cover deletes outside the project and kills by name;"
                f" {_rule(self._alone)} does."
            )
        if not self._asked and not self._alone:
            said.append(
                "What a rule denies no flag allows; `roost config` shows your rules,"
                " `roost agents show NAME` those of an agent."
            )
        return " ".join(said)


def _rule(permissions: Iterable[str]) -> str:
    *before, last = [f"`{name}`" for name in permissions]
    listed = f"{', '.join(before)} and {last}" if before else last
    return f"a rule that names {listed} under `permission` in your roost.json"
