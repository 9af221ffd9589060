"""Which code speaks for a model."""

from roost.llm.models import ModelError, ModelRequest
from roost.llm.providers import (
    anthropic,
    openai_chat,
    openai_responses,
    tool_schema,
)
from roost.llm.providers.anthropic_stream import AnthropicDecoder
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.chat_stream import ChatDecoder
from roost.llm.providers.responses_stream import ResponsesDecoder
from roost.llm.providers.schema_stream import SchemaDecoder
from roost.llm.providers.wire import Decoder, WireRequest


def prepare(request: ModelRequest, cache: EncodingCache) -> tuple[WireRequest, Decoder]:
    """`request` as bytes for its model's API, and the decoder for the answer.

    Raises ModelError for a dialect that is not spoken over HTTP here.
    """
    model = request.model
    match model.dialect:
        case "openai-chat" if tool_schema.applies(request):
            return tool_schema.encode(request, cache), SchemaDecoder(model, cache.call_ids)
        case "openai-chat":
            return openai_chat.encode(request, cache), ChatDecoder(model, cache.call_ids)
        case "openai-responses":
            return openai_responses.encode(request, cache), ResponsesDecoder(model, cache.call_ids)
        case "anthropic":
            return anthropic.encode(request, cache), AnthropicDecoder(model, cache.call_ids)
        case "pydantic-ai":
            raise ModelError("bad_request", f"{model.ref} is not spoken to over plain HTTP")
