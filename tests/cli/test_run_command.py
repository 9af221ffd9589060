"""`roost run` as a whole: a prompt goes in, an answer comes out, and the exit code tells."""

import base64
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from terminal_user import KEY, ROOST, User, ended, read_until

from roost.cli.run.stopping import EXIT_CODES
from scripted_model.picture import Request
from scripted_model.scenario import (
    Barrier,
    Call,
    Drop,
    Reasoning,
    Reply,
    Status,
    Text,
    reply,
    scenario,
    step,
)
from scripted_model.server import ScriptedModel

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_the_answer_alone_goes_to_stdout(user: User, model: ScriptedModel) -> None:
    model.use(scenario(Call("read", {"filePath": "a.txt"}), "It says **hi**.\n\nThat is all."))
    (user.folder / "a.txt").write_text("hi\n")
    done = user.run("run", "what", "does it say?")
    assert done.code == 0, done.err
    assert done.out == "It says **hi**.\n\nThat is all.\n"
    assert "> build · test/scripted" in done.err
    assert "→ read a.txt" in done.err
    assert "2 steps" in done.err
    assert "go on with: roost run -s ses_" in done.err
    assert "\x1b" not in done.out + done.err


def test_json_lines_have_the_shape_of_opencode_and_end_with_the_result(
    user: User, model: ScriptedModel
) -> None:
    model.use(
        scenario([Reasoning("hm"), Text("Looking."), Call("bash", {"command": "echo x"})], "done")
    )
    done = user.run("run", "--format", "json", "--yes", "--thinking", "go")
    assert done.code == 0, done.err
    assert done.kinds() == [
        "step_start", "reasoning", "text", "tool_use", "step_finish",
        "step_start", "text", "step_finish", "result",
    ]  # fmt: skip
    call = done.lines[3]["part"]
    assert call["tool"] == "bash"
    assert call["state"]["status"] == "completed"
    session = done.result["session"]
    assert {line["sessionID"] for line in done.lines} == {session}
    assert done.result["outcome"] == "success"
    assert done.result["actor"] == "main"
    assert done.result["text"] == "done"
    assert done.result["usage"]["steps"] == 2
    assert done.result["usage"]["tokens"]["input"] > 0
    assert done.result["cost"] > 0
    assert done.result["error"] is None
    assert "hm" not in user.run("run", "--format", "json", "again").out


def test_text_streams_while_the_model_still_speaks(user: User, model: ScriptedModel) -> None:
    model.use(scenario([Text("early "), Barrier("wait"), Text("late")]))
    process = user.start("run", "go")
    assert process.stdout is not None
    assert read_until(process.stdout, "early") == "early "
    model.release("wait")
    assert ended(process).out == "late\n"


def test_an_answer_in_a_file_is_whole_although_the_stream_broke(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario([Text("half an answer"), Drop()], "the whole answer"))
    path = user.folder / "answer.md"
    with path.open("w") as file:
        done = user.run("run", "go", stdout=file)
    assert done.code == 0, done.err
    assert path.read_text() == "the whole answer\n"


def test_in_one_file_all_stands_in_the_order_in_which_it_happened(
    user: User, model: ScriptedModel
) -> None:
    model.use(
        scenario(
            [Text("I look."), Call("bash", {"command": "ls"}), Call("glob", {"pattern": "*"})],
            [Text("It is em"), Drop()],
            "It is empty.",
        )
    )
    path = user.folder.parent / "log.txt"
    with path.open("w") as file:
        done = user.run("run", "go", stdout=file, stderr=subprocess.STDOUT)
    assert done.code == 0
    lines = [line for line in path.read_text().splitlines() if "trying again" not in line]
    assert lines[:9] == [
        "> build · test/scripted",
        "I look.",
        "$ ls",
        '✱ glob "*"  0 found',
        "",
        "It is em",
        "the answer was cut off; what follows replaces the text above",
        "",
        "It is empty.",
    ]
    assert lines[9].startswith("ses_")


def test_a_retry_is_told(user: User, model: ScriptedModel) -> None:
    model.use(scenario(Status(429, {"retry-after": "0"}), "pong"))
    done = user.run("run", "ping")
    assert done.out == "pong\n"
    assert "trying again" in done.err


