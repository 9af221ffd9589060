"""What may differ between a model's quotation of a text and the text itself.

A unit is a character with its combining marks. Two units fold to the same when they are composed
differently (NFC) or are typographic variants of one another: quotes, dashes, spaces.
"""

import re
import unicodedata
from typing import Final

_VARIANTS: Final = {
    "'": "‘’‚‛′ʼ",
    '"': "“”„‟″",
    "-": "‐‑‒–—―−",
    " ": "\u00a0\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))),
}
_PLAIN: Final = {variant: plain for plain, variants in _VARIANTS.items() for variant in variants}


def units(text: str) -> list[str]:
    """`text` cut into characters with their combining marks."""
    if text.isascii():
        return list(text)
    found: list[str] = []
    for character in text:
        if found and unicodedata.combining(character):
            found[-1] += character
        else:
            found.append(character)
    return found


def folded(unit: str) -> str:
    """The representative of all units that count as equal to `unit`."""
    composed = unicodedata.normalize("NFC", unit)
    return _PLAIN.get(composed, composed)


def pattern(text: str) -> str:
    """A regular expression for everything that folds to the same as `text`."""
    return "".join(map(_unit_pattern, units(text)))


def _unit_pattern(unit: str) -> str:
    plain = folded(unit)
    if variants := _VARIANTS.get(plain):
        return f"[{re.escape(plain + variants)}]"
    apart = unicodedata.normalize("NFD", plain)
    if apart == plain:
        return re.escape(plain)
    return f"(?:{re.escape(plain)}|{re.escape(apart)})"
