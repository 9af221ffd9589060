"""What a person says to a team: a prompt to each member, all of them or none."""

from typing import Final

from roost.actors import store, teams
from roost.actors.send import send
from roost.actors.teams import Member, Reached, Team
from roost.actors.unheard import end_unheard
from roost.core.clock import now_ms
from roost.core.errors import ConflictError, UsageError
from roost.db.transaction import Transaction
from roost.inbox.models import Letter, PromptBody
from roost.runtime.models import PromptInput, TextInput
from roost.runtime.posting import said
from roost.runtime.runtime import Runtime
from roost.sessions import store as sessions
from roost.tools.team_port import Told

TRIES: Final = 5
"""Times that it is begun anew because members came or went meanwhile."""


async def prompt_team(
    runtime: Runtime, team_id: str, text: str, *, role: str | None = None, directory: str = ""
) -> Told:
    """Leave `text` with every member, or with those of a role; who sleeps is woken.

    Raises `NotFoundError`, `UsageError` for nobody to tell or nothing to say, `ConflictError` if
    the team does not come to rest, and what a prompt to a member can raise.
    """
    words = said(text)
    for _ in range(TRIES):
        team = await runtime.database.read(lambda db: teams.get(db, team_id))
        meant = team.receivers(role, None)
        given = _prompt(team, words, role)
        bodies = [await runtime.body_of(one.address, given) for one in meant]
        told = await runtime.database.write(
            lambda tx, meant=meant, bodies=bodies: _tell(
                tx, team_id, words, role, meant, bodies, directory
            )
        )
        if told is not None:
            return told
    raise ConflictError("members came and went all the time; nobody was told", hint="Try again.")


def _prompt(team: Team, words: str, role: str | None) -> PromptInput:
    whom = (
        f"those with the role {role} in the team {team.name}" if role else f"the team {team.name}"
    )
    note = TextInput(f"(The user says this to {whom}, of which you are one.)", synthetic=True)
    return PromptInput(parts=(TextInput(words), note))


def _tell(
    tx: Transaction,
    team_id: str,
    words: str,
    role: str | None,
    meant: list[Member],
    bodies: list[PromptBody],
    directory: str,
) -> Told | None:
    """Send what was made for `meant`; None if others are meant by now."""
    team = teams.get(tx, team_id)
    if [one.address for one in team.receivers(role, None)] != [one.address for one in meant]:
        return None
    reached = [_post(tx, one, body) for one, body in zip(meant, bodies, strict=True)]
    teams.tell_message(tx, team, words, reached, role=role, sender=None, directory=directory)
    return Told(team, tuple(reached))


def _post(tx: Transaction, member: Member, body: PromptBody) -> Reached:
    letter = Letter(receiver=member.address, kind="prompt", body=body, key=body.message_id)
    end_unheard(tx, member.address)
    busy = store.get(tx, member.address).status == "running"
    inbox_id, error = None, ""
    try:
        inbox_id = send(tx, letter).id
        sessions.touch(tx, member.session_id, now_ms())
    except UsageError as refused:
        error = f"not accepted: {refused.message}"
    return Reached(
        member.session_id, member.actor_id, member.role, inbox_id, error=error, busy=busy
    )
