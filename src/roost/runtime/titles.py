"""Names new sessions: at once by their first words, then by the small model, in the background."""

import asyncio
import logging
import re
from contextlib import aclosing
from typing import Final

from roost.context.system import prompt_text
from roost.core.errors import RoostError
from roost.core.text import clean, cut
from roost.db.database import Database
from roost.inbox.models import PromptBody
from roost.llm.models import ModelError, ModelRequest, Text, TextDelta, UserMessage
from roost.llm.providers.cache import EncodingCache
from roost.runtime.worlds import Worlds
from roost.sessions import store as sessions
from roost.sessions.parts import TextPart

logger = logging.getLogger(__name__)
TITLE_LENGTH: Final = 48
"""Characters of a title that a model made."""
FALLBACK_LENGTH: Final = 50
"""Characters of the prompt that serve until then."""
SOURCE_LENGTH: Final = 2_000
"""Characters of the prompt that the model is shown."""
SECONDS: Final = 30.0


class Titles:
    """Background work of this process: one small model call per new session at most."""

    def __init__(self, worlds: Worlds, database: Database) -> None:
        self._worlds = worlds
        self._database = database
        self._tasks: set[asyncio.Task[None]] = set()

    def consider(self, session_id: str, body: PromptBody) -> None:
        """Name the session after `body` if nobody has named it."""
        words = " ".join(
            part.text for part in body.parts if isinstance(part, TextPart) and not part.synthetic
        )
        if not words.strip():
            return
        task = asyncio.create_task(self._name(session_id, clean(words), body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what is still running."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _name(self, session_id: str, words: str, body: PromptBody) -> None:
        try:
            is_new = await self._database.read(lambda db: sessions.is_unnamed(db, session_id))
            if not is_new:
                return
            fallback = cut(" ".join(words.split()), FALLBACK_LENGTH)
            await self._store(session_id, fallback, "prompt")
            if self._worlds.settings.make_titles:
                async with asyncio.timeout(SECONDS):
                    title = await self._ask(session_id, words, body)
                if title:
                    await self._store(session_id, title, "model")
        except (RoostError, ModelError, TimeoutError) as error:
            kind = type(error).__name__  # what a provider says may hold what was said to it
            logger.info("session %s keeps its first words as title: %s", session_id, kind)
            logger.debug("no title was made: %s", error)

    async def _store(self, session_id: str, title: str, source: str) -> None:
        await self._database.write(
            lambda tx: sessions.set_title(tx, session_id, title, source=source)
        )

    async def _ask(self, session_id: str, words: str, body: PromptBody) -> str:
        model = await self._worlds.small_model(session_id, body.model)
        request = ModelRequest(
            model=model,
            system=(prompt_text("title"),),
            messages=(UserMessage((Text(cut(words, SOURCE_LENGTH)),)),),
            max_output=min(model.output, 1_000),
        )
        stream = self._worlds.models.stream(request, EncodingCache())
        async with aclosing(stream) as events:
            said = [event.text async for event in events if isinstance(event, TextDelta)]
        return usable_title("".join(said))


def usable_title(text: str) -> str:
    """The title in a model's answer; empty if there is none."""
    lines = [line for line in clean(text).splitlines() if line.strip()]
    title = " ".join(lines[-1].split()).strip("\"'`*# ") if lines else ""
    if not re.search(r"\w", title) or title[0] in "{[<":
        return ""
    return cut(title, TITLE_LENGTH)
