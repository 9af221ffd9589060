"""Which encoding a text that is not UTF-8 is probably in."""

import codecs
import locale
import re
from typing import Final

_SAMPLE: Final = 64 * 1024
_MULTI_BYTE: Final = ("gb", "big5", "cp932", "cp949", "euc", "shift", "johab", "hz", "iso2022")
_WESTERN: Final = "cp1252"
_EASTERN: Final = ("gb2312", "euc_jp", "euc_kr", "gb18030", "big5")
_NEAR: Final = 0.1
"""How much worse than the best guess (chaos, 0 to 1) a guess may be and still be believable."""
_COHERENT: Final = 0.1
"""From this share of letters typical of some language on, a one-byte guess is trusted."""


def likely_encodings(data: bytes) -> list[tuple[str, bool]]:
    """Encodings to try on `data`, the most believable first, each with whether it is more than a
    guess among several that fit.
    """
    from charset_normalizer import from_bytes  # 10 ms that most processes never need

    found = list(from_bytes(data[:_SAMPLE]))
    if not found:
        return []
    best = found[0]
    guesses = [(best.encoding, best.coherence >= _COHERENT)]
    if best.encoding.startswith(_MULTI_BYTE):
        guesses = [(best.encoding, True)]
    else:
        near = [m for m in found if m.chaos <= best.chaos + _NEAR and m.coherence >= best.coherence]
        names = {name for match in near for name in match.could_be_from_charset}
        # Short Western text fits dozens of old encodings equally well; people have these two.
        for usual in (locale.getencoding(), _WESTERN):
            plain = codecs.lookup(usual).name.replace("-", "_")
            if plain in names and plain != "utf_8":
                guesses.insert(0, (plain, best.coherence >= _COHERENT))
    return [*guesses, *((match.encoding, False) for match in found[1:])]


def readable_encoding(data: bytes) -> str:
    """The encoding in which bytes of unknown origin are shown; some may still not fit it.

    Mostly UTF-8 counts as UTF-8. In the old encodings of East Asia letters are pairs of high
    bytes, in those of Europe a high byte stands alone.
    """
    good = sum(char >= "\x80" and char != "\ufffd" for char in data.decode("utf-8", "replace"))
    bad = data.decode("utf-8", "replace").count("\ufffd")
    if good > bad or b"\x00" in data[:4096]:
        return "utf-8"
    own = codecs.lookup(locale.getencoding()).name
    if own not in {"utf-8", "ascii"}:
        return own
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data[:_SAMPLE])]
    paired = sum(length for length in runs if length % 2 == 0)
    if paired * 10 < sum(runs) * 9:
        return _WESTERN
    return next((name for name in _EASTERN if _fits(data, name)), _WESTERN)


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
