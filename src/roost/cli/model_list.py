"""`roost models`: the models that can be used now, with window and price."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from roost.cli.failures import tell
from roost.cli.folders import working_folder
from roost.cli.secrets import secrets_of
from roost.cli.storage import Home, run_at_home
from roost.cli.table import as_json, table
from roost.cli.trusting import load_config
from roost.core.errors import RoostError
from roost.core.text import terminal_safe
from roost.llm import local
from roost.llm.choice import PROBE_TIMEOUT, default_ref
from roost.llm.client import LIST_TIMEOUT, ModelClient
from roost.llm.gguf import known_models, runtime_is_installed
from roost.llm.known_providers import AT_HOME, KNOWN
from roost.llm.models import Model, ModelError
from roost.llm.names import unknown_provider
from roost.llm.resolve import ModelSettings, resolve
from roost.llm.usable import names_of

_UNKNOWN: Final = "?"
_ANY: Final = "any"
"""Stands for a model where only the endpoint matters."""


class ModelsOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost models`."""

    provider: str | None = None
    format: Literal["text", "json"] = "text"
    refresh: bool = False
    dir: str | None = None


def execute(given: dict[str, Any]) -> int:
    """List models. Exit code 1 when an endpoint that was to be asked does not answer."""
    options = msgspec.convert(given, ModelsOptions)
    return run_at_home(given, lambda home: _list(home, options))


async def _list(home: Home, options: ModelsOptions) -> int:
    loaded = load_config(working_folder(options.dir), home.environ, home.paths)
    home.log.hide(secrets_of(loaded.config, home.environ))
    async with _client() as client:
        found = ModelList(home, ModelSettings.in_force(loaded), client)
        names = found.providers(options.provider)
        models = await found.collect(names, refresh=options.refresh)
    if options.format == "json":
        print(as_json([_details(m) for m in models]))
    elif models:
        print("\n".join(table([_HEAD, *(_row(model, found.default) for model in models)])))
    else:
        tell("No model can be used yet.\n")
    if models and options.format == "text":
        tell(_legend(models, found.default))
    for problem in found.problems.values():
        tell(terminal_safe("\n" + problem.replace("\n", "\n  ") + "\n"))
    if options.format == "text" and options.provider is None and (missing := found.without_key()):
        lines = "".join(f"  {line}\n" for line in table(missing))
        tell(f"\nThese providers need only a key in a variable (export NAME=...):\n{lines}")
    return 1 if options.refresh and found.problems else 0


@asynccontextmanager
async def _client() -> AsyncGenerator[ModelClient]:
    client = ModelClient()
    try:
        yield client
    finally:
        await client.aclose()


