"""Make `src/roost/llm/catalog.json` from the offline data of the genai-prices package.

Importing that package takes 270 ms and 25 MB; the generated file takes 1 ms. Kept: the window and
prices of models that write text, of providers that a user of Roost may call.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from genai_prices import data, types

from roost.llm.families import normal

TARGET: Final = Path(__file__).parent.parent / "src/roost/llm/catalog.json"
# Makers first: a model that a gateway sells under its maker's name is found there.
PROVIDERS: Final = (
    "anthropic",
    "openai",
    "google",
    "x-ai",
    "deepseek",
    "mistral",
    "moonshotai",
    "zai",
    "minimax",
    "openrouter",
    "groq",
    "cerebras",
    "together",
    "fireworks",
    "perplexity",
    "cohere",
    "baseten",
    "github-copilot",
    "aws",
)
_NOT_TEXT: Final = re.compile(
    r"embed|whisper|tts|transcri|image|audio|realtime|live|moderation|voice|voxtral|ocr|rerank|guard"
    r"|orpheus|dall-e|sora|robotics|video|batch|nano-banana|^ada|babbage|curie|davinci"
)


def main() -> None:
    """Write the file and say how large it is."""
    by_id = {provider.id: provider for provider in data.providers}
    catalog = {name: dict(_models(by_id[name])) for name in PROVIDERS}
    lines = [
        json.dumps(name) + ":{\n" + ",\n".join(_line(item) for item in sorted(models.items())) + "}"
        for name, models in catalog.items()
    ]
    TARGET.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    count = sum(len(models) for models in catalog.values())
    print(f"{TARGET.name}: {count} names, {TARGET.stat().st_size // 1024} KB")


def _line(item: tuple[str, list[Any]]) -> str:
    return f"{json.dumps(item[0])}:{json.dumps(item[1], separators=(',', ':'))}"


def _models(provider: types.Provider) -> Iterator[tuple[str, list[Any]]]:
    seen: set[str] = set()
    for model in provider.models:
        row = _row(model)
        if _NOT_TEXT.search(model.id.lower()) or not any(row):
            continue
        for name in _names(model):
            if name not in seen:
                seen.add(name)
                yield name, row


def _names(model: types.ModelInfo) -> list[str]:
    """The id and whatever words the package matches the model by, each once."""
    found = [model.id, *_words(model.match)]
    names = [normal(name).removesuffix("-latest").strip("-") for name in found]
    return [name for name in dict.fromkeys(names) if len(name) > 1]


def _words(clause: Any) -> Iterator[str]:
    match clause:
        case types.ClauseOr():
            for inner in clause.or_:
                yield from _words(inner)
        case types.ClauseEquals():
            yield clause.equals
        case types.ClauseStartsWith():
            yield clause.starts_with
        case types.ClauseEndsWith():
            yield clause.ends_with
        case types.ClauseContains():
            yield clause.contains
        case _:
            return


def _row(model: types.ModelInfo) -> list[Any]:
    # Some prices depend on the hour: noon gives the same file all day.
    prices = model.get_prices(datetime.now(UTC).replace(hour=12, minute=0))
    fields = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    row: list[Any] = [model.context_window, *(_base(getattr(prices, name)) for name in fields)]
    while row and row[-1] is None:
        row.pop()
    return row


def _base(price: Any) -> float | int | None:
    """The price of the lowest tier."""
    if price is None:
        return None
    plain = price.base if isinstance(price, types.TieredPrices) else price
    value = float(Decimal(plain))
    return int(value) if value.is_integer() else round(value, 6)


if __name__ == "__main__":
    main()
