"""Checks of the configuration, of its hooks, and of the model that would be used."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Final

from roost.cli.doctor.findings import Finding, fail, ok, warn
from roost.cli.doctor.hooks import check_hooks
from roost.cli.doctor.skills import check_skills
from roost.cli.permission_names import mistyped
from roost.cli.trusting import UNUSED, load_config
from roost.config.loaded import Loaded
from roost.config.paths import Paths
from roost.core.amounts import counted
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
        yield fail("config", error.message, f"{error.hint} Then: roost config".strip())
        return
    for finding in _config(loaded):
        yield finding
    for finding in check_skills(loaded):
        yield finding
    async for finding in check_hooks(loaded, paths, directory, environ):
        yield finding
    client = ModelClient()
    try:
        settings = ModelSettings.in_force(loaded)
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
    mend = "Mend the name, or its rule never counts."
    findings += [warn("permission", words, mend) for words in mistyped(loaded)]
    project = loaded.project
    at = quote(str(project.root))
    for fault in loaded.faults:
        findings.append(warn("config", f"{fault.reason}; {UNUSED}", fault.hint))
    if loaded.waiting:
        detail = (
            f"{counted(len(loaded.waiting), 'setting')} of {project.root} not in force: not trusted"
        )
        mend = f"roost config --dir {at}          shows them\n"
        mend += f"roost config trust --dir {at}    puts them in force"
        findings.append(warn("trust", detail, mend))
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
        return fail("endpoint", error.message, _mend(error, model))
    if model.id not in {one.id for one in listed}:
        detail = f"{model.base_url} answers, and does not list {model.id}"
        mend = f"roost models {quote(model.provider)} --refresh    shows what it lists"
        return warn("endpoint", detail, mend)
    return ok("endpoint", f"{model.base_url} answers, with {counted(len(listed), 'model')}")


def _mend(error: ModelError, model: Model) -> str:
    """What to do about an endpoint that cannot be used."""
    key = next(iter(model.env), "")
    if error.kind == "auth" and key:
        return f"export {key}=... with a key that is valid, or see provider.{model.provider}"
    setting = f"provider.{model.provider}.options"
    if error.kind == "auth":
        return f"Check {setting}.apiKey: roost config shows which file it is in."
    address = quote(f"{model.base_url}/models")
    return f"Check {setting}.baseURL, and that its server runs: curl -i {address}"