class ModelList:
    """The models of one configuration and environment."""

    def __init__(self, home: Home, settings: ModelSettings, client: ModelClient) -> None:
        self._environ = home.environ
        self._settings = settings
        self._client = client
        self.default = settings.model or default_ref(settings, home.environ)
        """What is used when nobody names a model."""
        self.problems: dict[str, str] = {}
        """Why a provider has nothing to show."""

    def providers(self, wanted: str | None) -> list[str]:
        """Those to list. Raises `UsageError` for one that nobody knows."""
        known = list(dict.fromkeys((*self._settings.provider, *KNOWN, local.PROVIDER)))
        if wanted is None:
            return [name for name in known if self._settings.allows(name)]
        if wanted not in known:
            raise unknown_provider(wanted, self._settings)
        return [wanted]

    async def collect(self, names: list[str], *, refresh: bool) -> list[Model]:
        """The models of the providers `names`, in order, each once."""
        groups = await asyncio.gather(*(self._of(name, names, refresh=refresh) for name in names))
        models = {model.ref: model for group in groups for model in group}
        return list(models.values())

    async def _of(self, name: str, names: list[str], *, refresh: bool) -> list[Model]:
        if name == local.PROVIDER:
            paths = known_models(self._environ) if runtime_is_installed() else []
            return self._resolved(name, [path.stem for path in paths])
        usual = self._resolved(name, names_of(name, self._settings))
        asked_for = names == [name]
        if not asked_for and not usual and name not in AT_HOME:
            if name in self._settings.provider:
                self._endpoint(name)  # notes what is missing
            return []
        if not refresh and name not in AT_HOME:
            if asked_for and not usual:
                self._endpoint(name)  # notes what is missing
            return usual
        return usual + await self._served(name, must_answer=refresh and (asked_for or bool(usual)))

    def _resolved(self, name: str, ids: Iterable[str]) -> list[Model]:
        found: list[Model] = []
        for model_id in ids:
            try:
                found.append(resolve(f"{name}/{model_id}", self._settings, self._environ))
            except RoostError:
                continue  # no key, or not allowed: it cannot be used
        return found

    def _endpoint(self, name: str) -> Model | None:
        try:
            return resolve(f"{name}/{_ANY}", self._settings, self._environ)
        except RoostError as error:
            self.problems[name] = f"{error.message}\n{error.hint}".rstrip()
            return None

    async def _served(self, name: str, *, must_answer: bool) -> list[Model]:
        """The models that the server itself names."""
        endpoint = self._endpoint(name)
        if endpoint is None:
            return []
        try:
            timeout = LIST_TIMEOUT if must_answer else PROBE_TIMEOUT
            listed = await self._client.list_models(endpoint, timeout)
        except ModelError as error:
            if must_answer:
                self.problems[name] = error.words
            return []
        windows = {one.id: one.context for one in listed}
        models = self._resolved(name, windows)
        return [
            msgspec.structs.replace(model, context=windows.get(model.id) or model.context)
            for model in models
        ]

    def without_key(self) -> list[tuple[str, str]]:
        """Providers that only want a key, with the variable for it."""
        return [
            (known.id, known.env[0])
            for known in KNOWN.values()
            if known.env and known.model and self._settings.allows(known.id)
            if known.id not in self._settings.provider
            if not self._resolved(known.id, [known.model])
        ]


_HEAD: Final = ("", "MODEL", "WINDOW", "ANSWER", "$/M IN", "$/M OUT", "ABLE TO")


def _row(model: Model, default: str | None) -> tuple[str, ...]:
    abilities = {
        "see images": model.reads_images,
        "read PDF": model.reads_pdf,
        "reason": model.reasons,
        "not call tools": not model.calls_tools,
    }
    return (
        "*" if model.ref == default else " ",
        model.ref,
        _tokens(model.context),
        _tokens(model.output),
        _dollars(model.price.input, model),
        _dollars(model.price.output, model),
        ", ".join(name for name, able in abilities.items() if able),
    )


def _tokens(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:.3g}M"
    return f"{count // 1000}k" if count >= 1000 else str(count)


def _dollars(price: float, model: Model) -> str:
    return f"{price:.4g}" if price or model.price_known else _UNKNOWN


def _legend(models: list[Model], default: str | None) -> str:
    """What the marks of the table mean, as far as they stand in it."""
    lines = ["WINDOW, ANSWER: most tokens; $/M: US dollars for a million tokens"]
    if any(model.ref == default for model in models):
        lines.append("*: used when no other is named with -m or by an agent")
    if not all(model.price_known for model in models):
        lines.append(f"{_UNKNOWN}: not known; provider.<id>.models.<name>.cost sets it")
    return "".join(f"{line}\n" for line in lines)


def _details(model: Model) -> dict[str, Any]:
    """Everything about a model that is no secret."""
    return {
        "id": model.ref,
        "name": model.name,
        "dialect": model.dialect,
        "baseURL": model.base_url,
        "key": bool(model.api_key),
        "env": list(model.env),
        "limit": {
            "context": model.context,
            "input": model.input_limit,
            "output": model.output,
        },
        "cost": msgspec.to_builtins(model.price),
        "images": model.reads_images,
        "pdf": model.reads_pdf,
        "reasoning": model.reasons,
        "toolCall": model.calls_tools,
        "variants": sorted(model.variants),
    }
