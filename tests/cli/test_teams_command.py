"""`roost teams`, on a team that agents have made."""

import json

from terminal_user import User

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, reply


def plays(request: Request) -> Reply:
    """A prompt in JSON is a call of the tool `team`."""
    if request.messages[-1].results:
        return reply("done")
    return reply(Call("team", json.loads(request.last_user_text)))


def session(user: User, title: str, **arguments: str) -> str:
    """A session that has called the tool `team` so."""
    given = json.dumps(arguments)
    done = user.run("run", "--format", "json", "--title", title, given)
    assert done.code == 0, done.err
    return str(done.result["session"])


def test_teams_are_listed_with_their_members(user: User) -> None:
    user.model.use(plays)
    none = user.call("teams")
    assert (none.code, none.out) == (0, "")
    assert "There are no teams in this project" in none.err
    first = session(user, "One", action="create", name="api", purpose="The API", role="lead")
    second = session(user, "Two", action="join", name="api", role="tests")
    head, team, *members = user.call("teams").out.splitlines()
    assert head.split() == ["TEAM", "ROLE", "AGENT", "STATE", "WHAT"]
    assert team.split() == ["api", "The", "API"]
    assert [line.split() for line in members] == [
        [first, "lead", "build", "One"],
        [second, "tests", "build", "Two"],
    ]
    (shown,) = json.loads(user.call("teams", "list", "--json").out)
    assert [one["role"] for one in shown["members"]] == ["lead", "tests"]
    elsewhere = user.folder.parent / "elsewhere"
    elsewhere.mkdir()
    assert user.call("teams", "--dir", str(elsewhere)).out == ""
    assert "api" in user.call("teams", "ls", "--dir", str(elsewhere), "--all").out
    assert user.call("sessions", "delete", second, "--yes").code == 0
    assert second not in user.call("teams").out
