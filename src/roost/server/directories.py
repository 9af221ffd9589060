"""Which folders a server may be used for: those it was opened for, and folders of their sessions.

A request that names any other is refused, so that a client cannot make Roost work in `/etc`.
"""

import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from roost.core.errors import DeniedError, NotFoundError, UsageError
from roost.db.transaction import Reader
from roost.runtime.runtime import Runtime
from roost.sessions import store as sessions
from roost.sessions.models import Session
from roost.workspace.git_folder import repository_of

_KNOWN_LIMIT: Final = 10_000
"""Sessions whose place is remembered; then all are forgotten and looked up again."""


class Place(Struct, frozen=True):
    """Where a session works."""

    directory: str
    project_id: str
    served: bool
    above: frozenset[str] = frozenset()
    """Where the sessions work that started it: their clients see it too."""

    def is_shown_in(self, directory: str) -> bool:
        """Whether clients of a folder see what happens in the session."""
        return directory == self.directory or directory in self.above


class Directories:
    """The folders of one server. Paths are compared after all links are resolved."""

    def __init__(self, runtime: Runtime, opened: tuple[Path, ...]) -> None:
        if not opened:
            raise UsageError("a server needs a folder to work in")
        self._runtime = runtime
        self._roots = tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in opened))
        self._names = {str(root) for root in self._roots}
        self._places: dict[str, Place] = {}

    @property
    def default(self) -> str:
        """The folder that is meant where a request names none."""
        return str(self._roots[0])

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders the server was opened for."""
        return self._roots

    async def resolve(self, given: str | None) -> str:
        """The folder that a request means.

        Raises `UsageError` for what is no absolute path, `DeniedError` for a folder that is not
        served.
        """
        if not given or given in self._names:
            return given or self.default
        real = _real(given)
        if real in self._names or await self._has_session(real):
            return real
        raise DeniedError(
            f"this server was not opened for {given}",
            hint="Start it there, or with --dir for each further folder.",
        )

    async def resolve_header(self, given: str) -> str:
        """The same for the header, whose value OpenCode's clients percent-encode."""
        if "%" in given and given not in self._names:
            given = unquote(given)
        return await self.resolve(given)

    async def _has_session(self, directory: str) -> bool:
        found = await self._runtime.database.read(
            lambda db: sessions.listed(db, directory=directory, limit=1)
        )
        return bool(found) and (await self.remember(found[0])).served

    async def serves(self, directory: str, project_id: str) -> bool:
        """Whether sessions in `directory` may be used: it lies in a served folder, or it is a
        worktree of a served repository.
        """
        if directory in self._names:
            return True
        path = Path(directory)
        if any(path.is_relative_to(root) for root in self._roots):
            return True
        if path.exists():
            found = repository_of(path)
            return found is not None and found[1] in map(self._repository, self._roots)
        # A worktree that was removed: nothing can happen there, its sessions can be read.
        return bool(project_id) and project_id in await self._project_ids()

    async def _project_ids(self) -> set[str]:
        """The projects of the served folders that are whole repositories."""
        whole = [root for root in self._roots if self._repository(root) is not None]
        return {await self._runtime.project_id(root) for root in whole}

    def _repository(self, root: Path) -> Path | None:
        """The repository that is served as a whole with `root`."""
        found = repository_of(root)
        return found[1] if found is not None and found[0] == root else None

    def _is_own_tree(self, directory: str) -> bool:
        return Path(directory).is_relative_to(os.path.realpath(self._runtime.paths.worktrees))

    async def place(self, session_id: str) -> Place | None:
        """Where a session works; None if there is no such session."""
        if (known := self._places.get(session_id)) is not None:
            return known
        session = await self._runtime.database.read(lambda db: sessions.find(db, session_id))
        return None if session is None else await self.remember(session)

    def known(self, session_id: str) -> Place | None:
        """The place of a session if it was looked up before."""
        return self._places.get(session_id)

    async def remember(self, session: Session) -> Place:
        """Keep the place of `session`, which never changes."""
        if len(self._places) >= _KNOWN_LIMIT:
            self._places.clear()
        parent = None if session.parent_id is None else await self.place(session.parent_id)
        served = await self.serves(session.directory, session.project_id)
        if parent is not None and not served:  # a working tree of its own, outside of the folder
            served = parent.served and self._is_own_tree(session.directory)
        above = parent.above | {parent.directory} if parent else frozenset[str]()
        place = Place(session.directory, session.project_id, served, above)
        self._places[session.id] = place
        return place

    async def require_heard(self, session_id: str) -> None:
        """Raise `DeniedError` unless a session is served, or one that it works for: whoever directs
        it from a served folder hears what it asks. Raises `NotFoundError`.
        """
        session = await self._runtime.session(session_id)
        while not (await self.remember(session)).served:
            if session.parent_id is None:
                await self.session(session_id)
                return
            session = await self._runtime.session(session.parent_id)

    async def session(self, session_id: str) -> Session:
        """The session of that id, if its folder is served.

        Raises `NotFoundError` or `DeniedError`.
        """

        def find(db: Reader) -> Session:
            return sessions.get(db, session_id)

        session = await self._runtime.database.read(find)
        if not (await self.remember(session)).served:
            raise DeniedError(
                f"session {session_id} works in {session.directory}, "
                "which this server was not opened for",
                hint="Start a server there.",
            )
        return session


def _real(given: str) -> str:
    if not given.startswith("/") or "\x00" in given:
        raise UsageError(f"the directory {given!r} is no absolute path")
    try:
        return os.path.realpath(given)
    except (OSError, ValueError, UnicodeEncodeError) as error:
        raise NotFoundError(f"the directory {given!r} cannot be looked at") from error
