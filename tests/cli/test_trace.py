"""`roost trace`: turns that were really run, as a timeline, at any width, damaged or imported."""

import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from terminal_user import KEY, User, ended, read_until
from wcwidth import wcswidth

from scripted_model.scenario import (
    Barrier,
    Call,
    Finish,
    Reasoning,
    Scenario,
    Status,
    Text,
    Usage,
    When,
    scenario,
    step,
)

PROMPT = "Find out why 测试 fails,\nand \x1b[31msay so"


def rich() -> Scenario:
    """A turn in which much happens."""
    return scenario(
        [
            Reasoning("Let me see."),
            Text("I look first."),
            Call("bash", {"command": "echo one; exit 3", "description": "d"}),
            Call("read", {"filePath": "not-there.py"}),
            Usage(input=2_000, cache_read=1_500, output=60, reasoning=10),
        ],
        Status(500),
        [Text("half of it"), Finish("length")],
        "The \x1b[2Jother half.",
        scope="server",
    )


def quick(user: User) -> None:
    """Let failed calls be tried again at once."""
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    config["limits"] = {"retry_wait": 0.05}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(config)


def ran(user: User, script: Scenario | None = None, *words: str) -> dict[str, Any]:
    """A run; gives its result line."""
    quick(user)
    user.model.use(script or rich())
    done = user.run("run", "--yes", "--format", "json", *words, "--", PROMPT)
    return done.result


def lines(user: User, *words: str) -> list[dict[str, Any]]:
    """The timeline as JSON."""
    done = user.call("trace", "--format", "json", *words)
    assert done.code == 0, done.err
    return done.lines


def of(kind: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in found if line["type"] == kind]


def database(user: User) -> Path:
    (path,) = user.home.rglob("roost.db")
    return path


def change(user: User, sql: str, *values: Any) -> None:
    """Change the database behind the program's back."""
    with sqlite3.connect(database(user)) as connection:
        connection.execute(sql, values)
    connection.close()


def test_a_turn_is_told_in_the_order_in_which_it_happened(user: User) -> None:
    result = ran(user)
    found = lines(user)
    assert [line["type"] for line in found] == [
        "turn", "mail", "step", "tool", "tool", "step", "retry", "decision", "step", "outcome",
    ]  # fmt: skip
    head, mail = found[0], found[1]
    assert (head["turnID"], head["state"]) == (result["turn"], "success")
    assert head["models"] == ["test/scripted"]
    assert (mail["kind"], mail["sender"], mail["text"]) == ("prompt", "you", PROMPT)
    first = of("step", found)[0]
    assert first["tokens"] == {
        "input": 2_000, "cached": 1_500, "written": 0, "output": 60, "reasoning": 10,
    }  # fmt: skip
    assert 0 <= first["first"] <= first["answered"] <= first["seconds"]
    assert first["finish"] == "tool-calls"
    assert first["said"] == "I look first."
    bash, read = of("tool", found)
    assert (bash["tool"], bash["exit"], bash["step"]) == ("bash", 3, 1)
    assert bash["about"] == "echo one; exit 3"
    assert bash["bytes"] > 0
    assert (read["state"], "does not exist" in read["error"]) == ("error", True)
    (retry,) = of("retry", found)
    assert (retry["attempt"], retry["kind"]) == (1, "server")
    assert retry["wait"] > 0
    (decision,) = of("decision", found)
    assert (decision["policy"], decision["action"]) == ("length", "inject")
    assert (decision["used"], decision["limit"]) == (1, 3)
    assert "cut off" in decision["text"]
    assert found[-1]["outcome"] == "success"
    assert found[-1]["cost"] == pytest.approx(result["cost"])
    assert [line["at"] for line in found[1:]] == sorted(line["at"] for line in found[1:])


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_line_is_never_wider_than_the_terminal_and_moves_nothing(user: User, width: int) -> None:
    ran(user)
    done = user.call("trace", env={"COLUMNS": str(width)})
    shown = done.out.splitlines()
    assert max(wcswidth(line) for line in shown) <= width
    assert "\x1b" not in done.out
    assert len([line for line in shown if "▸ step" in line]) == 3


