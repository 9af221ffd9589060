import gc

import pytest
from model_samples import answered, asked, called, model, png, user

from roost.llm.models import Message, Model
from roost.llm.providers.anthropic_writer import AnthropicWriter
from roost.llm.providers.cache import EncodingCache
from roost.llm.providers.media import (
    DROP_STEP,
    MAX_MEDIA,
    MAX_MEDIA_BYTES,
    MediaGate,
    refusal,
    to_drop,
)
from roost.llm.providers.transcript import Piece


class Counting(AnthropicWriter):
    """Remembers which messages it was asked to encode."""

    def __init__(self, of: Model) -> None:
        super().__init__(of)
        self.encoded: list[Message] = []

    def pieces(self, message: Message, skip: int) -> tuple[Piece, ...]:
        self.encoded.append(message)
        return super().pieces(message, skip)


def history(steps: int, pictures: bool = False) -> tuple[Message, ...]:
    messages: list[Message] = [user("go")]
    for n in range(steps):
        shown = (png(seed=n),) if pictures else ()
        messages += [asked(called(f"c{n}")), answered(f"c{n}", "out", *shown)]
    return tuple(messages)


def test_a_step_encodes_only_its_new_messages() -> None:
    writer, cache, whole = Counting(model("anthropic")), EncodingCache(), history(50)
    for end in range(1, len(whole) + 1, 2):
        writer.encoded.clear()
        cache.history(whole[:end], writer)
        assert len(writer.encoded) == (1 if end == 1 else 2)


def test_leaving_messages_out_encodes_none_anew() -> None:
    writer, cache, whole = Counting(model("anthropic")), EncodingCache(), history(10)
    cache.history(whole, writer)
    writer.encoded.clear()
    cache.history((whole[0], *whole[9:]), writer)
    assert writer.encoded == []


def test_what_the_last_request_left_out_is_let_go() -> None:
    cache, writer = EncodingCache(), AnthropicWriter(model("anthropic"))
    whole = history(3)
    cache.history(whole, writer)
    assert _held_by(cache, whole[1])
    cache.history((whole[0], *whole[3:]), writer)
    assert not _held_by(cache, whole[1])


def _held_by(cache: EncodingCache, message: Message) -> bool:
    seen: set[int] = set()
    waiting: list[object] = [cache]
    while waiting:
        item = waiting.pop()
        if item is message:
            return True
        if id(item) in seen:
            continue
        seen.add(id(item))
        waiting += [one for one in gc.get_referents(item) if not isinstance(one, type)]
    return False


def test_equal_messages_that_were_loaded_anew_need_no_encoding() -> None:
    writer, cache = Counting(model("anthropic")), EncodingCache()
    cache.history(history(5), writer)
    writer.encoded.clear()
    cache.history(history(6), writer)
    assert len(writer.encoded) == 2


def test_ids_of_calls_are_known_for_the_next_stream() -> None:
    cache = EncodingCache()
    cache.history(history(3), AnthropicWriter(model("anthropic")))
    assert cache.call_ids == {"c0", "c1", "c2"}


def test_old_images_give_way_in_steps_so_that_the_prefix_seldom_changes() -> None:
    cache, writer = EncodingCache(), AnthropicWriter(model("anthropic"))
    whole = history(MAX_MEDIA + 2 * DROP_STEP, pictures=True)
    changes, before = 0, b""
    for end in range(1, len(whole) + 1, 2):
        data = b",".join(cache.history(whole[:end], writer).parts)
        changes += not data.startswith(before)
        before = data
    assert changes == 2
    assert before.count(b'"type":"image"') <= MAX_MEDIA


@pytest.mark.parametrize(
    ("sizes", "dropped"),
    [
        ([], 0),
        ([1] * MAX_MEDIA, 0),
        ([1] * (MAX_MEDIA + 1), DROP_STEP),
        ([1] * (MAX_MEDIA + DROP_STEP + 1), 2 * DROP_STEP),
        ([MAX_MEDIA_BYTES], 0),
        ([MAX_MEDIA_BYTES, 1], 2),
        ([MAX_MEDIA_BYTES] * 9, DROP_STEP + 5 - 1 if DROP_STEP > 9 else 9),
    ],
)
def test_how_many_of_the_oldest_give_way(sizes: list[int], dropped: int) -> None:
    assert to_drop(sizes) == dropped


def test_a_gate_turns_the_first_away_and_lets_the_rest_pass() -> None:
    gate = MediaGate(model(), skip=1)
    assert gate.closed(png(name="a.png")) == (
        "[The image a.png is no longer shown: newer ones took its place]"
    )
    assert gate.closed(png(name="b.png")) is None


def test_what_a_model_cannot_take_has_a_reason() -> None:
    assert refusal(png(), model(reads_images=False)) is not None
    assert refusal(png(), model()) is None
