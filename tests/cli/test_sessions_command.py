"""`roost sessions`: list, show, export, import, delete, on sessions that were really run."""

import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from terminal_user import KEY, User, ended

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Reply, Text, reply, scenario
from scripted_model.server import ScriptedModel


def made(user: User, *words: str) -> str:
    """A session with a prompt, a call and an answer; gives its id."""
    user.model.use(
        scenario([Text("Let me look."), Call("read", {"filePath": "a.txt"})], "It is x.")
    )
    (user.folder / "a.txt").write_text("x\n")
    done = user.run("run", "--format", "json", "--title", "Look at a", *words, "what is in a?")
    return str(done.result["session"])


def exported(user: User, session: str, *options: str) -> dict[str, Any]:
    done = user.call("sessions", "export", session, *options)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_sessions_are_listed_by_project_and_everywhere(user: User) -> None:
    session = made(user)
    elsewhere = user.folder.parent / "elsewhere"
    elsewhere.mkdir()
    other = made(user, "--dir", str(elsewhere))
    here = json.loads(user.call("sessions", "list", "--format", "json").out)
    assert [one["id"] for one in here] == [session]
    assert set(here[0]) == {
        "id", "title", "updated", "created", "projectId", "directory", "state",
    }  # fmt: skip
    table = user.call("sessions", "list", "--all").out.splitlines()
    assert table[0].split() == ["SESSION", "USED", "STATE", "FOLDER", "TITLE"]
    assert [line.split()[0] for line in table[1:]] == [other, session]
    assert len(user.call("sessions", "ls", "--all", "-n", "1").out.splitlines()) == 2


def test_a_session_is_listed_once_in_a_repository_without_commits(user: User) -> None:
    subprocess.run(["git", "init", "-q"], cwd=user.folder, check=True)
    session = made(user)
    listed = json.loads(user.call("sessions", "list", "--format", "json").out)
    assert [one["id"] for one in listed] == [session]


def test_a_project_without_sessions_says_so_on_stderr(user: User) -> None:
    done = user.call("sessions", "list")
    assert done.code == 0
    assert done.out == ""
    assert "--all" in done.err


def test_a_transcript_is_readable(user: User) -> None:
    session = made(user)
    shown = user.call("sessions", "show", session).out
    assert "Look at a" in shown
    assert "you" in shown
    assert "what is in a?" in shown
    assert "→ read a.txt" in shown
    assert "It is x." in shown
    last = user.call("sessions", "show", session, "-n", "1").out
    assert "older messages" in last
    assert "what is in a?" not in last


def test_a_long_text_is_bounded_unless_all_is_asked_for(user: User, model: ScriptedModel) -> None:
    model.use(scenario("\n".join(f"line {n}" for n in range(200))))
    session = user.run("run", "--format", "json", "count").result["session"]
    assert "line 199" not in user.call("sessions", "show", session).out
    assert "160 more lines (--full)" in user.call("sessions", "show", session).out
    assert "line 199" in user.call("sessions", "show", session, "--full").out


@pytest.mark.parametrize("action", ["show", "export"])
def test_a_session_that_is_not_there_ends_with_2(user: User, action: str) -> None:
    done = user.call("sessions", action, "ses_nothing")
    assert done.code == 2
    assert done.out == ""
    assert "error: there is no session ses_nothing" in done.err


def test_an_actor_that_is_not_there_is_told_with_those_that_are(user: User) -> None:
    done = user.call("sessions", "show", made(user), "--actor", "explore-1")
    assert done.code == 2
    assert "There are: main." in done.err


def test_an_export_is_the_whole_session_in_the_shape_of_opencode(user: User) -> None:
    session = made(user)
    document = exported(user, session)
    assert document["info"]["id"] == session
    assert [m["info"]["role"] for m in document["messages"]] == ["user", "assistant", "assistant"]
    kinds = [part["type"] for part in document["messages"][1]["parts"]]
    assert kinds == ["step-start", "text", "tool", "step-finish"]


def test_an_import_gives_back_what_was_exported(user: User, tmp_path: Path) -> None:
    session = made(user)
    file = tmp_path / "session.json"
    document = exported(user, session)
    file.write_text(json.dumps(document))
    taken = user.call("sessions", "import", str(file))
    assert taken.code == 1
    assert "is there already" in taken.err
    assert "--new-id" in taken.err
    assert user.call("sessions", "delete", session, "--yes").code == 0
    done = user.call("sessions", "import", str(file))
    assert done.code == 0, done.err
    assert done.out.strip() == session
    assert exported(user, session) == document


def test_an_import_under_a_new_id_can_be_gone_on_with(user: User, model: ScriptedModel) -> None:
    document = exported(user, made(user))
    done = user.call("sessions", "import", "-", "--new-id", given=json.dumps(document))
    assert done.code == 0, done.err
    fresh = done.out.strip()
    assert fresh != document["info"]["id"]
    copied = exported(user, fresh)
    ids = {m["info"]["id"] for m in document["messages"]}
    assert not ids & {m["info"]["id"] for m in copied["messages"]}
    assert copied["messages"][1]["info"]["parentID"] == copied["messages"][0]["info"]["id"]
    seen: list[str] = []

    def answer(request: Request) -> Reply:
        seen.append(request.all_text)
        return reply("went on")

    model.use(answer)
    assert user.run("run", "-s", fresh, "go on").out == "went on\n"
    assert "It is x." in seen[-1]