def test_what_is_piped_in_is_added_to_the_prompt(user: User, model: ScriptedModel) -> None:
    model.use(lambda request: reply(request.last_user_text))
    done = user.run("run", "review this", given="the change\n")
    assert done.out == "review this\n\nthe change\n"
    assert user.run("run", given="only this\n").out == "only this\n"


def test_a_pipe_that_nobody_closes_does_not_hang_the_run(user: User, model: ScriptedModel) -> None:
    model.use(scenario("fine"))
    reading, writing = os.pipe()
    try:
        done = ended(user.start("run", "go", stdin=reading), timeout=20)
    finally:
        os.close(reading)
        os.close(writing)
    assert done.code == 0
    assert done.out == "fine\n"


@pytest.mark.parametrize("words", [["run"], ["run", "  "], ["run", "", "--format", "json"]])
def test_a_prompt_that_says_nothing_is_wrong_usage(user: User, words: list[str]) -> None:
    done = user.run(*words)
    assert done.code == 2
    assert "error: there is no prompt" in done.err
    assert not (user.home / "data" / "roost.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-m", "nobody/x"], "there is no provider 'nobody'"),
        (["-m", "scripted"], "names no provider"),
        (["--agent", "zebra"], "there is no agent 'zebra'"),
        (["--agent", "explore"], "'explore' is a subagent and cannot be talked to"),
        (["-s", "ses_0"], "there is no session ses_0"),
        (["-s", ""], "--session names none"),
        (["-c"], "there is no session of"),
        (["-f", "gone.txt"], "gone.txt cannot be attached"),
        (["--dir", "gone"], "gone is not a folder"),
        (["-c", "--title", "x"], "--title is for a new session"),
    ],
)
def test_what_cannot_be_meant_ends_with_2_and_leaves_no_session(
    user: User, words: list[str], said: str
) -> None:
    done = user.run("run", "--format", "json", *words, "hello")
    assert done.code == 2, done.err
    assert said in done.err
    assert done.kinds() == ["error", "result"]
    assert said in done.lines[0]["error"]["data"]["message"]
    assert done.result["exit"] == 2
    assert done.result["session"] is None
    assert "Traceback" not in done.err
    listed = user.call("sessions", "list", "--all", "--format", "json")
    assert listed.out.strip() == "[]"


def test_a_session_that_is_not_there_is_told_with_those_that_may_be_meant(
    user: User, model: ScriptedModel
) -> None:
    model.use(lambda _: reply("fine"))
    session = user.run("run", "--format", "json", "--title", "the parser", "go").result["session"]
    line = f"{session}  the parser"
    mistyped = session[:10] + "x" + session[11:]
    for word in (mistyped, mistyped.removeprefix("ses_"), "parser"):
        done = user.run("run", "-s", word, "go on")
        assert done.code == 2
        assert f"there is no session {word}\n  Did you mean one of these?\n  {line}\n" in done.err
    done = user.run("run", "-s", session, "--dir", str(user.home), "go on")
    assert done.code == 2
    assert f"{session} works in {user.folder}" in done.err
    assert user.run("run", "-s", session, "--dir", ".", "go on").code == 0


@pytest.mark.parametrize("agent", ["zebra", "explore"])
def test_who_names_an_agent_that_cannot_be_meant_reads_which_ones_can(
    user: User, agent: str
) -> None:
    err = user.run("run", "--agent", agent, "hello").err
    assert (
        "There are: build, orchestrator, plan. These start as subagents: explore, general." in err
    )


def test_a_variant_that_a_model_is_known_not_to_have_is_refused_with_the_choices(
    user: User, model: ScriptedModel
) -> None:
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    models = config["provider"]["test"]["models"]
    models["thinker"] = {"variants": {"deep": {"reasoningEffort": "high"}}}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(config)
    done = user.run("run", "-m", "test/thinker", "--variant", "deap", "hello")
    assert done.code == 2
    assert (
        "error: test/thinker has no variant 'deap'\n  Did you mean `deep`? There are: " in done.err
    )
    assert model.requests == []
    model.use(lambda _: reply("fine"))
    for variant in ("deep", "low"):
        assert user.run("run", "-m", "test/thinker", "--variant", variant, "hello").code == 0
    assert [one.request.options["reasoning_effort"] for one in model.requests] == ["high", "low"]


