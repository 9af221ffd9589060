import re
import threading

import pytest

from roost.core import ids
from roost.core.ids import new_id, stamp_of


def test_an_id_has_the_shape_that_opencode_gives_it() -> None:
    assert re.fullmatch(r"msg_[0-9a-f]{12}[0-9A-Za-z]{14}", new_id("message"))
    for kind, prefix in ids.type_prefix.items():
        assert new_id(kind).startswith(f"{prefix}_")


def test_ids_ascend_within_a_process_and_sessions_descend() -> None:
    made = [new_id("part") for _ in range(5_000)]
    assert made == sorted(made)
    sessions = [new_id("session") for _ in range(5_000)]
    assert sessions == sorted(sessions, reverse=True)


def test_ids_ascend_also_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = new_id("message")
    monkeypatch.setattr(ids, "now_ms", lambda: 1_000)
    after = [new_id("message") for _ in range(100)]
    assert [before, *after] == sorted([before, *after])


def test_ids_made_by_many_threads_are_all_different() -> None:
    made: list[str] = []

    def make() -> None:
        made.extend(new_id("event")[:16] for _ in range(2_000))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8_000


def test_an_id_sorts_after_one_that_a_client_with_a_fast_clock_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ids, "_last_stamp", 0)
    own = new_id("message")
    stamp = stamp_of(own)
    assert stamp is not None
    ahead = f"msg_{stamp + (3_600_000 << 12):012x}abcdefghijklmn"
    later = [new_id("message", after=ahead) for _ in range(3)]
    assert [own, ahead, *later] == sorted([own, ahead, *later])
    monkeypatch.setattr(ids, "_last_stamp", 0)


@pytest.mark.parametrize("foreign", ["", "msg_", "whatever", "msg_zzzz", "msg_ü"])
def test_an_id_of_a_foreign_shape_is_ignored(foreign: str) -> None:
    assert new_id("message") < new_id("message", after=foreign)
