"""Teams: named groups of actors of one project, and the SQL of them.

Members are actors that front their sessions. One whose session is deleted leaves by itself. What is
said to a team is mail to each of its members.
"""

import sqlite3
from typing import Any, Final

from msgspec import Struct

from roost.actors import store
from roost.actors.models import Status
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.core.failpoints import failpoint
from roost.core.ids import new_id
from roost.core.text import clean, echo
from roost.core.wire_names import wire_name
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.inbox.models import Address
from roost.sessions import store as sessions

NAME_LIMIT: Final = 64
"""Characters of a name, and of a role."""
PURPOSE_LIMIT: Final = 1_000
"""Characters of a purpose."""
MEMBER_LIMIT: Final = 64
"""Members of one team: each message to it is one for each of them."""
TEAM_LIMIT: Final = 100
"""Teams of one project."""
MEMBER: Final = "member"
"""The role of one who names none."""


class Member(Struct, frozen=True, rename=wire_name):
    """An actor in a team."""

    session_id: str
    actor_id: str
    role: str
    joined: int
    agent: str
    status: Status
    title: str = ""
    """Of its session."""

    @property
    def address(self) -> Address:
        """Where mail for it goes."""
        return Address(self.session_id, self.actor_id)


class Team(Struct, frozen=True, rename=wire_name):
    """A team with its members, in the order in which they joined."""

    id: str
    project_id: str
    name: str
    """Unique in the project."""
    purpose: str
    created: int
    members: tuple[Member, ...] = ()

    def member(self, address: Address) -> Member | None:
        """The member of that address, or None."""
        return next((one for one in self.members if one.address == address), None)

    def receivers(self, role: str | None, sender: Address | None) -> list[Member]:
        """Who is meant by what `sender` says: those with `role` (None: all) but itself.

        Raises `UsageError` if that is nobody.
        """
        others = [one for one in self.members if one.address != sender]
        meant = [one for one in others if role is None or one.role == role]
        if meant:
            return meant
        roles = ", ".join(sorted({one.role for one in others}))
        if not others:
            raise UsageError(f"the team {self.name} has no other member")
        raise UsageError(
            f"no other member of the team {self.name} has the role {echo(role or MEMBER)!r}",
            hint=f"There are: {roles}.",
        )


class Reached(Struct, frozen=True, rename=wire_name):
    """What became of a message to one member."""

    session_id: str
    actor_id: str
    role: str
    inbox_id: str | None
    """None: it was not accepted."""
    error: str = ""
    busy: bool = False
    """It runs, and hears it at its next step; one that does not is woken, unless it is held."""
    held: bool = False
    """A person stopped it: it hears it once somebody speaks to it who may wake it."""


def create(
    tx: Transaction,
    project_id: str,
    name: str,
    purpose: str = "",
    *,
    by: Address | None = None,
    directory: str = "",
) -> Team:
    """Make a team without members. Its news goes to clients of the session of `by`, else of
    `directory`.

    Raises `UsageError` for a name that is none, `ConflictError` for one that is taken.
    """
    name = checked_name(name, "name")
    purpose = _bounded(purpose, PURPOSE_LIMIT, "purpose")
    if (taken := _find(tx, project_id, name)) is not None:
        raise ConflictError(
            f"there is a team {taken.name} in this project already",
            hint="Join it, or choose another name.",
        )
    count = tx.one("SELECT count(*) AS n FROM team WHERE project_id = ?", (project_id,))
    if count is not None and count["n"] >= TEAM_LIMIT:
        raise UsageError(f"a project has at most {TEAM_LIMIT} teams", hint="Delete one.")
    team = Team(new_id("team"), project_id, name, purpose, now_ms())
    failpoint("team.before")
    tx.run(
        "INSERT INTO team (id, project_id, name, purpose, created) VALUES (?,?,?,?,?)",
        (team.id, project_id, name, purpose, team.created),
    )
    news: dict[str, Any] = {"team": team}
    if by is not None:
        news["sessionID"] = by.session_id
    tx.emit(
        Event("team.created", news, session_id=by.session_id if by else None, directory=directory)
    )
    failpoint("team.written")
    return team


def delete(tx: Transaction, team: Team, *, directory: str = "") -> None:
    """Remove a team. What was said in it stays said."""
    tx.run("DELETE FROM team WHERE id = ?", (team.id,))
    tx.emit(Event("team.deleted", {"teamID": team.id, "name": team.name}, directory=directory))


def join(tx: Transaction, team: Team, address: Address, role: str = "") -> Team:
    """Make an actor a member; one that is gets another role. The team as it is then.

    Raises `UsageError` for an actor that does not front its session, and for a full team.
    """
    actor = store.get(tx, address)
    if not actor.fronts:
        raise UsageError(
            f"{actor.actor_id} cannot be in a team", hint="Its parent can, and may pass things on."
        )
    role = checked_name(role or MEMBER, "role")
    known = team.member(address)
    if known is not None and known.role == role:
        return team
    if known is None and len(team.members) >= MEMBER_LIMIT:
        raise UsageError(
            f"the team {team.name} is full ({MEMBER_LIMIT} members)",
            hint="Let a member leave, or make another team.",
        )
    last = max((one.joined for one in team.members), default=0)
    tx.run(
        "INSERT INTO team_member (team_id, session_id, actor_id, role, joined)"
        " VALUES (?,?,?,?,?) ON CONFLICT (team_id, session_id, actor_id)"
        " DO UPDATE SET role = excluded.role",
        (team.id, address.session_id, address.actor_id, role, max(now_ms(), last + 1)),
    )
    _tell(tx, "team.member.joined", team, address, role=role)
    failpoint("team.joined")
    return get(tx, team.id)


