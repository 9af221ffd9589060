"""The words by which providers refuse, as data: codes first, then phrases in this order.

Each line stands for something a provider is known to answer; a new wording is a new line here and
in the tests.
"""

from typing import Final

from msgspec import Struct

from roost.llm.models import ErrorKind

NO_MEDIA_OVERFLOW: Final[ErrorKind] = "overflow"
"""A body too large (413) without images in it is a conversation too long."""

CODES: Final[dict[str, ErrorKind]] = {
    # OpenAI and its imitators
    "context_length_exceeded": "overflow",
    "model_max_prompt_tokens_exceeded": "overflow",
    "string_above_max_length": "overflow",
    "exceed_context_size_error": "overflow",
    "insufficient_quota": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "insufficient_balance": "quota",
    "invalid_api_key": "auth",
    "incorrect_api_key": "auth",
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "bio_policy": "content_filter",
    "cyber_policy": "content_filter",
    "misalignment_policy_violation": "content_filter",
    "image_content_policy_violation": "content_filter",
    "responsibleaipolicyviolation": "content_filter",
    "invalid_image": "media",
    "invalid_image_format": "media",
    "invalid_base64_image": "media",
    "invalid_image_url": "media",
    "image_too_large": "media",
    "image_too_small": "media",
    "image_parse_error": "media",
    "invalid_image_mode": "media",
    "image_file_too_large": "media",
    "unsupported_image_media_type": "media",
    "empty_image_file": "media",
    "failed_to_download_image": "media",
    "image_file_not_found": "media",
    "invalid_encrypted_content": "reasoning",
    "invalid_reasoning_content": "reasoning",
    "rate_limit_exceeded": "rate_limit",
    "tokens_per_minute": "rate_limit",
    "server_error": "server",
    "slow_down": "server",
    "engine_overloaded_error": "server",
    # Anthropic
    "image_dimensions_too_large": "media",
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "quota",
    "enforced_spend_limit_reached": "quota",
    "contract_spend_limit_reached": "quota",
    "linked_organization_spend_limit_reached": "quota",
    "linked_organization_billing_unavailable": "quota",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "server",
    "api_error": "server",
    "timeout_error": "server",
    # Google
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "unavailable": "server",
    "deadline_exceeded": "server",
    # z.ai, Alibaba
    "1113": "quota",
    "1261": "overflow",
    "arrearage": "quota",
}


class Phrase(Struct, frozen=True):
    """Words that mean `kind`, in a body already in lower case."""

    kind: ErrorKind
    pattern: str
    """A regular expression; compiled when an error is first read, since most runs meet none."""
    only: frozenset[int] = frozenset()
    """Statuses that it holds for; empty: all."""
    never: frozenset[int] = frozenset()
    unless_waiting: bool = False
    """Does not hold when the provider says how long to wait."""

    def applies(self, status: int | None, *, waits: bool) -> bool:
        """Whether the phrase may be looked for in an answer of this status."""
        if self.unless_waiting and waits:
            return False
        if status is None:
            return True
        return status not in self.never and (not self.only or status in self.only)


def _any(*phrases: str) -> str:
    return "|".join(phrases)


_BUSY: Final = frozenset({401, 403, 408, 429, 502, 503, 504, 529})
_BAD: Final = frozenset({400, 404, 413, 415, 422, 500})

TOO_LARGE_FOR_ANY_WAIT: Final = _any(r"request too large for")
"""One request beyond the tokens of a whole minute: told as a rate limit, but waiting is no help."""

