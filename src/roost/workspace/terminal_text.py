"""What a command wrote for a terminal, as the text that a terminal would show in the end."""

import re
from typing import Final

from roost.core.text import terminal_safe

# CSI (colours, cursor), OSC (titles, links; ended by BEL or ST), charset choice, single letters.
_SEQUENCE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"
    r"|[()][0-9A-Za-z]|[=>78cDEHM])"
)
_ERASED: Final = re.compile(r"[^\n]*\x1b\[[12]?K")
_ERASE_RIGHT: Final = re.compile(r"\r\x1b\[0?K")


def shown(text: str) -> str:
    """`text` without escape sequences, progress lines as they ended, other controls visible."""
    if text.isascii() and "\r" not in text and "\x1b" not in text and text.isprintable():
        return text
    if "\x1b" in text:
        text = _SEQUENCE.sub("", _without_erased(text))
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(map(_overwritten, text.split("\n")))
    return terminal_safe(text)


def _without_erased(text: str) -> str:
    """Drop what was erased again: a whole line, or a line written anew from its start."""
    if "K" not in text:
        return text
    lines = text.split("\n")
    return "\n".join(_without_erased_start(line) if "\x1b[" in line else line for line in lines)


def _without_erased_start(line: str) -> str:
    pieces = _ERASE_RIGHT.split(line)
    return _ERASED.sub("", pieces[-1])


def _overwritten(line: str) -> str:
    """A line after its carriage returns: later text covers earlier text from the left."""
    pieces = line.split("\r")
    result = pieces[-1]
    for piece in reversed(pieces[:-1]):
        if len(piece) > len(result):
            result += piece[len(result) :]
    return result
