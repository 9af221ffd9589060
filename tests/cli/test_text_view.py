"""What a person sees of a turn, from sightings alone."""

import time
from typing import Any

import pytest

from roost.cli.run.diff_lines import diff_lines
from roost.cli.run.essence import Place
from roost.cli.run.sightings import (
    Gone,
    Head,
    Looks,
    Noticed,
    Piece,
    Retrying,
    Sighting,
    Words,
)
from roost.cli.run.text_view import TextOptions, TextView, retrying_words
from roost.cli.terminal import Look
from roost.inbox.notices import NoticeBody
from roost.sessions.models import AssistantInfo, Message, MessagePath, MessageTime
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    Span,
    StepFinishPart,
    StepStartPart,
    TextPart,
    Tokens,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolRunning,
    ToolState,
    ToolTime,
)


def view(*, live: bool = True, thinking: bool = False, look: Look | None = None) -> TextView:
    options = TextOptions(place=Place("/srv/a"), notes=look or Look(), live=live, thinking=thinking)
    return TextView(options)


def shown(one: TextView, *sightings: Sighting) -> tuple[str, str]:
    """The answer and the notes."""
    chunks = [chunk for sighting in sightings for chunk in one.feed(sighting)]
    chunks += one.close()
    answer = "".join(chunk.text for chunk in chunks if chunk.stream == "answer")
    return answer, "".join(chunk.text for chunk in chunks if chunk.stream == "notes")


def head(completed: int | None = None) -> Head:
    info = AssistantInfo(
        id="msg_1",
        session_id="ses_1",
        time=MessageTime(1, completed),
        parent_id="msg_0",
        model_id="m",
        provider_id="p",
        mode="build",
        agent="build",
        path=MessagePath("/srv/a", "/srv/a"),
        cost=0.0,
        tokens=Tokens(),
    )
    return Head(info)


def text(said: str, *, end: int | None = None, part: str = "prt_1") -> Piece:
    return Piece(TextPart(part, "ses_1", "msg_1", said, time=Span(1, end)))


def words(said: str, part: str = "prt_1") -> Words:
    return Words("msg_1", part, said)


def tool(name: str, state: ToolState, part: str = "prt_9") -> Piece:
    return Piece(ToolPart(part, "ses_1", "msg_1", "call_1", name, state))


def done(arguments: dict[str, Any], title: str = "title", **metadata: Any) -> ToolCompleted:
    return ToolCompleted(arguments, "out", title, metadata, ToolTime(1, 2))


def finish() -> Piece:
    return Piece(StepFinishPart("prt_z", "ses_1", "msg_1", "stop", 0.0, Tokens()))


def test_text_goes_to_the_answer_as_it_arrives_and_only_once() -> None:
    one = view()
    first = one.feed(text("")) + one.feed(words("Hel"))
    assert [chunk.text for chunk in first if chunk.stream == "answer"] == ["Hel"]
    answer, _ = shown(one, words("lo"), text("Hello", end=2), finish(), head(3))
    assert answer == "lo\n"


def test_a_part_read_from_the_database_shows_only_what_was_not_shown() -> None:
    one = view()
    answer, _ = shown(
        one, text("Hel"), text("Hello wor"), text("Hello"), text("Hello world", end=5)
    )
    assert answer == "Hello world\n"


def stored(said: str, *, completed: int | None = None, part: str = "prt_1") -> Message:
    """The answer in the database while another process writes it, or when it is complete."""
    start = StepStartPart("prt_0", "ses_1", "msg_1")
    words_so_far = TextPart(part, "ses_1", "msg_1", said, time=Span(1, completed))
    ends = (StepFinishPart("prt_z", "ses_1", "msg_1", "stop", 0.0, Tokens()),)
    return Message(head(completed).info, (start, words_so_far, *(ends if completed else ())))


def looks(*messages: Message) -> list[Sighting]:
    """What looks at the database show, one message a look."""
    looking = Looks()
    return [sighting for message in messages for sighting in looking.see([message])]


def together(one: TextView, *sightings: Sighting) -> str:
    """The answer and the notes as they stand where both go to one place."""
    return "".join(chunk.text for sighting in sightings for chunk in one.feed(sighting))


@pytest.mark.parametrize("live", [True, False])
def test_an_answer_of_another_process_is_shown_whole_however_often_it_was_looked_at(
    live: bool,
) -> None:
    states = [stored(""), stored(""), stored("Hel"), stored("Hello"), stored("Hello", completed=4)]
    answer, notes = shown(view(live=live), *looks(*states))
    assert answer == "Hello\n"
    assert notes == "> build · p/m\n"


