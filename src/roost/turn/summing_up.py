"""Has a model sum up a conversation that is too long: its own model, with the beginning of its own
requests, so that the provider finds them in its cache. Where that fails there is no account, and
what is gathered without a model has to do.
"""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from roost.context.estimate import tokens_of
from roost.context.trimming import trimmed
from roost.context.view import render
from roost.core.failpoints import failpoint
from roost.core.text import clean
from roost.goals.judge import UnreadableOpinionError
from roost.llm.models import AssistantMessage, Message, ModelRequest, Text, UserMessage
from roost.sessions.models import Message as Stored
from roost.turn.asking import NoOpinionError, Question
from roost.turn.memory import Memory
from roost.turn.models import Facts, Overflow, Sample
from roost.turn.prepare import prepare
from roost.turn.world import World

logger = logging.getLogger(__name__)
SECONDS: Final = 120.0
"""How long it may take."""
SHORTEST: Final = 40
"""Characters; less is no account."""
ANSWER: Final = 6_000
"""Tokens that are kept free for it."""
_TRIM: Final = 2_000
"""Characters of one text, where not all of the conversation fits."""
_FITTING: Final = 0.7
"""Share of the window that what is left of it then may take up."""
_PAGE: Final = Path(__file__).with_name("summing_up.md")


async def summed_up(world: World, memory: Memory, facts: Facts, messages: Sequence[Stored]) -> str:
    """The account of `messages`; empty if there is none. What it used is counted."""
    if not messages:
        return ""
    words = request_words()
    plan = await prepare(world, memory, facts, Sample(closing=True, words=words))
    size = facts.window.size
    room = size - min(ANSWER, size // 16)
    request = plan.request
    if isinstance(facts.outcome, Overflow) or facts.used > room > 0:
        request = _smaller(request, messages, facts, memory.overhead)
    question = Question(
        *(world, memory, request),
        read=_read,
        again=_again,
        seconds=SECONDS,
        who="the account, asked of",
    )
    failpoint("context.asking")
    try:
        async with asyncio.timeout(SECONDS):
            return await question.answer()
    except (NoOpinionError, TimeoutError) as error:
        logger.warning("the conversation was not summed up by a model: %s", error or "time is up")
        return ""
    finally:
        memory.progress = memory.progress.charged(question.tokens.total, question.cost)
        await question.show_no_retry()


def request_words() -> str:
    """What a model is asked that sums a conversation up."""
    return _PAGE.read_text(encoding="utf-8")


def _smaller(
    request: ModelRequest, messages: Sequence[Stored], facts: Facts, overhead: int
) -> ModelRequest:
    """The request with the newest of the messages, each cut, that fit the window for sure."""
    size = min(facts.window.size or facts.used, facts.used)
    room = max(int(size * _FITTING) - overhead, 0)
    kept: list[tuple[Message, ...]] = []
    for message in reversed(messages):
        less = trimmed(message, _TRIM)
        room -= tokens_of(less)
        if room < 0:
            break
        kept.append(render(less))
    shown = tuple(one for group in reversed(kept) for one in group)
    return msgspec.structs.replace(request, messages=shown)


def _read(text: str) -> str:
    words = clean(text).strip()
    if len(words) < SHORTEST:
        raise UnreadableOpinionError("there is no account in it")
    return words


def _again(request: ModelRequest, said: str, fault: str) -> ModelRequest:
    words = f"{fault}. {request_words()}"
    more: tuple[Message, ...] = (UserMessage((Text(words),)),)
    if said.strip():
        more = (AssistantMessage((Text(said),)), *more)
    return msgspec.structs.replace(request, messages=(*request.messages, *more), reminders=())
