"""What is written down in one session is known in the next, and what was said is found."""

import json
from typing import Any

from terminal_user import User

from scripted_model.scenario import Call, scenario
from scripted_model.server import ScriptedModel

APPEND = {"action": "append", "file": "project/MEMORY.md", "heading": "Ports"}


def sent(model: ScriptedModel) -> list[str]:
    """The bodies of the requests that were shown tools, in order."""
    return [one.request.body.decode() for one in model.requests if one.request.tools]


def configure(user: User, **more: Any) -> None:
    known = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(known | more)


def test_what_one_session_writes_down_the_next_one_is_told_of_and_finds(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario(Call("memory", {**APPEND, "text": "the 数据库 listens on 8080"}), "Done."))
    first = user.run("run", "remember the zebra port")
    assert first.code == 0, first.err
    before = sent(model)
    assert not any("This session has more than" in one for one in before)
    assert "# Memory\\n" not in before[0]
    model.use(
        scenario(
            Call("memory", {"action": "search", "query": "数据库"}),
            Call("history", {"action": "search", "query": "remember zebra"}),
            "It is 8080.",
        )
    )
    second = user.run("run", "which port?")
    assert second.code == 0, second.err
    asked = sent(model)[len(before) :]
    assert all(one.count("This session has more than") == 1 for one in asked)
    assert "1 file of memory" in asked[0]
    assert "- project/MEMORY.md: Ports" in asked[0]
    assert "the «数据库» listens on 8080" in asked[1]
    assert "«remember» the «zebra» port" in asked[2]


def test_with_writing_switched_off_nothing_is_kept_and_the_model_knows(
    user: User, model: ScriptedModel
) -> None:
    configure(user, memory={"disable_write": True})
    model.use(scenario(Call("memory", {**APPEND, "text": "x"}), "I could not."))
    assert user.run("run", "remember x").code == 0
    first, second = sent(model)
    assert "Writing memory is switched off here" in first
    assert "memory.disable_write is set" in second
    assert user.call("memory").out == ""


def test_a_plan_reads_memory_and_does_not_write_it(user: User, model: ScriptedModel) -> None:
    model.use(
        scenario(
            Call("memory", {**APPEND, "text": "x"}),
            Call("memory", {"action": "read"}),
            "Planned.",
        )
    )
    assert user.run("run", "--agent", "plan", "go").code == 0
    assert "denied" in sent(model)[1]
    assert "There is no memory" in sent(model)[2]


def test_memory_of_all_projects_needs_somebody_who_agrees(user: User, model: ScriptedModel) -> None:
    call = Call("memory", {**APPEND, "file": "global/MEMORY.md", "text": "x"})
    model.use(scenario(call, "No.", call, "Yes."))
    refused = user.run("run", "go").err
    assert "memory append global/MEMORY.md § Ports: x" in refused
    assert "writing to the memory file global/MEMORY.md needs approval" in refused
    assert user.call("memory").out == ""
    user.run("run", "--yes", "go")
    assert "global/MEMORY.md" in user.call("memory").out


def test_a_key_does_not_get_into_memory(user: User, model: ScriptedModel) -> None:
    key = user.environment["DEMO_API_KEY"]
    model.use(scenario(Call("memory", {**APPEND, "text": f"the key is {key}"}), "Done."))
    user.run("run", "go")
    shown = user.call("memory", "show").out
    assert "the key is [redacted: " in shown
    assert key not in shown


def test_history_is_found_from_the_command_line_until_its_session_is_deleted(
    user: User, model: ScriptedModel
) -> None:
    command = "echo connection-refused-4711"
    model.use(scenario(Call("bash", {"command": command}), "The 迁移脚本 failed."))
    assert user.run("run", "why is the port closed?").code == 0
    for words, kind in (("port", "user_text"), ("迁移", "assistant_text"), ("4711", "tool_input")):
        found = json.loads(user.call("history", "search", "--json", words).out)
        assert [one["kind"] for one in found] == [kind], words
    shown = user.call("history", "search", "迁移").out
    assert "The «迁移»脚本 failed." in shown
    assert user.call("history", "search", "--tool", "read", "4711").code == 1
    assert user.call("history", "search", "--since", "1d", "4711").code == 0
    assert user.call("history", "search", "--until", "2020-01-01", "4711").code == 1
    assert user.call("history", "search", "--kind", "tool_output", "4711").code == 0
    (session,) = json.loads(user.call("sessions", "--json").out)
    assert user.call("history", "search", "-s", session["id"], "port").code == 0
    assert user.call("sessions", "delete", "--yes", session["id"]).code == 0
    assert user.call("history", "search", "--all", "port").code == 1


def test_the_notes_of_a_session_go_with_it(user: User, model: ScriptedModel) -> None:
    call = {"action": "append", "file": "session/notes.md", "text": "zebra"}
    model.use(scenario(Call("memory", call), "Noted."))
    user.run("run", "go")
    assert user.call("memory", "search", "--all", "zebra").code == 0
    (session,) = json.loads(user.call("sessions", "--json").out)
    user.call("sessions", "delete", "--yes", session["id"])
    assert user.call("memory", "search", "--all", "zebra").code == 1
