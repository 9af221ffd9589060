from typing import Any

import pytest

from roost.context.modes import ModeNews, mode_news, told
from roost.sessions.models import Message, MessageTime, ModelName, UserInfo
from roost.sessions.parts import TextPart

PLAN = ".roost/plans/2026-01-02-abc.md"


def said(text: str, origin: str = "", *, synthetic: bool = True) -> Message:
    info = UserInfo("msg_1", "ses_1", MessageTime(1), "build", ModelName("a", "b"))
    about = {"origin": {"kind": "system", "name": origin}} if origin else None
    return Message(info, (TextPart("prt_1", "ses_1", "msg_1", text, synthetic, metadata=about),))


def news(last: Any, **more: Any) -> ModeNews | None:
    given: dict[str, Any] = {"plans": False, "below": False, "plan": PLAN, "written": True, **more}
    return mode_news(last, **given)


def test_the_last_that_was_told_counts() -> None:
    switched = [said("a", "plan-mode"), said("b"), said("c", "plan-left"), said("d", "goal")]
    assert told(switched) == "plan-left"
    assert told(switched[:2]) == "plan-mode"
    assert told([said("b")]) is None


def test_who_writes_the_words_of_the_runtime_has_told_nothing() -> None:
    assert told([said("a", "plan-mode", synthetic=False)]) is None


def test_each_switch_is_told_once() -> None:
    begun = news(None, plans=True)
    assert begun is not None
    assert begun.mode == "plan-mode"
    assert PLAN in begun.words
    assert news("plan-mode", plans=True) is None
    ended = news("plan-mode")
    assert ended is not None
    assert ended.mode == "plan-left"
    assert PLAN in ended.words
    assert news("plan-left") is None
    assert news("plan-left", plans=True) == begun


def test_who_never_planned_is_told_nothing() -> None:
    assert news(None) is None


def test_who_leaves_without_a_plan_is_not_sent_to_read_one() -> None:
    ended = news("plan-mode", written=False)
    assert ended is not None
    assert PLAN not in ended.words


@pytest.mark.parametrize("plans", [True, False])
def test_whoever_is_below_a_planning_actor_is_told_that(plans: bool) -> None:
    found = news(None, plans=plans, below=True)
    assert found is not None
    assert found.mode == "plan-below"
    assert news("plan-below", plans=plans, below=True) is None
