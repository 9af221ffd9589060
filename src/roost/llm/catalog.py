"""Windows, limits, prices and abilities of models, offline.

`catalog.json` is generated (`make catalog`) and read when first asked, in about a millisecond.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from roost.llm.families import Family, family_of, normal, shortenings
from roost.llm.models import Price

_REMOTE: Final = Family(128_000, 16_384)
"""For a model that nobody has heard of, at a provider: what every recent one offers."""
_AT_HOME: Final = Family(32_768, 8_192)
"""The same on this machine, where memory is short."""


class Row(Struct, frozen=True, array_like=True, gc=False):
    """A model in the file: window in tokens, then US dollars for a million tokens."""

    context: int | None = None
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


class Entry(Struct, frozen=True):
    """What is known of a model, guessed with care where it is not."""

    context: int
    output: int
    input_limit: int | None
    price: Price
    price_known: bool
    images: bool
    pdf: bool
    reasons: bool


@lru_cache(maxsize=1)
def rows() -> dict[str, dict[str, Row]]:
    """The file: rows by provider and normalised name."""
    data = Path(__file__).with_name("catalog.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, dict[str, Row]])


def look_up(provider: str, model_id: str, *, at_home: bool = False) -> Entry:
    """What is known of a model.

    `provider` is an id of the catalogue; another or an empty one finds the model where its maker
    or somebody else sells it. `at_home`: it runs on this machine, so it costs nothing.
    """
    name = normal(model_id)
    row = _row(provider, name)
    family = family_of(name) or (_AT_HOME if at_home else _REMOTE)
    context = family.context
    if row.context and not at_home:
        context = row.context
    output = min(family.output, context)
    return Entry(
        context=context,
        output=output,
        input_limit=context - output if family.input_apart else None,
        price=Price() if at_home else _price(row),
        price_known=not at_home and row.input is not None,
        images=family.images,
        pdf=family.pdf,
        reasons=family.reasons,
    )


def _row(provider: str, name: str) -> Row:
    catalog = rows()
    # A bare family name such as `claude` tells no price; `o3` does.
    cuts = [cut for cut in shortenings(name) if cut == name or any(c.isdigit() for c in cut)]
    own = catalog.get(provider, {})
    for cut in cuts:
        if cut in own:
            return own[cut]
    for cut in cuts:
        for place in catalog.values():
            if cut in place:
                return place[cut]
    return Row()


def _price(row: Row) -> Price:
    return Price(
        input=row.input or 0.0,
        output=row.output or 0.0,
        cache_read=row.cache_read,
        cache_write=row.cache_write,
    )


def names(provider: str) -> tuple[str, ...]:
    """The normalised names of a provider's models."""
    return tuple(rows().get(provider, ()))
