from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.llm.models import (
    CallDelta,
    CallEnd,
    CallStart,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from roost.turn.reducer import (
    Append,
    Close,
    OpenCall,
    OpenReasoning,
    OpenText,
    StreamState,
    Write,
    reduce,
)


def play(events: list[StreamEvent]) -> tuple[StreamState, list[Write]]:
    state, writes = StreamState(), list[Write]()
    for event in events:
        state, new = reduce(state, event)
        writes += new
    return state, writes


def parts(writes: list[Write]) -> list[dict[str, Any]]:
    """What the writes leave behind: parts in order, with their text and whether they ended."""
    made: list[dict[str, Any]] = []
    open_: dict[str, dict[str, Any]] = {}
    for write in writes:
        match write:
            case OpenText(key=key) | OpenReasoning(key=key):
                open_[key] = {"kind": type(write).__name__, "text": ""}
                made.append(open_[key])
            case OpenCall(key=key, id=id_, name=name, metadata=metadata):
                open_[key] = {"kind": "call", "id": id_, "name": name, "text": "", **metadata}
                made.append(open_[key])
            case Append(key=key, text=text):
                open_[key]["text"] += text
            case Close(key=key, metadata=metadata):
                open_.pop(key).update({"closed": True, **metadata})
    return made


def test_a_step_of_thought_words_and_a_call_becomes_three_parts() -> None:
    state, writes = play(
        [
            ReasoningStart("r", {"id": "1"}),
            ReasoningDelta("r", "hm"),
            ReasoningEnd("r", {"signature": "s"}),
            TextStart("t"),
            TextDelta("t", "I "),
            TextDelta("t", "look"),
            TextEnd("t", {"phase": "commentary"}),
            CallStart("c", "call_1", "bash", {"extra": 1}),
            CallDelta("c", '{"a"'),
            CallDelta("c", ":1}"),
            CallEnd("c"),
            Usage(input=5, output=7),
            Finish("tool-calls"),
        ]
    )
    assert parts(writes) == [
        {"kind": "OpenReasoning", "text": "hm", "closed": True, "id": "1", "signature": "s"},
        {"kind": "OpenText", "text": "I look", "closed": True, "phase": "commentary"},
        {"kind": "call", "id": "call_1", "name": "bash", "text": '{"a":1}', "extra": 1,
         "closed": True},
    ]  # fmt: skip
    assert (state.finish, state.usage.output, state.open) == ("tool-calls", 7, frozenset())


def test_no_part_is_opened_for_text_that_is_empty() -> None:
    events: list[StreamEvent] = [
        TextStart("t"),
        TextDelta("t", ""),
        TextEnd("t"),
        ReasoningStart("r"),
        ReasoningDelta("r", ""),
        ReasoningEnd("r"),
    ]
    assert play(events)[1] == []


def test_reasoning_without_a_word_is_kept_if_the_provider_wants_it_back() -> None:
    at_start = [ReasoningStart("r", {"redacted": "x"}), ReasoningEnd("r")]
    at_end = [ReasoningStart("r"), ReasoningEnd("r", {"redacted": "x"})]
    for events in (at_start, at_end):
        (part,) = parts(play(list(events))[1])
        assert part == {"kind": "OpenReasoning", "text": "", "closed": True, "redacted": "x"}


def test_a_call_is_a_part_from_its_first_moment_and_ends_only_when_told() -> None:
    _, writes = play([CallStart("c", "call_1", "bash"), CallDelta("c", '{"a'), Finish("length")])
    assert parts(writes) == [{"kind": "call", "id": "call_1", "name": "bash", "text": '{"a'}]


def test_what_belongs_to_no_open_block_is_dropped() -> None:
    assert play([TextEnd("t"), CallEnd("c"), ReasoningEnd("r")])[1] == []


def test_a_key_may_be_used_again_for_another_block() -> None:
    events: list[StreamEvent] = [TextDelta("0", "a"), TextEnd("0"), TextDelta("0", "b")]
    assert [part["text"] for part in parts(play(events)[1])] == ["a", "b"]


def test_the_last_word_on_usage_counts() -> None:
    state, writes = play([Usage(input=1), Usage(input=1, output=9)])
    assert (state.usage, writes) == (Usage(input=1, output=9), [])


texts = st.text("ab \n日", max_size=12)
metadata = st.sampled_from([{}, {"signature": "s"}, {"id": "1", "x": "y"}])


@st.composite
def streams(draw: st.DrawFn) -> list[list[StreamEvent]]:
    """The same blocks twice, with their text cut at different places."""
    kinds = draw(st.lists(st.sampled_from(["text", "reasoning", "call"]), max_size=5))
    both: list[list[StreamEvent]] = [[], []]
    for number, kind in enumerate(kinds):
        key, whole, given_ = f"k{number}", draw(texts), draw(metadata)
        ended = draw(st.booleans())
        for stream in both:
            pieces = cut(draw, whole)
            stream += block(kind, key, pieces, given_, ended=ended)
    for stream in both:
        stream.append(Finish("stop"))
    return both


def cut(draw: st.DrawFn, whole: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]


def block(
    kind: str, key: str, pieces: list[str], given_: dict[str, Any], *, ended: bool
) -> list[StreamEvent]:
    start: StreamEvent
    deltas: list[StreamEvent]
    end: StreamEvent
    if kind == "text":
        start, end = TextStart(key), TextEnd(key, given_)
        deltas = [TextDelta(key, piece) for piece in pieces]
    elif kind == "reasoning":
        start, end = ReasoningStart(key, given_), ReasoningEnd(key, {})
        deltas = [ReasoningDelta(key, piece) for piece in pieces]
    else:
        start, end = CallStart(key, key, "bash", given_), CallEnd(key)
        deltas = [CallDelta(key, piece) for piece in pieces]
    return [start, *deltas, end] if ended else [start, *deltas]


@settings(max_examples=200, deadline=None, database=None)
@given(streams())
def test_the_same_text_cut_in_any_way_gives_the_same_parts(
    both: list[list[StreamEvent]],
) -> None:
    one, other = (parts(play(stream)[1]) for stream in both)
    assert one == other
    assert all(part["kind"] != "OpenText" or part["text"] for part in one)


@settings(max_examples=50, deadline=None, database=None)
@given(streams())
def test_a_recorded_stream_can_be_played_again(both: list[list[StreamEvent]]) -> None:
    assert play(both[0]) == play(both[0])
