"""Finds rounds of the same steps at the end of a slice. Pure; reads back as far as they reach.

Two steps are alike if their calls are, whatever else they say; without calls, if their words are.
How many rounds are a loop depends on what came of them: the same results, fast, are one soon; who
gets other results each time may be watching something, and who takes seconds for a round waits for
it. Who waits, and each time learns something new, is in no loop at all.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from roost.sessions.models import AssistantInfo, Message, UserInfo
from roost.sessions.parts import ReasoningPart, TextPart, ToolCompleted, ToolFailed, ToolPart

STREAK: Final = 3
"""Rounds with the same results that are a loop; each further rung needs as many again."""
CHANGING: Final = 8
"""The same, where the results differ from round to round."""
PATIENT: Final = 20
"""The same, where a round with the same results takes `PATIENT_SECONDS` or longer."""
PATIENT_SECONDS: Final = 5.0
LONGEST_PERIOD: Final = 4
"""Steps of the longest round that is noticed."""
WAITED_SECONDS: Final = 1.0
"""A wait for mail that took so long ends a streak, though nobody wrote."""
ENOUGH_WORDS: Final = 200
"""Characters of a step without calls, below which that it says the same again means nothing."""
CROWD: Final = 10
"""Calls of one step which only repeat others of it, that are a loop by themselves."""
DUPLICATE: Final = "duplicateOf"
"""Metadata of a call that was not run, since the same one stood before it: the id of that one."""
WAITING: Final = "waiting"
"""Where mail comes from that says that nobody wrote."""


class Loop(Struct, frozen=True):
    """What repeats itself."""

    what: str
    """In words, for people and for the model."""
    due: bool
    """This step completes so many rounds that a rung is due; others are between two rungs."""
    spare: tuple[str, ...]
    """Ids of the steps that the model can do without."""


class _Step(Struct, frozen=True):
    """A step as far as loops are concerned."""

    id: str
    done: bytes
    """What it did: equal for steps that are alike."""
    came: bytes
    """What came of it."""
    seconds: float
    """What its tools took, and the wait behind it."""


def crowd(message: Message) -> Loop | None:
    """A step that asks for the same many times over."""
    count = sum(_is_duplicate(part) for part in message.parts)
    if count < CROWD:
        return None
    return Loop(
        f"{count} calls of one step that only repeat others of it", True, (message.info.id,)
    )


def _is_duplicate(part: object) -> bool:
    state = part.state if isinstance(part, ToolPart) else None
    return isinstance(state, ToolCompleted) and DUPLICATE in state.metadata


def rounds(messages: Sequence[Message]) -> Loop | None:
    """The loop that the newest step belongs to; the shortest round counts."""
    steps = _Steps(messages)
    for period in range(1, LONGEST_PERIOD + 1):
        if (loop := _of_period(steps, period)) is not None:
            return loop
    return None


def _of_period(steps: "_Steps", period: int) -> Loop | None:
    run, same = steps.runs(period)
    if run < 2 * period:
        return None
    patient = steps.seconds(run) * period >= PATIENT_SECONDS * run
    if same >= period * (needed := PATIENT if patient else STREAK):
        return _loop(steps, period, same, needed, "the same result each time")
    if not patient and run >= period * CHANGING:
        return _loop(steps, period, run, CHANGING, "whatever came of it")
    return None


def _loop(steps: "_Steps", period: int, run: int, needed: int, how: str) -> Loop:
    what = "the same step" if period == 1 else f"the same {period} steps in turn"
    ids = steps.ids(run)  # the newest first
    spare = ids[period:] if how.startswith("whatever") else ids[: run - period]
    return Loop(
        f"{what} {run // period} times in a row, with {how}",
        run % (period * needed) == 0,
        tuple(spare),
    )


class _Steps:
    """The newest steps up to the last news, read as far as somebody asks."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._unread = _walk(messages)
        self._read: list[_Step] = []

    def _at(self, index: int) -> _Step | None:
        while len(self._read) <= index:
            step = next(self._unread, None)
            if step is None:
                return None
            self._read.append(step)
        return self._read[index]

    def runs(self, period: int) -> tuple[int, int]:
        """How many of the newest steps did what was done `period` steps later; how many of them
        with the same results.
        """
        run = same = 0
        while (step := self._at(run)) is not None:
            later = self._at(run - period) if run >= period else None
            if later is not None and later.done != step.done:
                break
            if same == run and (later is None or later.came == step.came):
                same += 1
            run += 1
        return run, same

    def seconds(self, run: int) -> float:
        """What the newest `run` steps took."""
        return sum(step.seconds for step in self._read[:run])

    def ids(self, run: int) -> list[str]:
        """The newest `run` steps."""
        return [step.id for step in self._read[:run]]


def _walk(messages: Sequence[Message]) -> Iterator[_Step]:
    """The steps from the newest back to the last news.

    News makes the same call another one: an actor that waits, hears and waits again gets on.
    """
    later: AssistantInfo | None = None
    waited = False
    for message in reversed(messages):
        info = message.info
        if isinstance(info, UserInfo):
            if not _is_reminder(info):
                return
            waited = waited or _tells_of_a_wait(message)
            continue
        gap = _gap(info, later)
        if waited and gap >= WAITED_SECONDS:
            return
        done = _done(message)
        if done is None:
            return
        yield _Step(info.id, done, _came(message), _took(message) + gap)
        later, waited = info, False


def _is_reminder(info: UserInfo) -> bool:
    """Whether the runtime alone spoke, which is no reason to do the same once more."""
    if info.provenance is None:
        return False
    return all(row["kind"] == "system" for row in info.provenance.get("inbox", ()))


def _tells_of_a_wait(message: Message) -> bool:
    return any(
        (part.metadata or {}).get("origin", {}).get("name") == WAITING
        for part in message.parts
        if isinstance(part, TextPart)
    )


def _gap(info: AssistantInfo, later: AssistantInfo | None) -> float:
    if later is None or info.time.completed is None:
        return 0.0
    return max(0, later.time.created - info.time.completed) / 1000


def _took(message: Message) -> float:
    spans = [
        part.state.time.end - part.state.time.start
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted | ToolFailed)
    ]
    return max(spans, default=0) / 1000


def _done(message: Message) -> bytes | None:
    """What a step did, in a form in which equal calls are equal; None for a step of next to
    nothing.
    """
    calls = list(
        dict.fromkeys(
            call_signature(part.tool, part.state.input)
            for part in message.parts
            if isinstance(part, ToolPart)
        )
    )
    if calls:
        return b"\n".join(calls)
    said = " ".join(
        part.text for part in message.parts if isinstance(part, TextPart | ReasoningPart)
    )
    words = " ".join(said.lower().split())
    return words.encode() if len(words) >= ENOUGH_WORDS else None


def call_signature(tool: str, given: object) -> bytes:
    """A call in a form in which equal calls are equal, whatever the order of their fields."""
    return msgspec.json.encode((tool, given), order="sorted")


def _came(message: Message) -> bytes:
    """What came of a step's calls."""
    found: list[bytes] = []
    for part in message.parts:
        state = part.state if isinstance(part, ToolPart) else None
        if isinstance(state, ToolCompleted) and DUPLICATE not in state.metadata:
            found.append(state.output.encode())
        elif isinstance(state, ToolFailed):
            found.append(state.error.encode())
    return b"\n".join(found)
