"""Plays the model of a session that facts are planted in."""

import random
import time
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.recall.facts import Act, Cycle, Fact, noise
from roost.turn.summing_up import request_words
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply

Arm = Literal["rebuild", "compaction", "off"]
LITTLE: Final = 2_500
MUCH: Final = 9_000
"""Characters that a command prints."""
UNSHORTENED: Final = 6
"""Noisy steps of a cycle where nothing is ever shortened: about as many as it takes elsewhere."""
_MOST: Final = 60
"""Noisy steps after which something is wrong."""
_ASKED: Final = request_words().partition("\n")[0]
"""Begins what is asked of a model that sums a conversation up."""
_REFUSAL: Final = "I cannot help with that."


class Player:
    """Works through a cycle, makes noise until the conversation is shortened, and ends the turn."""

    def __init__(self, arm: Arm, seed: int, project: Path) -> None:
        self.arm: Arm = arm
        self._chance = random.Random(f"{arm} {seed}")
        self._project = project
        self._acts: list[Act] = []
        self._facts: list[Fact] = []
        self._noisy = self._files = self._messages = 0
        self.was_shortened = False
        """Whether the conversation was, once the facts of the cycle were all said."""
        self._ended = 0.0
        self.last: Request | None = None
        self.pauses: list[float] = []
        """Seconds between an answer and the next request, where nothing was shortened."""
        self.shortenings: list[float] = []
        """The same where the conversation was shortened meanwhile."""

    def begin(self, cycle: Cycle) -> None:
        """Play `cycle` in the turn that comes next."""
        self._acts = list(cycle.acts)
        self._facts += cycle.facts
        self._noisy = 0
        self.was_shortened = False
        self._ended = 0.0

    def __call__(self, request: Request) -> Reply:
        """What the model says to `request`."""
        if not request.tools:
            return reply("A title")
        if _ASKED in request.last_user_text:
            return reply(self._account(request) if self.arm == "compaction" else _REFUSAL)
        self._note(request)
        said = self._next()
        self._ended = time.perf_counter()
        return said

    def _note(self, request: Request) -> None:
        """Whether the conversation was shortened, and how long that took."""
        shortened = len(request.messages) < self._messages
        if self._ended:
            pause = time.perf_counter() - self._ended
            (self.shortenings if shortened else self.pauses).append(pause)
        self.was_shortened = self.was_shortened or (shortened and not self._acts)
        self._messages = len(request.messages)
        self.last = request

    def _next(self) -> Reply:
        if self._acts:
            return self._act(self._acts.pop(0), LITTLE)
        over = self._noisy >= UNSHORTENED if self.arm == "off" else self.was_shortened
        if over:
            return reply("That is done; what comes next?")
        if self._noisy == _MOST:
            raise RuntimeError(f"nothing was shortened within {_MOST} noisy steps")
        self._noisy += 1
        return self._act(Act(""), MUCH)

    def _act(self, act: Act, characters: int) -> Reply:
        arguments = act.arguments or {"command": self._log(act, characters)}
        call = Call(act.tool, arguments, size=0)
        return reply([Text(act.words, size=0), call] if act.words else [call])

    def _log(self, act: Act, characters: int) -> str:
        """A command that prints a log with what is to be printed somewhere in it."""
        lines = noise(self._chance, characters)
        for line in act.printed:
            lines.insert(self._chance.randrange(len(lines)), line)
        self._files += 1
        path = self._project / "logs" / f"{self._files}.log"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return f"cat logs/{self._files}.log"

    def _account(self, request: Request) -> str:
        """A summary that keeps about half of the facts that the model can see."""
        visible = request.all_text
        seen = [one for one in self._facts if one.needle in visible]
        kept = [one for one in seen if self._chance.random() < 0.5]
        lines = "\n".join(f"- {one.query}: {one.needle}" for one in kept)
        return f"# Intent\nClean up the services.\n# State\nUnder way.\n# Knowledge\n{lines}"


class Seeker:
    """Asks for each of some facts with one search, several at a time, and keeps the answers."""

    AT_ONCE: Final = 20

    def __init__(self, facts: list[Fact]) -> None:
        self._left = list(facts)
        self._asked: list[Fact] = []
        self.answers: list[tuple[Fact, str]] = []

    def __call__(self, request: Request) -> Reply:
        """The next searches."""
        if not request.tools:
            return reply("A title")
        self.answers += zip(self._asked, request.results, strict=True)
        self._asked, self._left = self._left[: self.AT_ONCE], self._left[self.AT_ONCE :]
        if not self._asked:
            return reply("All were looked up.")
        return reply([Call("history", _search(one), size=0) for one in self._asked])


def _search(fact: Fact) -> dict[str, Any]:
    return {"action": "search", "query": fact.query}
