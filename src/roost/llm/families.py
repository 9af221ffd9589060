"""What model families can do, kept by hand: no free catalogue tells output limits and modalities.

A name is normalised (`.`, `:`, `@`, `_` become `-`) and cut at its dashes from the right until it
is found here: `claude-opus-4-6-20260101` finds `claude-opus-4-6`, an unheard-of `claude-x-9` finds
`claude`. So a row holds what is true of everything that begins with it and has no row of its own.
Where a maker does not say, the lower figure is kept: a limit too low is always accepted.
"""

from typing import Final

from msgspec import Struct


class Family(Struct, frozen=True):
    """Limits in tokens; the catalogue's own window wins over `context`."""

    context: int
    output: int
    images: bool = False
    pdf: bool = False
    reasons: bool = False
    input_apart: bool = False
    """The window is an input limit plus an output limit, not one pool."""


FAMILIES: Final = {
    # Anthropic: docs.anthropic.com, models overview. Generation 3 began with 4k answers, 3.7
    # brought thinking, Opus 4 and 4.1 stop at 32k, Opus 4.6 to 4.8 at 128k.
    "claude": Family(200_000, 64_000, images=True, pdf=True, reasons=True),
    "claude-2": Family(100_000, 4_096),
    "claude-instant": Family(100_000, 4_096),
    "claude-3": Family(200_000, 4_096, images=True),
    "claude-3-5": Family(200_000, 8_192, images=True, pdf=True),
    "claude-3-7": Family(200_000, 64_000, images=True, pdf=True, reasons=True),
    "claude-4-opus": Family(200_000, 32_000, images=True, pdf=True, reasons=True),
    "claude-opus-4": Family(200_000, 32_000, images=True, pdf=True, reasons=True),
    "claude-opus-4-5": Family(200_000, 64_000, images=True, pdf=True, reasons=True),
    "claude-opus-4-6": Family(200_000, 128_000, images=True, pdf=True, reasons=True),
    "claude-opus-4-7": Family(200_000, 128_000, images=True, pdf=True, reasons=True),
    "claude-opus-4-8": Family(200_000, 128_000, images=True, pdf=True, reasons=True),
    # OpenAI: platform.openai.com, models. From gpt-5 on, 128k of the window are for the answer.
    "gpt": Family(128_000, 16_384, images=True),
    "gpt-3": Family(16_385, 4_096),
    "gpt-3-5": Family(16_385, 4_096),
    "gpt-4": Family(8_192, 4_096),
    "gpt-4-32k": Family(32_768, 4_096),
    "gpt-4-turbo": Family(128_000, 4_096, images=True),
    "gpt-4-1": Family(1_000_000, 32_768, images=True, pdf=True),
    "gpt-4-5": Family(128_000, 16_384, images=True, pdf=True),
    "gpt-4o": Family(128_000, 16_384, images=True, pdf=True),
    "chatgpt": Family(128_000, 16_384, images=True, pdf=True),
    "gpt-5": Family(400_000, 128_000, images=True, pdf=True, reasons=True, input_apart=True),
    "gpt-5-chat": Family(128_000, 16_384, images=True, pdf=True),
    "gpt-5-3": Family(128_000, 16_384, images=True, pdf=True, reasons=True),
    "gpt-5-3-codex": Family(400_000, 128_000, images=True, reasons=True, input_apart=True),
    "gpt-6": Family(400_000, 128_000, images=True, pdf=True, reasons=True, input_apart=True),
    "gpt-oss": Family(131_072, 32_768, reasons=True),
    "codex": Family(200_000, 100_000, images=True, reasons=True),
    "o1": Family(200_000, 100_000, images=True, pdf=True, reasons=True),
    "o1-mini": Family(128_000, 65_536, reasons=True),
    "o1-preview": Family(128_000, 32_768, reasons=True),
    "o3": Family(200_000, 100_000, images=True, pdf=True, reasons=True),
    "o3-mini": Family(200_000, 100_000, reasons=True),
    "o4": Family(200_000, 100_000, images=True, pdf=True, reasons=True),
    # Google: ai.google.dev, models. Open models are served with small answers.
    "gemini": Family(1_000_000, 65_536, images=True, pdf=True, reasons=True),
    "gemini-1-5": Family(1_000_000, 8_192, images=True, pdf=True),
    "gemini-2-0": Family(1_000_000, 8_192, images=True, pdf=True),
    "gemma": Family(8_192, 4_096),
    "gemma2": Family(8_192, 4_096),
    "gemma3": Family(131_072, 8_192, images=True),
    "gemma-3": Family(131_072, 8_192, images=True),
    "gemma-4": Family(262_144, 16_384, images=True, reasons=True),
    # xAI: docs.x.ai, models.
    "grok": Family(131_072, 16_384),
    "grok-2-vision": Family(32_768, 8_192, images=True),
    "grok-3-mini": Family(131_072, 16_384, reasons=True),
    "grok-4": Family(256_000, 32_768, images=True, reasons=True),
    "grok-code": Family(256_000, 16_384, reasons=True),
    "grok-build": Family(256_000, 32_768, reasons=True),
    # DeepSeek: api-docs.deepseek.com, pricing.
    "deepseek": Family(128_000, 8_192),
    "deepseek-reasoner": Family(128_000, 32_768, reasons=True),
    "deepseek-r1": Family(128_000, 32_768, reasons=True),
    "deepseek-v3-2": Family(128_000, 8_192, reasons=True),
    "deepseek-v4": Family(1_000_000, 32_768, reasons=True),
    "deepseek-v4-1": Family(1_000_000, 32_768, reasons=True),
    "deepseek-flash": Family(1_000_000, 32_768, reasons=True),
    # Alibaba: the Qwen model cards. 2.5 and older have 32k windows, coders do not reason.
    "qwen": Family(32_768, 8_192),
    "qwen2-5": Family(32_768, 8_192),
    "qwen2-5-vl": Family(32_768, 8_192, images=True),
    "qwen-2-5-vl": Family(32_768, 8_192, images=True),
    "qwen-vl": Family(32_768, 8_192, images=True),
    "qwen3": Family(40_960, 16_384, reasons=True),
    "qwen3-coder": Family(262_144, 65_536),
    "qwen3-vl": Family(262_144, 32_768, images=True),
    "qwen3-5": Family(262_144, 32_768, images=True, reasons=True),
    "qwen3-6": Family(262_144, 32_768, images=True, reasons=True),
    "qwen3-7": Family(262_144, 32_768, images=True, reasons=True),
    "qwen3-8": Family(262_144, 32_768, images=True, reasons=True),
    "qwq": Family(32_768, 16_384, reasons=True),
    # Moonshot: platform.moonshot.ai. Images since K2.5.
    "kimi": Family(131_072, 16_384),
    "kimi-k2": Family(131_072, 16_384),
    "kimi-k2-thinking": Family(262_144, 32_768, reasons=True),
    "kimi-k2-5": Family(262_144, 32_768, images=True, reasons=True),
    "kimi-k2-6": Family(262_144, 32_768, images=True, reasons=True),
    "kimi-k2-7": Family(262_144, 32_768, images=True, reasons=True),
    "kimi-k3": Family(262_144, 32_768, images=True, reasons=True),
    "kimi-k3-1": Family(262_144, 32_768, images=True, reasons=True),
    "moonshot-v1": Family(8_192, 4_096),
    # Z.ai: docs.z.ai. A `v` in the number is the one that sees.
    "glm": Family(128_000, 32_768, reasons=True),
    "glm-4-5v": Family(64_000, 16_384, images=True, reasons=True),
    "glm-4-6": Family(200_000, 98_304, reasons=True),
    "glm-4-6v": Family(128_000, 32_768, images=True, reasons=True),
    "glm-4-7": Family(200_000, 98_304, reasons=True),
    "glm-5": Family(200_000, 98_304, reasons=True),
    # MiniMax: platform.minimax.io.
    "minimax": Family(200_000, 32_768, reasons=True),
    # Mistral: docs.mistral.ai, models. It states no limit for answers.
    "mistral": Family(32_768, 8_192),
    "mistral-large": Family(128_000, 16_384),
    "mistral-large-2512": Family(256_000, 32_768, images=True),
    "mistral-large-4": Family(256_000, 32_768, images=True),
    "mistral-medium": Family(128_000, 16_384, images=True),
    "mistral-small": Family(128_000, 16_384, images=True),
    "magistral": Family(128_000, 32_768, reasons=True),
    "devstral": Family(128_000, 32_768),
    "codestral": Family(256_000, 16_384),
    "ministral": Family(128_000, 16_384),
    "pixtral": Family(128_000, 16_384, images=True),
    # Others that are often run at home or through gateways.
    "llama": Family(8_192, 4_096),
    "llama-3-1": Family(131_072, 8_192),
    "llama-3-2": Family(131_072, 8_192),
    "llama-3-3": Family(131_072, 16_384),
    "llama3-1": Family(131_072, 8_192),
    "llama3-2": Family(131_072, 8_192),
    "llama3-3": Family(131_072, 16_384),
    "llama-4": Family(131_072, 8_192, images=True),
    "llama4": Family(131_072, 8_192, images=True),
    "phi": Family(16_384, 4_096),
    "nova": Family(300_000, 5_120, images=True),
    "command": Family(128_000, 4_096),
    "smollm": Family(8_192, 2_048),
    "smollm2": Family(8_192, 2_048),
}


def normal(model_id: str) -> str:
    """`model_id` without its maker's prefix, in lower case, with dashes only."""
    name = model_id.rsplit("/", 1)[-1].lower()
    for mark in ".:@_ ":
        name = name.replace(mark, "-")
    return name


def shortenings(name: str) -> list[str]:
    """`name` and what is left of it when it is cut at its dashes, longest first."""
    parts = name.split("-")
    return ["-".join(parts[:count]) for count in range(len(parts), 0, -1)]


def family_of(name: str) -> Family | None:
    """The family of a normalised name."""
    return next((FAMILIES[cut] for cut in shortenings(name) if cut in FAMILIES), None)
