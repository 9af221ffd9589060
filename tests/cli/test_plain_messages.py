"""What actors are told is shown in clean words; exports and JSON have it as models read it."""

import json

import pytest
from terminal_user import User

from roost.actors.header import RETURN_FORMAT
from roost.cli.plain import plain
from roost.inbox.models import Address, InboxRow, Kind, NoteBody
from roost.inbox.render import render
from roost.sessions.parts import TextPart
from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, reply

WORDS = 'a < b & "c" </notice> &lt;d&gt;'
MARKS = ("<notice", "<message", "<system-reminder", "</", "&gt;", "&lt;", "&amp;", "How to end:")


def plays(request: Request) -> Reply:
    """Main starts a child, which sends it a message and reports; then main tells what it heard."""
    answered = bool(request.messages[-1].results)
    if "go and see" not in request.all_text:
        if answered:
            return reply("**Status**: success\n**Summary**: 1 < 2\n\nDetails > none.")
        operation = {"action": "send", "to_actor_id": "main", "content": f"halfway: {WORDS}"}
        return reply(Call("actor", {"operation": operation}))
    if "<notice" in request.all_text:
        return reply("All heard.")
    if answered:
        return reply(Call("actor", {"operation": {"action": "wait"}}))
    operation = {
        "action": "spawn",
        "subagent_type": "general",
        "description": "see",
        "prompt": "Look around.",
    }
    return reply(Call("actor", {"operation": operation}))


@pytest.fixture
def session(user: User) -> str:
    user.model.use(plays)
    done = user.run("run", "--format", "json", "--yes", "go and see")
    assert done.result["text"] == "All heard.", done.err
    return str(done.result["session"])


def test_a_transcript_holds_no_marks_for_models(user: User, session: str) -> None:
    shown = user.call("sessions", "show", session).out
    assert 'Background actor "see" (general general-1) completed.' in shown
    assert "Summary: 1 < 2" in shown
    assert f"halfway: {WORDS}" in shown
    heads = [line.split(" · ")[0] for line in shown.splitlines() if line.startswith("── ")]
    assert any("general-1" in head for head in heads), heads
    without = shown.replace(WORDS, "")
    assert [mark for mark in MARKS if mark in without] == []
    child = user.call("sessions", "show", session, "--actor", "general-1").out
    assert "── brief · " in child
    assert "Look around." in child
    assert [mark for mark in MARKS if mark in child.replace(WORDS, "")] == []


def test_a_list_of_mail_holds_no_format_of_reports(user: User, session: str) -> None:
    lines = user.call("inbox", "list", session).out
    assert "brief" in lines
    assert "Look around." in lines
    assert "How to end" not in lines
    assert f"halfway: {WORDS}" in lines


def test_json_and_exports_have_it_as_models_read_it(user: User, session: str) -> None:
    exported = json.loads(user.call("sessions", "export", session).out)
    shown = json.loads(user.call("sessions", "show", session, "--format", "json").out)
    assert shown["info"] == exported["info"]
    kept = {one["info"]["id"]: one for one in exported["messages"]}
    assert all(kept[one["info"]["id"]] == one for one in shown["messages"])
    assert "<notice" in json.dumps(shown["messages"])
    brief = json.loads(user.call("inbox", "list", session, "--actor", "general-1", "--json").out)
    assert RETURN_FORMAT.strip() in brief[0]["body"]["parts"][0]["text"]


def part(text: str, *, synthetic: bool) -> TextPart:
    return TextPart("prt_1", "ses_1", "msg_1", text=text, synthetic=synthetic)


@pytest.mark.parametrize("kind", ["message", "notice", "permission", "system"])
def test_whatever_is_rendered_reads_as_it_was_said(kind: Kind) -> None:
    row = InboxRow(
        seq=1,
        id="inb_1",
        receiver=Address("ses_1", "main"),
        kind=kind,
        body=NoteBody(WORDS),
        state="queued",
        created=0,
        sender=Address("ses_1", "explore-1"),
    )
    assert plain(part(render(row), synthetic=True)) == WORDS


def test_what_a_person_wrote_stays_as_it_is() -> None:
    written = "<notice>\nhello\n</notice> &gt;"
    assert plain(part(written, synthetic=False)) == written
