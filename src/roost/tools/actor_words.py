"""What a model reads about other actors. What they wrote themselves is data: markup is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

from roost.actors.models import Outcome
from roost.core.text import clean, cut, terminal_safe
from roost.inbox.notices import NoticeKind
from roost.inbox.render import as_data
from roost.tools.actor_port import ActorView, ModelView, Sent, SentView

_LINE: Final = 300
"""Characters of a text that stands within a line."""
ASKED: Final = "A session of yours asks for a permission; the request comes to you as mail now."
_MESSAGE: Final = 100
"""Characters shown of a message that was sent."""
_ENDINGS: Final[dict[Outcome, str]] = {
    "success": "ended",
    "failure": "failed",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted: the process that ran it stopped",
}
_OUTCOMES: Final[dict[NoticeKind, Outcome]] = {
    "failed": "failure",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
}
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def who(view: ActorView) -> dict[str, Any]:
    """The metadata that tell clients which actor a call is about."""
    return about(view.session_id, view.actor_id, view.agent, view.description)


def about(session_id: str, actor_id: str, agent: str, description: str) -> dict[str, Any]:
    """The same of one whose view is not at hand. `sessionId` is what OpenCode's `task` has."""
    return {
        "sessionID": session_id,
        "sessionId": session_id,
        "actorID": actor_id,
        "agent": agent,
        "description": line(description),
    }


def line(text: str, limit: int = _LINE) -> str:
    """`text` on one line."""
    return cut(" ".join(terminal_safe(clean(text)).split()), limit)


def since(seconds: float) -> str:
    """A stretch of time in its largest unit, as `3 min`."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{seconds:.1f}".removesuffix(".0") + " s" if seconds < 10 else f"{int(seconds)} s"


def snapshot(view: ActorView) -> str:
    """An actor as it stands, in two to four lines."""
    parent = view.parent.actor_id if view.parent else ""
    facts = [view.agent, view.mode if view.mode != "subagent" else "", parent and f"of {parent}"]
    head = f"{view.actor_id} ({', '.join(filter(None, facts))}): {view.liveness}"
    if view.doing:
        head += f", {_data(view.doing)}"
    cost = f"${view.cost:.4f}" if view.cost else ""
    counts = [
        f"began {since(view.age)} ago",
        f"last activity {since(view.quiet)} ago",
        _count(view.turns, "turn"),
        _count(view.steps, "step"),
        _count(view.tokens, "token"),
        cost,
        f"{view.queued} not heard yet" if view.queued else "",
    ]
    lines = [head, f"  {_data(view.description)}" if view.description else ""]
    lines += [f"  {', '.join(filter(None, counts))}", *_last_turn(view)]
    return "\n".join(filter(None, lines))


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _last_turn(view: ActorView) -> list[str]:
    if view.outcome is None:
        return []
    words = f"  its last turn {_ENDINGS[view.outcome]}"
    notice = view.notice
    if status := _reported(view):
        words += f", reported status: {status}"
    if summary := view.summary or (notice.summary if notice else ""):
        words += f"; {_data(summary)}"
    return [words, *(f"  {one}" for one in _troubles(view))]


def _troubles(view: ActorView) -> list[str]:
    notice = view.notice
    if notice is None:
        return []
    found = [f"error: {_data(notice.error)}"] if notice.error else []
    if notice.open_tasks:
        found.append(f"not finished: {_data('; '.join(notice.open_tasks))}")
    if notice.resumed:
        found.append("it goes on by itself; a notice will tell how it ends")
    return found


def _reported(view: ActorView) -> str:
    return view.reported_status or (view.notice.status if view.notice else "")


def outcome_of(view: ActorView) -> Outcome | None:
    """How the turn ended; told by its notice where the actor is at work again by now."""
    if view.outcome is not None or view.notice is None:
        return view.outcome
    return _OUTCOMES.get(view.notice.notice, "success")


def result(view: ActorView) -> str:
    """How the last turn ended, with what came of it: the answer of who waited for it."""
    lines = [_again(view)]
    outcome = outcome_of(view)
    partial = outcome is not None and outcome != "success"
    if outcome is not None and partial:
        lines.append(f"{view.actor_id} {_ENDINGS[outcome]}.")
    lines += _troubles(view)
    text = view.result or (view.notice.result if view.notice else "")
    if not text and partial:
        return "\n".join([*lines, "It left no result."])
    attributes = {
        "status": _reported(view) or "unknown",
        "summary": line(view.summary or (view.notice.summary if view.notice else "")),
        "partial": "true" if partial else "",
    }
    shown = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value)
    body = as_data(clean(text)) if text else "(no words)"
    return "\n".join([*lines, f"<actor_result{shown}>", body, "</actor_result>"])


def _again(view: ActorView) -> str:
    return f"actor_id: {view.actor_id} (send it another message to give it more work)"


def listing(views: Sequence[ActorView], sent: Sequence[SentView]) -> str:
    """Every actor that one may know of, and what became of the messages to them."""
    blocks = [snapshot(view) for view in views] or ["There are no other actors."]
    if sent:
        blocks.append("\n".join(["Messages that you sent, the newest last:", *map(_sent, sent)]))
    return "\n\n".join(blocks)


def _sent(message: SentView) -> str:
    text = as_data(line(message.text, _MESSAGE))
    state = f"{message.state}, sent {since(message.age)} ago"
    return f"- {message.inbox_id} to {message.to} ({state}): {text}"


def model_list(models: Iterable[ModelView]) -> str:
    """One line a model."""
    lines = [f"- {one.ref}" + (f": {one.note}" if one.note else "") for one in models]
    return "\n".join(lines) or "There is no such model."


def type_title(agent: str) -> str:
    """An agent's name as titles have it: `Explore`."""
    return line(agent, 60).title()


def _data(text: str) -> str:
    return as_data(line(text))


def fate(sent: Sent) -> str:
    """When the receiver of a message hears it."""
    if sent.held:
        return "It was stopped, and hears this only when somebody goes on with it."
    if sent.busy:
        return "It is at work and hears this at its next step."
    return "It was not at work and is woken by this."
