"""The models that a server says it has."""

from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from roost.llm.models import Model, ModelError
from roost.llm.providers import anthropic, openai_chat
from roost.llm.providers.quirks import quirks_of
from roost.llm.transport import Transport

_LIMIT: Final = 16 * 1024 * 1024
_WINDOWS: Final = (
    "loaded_context_length",
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "max_input_tokens",
)
"""Names under which servers tell the context window."""


class ListedModel(Struct, frozen=True):
    """One entry of `GET /models`."""

    id: str
    name: str = ""
    context: int | None = None
    """Window in tokens, where the server tells it."""


class _Page(Struct):
    data: list[dict[str, Any]]


_PAGE: Final = msgspec.json.Decoder(_Page)


async def list_models(
    transport: Transport, endpoint: Model, timeout: float
) -> tuple[ListedModel, ...]:
    """What `GET /models` at the endpoint answers; `endpoint.id` does not matter.

    `timeout` is in seconds. Raises ModelError.
    """
    anthropic_api = endpoint.dialect == "anthropic"
    headers = (
        anthropic.headers(endpoint)
        if anthropic_api
        else openai_chat.headers(endpoint, quirks_of(endpoint))
    )
    path = "/models?limit=1000" if anthropic_api else "/models"
    async with transport.send(endpoint, path, headers=headers, timeout=timeout) as answer:
        data = await answer.rest(_LIMIT, timeout)
    try:
        page = _PAGE.decode(data)
    except msgspec.MsgspecError as error:
        what = f"{endpoint.provider} answered {endpoint.base_url}/models with no list of models"
        raise ModelError("invalid_stream", what) from error
    listed = (_listed(entry) for entry in page.data)
    return tuple(model for model in listed if model is not None)


def _listed(entry: dict[str, Any]) -> ListedModel | None:
    identifier = entry.get("id")
    if not isinstance(identifier, str) or not identifier:
        return None
    name = entry.get("display_name") or entry.get("name")
    return ListedModel(identifier, name if isinstance(name, str) else "", _window(entry))


def _window(entry: dict[str, Any]) -> int | None:
    found = [entry.get(name) for name in _WINDOWS]
    if isinstance(meta := entry.get("meta"), dict):
        found.append(cast("dict[str, Any]", meta).get("n_ctx"))  # llama.cpp
    return next((int(n) for n in found if isinstance(n, int | float) and n > 0), None)
