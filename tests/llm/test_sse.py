from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_samples import CALM

from roost.llm import sse
from roost.llm.sse import EventParser, EventTooLargeError, ServerEvent

STREAM = (
    "\ufeff: hello\n\n"
    'event: message_start\ndata: {"text":"é漢😀"}\n\n'
    "data:no space\n\n"
    "id: 3\nretry: 10\ndata: two\ndata: lines\n\n"
    "event: only-a-name\n\n"
    "data\n\n"
    "\n\ndata: after blanks\n\n"
    "data: [DONE]\n\n"
)
EVENTS = [
    ServerEvent(b"message_start", '{"text":"é漢😀"}'.encode()),
    ServerEvent(b"", b"no space"),
    ServerEvent(b"", b"two\nlines"),
    ServerEvent(b"", b""),
    ServerEvent(b"", b"after blanks"),
    ServerEvent(b"", b"[DONE]"),
]


def parse(chunks: list[bytes]) -> list[ServerEvent]:
    parser = EventParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.close()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_stream_cut_in_two_anywhere_gives_the_same_events(newline: str) -> None:
    data = STREAM.replace("\n", newline).encode()
    for at in range(len(data) + 1):
        assert parse([data[:at], data[at:]]) == EVENTS


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_stream_in_tiny_pieces_gives_the_same_events(newline: str, size: int) -> None:
    data = STREAM.replace("\n", newline).encode()
    assert parse([data[at : at + size] for at in range(0, len(data), size)]) == EVENTS


@CALM
@given(
    st.lists(st.integers(min_value=0, max_value=400), max_size=8), st.sampled_from(["\n", "\r\n"])
)
def test_any_cuts_give_the_same_events(cuts: list[int], newline: str) -> None:
    data = STREAM.replace("\n", newline).encode()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert parse(pieces) == EVENTS


def test_an_event_is_handed_out_with_its_last_byte() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\n") == []
    assert parser.feed(b"\n") == [ServerEvent(b"", b"a")]


def test_a_last_event_without_its_blank_line_is_still_heard() -> None:
    assert parse([b"data: a\n\ndata: [DONE]\n"])[-1] == ServerEvent(b"", b"[DONE]")


def test_a_line_cut_off_at_the_end_is_no_event() -> None:
    assert parse([b"data: a\n\ndata: {'half"]) == [ServerEvent(b"", b"a")]


def test_an_event_without_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 1_000)
    parser = EventParser()
    parser.feed(b"data: " + b"x" * 900)
    with pytest.raises(EventTooLargeError):
        parser.feed(b"x" * 200)