def test_columns_line_up(user: User) -> None:
    ran(user)
    shown = user.call("trace", env={"COLUMNS": "80"}).out.splitlines()
    head = next(line for line in shown if line.endswith("TOOK"))
    rows = [line for line in shown if "▸ step" in line or "·   bash" in line]
    ends = {wcswidth(line) for line in (*rows, head)}
    assert ends == {80}
    first = next(line for line in shown if "step 1" in line)
    at = head.index("CACHED") + len("CACHED")
    assert first[:at].endswith("75%")
    assert "exit 3" in next(line for line in shown if "·   bash" in line)


def test_a_turn_is_named_by_its_id_its_number_its_session_or_its_actor(user: User) -> None:
    first = ran(user, scenario("one"))
    second = ran(user, scenario("two"), "-c")
    session, turn = first["session"], first["turn"]
    assert second["session"] == session
    ways = [
        (turn,), (turn[:20],), ("1",), ("1", "-s", session), (f"{session}/main", "--all"),
    ]  # fmt: skip
    for words in ways:
        assert lines(user, *words)[0]["turnID"] == turn
    for words in ((), (session,), ("-s", session[:12]), ("--actor", "main"), (f"{session}/main",)):
        assert lines(user, *words)[0]["turnID"] == second["turn"]
    assert [line["number"] for line in of("turn", lines(user, "--all"))] == [1, 2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trn_0000000000",), "there is no turn trn_0000000000"),
        (("trn_",), "too short"),
        (("7",), "has no turn 7"),
        (("--actor", "mian"), "Did you mean main?"),
        (("ses_nowhere",), "there is no session ses_nowhere"),
        (("--follow", "--all"), "--follow shows one turn"),
    ],
)
def test_what_is_not_there_is_said(user: User, words: tuple[str, ...], said: str) -> None:
    ran(user, scenario("one"))
    done = user.call("trace", *words)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_children_are_summed_up_and_can_be_opened(user: User) -> None:
    brief = {
        "action": "run", "subagent_type": "explore", "description": "Find it", "prompt": "LOOK",
    }  # fmt: skip
    ran(
        user,
        scenario(
            step("found it", when=When(user="LOOK")),
            Call("actor", {"operation": brief}),
            "done",
            scope="server",
        ),
    )
    (child,) = of("child", lines(user))
    assert (child["actorID"], child["state"], child["steps"]) == ("explore-1", "success", 1)
    assert child["description"] == "Find it"
    shown = user.call("trace").out
    assert f"roost trace {child['turnID']}" in shown
    own = lines(user, child["turnID"])
    assert own[0]["parent"].endswith("/main")
    assert own[1]["kind"] == "brief"
    both = of("turn", lines(user, "1", "--all"))
    assert [line["actorID"] for line in both] == ["main", "explore-1"]


def test_a_running_turn_of_another_process_is_followed_to_its_end(user: User) -> None:
    user.model.use(
        scenario(
            [Call("bash", {"command": "echo one", "description": "d"})],
            [Barrier("middle"), Text("the end")],
        )
    )
    run = user.start("run", "--yes", "--format", "json", "--", PROMPT)
    user.model.wait_for_barrier("middle")
    watch = user.start("trace", "--follow", "--format", "json")
    assert watch.stdout is not None
    seen = read_until(watch.stdout, '"type":"tool"')
    assert '"state":"running"' in seen
    assert '"type":"outcome"' not in seen
    user.model.release("middle")
    assert ended(run).code == 0
    rest = ended(watch)
    assert rest.code == 0
    whole = [json.loads(line) for line in (seen + rest.out).splitlines()]
    assert [line["type"] for line in whole] == [
        "turn", "mail", "step", "tool", "step", "outcome",
    ]  # fmt: skip
    assert whole[-1]["steps"] == 2
    assert whole[-1]["tokens"]["output"] > 0


def test_a_turn_whose_process_was_killed_is_lost_and_not_waited_for(user: User) -> None:
    user.model.use(scenario([Barrier("middle"), Text("never")]))
    run = user.start("run", "--yes", "--", PROMPT)
    user.model.wait_for_barrier("middle")
    run.kill()
    run.communicate()
    done = user.run("trace", "--follow")
    assert done.code == 0
    assert "lost" in done.out
    user.model.release("middle")