def test_a_session_exported_while_it_ran_is_mended_when_imported(
    user: User, model: ScriptedModel
) -> None:
    model.use(scenario([Text("half an answer"), Barrier("wait")]))
    process = user.start("run", "--format", "json", "go")
    model.wait_for_barrier("wait")
    session = json.loads(user.call("sessions", "list", "--format", "json").out)[0]["id"]
    done = user.call("sessions", "export", session)
    assert "the session is running" in done.err
    assert "running" in user.call("sessions", "list").out
    model.release("wait")
    ended(process)
    fresh = user.call("sessions", "import", "-", "--new-id", given=done.out).out.strip()
    message = exported(user, fresh)["messages"][1]["info"]
    assert message["time"]["completed"]
    assert message["error"]["name"] == "MessageAbortedError"


def test_a_sanitized_export_holds_no_content_and_still_loads(user: User) -> None:
    session = made(user)
    done = user.call("sessions", "export", session, "--sanitize")
    for secret in ("Look at a", "what is in a?", "It is x.", "a.txt", str(user.folder)):
        assert secret not in done.out, secret
    document = json.loads(done.out)
    part = document["messages"][1]["parts"][1]
    assert part["text"] == f"[redacted:text:{part['id']}]"
    assert document["messages"][1]["info"]["tokens"]["input"] > 0
    assert user.call("sessions", "import", "-", "--new-id", given=done.out).code == 0


def test_an_export_masks_known_keys(user: User, model: ScriptedModel) -> None:
    model.use(scenario(f"your key is {KEY}"))
    session = user.run("run", "--format", "json", "tell").result["session"]
    done = user.call("sessions", "export", session)
    assert KEY not in done.out
    assert "[redacted]" in done.out
    assert "known key was replaced by [redacted]" in done.err


def _changed(document: dict[str, Any], change: str) -> str:
    match change:
        case "no json":
            return "{"
        case "no messages":
            return json.dumps({"info": document["info"]})
        case "no title":
            del document["info"]["title"]
        case "bad role":
            document["messages"][0]["info"]["role"] = "oracle"
        case "foreign part":
            document["messages"][0]["parts"][0]["messageID"] = "msg_other"
        case "twice":
            document["messages"].append(document["messages"][0])
        case _:
            raise AssertionError(change)
    return json.dumps(document)


def test_a_faulty_document_is_refused_with_the_place_of_the_fault(user: User) -> None:
    document = exported(user, made(user))
    cases = {
        "no json": "stdin holds no session",
        "no messages": "messages",
        "no title": "title",
        "bad role": "stdin: message 1 cannot be read",
        "foreign part": "belongs to another session or message",
        "twice": "comes twice",
    }
    for change, said in cases.items():
        given = _changed(json.loads(json.dumps(document)), change)
        done = user.call("sessions", "import", "-", "--new-id", given=given)
        assert done.code == 2, (change, done.err)
        assert said in done.err, (change, done.err)
    assert len(json.loads(user.call("sessions", "list", "--format", "json").out)) == 1


def test_a_file_of_unknown_parts_keeps_them(user: User) -> None:
    document = exported(user, made(user))
    message = document["messages"][2]
    new = {
        "id": "prt_x",
        "sessionID": message["info"]["sessionID"],
        "messageID": message["info"]["id"],
    }
    message["parts"].append({**new, "type": "hologram", "beams": [1, 2]})
    done = user.call("sessions", "import", "-", "--new-id", given=json.dumps(document))
    part = exported(user, done.out.strip())["messages"][2]["parts"][-1]
    assert part["type"] == "hologram"
    assert part["beams"] == [1, 2]
    assert part["id"] != "prt_x"


def test_deleting_asks_unless_told_not_to(user: User) -> None:
    session = made(user)
    done = user.call("sessions", "delete", session)
    assert done.code == 2
    assert "--yes" in done.err
    assert user.call("sessions", "rm", session, "--yes").code == 0
    assert user.call("sessions", "delete", session, "--yes").code == 2
    assert user.call("sessions", "list", "--all", "--format", "json").out.strip() == "[]"


def started(user: User, model: ScriptedModel) -> "tuple[subprocess.Popen[str], str]":
    """A run that waits for its model, and its session."""
    model.use(scenario([Text("half an answer"), Barrier("wait")]))
    process = user.start("run", "go")
    model.wait_for_barrier("wait")
    listed = json.loads(user.call("sessions", "list", "--format", "json").out)
    return process, str(listed[0]["id"])


