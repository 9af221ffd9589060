"""How much of a model's window a conversation may fill before it is shortened. Pure."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal

from msgspec import Struct

from roost.config.models import CompactionConfig
from roost.llm.models import Model

Limit = int | str
"""Tokens: `300000`, `"300K"`, `"1.5M"`, or a share of the model's own window, `"50%"`."""

_FULL: Final = 0.9
"""Share of the window that a request may fill."""
_MOST_RESERVED: Final = 20_000
"""Tokens that are kept free for an answer at most."""
_QUANTITY: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmM%]?)\s*")
_UNITS: Final = {"": 1.0, "k": 1e3, "m": 1e6}
SMALLEST: Final = 1_000
"""Tokens; a window that is said to be smaller is not believed."""
TARGET: Final = 0.5
"""Share of `Window.usable` that a conversation takes up once it is shortened, at most."""


class Window(Struct, frozen=True):
    """What of a model's window may be used."""

    size: int
    """Tokens of a request; 0: nobody knows."""
    usable: int
    """Tokens from which on the conversation is shortened; 0: only when the provider says so."""
    source: Literal["model", "config"] = "model"
    """Who set `size`."""
    auto: bool = True
    """Whether conversations are shortened without being asked for."""
    tail: int = 20_000
    """Tokens of a conversation's end that stay word for word, at most."""

    @property
    def target(self) -> int:
        """Tokens that a conversation takes up once it is shortened, at most; 0: nobody knows."""
        return int(self.usable * TARGET)


def quantity(given: Limit, of: int) -> int | None:
    """A number of tokens, where a share is of `of`; None if it cannot be read."""
    if isinstance(given, int):
        return given
    match = _QUANTITY.fullmatch(given)
    if match is None:
        return None
    number, unit = float(match[1]), match[2].lower()
    return int(of * number / 100) if unit == "%" else int(number * _UNITS[unit])


def limit_for(ref: str, limits: Limit | Mapping[str, Limit] | None) -> Limit | None:
    """The limit that is configured for the model `provider/model`: of a map the entry with the
    longest pattern that fits.
    """
    if not isinstance(limits, Mapping):
        return limits
    fitting = [pattern for pattern in limits if fnmatchcase(ref, pattern)]
    return limits[max(fitting, key=len)] if fitting else None


def configured(model: Model, config: CompactionConfig) -> Window:
    """The window of `model` as the configuration has it."""
    return window_of(
        model,
        config.max_context,
        reserved=config.reserved,
        auto=config.auto,
        tail=config.preserve_recent_tokens,
    )


def window_of(
    model: Model,
    limits: Limit | Mapping[str, Limit] | None = None,
    *,
    reserved: int | None = None,
    auto: bool = True,
    tail: int | None = None,
) -> Window:
    """The window of `model`, which the configuration can only make smaller."""
    hard = model.input_limit or model.context
    given = limit_for(model.ref, limits)
    wanted = quantity(given, hard) if given is not None else None
    lowered = wanted is not None and SMALLEST <= wanted < (hard or wanted + 1)
    size = wanted if wanted is not None and lowered else hard
    for_answer = 0 if model.input_limit else min(model.output, _MOST_RESERVED)
    kept = reserved if reserved is not None else min(for_answer, size // 2)
    usable = max(0, min(int(size * _FULL), size - kept))
    source = "config" if lowered else "model"
    return Window(size, usable, source, auto, Window(0, 0).tail if tail is None else tail)
