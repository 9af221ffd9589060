"""Every other API (Bedrock, Google's own, Azure, …) through pydantic-ai's direct streaming calls.

pydantic-ai comes with the extra `providers` and is imported when such a model is called. It
is seen through `Any`, so that Roost needs neither it nor its types.
"""

import asyncio
import importlib
import inspect
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

from roost.core.ids import new_id
from roost.llm.errors import Refusal, classify, redacted
from roost.llm.models import (
    AssistantMessage,
    Finish,
    FinishReason,
    Model,
    ModelError,
    ModelRequest,
    StreamEvent,
    ToolCall,
    Usage,
)
from roost.llm.providers.pydantic_ai_history import history, tool_definitions
from roost.llm.providers.pydantic_ai_parts import PartReader

_REASONS: Final[dict[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_call": "tool-calls",
    "error": "error",
}
_EFFORTS: Final = frozenset({"minimal", "low", "medium", "high", "xhigh", "max"})
_ARGUMENTS: Final = {
    "apiKey": ("api_key",),
    "baseURL": ("base_url", "azure_endpoint"),
    "region": ("region_name", "location"),
    "profile": ("profile_name",),
    "apiVersion": ("api_version",),
    "project": ("project",),
    "location": ("location",),
}
"""Options of the configuration, and what pydantic-ai's providers call them."""


class PydanticModels:
    """Models by way of pydantic-ai; each is made once, so that its connections are kept.

    `make` builds pydantic-ai's model; tests give their own.
    """

    def __init__(self, make: Callable[[Model], Any] | None = None) -> None:
        self._make = make or build
        self._built: dict[str, Any] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        """The events of one call; the last is a `Finish`. Raises ModelError."""
        model = request.model
        try:
            if model.ref not in self._built:
                self._built[model.ref] = self._make(model)
            opening = _opened(self._built[model.ref], request)
        except Exception as error:
            raise _failure(error, model) from error
        async with AsyncExitStack() as stack:
            stream = await _wait(stack.enter_async_context(opening), model, first=True)
            reader = PartReader(model, _call_ids(request), lambda: new_id("tool"))
            events, first = aiter(stream), True
            while (event := await _wait(anext(events, None), model, first=first)) is not None:
                first = False
                for item in reader.read(event):
                    yield item
            for item in _end(stream, reader):
                yield item


def build(model: Model) -> Any:
    """pydantic-ai's model for `model`. Raises ModelError when its packages are missing."""
    options: dict[str, Any] = model.options.get("pydantic_ai", {})
    name = options.get("provider", model.provider)
    try:
        models: Any = importlib.import_module("pydantic_ai.models")
        providers: Any = importlib.import_module("pydantic_ai.providers")
        kind = providers.infer_provider_class(name)
        provider = kind(**_arguments(kind, options, model.api_key))

        def given(_name: str) -> Any:
            return provider

        return models.infer_model(f"{name}:{model.id}", provider_factory=given)
    except ImportError as error:
        raise ModelError(
            "bad_request",
            f"{model.provider} needs packages that are not installed ({error}): install Roost's"
            " extra `providers` (in a checkout: pip install '.[providers]')",
        ) from error


def _arguments(kind: Any, options: dict[str, Any], api_key: str) -> dict[str, Any]:
    """The options that the provider class `kind` takes."""
    known = inspect.signature(kind).parameters
    given = options | ({"apiKey": api_key} if api_key else {})
    return {
        argument: given[option]
        for option, names in _ARGUMENTS.items()
        for argument in names
        if option in given and argument in known
    }


def _opened(built: Any, request: ModelRequest) -> Any:
    """The context manager of the call."""
    direct: Any = importlib.import_module("pydantic_ai.direct")
    messages: Any = importlib.import_module("pydantic_ai.messages")
    models: Any = importlib.import_module("pydantic_ai.models")
    tools: Any = importlib.import_module("pydantic_ai.tools")
    parameters = models.ModelRequestParameters(
        function_tools=tool_definitions(request.tools, tools), allow_text_output=True
    )
    return direct.model_request_stream(
        built,
        history(request, messages),
        model_settings=settings(request),
        model_request_parameters=parameters,
        instrument=False,
    )


def settings(request: ModelRequest) -> dict[str, Any]:
    """pydantic-ai's model settings. Its own retries are off: Roost decides about them."""
    model = request.model
    own = {name: value for name, value in model.options.items() if name != "pydantic_ai"}
    wanted: dict[str, Any] = {
        "max_tokens": request.max_output or model.output,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_retries": 0,
        "tool_choice": request.tool_choice if request.tool_choice != "auto" else None,
        "thinking": _thinking(request.variant),
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    return given | model.variants.get(request.variant or "", {}) | own


def _thinking(variant: str | None) -> str | bool | None:
    if variant == "none":
        return False
    return variant if variant in _EFFORTS else None


def _call_ids(request: ModelRequest) -> set[str]:
    return {
        part.id
        for message in request.messages
        if isinstance(message, AssistantMessage)
        for part in message.content
        if isinstance(part, ToolCall)
    }


async def _wait(pending: Any, model: Model, *, first: bool) -> Any:
    """What `pending` gives, within the model's patience, its failures as ModelError."""
    seconds = model.first_byte_timeout if first else model.idle_timeout
    try:
        async with asyncio.timeout(seconds):
            return await pending
    except TimeoutError:
        what = f"{model.provider} sent nothing for {seconds:.0f} s"
        raise ModelError("network", what) from None
    except Exception as error:
        raise _failure(error, model) from error


def _end(stream: Any, reader: PartReader) -> list[StreamEvent]:
    word = stream.finish_reason or ""
    reason = _REASONS.get(word, "other" if word else "stop")
    if reader.called and reason == "stop":
        reason = "tool-calls"
    used = stream.usage
    read, written = used.cache_read_tokens, used.cache_write_tokens
    thought = int(used.details.get("reasoning_tokens", 0) or used.details.get("thoughts_tokens", 0))
    usage = Usage(
        input=max(0, used.input_tokens - read - written),
        output=max(0, used.output_tokens - thought),
        reasoning=thought,
        cache_read=read,
        cache_write=written,
    )
    return [*reader.end(reason), usage, Finish(reason, word)]


def _failure(error: Exception, model: Model) -> ModelError:
    """What an exception of pydantic-ai or of a client below it means."""
    if isinstance(error, ModelError):
        return error
    family = {kind.__name__ for kind in type(error).__mro__}
    words = redacted(str(error), model)
    status = getattr(error, "status_code", None)
    if "ModelHTTPError" in family and isinstance(status, int):
        headers: dict[str, str] = getattr(error, "headers", None) or {}
        body = str(getattr(error, "body", "") or error)
        return classify(Refusal(model, body, status, headers), time.time())
    if family & {"ModelConnectionError", "ModelTimeoutError", "OSError", "ModelRequestTimeout"}:
        return ModelError("network", f"{model.provider}: {words}")
    if "UserError" in family or "ValueError" in family:
        return ModelError("bad_request", f"{model.provider}: {words}")
    return classify(Refusal(model, words), time.time())
