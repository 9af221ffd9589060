"""Text as the tokens of an index, prepared here so that every script is found. Pure.

A run of Chinese, Japanese or Korean gives its single characters and its pairs; other words are
folded (case, accents, an English plural), and identifiers are kept whole beside their pieces. What
FTS5 gets is these tokens with spaces between: its own tokenizer has nothing left to decide.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final
from unicodedata import normalize

VERSION: Final = 1
"""Counts the ways in which text was cut: an index of another one is made anew."""
TOKENIZER: Final = "ascii tokenchars '_.-/:#@+~=$%&'"
"""Of FTS5: leaves every token as it is. All that is not ASCII is part of a token to it."""
LONGEST: Final = 80
"""Characters of a token; a longer run counts by its pieces alone."""
_REMEMBERED: Final = 16_384
"""Words whose tokens are kept at hand: most words of a text were in the one before."""
_SHORT_IES: Final = 5
"""Letters up to which `ies` is no plural of a word with y, such as in `ties`."""
_CJK: Final = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_NAME: Final = re.compile(r"\w+")
_PIECE: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+|\d+|[^\WA-Za-z\d_]+")
_ASCII_WORD: Final = re.compile(r"[a-z]{4,}")


@cache
def _runs() -> re.Pattern[str]:
    """What takes a while to compile, and few starts of a program need."""
    return re.compile(
        rf"(?P<cjk>[{_CJK}]+)|(?P<word>[^\W{_CJK}](?:[^\W{_CJK}]|[.\-/:#@+](?=[^\W{_CJK}]))*)"
    )


def tokens(text: str) -> list[str]:
    """The tokens of `text`, each once, in the order in which they come first."""
    return list(dict.fromkeys(_all(normalize("NFKC", text), pairs_only=False)))


def query_tokens(text: str) -> list[str]:
    """What is looked for when somebody asks for `text`: as `tokens`, but a run of two or more
    Chinese characters by its pairs alone, since single ones are everywhere.
    """
    return list(dict.fromkeys(_all(normalize("NFKC", text), pairs_only=True)))


def folded(text: str) -> str:
    """`text` as it is compared with another one: without case, accents and runs of space."""
    return " ".join(_without_accents(normalize("NFKC", text)).casefold().split())


def spans(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where which tokens stand in `text` as it is, for marking what was found in it."""
    for found in _runs().finditer(text):
        if run := found["cjk"]:
            start = found.start()
            yield from ((start + at, start + at + 1, (one,)) for at, one in enumerate(run))
            yield from (
                (start + at, start + at + 2, (run[at : at + 2],)) for at in range(len(run) - 1)
            )
        else:
            yield found.start(), found.end(), _of_word(normalize("NFKC", found["word"]))


def _all(text: str, *, pairs_only: bool) -> Iterator[str]:
    for found in _runs().finditer(text):
        if run := found["cjk"]:
            if len(run) == 1 or not pairs_only:
                yield from run
            yield from (run[at : at + 2] for at in range(len(run) - 1))
        else:
            yield from _of_word(found["word"])


@lru_cache(maxsize=_REMEMBERED)
def _of_word(word: str) -> tuple[str, ...]:
    """A word as a whole, its pieces between punctuation, and theirs between changes of case."""
    word = _without_accents(word)
    pieces = _PIECE.findall(word)
    inner = [part for piece in pieces for part in _inner(piece)]
    named = [one for one in _NAME.findall(word) if "_" in one]
    found = dict.fromkeys((word, *named, *pieces, *inner))
    return tuple(_stem(one.casefold()) for one in found if len(one) <= LONGEST)


def _inner(piece: str) -> list[str]:
    """The parts of `getUserById` and `sha256`, but no single letters and digits."""
    if piece.islower() and piece.isalpha():
        return []
    parts = _CAMEL.findall(piece)
    return [part for part in parts if len(part) > 1] if len(parts) > 1 else []


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    bare = "".join(one for one in normalize("NFD", text) if not "\u0300" <= one <= "\u036f")
    return normalize("NFC", bare)


def _stem(word: str) -> str:
    """`word` without an English plural; the same for what is looked for and what is found."""
    if not word.endswith("s") or not _ASCII_WORD.fullmatch(word):
        return word
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > _SHORT_IES:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("xes", "ches", "shes", "sses")) else word[:-1]
