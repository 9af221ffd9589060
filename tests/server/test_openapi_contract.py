"""The OpenAPI document tells the truth, and no request makes the server fail."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from server_stage import Served, served

from roost.server.app import ENDPOINTS
from roost.server.endpoint import is_streamed
from roost.server.event_shapes import EVENT_SHAPES
from roost.server.openapi import answer_type, openapi
from roost.server.routes import absent
from scripted_model.scenario import Barrier, scenario, step

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
EXAMPLES = 10
PROMPT = {"parts": [{"type": "text", "text": "go"}]}
REFUSED = {one.path for one in absent.ROUTES if one.name.startswith("no_")}
FINITE = [one for one in ENDPOINTS if not is_streamed(one.answer) or answer_type(one) is not None]
OPERATIONS = [
    found.ok()
    for found in schemathesis.openapi.from_dict(openapi(FINITE)).get_all_operations()
    if found.ok().path not in REFUSED  # with 501, as another test sees
]


class Background:
    """A server on a thread of its own, for clients that block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.stage: Served | None = None

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with served(self._folder, prompts_per_minute=0) as self.stage:
            self._ready.set()
            await self._stop.wait()

    def __enter__(self) -> "Background":
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)


@pytest.fixture(scope="module")
def background(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Background]:
    folder = tmp_path_factory.mktemp("contract")
    (folder / "project").mkdir()
    (folder / "project" / "hello.txt").write_text("hello\n")
    with Background(folder) as server:
        yield server


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.label)
def test_no_request_makes_the_server_fail(
    operation: schemathesis.APIOperation, background: Background
) -> None:
    stage = background.stage
    assert stage is not None
    headers = {"Authorization": f"Bearer {stage.place.token}"}
    made = httpx2.post(f"{stage.place.url}/session", headers=headers, trust_env=False).json()

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def attempt(case: schemathesis.Case) -> None:
        named: dict[str, Any] = dict(case.path_parameters or {})
        if "sessionID" in named and len(named["sessionID"]) % 2:
            case.path_parameters = {**named, "sessionID": made["id"]}
        case.headers = {**(case.headers or {}), **headers}
        response = case.call(base_url=stage.place.url)
        case.validate_response(response, checks=CHECKS)

    attempt()


def test_every_route_tells_what_it_does_and_takes() -> None:
    document = openapi(ENDPOINTS)
    operations = [one for path in document["paths"].values() for one in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names)) == len(ENDPOINTS)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"].endswith("."), path
            assert {"401", "403", "500"} <= set(operation["responses"])
    assert document["components"]["schemas"]["Session"]["required"][0] == "id"
    assert document["paths"]["/global/health"]["get"]["security"] == []


def test_the_document_tells_the_shape_of_events_about_actors() -> None:
    document = openapi(ENDPOINTS)
    content = document["paths"]["/event"]["get"]["responses"]["200"]["content"]
    shapes = content["text/event-stream"]["x-event-properties"]
    named = {name: shape["$ref"].rpartition("/")[2] for name, shape in shapes.items()}
    assert named["turn.ended"] == "TurnEnded"
    assert set(named.values()) <= set(document["components"]["schemas"])


async def _team_news(stage: Served, session_id: str) -> None:
    """Let there be news of every kind about a team."""
    team = f"/team/{(await stage.http.post('/team', json={'name': 'backend'})).json()['id']}"
    await stage.http.post(f"{team}/member", json={"sessionID": session_id})
    await stage.http.delete(f"{team}/member/{session_id}/main")
    await stage.http.delete(team)


def test_events_about_actors_have_the_shape_that_the_document_tells(tmp_path: Path) -> None:
    seen: set[str] = set()

    async def check() -> None:
        async with served(tmp_path, scenario(step(Barrier("gate"), "never"))) as stage:
            session_id = await stage.session()
            async with stage.events() as events:
                await _team_news(stage, session_id)
                await stage.http.post(f"/session/{session_id}/inbox", json=PROMPT)
                await asyncio.to_thread(stage.model.wait_for_barrier, "gate")
                queued = await stage.http.post(f"/session/{session_id}/inbox", json=PROMPT)
                await stage.http.delete(f"/inbox/{queued.json()['id']}")
                await stage.http.post(f"/session/{session_id}/abort")
                async for event in events:
                    if event["type"] in EVENT_SHAPES:
                        shape = EVENT_SHAPES[event["type"]]
                        msgspec.convert(event["properties"], shape)
                        seen.add(event["type"])
                    if event["type"] == "turn.ended":
                        break

    asyncio.run(check())
    assert {"actor.status", "actor.cancelling", "turn.ended", "inbox.arrived"} <= seen
    assert {"inbox.updated", "team.created", "team.member.joined", "team.member.left"} <= seen
    assert "team.deleted" in seen
