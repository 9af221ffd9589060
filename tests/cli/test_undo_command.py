"""`roost undo` and `roost redo`, as a person uses them."""

import json
from pathlib import Path

import pytest
from terminal_user import User

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply

JOBS = {
    "make it": Call("write", {"filePath": "a.txt", "content": "one\ntwo\nthree\nfour\n"}),
    "change it": Call("edit", {"filePath": "a.txt", "oldString": "four", "newString": "4\nfive"}),
    "add more": Call("bash", {"command": "mkdir -p new && echo b > new/b.txt"}),
}


def plays(request: Request) -> Reply:
    call = JOBS.get(request.last_user_text.splitlines()[-1])
    if call is None or request.results:
        return reply([Text("Done.")])
    return reply([call])


@pytest.fixture
def worked(user: User) -> User:
    """Somebody for whom three prompts were carried out."""
    user.model.use(plays)
    for number, words in enumerate(JOBS):
        done = user.run("run", "--yes", *(["-c"] if number else []), words)
        assert done.code == 0, done.err
    return user


def text(user: User) -> str:
    return (user.folder / "a.txt").read_text()


def more(user: User) -> Path:
    return user.folder / "new/b.txt"


def test_undo_and_redo_go_prompt_by_prompt(worked: User) -> None:
    user = worked
    preview = user.call("undo", "--preview")
    assert preview.out.splitlines()[0].startswith("Would take back “add more” in ses_")
    assert preview.out.splitlines()[1:] == ["  delete  new/b.txt"]
    assert (preview.code, preview.err, more(user).exists()) == (0, "", True)
    first = user.call("undo")
    assert first.code == 0
    assert first.out.startswith("Took back “add more” in ses_")
    assert first.out.splitlines()[1:] == ["  deleted  new/b.txt"]
    assert first.err == "`roost redo` brings it back, until the next prompt.\n"
    assert not (user.folder / "new").exists()
    second = user.call("undo")
    assert "  restored  a.txt" in second.out
    assert text(user) == "one\ntwo\nthree\nfour\n"
    assert user.call("redo").out.splitlines()[1:] == ["  restored  a.txt"]
    assert text(user).endswith("4\nfive\n")
    assert not more(user).exists()
    assert user.call("redo", "--preview").out.splitlines()[1:] == ["  bring back  new/b.txt"]
    assert user.call("redo").code == 0
    assert more(user).read_text() == "b\n"
    nothing = user.call("redo")
    assert nothing.code != 0
    assert "nothing of session ses_" in nothing.err


def test_several_prompts_at_once_by_the_end_of_an_id(worked: User) -> None:
    user = worked
    listed = user.call("undo", "--list").out.splitlines()
    assert [line.split("  ")[1] for line in listed] == ["“add more”", "“change it”", "“make it”"]
    oldest = listed[-1].split()[0]
    done = user.call("undo", "--to", oldest[-8:])
    assert done.out.splitlines()[1:4] == ["  “make it”", "  “change it”", "  “add more”"]
    assert list(user.folder.iterdir()) == []
    assert all(line.endswith("taken back") for line in user.call("undo", "--list").out.splitlines())
    spent = user.call("undo")
    assert "all of it is taken back already" in spent.err
    assert user.call("redo", "--all").code == 0
    assert more(user).exists()
    wrong = user.call("undo", "--to", "msg_nothing")
    assert wrong.code != 0
    assert oldest in wrong.err


def test_what_was_changed_since_stays_and_is_named(worked: User) -> None:
    user = worked
    (user.folder / "a.txt").write_text("mine\n" + text(user))
    more(user).write_text("mine\n")
    listed = user.call("undo", "--list").out.splitlines()
    done = user.call("undo", "--to", listed[1].split()[0])
    assert done.code == 1
    assert "  changed  a.txt (what was changed since stays)" in done.out
    assert "left as they are:\n  new/b.txt: it was made, and somebody changed it since" in done.out
    assert text(user) == "mine\none\ntwo\nthree\nfour\n"
    assert more(user).read_text() == "mine\n"


def test_words_alone_are_taken_back_and_the_next_prompt_makes_that_final(worked: User) -> None:
    user = worked
    assert user.call("undo", "--keep-files").out.splitlines()[1:] == []
    assert more(user).exists()
    shown = user.call("sessions", "show").out
    assert "add more" in shown
    assert shown.count(" · taken back ") == 3
    user.run("run", "-c", "and now?")
    assert "add more" not in user.call("sessions", "show").out
    assert "add more" not in user.model.requests[-1].request.all_text
    assert "nothing of session" in user.call("redo").err


def test_for_programs(worked: User) -> None:
    user = worked
    shown = json.loads(user.call("undo", "--preview", "--json").out)
    assert shown["files"] == [{"path": "new/b.txt", "action": "deleted", "reason": ""}]
    assert (shown["preview"], shown["complete"], shown["prompts"]) == (True, True, ["add more"])
    done = json.loads(user.call("undo", "--json").out)
    assert done["messageID"] == shown["messageID"]
    (newest, *_) = json.loads(user.call("undo", "--list", "--json").out)
    assert newest == {"messageID": done["messageID"], "text": "add more", "takenBack": True}
    document = json.loads(user.call("sessions", "show", "--json").out)
    assert done["messageID"] in document["takenBack"]


def test_a_folder_without_a_session_is_told_so(user: User) -> None:
    for command in ("undo", "redo"):
        done = user.call(command)
        assert done.code != 0
        assert "there is no session" in done.err