def test_damaged_rows_are_told_and_hide_nothing_else(user: User) -> None:
    ran(user)
    change(user, "UPDATE part SET data = '{' WHERE type = 'tool' AND seq = 4")
    change(user, "UPDATE turn_trace SET data = 'x' WHERE seq = 1")
    change(user, "UPDATE turn SET budgets = '{', steps = 'many'")
    change(user, "UPDATE turn_trace SET at = 'then' WHERE seq = 2")
    change(user, "UPDATE inbox SET body = '[]', delivered = 'now' WHERE kind = 'prompt'")
    change(user, "UPDATE message SET data = '{' WHERE seq = (SELECT max(seq) FROM message)")
    found = lines(user)
    assert "steps, budgets cannot be read" in found[0]["damage"]
    assert of("mail", found)[0]["damage"] is True
    assert len(of("step", found)) == 3
    assert "damaged" in of("step", found)[2]["error"]
    assert [one["tool"] for one in of("tool", found)] == ["unreadable", "read"]
    assert len(of("damaged", found)) == 1
    assert of("decision", found)
    assert user.call("trace").code == 0


def test_a_session_that_was_imported_is_told_from_its_messages(user: User) -> None:
    session = ran(user)["session"]
    ran(user, scenario("two"), "-c")
    document = user.call("sessions", "export", session).out
    new = user.call("sessions", "import", "-", "--new-id", given=document).out.strip()
    found = lines(user, new, "--all")
    heads = of("turn", found)
    assert [head["number"] for head in heads] == [1, 2]
    assert heads[0].get("turnID", "") == ""
    assert heads[0]["steps"] == 3
    assert [one["kind"] for one in of("mail", found)] == ["prompt", "system", "prompt"]
    assert len(of("tool", found)) == 2
    assert lines(user, new)[0]["number"] == 2
    assert lines(user, "1", "-s", new)[0]["number"] == 1
    assert "imported" in user.call("trace", new).out


def test_no_key_is_shown_whichever_way(user: User) -> None:
    other = "canary-of-the-config-0001"
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    config["provider"]["test"]["options"]["headers"] = {"x-own": other}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(config)
    command = {"command": f"echo {KEY} {other}", "description": "d"}
    ran(user, scenario(Call("bash", command), f"it is {KEY} and {other}"))
    for words in ((), ("--format", "json"), ("--all",)):
        done = user.call("trace", *words)
        assert done.code == 0
        assert KEY not in done.out
        assert other not in done.out
        assert "[redacted]" in done.out


def test_a_permission_that_was_asked_is_told_with_its_answer(user: User) -> None:
    session = ran(user)["session"]
    turn = lines(user)[0]["turnID"]
    request = {"permission": "edit", "patterns": ["a.py"]}
    change(
        user,
        "INSERT INTO ask (id, session_id, actor_id, turn_id, kind, request, state, answer,"
        " created, answered) VALUES ('per_1', ?, 'main', ?, 'permission', ?, 'answered', ?, ?, ?)",
        session,
        turn,
        json.dumps(request),
        json.dumps({"reply": "reject", "message": "not this one"}),
        1_000,
        3_500,
    )
    (ask,) = of("ask", lines(user))
    assert (ask["about"], ask["state"], ask["text"]) == ("edit a.py", "reject", "not this one")
    assert ask["seconds"] == 2.5
    assert "edit a.py → reject: not this one" in user.call("trace", env={"COLUMNS": "120"}).out


def test_hooks_and_what_they_said_are_told(user: User) -> None:
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    refuse = "import sys; print('look again', file=sys.stderr); sys.exit(2)"
    once = f'test -e once || {{ touch once; {sys.executable} -c "{refuse}"; }}'
    config["hook"] = {"checks": {"on": "actor.pre_stop", "command": once}}
    config["hook"]["checks"]["matcher"] = {"agent": ["build"]}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(config)
    user.model.use(scenario("one", "two"))
    user.run("run", "--yes", "--", PROMPT)
    found = lines(user)
    hooks = of("hook", found)
    assert hooks, found
    assert (hooks[0]["name"], hooks[0]["on"]) == ("checks", "actor.pre_stop")
    assert hooks[0]["answer"] == "continue"
    assert "look again" in hooks[0]["text"]
    (decision,) = of("decision", found)
    assert decision["policy"] == "hooks: before the end"


def test_a_pipe_that_nobody_reads_ends_it_quietly(user: User) -> None:
    ran(user)
    reader, writer = os.pipe()
    os.close(reader)
    process = user.start("trace", "--all", stdout=writer)
    os.close(writer)
    done = ended(process)
    assert done.code == 141
    assert done.err == ""
