"""Known key values, taken out of whatever is written for others: the log, an export, a report."""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote

from roost.config.models import Config, OtlpConfig

MASK: Final = "[redacted]"
_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_HEADERS: Final = re.compile(r"OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS")
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
    """The values of all variables whose name says that they are secret, and the headers in those
    of OpenTelemetry.
    """
    found = [value for name, value in environ.items() if _NAME.search(name)]
    for name, value in environ.items():
        if _HEADERS.fullmatch(name):
            pairs = [pair.partition("=")[2].strip() for pair in value.split(",")]
            found += [value, *pairs, *map(unquote, pairs)]
    return _long(found)


def secrets_of(config: Config, environ: Mapping[str, str]) -> frozenset[str]:
    """The keys and headers of the configured providers and of the receiver of telemetry, and the
    variables that carry keys.
    """
    found: list[str] = []
    for provider in config.provider.values():
        options = provider.settings
        found += [options.api_key or "", *options.headers.values()]
        found += [environ.get(name, "") for name in provider.env]
        for model in provider.models.values():
            found += model.headers.values()
    if isinstance(otlp := config.telemetry.otlp, OtlpConfig):
        found += otlp.headers.values()
    return _long(found)


def _long(values: Iterable[str]) -> frozenset[str]:
    return frozenset(value for value in values if len(value) >= _SHORTEST)


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` without the known secrets and without what has the shape of a key."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _SHAPES.sub(MASK, text)
