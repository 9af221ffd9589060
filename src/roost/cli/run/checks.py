"""What should be known of the model before a prompt goes to it: its price, and what it can see."""

import re
from collections.abc import Iterable
from typing import Final

from roost.cli.parser import near_match
from roost.config.jsonc import show_key
from roost.core.errors import RoostError, UsageError
from roost.core.text import echo
from roost.llm import local
from roost.llm.known_providers import KNOWN
from roost.llm.models import Model
from roost.runtime.models import FileInput

_PDF: Final = "application/pdf"
_UNSET: Final = re.compile(r"the variable \S+ is not set")
EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Variants that need no configuration: how much the model is to think."""
_OPEN: Final = {"openai-chat", "openai-responses"}
"""Dialects that carry any word to the endpoint."""


def check_price(model: Model, max_cost: float | None) -> None:
    """Raise `UsageError` for a limit in dollars that could never stop anything."""
    if max_cost is None or model.price_known or model.provider == local.PROVIDER:
        return
    key = _key(model, "cost")
    raise UsageError(
        f"--max-cost cannot be kept, since the price of {model.ref} is not known",
        hint="Set it in your configuration, in US dollars for a million tokens:\n"
        f'{key} = {{"input": 1, "output": 2}}\n'
        "(0 and 0 for a model that costs nothing), or use --max-steps.",
    )


def check_variant(model: Model, variant: str | None) -> None:
    """Raise `UsageError` for a variant that `model` does not know, where it is known what it knows.

    An endpoint of the user's own may have words that only it knows, unless variants of the model
    are configured.
    """
    choices = [*model.variants, *(one for one in EFFORTS if one not in model.variants)]
    told = bool(model.variants) or model.provider in KNOWN or model.dialect not in _OPEN
    if variant is None or variant in choices or not told:
        return
    raise UsageError(
        f"{model.ref} has no variant {echo(variant)!r}",
        hint=f"{near_match(variant, choices)}There are: {', '.join(choices)}.\n"
        f"More are defined by {_key(model, 'variants')} in your configuration.",
    )


def is_said_by(error: RoostError, note: str) -> bool:
    """Whether `error` says, too, that a variable is not set, so that `note` need not."""
    found = _UNSET.search(note)
    return found is not None and found[0] in error.message


def unseen(files: Iterable[FileInput], model: Model) -> list[str]:
    """A warning for each kind of file that the model will not be shown."""
    found = list(files)
    images = [one for one in found if one.mime.startswith("image/")]
    documents = [one for one in found if one.mime == _PDF]
    warnings: list[str] = []
    if images and not model.reads_images:
        warnings.append(_left_out(images, "images", model))
    if documents and not model.reads_pdf:
        warnings.append(_left_out(documents, "PDF documents", model))
    return warnings


def _left_out(files: list[FileInput], kind: str, model: Model) -> str:
    names = ", ".join(str(one.filename) for one in files)
    words = f"warning: {names} {'is' if len(files) == 1 else 'are'} left out:"
    if model.provider == local.PROVIDER:
        return f"{words} embedded models read no {kind}"
    reads = ["text"]
    reads += ["image"] if model.reads_images or kind == "images" else []
    reads += ["pdf"] if model.reads_pdf or kind != "images" else []
    listed = ", ".join(f'"{one}"' for one in reads)
    return (
        f"{words} {model.ref} is not known to read {kind}. If it does, set"
        f" {_key(model, 'modalities', 'input')} = [{listed}] in your configuration"
    )


def _key(model: Model, *rest: str) -> str:
    return show_key(("provider", model.provider, "models", model.alias or model.id, *rest))
