"""What a person can do about a turn that got nowhere, as a run tells it. Pure."""

from typing import Any

from roost.core.text import terminal_safe
from roost.sessions.models import MessageError


def ways_on(error: MessageError, session_id: str) -> str:
    """One way a line; empty for other errors."""
    if error.name != "StuckError":
        return ""
    evidence: dict[str, Any] = error.data.get("evidence") or {}
    lines = [f"The last that came of it: {_one_line(evidence['error'])}"] * ("error" in evidence)
    run = f"roost run -s {session_id}"
    lines.append(f'Try another way: {run} "try another way: ..."')
    for choice in error.data.get("choices") or ():
        if choice.get("id") == "hand_off":
            lines.append(f"Hand over to {choice['program']}: {_one_line(choice['command'])}")
    lines.append(f'Go on as before: {run} "go on"')
    lines.append("`try_best` of your configuration says what becomes of such turns.")
    return "\n".join(lines)


def _one_line(text: Any) -> str:
    return terminal_safe(" ".join(str(text).split()))
