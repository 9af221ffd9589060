"""Runs a session and says what is still known of it: in the next request, or by one search."""

import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

import msgspec
from msgspec import Struct

from benchmarks.recall.facts import KINDS, Fact, planted
from benchmarks.recall.player import Arm, Player, Seeker
from benchmarks.recall.stage import WINDOW, Stage, staged
from roost.memory.rank import CLOSE_MARK, OPEN_MARK
from scripted_model.picture import Message, Request
from scripted_model.prompt_cache import count_tokens

_MARKS: Final = str.maketrans("", "", OPEN_MARK + CLOSE_MARK)
_PLAIN: Final = "[A-Za-z0-9]"


class Recall(Struct, frozen=True):
    """What is known after so many cycles."""

    arm: Arm
    cycles: int
    shown: dict[str, float]
    """Share of each kind that stands in the next request."""
    found: dict[str, float]
    """Share that does not, and that one search finds."""
    reached: dict[str, float]
    """Share that is known in the one way or the other."""
    lost: tuple[Fact, ...]
    max_request_tokens: int
    """As the provider counts."""
    window: int
    shortening_ms: float
    """The median of what a shortening adds to the time between two requests."""


def measured(arm: Arm, seed: int, counts: Sequence[int]) -> list[Recall]:
    """The recall of one session after each of so many cycles. Raises `RuntimeError` if it fails."""
    cycles = planted(seed, max(counts))
    made: list[Recall] = []
    largest = 0
    with staged(arm) as stage:
        player = Player(arm, seed, stage.project)
        for number, cycle in enumerate(cycles, start=1):
            player.begin(cycle)
            records = stage.work(player, cycle.prompt)
            if arm != "off" and not player.was_shortened:
                raise RuntimeError(f"cycle {number} of {arm} ended without a shortening")
            largest = max(largest, *(one.input_tokens for one in records))
            if number not in counts or player.last is None:
                continue
            facts = [fact for one in cycles[:number] for fact in one.facts]
            counted = [one.input_tokens for one in records if one.request is player.last]
            text, size = _what_fits(player.last, counted[-1])
            shown = [one for one in facts if stands_in(one.needle, text)]
            left = [one for one in facts if one not in shown]
            found = [] if arm == "off" else _looked_up(stage, left)
            most = size if arm == "off" else largest
            made.append(_recall(player, number, facts, shown, found, most))
    return made


def _recall(
    player: Player, cycles: int, facts: list[Fact], shown: list[Fact], found: list[Fact], most: int
) -> Recall:
    usual = median(player.pauses)
    extra = [one - usual for one in player.shortenings]
    known = [*shown, *found]
    return Recall(
        arm=player.arm,
        cycles=cycles,
        shown=_shares(shown, facts),
        found=_shares(found, facts),
        reached=_shares(known, facts),
        lost=tuple(one for one in facts if one not in known),
        max_request_tokens=most,
        window=WINDOW,
        shortening_ms=median(extra) * 1000 if extra else 0.0,
    )


def _shares(some: Iterable[Fact], facts: Sequence[Fact]) -> dict[str, float]:
    known = [one.kind for one in some]
    total = [one.kind for one in facts]
    return {kind: known.count(kind) / max(1, total.count(kind)) for kind in KINDS}


def _looked_up(stage: Stage, facts: list[Fact]) -> list[Fact]:
    """Those that one search each finds."""
    seeker = Seeker(facts)
    stage.look_up(seeker)
    return [one for one, answer in seeker.answers if stands_in(one.needle, _unmarked(answer))]


def _unmarked(answer: str) -> str:
    return answer.translate(_MARKS)


def stands_in(needle: str, text: str) -> bool:
    """Whether it can be read in `text` as a whole, not as a part of a longer word or number."""
    words = r"\s+".join(map(re.escape, needle.split()))
    before = f"(?<!{_PLAIN})" if needle[0].isascii() and needle[0].isalnum() else ""
    behind = f"(?!{_PLAIN})" if needle[-1].isascii() and needle[-1].isalnum() else ""
    return re.search(before + words + behind, text) is not None


def _what_fits(request: Request, tokens: int) -> tuple[str, int]:
    """The text of the newest messages of `request` that fit the window, and how many tokens the
    request then has: what is left where older messages are cut off.
    """
    sizes = [_tokens(one) for one in request.messages]
    over = tokens - WINDOW
    start = 0
    while over > 0:
        over -= sizes[start]
        start += 1
    kept = msgspec.structs.replace(request, messages=request.messages[start:])
    return kept.all_text, tokens - sum(sizes[:start])


def _tokens(message: Message) -> int:
    return count_tokens(msgspec.json.encode(message.blocks))
