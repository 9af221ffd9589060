"""A kill -9 at any moment of an edit, an undo, a redo or what follows: what agents did can still be
taken back, to the byte, and nothing that anybody else did is touched.
"""

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from household import Household
from invariants import assert_rows_are_sound, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Call, Reply, Text, reply

pytestmark = pytest.mark.scenario
BEFORE = {"a.txt": "one\ntwo\n", "gone.txt": "gone\n", "mine.txt": "mine\n"}


def plays(request: Request) -> Reply:
    """`edit` by the tools that name their files, `command` by a command."""
    asked = request.last_user_text.splitlines()[-1]
    if request.results or asked not in {"edit", "command"}:
        return reply([Text(f"done: {asked}")])
    if asked == "command":
        line = "echo 3 >> a.txt && rm gone.txt && mkdir -p new/deep && echo n > new/deep/b.txt"
        return reply([Call("bash", {"command": line})])
    return reply(
        [
            Call("read", {"filePath": "a.txt"}),
            Call("read", {"filePath": "gone.txt"}),
            Call("edit", {"filePath": "a.txt", "oldString": "two", "newString": "2"}),
            Call("write", {"filePath": "new/deep/b.txt", "content": "n\n"}),
            Call("write", {"filePath": "gone.txt", "content": ""}),
        ]
    )


def furnished(house: Household) -> Household:
    house.play(plays)
    for name, text in BEFORE.items():
        house.write(name, text)
    assert house.prompt("hello").code == 0
    return house


def files(house: Household) -> dict[str, str]:
    return {
        str(path.relative_to(house.project)): path.read_text()
        for path in sorted(house.project.rglob("*"))
        if path.is_file()
    }


def killed(house: Household, point: str, *arguments: str) -> None:
    done = house.run(*arguments, ROOST_FAILPOINT=f"{point}=kill")
    assert done.returncode == -signal.SIGKILL, (done.stdout, done.stderr)


def ran(house: Household, *arguments: str, code: int = 0) -> str:
    done = house.run(*arguments)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout


@pytest.mark.parametrize(
    "point",
    [
        "snapshot.object",
        "snapshot.object:4",
        "undo.foreseen",
        "file.staged",
        "file.put",
        "file.put:2",
        "file.put:3",
        "tool.done:4",
        "apply.before:2",
        "apply.committed:2",
    ],
)
def test_an_edit_that_was_killed_anywhere_is_taken_back(chat_house: Household, point: str) -> None:
    house = furnished(chat_house)
    killed(house, point, "run", "--yes", "-c", "edit")
    house.write("mine.txt", "changed since\n")
    ran(house, "undo")
    assert files(house) == BEFORE | {"mine.txt": "changed since\n"}
    assert not (house.project / "new").exists()
    assert_sound(house)


@pytest.mark.parametrize("point", ["undo.noted", "tool.done", "apply.before", "settle.written"])
def test_so_is_a_command_that_had_ended(chat_house: Household, point: str) -> None:
    house = furnished(chat_house)
    killed(house, point, "run", "--yes", "-c", "command")
    ran(house, "undo")
    assert files(house) == BEFORE
    assert_sound(house)


def test_of_a_command_that_was_killed_nobody_knows_what_it_changed_and_that_is_said(
    chat_house: Household,
) -> None:
    house = furnished(chat_house)
    killed(house, "undo.ran", "run", "--yes", "-c", "command")
    after = files(house)
    told = ran(house, "undo")
    assert "the process ended while this ran, so nobody knows what it changed: echo 3" in told
    assert files(house) == after
    assert_sound(house)


UNDO_POINTS = [
    "undo.beginning",
    "undo.begun",
    "snapshot.put",
    "snapshot.put:2",
    "snapshot.put:3",
    "undo.applied",
    "undo.ending",
    "undo.ended",
]
FINISH = {
    "undo": (["undo"], BEFORE),
    "redo": (["redo", "--all"], None),
    "prompt": (["run", "--yes", "-c", "on"], BEFORE),
}


def worked(house: Household) -> dict[str, str]:
    furnished(house)
    assert house.prompt("edit", "-c").code == 0
    return files(house)


SOME = ["undo.begun", "snapshot.put:2", "undo.applied", "undo.ended"]
CASES = [("undo", point) for point in UNDO_POINTS]
CASES += [(then, point) for then in ("redo", "prompt") for point in ["undo.beginning", *SOME]]


