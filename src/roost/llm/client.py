"""Calls of models: one connection pool, streams of events, every wait bounded.

Nothing is retried here (`retry.py` decides, the turn waits). Closing a stream closes its
connection at once; a stream read to its end gives the connection back to the pool.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from roost.llm import local
from roost.llm.answer import events_of
from roost.llm.models import Model, ModelRequest, StreamEvent
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.dialects import prepare
from roost.llm.transport import Transport

if TYPE_CHECKING:
    from roost.llm.listing import ListedModel
    from roost.llm.providers.pydantic_ai import PydanticModels

LIST_TIMEOUT: Final = 15.0
"""Seconds for asking a server which models it has."""


class ModelClient:
    """Speaks to models. One per process, used from one event loop; `aclose` when done."""

    def __init__(self) -> None:
        self._transport = Transport()
        self._local = local.LocalServers()
        self._others: PydanticModels | None = None

    async def aclose(self) -> None:
        """Close all connections and end the local model, if one runs."""
        await self._transport.aclose()
        await self._local.aclose()

    def warm(self, base_url: str) -> None:
        """Load the HTTP client and, for https, the certificates: 100 ms that can be spent early.

        May run in another thread as long as nothing else uses this client.
        """
        self._transport.client(base_url)

    def stream(self, request: ModelRequest, cache: EncodingCache) -> AsyncGenerator[StreamEvent]:
        """Ask the model; the last event is a `Finish`.

        `cache` belongs to the actor and holds its encoded history. Raises ModelError.
        """
        if request.model.dialect != "pydantic-ai":
            return self._over_http(request, cache)
        if self._others is None:
            from roost.llm.providers.pydantic_ai import PydanticModels

            self._others = PydanticModels()
        return self._others.stream(request)

    async def list_models(
        self, endpoint: Model, timeout: float = LIST_TIMEOUT
    ) -> tuple[ListedModel, ...]:
        """The models that the server of `endpoint` offers. Raises ModelError."""
        from roost.llm.listing import list_models

        return await list_models(self._transport, endpoint, timeout)

    async def _over_http(
        self, request: ModelRequest, cache: EncodingCache
    ) -> AsyncGenerator[StreamEvent]:
        if request.model.provider == local.PROVIDER:
            request = replace(request, model=await self._local.started(request.model))
        model = request.model
        wire, decoder = prepare(request, cache)
        deadline = time.monotonic() + model.first_byte_timeout
        sending = self._transport.send(
            model,
            wire.path,
            headers=wire.headers,
            body=wire.body,
            timeout=model.first_byte_timeout,
        )
        async with sending as answer:
            left = max(0.0, deadline - time.monotonic())
            async with aclosing(events_of(answer, decoder, model, left)) as events:
                async for event in events:
                    yield event
