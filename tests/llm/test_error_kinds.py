import json
from typing import Any

import pytest
from model_samples import model

from roost.llm.errors import Refusal, classify, redacted
from roost.llm.models import ModelError
from roost.llm.retry_after import retry_after

NOW = 1_700_000_000.0


def refusal(status: int | None, body: Any, **more: Any) -> ModelError:
    text = body if isinstance(body, str) else json.dumps(body)
    return classify(Refusal(model(**more.pop("of", {})), text, status, **more), NOW)


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


OVERFLOW = [
    (
        400,
        error(
            "This model's maximum context length is 128000 tokens. However, your messages"
            " resulted in 130000 tokens.",
            code="context_length_exceeded",
        ),
    ),
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 210000 tokens > 200000 maximum",
            },
        },
    ),
    (400, error("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")),
    (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "status": "INVALID_ARGUMENT",
                    "message": "The input token count (1200000) exceeds the maximum number allowed",
                }
            }
        ],
    ),
    (400, error("This model's maximum prompt length is 131072 but the request contains 140000")),
    (400, error("Please reduce the length of the messages or completion.")),
    (
        413,
        error(
            "Request too large for model `x` in organization on tokens per minute (TPM): Limit"
            " 6000, Requested 9000, please reduce your message size",
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    (
        400,
        error(
            "request (9031 tokens) exceeds the available context size (8192 tokens), try"
            " increasing it",
            type="exceed_context_size_error",
            code=400,
        ),
    ),
    (400, error("prompt token count of 140000 exceeds the limit of 128000")),
    (400, error("Your request exceeded model token limit: 131072 (requested: 140000)")),
    (400, {"message": "Input is too long for requested model."}),
    (500, error("the request exceeds the available context size")),
    (
        400,
        {
            "object": "error",
            "message": "Prompt contains 41000 tokens, too large for model with"
            " 32768 maximum context length",
        },
    ),
    (400, error("Provider returned error", metadata={"raw": "prompt is too long"})),
    (413, "Payload Too Large"),
    (
        429,
        error(
            "Request too large for gpt-x in organization on tokens per min (TPM): Limit 10, "
            "Requested 12.",
            code="rate_limit_exceeded",
        ),
    ),
]
QUOTA = [
    (
        429,
        error(
            "You exceeded your current quota, please check your plan and billing details.",
            type="insufficient_quota",
            code="insufficient_quota",
        ),
    ),
    (402, error("Insufficient Balance")),
    (402, error("This request requires more credits, or fewer max_tokens.")),
    (400, error("Your credit balance is too low to access the Anthropic API.")),
    (429, error("You have reached your monthly usage limit.")),
    (400, error("You have reached your specified API usage limits. You will regain access on")),
    (
        429,
        error(
            "Quota exceeded for metric",
            details=[{"quotaId": "RequestsPerDayPerProject"}],
            status="RESOURCE_EXHAUSTED",
        ),
    ),
    (403, error("Enforced spend limit", details={"error_code": "enforced_spend_limit_reached"})),
]
RATE = [
    (
        429,
        error(
            "Rate limit reached for gpt-x in organization on tokens per min. Please try again"
            " in 1.5s.",
            code="rate_limit_exceeded",
        ),
    ),
    (429, "slow down"),
    (
        429,
        error(
            "You exceeded your current quota. Please retry in 12.5s.", status="RESOURCE_EXHAUSTED"
        ),
    ),
    (429, error("Too many tokens, please wait before trying again.")),
    (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "no"}}),
    (None, error("Rate limit exceeded: free-models-per-min")),
]
MEDIA = [
    (400, error("messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6 > 5")),
    (400, error("At least one of the image dimensions exceed max allowed size: 8000 pixels")),
    (400, error("Could not process image")),
    (400, error("Invalid image data", code="invalid_image")),
    (400, error("You uploaded an unsupported image. Please make sure your image is valid.")),
    (404, error("No endpoints found that support image input")),
    (400, error("unknown variant `image_url`, expected `text`")),
    (400, error("The PDF specified was not valid: password protected")),
    (400, error("This model does not support image input")),
]
REASONING = [
    (400, error("messages.3.content.0: Invalid `signature` in `thinking` block")),
    (
        400,
        error(
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest"
            " assistant message cannot be modified."
        ),
    ),
    (
        400,
        error(
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
            " `text`"
        ),
    ),
    (400, error("The `reasoning_content` in the thinking mode must be passed back to the API.")),
    (
        400,
        error(
            "The encrypted content for item rs_1 could not be verified.",
            code="invalid_encrypted_content",
        ),
    ),
    (
        400,
        error("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    ),
    (400, error("Function call is missing a thought_signature in functionCall parts.")),
]
AUTH = [
    (401, error("Incorrect API key provided", code="invalid_api_key")),
    (403, error("Forbidden")),
    (400, error("API key not valid. Please pass a valid API key.")),
    (401, ""),
]
FILTER = [
    (
        400,
        error(
            "The response was filtered due to the prompt triggering content management policy.",
            code="content_filter",
        ),
    ),
    (403, error("Your chosen model requires moderation and your input was flagged")),
    (400, error("no", code="bio_policy")),
]
SERVER = [
    (500, "Internal Server Error"),
    (502, "<html>Bad gateway</html>"),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    (503, error("The engine is currently overloaded, please try again later")),
    (408, ""),
    (409, error("conflict")),
    (524, "a timeout occurred"),
    (None, error("The server had an error while processing your request.")),
]
BAD = [
    (400, error("Unsupported parameter: 'top_k'")),
    (400, error("Bad request", type="api_error")),
    (404, error("The model `x` does not exist", code="model_not_found")),
    (422, {"detail": [{"loc": ["body", "x"], "msg": "extra fields not permitted"}]}),
    (501, "not implemented"),
]
CASES = {
    "overflow": OVERFLOW,
    "quota": QUOTA,
    "rate_limit": RATE,
    "media": MEDIA,
    "reasoning": REASONING,
    "auth": AUTH,
    "content_filter": FILTER,
    "server": SERVER,
    "bad_request": BAD,
}


@pytest.mark.parametrize(
    ("kind", "status", "body"),
    [(kind, status, body) for kind, cases in CASES.items() for status, body in cases],
    ids=lambda value: value if isinstance(value, str) and value in CASES else "",
)
def test_many_providers_words_for_one_thing(kind: str, status: int | None, body: Any) -> None:
    assert refusal(status, body).kind == kind


def test_a_body_too_large_is_about_its_images_if_it_had_any() -> None:
    assert refusal(413, "Payload Too Large", with_media=True).kind == "media"


def test_the_message_names_provider_status_and_reason() -> None:
    found = refusal(400, error("Unsupported parameter"))
    assert found.message == "test (400): Unsupported parameter"
    assert refusal(500, "<html>oops").message == "test (500): no reason given"


def test_a_refused_key_is_told_with_where_it_comes_from() -> None:
    found = refusal(401, error("no"), of={"key_place": "the variable TEST_API_KEY"})
    assert found.words == (
        "test (401) refused the key: no\nThe key is that of the variable TEST_API_KEY."
    )
    assert refusal(403, error("no")).message == "test (403) refused access: no"
    none = refusal(401, error("no"), of={"env": ("TEST_API_KEY",)})
    assert none.hint == (
        "No key was sent: set the variable TEST_API_KEY, or set provider.test.options.apiKey."
    )


def test_a_missing_path_is_told_with_what_may_be_wrong_a_line_each() -> None:
    place = "provider.test.options.baseURL in roost.json"
    bare = {"base_url": "http://127.0.0.1:9", "base_url_place": place, "id": "m"}
    assert refusal(404, error("no"), of=bare).words.split("\n") == [
        "test (404): no",
        f"The baseURL http://127.0.0.1:9 ({place}) has no /v1 at its end, which most servers want.",
        "Is m a model of test? `roost models test --refresh` lists what it has.",
    ]
    whole = refusal(404, error("no"), of={"base_url": "http://127.0.0.1:9/v1"})
    assert "/v1" not in whole.hint


def test_a_long_body_is_cut() -> None:
    found = refusal(400, error("x" * 5_000))
    assert len(found.body) <= 2_000
    assert len(found.message) < 700


@pytest.mark.parametrize(
    "secret",
    [
        "sk-test-000",
        "sk-ant-api03-abcdefgh",
        "gsk_abcdefghijkl",
        "xai-abcdefghijk",
        "AIzaSyA1234567890abcdefghij",
        "sk-proj-12ab*****cd34",
    ],
)
def test_whatever_looks_like_a_key_is_hidden(secret: str) -> None:
    shown = redacted(f"your key {secret} is bad, Bearer {secret}", model())
    assert secret not in shown
    assert "[key]" in shown


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, "", 30.0),
        ({"retry-after": "Tue, 14 Nov 2000 22:13:50 GMT"}, "", 0.0),
        ({"retry-after": "soon"}, "", None),
        ({}, "Please try again in 1.5s.", 1.5),
        ({}, "Please try again in 6m0s", 300.0),
        ({}, "Please try again in 2m3s", 123.0),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please retry in 12.5s.", 12.5),
        ({}, '{"retryDelay": "34s"}', 34.0),
        ({}, "Please wait 10 seconds", 10.0),
        ({"retry-after": "3"}, "try again in 20s", 3.0),
        ({"retry-after": "-1"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({}, "try again later", None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], body: str, seconds: float | None) -> None:
    assert retry_after(headers, body, NOW) == seconds