def test_a_key_that_is_not_set_is_said_once(user: User) -> None:
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    provider = config["provider"]["test"]
    del provider["env"]
    provider["options"]["apiKey"] = "{env:NOT_SET}"
    config["provider"]["other"] = {
        "options": {"baseURL": "http://[::1]:9", "apiKey": "{env:NOR_ME}"}
    }
    done = user.run("run", "hello", env={"ROOST_CONFIG_CONTENT": json.dumps(config)})
    assert done.code == 2
    assert done.err.count("variable NOT_SET is not set") == 1
    assert "error: the key of test is missing: the variable NOT_SET is not set" in done.err
    assert done.err.count("variable NOR_ME is not set") == 1


def test_a_broken_configuration_ends_with_2(user: User) -> None:
    done = user.run("run", "hello", env={"ROOST_CONFIG_CONTENT": '{"model": 7}'})
    assert done.code == 2
    assert "ROOST_CONFIG_CONTENT" in done.err
    assert done.out == ""


def test_a_refused_key_is_a_failure(user: User, model: ScriptedModel) -> None:
    model.use(scenario(Status(401), default="unused"))
    done = user.run("run", "--format", "json", "hello")
    assert done.code == 1
    assert done.kinds()[-2:] == ["error", "result"]
    assert done.result["error"]["name"] == "ProviderAuthError"
    assert done.result["outcome"] == "failure"
    model.use(scenario(Status(401)))
    text = user.run("run", "hello")
    assert text.code == 1
    assert "error: " in text.err


def test_a_limit_of_steps_ends_with_3(user: User, model: ScriptedModel) -> None:
    looking = step(Call("glob", {"pattern": "*"}), times=2)
    model.use(scenario(looking, "I got this far."))
    done = user.run("run", "--format", "json", "--max-steps", "2", "hello")
    assert done.code == 3, done.err
    assert done.result["error"]["name"] == "LimitError"
    assert "I got this far." in done.out


def test_the_time_limit_ends_with_124_and_keeps_the_text(user: User, model: ScriptedModel) -> None:
    model.use(scenario([Text("so far so good"), Barrier("never")], "went on"))
    done = user.run("run", "--time-limit", "1.5", "hello")
    assert done.code == 124, done.err
    assert done.out == "so far so good\n"
    assert "error: the time limit is reached" in done.err
    again = user.run("run", "-c", "go on")
    assert again.code == 0, again.err
    assert again.out == "went on\n"


def test_without_a_person_an_ask_is_a_denial_that_names_yes(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario(Call("bash", {"command": "touch made.txt"}), "as you like"))
    done = user.run("run", "make it")
    assert done.code == 0, done.err
    assert "✗ touch made.txt: " in done.err
    assert "✗ touch made.txt: running `touch made.txt` needs approval" in done.err
    assert "1 call was refused. --yes allows" in done.err
    assert " · 1 call refused · " in done.err
    assert not (user.folder / "made.txt").exists()
    model.use(scenario(Call("bash", {"command": "touch made.txt"}), "as you like"))
    done = user.run("run", "--yes", "make it")
    assert "$ touch made.txt" in done.err
    assert (user.folder / "made.txt").exists()
    assert "refused" not in done.err


def test_the_advice_of_a_refused_delete_names_its_permission_and_the_rule_works(
    user: User, model: ScriptedModel
) -> None:
    delete = scenario(Call("bash", {"command": "rm notes.txt"}), "as you like")
    (user.folder / "notes.txt").write_text("mine")
    model.use(delete)
    assert "a rule that names `bash_delete` under `permission`" in user.run("run", "rm it").err
    assert (user.folder / "notes.txt").exists()
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    config["permission"] = {"bash_delete": {"rm *.txt": "allow"}}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(config)
    model.use(delete)
    assert "refused" not in user.run("run", "rm it").err
    assert not (user.folder / "notes.txt").exists()


def test_what_yes_does_not_cover_is_not_blamed_on_its_absence(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario(Call("bash", {"command": "pkill no-such-program"}), "as you like"))
    done = user.run("run", "--yes", "--format", "json", "end it")
    (call,) = (line["part"] for line in done.lines if line["type"] == "tool_use")
    assert "--yes does not cover this" in call["state"]["error"]
    assert "`bash_process_kill`" in call["state"]["error"]
    model.use(scenario(Call("bash", {"command": "pkill no-such-program"}), "as you like"))
    done = user.run("run", "--yes", "end it")
    assert "1 call was refused. --yes does not cover" in done.err
    assert " · 1 call refused · " in done.err


