"""The teams of a project as one call of a tool sees them."""

from roost.actors import store, teams
from roost.actors.teams import Member, Reached, Team
from roost.core.errors import UsageError
from roost.db.transaction import Transaction
from roost.runtime.port import Port
from roost.runtime.posting import post, words_of
from roost.tools.actor_port import Sent
from roost.tools.team_port import Told


class TeamPort(Port):
    """See `roost.tools.team_port.TeamPort`."""

    @property
    def _project(self) -> str:
        return self._session.project_id

    async def create(self, name: str, purpose: str, role: str) -> Team:
        """Make a team and be its first member."""

        def make(tx: Transaction) -> Team:
            team = teams.create(tx, self._project, name, purpose, by=self._own)
            return teams.join(tx, team, self._own, role)

        return await self._write(make)

    async def join(self, name: str, role: str) -> Team:
        """Be a member, or get another role."""

        def enter(tx: Transaction) -> Team:
            return teams.join(tx, teams.named(tx, self._project, name), self._own, role)

        return await self._write(enter)

    async def leave(self, name: str) -> Team:
        """Be no member any more."""

        def go(tx: Transaction) -> Team:
            return teams.leave(tx, teams.named(tx, self._project, name), self._own)

        return await self._write(go)

    async def listed(self) -> list[Team]:
        """The teams of the project by name."""
        return await self._services.database.read(lambda db: teams.listed(db, self._project))

    async def team(self, name: str) -> Team:
        """One team with its members."""
        return await self._services.database.read(lambda db: teams.named(db, self._project, name))

    async def send(self, name: str, text: str, role: str | None) -> Told:
        """Say something to all other members, or to those of a role; who sleeps is woken."""
        words = words_of(text, self._services.spill_folder)
        own = self._own

        def tell(tx: Transaction) -> Told:
            team = teams.named(tx, self._project, name)
            if (member := team.member(own)) is None:
                raise UsageError(
                    f"you are no member of the team {team.name}", hint="Join it first."
                )
            subject = f"to the team {team.name}" + (f", role {role}" if role else "")
            subject += f"; from {own.session_id} ({member.role})"
            meant = team.receivers(role, own)
            reached = [self._post(tx, one, words, subject) for one in meant]
            teams.tell_message(tx, team, words, reached, role=role, sender=own)
            return Told(team, tuple(reached))

        return await self._write(tell)

    def _post(self, tx: Transaction, member: Member, words: str, subject: str) -> Reached:
        """One message; a member whose inbox is full keeps it from no other."""
        receiver = store.get(tx, member.address)
        try:
            sent = post(tx, self._caller.claim, receiver, words, subject=subject)
        except UsageError as refused:
            sent = Sent(None, f"not accepted: {refused.message}")
        return Reached(
            member.session_id,
            member.actor_id,
            member.role,
            sent.inbox_id,
            error=sent.error,
            busy=sent.busy,
            held=sent.held,
        )
