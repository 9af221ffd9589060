"""A kill -9 while a session with a working tree of its own is made: after a restart there are both,
or nothing of either.
"""

import subprocess
from pathlib import Path

import pytest
from household import Household
from invariants import assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, reply

pytestmark = pytest.mark.scenario
ORCHESTRATE = ("--agent", "orchestrator")
POINTS = [
    "worktree.made",
    "worktree.noted",
    "worktree.branched",
    "worktree.added",
    "isolate.made",
    "spawn.before",
    "spawn.registered",
    "spawn.briefed",
    "isolate.stored",
]


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(chat_house: Household) -> Household:
    git(chat_house.project, "init", "-q", "-b", "main")
    chat_house.write("a.txt", "one\n")
    git(chat_house.project, "add", "-A")
    git(chat_house.project, "commit", "-qm", "first")
    return chat_house


def play(request: Request) -> Reply:
    said = "\n".join(request.user_texts)
    if "do your part" in said and "Direct" not in said:
        return reply("Done.")
    if all(message.role != "assistant" for message in request.messages):
        order = {"action": "create", "task": "do your part", "title": "part", "isolate": True}
        return reply(Call("session", {"operation": order}))
    return reply("Well.")


def trees(house: Household) -> set[str]:
    return {str(one) for one in (house.home / "data" / "worktrees").glob("*/*")}


def branches(house: Household) -> set[str]:
    return set(
        git(house.project, "branch", "--format=%(refname:short)", "--list", "roost/*").split()
    )


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_leaves_a_session_with_its_tree_or_nothing(
    repository: Household, point: str
) -> None:
    house = repository
    house.play(play)
    killed = house.run("run", "--yes", *ORCHESTRATE, "Direct.", ROOST_FAILPOINT=f"{point}=kill")
    assert killed.returncode == -9, (point, killed.stderr)
    (head,) = house.rows("SELECT id FROM session WHERE parent_id IS NULL")
    again = house.prompt("Go on.", "-s", head["id"])
    assert again.code == 0, again.err
    made = house.rows(
        "SELECT s.directory, p.worktree, p.branch FROM peer p JOIN session s ON s.id = p.session_id"
    )
    assert len(made) == (1 if point == "isolate.stored" else 0)
    assert {row["worktree"] for row in made} == trees(house)
    assert {row["branch"] for row in made} == branches(house)
    listed = git(house.project, "worktree", "list", "--porcelain").count("worktree ")
    assert listed == 1 + len(made)
    assert not list((house.home / "state").rglob("*.making"))
    assert_sound(house)