def test_files_folders_and_images_go_along(user: User, model: ScriptedModel) -> None:
    (user.folder / "notes.txt").write_text("remember the milk")
    (user.folder / "pictures").mkdir()
    (user.folder / "pictures" / "dot.png").write_bytes(PNG)
    seen: list[str] = []

    def look(request: Request) -> Reply:
        seen.append(request.all_text)
        return reply("seen")

    model.use(look)
    done = user.run(
        "run", "-f", "notes.txt", "-f", "pictures", "-f", "pictures/dot.png", "look at these"
    )
    assert done.code == 0, done.err
    assert "remember the milk" in seen[-1]
    assert "dot.png" in seen[-1]


def test_an_image_that_the_model_will_not_see_is_told_with_the_setting_for_it(
    user: User, model: ScriptedModel
) -> None:
    model.use(lambda _: reply("seen"))
    (user.folder / "dot").write_bytes(PNG)
    blind = _changed(user, lambda entry: entry["models"]["scripted"].pop("modalities"))
    done = user.run("run", "-f", "dot", "look", env=blind)
    assert done.code == 0, done.err
    said = "warning: dot is left out: test/scripted is not known to read images."
    setting = 'provider.test.models.scripted.modalities.input = ["text", "image"]'
    assert said in done.err
    assert setting in done.err
    told = user.run("run", "--format", "json", "-f", "dot", "look", env=blind)
    assert [line for line in told.result["warnings"] if said in line and setting in line]
    assert "warning" not in user.run("run", "-f", "dot", "look").err


def test_a_limit_in_dollars_wants_a_price(user: User, model: ScriptedModel) -> None:
    unpriced = _changed(user, lambda entry: entry["models"]["scripted"].pop("cost"))
    done = user.run("run", "--max-cost", "1", "hello", env=unpriced)
    assert done.code == 2
    assert 'provider.test.models.scripted.cost = {"input": 1, "output": 2}' in done.err
    assert not model.requests
    free = _changed(user, lambda entry: entry["models"]["scripted"].update(cost={"input": 0}))
    model.use(lambda _: reply("ok"))
    assert user.run("run", "--max-cost", "1", "hello", env=free).code == 0


def test_a_key_whose_variable_is_not_set_ends_with_2_before_any_call(
    user: User, model: ScriptedModel
) -> None:
    del user.environment["DEMO_API_KEY"]
    done = user.run("run", "--format", "json", "hello")
    assert done.code == 2
    assert "the variable DEMO_API_KEY is not set" in done.result["error"]["data"]["message"]
    assert "provider.test.options.apiKey = {env:DEMO_API_KEY} in ROOST_CONFIG_CONTENT" in done.err
    assert not model.requests


def test_an_endpoint_that_is_not_there_is_given_up_soon_with_what_to_check(user: User) -> None:
    nowhere = _changed(user, lambda entry: entry["options"].update(baseURL="http://127.0.0.1:1/v1"))
    config = json.loads(nowhere["ROOST_CONFIG_CONTENT"]) | {"limits": {"retry_wait": 0.01}}
    done = user.run("run", "hello", env={"ROOST_CONFIG_CONTENT": json.dumps(config)})
    assert done.code == 1
    assert "(attempt 2 of 6)" in done.err
    error = done.err.partition("error: ")[2].split("\n")
    assert error[0] == (
        "test cannot be reached at http://127.0.0.1:1/v1: connection refused"
        " (gave up after 6 tries)"
    )
    assert error[1] == (
        "  The address is set by provider.test.options.baseURL in ROOST_CONFIG_CONTENT."
    )


def _changed(user: User, change: Callable[[dict[str, Any]], object]) -> dict[str, str]:
    """The environment with another entry of the provider."""
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    change(config["provider"]["test"])
    return {"ROOST_CONFIG_CONTENT": json.dumps(config)}


