"""What is taken for getting nowhere in the history of a turn, and what is not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roost.sessions.models import (
    AssistantInfo,
    Message,
    MessagePath,
    MessageTime,
    ModelName,
    UserInfo,
)
from roost.sessions.parts import TextPart, Tokens, ToolCompleted, ToolFailed, ToolPart, ToolTime
from roost.turn import stuck
from roost.turn.efforts import masked
from roost.turn.stuck import APPLIED, FAILED, FAILED_CHANGING, PATIENT, STALE, find
from roost.workspace.diff import unified

PAGE = Path(__file__).parents[2] / "docs" / "try-best.md"


class History:
    """A turn that is written down call by call, a step each."""

    def __init__(self, seconds: float = 1.0) -> None:
        self._now = 1_000_000
        self._seconds = seconds
        self.messages: list[Message] = [self._said()]
        self.first: int | None = None
        """After how many calls it was first found stuck."""
        self._count = 0

    def _said(self, **more: Any) -> Message:
        number = getattr(self, "_count", 0)
        time = MessageTime(self._now)
        info = UserInfo(f"msg_u{number}", "ses_1", time, "build", ModelName("t", "m"), **more)
        return Message(info, (TextPart("prt_u", "ses_1", info.id, "go"),))

    def said(self, kind: str | None = None) -> None:
        inbox = None if kind is None else {"inbox": [{"id": "inb_1", "kind": kind}]}
        self.messages.append(self._said(provenance=inbox))

    def call(self, tool: str, given: dict[str, Any], output: str, **more: Any) -> None:
        self._now += round(self._seconds * 1000)
        self._count += 1
        name = f"msg_{self._count}"
        path = MessagePath("/p", "/p")
        info = AssistantInfo(
            *(name, "ses_1", MessageTime(self._now, self._now), "msg_u0"),
            *("m", "t", "build", "build", path, 0.0, Tokens()),
            finish="tool-calls",
        )
        span = ToolTime(self._now, self._now)
        failed = more.pop("failed", False)
        state = (
            ToolFailed(given, output, span)
            if failed
            else ToolCompleted(given, output, "", more, span)
        )
        part = ToolPart(f"prt_{self._count}", "ses_1", name, f"call_{self._count}", tool, state)
        self.messages.append(Message(info, (part,)))
        if self.first is None and self.found is not None:
            self.first = self._count

    @property
    def found(self) -> stuck.Stuck | None:
        return find(self.messages)

    def bash(self, command: str, output: str = "", code: int = 0) -> None:
        self.call("bash", {"command": command}, output, exit=code)

    def edit(self, old: str, new: str, name: str = "code.py") -> None:
        given = {"filePath": name, "oldString": old, "newString": new}
        self.call("edit", given, "Edited.", diff=unified(name, old, new).text)

    def read(self, name: str, text: str | None = None) -> None:
        self.call("read", {"filePath": name}, text or f"the text of {name}")


def test_a_command_that_fails_the_same_way_between_looks_is_found_soon() -> None:
    history = History()
    for at in range(FAILED + 2):
        history.bash("pytest -q", f"E  assert 1 == 2\n1 failed in 0.{at}2s", 1)
        history.read(f"file{at}")
    assert history.first == 2 * FAILED - 1
    found = history.found
    assert found is None, "the newest step is a look at something new"


@pytest.mark.parametrize("by", ["edits", "commands"])
def test_with_changes_in_between_it_takes_longer(by: str) -> None:
    history = History()
    for at in range(FAILED_CHANGING + 2):
        history.bash("pytest -q", "E  assert 1 == 2", 1)
        if by == "edits":
            history.edit(f"a = {at}\n", f"a = {at + 1}\n")
        else:
            history.bash(f"sed -i s/{at}/{at + 1}/ code.py")
    assert history.first == 2 * FAILED_CHANGING - 1


def test_another_output_or_a_success_begins_anew() -> None:
    history = History()
    for at in range(40):
        history.bash("pytest -q", f"E  assert {at // 3} == 2", 1)
        history.edit(f"a = {at}\n", f"a = {at + 1}\n")
    for at in range(40):
        code = int(at % 4 != 0)
        history.bash("make", "broken" if code else "fine", code)
        history.edit(f"b = {at}\n", f"b = {at + 1}\n")
    assert history.first is None


def test_who_waits_is_patient() -> None:
    history = History(seconds=stuck.PATIENT_SECONDS)
    for at in range(PATIENT - 1):
        history.bash("curl -f localhost/health", "refused", 7)
        history.read(f"log{at}")
    assert history.first is None
    history.bash("curl -f localhost/health", "refused", 7)
    assert history.found is not None


def test_slow_tests_with_edits_in_between_are_no_waiting() -> None:
    history = History(seconds=60)
    for at in range(FAILED_CHANGING + 1):
        history.bash("make test", "FAILED", 2)
        history.edit(f"a = {at}\n", f"a = {at + 1}\n")
    assert history.first == 2 * FAILED_CHANGING - 1


def test_what_the_ladder_of_loops_sees_is_left_to_it() -> None:
    history = History()
    for _ in range(3 * STALE):
        history.bash("pytest -q", "E  assert 1 == 2", 1)
    assert history.first is None


def test_an_edit_back_and_forth_is_found_when_it_is_made_again() -> None:
    history = History()
    for at in range(9):
        old, new = ("x = 1\n", "x = 2\n")[:: 1 if at % 2 == 0 else -1]
        history.edit(old, new)
        history.bash(f"python probe{at}.py", str(at))
    assert history.first == 4 * (APPLIED - 1) + 1


def test_nearly_the_same_block_counts_and_another_one_does_not() -> None:
    block = [f"    line {at}\n" for at in range(12)]

    def there_and_back(change: bool) -> History:
        history = History()
        for at in range(3):
            varied = (
                [*block, f"    extra {at}\n"] if change else [f"{one.strip()}{at}" for one in block]
            )
            history.edit("pass\n", "".join(varied))
            history.bash(f"echo {at}", str(at))
            history.edit("".join(varied), "pass\n")
        return history

    assert there_and_back(change=True).first is not None
    assert there_and_back(change=False).first is None


def test_the_same_change_in_many_places_is_none_that_goes_back_and_forth() -> None:
    history = History()
    for _ in range(20):
        history.edit("import os\n", "import sys\n")
    assert history.first is None


def test_steps_that_bring_nothing_new_are_counted_from_the_last_that_did() -> None:
    history = History()
    names = [f"file{at}" for at in range(7)]
    for name in names:
        history.read(name)
    for at in range(3 * STALE):
        history.read(names[(at * at + 3 * at) // 2 % 7])
        if history.first:
            break
    assert history.first == len(names) + STALE


@pytest.mark.parametrize("kind", [None, "message", "notice"])
def test_news_begins_anew(kind: str | None) -> None:
    history = History()
    for at in range(3 * FAILED_CHANGING):
        history.bash("pytest -q", "E  assert 1 == 2", 1)
        history.edit(f"a = {at}\n", f"a = {at + 1}\n")
        if at % (FAILED_CHANGING - 1) == 0:
            history.said(kind)
    assert history.first is None


def test_a_reminder_of_the_runtime_is_no_news() -> None:
    history = History()
    for at in range(FAILED_CHANGING):
        history.bash("pytest -q", "E  assert 1 == 2", 1)
        history.edit(f"a = {at}\n", f"a = {at + 1}\n")
        history.said("system")
    assert history.first == 2 * FAILED_CHANGING - 1


def test_a_failing_tool_that_is_called_otherwise_each_time_is_no_streak() -> None:
    history = History()
    for at in range(30):
        history.call("edit", {"oldString": f"x{at}"}, "not found", failed=True)
    assert history.first is None


SAME: Sequence[tuple[str, str]] = [
    ("1 failed in 0.12s", "1 failed in 1.5s"),
    ("at 0x7f00aa", "at 0x7f11bb"),
    ("2026-01-02T10:11:12.5Z x", "2026-01-03T11:12:13Z x"),
    ("see /tmp/abc/x.log: no", "see /tmp/def/x.log: no"),
    ("pid 1234567", "pid 7654321"),
    ("Using seed=12", "Using seed=99"),
]
OTHER: Sequence[tuple[str, str]] = [
    ("3 failed", "2 failed"),
    ("line 12", "line 13"),
    ("assert 1 == 2", "assert 1 == 3"),
    ("FAILED test_a", "FAILED test_b"),
    ("exit 1", "exit 2"),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_what_differs_each_time_is_masked(one: str, two: str) -> None:
    assert masked(one) == masked(two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_what_shows_progress_is_not_masked(one: str, two: str) -> None:
    assert masked(one) != masked(two)


def test_the_page_tells_the_numbers_of_the_code() -> None:
    rows = [row for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ")]
    told = [int(last) for row in rows if (last := row.split("|")[-2].strip()).isdigit()]
    assert told == [APPLIED, FAILED, FAILED_CHANGING, STALE, PATIENT]