PHRASES: Final = (
    Phrase(
        "overflow",
        _any(
            r"prompt is too long",
            r"input is too long",
            r"input length and `?max_tokens`? exceed",
            r"context[ _]?(?:length|window|size|limit)[^.]{0,40}exce",
            r"exce\w+[^.]{0,60}context[ _]?(?:length|window|size|limit)",
            r"maximum (?:context|prompt|input|allowed input|sequence) length",
            r"input token count[^.]*exceeds",
            r"(?:prompt|input) tokens?[^.]{0,60}exceeds?",
            r"prompt token count[^.]*exceeds the limit",
            r"maximum prompt length is",
            r"reduce the length of the (?:messages|input|prompt)",
            r"reduce your message size",
            r"prompt (?:is )?too long",
            r"greater than the context length",
            r"larger than the (?:maximum )?context",
            r"exceeded model token limit",
            r"too large for model with \d+ maximum context",
            r"prompt exceeds max length",
            r"range of input length should be",
            r"inputs? tokens? \+ max_new_tokens",
            r"input (?:length|tokens?)[^.]{0,40}exceeds?",
            r"token limit exceeded",
            r"too many (?:input )?tokens",
            r"not enough context",
        ),
        never=_BUSY,
    ),
    Phrase(
        "reasoning",
        _any(
            r"invalid `?signature`?",
            r"signature[^.]{0,60}(?:invalid|mismatch|not valid|could not be verified)",
            r"thinking`?[^.]{0,80}cannot be modified",
            r"thinking`?[^.]{0,80}must (?:start|begin|remain|be|match)",
            r"expected `?(?:redacted_)?thinking",
            r"reasoning_content[^.]{0,80}(?:must be|missing|required|invalid|not produced)",
            r"missing[^.]{0,20}reasoning_content",
            r"encrypted[ _]content[^.]{0,60}(?:verif|decrypt|invalid|parse)",
            r"type 'reasoning'[^.]{0,60}without its required",
            r"without its required 'reasoning' item",
            r"thought[_ ]signature",
        ),
        never=_BUSY,
    ),
    Phrase(
        "media",
        _any(
            r"image[^.]{0,80}(?:exceeds?|too (?:large|small|big)|could not)",
            r"image[^.]{0,80}(?:invalid|not valid|unsupported)",
            r"(?:invalid|unsupported|could not process)[^.]{0,30}image",
            r"failed to (?:process|decode|load)[^.]{0,30}image",
            r"not support (?:image|vision|multimodal)",
            r"(?:support|accept)s? image input",
            r"images? (?:are|is) not supported",
            r"image_url[^.]{0,40}(?:only supported|not supported|unknown variant|expected)",
            r"unknown variant `?image_url",
            r"too many images",
            r"too much media",
            r"many-image requests",
            r"(?:pdf|document)[^.]{0,60}(?:invalid|password|encrypted|could not)",
            r"(?:pdf|document)[^.]{0,60}(?:too (?:large|many|long)|not supported|maximum)",
            r"invalid base64",
            r"media[_ ]type",
        ),
        only=_BAD,
    ),
    Phrase(
        "content_filter",
        _any(
            r"content management policy",
            r"content[ _](?:policy|filter)",
            r"flagged (?:by|as|for)",
            r"requires moderation",
            r"violat\w+ (?:our|the) (?:usage )?polic",
            r"safety (?:system|reasons)",
        ),
        never=frozenset({401, 402, 429}),
    ),
    Phrase(
        "quota",
        _any(
            r"credit balance is too low",
            r"insufficient (?:balance|credits?|funds|quota)",
            r"(?:out of|no|not enough|requires more) credits",
            r"payment required",
            r"usage limits?(?: has been| have been)? (?:reached|exceeded)",
            r"reached your (?:(?:specified|api|usage|spend\w*|monthly|weekly|daily) )+limit",
            r"(?:monthly|weekly|daily|spend\w*) (?:\w+ )?limit (?:reached|exceeded|has been)",
            r"perday",
            r"billing (?:hard|soft) limit",
            r"account is (?:not active|suspended|in arrears)",
            r"free (?:usage|tier)[^.]{0,30}(?:exhausted|exceeded|ended)",
        ),
    ),
    Phrase(
        "quota",
        _any(r"exceeded your current quota", r"quota (?:has been )?exceeded", r"check your plan"),
        unless_waiting=True,
    ),
    Phrase(
        "auth",
        _any(
            r"(?:invalid|incorrect|missing|expired|no)[^.]{0,15}api[ _-]?key",
            r"api[ _-]?key[^.]{0,30}(?:not valid|invalid|missing|expired|required|not found)",
            r"unauthori[sz]ed",
            r"authentication (?:failed|required|fails)",
        ),
        never=frozenset({429, 500, 502, 503, 504, 529}),
    ),
    Phrase(
        "rate_limit",
        _any(r"rate[ _-]?limit", r"too many requests", r"resource[ _]exhausted", r"throttl"),
        never=frozenset({401, 402, 404}),
    ),
    Phrase(
        "server",
        _any(
            r"overloaded",
            r"at capacity",
            r"temporarily unavailable",
            r"service unavailable",
            r"internal (?:server )?error",
            r"bad gateway",
            r"upstream (?:error|connect|request timeout)",
            r"timed? ?out",
        ),
        never=frozenset({400, 401, 402, 403, 404, 413, 422, 429}),
    ),
)
