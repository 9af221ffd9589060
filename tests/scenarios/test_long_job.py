"""One job of thirty steps that uses every tool, in each dialect."""

import sys

from household import Household
from invariants import assert_plain, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Piece, Reasoning, Reply, Text, reply, scenario

PATCH = """*** Begin Patch
*** Update File: calc.py
@@
-def double(x):
+def twice(x):
*** Add File: notes/plan.md
+# Plan
*** End Patch"""

STEPS: list[list[Piece]] = [
    [Reasoning("Look around first."), Call("glob", {"pattern": "**/*.py"})],
    [Call("read", {"filePath": "calc.py"}), Call("grep", {"pattern": "def ", "path": "."})],
    [Call("task", {"action": "create", "summary": "mend add"})],
    [Call("task", {"action": "start", "id": "T1"})],
    [Call("bash", {"command": f"{sys.executable} -B check.py", "description": "run the check"})],
    [Call("edit", {"filePath": "calc.py", "oldString": "a - b", "newString": "a + b"})],
    [Call("bash", {"command": f"{sys.executable} -B check.py", "description": "check again"})],
    [Call("write", {"filePath": "docs/new.md", "content": "# New\n\nText with ü and 漢字.\n"})],
    [Call("read", {"filePath": "docs/new.md"}), Call("read", {"filePath": "docs"})],
    [Call("edit", {"filePath": "calc.py", "oldString": "double", "newString": "twice"})],
    [Call("webfetch", {"url": "http://127.0.0.1:9/", "format": "text"})],
    [
        Call(
            "question",
            {
                "questions": [
                    {
                        "question": "Which?",
                        "header": "Choice",
                        "options": [{"label": "A", "description": "first"}],
                    }
                ]
            },
        )
    ],
    [Call("bash", {"command": "printf ''", "description": "silent"})],
    [Call("bash", {"command": "exit 3", "description": "fail"})],
    [Call("read", {"filePath": "missing.py"})],
    [Call("task", {"action": "done", "id": "T1"}), Call("task", {"action": "list"})],
    *[[Text(f"Step {n}."), Call("bash", {"command": f"echo {n}"})] for n in range(13)],
]


LAST = "All thirty steps are done."


def test_a_job_of_thirty_steps_uses_every_tool_and_changes_exactly_what_it_should(
    house: Household,
) -> None:
    house.write(
        "calc.py", "def add(a, b):\n    return a - b\n\n\ndef double(x):\n    return 2 * x\n"
    )
    house.write("check.py", "from calc import add\nassert add(1, 2) == 3\nprint('fine')\n")
    house.play(scenario(*STEPS, LAST, scope="server"))
    answer = house.prompt("Mend it.", "--model", "test/scripted")
    assert (answer.code, answer.text) == (0, LAST), answer.err
    assert len(house.model.requests) == 30
    tools = answer.tools()
    edits = [part["state"]["status"] for part in tools if part["tool"] == "edit"]
    assert edits == ["completed", "completed"]
    assert (house.project / "calc.py").read_text() == (
        "def add(a, b):\n    return a + b\n\n\ndef twice(x):\n    return 2 * x\n"
    )
    assert (house.project / "docs/new.md").read_text() == "# New\n\nText with ü and 漢字.\n"
    outputs = [part["state"].get("output", "") for part in tools if part["tool"] == "bash"]
    assert "AssertionError" in outputs[0]
    assert "fine" in outputs[1]
    errors = {part["tool"] for part in tools if part["state"]["status"] == "error"}
    assert errors == {"webfetch", "question", "read"}
    assert_sound(house)


def test_a_model_that_knows_patches_gets_them_instead_of_edits(house: Household) -> None:
    models = house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = models["scripted"]
    house.write("calc.py", "def double(x):\n    return 2 * x\n")
    house.play(scenario(Call("apply_patch", {"patchText": PATCH}), "patched", scope="server"))
    answer = house.prompt("Rename it.", "--model", "test/gpt-scripted")
    assert (answer.code, answer.text) == (0, "patched"), answer.err
    assert (house.project / "calc.py").read_text() == "def twice(x):\n    return 2 * x\n"
    assert (house.project / "notes/plan.md").read_text() == "# Plan\n"
    assert "edit" not in house.model.requests[0].request.tool_names
    assert_sound(house)


def test_a_session_goes_on_with_the_model_it_was_last_asked_with(chat_house: Household) -> None:
    house = chat_house
    models = house.config["provider"]["test"]["models"]
    models["gpt-scripted"] = models["scripted"]
    house.play(scenario("one", "two", scope="server"))
    house.prompt("One.", "--model", "test/gpt-scripted")
    house.prompt("Two.", "--continue")
    assert [record.model for record in house.model.requests] == ["gpt-scripted", "gpt-scripted"]
    assert_sound(house)


def test_an_agent_can_send_fields_of_its_own(chat_house: Household) -> None:
    house = chat_house
    house.config["agent"] = {"build": {"options": {"seed": 7}}}
    house.play(scenario("one", scope="server"))
    assert house.prompt("One.").text == "one"
    assert house.model.requests[0].request.json["seed"] == 7


def test_plain_output_is_the_answer_and_holds_no_control_codes(house: Household) -> None:
    nasty = "\x1b]0;owned\x07 title \x1b[2J \x9b31m done \u202e"
    house.write("evil.txt", f"line {nasty}\n")
    house.play(lambda request: play_evil(request, nasty))
    done = house.run("run", "--yes", "Say it.")
    assert done.returncode == 0, done.stderr
    assert_plain(done.stdout.replace("\n", ""))
    assert_plain(done.stderr.replace("\n", ""))
    assert "title" in done.stdout
    assert_sound(house)


def play_evil(request: Request, nasty: str) -> Reply:
    if any(message.role == "assistant" for message in request.messages):
        return reply([Text(nasty)])
    return reply(
        [Call("bash", {"command": "cat evil.txt"}), Call("read", {"filePath": "evil.txt"})]
    )
