import asyncio
import resource
from pathlib import Path

import pytest

from roost.events import bus as buses
from roost.events.bus import Bus, Subscription
from roost.events.types import Delta, DeltaPlace, Event


def anything(_event: Event) -> bool:
    return True


def delta(part: str, text: str, field: str = "text") -> Delta:
    return Delta(DeltaPlace("ses_1", "msg_1", part, field), text)


def about(part: str | None, name: str = "message.part.updated") -> Event:
    return Event(name, {"name": name}, session_id="ses_1", part_id=part)


def shown(events: list[Event]) -> list[str]:
    return [
        f"{event.place.part_id}+{event.text}" if isinstance(event, Delta) else event.type
        for event in events
    ]


def taken(*events: Event, limit: int = buses.QUEUE_BYTES) -> list[str]:
    subscription = Subscription(anything, limit)
    for event in events:
        subscription.offer(event)
    return shown(subscription.take())


def test_deltas_of_a_part_are_merged_until_they_are_read() -> None:
    assert taken(*(delta("a", letter) for letter in "hello")) == ["a+hello"]


def test_deltas_of_two_parts_keep_apart() -> None:
    assert taken(delta("a", "1"), delta("b", "2"), delta("a", "3")) == ["a+13", "b+2"]


def test_a_delta_never_moves_past_an_event_of_its_part() -> None:
    assert taken(about("a"), delta("a", "1"), about("b"), delta("a", "2"), about("a"),
                 delta("a", "3")) == [
        "message.part.updated",
        "a+12",
        "message.part.updated",
        "message.part.updated",
        "a+3",
    ]  # fmt: skip


def test_deltas_of_two_fields_of_a_part_keep_their_order() -> None:
    given = [delta("a", "1"), delta("a", "2", "raw"), delta("a", "3", "raw"), delta("a", "4")]
    assert taken(*given) == ["a+1", "a+23", "a+4"]


def test_each_subscriber_gets_what_it_accepts_in_order() -> None:
    bus = Bus()
    only = "message.removed"
    with bus.subscribe(anything) as all_, bus.subscribe(lambda e: e.type == only) as some:
        bus.publish([about(None, "one"), about(None, only), about(None, "two")])
        assert shown(all_.take()) == ["one", only, "two"]
        assert shown(some.take()) == [only]
    bus.publish([about(None, "after")])
    assert all_.take() == []


def test_a_subscriber_that_is_too_slow_loses_deltas_first_and_is_told_to_resync() -> None:
    bus = Bus()
    with bus.subscribe(anything, limit=50_000) as slow:
        bus.publish([about("a", "opened")])
        bus.publish([delta("a", "x" * 100) for _ in range(2_000)])
        bus.publish([about("a", "ended")])
        first = slow.take()
        assert [event.type for event in first if not isinstance(event, Delta)] == [
            "opened",
            "ended",
            "server.resync",
        ]
        assert sum(len(event.text) for event in first if isinstance(event, Delta)) < 50_000
        bus.publish([about("a", "later")])
        assert shown(slow.take()) == ["later"]


def test_a_subscriber_that_reads_nothing_loses_all_and_is_told_to_resync() -> None:
    bus = Bus()
    with bus.subscribe(anything, limit=50_000) as slow:
        bus.publish([Event("big", {"text": "x" * 9_000}) for _ in range(100)])
        left = slow.take()
        assert len(left) < 8
        assert left[-1].type == "server.resync"


def test_waiting_for_news_gathers_what_comes_within_the_window() -> None:
    async def go() -> list[str]:
        bus = Bus()
        with bus.subscribe(anything) as news:
            waiting = asyncio.create_task(news.batch(window=0.2))
            await asyncio.sleep(0)
            bus.publish([delta("a", "1")])
            await asyncio.sleep(0)
            bus.publish([delta("a", "2")])
            return shown(await waiting)

    assert asyncio.run(go()) == ["a+12"]


def test_who_comes_back_is_given_what_it_missed() -> None:
    bus = Bus()
    events = [about(None, f"event-{number}") for number in range(5)]
    bus.publish(events)
    bus.publish([delta("a", "not kept")])
    with bus.subscribe(anything, after=events[2].id) as news:
        assert shown(news.take()) == ["event-3", "event-4"]
    with bus.subscribe(anything, after=events[4].id) as news:
        assert news.take() == []
    with bus.subscribe(anything) as news:
        assert news.take() == []


def test_who_was_away_too_long_is_told_to_resync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buses, "RING_EVENTS", 10)
    bus = Bus()
    events = [about(None, f"event-{number}") for number in range(20)]
    bus.publish(events)
    with bus.subscribe(anything, after=events[5].id) as news:
        assert shown(news.take()) == ["server.resync"]
    with bus.subscribe(anything, after="evt_of_another_process") as news:
        assert shown(news.take()) == ["server.resync"]
    with bus.subscribe(anything, after=events[15].id) as news:
        assert len(news.take()) == 4


def test_what_is_kept_for_those_who_come_back_is_bounded_in_bytes() -> None:
    bus = Bus()
    events = [Event("big", {"text": "x" * 1_000_000}) for _ in range(40)]
    bus.publish(events)
    with bus.subscribe(anything, after=events[36].id) as news:
        assert len(news.take()) == 3
    with bus.subscribe(anything, after=events[20].id) as news:
        assert shown(news.take()) == ["server.resync"]


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@pytest.mark.parametrize(("size", "total"), [(20_000, 200_000_000), (4, 400_000)])
def test_a_client_that_never_reads_costs_bounded_memory(size: int, total: int) -> None:
    """200 MB of long deltas, or so many short ones that each object would show."""
    bus = Bus()
    with bus.subscribe(anything) as never_read:
        start = resident()
        for number in range(total // size // 1_000):
            part = f"prt_{number // 10}"
            bus.publish(delta(part, f"{n:0{size}}") for n in range(1_000))
            bus.publish([about(part)])
            assert resident() - start < 4 * buses.QUEUE_BYTES
        assert never_read.take()[-1].type == "server.resync"


def test_an_event_is_encoded_once_in_the_shape_of_the_wire() -> None:
    event = about("prt_1")
    assert event.encoded is event.encoded
    assert event.encoded == (
        b'{"id":"%s","type":"message.part.updated","properties":{"name":"message.part.updated"}}'
        % event.id.encode()
    )
    assert delta("prt_1", "hi").encoded.endswith(
        b'"type":"message.part.delta","properties":{"sessionID":"ses_1","messageID":"msg_1",'
        b'"partID":"prt_1","field":"text","delta":"hi"}}'
    )
