"""The text a person reads: the answer on stdout, all else on stderr. Pure: sightings in, text out.

Everything from a model, a file or a tool passes `terminal_safe`.
"""

import time
from typing import Literal

from msgspec import Struct

from roost.cli.run.diff_lines import diff_lines
from roost.cli.run.essence import Place
from roost.cli.run.goal_lines import goal_line, is_told
from roost.cli.run.max_lines import Choosing, choosing_line
from roost.cli.run.refusals import Refusals
from roost.cli.run.request_lines import request_lines
from roost.cli.run.sightings import (
    AskedAgain,
    Asking,
    Gone,
    Head,
    Judged,
    Noticed,
    Piece,
    Retrying,
    SentOn,
    Sighting,
    Stale,
    Trouble,
    Warned,
    Words,
)
from roost.cli.run.steps import Steps
from roost.cli.run.tool_lines import (
    ANNOUNCED,
    asked_again_line,
    exit_line,
    is_running,
    notice_line,
    sent_on_line,
    tool_line,
)
from roost.cli.terminal import Look
from roost.core.clock import now_ms
from roost.core.text import terminal_safe
from roost.sessions.models import AssistantInfo
from roost.sessions.parts import Part, ReasoningPart, TextPart, ToolCompleted, ToolPart

Stream = Literal["answer", "notes"]


class Chunk(Struct, frozen=True):
    """Text that is ready to be written."""

    stream: Stream
    text: str


class TextOptions(Struct, frozen=True, kw_only=True):
    """How the view is to look."""

    place: Place
    notes: Look
    """Of what stands beside the answer; the answer itself is left as it is."""
    live: bool
    """Show text as it streams; else when it is sure to stay, as in a file that is for it alone."""
    thinking: bool