def test_the_beginning_of_an_id_is_enough(user: User) -> None:
    session = made(user)
    for start in (session[:12], session[4:14]):
        assert session in user.call("sessions", "show", start).out
        assert exported(user, start)["info"]["id"] == session
        user.model.use(scenario("went on"))
        assert user.run("run", "--format", "json", "-s", start, "more").result["session"] == session
    assert user.call("sessions", "delete", session[:12], "--yes").code == 0
    assert user.call("sessions", "show", session).code == 2


def test_a_beginning_that_fits_several_names_them_and_deletes_none(user: User) -> None:
    document = exported(user, made(user))
    session = document["info"]["id"]
    twin = session[:14] + "twin"
    for message in document["messages"]:
        message["info"]["id"] += "t"
        message["info"]["sessionID"] = twin
        for part in message["parts"]:
            part.update(id=part["id"] + "t", sessionID=twin, messageID=message["info"]["id"])
    document["info"]["id"] = twin
    taken = user.call("sessions", "import", "-", given=json.dumps(document))
    assert taken.code == 0, taken.err
    done = user.call("sessions", "delete", session[:14], "--yes")
    assert done.code == 2
    assert session in done.err
    assert twin in done.err
    assert exported(user, twin)["info"]["id"] == twin
    assert exported(user, session)["info"]["id"] == session


@pytest.mark.parametrize("word", ["s", "ses_", "ses_dd", "", "%", "ses_%%%%"])
def test_a_beginning_that_says_too_little_names_nothing(user: User, word: str) -> None:
    session = made(user)
    assert user.call("sessions", "delete", word, "--yes").code == 2
    assert user.call("sessions", "show", session).code == 0


def test_without_an_id_the_last_session_of_the_folder_is_meant(user: User) -> None:
    first, second = made(user), made(user)
    elsewhere = user.folder.parent / "elsewhere"
    elsewhere.mkdir()
    other = made(user, "--dir", str(elsewhere))
    assert second in user.call("sessions", "show").out
    done = user.call("sessions", "export")
    assert json.loads(done.out)["info"]["id"] == second
    assert second in done.err
    assert other in user.call("sessions", "show", "--dir", str(elsewhere)).out
    user.model.use(scenario("went on"))
    assert user.run("run", "-s", first, "more").code == 0
    assert first in user.call("sessions", "show").out
    assert user.call("sessions", "delete", "--yes").code == 2


def test_a_folder_without_sessions_says_where_to_look(user: User) -> None:
    for action in ("show", "export"):
        done = user.call("sessions", action)
        assert done.code == 2
        assert "there is no session of" in done.err
        assert "roost sessions list --all" in done.err


def test_a_list_that_is_cut_says_so(user: User) -> None:
    made(user), made(user)
    cut = user.call("sessions", "list", "-n", "1")
    assert len(cut.out.splitlines()) == 2
    assert cut.err == "1 session of 2; -n 2 shows all\n"
    assert user.call("sessions", "list", "-n", "2").err == ""
    assert "1 session of 2" in user.call("sessions", "list", "-n", "1", "--format", "json").err
    actors = user.call("actors", "--all", "-n", "1")
    assert actors.err == "the actors of 1 session of 2; -n 2 shows all\n"


def test_a_session_whose_process_was_killed_is_not_shown_as_running(
    user: User, model: ScriptedModel
) -> None:
    process, session = started(user, model)
    assert user.call("sessions", "list").out.splitlines()[1].split()[2] == "running"
    assert "· running" in user.call("sessions", "show").out
    process.kill()
    ended(process)
    assert "running" not in user.call("sessions", "list").out
    assert "interrupted" in user.call("sessions", "list").out
    assert "· interrupted" in user.call("sessions", "show", session).out
    assert "the session is running" not in user.call("sessions", "export", session).err
    assert user.call("sessions", "delete", session, "--yes").code == 0


def test_a_session_that_a_live_process_works_in_is_deleted_only_by_force(
    user: User, model: ScriptedModel
) -> None:
    process, session = started(user, model)
    done = user.call("sessions", "delete", session, "--yes")
    assert done.code == 1
    assert f"process {process.pid} is at work in session {session}" in done.err
    assert f"roost sessions delete {session} --force" in done.err
    assert process.poll() is None
    assert user.call("sessions", "show", session).code == 0
    done = user.run("sessions", "delete", session, "--yes", "--force")
    assert done.code == 0, done.err
    assert "stopping the work" in done.err
    assert ended(process).code != 0
    assert user.call("sessions", "list", "--all", "--format", "json").out.strip() == "[]"


def test_force_takes_a_session_from_a_process_that_does_not_answer(
    user: User, model: ScriptedModel
) -> None:
    process, session = started(user, model)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        done = user.run("sessions", "delete", session, "--yes", "--force")
        assert done.code == 0, done.err
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert ended(process).code != 0
    assert user.call("sessions", "show", session).code == 2


def test_an_actor_that_is_not_there_is_missed_in_plain_words(user: User) -> None:
    session = made(user)
    assert "There are: main." in user.call("sessions", "show", session, "--actor", "nobody").err
    database = user.home / "data" / "roost.db"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM actor")
    connection.close()
    hint = user.call("sessions", "show", session).err
    assert "no actors at all" in hint
    assert "There are" not in hint