def test_continue_takes_the_last_session_of_this_folder(user: User, model: ScriptedModel) -> None:
    model.use(lambda request: reply(f"heard {request.last_user_text}"))
    first = user.run("run", "--format", "json", "--title", "My title", "one").result["session"]
    elsewhere = user.folder / "other"
    elsewhere.mkdir()
    other = user.run("run", "--format", "json", "--dir", "other", "two").result["session"]
    assert other != first
    assert user.run("run", "--format", "json", "-c", "three").result["session"] == first
    assert user.run("run", "--format", "json", "-s", other, "four").result["session"] == other
    shown = user.call("sessions", "show", first).out
    assert "My title" in shown
    assert "heard three" in shown
    assert "heard four" not in shown


def test_a_repository_is_not_trusted_unless_that_is_said(user: User, model: ScriptedModel) -> None:
    (user.folder / "roost.json").write_text('{"permission": {"bash": "allow"}}')
    model.use(scenario(Call("bash", {"command": "touch made.txt"}), "ok"))
    done = user.run("run", "make it")
    assert "not in force until you trust them (permission)" in done.err
    assert not (user.folder / "made.txt").exists()
    model.use(scenario(Call("bash", {"command": "touch made.txt"}), "ok"))
    done = user.run("run", "--trust", "make it")
    assert done.code == 0
    assert "until you trust" not in done.err
    assert (user.folder / "made.txt").exists()


def test_what_is_trusted_is_the_repository_of_the_session(user: User, model: ScriptedModel) -> None:
    other = user.home.parent / "other"
    other.mkdir()
    (other / "roost.json").write_text('{"permission": {"bash": "allow"}}')
    model.use(lambda _: reply("fine"))
    made = user.run("run", "--format", "json", "--dir", str(other), "look")
    model.use(scenario(Call("bash", {"command": "touch made.txt"}), "ok"))
    done = user.run("run", "-s", made.result["session"], "--trust", "make it")
    assert "until you trust" not in done.err
    assert (other / "made.txt").exists()


def test_keys_are_in_no_log_and_in_no_output(user: User, model: ScriptedModel) -> None:
    model.use(scenario(Status(401), Call("bash", {"command": "env"}), "ok"))
    first = user.run("run", "--print-logs", "--log-level", "DEBUG", "one")
    model.use(scenario(Call("bash", {"command": "env"}), "ok"))
    second = user.run("run", "--yes", "--format", "json", "--log-level", "DEBUG", "two")
    assert KEY not in first.out + first.err + second.out + second.err
    for path in user.home.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_everything_of_the_user_is_private(user: User, model: ScriptedModel) -> None:
    model.use(scenario("ok"))
    user.run("run", "--log-level", "DEBUG", "one")
    for path in user.home.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_output_that_cannot_be_written_is_a_failure(user: User, model: ScriptedModel) -> None:
    model.use(scenario("ok"))
    with Path("/dev/full").open("w") as full:
        done = user.run("run", "go", stdout=full)
    assert done.code == 1
    assert "error: the output cannot be written: No space left" in done.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_notes_that_cannot_be_written_cost_nobody_the_answer(
    user: User, model: ScriptedModel, form: str
) -> None:
    model.use(scenario(Status(500), "ok"))
    with Path("/dev/full").open("w") as full:
        done = user.run("run", "--format", form, "go", stderr=full)
    assert done.code == 0
    assert "ok" in done.out


def test_a_reader_who_leaves_ends_the_run_quietly(user: User, model: ScriptedModel) -> None:
    model.use(scenario([Text("first line\n"), Barrier("more"), Text("second line\n" * 50)]))
    process = user.start("run", "go")
    assert process.stdout is not None
    read_until(process.stdout, "first line\n")
    process.stdout.close()
    model.release("more")
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.wait(20) == 141
    process.stderr.close()
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_closed_streams_stop_nothing(user: User, model: ScriptedModel) -> None:
    model.use(scenario("ok"))
    command = f"exec {' '.join(ROOST)} run go >&- 2>&- <&-"
    code = subprocess.run(
        ["sh", "-c", command], env=user.environment, cwd=user.folder, timeout=40, check=False
    ).returncode
    assert code == 0


def test_signals_have_their_codes() -> None:
    assert EXIT_CODES["interrupt"] == 128 + signal.SIGINT
    assert EXIT_CODES["terminate"] == 128 + signal.SIGTERM
    assert EXIT_CODES["hangup"] == 128 + signal.SIGHUP
    assert EXIT_CODES["broken pipe"] == 128 + signal.SIGPIPE
