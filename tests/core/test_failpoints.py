import time

import pytest

from roost.core import failpoints
from roost.core.errors import UsageError
from roost.core.failpoints import FailpointError, failpoint


def set_points(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(failpoints, "_points", failpoints._parse(text))


def test_a_failpoint_does_nothing_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    set_points(monkeypatch, "other=raise")
    failpoint("here")


def test_a_failpoint_acts_at_the_hit_it_is_told_and_only_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_points(monkeypatch, "here:3=raise, there=raise")
    failpoint("here")
    failpoint("here")
    with pytest.raises(FailpointError, match="here"):
        failpoint("here")
    failpoint("here")
    with pytest.raises(FailpointError, match="there"):
        failpoint("there")


def test_a_failpoint_can_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    set_points(monkeypatch, "here=sleep:30")
    began = time.monotonic()
    failpoint("here")
    assert time.monotonic() - began >= 0.03


@pytest.mark.parametrize(
    "text", ["here", "=kill", "here=explode", "here:x=kill", "here:0=kill", "here=30", "a=sleep:²"]
)
def test_what_cannot_be_read_is_refused_with_the_entry(text: str) -> None:
    with pytest.raises(UsageError, match="ROOST_FAILPOINT"):
        failpoints._parse(text)
