"""What is planted in a session, cycle by cycle: made by chance from a seed."""

import random
from typing import Any, Final, NamedTuple, get_args
from typing import Literal as Kind

from msgspec import Struct

from benchmarks.recall import phrasings
from benchmarks.recall.phrasings import Phrasing

FactKind = Kind["literals", "rules", "decisions", "dead_ends", "tasks"]
KINDS: Final[tuple[FactKind, ...]] = get_args(FactKind)
_LITERALS: Final = 8
"""Exact values of a cycle: as many each said by the user, by the model, in calls, and printed."""
_OTHERS: Final = 2
_KEY: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class Fact(Struct, frozen=True):
    """Something that is to be known later."""

    kind: FactKind
    where: str
    """Where it was said: user, model, call or output."""
    needle: str
    """What must be read again, letter by letter."""
    query: str
    """What somebody types who looks for it."""


class Act(Struct, frozen=True):
    """One step of the model: words, a call of a tool, and what the command of the call prints."""

    words: str
    tool: str = "bash"
    arguments: dict[str, Any] = {}
    printed: tuple[str, ...] = ()


class Cycle(Struct, frozen=True):
    """What is said and done until the conversation is shortened."""

    prompt: str
    acts: tuple[Act, ...]
    facts: tuple[Fact, ...]


class _Pick(NamedTuple):
    """A fact with the words in which it is planted."""

    fact: Fact
    words: str


def planted(seed: int, cycles: int) -> list[Cycle]:
    """The cycles of one session."""
    planter = _Planter(seed)
    return [planter.cycle() for _ in range(cycles)]


class _Planter:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._places = self._shuffled(
            [(s, e) for s in phrasings.SERVICES for e in phrasings.PLACES]
        )
        self._things = self._shuffled(list(phrasings.THINGS))
        matters = list(phrasings.MATTERS)
        self._decided, self._tried = self._shuffled(matters), self._shuffled(matters)
        self._open = self._shuffled(matters)
        self._sorts = iter(self.chance.choices(range(len(phrasings.LITERALS)), k=1_000))

    def _shuffled(self, all_of: list[Any]) -> list[Any]:
        return self.chance.sample(all_of, len(all_of))

    def cycle(self) -> Cycle:
        """The next one."""
        asked = [self._literal("user") for _ in range(_LITERALS // 4)]
        rules = [self._rule() for _ in range(_OTHERS)]
        told = [self._literal("model") for _ in range(_LITERALS // 4)]
        decided = [
            self._matter("decisions", phrasings.DECISIONS, self._decided) for _ in range(_OTHERS)
        ]
        tried = [
            self._matter("dead_ends", phrasings.DEAD_ENDS, self._tried) for _ in range(_OTHERS)
        ]
        called = [self._literal("call") for _ in range(_LITERALS // 4)]
        printed = [self._literal("output") for _ in range(_LITERALS // 4)]
        tasks = [self._matter("tasks", phrasings.TASKS, self._open)]
        acts = [
            *(Act(self._among(one.words)) for one in [*told, *decided, *tried]),
            *(self._called(one.words) for one in called),
            *(Act(self._chatter(), printed=(one.words,)) for one in printed),
            *(
                Act(self._chatter(), "task", {"action": "create", "summary": one.words})
                for one in tasks
            ),
        ]
        picks = [*asked, *rules, *told, *decided, *tried, *called, *printed, *tasks]
        prompt = self._prompt([one.words for one in [*asked, *rules]])
        return Cycle(prompt, tuple(self._shuffled(acts)), tuple(one.fact for one in picks))

    def _prompt(self, words: list[str]) -> str:
        lines = [self.chance.choice(phrasings.WISHES), *self._shuffled(words)]
        if self.chance.random() < 0.5:
            return "\n".join(lines)
        return " ".join(line if line[-1] in ".。" else f"{line}." for line in lines)

    def _among(self, words: str) -> str:
        """Words of the model with the fact at some place in them."""
        said = [self._chatter() for _ in range(self.chance.randint(0, 3))]
        said.insert(self.chance.randint(0, len(said)), words)
        return self.chance.choice([" ", "\n", "\n\n- "]).join(said)

    def _chatter(self) -> str:
        return self.chance.choice(phrasings.CHATTER)

    def _called(self, words: str) -> Act:
        if self.chance.random() < 0.5:
            return Act(self._chatter(), arguments={"command": words})
        name = f"notes/{self.chance.randrange(10**6)}.sh"
        text = f"#!/bin/sh\nset -e\n{words}\necho done\n"
        return Act(self._chatter(), "write", {"filePath": name, "content": text})

    def _literal(self, where: str) -> _Pick:
        sort = phrasings.LITERALS[next(self._sorts)]
        service, place = self._places.pop()
        value = self._value(sort.value, service, place)
        by_place = {"call": sort.called, "output": sort.printed}
        phrasing = by_place.get(where) or self.chance.choice(sort.said)
        named = {"s": service, "e": place, "v": value}
        words = phrasing.said.format(**named)
        return _Pick(Fact("literals", where, value, phrasing.asked.format(**named)), words)

    def _value(self, shape: str, service: str, place: str) -> str:
        made = shape.replace("{s}", service).replace("{e}", place)
        made = made.replace("{S}", service.upper())
        makers = {
            "{n}": lambda: str(self.chance.randint(10_007, 64_999)),
            "{h}": lambda: f"{self.chance.getrandbits(32):08x}",
            "{k}": lambda: "".join(self.chance.choices(_KEY, k=4)),
            "{d}": lambda: str(self.chance.randint(0, 9)),
        }
        for mark, maker in makers.items():
            while mark in made:
                made = made.replace(mark, maker(), 1)
        return made

    def _rule(self) -> _Pick:
        thing = self._things.pop()
        phrasing = self.chance.choice(phrasings.RULES)
        words = phrasing.said.format(t=thing)
        return _Pick(Fact("rules", "user", words, phrasing.asked.format(t=thing)), words)

    def _matter(self, kind: FactKind, among: tuple[Phrasing, ...], matters: list[str]) -> _Pick:
        matter = matters.pop()
        phrasing = self.chance.choice(among)
        named = {
            "t": matter,
            "c": self.chance.choice(phrasings.CHOICES),
            "w": self.chance.choice(phrasings.ATTEMPTS),
        }
        words = phrasing.said.format(**named)
        where = "call" if kind == "tasks" else "model"
        return _Pick(Fact(kind, where, words, phrasing.asked.format(**named)), words)


def noise(chance: random.Random, characters: int) -> list[str]:
    """Lines of a log, about so many characters."""
    lines: list[str] = []
    while characters > 0:
        line = chance.choice(phrasings.NOISE).format(
            s=chance.choice(phrasings.SERVICES),
            e=chance.choice(phrasings.PLACES),
            x=chance.randint(1, 254),
            h=f"{chance.getrandbits(32):08x}",
        )
        lines.append(f"12:{chance.randint(10, 59)}:{chance.randint(10, 59)} {line}")
        characters -= len(lines[-1]) + 1
    return lines
