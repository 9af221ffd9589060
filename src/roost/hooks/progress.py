"""Asks an actor that works on a task for its journal, and keeps a record where there is none."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from roost.core.clock import now_ms
from roost.core.errors import NotFoundError
from roost.hooks.journal import (
    faults,
    is_own_record,
    journal_path,
    record,
    reminder_faulty,
    reminder_missing,
    stamped,
)
from roost.hooks.models import POST_STOP_LIMIT, Continue, PostStop
from roost.workspace.atomic import StagedFile
from roost.workspace.files import read_bytes

_LARGEST: Final = 1024 * 1024
_PRIVATE: Final = 0o600


class ProgressChecker:
    """The hook at `actor.post_stop`. `data` is the folder for data."""

    def __init__(self, data: Path, *, writable: bool) -> None:
        self._data = data
        self._writable = writable
        """False: nobody may write there, so nothing is asked for and nothing is written."""

    def check(self, given: PostStop) -> Continue | None:
        """Send the actor on for a journal that is missing or faulty; stamp one that is right.

        After the last reminder, and after a turn that did not succeed, nobody is woken: Roost
        writes a record in the place of a journal that is missing.
        """
        if given.task_id is None or not given.can_write or not self._writable:
            return None
        path = journal_path(self._data.resolve(), _session_of(given), given.task_id)
        found = _read(path)
        if found is None or is_own_record(found):
            if given.outcome == "success" and given.iteration < POST_STOP_LIMIT:
                return Continue(reminder_missing(path))
            _write(path, _record(given, given.task_id))
            return None
        wrong = faults(found.decode("utf-8", "replace"))
        if not wrong:
            _write(path, stamped(found, _now()))
            return None
        if given.outcome != "success" or given.iteration >= POST_STOP_LIMIT:
            return None
        return Continue(reminder_faulty(path, wrong))


def _session_of(given: PostStop) -> str:
    """The session whose task it is: a peer works, in a session of its own, for its parent's."""
    if given.mode == "peer" and given.parent_session_id is not None:
        return given.parent_session_id
    return given.session_id


def _record(given: PostStop, task_id: str) -> bytes:
    return record(
        task_id=task_id,
        agent=given.agent,
        actor_id=given.actor_id,
        task=given.task,
        outcome=given.outcome,
        error=given.error or "",
        written_at=_now(),
    )


def _read(path: Path) -> bytes | None:
    try:
        return read_bytes(path, limit=_LARGEST)
    except NotFoundError:
        return None


def _write(path: Path, data: bytes) -> None:
    with StagedFile(path, data, mode=_PRIVATE) as staged:
        staged.put()


def _now() -> str:
    now = datetime.fromtimestamp(now_ms() / 1000, UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
