"""A key that Roost knows, and what a person and a model say, in all that is left behind."""

import json

import pytest
from otlp_receiver import Receiver, receiving
from terminal_user import KEY, User

from roost.cli.failures import report
from scripted_model.scenario import Call, Status, scenario

PROMPT = "canary-words-of-a-prompt"
CONTENT = "canary-content-of-a-file"
ANSWER = "canary-words-of-an-answer"
TOKEN = "canary-token-of-a-receiver"


def test_a_crash_report_shows_no_key(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = 'canary"key\\of-a-provider'
    monkeypatch.setenv("SOME_API_KEY", key)
    monkeypatch.setenv("ROOST_DEBUG", "1")
    try:
        raise ValueError(f"bad {key!r} \x1b[2J", {"key": key})
    except ValueError as error:
        report(error)
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert "of-a-provider" not in told
    assert "[redacted]" in told
    assert "\x1b" not in told


def test_a_real_run_leaves_no_key_anywhere_and_no_words_in_log_and_telemetry(
    user: User,
) -> None:
    (user.folder / "a.txt").write_text(CONTENT + "\n")
    with receiving() as receiver:
        _run(user, receiver)
        sent = b"".join(receiver.bodies)
        assert {one.get("x-token") for one in receiver.headers} == {TOKEN}
    assert b"invoke_agent build" in sent
    for canary in (KEY, TOKEN, PROMPT, CONTENT, ANSWER, str(user.folder)):
        assert canary.encode() not in sent, canary
    log = "".join(path.read_text() for path in user.home.rglob("roost.log*"))
    assert '"message":"turn ended"' in log
    for canary in (KEY, TOKEN, PROMPT, CONTENT, ANSWER):
        assert canary not in log, canary
    for words in (("trace",), ("trace", "--format", "json"), ("log",), ("log", "--json")):
        done = user.call(*words)
        assert done.code == 0, done.err
        assert KEY not in done.out + done.err
        assert TOKEN not in done.out + done.err


def _run(user: User, receiver: Receiver) -> None:
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-token={TOKEN}",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    body = json.dumps({"error": {"message": f"wrong: {PROMPT} {KEY}", "type": "server_error"}})
    user.model.use(
        scenario(
            Call("read", {"filePath": "a.txt"}),
            # Time enough for the SDK to be imported, however slow the machine.
            Call("bash", {"command": f"echo {KEY} {TOKEN}; sleep 3", "description": "d"}),
            Status(400, body=body),
        )
    )
    done = user.run("run", "--yes", "--format", "json", "--", PROMPT, env=variables)
    assert done.result["outcome"] == "failure"
    user.environment.update(variables)


def test_variables_of_a_receiver_are_told_by_doctor_and_config_without_their_secrets(
    user: User,
) -> None:
    config = json.loads(user.environment["ROOST_CONFIG_CONTENT"])
    config["telemetry"] = {"otlp": {"endpoint": "http://x", "headers": {"x-token": TOKEN}}}
    user.environment["ROOST_CONFIG_CONTENT"] = json.dumps(config)
    done = user.call("config")
    assert done.code == 0, done.err
    assert "telemetry.otlp" in done.out
    assert TOKEN not in done.out
