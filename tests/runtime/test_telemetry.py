"""Telemetry: spans and metrics of turns arrive, nothing that was said does, and nobody waits."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from otlp_receiver import Receiver, attributes, receiving
from runtime_stage import Desk, desk

from roost.config.models import OtlpConfig, TelemetryConfig
from roost.runtime.otel_spans import span_id_of, trace_id_of
from roost.runtime.telemetry import LAST_SECONDS, Target, Telemetry, target_of, telemetry_of
from scripted_model.scenario import Call, Scenario, Status, Usage, When, scenario, step

SECRET = "canary-secret-in-a-model-name"
PROMPT = "canary words of a prompt"
OTHER = "http://127.0.0.1:9"


def fast() -> dict[str, Any]:
    return {"limits": {"retry_wait": 0.05}}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    with receiving() as made:
        yield made


def sending(
    at: Desk, url: str, told: list[str], *, headers: dict[str, str] | None = None, hide: Any = str
) -> Telemetry:
    config = TelemetryConfig(otlp=OtlpConfig(endpoint=url, headers=headers or {}))
    telemetry = telemetry_of(config, {}, hide=hide, tell=told.append)
    assert telemetry is not None
    at.runtime.watch.add(telemetry)
    return telemetry


def working() -> Scenario:
    return scenario(
        [
            Call("bash", {"command": "echo canary of a command", "description": "canary"}),
            Call("read", {"filePath": "canary-file-that-is-not-there"}),
            Usage(input=1_000, cache_read=600, output=50, reasoning=20),
        ],
        Status(500),
        "canary of an answer",
        scope="server",
    )


def test_a_turn_its_steps_and_its_tools_are_spans_of_one_trace(
    tmp_path: Path, receiver: Receiver
) -> None:
    async def scene() -> None:
        told: list[str] = []
        async with desk(tmp_path, working(), yes=True, config=fast()) as at:
            sending(at, f"{receiver.url}/", told, headers={"X-Key": "abc"})
            session = await at.session()
            result = await at.ask(session.id, PROMPT)
        (turn,) = receiver.wait_for("invoke_agent build")
        first, second = receiver.wait_for("chat scripted", 2)
        (bash,) = receiver.wait_for("execute_tool bash")
        (read,) = receiver.wait_for("execute_tool read")
        assert int.from_bytes(turn.trace_id) == trace_id_of(result.turn.id)
        assert int.from_bytes(turn.span_id) == span_id_of(result.turn.id)
        assert turn.parent_span_id == b""
        for span in (first, second, bash, read):
            assert (span.trace_id, span.parent_span_id) == (turn.trace_id, turn.span_id)
            assert turn.start_time_unix_nano <= span.start_time_unix_nano
            assert span.start_time_unix_nano <= span.end_time_unix_nano <= turn.end_time_unix_nano
        assert first.end_time_unix_nano <= bash.start_time_unix_nano
        about = attributes(first)
        assert about["gen_ai.operation.name"] == "chat"
        assert about["gen_ai.request.model"] == "scripted"
        assert about["gen_ai.provider.name"] == "test"
        assert about["gen_ai.conversation.id"] == session.id
        assert about["gen_ai.usage.input_tokens"] == 1_000
        assert about["gen_ai.usage.cache_read.input_tokens"] == 600
        assert about["gen_ai.usage.output_tokens"] == 50
        assert about["gen_ai.response.finish_reasons"] == ["tool-calls"]
        assert about["gen_ai.response.time_to_first_chunk"] >= 0
        assert [event.name for event in second.events] == ["roost.retry"]
        assert attributes(bash)["gen_ai.tool.call.id"]
        assert (read.status.code, attributes(read)["error.type"]) == (2, "error")
        whole = attributes(turn)
        assert whole["roost.turn.outcome"] == "success"
        assert whole["roost.turn.steps"] == 2
        assert receiver.resources[0]["service.name"] == "roost"
        assert {headers["x-key"] for headers in receiver.headers} == {"abc"}
        assert told == []

    asyncio.run(scene())


def test_tokens_money_and_steps_are_added_up(tmp_path: Path, receiver: Receiver) -> None:
    async def scene() -> None:
        async with desk(tmp_path, working(), yes=True, config=fast()) as at:
            sending(at, receiver.url, [])
            await at.ask((await at.session()).id, PROMPT)
        receiver.wait_for_metric("roost.turns")
        (steps,) = receiver.metrics["roost.steps"]
        assert steps.as_int == 2
        tokens = receiver.metrics["gen_ai.client.token.usage"]
        kinds = {attributes(point)["gen_ai.token.type"]: point for point in tokens}
        assert kinds["input"].count == 2
        assert kinds["input"].sum >= 1_000
        assert kinds["output"].sum >= 50
        (duration,) = receiver.metrics["gen_ai.client.operation.duration"]
        assert duration.count == 2
        (turns,) = receiver.metrics["roost.turns"]
        assert attributes(turns)["roost.turn.outcome"] == "success"

    asyncio.run(scene())


def test_a_child_s_turn_is_linked_to_the_turn_that_started_it(
    tmp_path: Path, receiver: Receiver
) -> None:
    async def scene() -> None:
        brief = {"action": "run", "subagent_type": "explore", "description": "d", "prompt": "LOOK"}
        script = scenario(
            step("found", when=When(user="LOOK")),
            step(Call("actor", {"operation": brief}), when=When(user=PROMPT)),
            "done",
            scope="server",
        )
        async with desk(tmp_path, script, yes=True) as at:
            sending(at, receiver.url, [])
            result = await at.ask((await at.session()).id, PROMPT)
        (child,) = receiver.wait_for("invoke_agent explore")
        assert trace_id_of(result.turn.id) in [int.from_bytes(one.trace_id) for one in child.links]
        assert int.from_bytes(child.trace_id) != trace_id_of(result.turn.id)
        assert attributes(child)["roost.actor.parent"].endswith("/main")

    asyncio.run(scene())


def test_nothing_that_was_said_or_read_is_sent_and_no_secret(
    tmp_path: Path, receiver: Receiver
) -> None:
    async def scene() -> None:
        script = scenario(
            Call(f"tool_{SECRET}", {"path": "canary"}), *working().steps, scope="server"
        )
        async with desk(tmp_path, script, yes=True, config=fast()) as at:
            sending(at, receiver.url, [], hide=lambda text: text.replace(SECRET, "***"))
            await at.ask((await at.session()).id, PROMPT)
        receiver.wait_for("invoke_agent build")
        receiver.wait_for("chat scripted", 3)
        receiver.wait_for_metric("roost.turns")
        assert b"execute_tool tool_***" in b"".join(receiver.bodies)
        assert b"canary" not in b"".join(receiver.bodies)
        assert str(tmp_path).encode() not in b"".join(receiver.bodies)

    asyncio.run(scene())


def test_a_receiver_that_does_not_answer_slows_no_turn_and_holds_up_no_end(
    tmp_path: Path, receiver: Receiver
) -> None:
    async def scene() -> None:
        receiver.held.clear()
        told: list[str] = []
        async with desk(tmp_path, scenario(default="pong")) as at:
            sending(at, receiver.url, told)
            session = await at.session()
            for number in range(5):
                result = await at.ask(session.id, f"{number}")
                assert result.turn.outcome == "success"
            began = time.monotonic()
        assert time.monotonic() - began < LAST_SECONDS + 3
        assert len(told) == 1
        assert "127.0.0.1" in told[0]

    asyncio.run(scene())


def test_a_receiver_that_refuses_is_told_of_once(tmp_path: Path, receiver: Receiver) -> None:
    async def scene() -> None:
        receiver.status = 403
        told: list[str] = []
        async with desk(tmp_path, scenario(default="pong")) as at:
            telemetry = sending(at, receiver.url, told)
            session = await at.session()
            for number in range(3):
                await at.ask(session.id, f"{number}")
                asked = len(receiver.headers)
                deadline = time.monotonic() + 30
                while len(receiver.headers) == asked and time.monotonic() < deadline:
                    time.sleep(0.02)
            await telemetry.close()
        assert len(receiver.headers) >= 3
        assert told == [f"telemetry cannot be sent to {receiver.url[7:]}: it answers 403 Forbidden"]

    asyncio.run(scene())


def test_nobody_listens_at_the_address_of_the_receiver(tmp_path: Path) -> None:
    async def scene() -> None:
        told: list[str] = []
        async with desk(tmp_path, scenario(default="pong")) as at:
            sending(at, OTHER, told)
            result = await at.ask((await at.session()).id, "hello")
            assert result.turn.outcome == "success"
        assert len(told) == 1
        assert told[0].startswith("telemetry cannot be sent to 127.0.0.1:9")

    asyncio.run(scene())


ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
BOTH = frozenset({"traces", "metrics"})


@pytest.mark.parametrize(
    ("otlp", "environ", "signals"),
    [
        (None, {}, None),
        (None, {ENDPOINT: OTHER}, BOTH),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": OTHER}, {"traces"}),
        (None, {ENDPOINT: OTHER, "OTEL_SDK_DISABLED": "true"}, None),
        (None, {ENDPOINT: OTHER, "OTEL_METRICS_EXPORTER": "none"}, {"traces"}),
        (False, {ENDPOINT: OTHER}, None),
        (True, {}, BOTH),
        (OtlpConfig(endpoint=OTHER), {}, BOTH),
        (OtlpConfig(endpoint=OTHER), {"OTEL_TRACES_EXPORTER": "console"}, {"metrics"}),
        (OtlpConfig(endpoint=OTHER), {"OTEL_SDK_DISABLED": "TRUE"}, None),
    ],
)
def test_it_is_off_unless_the_configuration_or_a_variable_names_a_receiver(
    otlp: OtlpConfig | bool | None, environ: dict[str, str], signals: set[str] | None
) -> None:
    target = target_of(TelemetryConfig(otlp=otlp), environ)
    assert (None if target is None else target.signals) == signals


def test_a_target_is_named_without_user_and_path() -> None:
    config = TelemetryConfig(otlp=OtlpConfig(endpoint="https://me:secret@collect.example/in"))
    target = target_of(config, {})
    assert isinstance(target, Target)
    assert target.name == "collect.example"


@pytest.mark.parametrize(
    ("otlp", "environ", "words"),
    [
        (OtlpConfig(endpoint="collect:4318"), {}, "no address that begins with http"),
        (True, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "asks for gRPC"),
    ],
)
def test_what_cannot_work_is_said_at_once(
    otlp: OtlpConfig | bool, environ: dict[str, str], words: str
) -> None:
    told: list[str] = []
    config = TelemetryConfig(otlp=otlp)
    assert telemetry_of(config, environ, hide=str, tell=told.append) is None
    (said,) = told
    assert words in said


WITHOUT = """
import sys
sys.modules["opentelemetry.exporter"] = None  # as if it were not installed
from roost.config.models import TelemetryConfig
from roost.runtime.telemetry import telemetry_of
told = []
environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
assert telemetry_of(TelemetryConfig(), environ, hide=str, tell=told.append) is None
assert told == []
assert telemetry_of(TelemetryConfig(otlp=True), {}, hide=str, tell=told.append) is None
print(*told)
"""


def test_a_missing_extra_is_said_to_who_configured_it_and_not_to_who_set_a_variable() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True
    )
    assert "pip install 'roost[otel]'" in done.stdout


def test_the_start_imports_nothing_of_it() -> None:
    program = (
        "import sys, roost.cli.run.work, roost.cli.serve, roost.runtime.runtime\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
