"""What a model reads about the sessions that it directs. What they wrote is data, and escaped."""

from collections.abc import Iterable, Sequence
from typing import Final, get_args

from roost.inbox.render import as_data
from roost.tools import actor_words
from roost.tools.actor_words import line
from roost.tools.session_port import Bucket, Ended, Joined, Opened, SessionView, TreeView

_SHOWN: Final = 100
"""Characters of a title or a brief that stands in a list."""
_BUCKETS: Final[tuple[Bucket, ...]] = get_args(Bucket)
_HOW: Final = {
    "rest": "All of them are at rest.",
    "timeout": "The time is up; those that work go on, and a notice tells you how each ends.",
    "steered": "The user spoke to you. Those that work go on, and a notice tells how each ends.",
    "cancelled": "You were asked to stop, so you wait no longer.",
    "asked": f"{actor_words.ASKED} Answer it or leave it to the user, then go on waiting.",
}


def entry(view: SessionView) -> str:
    """A session in one line."""
    actor = view.actor
    facts = [view.bucket, actor.agent, f"topic {view.topic}" if view.topic else ""]
    if actor.doing:
        facts.append(_data(actor.doing))
    if view.requests:
        facts.append(f"waits for an answer to {len(view.requests)}")
    return f"- {actor.session_id} “{_data(view.title)}”: {', '.join(filter(None, facts))}"


def ledger(views: Sequence[SessionView], dispatched: str, task: str) -> str:
    """The sessions that can be sent to, with the one that was just given work marked."""
    lines: list[str] = []
    for view in views:
        if view.bucket in {"failed", "cancelled"} and view.actor.session_id != dispatched:
            continue
        mark = f" ← {_data(task)}" if view.actor.session_id == dispatched else ""
        lines.append(entry(view) + mark)
    return "\n".join(["Your sessions:", *lines]) if lines else ""


def tree_lines(tree: TreeView | None) -> list[str]:
    """A working tree in one or two lines."""
    if tree is None:
        return []
    if tree.fault:
        return [f"  working tree {tree.directory}: git does not tell its state ({tree.fault})"]
    ahead = f"{tree.ahead} commit{'' if tree.ahead == 1 else 's'} ahead of {tree.base}"
    found = f"  working tree {tree.directory}, branch {tree.branch}, {ahead}"
    return [found, f"  it holds {tree.holds}"] if tree.holds else [found]


def opened(made: Opened) -> str:
    """What became of an order."""
    lines = [f"session_id: {made.session_id}"]
    if made.new:
        lines.append(f"It works in {made.directory}. A notice comes when its turn ends.")
    else:
        lines.append("A session of this topic was there; the task went to it as a message.")
    return "\n".join([*lines, *tree_lines(made.tree), *made.notes])


def snapshot(view: SessionView) -> str:
    """A session as it stands."""
    about = [f"“{_data(view.title)}” in {view.directory}: {view.bucket}"]
    about += [f"  topic {view.topic}"] if view.topic else []
    about += [f"  asks: {_data(one)}" for one in view.requests]
    return "\n".join([*about, *tree_lines(view.tree), actor_words.snapshot(view.actor)])


def listing(views: Sequence[SessionView]) -> str:
    """Every session in one line."""
    return "\n".join(map(entry, views)) or "You direct no sessions yet."


def dashboard(views: Sequence[SessionView]) -> str:
    """Every session by how it stands."""
    if not views:
        return listing(views)
    by_bucket = {name: [one for one in views if one.bucket == name] for name in _BUCKETS}
    blocks = [", ".join(f"{len(found)} {name}" for name, found in by_bucket.items())]
    for name, found in by_bucket.items():
        if found:
            lines = [text for view in found for text in _dashed(view)]
            blocks.append("\n".join([f"{name} ({len(found)}):", *lines]))
    return "\n\n".join(blocks)


def _dashed(view: SessionView) -> Iterable[str]:
    yield entry(view)
    yield from tree_lines(view.tree)
    yield from (f"  asks: {_data(one)}" for one in view.requests)


def joined(found: Joined) -> str:
    """What came of each, and of those that still work how they stand."""
    blocks = [_HOW[found.how]]
    for view in found.sessions:
        if view.actor.status == "idle":
            text = f"session_id: {view.actor.session_id}\n{actor_words.result(view.actor)}"
            blocks.append("\n".join([text, *tree_lines(view.tree)]))
        else:
            blocks.append(entry(view))
    if found.unknown:
        blocks.append(f"No sessions of yours: {', '.join(map(_data, found.unknown))}.")
    return "\n\n".join(blocks)


def ended(found: Ended) -> str:
    """A session that was stopped, and its working tree."""
    view = found.session
    state = "has stopped" if view.actor.status == "idle" else "is stopping; a notice will tell"
    lines = [f"{view.actor.session_id} {state}.", found.tree, actor_words.snapshot(view.actor)]
    return "\n".join(filter(None, lines))


def _data(text: str) -> str:
    return as_data(line(text, _SHOWN))