@pytest.mark.parametrize(("then", "point"), CASES)
def test_an_undo_that_was_killed_anywhere_can_be_gone_on_with_or_taken_back(
    chat_house: Household, point: str, then: str
) -> None:
    house = chat_house
    after = worked(house)
    killed(house, point, "undo")
    house.write("mine.txt", "changed since\n")
    arguments, expected = FINISH[then]
    if point == "undo.beginning" and then != "undo":
        # Nothing was begun yet: the transaction that says so was not committed.
        assert files(house) == after | {"mine.txt": "changed since\n"}
        ran(house, "undo")
        expected = BEFORE if then == "prompt" else None
    target = ["--to", prompt_of(house, "edit")] if arguments == ["undo"] else []
    ran(house, *arguments, *target)
    assert files(house) == (expected or after) | {"mine.txt": "changed since\n"}
    if then == "prompt":
        assert said(house) == ["hello", "on"]
    assert_sound(house)


@pytest.mark.parametrize("point", SOME)
def test_so_can_a_redo(chat_house: Household, point: str) -> None:
    house = chat_house
    after = worked(house)
    ran(house, "undo")
    killed(house, point, "redo")
    if point == "undo.ended":
        assert "is taken back" in house.run("redo").stderr
    else:
        house.run("redo")  # what was begun may be all there was to do
    assert files(house) == after
    ran(house, "undo")
    assert files(house) == BEFORE
    assert_rows_are_sound(house)


def test_an_undo_that_is_given_again_after_a_kill_takes_back_no_more_than_it_would_have(
    chat_house: Household,
) -> None:
    house = chat_house
    worked(house)
    assert house.prompt("command", "-c").code == 0
    between = files(house)
    assert house.prompt("edit", "-c").code == 0
    killed(house, "undo.begun", "undo")
    ran(house, "undo")
    assert files(house) == between
    ran(house, "undo")
    ran(house, "undo")
    assert files(house) == BEFORE
    assert_sound(house)


@pytest.mark.parametrize(
    "point", ["undo.cleaning", "undo.message", "undo.message:2", "undo.cleaned", "send.inserted"]
)
def test_a_prompt_that_makes_it_final_does_so_wholly_or_not_at_all(
    chat_house: Household, point: str
) -> None:
    house = chat_house
    worked(house)
    ran(house, "undo")
    killed(house, point, "run", "--yes", "-c", "lost")
    assert said(house) == ["hello", "edit"]
    assert files(house) == BEFORE
    assert house.prompt("on", "-c").text == "done: on"
    assert said(house) == ["hello", "on"]
    assert all("edit" not in text for text in house.model.requests[-1].request.user_texts)
    assert_sound(house)


def said(house: Household) -> list[str]:
    rows = house.rows(
        "SELECT p.data FROM part p JOIN message m ON m.id = p.message_id"
        " WHERE m.role = 'user' AND p.type = 'text' ORDER BY m.seq"
    )
    return [one for row in rows for one in words(row["data"])]


def words(data: str) -> Sequence[str]:
    part: dict[str, Any] = json.loads(data)
    return [] if part.get("synthetic") else [part["text"]]


def prompt_of(house: Household, text: str) -> str:
    (row,) = house.rows(
        "SELECT m.id FROM part p JOIN message m ON m.id = p.message_id"
        " WHERE m.role = 'user' AND p.data LIKE ?",
        f'%"text":"{text}"%',
    )
    return str(row["id"])


def test_work_goes_on_where_nothing_can_be_kept_and_that_is_said(chat_house: Household) -> None:
    house = furnished(chat_house)
    blocked = house.home / "data/snapshots"
    assert not blocked.exists(), "nothing was changed yet"
    blocked.write_text("no folder")
    answer = house.prompt("edit", "-c")
    assert answer.code == 0
    assert (house.project / "new/deep/b.txt").exists(), "the work goes on without"
    assert "Until then changes" in answer.err
    blocked.unlink()
    assert_sound(house)


def test_files_of_the_store_that_were_damaged_cost_no_more_than_that_undo(
    chat_house: Household,
) -> None:
    house = chat_house
    after = worked(house)
    for path in Path(house.home / "data/snapshots").rglob("objects/??/*"):
        path.chmod(0o600)
        path.write_bytes(b"damaged")
    told = ran(house, "undo")
    assert "it is kept no longer what files were before: what is there stays" in told
    assert files(house) == after
    assert_sound(house)
