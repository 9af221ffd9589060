"""Checks of the configuration, and of the model that would be used."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from roost.cli.doctor.findings import Finding, fail, ok, warn
from roost.cli.trusting import load_config
from roost.config.loaded import Loaded
from roost.config.paths import Paths
from roost.core.errors import ConfigError, RoostError
from roost.llm import local
from roost.llm.addresses import is_loopback
from roost.llm.choice import choose
from roost.llm.client import ModelClient
from roost.llm.models import Model, ModelError
from roost.llm.resolve import ModelSettings

LOOPBACK_SECONDS: Final = 1.0
ONLINE_SECONDS: Final = 10.0


async def check_setup(
    directory: Path, environ: Mapping[str, str], paths: Paths, *, online: bool
) -> AsyncIterator[Finding]:
    """What is configured for `directory`. Endpoints on other machines are called if `online`."""
    try:
        loaded = load_config(directory, environ, paths)
    except ConfigError as error:
        yield fail("config", error.message, error.hint)
        return
    for finding in _config(loaded):
        yield finding
    client = ModelClient()
    try:
        settings = ModelSettings.of(loaded.config)
        try:
            model = (await choose(None, settings, environ, client)).model
        except RoostError as error:
            yield fail("model", error.message, error.hint)
            return
        yield ok("model", f"{model.ref}, {model.dialect}, window {model.context:,} tokens")
        yield await _endpoint(client, model, online=online)
    finally:
        await client.aclose()


def _config(loaded: Loaded) -> list[Finding]:
    sources = [layer.source for layer in loaded.layers]
    shown = ", ".join(sources) if sources else "no files; everything is as built in"
    findings = [ok("config", shown)]
    findings += [warn("config", warning) for warning in loaded.warnings]
    if loaded.withheld:
        detail = f"{len(loaded.withheld)} settings of {loaded.project.root} are not in force"
        findings.append(warn("trust", detail, "See `roost config`, then `roost config trust`."))
    return findings


async def _endpoint(client: ModelClient, model: Model, *, online: bool) -> Finding:
    """Whether the server of `model` answers and knows it."""
    if model.provider == local.PROVIDER:
        return ok("endpoint", "in this program")
    here = is_loopback(model.base_url)
    if not here and not online:
        return ok("endpoint", f"{model.base_url} (not called; --online does)")
    try:
        listed = await client.list_models(model, LOOPBACK_SECONDS if here else ONLINE_SECONDS)
    except ModelError as error:
        mend = "Check the key." if error.kind == "auth" else "Check the address, and that it runs."
        return fail("endpoint", error.message, mend)
    if model.id not in {one.id for one in listed}:
        detail = f"{model.base_url} answers, and does not list {model.id}"
        return warn("endpoint", detail, f"See `roost models {model.provider} --refresh`.")
    return ok("endpoint", f"{model.base_url} answers, with {len(listed)} models")
