"""The lines of `--format json`, in the shape of OpenCode's `run --format json` (v1.14): each has
`type`, `timestamp` and `sessionID`. Roost's own are `notice` (what an actor reports), `hook` (one
sends the actor on), `again` (a step was no good, and the model is told so), `goal` (what is to be
reached, and what a judge says of it), `max_mode` (how far a round of proposals has come), `request`
(somebody waits for a person) and the last one, `result`.
"""

from typing import Any

import msgspec

from roost.cli.run.max_lines import Choosing
from roost.cli.run.sightings import (
    AskedAgain,
    Asking,
    Judged,
    Noticed,
    SentOn,
    Sighting,
    Trouble,
)
from roost.cli.run.steps import Steps
from roost.core.clock import now_ms
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)

_encoder = msgspec.json.Encoder()


class JsonView:
    """Turns sightings into lines; each part is given once, when it is final."""

    def __init__(self, session_id: str | None, *, thinking: bool) -> None:
        self._session_id = session_id
        self._thinking = thinking
        self._steps = Steps()
        self._errors: list[Any] = []

    def feed(self, sighting: Sighting) -> list[str]:
        """The lines to write because of `sighting`."""
        if isinstance(sighting, Trouble):
            return self.error(sighting.error)
        if isinstance(sighting, Noticed):
            return [self._line("notice", notice=sighting.notice)]
        if isinstance(sighting, SentOn):
            return [self._line("hook", on=sighting.point, reason=sighting.reason)]
        if isinstance(sighting, AskedAgain):
            return [self._line("again", budget=sighting.budget, text=sighting.words)]
        if isinstance(sighting, Judged):
            return [self._line("goal", goal=sighting.goal, verdict=sighting.verdict)]
        if isinstance(sighting, Choosing):
            return [self._line("max_mode", **msgspec.structs.asdict(sighting))]
        if isinstance(sighting, Asking):
            ask = sighting.ask
            return [self._line("request", kind=ask.kind, actor=ask.actor_id, request=ask.request)]
        return [line for part in self._steps.see(sighting) for line in self._part(part)]

    def _part(self, part: Part) -> list[str]:
        match part:
            case StepStartPart():
                return [self._line("step_start", part=part)]
            case StepFinishPart():
                return [self._line("step_finish", part=part)]
            case TextPart() if part.text.strip():
                return [self._line("text", part=part)]
            case ReasoningPart() if self._thinking and part.text.strip():
                return [self._line("reasoning", part=part)]
            case ToolPart():
                return [self._line("tool_use", part=part)]
            case _:
                return []

    def error(self, error: dict[str, Any]) -> list[str]:
        """The line of an error, the same one only once. `error` is `{name, data: {message}}`."""
        if error in self._errors:
            return []
        self._errors.append(error)
        return [self._line("error", error=error)]

    def result(self, **fields: Any) -> str:
        """The last line."""
        return self._line("result", **fields)

    def _line(self, type_: str, **fields: Any) -> str:
        head = {"type": type_, "timestamp": now_ms(), "sessionID": self._session_id}
        return _encoder.encode({**head, **fields}).decode() + "\n"