class TextView:
    """What has been shown of a turn, and what is to be shown next."""

    def __init__(self, options: TextOptions) -> None:
        self._options = options
        self._steps = Steps()
        self._kinds: dict[str, Literal["text", "reasoning"]] = {}
        self._shown: dict[str, int] = {}
        self._announced: set[str] = set()
        self._fresh = ""
        """The call whose announcement is the last line; empty when something stands below it."""
        self._headed = False
        self._line_open: Stream | None = None
        """The stream whose last line has no end yet."""
        self._answered = False
        self._held = ""
        """A carriage return at the end of a delta: what it means shows with the next character."""
        self.refusals = Refusals()

    def feed(self, sighting: Sighting) -> list[Chunk]:
        """What to write because of `sighting`."""
        # What `sighting` shows to be final happened before it.
        chunks = [chunk for part in self._steps.see(sighting) for chunk in self._final(part)]
        chunks += self._live(sighting)
        return [chunk for chunk in chunks if chunk.text]

    def close(self) -> list[Chunk]:
        """What to write when nothing more comes."""
        return self._end_line()

    def note(self, text: str) -> list[Chunk]:
        """A line of our own beside the answer."""
        self._fresh = ""
        return [*self._end_line(), Chunk("notes", text + "\n")]

    def _live(self, sighting: Sighting) -> list[Chunk]:
        match sighting:
            case Words(part_id=part_id, text=text):
                return self._grow(part_id, text)
            case Piece(part=TextPart() | ReasoningPart() as part):
                return self._catch_up(part)
            case Piece(part=ToolPart() as part):
                return self._announce(part)
            case Gone(part_id=part_id):
                return self._take_back(part_id)
            case Head(info=AssistantInfo() as info) if not self._headed:
                self._headed = True
                said = f"> {info.agent} · {info.provider_id}/{info.model_id}"
                return self.note(self._options.notes.paint(terminal_safe(said), "dim"))
            case Retrying():
                return self._retrying(sighting)
            case Noticed(notice=notice):
                return self.note(notice_line(notice, self._options.notes))
            case SentOn():
                return self.note(sent_on_line(sighting, self._options.notes))
            case AskedAgain():
                return self.note(asked_again_line(sighting, self._options.notes))
            case Asking(ask=ask):
                return self.note("\n".join(request_lines(ask, self._options.notes)))
            case Judged(goal=goal, verdict=verdict) if is_told(goal, verdict):
                return self.note(goal_line(goal, self._options.notes))
            case Choosing():
                line = choosing_line(sighting, self._options.notes)
                return self.note(line) if line else []
            case Head() | Piece() | Trouble() | Judged() | Warned() | Stale():
                return []

    # Text

    def _catch_up(self, part: TextPart | ReasoningPart) -> list[Chunk]:
        """Show what the part holds beyond what was shown; end its line when it is complete."""
        self._kinds[part.id] = "text" if isinstance(part, TextPart) else "reasoning"
        chunks = self._grow(part.id, part.text[self._shown.get(part.id, 0) :])
        if part.time is not None and part.time.end is not None and self._shown.get(part.id):
            chunks += self._end_line()
        return chunks

    def _grow(self, part_id: str, text: str) -> list[Chunk]:
        kind = self._kinds.get(part_id)
        if not text or kind is None or not self._options.live:
            return []
        begins = not self._shown.get(part_id)
        self._shown[part_id] = self._shown.get(part_id, 0) + len(text)
        if kind == "reasoning":
            return self._reasoning(text) if self._options.thinking else []
        return self._answer(text, begins=begins)

    def _answer(self, text: str, *, begins: bool) -> list[Chunk]:
        before = self._end_line() if begins or self._line_open == "notes" else []
        gap = "\n" if begins and self._answered else ""
        text, self._held = self._settle_returns(text)
        safe = terminal_safe(text)
        if safe:
            self._fresh = ""
            self._answered = True
            self._line_open = None if safe.endswith("\n") else "answer"
        return [*before, Chunk("answer", gap + safe)]

    def _settle_returns(self, text: str) -> tuple[str, str]:
        text = self._held + text
        return (text[:-1], "\r") if text.endswith("\r") else (text, "")

    def _reasoning(self, text: str) -> list[Chunk]:
        before = self._end_line() if self._line_open == "answer" else []
        safe = terminal_safe(text)
        self._fresh = ""
        self._line_open = None if safe.endswith("\n") else "notes"
        return [*before, Chunk("notes", self._options.notes.paint(safe, "dim"))]

    def _take_back(self, part_id: str) -> list[Chunk]:
        if not self._shown.pop(part_id, 0) or self._kinds.get(part_id) != "text":
            return []
        words = "the answer was cut off; what follows replaces the text above"
        return self.note(self._options.notes.paint(words, "yellow"))

    def _end_line(self) -> list[Chunk]:
        stream, self._line_open, self._held = self._line_open, None, ""
        return [Chunk(stream, "\n")] if stream else []

    # Everything else

    def _final(self, part: Part) -> list[Chunk]:
        match part:
            case TextPart() if not self._options.live:
                return [*self._answer(part.text, begins=True), *self._end_line()]
            case ReasoningPart() if not self._options.live and self._options.thinking:
                return [*self._reasoning(part.text), *self._end_line()]
            case ToolPart():
                return self._tool(part)
            case _:
                return []

    def _announce(self, part: ToolPart) -> list[Chunk]:
        if part.id in self._announced or part.tool not in ANNOUNCED or not is_running(part):
            return []
        self._announced.add(part.id)
        chunks = self.note(self._line(part))
        self._fresh = part.id
        return chunks

    def _line(self, part: ToolPart) -> str:
        return tool_line(part, self._options.place, self._options.notes)

    def _tool(self, part: ToolPart) -> list[Chunk]:
        look = self._options.notes
        self.refusals.see(part)
        ended = exit_line(part, look)
        if part.id in self._announced and isinstance(part.state, ToolCompleted):
            below = self._fresh == part.id
            return self.note(ended if below else self._line(part) + ended) if ended else []
        lines = [self._line(part)]
        if ended:
            lines.append(ended)
        if isinstance(part.state, ToolCompleted):
            diff = part.state.metadata.get("diff")
            lines += diff_lines(terminal_safe(diff), look) if isinstance(diff, str) else []
        return self.note("\n".join(lines))

    def _retrying(self, retry: Retrying) -> list[Chunk]:
        words = terminal_safe(retrying_words(retry, now_ms()))
        return self.note(self._options.notes.paint(words, "yellow"))


def retrying_words(retry: Retrying, now: int) -> str:
    """What failed, when the next try comes and the how many-th it is; `now` in milliseconds since
    the epoch."""
    seconds = max(0, retry.next - now) / 1000
    wait = f"{seconds:.1f}" if seconds < 1 else f"{seconds:.0f}"
    clock = time.strftime("%H:%M:%S", time.localtime(retry.next / 1000))
    failed = retry.message.rstrip(". ")
    return f"{failed}; trying again in {wait} s, at {clock} ({retry.turn})"