def test_what_another_process_took_back_is_in_no_file_and_marked_where_people_watch() -> None:
    states = [stored("half a"), stored("whole", completed=4, part="prt_2")]
    assert shown(view(live=False), *looks(*states)) == ("whole\n", "> build · p/m\n")
    answer, notes = shown(view(), *looks(*states))
    assert answer == "half a\n\nwhole\n"
    assert "what follows replaces the text above" in notes


def test_the_first_line_stands_before_an_answer_that_is_complete_when_first_seen() -> None:
    seen = looks(stored("Hello", completed=4))
    assert together(view(live=False), *seen) == "> build · p/m\nHello\n"


def test_in_a_file_what_was_said_before_a_call_stands_before_it() -> None:
    running = tool("bash", ToolRunning({"command": "make"}, Span(1)))
    seen = together(view(live=False), text("I look.", end=2), running)
    assert seen == "I look.\n$ make\n"


def test_two_answers_stand_apart_by_a_blank_line() -> None:
    sightings = (
        text("one", end=2, part="prt_1"),
        text("two\n", end=2, part="prt_2"),
    )
    assert shown(view(), *sightings)[0] == "one\n\ntwo\n"


def test_the_first_note_names_agent_and_model() -> None:
    _, notes = shown(view(), head(), head())
    assert notes == "> build · p/m\n"


def test_an_answer_that_is_taken_back_is_marked_where_people_watch() -> None:
    one = view()
    answer, notes = shown(
        one, text(""), words("half a"), Gone("msg_1", "prt_1"), text("", part="prt_2"),
        words("whole", "prt_2"), text("whole", end=4, part="prt_2"),
    )  # fmt: skip
    assert answer == "half a\n\nwhole\n"
    assert "what follows replaces the text above" in notes


def test_a_file_never_holds_an_answer_that_was_taken_back() -> None:
    one = view(live=False)
    answer, notes = shown(
        one, text(""), words("half a"), Gone("msg_1", "prt_1"), text("", part="prt_2"),
        words("whole", "prt_2"), text("whole", end=4, part="prt_2"), finish(),
    )  # fmt: skip
    assert answer == "whole\n"
    assert notes == ""


def test_control_sequences_of_a_model_are_shown_not_obeyed() -> None:
    answer, _ = shown(view(), text(""), words("a\x1b[2Jb\x07\x9bc\r\nd\te"), text("", end=1))
    assert answer.rstrip("\n") == "a␛[2Jb␇<9b>c\nd\te"


def test_a_carriage_return_at_the_end_of_a_delta_waits_for_its_newline() -> None:
    one = view()
    assert shown(one, text(""), words("a\r"), words("\nb"))[0] == "a\nb\n"


def test_a_bold_shell_command_is_told_when_it_starts_and_again_when_it_fails() -> None:
    arguments = {"command": "make\n  test \x1b[31m"}
    one = view()
    _, notes = shown(
        one,
        tool("bash", ToolRunning(arguments, Span(1))),
        tool("bash", ToolRunning(arguments, Span(1), "title")),
        tool("bash", done(arguments, exit=2)),
    )
    assert notes == "$ make test ␛[31m\n  exit 2\n"


def test_a_code_that_comes_below_other_lines_names_its_command() -> None:
    arguments = {"command": "make test"}
    _, notes = shown(
        view(),
        tool("bash", ToolRunning(arguments, Span(1))),
        tool("read", done({"filePath": "a"}), part="prt_8"),
        tool("bash", done(arguments, exit=2)),
    )
    assert notes == "$ make test\n→ read a\n$ make test  exit 2\n"


CALLS = [
    ("read", done({"filePath": "/srv/a/src/a.py"}), "→ read src/a.py"),
    ("read", done({"filePath": "/etc/a", "offset": 5, "limit": 10}), "→ read /etc/a:5-14"),
    ("glob", done({"pattern": "**/*.py"}, count=3), '✱ glob "**/*.py"  3 found'),
    ("grep", done({"pattern": "x", "path": "/srv/a/s"}, matches=1), '✱ grep "x" in s  1 match'),
    (
        "write",
        done({"filePath": "b"}, filediff={"additions": 4, "deletions": 1}),
        "← write b  +4 -1",
    ),
    ("todowrite", done({"todos": [1, 2]}), "⚙ todowrite 2 items"),
    ("team", done({"action": "list"}, title="2 teams", count=2), "⚙ team list  2 teams"),
    (
        "team",
        done({"action": "send", "name": "api", "text": "it is\ndone"}, count=1),
        "⚙ team send api: it is done  told 1",
    ),
    ("team", done({"action": "join", "name": "api", "role": "qa"}), "⚙ team join api as qa"),
    (
        "task",
        done({"action": "create", "summary": "Write the tests"}),
        "• task create: Write the tests",
    ),
    ("task", done({"action": "done", "id": "T1"}), "• task done T1"),
    (
        "session",
        done({"operation": {"action": "send", "session_id": "ses_1", "task": "go on"}}),
        "⚙ session send ses_1: go on",
    ),
    ("question", done({"questions": [{"question": "Why?"}]}), "⚙ question Why?"),
    ("mcp_thing", done({"id": 7, "deep": {}}), "⚙ mcp_thing id=7"),
]


