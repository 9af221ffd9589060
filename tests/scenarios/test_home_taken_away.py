"""The folder with everything that Roost keeps goes away below a run."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from household import Answer, Household

from scripted_model.scenario import Barrier, Call, Scenario, Text, scenario

pytestmark = pytest.mark.scenario
WAITING = scenario(Barrier("gate"), "done", scope="server")
STREAMING = scenario([Text("half "), Barrier("gate"), Text("whole")], scope="server")
TOUCHED = "touch began; sleep 1"


@pytest.mark.parametrize(
    ("script", "began"),
    [
        (WAITING, ""),
        (STREAMING, ""),
        (scenario(Call("bash", {"command": TOUCHED}), "done", scope="server"), "began"),
    ],
    ids=["before the answer", "in the middle of the answer", "while a tool runs"],
)
@pytest.mark.parametrize("form", ["json", "default"])
def test_a_run_whose_home_is_taken_away_fails_and_says_so(
    chat_house: Household, script: Scenario, began: str, form: str
) -> None:
    house = chat_house
    house.play(script)
    running = house.start("run", "--format", form, "--yes", "go")
    if began:
        _wait_for(house.project / began)
    else:
        house.model.wait_for_barrier("gate")
    shutil.rmtree(house.home)
    if not began:
        house.model.release("gate")
    out, err = running.communicate(timeout=30)
    assert running.returncode == 1, err
    assert not list(house.home.rglob("roost.db"))
    if form == "json":
        result = Answer(subprocess.CompletedProcess(running.args, 1, out, err)).result
        assert (result["outcome"], result["exit"]) == ("failure", 1)
        said = result["error"]["data"]["message"]
    else:
        said = err
    assert said.count("was removed or replaced while it was in use") == 1
    house.wait_until_nothing_lives()


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.02)
