"""Which skills fit words, and how well. Pure."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from roost.memory.tokens import folded, query_tokens, tokens
from roost.skills.models import Skill

SHOWN: Final = 3
CERTAIN: Final = 0.85
"""A skill that fits so well is loaded without being chosen."""
_SATURATION: Final = 1.5
_LENGTH: Final = 0.75
_SMOOTHING: Final = 0.5
"""Of BM25."""
_RANK: Final = 0.55
_COVERED: Final = 0.35
"""How much of a score is the rank among the others, and how much the words that are there: together
less than a name that is said."""
_HAN: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_BETWEEN: Final = re.compile(r"[\s_-]+")
_EMPTY: Final = frozenset(
    tokens(
        "a an and are as at be by can do does for from how i if in into is it its me my need of on"
        " or our please so that the there this to use used using want we what when where which"
        " with you your action input output audience skill 的 了 是 在 和"
    )
)
"""Words that are in every description, or in none, and say nothing."""


class SkillHit(Struct, frozen=True):
    """A skill that fits."""

    skill: Skill
    score: float
    """1: it was named."""


def search(skills: Iterable[Skill], words: str) -> list[SkillHit]:
    """The few skills that fit `words` best, the best first, those of one score by their names."""
    known = sorted((one for one in skills if not one.by_hand), key=lambda one: one.name)
    wanted = [token for token in query_tokens(words) if token not in _EMPTY]
    ranks = _ranks([tokens(_about(one)) for one in known], wanted)
    best = max(ranks, default=0.0)
    hits: list[SkillHit] = []
    for skill, rank in zip(known, ranks, strict=True):
        if is_named(skill, words):
            hits.append(SkillHit(skill, 1.0))
        elif rank > 0:
            there = set(tokens(_about(skill)))
            covered = sum(token in there for token in wanted) / len(wanted)
            hits.append(SkillHit(skill, round(_RANK * rank / best + _COVERED * covered, 4)))
    return sorted(hits, key=lambda hit: -hit.score)[:SHOWN]


def is_named(skill: Skill, words: str) -> bool:
    """Whether `words` mention the skill by one of its names: blanks may stand for hyphens."""
    text = _spaced(words)
    return any(_mentions(text, _spaced(name)) for name in (skill.name, *skill.aliases))


def _spaced(text: str) -> str:
    return _BETWEEN.sub(" ", folded(text)).strip()


def _mentions(text: str, name: str) -> bool:
    if not name:
        return False
    if _HAN.search(name):
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _about(skill: Skill) -> str:
    return "\n".join((skill.name, *skill.aliases, skill.description))


def _ranks(documents: Sequence[Sequence[str]], wanted: Sequence[str]) -> list[float]:
    """BM25 of each document, which holds every token once."""
    held = Counter(token for one in documents for token in set(one))
    usual = sum(map(len, documents)) / max(1, len(documents))
    return [_rank(one, wanted, held, len(documents), usual) for one in documents]


def _rank(
    document: Sequence[str], wanted: Sequence[str], held: Counter[str], count: int, usual: float
) -> float:
    there = set(document)
    weight = 1 + _SATURATION * (1 - _LENGTH + _LENGTH * len(document) / usual)
    return sum(
        math.log(1 + (count - held[token] + _SMOOTHING) / (held[token] + _SMOOTHING))
        * ((_SATURATION + 1) / weight)
        for token in wanted
        if token in there
    )
