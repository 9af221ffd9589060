"""Notices that a stream of prose says the same few sentences over and over, in whatever order.

Exact copies back to back are `looping`'s. Here only prose counts: rows, code and data repeat
honestly.
"""

import re
from collections import Counter, deque
from typing import Final

WINDOW: Final = 60
"""The newest sentences that are looked at."""
DISTINCT: Final = 6
"""So many different ones among them, or fewer, are a loop: each was said ten times."""
SHORTEST: Final = 24
"""Characters of a sentence that counts; of writing without spaces between words a third."""
LONGEST: Final = 2_000
"""Characters that are kept of a sentence which does not end."""
_END: Final = re.compile(r"[.!?](?=\s)|[。！？\n]")
_WORDS: Final = 4
_OTHER: Final = re.compile(r"[^\w\s,'’\-]|[\d_]")
"""What prose has little of."""
_MOST: Final = 0.05
"""Share of it in prose, at most."""
_CODE: Final = re.compile(r"[=(){}\[\]<>;|_\\/]|[,:]\Z")
_WIDE: Final = re.compile("[\u2e80-\U0003ffff]")
"""What is written without spaces between words."""


class CycleDetector:
    """Watches one channel (text or reasoning) of one attempt."""

    def __init__(self) -> None:
        self._open = ""
        self._newest: deque[str] = deque()
        self._counts: Counter[str] = Counter()

    def feed(self, text: str) -> str | None:
        """Take in `text`; the sentence that is said most once they go round in circles, else None.

        What stands in code is not for it.
        """
        *ended, self._open = _END.split(self._open + text)
        self._open = self._open[-LONGEST:]
        for one in ended:
            sentence = " ".join(one.lower().split())
            if sentence in self._counts or _counts(sentence):
                self._add(sentence)
        if len(self._newest) < WINDOW or len(self._counts) > DISTINCT:
            return None
        return self._counts.most_common(1)[0][0]

    def _add(self, sentence: str) -> None:
        self._newest.append(sentence)
        self._counts[sentence] += 1
        if len(self._newest) > WINDOW:
            oldest = self._newest.popleft()
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]


def _counts(sentence: str) -> bool:
    """Whether it is a sentence of prose, long enough to be one of its own."""
    if not sentence.isascii() and 2 * len(_WIDE.findall(sentence)) > len(sentence):
        return len(sentence) * 3 >= SHORTEST
    if len(sentence) < SHORTEST or sentence.count(" ") < _WORDS - 1 or _CODE.search(sentence):
        return False
    return len(_OTHER.findall(sentence)) <= _MOST * len(sentence)
