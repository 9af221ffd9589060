"""The row of a session is deleted by another program while a turn runs in it."""

import sqlite3
import subprocess

import pytest
from household import Answer, Household

from scripted_model.scenario import Barrier, Call, Scenario, Text, scenario

pytestmark = pytest.mark.scenario
LAST = scenario([Text("half "), Barrier("gate"), Text("whole")], scope="server")
MORE = scenario(
    [Text("half "), Barrier("gate"), Call("bash", {"command": "echo it"})], "done", scope="server"
)


def delete(house: Household, *, whole: bool) -> None:
    """With all that belongs to it, or as a shell of SQLite does it: the one row alone."""
    (path,) = house.home.rglob("roost.db")
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA foreign_keys = {'ON' if whole else 'OFF'}")
    connection.execute("DELETE FROM session")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("script", [LAST, MORE], ids=["in the last step", "with more to come"])
@pytest.mark.parametrize("whole", [True, False], ids=["the whole session", "its row alone"])
def test_a_run_whose_session_is_deleted_fails_and_says_so(
    chat_house: Household, script: Scenario, whole: bool
) -> None:
    house = chat_house
    house.play(script)
    running = house.start("run", "--format", "json", "--yes", "--title", "it", "go")
    house.model.wait_for_barrier("gate")
    delete(house, whole=whole)
    house.model.release("gate")
    out, err = running.communicate(timeout=30)
    result = Answer(subprocess.CompletedProcess(running.args, running.returncode, out, err)).result
    assert running.returncode == 1, err
    assert (result["outcome"], result["exit"]) == ("failure", 1)
    assert "was deleted while it was at work" in result["error"]["data"]["message"]
    ended = house.rows("SELECT outcome, error FROM turn")
    assert len(ended) == (0 if whole else 1)
    assert all(row["outcome"] == "failure" and "was deleted" in row["error"] for row in ended)
    house.wait_until_nothing_lives()
