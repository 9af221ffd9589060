"""Teams as rows: names, members, roles, limits, and what clients are told."""

import pytest
from stage import Stage

from roost.actors import store as actors
from roost.actors import teams
from roost.actors.teams import MEMBER_LIMIT, Team
from roost.core.errors import ConflictError, NotFoundError, UsageError
from roost.db.transaction import Transaction
from roost.inbox.models import Address
from roost.sessions import store as sessions
from roost.sessions.models import NewSession

PROJECT = "project"


def made(stage: Stage, name: str = "backend", project: str = PROJECT) -> Team:
    return stage.do(lambda tx: teams.create(tx, project, name, "The API"))


def another(stage: Stage, title: str = "Second") -> Address:
    """The first actor of one more session of the project."""

    def furnish(tx: Transaction) -> Address:
        new = NewSession(directory="/somewhere", project_id=PROJECT, title=title)
        session = sessions.create(tx, new)
        actors.register(tx, actors.new_main(session.id, "build"))
        return Address(session.id, "main")

    return stage.do(furnish)


def join(stage: Stage, team: Team, address: Address, role: str = "") -> Team:
    return stage.do(lambda tx: teams.join(tx, teams.get(tx, team.id), address, role))


def test_a_team_has_members_with_roles_in_the_order_they_came(stage: Stage) -> None:
    team = made(stage)
    second = another(stage)
    join(stage, team, second, "tests")
    joined = join(stage, team, stage.main)
    assert [(one.address, one.role) for one in joined.members] == [
        (second, "tests"),
        (stage.main, "member"),
    ]
    assert joined.members[0].title == "Second"
    changed = join(stage, team, second, "docs")
    assert [one.role for one in changed.members] == ["docs", "member"]
    left = stage.do(lambda tx: teams.leave(tx, changed, second))
    assert [one.address for one in left.members] == [stage.main]
    types = [kind for kind in stage.event_types() if kind.startswith("team.")]
    assert types == ["team.created", *["team.member.joined"] * 3, "team.member.left"]


def test_joining_as_one_is_already_changes_nothing(stage: Stage) -> None:
    team = join(stage, made(stage), stage.main)
    stage.events.clear()
    assert join(stage, team, stage.main, "member") == team
    assert stage.events == []


def test_a_name_is_taken_once_in_a_project(stage: Stage) -> None:
    made(stage)
    with pytest.raises(ConflictError, match="backend"):
        made(stage, " backend ")
    assert made(stage, "backend", "elsewhere").project_id == "elsewhere"
    assert [team.name for team in stage.read(lambda db: teams.listed(db, PROJECT))] == ["backend"]
    assert len(stage.read(lambda db: teams.listed(db, None))) == 2


@pytest.mark.parametrize("name", ["", "  \n", "x" * 65])
def test_a_name_that_is_none_is_refused(stage: Stage, name: str) -> None:
    with pytest.raises(UsageError):
        made(stage, name)


def test_a_team_that_is_not_there_is_told_with_those_that_are(stage: Stage) -> None:
    team = made(stage)
    assert stage.read(lambda db: teams.named(db, PROJECT, "backend")) == team
    assert stage.read(lambda db: teams.named(db, PROJECT, team.id)) == team
    with pytest.raises(NotFoundError) as raised:
        stage.read(lambda db: teams.named(db, PROJECT, "frontend"))
    assert raised.value.hint == "There are: backend."
    with pytest.raises(NotFoundError):
        stage.read(lambda db: teams.named(db, "elsewhere", team.id))


def test_who_is_no_member_cannot_leave(stage: Stage) -> None:
    team = made(stage)
    with pytest.raises(NotFoundError, match="no member of the team backend"):
        stage.do(lambda tx: teams.leave(tx, team, stage.main))


def test_a_subagent_is_in_no_team(stage: Stage) -> None:
    with pytest.raises(UsageError, match="cannot be in a team"):
        join(stage, made(stage), stage.helper)


def test_a_team_has_an_end(stage: Stage) -> None:
    team = made(stage)
    for _ in range(MEMBER_LIMIT):
        join(stage, team, another(stage))
    with pytest.raises(UsageError, match="is full"):
        join(stage, team, stage.main)


def test_the_actors_of_a_deleted_session_leave_with_it(stage: Stage) -> None:
    team = made(stage)
    second = another(stage)
    join(stage, team, second)
    join(stage, team, stage.main)
    stage.do(lambda tx: sessions.delete(tx, second.session_id))
    left = stage.read(lambda db: teams.get(db, team.id))
    assert [one.address for one in left.members] == [stage.main]


def test_a_deleted_team_is_gone_with_its_members(stage: Stage) -> None:
    team = join(stage, made(stage), stage.main)
    stage.do(lambda tx: teams.delete(tx, team))
    assert stage.read(lambda db: teams.find(db, team.id)) is None
    assert stage.event_types()[-1] == "team.deleted"
    assert made(stage).id != team.id


def test_a_message_is_for_all_but_its_sender_or_for_a_role(stage: Stage) -> None:
    team = made(stage)
    second, third = another(stage), another(stage)
    for address, role in ((stage.main, "lead"), (second, "tests"), (third, "docs")):
        team = join(stage, team, address, role)

    def receivers(role: str | None, sender: Address | None) -> list[Address]:
        return [one.address for one in team.receivers(role, sender)]

    assert receivers(None, stage.main) == [second, third]
    assert receivers("docs", stage.main) == [third]
    assert receivers(None, None) == [stage.main, second, third]
    with pytest.raises(UsageError) as raised:
        team.receivers("lead", stage.main)
    assert raised.value.hint == "There are: docs, tests."


def test_who_is_alone_in_a_team_is_told_so(stage: Stage) -> None:
    team = join(stage, made(stage), stage.main)
    with pytest.raises(UsageError, match="no other member"):
        team.receivers(None, stage.main)
