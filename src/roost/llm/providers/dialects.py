"""Which code speaks for a model. A dialect is imported when it is first spoken."""

from roost.llm.models import ModelError, ModelRequest
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.wire import Decoder, WireRequest


def prepare(request: ModelRequest, cache: EncodingCache) -> tuple[WireRequest, Decoder]:
    """`request` as bytes for its model's API, and the decoder for the answer.

    Raises ModelError for a dialect that is not spoken over HTTP here.
    """
    match request.model.dialect:
        case "openai-chat":
            return _chat(request, cache)
        case "openai-responses":
            return _responses(request, cache)
        case "anthropic":
            return _anthropic(request, cache)
        case "pydantic-ai":
            model = request.model
            raise ModelError("bad_request", f"{model.ref} is not spoken to over plain HTTP")


def _chat(request: ModelRequest, cache: EncodingCache) -> tuple[WireRequest, Decoder]:
    from roost.llm.providers import openai_chat, tool_schema
    from roost.llm.providers.chat_stream import ChatDecoder

    if tool_schema.applies(request):
        from roost.llm.providers.schema_stream import SchemaDecoder

        wire = tool_schema.encode(request, cache)
        return wire, SchemaDecoder(request.model, cache.call_ids)
    return openai_chat.encode(request, cache), ChatDecoder(request.model, cache.call_ids)


def _responses(request: ModelRequest, cache: EncodingCache) -> tuple[WireRequest, Decoder]:
    from roost.llm.providers import openai_responses
    from roost.llm.providers.responses_stream import ResponsesDecoder

    wire = openai_responses.encode(request, cache)
    return wire, ResponsesDecoder(request.model, cache.call_ids)


def _anthropic(request: ModelRequest, cache: EncodingCache) -> tuple[WireRequest, Decoder]:
    from roost.llm.providers import anthropic
    from roost.llm.providers.anthropic_stream import AnthropicDecoder

    wire = anthropic.encode(request, cache)
    return wire, AnthropicDecoder(request.model, cache.call_ids)
