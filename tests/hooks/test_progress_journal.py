import re
from pathlib import Path
from typing import Any

import pytest
from hook_stage import asked, place, post_stop
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import UsageError
from roost.hooks.journal import HEADINGS, faults, is_own_record, journal_path, record, stamped
from roost.hooks.models import HookReport
from roost.hooks.progress import ProgressChecker

GOOD = "".join(f"{heading}\nText of it.\n\n" for heading in HEADINGS)
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
TIME = "2030-01-02T03:04:05.678Z"


def file_of(folder: Path, session: str = "ses_1", task: str = "T1.2") -> Path:
    return folder / "data" / "memory" / "sessions" / session / "tasks" / task / "progress.md"


def wrote(folder: Path, text: str) -> Path:
    file = file_of(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def checked(folder: Path, **changes: Any) -> HookReport:
    """What the checker says, asked as one of a project's hooks."""
    writable = changes.pop("writable", True)
    where = place(folder, memory_writable=writable)
    told = post_stop(**{"task_id": "T1.2", **changes})
    return asked(where, lambda hooks: hooks.post_stop(told))


def test_an_actor_without_a_journal_is_told_where_and_how_to_write_one(tmp_path: Path) -> None:
    report = checked(tmp_path)
    assert report.reason.startswith("Before terminating, write the task progress journal to:\n")
    assert str(file_of(tmp_path)) in report.reason
    assert all(f"\n{heading}\n" in report.reason for heading in HEADINGS)
    assert report.reasons[0][0] == "progress checker"
    assert not file_of(tmp_path).exists()


def test_what_is_missing_is_listed(tmp_path: Path) -> None:
    wrote(tmp_path, GOOD.replace("## §4 Verbatim commands\n", ""))
    report = checked(tmp_path)
    assert "- missing: ## §4 Verbatim commands" in report.reason
    assert "- missing: ## §1" not in report.reason
    assert "<!-- The commands" in report.reason
    assert file_of(tmp_path).read_text() == GOOD.replace("## §4 Verbatim commands\n", "")


def test_a_right_journal_is_stamped_and_nobody_is_woken(tmp_path: Path) -> None:
    file = wrote(tmp_path, GOOD)
    report = checked(tmp_path)
    assert report.reason == ""
    assert report.warnings == ()
    written = file.read_text()
    assert re.fullmatch(rf"---\nwritten-at: {STAMP}\n---\n", written.removesuffix(GOOD))
    assert [one.name for one in file.parent.iterdir()] == ["progress.md"]


@pytest.mark.parametrize(
    "changes",
    [
        {"task_id": None},
        {"can_write": False},
        {"writable": False},
        *({"agent": agent} for agent in ("main", "build", "plan", "title", "checkpoint-writer")),
        *({"agent": agent} for agent in ("summary", "dream", "distill", "compaction")),
    ],
)
@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_who_works_on_no_task_or_cannot_write_is_not_asked(
    tmp_path: Path, changes: dict[str, Any], outcome: str
) -> None:
    report = checked(tmp_path, **{"outcome": outcome, **changes})
    assert report.reason == ""
    assert report.warnings == ()
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("agent", ["general", "explore", "worker"])
def test_who_works_on_tasks_of_others_is_asked(tmp_path: Path, agent: str) -> None:
    assert checked(tmp_path, agent=agent).reason


def test_after_three_reminders_roost_writes_down_what_it_knows(tmp_path: Path) -> None:
    assert [bool(checked(tmp_path, iteration=n).reason) for n in range(4)] == [True] * 3 + [False]
    text = file_of(tmp_path).read_text()
    assert faults(text) == ()
    assert "Outcome: success." in text
    assert "> Mend the parser" in text


@pytest.mark.parametrize("outcome", ["failure", "cancelled", "interrupted"])
def test_a_turn_that_did_not_succeed_leaves_a_record_and_wakes_nobody(
    tmp_path: Path, outcome: str
) -> None:
    report = checked(tmp_path, outcome=outcome, error="overloaded\n## §5 forged", task="a\n## b")
    assert report.reason == ""
    text = file_of(tmp_path).read_text()
    assert faults(text) == ()
    assert f"Outcome: {outcome}.\n\n> overloaded\n> ## §5 forged\n" in text
    assert "> a\n> ## b\n" in text
    assert re.match(rf"---\nwritten-at: {STAMP}\nwritten-by: roost \w+\n---\n", text)


def test_a_record_of_roost_is_no_journal_until_an_actor_wrote_in_it(tmp_path: Path) -> None:
    checked(tmp_path, outcome="failure", error="e")
    assert "write the task progress journal" in checked(tmp_path).reason
    checked(tmp_path, outcome="cancelled")
    text = file_of(tmp_path).read_text()
    assert "Outcome: cancelled." in text
    mended = text.replace("Not recorded.", "I read a.py.")
    wrote(tmp_path, mended)
    assert checked(tmp_path).reason == ""
    checked(tmp_path, outcome="failure", error="e")
    assert "I read a.py." in file_of(tmp_path).read_text()


def test_a_journal_that_is_not_whole_is_never_replaced(tmp_path: Path) -> None:
    wrote(tmp_path, "## §1 Task identity\nT1\n")
    assert checked(tmp_path, outcome="failure", error="e").reason == ""
    assert checked(tmp_path, iteration=3).reason == ""
    assert file_of(tmp_path).read_text() == "## §1 Task identity\nT1\n"


def test_a_peer_keeps_the_journal_of_its_parents_task_in_the_parents_session(
    tmp_path: Path,
) -> None:
    report = checked(tmp_path, mode="peer", session_id="ses_2", parent_session_id="ses_0")
    assert str(file_of(tmp_path, "ses_0")) in report.reason
    report = checked(tmp_path, session_id="ses_2", parent_session_id="ses_2")
    assert str(file_of(tmp_path, "ses_2")) in report.reason


@pytest.mark.parametrize("task", ["..", "../x", "a/b", "", ".", "a\x00b", "x" * 200, "T1\n"])
def test_ids_that_name_no_folder_are_refused(tmp_path: Path, task: str) -> None:
    with pytest.raises(UsageError):
        journal_path(tmp_path, "ses_1", task)
    with pytest.raises(UsageError):
        journal_path(tmp_path, task, "T1")
    report = checked(tmp_path, task_id=task, outcome="failure")
    assert "cannot name a folder" in report.warnings[0]
    assert not (tmp_path / "data").exists()


def test_a_link_in_the_place_of_the_journal_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text(GOOD)
    file = wrote(tmp_path, "")
    file.unlink()
    file.symlink_to(elsewhere)
    report = checked(tmp_path)
    assert report.reason == ""
    assert "symbolic link" in report.warnings[0]
    assert elsewhere.read_text() == GOOD


def test_a_data_folder_that_is_reached_through_a_link_is_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    checker = ProgressChecker(tmp_path / "link", writable=True)
    assert checker.check(post_stop(task_id="T1", outcome="failure")) is None
    assert (tmp_path / "real/memory/sessions/ses_1/tasks/T1/progress.md").is_file()


LAST = HEADINGS[4]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (GOOD, ()),
        (GOOD.replace("\n", "\r\n"), ()),
        ("\ufeff---\na: b\n---\n# Journal\n\n" + GOOD, ()),
        (GOOD.replace("Text of it.", "### Part\nText."), ()),
        (GOOD.replace("Text of it.", "```\ncode\n```"), ()),
        (GOOD.replace("Text of it.", "```html\n<!-- never closed\n```"), ()),
        (GOOD + "```\n## §1 Task identity\n", ()),
        ("", tuple(f"- missing: {heading}" for heading in HEADINGS)),
        (f"```\n{GOOD}```\n", tuple(f"- missing: {heading}" for heading in HEADINGS)),
        (f"<!--\n{GOOD}-->\n", tuple(f"- missing: {heading}" for heading in HEADINGS)),
        (GOOD.replace(LAST, "See ## §5 Outcome and discoveries"), (f"- missing: {LAST}",)),
        (GOOD.replace(LAST, f"#{LAST}"), (f"- missing: {LAST}",)),
        (GOOD.replace(LAST, f"{LAST} and more"), (f"- missing: {LAST}",)),
        (f"{LAST}\nx\n" + GOOD.replace(LAST, "# x"), (f"- not in order: {LAST}",)),
        (GOOD.rpartition("Text")[0], (f"- without text under it: {LAST}",)),
        (GOOD.rpartition("Text")[0] + "<!-- to do -->", (f"- without text under it: {LAST}",)),
        (GOOD.rpartition("Text")[0] + "### Part\n", (f"- without text under it: {LAST}",)),
    ],
)
def test_a_journal_is_right_when_every_heading_stands_in_order_with_text(
    text: str, found: tuple[str, ...]
) -> None:
    if found == (f"- not in order: {LAST}",):
        assert [one for one in faults(text) if one.startswith("- not in order")]
    else:
        assert faults(text.removeprefix("\ufeff")) == found


