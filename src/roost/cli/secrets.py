"""Known key values, taken out of whatever is written for others: the log, an export, a report."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from roost.config.models import Config

MASK: Final = "[redacted]"
_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST: Final = 8
"""A shorter value is no secret, and hiding it would hide ordinary words."""
_SHAPES: Final = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|(?<=Bearer )[A-Za-z0-9._~+/-]{8,}=*"
    r"|(?<=Basic )[A-Za-z0-9+/]{8,}=*"
)


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """The values of all variables whose name says that they are secret."""
    return _long(value for name, value in environ.items() if _NAME.search(name))


def secrets_of(config: Config, environ: Mapping[str, str]) -> frozenset[str]:
    """The keys and headers of the configured providers, and the variables that carry keys."""
    found: list[str] = []
    for provider in config.provider.values():
        options = provider.settings
        found += [options.api_key or "", *options.headers.values()]
        found += [environ.get(name, "") for name in provider.env]
        for model in provider.models.values():
            found += model.headers.values()
    return _long(found)


def _long(values: Iterable[str]) -> frozenset[str]:
    return frozenset(value for value in values if len(value) >= _SHORTEST)


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` without the known secrets and without what has the shape of a key."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _SHAPES.sub(MASK, text)