def leave(tx: Transaction, team: Team, address: Address) -> Team:
    """Let a member go. The team as it is then. Raises `NotFoundError` for one that is none."""
    if not tx.run(
        "DELETE FROM team_member WHERE team_id = ? AND session_id = ? AND actor_id = ?",
        (team.id, address.session_id, address.actor_id),
    ):
        raise NotFoundError(f"{address.actor_id} is no member of the team {team.name}")
    _tell(tx, "team.member.left", team, address)
    return get(tx, team.id)


def _tell(tx: Transaction, type_: str, team: Team, address: Address, **more: str) -> None:
    about = {
        "teamID": team.id,
        "name": team.name,
        "sessionID": address.session_id,
        "actorID": address.actor_id,
        **more,
    }
    tx.emit(Event(type_, about, session_id=address.session_id))


def tell_message(
    tx: Transaction,
    team: Team,
    text: str,
    reached: list[Reached],
    *,
    role: str | None,
    sender: Address | None,
    directory: str = "",
) -> None:
    """Emit `team.message`: something was said to a team."""
    about: dict[str, Any] = {
        "teamID": team.id,
        "name": team.name,
        "text": text,
        "role": role,
        "sender": sender,
        "receipts": reached,
    }
    session_id = sender.session_id if sender else None
    if session_id is not None:
        about["sessionID"] = session_id
    tx.emit(Event("team.message", about, session_id=session_id, directory=directory))


def find(db: Reader, team_id: str) -> Team | None:
    """The team of that id, or None."""
    row = db.one("SELECT * FROM team WHERE id = ?", (team_id,))
    return _from_row(db, row) if row else None


def get(db: Reader, team_id: str) -> Team:
    """The team of that id. Raises `NotFoundError`."""
    if (team := find(db, team_id)) is None:
        raise NotFoundError(f"there is no team {echo(team_id)}")
    return team


def named(db: Reader, project_id: str, word: str) -> Team:
    """The team of a project with that name, or that id. Raises `NotFoundError` with those there
    are.
    """
    team = _find(db, project_id, clean(word).strip()) or find(db, word)
    if team is not None and team.project_id == project_id:
        return team
    names = [one.name for one in listed(db, project_id)]
    hint = f"There are: {', '.join(names[:20])}." if names else "There are none yet."
    raise NotFoundError(f"there is no team {echo(word)!r} in this project", hint=hint)


def _find(db: Reader, project_id: str, name: str) -> Team | None:
    row = db.one("SELECT * FROM team WHERE project_id = ? AND name = ?", (project_id, name))
    return _from_row(db, row) if row else None


def is_member(db: Reader, address: Address) -> bool:
    """Whether an actor is in any team."""
    row = db.one(
        "SELECT 1 FROM team_member WHERE session_id = ? AND actor_id = ? LIMIT 1",
        (address.session_id, address.actor_id),
    )
    return row is not None


def listed(db: Reader, project_id: str | None) -> list[Team]:
    """The teams of a project (None: of all) by name."""
    rows = db.all(
        "SELECT * FROM team WHERE ? IS NULL OR project_id = ? ORDER BY name, id",
        (project_id, project_id),
    )
    return [_from_row(db, row) for row in rows]


def _from_row(db: Reader, row: sqlite3.Row) -> Team:
    members = db.all(
        "SELECT m.*, a.agent, a.status FROM team_member m JOIN actor a"
        " ON a.session_id = m.session_id AND a.actor_id = m.actor_id"
        " WHERE m.team_id = ? ORDER BY m.joined, m.session_id, m.actor_id",
        (row["id"],),
    )
    titles = sessions.titles(db, [member["session_id"] for member in members])
    return Team(
        row["id"],
        row["project_id"],
        row["name"],
        row["purpose"],
        row["created"],
        tuple(_member(member, titles[member["session_id"]]) for member in members),
    )


def _member(row: sqlite3.Row, title: str) -> Member:
    return Member(
        row["session_id"],
        row["actor_id"],
        row["role"],
        row["joined"],
        row["agent"],
        row["status"],
        title,
    )


def checked_name(text: str, what: str) -> str:
    """A name or role as it is kept. Raises `UsageError` for an empty or long one."""
    name = " ".join(clean(text).split())
    if not name:
        raise UsageError(f"a team needs a {what}")
    return _bounded(name, NAME_LIMIT, what)


def _bounded(text: str, limit: int, what: str) -> str:
    text = clean(text).strip()
    if len(text) > limit:
        raise UsageError(f"the {what} is longer than {limit} characters")
    return text
