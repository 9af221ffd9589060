"""Providers that Roost knows without being told: address, dialect, key, and first models."""

from typing import Final

from msgspec import Struct

from roost.llm.models import Dialect


class KnownProvider(Struct, frozen=True, kw_only=True):
    """A provider whose key in the environment, or whose server on this machine, is enough."""

    id: str
    name: str
    base_url: str
    dialect: Dialect = "openai-chat"
    env: tuple[str, ...] = ()
    """Variables that may carry the key, the first that is set wins; none: no key is needed."""
    base_url_env: str = ""
    """The variable by which the provider's own tools let users set another address."""
    model: str = ""
    """What is used when the user names none; empty: this provider is used only when named."""
    small_model: str = ""
    """For titles and other small tasks; empty: the same model."""
    strong_model: str = ""
    """For what is hardest; empty: the same model."""
    catalog: str = ""
    """The provider's id in the catalogue, where it differs."""


_WITH_KEY: Final = (
    KnownProvider(
        id="anthropic",
        name="Anthropic",
        base_url="https://api.anthropic.com/v1",
        dialect="anthropic",
        env=("ANTHROPIC_API_KEY",),
        base_url_env="ANTHROPIC_BASE_URL",
        model="claude-sonnet-5-5",
        small_model="claude-haiku-5-5",
        strong_model="claude-opus-5-5",
    ),
    KnownProvider(
        id="openai",
        name="OpenAI",
        base_url="https://api.openai.com/v1",
        dialect="openai-responses",
        env=("OPENAI_API_KEY",),
        base_url_env="OPENAI_BASE_URL",
        model="gpt-6.1-sol",
        small_model="gpt-6-luna",
        strong_model="gpt-6-astra",
    ),
    KnownProvider(
        id="openrouter",
        name="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        env=("OPENROUTER_API_KEY",),
        model="anthropic/claude-sonnet-5.5",
        small_model="anthropic/claude-haiku-5.5",
        strong_model="anthropic/claude-opus-5.5",
    ),
    KnownProvider(
        id="google",
        name="Google Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        env=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
        model="gemini-3.8-flash",
        small_model="gemini-3.5-flash-lite",
    ),
    KnownProvider(
        id="groq",
        name="Groq",
        base_url="https://api.groq.com/openai/v1",
        env=("GROQ_API_KEY",),
        model="openai/gpt-oss-120b",
        small_model="openai/gpt-oss-20b",
    ),
    KnownProvider(
        id="deepseek",
        name="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        env=("DEEPSEEK_API_KEY",),
        model="deepseek-v4-pro",
        small_model="deepseek-v4-flash",
    ),
    KnownProvider(
        id="mistral",
        name="Mistral",
        base_url="https://api.mistral.ai/v1",
        env=("MISTRAL_API_KEY",),
        model="devstral-2512",
        small_model="mistral-small-2603",
    ),
    KnownProvider(
        id="xai",
        name="xAI",
        base_url="https://api.x.ai/v1",
        env=("XAI_API_KEY",),
        model="grok-4.7",
        small_model="grok-4-1-fast-non-reasoning",
        catalog="x-ai",
    ),
    KnownProvider(
        id="moonshotai",
        name="Moonshot",
        base_url="https://api.moonshot.ai/v1",
        env=("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        model="kimi-k3",
    ),
    KnownProvider(
        id="zai",
        name="Z.ai",
        base_url="https://api.z.ai/api/paas/v4",
        env=("ZAI_API_KEY", "ZHIPU_API_KEY"),
        model="glm-5.3",
        small_model="glm-5.3-flash",
    ),
    KnownProvider(
        id="minimax",
        name="MiniMax",
        base_url="https://api.minimax.io/v1",
        env=("MINIMAX_API_KEY",),
        model="MiniMax-M3",
    ),
    KnownProvider(
        id="cerebras",
        name="Cerebras",
        base_url="https://api.cerebras.ai/v1",
        env=("CEREBRAS_API_KEY",),
        model="zai-glm-4.7",
        small_model="gpt-oss-120b",
    ),
    KnownProvider(
        id="togetherai",
        name="Together",
        base_url="https://api.together.xyz/v1",
        env=("TOGETHER_API_KEY",),
        model="zai-org/GLM-5.3",
        small_model="zai-org/GLM-5.3-Flash",
        catalog="together",
    ),
    KnownProvider(
        id="fireworks-ai",
        name="Fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        env=("FIREWORKS_API_KEY",),
        model="accounts/fireworks/models/kimi-k3",
        catalog="fireworks",
    ),
    KnownProvider(
        id="perplexity",
        name="Perplexity",
        base_url="https://api.perplexity.ai",
        env=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
    ),
    KnownProvider(
        id="huggingface",
        name="Hugging Face",
        base_url="https://router.huggingface.co/v1",
        env=("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    ),
    KnownProvider(
        id="nvidia",
        name="NVIDIA",
        base_url="https://integrate.api.nvidia.com/v1",
        env=("NVIDIA_API_KEY",),
    ),
)

# Asked in this order when there is no key; each answers on its own default port.
_AT_HOME: Final = (
    KnownProvider(
        id="ollama",
        name="Ollama",
        base_url="http://127.0.0.1:11434/v1",
        base_url_env="OLLAMA_HOST",
    ),
    KnownProvider(id="lmstudio", name="LM Studio", base_url="http://127.0.0.1:1234/v1"),
    KnownProvider(id="llamacpp", name="llama.cpp", base_url="http://127.0.0.1:8080/v1"),
)

KNOWN: Final = {provider.id: provider for provider in (*_WITH_KEY, *_AT_HOME)}
"""By id. Keys are looked for in this order."""

AT_HOME: Final = tuple(provider.id for provider in _AT_HOME)
"""Ids of the servers on this machine that need no key."""

_MORE_KEYS: Final = (
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "COHERE_API_KEY",
    "CO_API_KEY",
    "DASHSCOPE_API_KEY",
    "ROOST_SERVER_PASSWORD",
)

_SHARED: Final = frozenset({"HF_TOKEN"})
"""Variables whose key users' own programs need, too."""


def known_key_variables() -> frozenset[str]:
    """Every variable that carries a key to models: kept from the children of tools.

    Credentials that also serve other programs (AWS, Google Cloud, Hugging Face) are not among them.
    """
    named = {variable for provider in KNOWN.values() for variable in provider.env}
    return frozenset(named.union(_MORE_KEYS) - _SHARED)