def test_the_template_itself_is_no_journal(tmp_path: Path) -> None:
    template = checked(tmp_path).reason.partition("The template:\n\n")[2]
    assert faults(template) == tuple(f"- without text under it: {one}" for one in HEADINGS)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"text\n", b"---\nwritten-at: T\n---\ntext\n"),
        (b"", b"---\nwritten-at: T\n---\n"),
        (b"a\r\nb", b"---\r\nwritten-at: T\r\n---\r\na\r\nb"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbf---\nwritten-at: T\n---\na\n"),
        (b"---\na: b\n---\nx", b"---\nwritten-at: T\na: b\n---\nx"),
        (b"---\n---\nx", b"---\nwritten-at: T\n---\nx"),
        (b"---\nwritten-at: old\na: \xff\n---\nx", b"---\nwritten-at: T\na: \xff\n---\nx"),
        (b"---\r\nwritten-at : 5\r\n---\r\nx", b"---\r\nwritten-at: T\r\n---\r\nx"),
        (b"---\nnever closed\n", b"---\nwritten-at: T\n---\n---\nnever closed\n"),
        (b"---\na:\n  written-at: 1\n---\n", b"---\nwritten-at: T\na:\n  written-at: 1\n---\n"),
        (b"x\n---\nwritten-at: 1\n---\n", b"---\nwritten-at: T\n---\nx\n---\nwritten-at: 1\n---\n"),
    ],
)
def test_the_stamp_changes_nothing_else(before: bytes, after: bytes) -> None:
    assert stamped(before, "T") == after


@given(st.binary(max_size=60) | st.text("-\n\r: awritten", max_size=60).map(str.encode))
def test_stamping_again_only_changes_the_time(data: bytes) -> None:
    once = stamped(data, TIME)
    assert f"written-at: {TIME}".encode() in once
    again = stamped(once, "2031-01-01T00:00:00.000Z")
    assert stamped(again, TIME) == once
    assert len(again) == len(once)


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_record_is_a_journal_whatever_it_repeats(task: str, error: str) -> None:
    made = record(
        task_id="T1",
        agent="a",
        actor_id="a-1",
        task=task,
        outcome="failure",
        error=error,
        written_at=TIME,
    )
    assert faults(made.decode()) == ()
    assert is_own_record(made)
    assert is_own_record(stamped(made, TIME))
    assert not is_own_record(made + b"more\n")
