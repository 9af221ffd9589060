"""Where a run is shown: text for people, or JSON lines. Writing never blocks the event loop, since
a reader may pause for as long as it likes while leases must be renewed.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from roost.actors.spending import Spent
from roost.cli.failures import tell
from roost.cli.run.essence import Place
from roost.cli.run.follow import Followed
from roost.cli.run.json_view import JsonView
from roost.cli.run.outcome import Ended, Usage, degraded, error_words, result_fields
from roost.cli.run.request_lines import request_lines
from roost.cli.run.sightings import Asking, Retrying, Sighting
from roost.cli.run.text_view import Chunk, Stream, TextOptions, TextView, retrying_words
from roost.cli.terminal import Look, Output, is_one_place, is_regular_file, look_of
from roost.core.amounts import counted, dollars
from roost.core.clock import now_ms
from roost.core.text import terminal_safe


class Finale(Struct, frozen=True):
    """What is known when a run is over."""

    session_id: str | None
    followed: Followed
    end: Ended
    usage: Usage
    total: Spent | None
    """Of all actors together, as far as it is known."""
    seconds: float


class Screen(Protocol):
    """Shows one run."""

    async def show(self, sightings: list[Sighting]) -> None:
        """Something happened."""
        ...

    async def note(self, text: str) -> None:
        """Say something to the person beside the answer."""
        ...

    async def finish(self, finale: Finale) -> None:
        """It is over."""
        ...

    def finish_now(self, finale: Finale) -> None:
        """It is over, and the event loop is not waited for."""
        ...

    def drain(self) -> None:
        """Return when what is being written has been written."""
        ...


class TextScreen:
    """The answer on stdout, everything else on stderr."""

    def __init__(
        self,
        directory: str,
        *,
        thinking: bool,
        structured: bool,
        reader_left: Callable[[], None],
    ) -> None:
        """Paths are shown relative to `directory`; `reader_left` is called when stdout breaks.

        `structured`: an answer in a format is asked for. It alone goes to stdout, whole.
        """
        self._structured = structured
        self._reader_left = reader_left
        self._outputs: dict[Stream, Output] = {
            "answer": Output(sys.stdout),
            "notes": Output(sys.stderr, needed=False),
        }
        self._look = look_of(sys.stderr, os.environ)
        self._view = TextView(
            TextOptions(
                place=Place(directory),
                notes=self._look,
                live=not is_regular_file(sys.stdout) or is_one_place(sys.stdout, sys.stderr),
                thinking=thinking,
            )
        )

    async def show(self, sightings: list[Sighting]) -> None:
        """Show what a person should see of them."""
        await self._write(self._said([chunk for s in sightings for chunk in self._view.feed(s)]))

    def _said(self, chunks: list[Chunk]) -> list[Chunk]:
        """Where the answer has a format, words are beside it."""
        return [Chunk("notes", one.text) for one in chunks] if self._structured else chunks

    async def note(self, text: str) -> None:
        """One dim line on stderr."""
        await self._write(self._view.note(self._look.paint(terminal_safe(text), "dim")))

    async def finish(self, finale: Finale) -> None:
        """End the last line, name the error, and say how to go on."""
        await self._write(self._last(finale))

    def finish_now(self, finale: Finale) -> None:
        """The same, without the event loop."""
        for chunk in _merged(self._last(finale)):
            self._outputs[chunk.stream].write(chunk.text)

    def drain(self) -> None:
        """Wait for what is being written."""
        for output in self._outputs.values():
            output.drain()

    def _last(self, finale: Finale) -> list[Chunk]:
        chunks = self._said(self._view.close())
        if finale.followed.result is not None and finale.end.outcome == "success":
            chunks += _answer(finale.followed.result.structured)
        if remark := degraded(finale.followed):
            chunks += self._view.note(self._look.paint(f"note: {remark}", "yellow"))
        if finale.end.error is not None:
            words = terminal_safe(error_words(finale.end.error)).replace("\n", "\n  ")
            chunks += self._view.note(self._look.paint(f"error: {words}", "red"))
            if finale.end.hint:
                hint = terminal_safe(finale.end.hint).replace("\n", "\n  ")
                chunks += self._view.note(f"  {hint}")
        if refused := self._view.refusals.count:
            chunks += self._view.note(self._view.refusals.advice())
        for line in _footer(finale, refused):
            chunks += self._view.note(self._look.paint(line, "dim"))
        return chunks

    async def _write(self, chunks: list[Chunk]) -> None:
        for chunk in _merged(chunks):
            await _write(self._outputs[chunk.stream], chunk.text)
        if self._outputs["answer"].lost:
            self._reader_left()


async def _write(output: Output, text: str) -> None:
    """Write `text`, on another thread if that may take long: waking one costs more than writing."""
    if output.is_ready(text):
        output.write(text)
    else:
        await asyncio.to_thread(output.write, text)


def _merged(chunks: list[Chunk]) -> list[Chunk]:
    """Neighbours of one stream together, so that they are one write."""
    merged: list[Chunk] = []
    for chunk in chunks:
        if merged and merged[-1].stream == chunk.stream:
            merged[-1] = Chunk(chunk.stream, merged[-1].text + chunk.text)
        else:
            merged.append(chunk)
    return merged


def _answer(structured: Any) -> list[Chunk]:
    """An answer in a format as JSON on one line."""
    if structured is None:
        return []
    return [Chunk("answer", msgspec.json.encode(structured).decode() + "\n")]


def _footer(finale: Finale, denied: int) -> list[str]:
    if finale.session_id is None:
        return []
    usage = finale.usage
    figures = [
        finale.session_id,
        *_used(usage.steps, usage.tokens.total, usage.cost),
        *([f"{counted(denied, 'call')} refused"] if denied else []),
        f"{finale.seconds:.1f} s",
    ]
    return [
        " · ".join(figures),
        *_together(finale.total),
        f'go on with: roost run -s {finale.session_id} "..."',
    ]


def _together(total: Spent | None) -> list[str]:
    """What all actors used, where there was more than one."""
    if total is None or total.actors < 2:
        return []
    figures = _used(total.steps, total.tokens.total, total.cost)
    return [f"{total.actors} actors together: {' · '.join(figures)}"]


def _used(steps: int, tokens: int, cost: float) -> list[str]:
    cents = [f"${dollars(cost, 4)}"] if cost else []
    return [counted(steps, "step"), counted(tokens, "token"), *cents]


class JsonScreen:
    """One JSON object a line on stdout; what people should know besides goes to stderr."""

    def __init__(
        self, session_id: str | None, *, thinking: bool, reader_left: Callable[[], None]
    ) -> None:
        """`reader_left` is called when stdout breaks."""
        self._view = JsonView(session_id, thinking=thinking)
        self._output = Output(sys.stdout)
        self._reader_left = reader_left
        self._warnings: list[str] = []

    async def show(self, sightings: list[Sighting]) -> None:
        """Write the lines for them."""
        for sighting in sightings:
            if isinstance(sighting, Retrying):
                await self._tell(retrying_words(sighting, now_ms()))
            elif isinstance(sighting, Asking):
                await self._tell("\n".join(request_lines(sighting.ask, Look())))
        await self._write([line for s in sightings for line in self._view.feed(s)])

    async def note(self, text: str) -> None:
        """One line on stderr, and one of the `warnings` of the result."""
        self._warnings.append(text)
        await self._tell(text)

    async def _tell(self, text: str) -> None:
        await asyncio.to_thread(tell, terminal_safe(text) + "\n")

    async def finish(self, finale: Finale) -> None:
        """Write the error, if there is one, and the result."""
        await self._write(self._last(finale))

    def finish_now(self, finale: Finale) -> None:
        """The same, without the event loop."""
        self._output.write("".join(self._last(finale)))

    def drain(self) -> None:
        """Wait for the lines that are being written."""
        self._output.drain()

    def _last(self, finale: Finale) -> list[str]:
        """The error, if there is one and it was not told before, and the result."""
        end = finale.end
        lines = self._view.error(end.error) if end.error is not None else []
        fields = result_fields(finale.session_id, finale.followed, end, finale.usage, finale.total)
        return [*lines, self._view.result(**fields, warnings=self._warnings)]

    async def _write(self, lines: list[str]) -> None:
        if lines:
            await _write(self._output, "".join(lines))
            if self._output.lost:
                self._reader_left()