@pytest.mark.parametrize(("name", "state", "line"), CALLS)
def test_a_call_is_one_line_with_the_essential(name: str, state: ToolState, line: str) -> None:
    assert shown(view(), tool(name, state))[1] == line + "\n"


def test_what_an_actor_reports_is_one_line_in_its_own_words() -> None:
    notice = NoticeBody(
        notice="failed", session_id="ses_1", actor_id="explore-1", error="<a> &\n  b > c"
    )
    assert shown(view(), Noticed(notice))[1] == "✉ explore-1 failed.  <a> & b > c\n"


def refused(**how: Any) -> Piece:
    reason = "not allowed\nhint"
    told = {"denied": True, **how}
    return tool("bash", ToolFailed({"command": "rm x"}, reason, ToolTime(1, 2), told), str(how))


def test_a_call_that_failed_says_why_and_a_refused_one_is_counted() -> None:
    one = view()
    _, notes = shown(one, refused())
    assert notes == "✗ rm x: not allowed\n"
    assert one.refusals.count == 1
    assert one.refusals.advice() == (
        "1 call was refused. What a rule denies no flag allows; `roost config` shows your rules,"
        " `roost agents show NAME` those of an agent."
    )


def test_what_may_be_done_about_refused_calls_names_the_permissions() -> None:
    one = view()
    shown(one, refused(permission="bash"), refused(permission="bash_delete"))
    assert one.refusals.advice() == (
        "2 calls were refused. --yes allows what would be asked, though never what is denied; for"
        " good, a rule that names `bash` and `bash_delete` under `permission` in your roost.json."
    )
    one = view()
    shown(one, refused(permission="bash_process_kill", needsPerson=True))
    assert one.refusals.advice() == (
        "1 call was refused. --yes does not cover deletes outside the project and kills by name;"
        " a rule that names `bash_process_kill` under `permission` in your roost.json does."
    )


def test_a_plain_stream_gets_plain_icons_and_no_colour() -> None:
    _, notes = shown(view(look=Look(unicode=False)), tool("read", done({"filePath": "a"})))
    assert notes == "< read a\n"


def test_colour_is_only_ours() -> None:
    one = view(look=Look(colour=True))
    _, notes = shown(one, tool("read", done({"filePath": "\x1b[31mred"})))
    assert notes == "\x1b[36m→\x1b[0m read ␛[31mred\n"


def test_reasoning_is_shown_only_when_asked_for() -> None:
    part: Part = ReasoningPart("prt_r", "ses_1", "msg_1", "hm", Span(1, 2))
    assert shown(view(), Piece(part)) == ("", "")
    assert shown(view(thinking=True), Piece(part)) == ("", "hm\n")
    assert shown(view(live=False, thinking=True), Piece(part), finish()) == ("", "hm\n")


def test_a_retry_is_told_with_its_wait() -> None:
    at = time.strftime("%H:%M:%S", time.localtime(20))
    _, notes = shown(view(), Retrying(2, "429: too many requests.", 20_000, 5))
    assert notes == (f"429: too many requests; trying again in 0.0 s, at {at} (attempt 3 of 6)\n")
    assert retrying_words(Retrying(1, "no", 20_000), 9_000) == (
        f"no; trying again in 11 s, at {at} (attempt 2)"
    )


def test_an_edit_shows_its_difference() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n"
    state = done({"filePath": "x"}, diff=patch)
    _, notes = shown(view(), tool("edit", state))
    assert notes == "← edit x\n    @@ -1,2 +1,2 @@\n     same\n    -old\n    +new\n"


def test_a_long_difference_is_cut_and_counted() -> None:
    body = "".join(f"+line {n}\n" for n in range(100))
    lines = diff_lines(f"--- a\n+++ b\n@@ -0,0 +1,100 @@\n{body}", Look(), most=10)
    assert len(lines) == 11
    assert lines[-1].strip() == "… 91 more lines"


def test_a_removed_line_that_looks_like_a_head_is_kept() -> None:
    diff = "--- a\n+++ b\n@@ -1,2 +1 @@\n--- old head\n keep\n--- c\n+++ d\n@@ -1 +1 @@\n-x\n+y\n"
    lines = [line.strip() for line in diff_lines(diff, Look())]
    assert lines == ["@@ -1,2 +1 @@", "--- old head", "keep", "@@ -1 +1 @@", "-x", "+y"]
