"""Hooks around the turns of actors: they send on, never change what was delivered, never block."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from cast import WAIT, Cast, begin, end, notices, report, run, spawn
from household import Household
from invariants import assert_sound

from roost.hooks.journal import HEADINGS
from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Stall, Status, Text

pytestmark = pytest.mark.scenario
NOTE = 'printf \'%s\\n\' "$(cat)" >> "$LOG"'
"""A hook that only writes down what it was told."""


def hook(house: Household, name: str, on: str, command: str, *agents: str, **more: Any) -> Path:
    """A hook of the user's configuration. Gives the file that it knows as `LOG`."""
    log = house.folder / f"{name}.log"
    hooks = house.config.setdefault("hook", {})
    matcher: dict[str, Any] = {"agent": list(agents)} if agents else {"exclude_only": []}
    hooks[name] = {
        "on": on,
        "command": command,
        "matcher": matcher,
        "env": {"LOG": str(log)},
        **more,
    }
    return log


def said(log: Path) -> list[dict[str, Any]]:
    """What a hook was told, each time that it ran."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines() if line.strip()]


def plugin(house: Household, text: str) -> None:
    """A plugin of the user."""
    folder = house.home / "config" / "plugins"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(text, encoding="utf-8")


def reasons(house: Household) -> list[str]:
    rows = house.rows("SELECT body FROM inbox WHERE kind = 'system' ORDER BY seq")
    return [json.loads(row["body"])["text"] for row in rows]


# Before the end


def test_a_command_sends_a_child_on_and_what_it_says_then_is_the_result(house: Household) -> None:
    log = hook(
        house,
        "tests",
        "actor.pre_stop",
        f"{NOTE}; if [ -e fixed ]; then exit 0; fi; echo 'the <tests> fail' >&2; exit 2",
        "general",
    )
    fix = Call("bash", {"command": "touch fixed"})
    cast = Cast(
        [[spawn("smith"), WAIT], "Heard."],
        smith=[report(summary="too early"), fix, report(summary="fixed")],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    (notice,) = notices(house)
    assert notice["summary"] == "fixed"
    assert reasons(house) == ["the <tests> fail"]
    assert "<system-reminder>\nthe &lt;tests&gt; fail\n</system-reminder>" in cast.news("smith", 1)
    first, second = said(log)
    assert (first["on"], first["actor_id"], first["agent"]) == (
        "actor.pre_stop",
        "general-1",
        "general",
    )
    assert (first["iteration"], second["iteration"]) == (0, 1)
    assert first["task"].startswith("smith: do your part.")
    assert first["final_text"] == report(summary="too early")
    assert (first["parent_actor_id"], first["mode"]) == ("main", "subagent")
    assert len(house.rows("SELECT 1 FROM turn WHERE actor_id = 'general-1'")) == 1
    assert_sound(house)


@pytest.mark.parametrize("action", ["run", "spawn"])
def test_a_child_is_sent_on_three_times_and_then_its_result_counts(
    chat_house: Household, action: str
) -> None:
    log = hook(chat_house, "never", "actor.pre_stop", f"{NOTE}; echo more >&2; exit 2", "general")
    start = run("smith") if action == "run" else [spawn("smith"), WAIT]
    lines = [report(summary=f"number {number}") for number in range(4)]
    cast = Cast([start, "Heard."], smith=lines)
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    assert [one["summary"] for one in notices(chat_house)] == ["number 3"]
    assert "number 3" in cast.news("main")
    assert [one["iteration"] for one in said(log)] == [0, 1, 2, 3]
    assert reasons(chat_house) == ["more"] * 3


def test_a_plugin_sends_a_child_on(chat_house: Household) -> None:
    plugin(
        chat_house,
        "from roost.hooks.models import Continue, Hook, Matcher\n\n\n"
        "def more(given):\n"
        "    return Continue('Look again.') if given.iteration == 0 else None\n\n\n"
        "def hooks():\n"
        "    return [Hook(on='actor.pre_stop', run=more, matcher=Matcher(mode='subagent',"
        " exclude_only=()))]\n",
    )
    cast = Cast(
        [[spawn("smith"), WAIT], "Heard."],
        smith=[report(summary="once"), report(summary="twice")],
    )
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    assert "Look again." in cast.news("smith", 1)
    assert [one["summary"] for one in notices(chat_house)] == ["twice"]


def test_without_a_matcher_built_in_agents_are_left_alone(chat_house: Household) -> None:
    log = hook(chat_house, "all", "actor.pre_stop", NOTE)
    chat_house.config["hook"]["all"].pop("matcher")
    chat_house.config["agent"] = {"mine": {"mode": "subagent", "description": "Mine."}}
    cast = Cast([[run("one"), run("two", "mine")], "Heard."], one=[report()], two=["Seen."])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    assert [one["agent"] for one in said(log)] == ["mine"]


def test_main_is_sent_on_too_where_a_hook_asks_for_it(chat_house: Household) -> None:
    hook(
        chat_house,
        "checks",
        "actor.pre_stop",
        "[ -e fixed ] || { echo fix it >&2; exit 2; }",
        "build",
    )
    chat_house.play(Cast(["Done.", Call("bash", {"command": "touch fixed"}), "Really done."]))
    answer = chat_house.prompt("Work.")
    assert (answer.code, answer.text) == (0, "Really done."), answer.err


# After the result


def test_after_the_result_hooks_send_on_and_change_nothing_of_it(house: Household) -> None:
    log = hook(house, "after", "actor.post_stop", f"{NOTE}; echo tidy up >&2; exit 2", "general")
    house.config["memory"] = {"disable_write": True}
    cast = Cast(
        [run("smith"), [Text("It has "), Barrier("seen"), Text("reported.")]],
        smith=[report(summary="the result"), [Barrier("tidy"), Text("Tidied.")], "More.", "Most."],
    )
    house.play(cast)
    process = begin(house, "Delegate.")
    house.model.wait_for_barrier("tidy")
    house.model.wait_for_barrier("seen")  # the result was delivered while the child goes on
    assert 'summary="the result"' in cast.news("main")
    (turn,) = house.rows("SELECT phase, outcome FROM turn WHERE actor_id = 'general-1'")
    assert tuple(turn) == ("finalizing", "success")
    house.model.release("tidy")
    house.model.release("seen")
    answer = end(process)
    assert (answer.code, answer.text) == (0, "It has reported."), answer.err
    (notice,) = notices(house)
    assert notice["summary"] == "the result"
    assert [one["iteration"] for one in said(log)] == [0, 1, 2, 3]
    assert [one["outcome"] for one in said(log)] == ["success"] * 4
    assert len(cast.heard["smith"]) == 4
    (turn,) = house.rows("SELECT phase, outcome FROM turn WHERE actor_id = 'general-1'")
    assert tuple(turn) == ("ended", "success")
    assert_sound(house)


def test_what_main_says_to_a_child_that_tidies_up_starts_its_next_turn(
    chat_house: Household,
) -> None:
    from cast import act

    hook(
        chat_house,
        "after",
        "actor.post_stop",
        "cat > /dev/null; [ -e tidied ] || { echo tidy up >&2; exit 2; }",
        "general",
    )
    chat_house.config["memory"] = {"disable_write": True}
    more = [act("send", to_actor_id="general-1", content="And more."), WAIT]
    cast = Cast(
        [[spawn("smith"), WAIT], more, "Heard."],
        smith=[
            report(summary="first"),
            [Text("x"), Call("bash", {"command": "touch tidied; sleep 0.5"})],
            "Tidied.",
            report(summary="second"),
        ],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert [(one["turn"], one["summary"]) for one in notices(chat_house)] == [
        (1, "first"),
        (2, "second"),
    ]
    assert "And more." in cast.news("smith")
    assert not any("And more." in one.all_text for one in cast.heard["smith"][:3])
    assert_sound(chat_house)


# Around a turn


def test_a_hook_keeps_a_turn_back_and_its_words_are_the_outcome(chat_house: Household) -> None:
    hook(chat_house, "freeze", "session.pre", "echo 'no work on Sundays' >&2; exit 2", "general")
    log = hook(chat_house, "end", "session.post", NOTE, "general")
    cast = Cast([[spawn("smith"), WAIT], "Heard."], smith=[])
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    (notice,) = notices(chat_house)
    assert notice["notice"] == "failed"
    assert "no work on Sundays" in notice["error"]
    assert [one["outcome"] for one in said(log)] == ["error"]


REFUSAL = json.dumps({"error": {"message": "no", "type": "invalid_request_error"}})
ENDS: dict[str, tuple[Any, str]] = {
    "success": ([report()], "completed"),
    "failure": ([Status(400, {}, REFUSAL)], "error"),
    "cancelled": ([[Stall()]], "cancelled"),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_end_of_each_turn_is_told_exactly_once_whatever_it_was(
    chat_house: Household, how: str
) -> None:
    lines, outcome = ENDS[how]
    log = hook(chat_house, "end", "session.post", NOTE)
    begun = hook(chat_house, "begin", "session.pre", NOTE)
    cast = Cast([[spawn("smith"), WAIT], "Heard."], smith=lines)
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    if how == "cancelled":
        chat_house.model.wait_until(lambda: bool(cast.heard["smith"]))
        process.send_signal(signal.SIGINT)
    end(process)
    told = {one["actor_id"]: one["outcome"] for one in said(log)}
    assert told["general-1"] == outcome
    assert sorted(one["actor_id"] for one in said(log)) == ["general-1", "main"]
    assert sorted(one["actor_id"] for one in said(begun)) == ["general-1", "main"]


@pytest.mark.parametrize(
    "command",
    ["exit 1", "exec /does/not/exist", "echo '{\"continue\": 7}'", "sleep 60"],
    ids=["an error", "no program", "nonsense", "for ever"],
)
def test_a_hook_that_fails_is_told_and_blocks_nothing(chat_house: Household, command: str) -> None:
    hook(chat_house, "bad", "actor.pre_stop", command, "general", timeout=1)
    cast = Cast([[spawn("smith"), WAIT], "Heard."], smith=[report(summary="all the same")])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert [one["summary"] for one in notices(chat_house)] == ["all the same"]
    log = "".join(path.read_text() for path in chat_house.home.rglob("*.log"))
    assert "bad" in log
    chat_house.wait_until_nothing_lives()


def test_a_stop_during_a_hook_ends_it_with_all_that_it_started(chat_house: Household) -> None:
    hook(chat_house, "slow", "actor.pre_stop", "touch begun; sleep 60 & sleep 60", "general")
    chat_house.play(Cast([[spawn("smith"), WAIT]], smith=[report()]))
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_until(lambda: (chat_house.project / "begun").exists())
    process.send_signal(signal.SIGINT)
    assert end(process).code == 130
    chat_house.wait_until_nothing_lives(3)
    assert [one["notice"] for one in notices(chat_house)] == ["cancelled"]
    assert_sound(chat_house, ping=False)


# The journal of a task


def _journal(request: Request) -> Call:
    """Write the journal that is asked for."""
    path = re.search(r"/\S+/progress\.md", request.all_text)
    assert path is not None, request.all_text
    content = "\n\n".join(f"{heading}\nSomething." for heading in HEADINGS)
    return Call("write", {"filePath": path.group(), "content": content})


CREATE = Call("task", {"action": "create", "summary": "mend it"})
DONE = Call("task", {"action": "done", "id": "T1"})


@pytest.mark.parametrize("agent", ["general", "mine"])
def test_who_works_on_a_task_leaves_a_journal(house: Household, agent: str) -> None:
    house.config["agent"] = {
        "mine": {"mode": "subagent", "description": "Mine.", "completion_gate": True}
    }
    cast = Cast(
        [CREATE, [spawn("smith", agent, task_id="T1"), WAIT], "Heard."],
        smith=[DONE, report(summary="mended"), _journal, "Written."],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert "Before terminating, write the task progress journal" in cast.news("smith", 2) or (
        "journal" in cast.news("smith", 2)
    )
    assert all(heading in cast.news("smith", 2) for heading in HEADINGS)
    (path,) = house.home.rglob("progress.md")
    assert path.parts[-6:-1] == ("memory", "sessions", answer.session, "tasks", "T1")
    text = path.read_text(encoding="utf-8")
    assert re.match(r"---\nwritten-at: \d{4}-\d\d-\d\dT[\d:.]+Z\n---\n", text)
    assert [one["summary"] for one in notices(house)] == ["mended"]
    assert len(cast.heard["smith"]) == 4
    assert_sound(house)


def test_a_journal_that_nobody_writes_is_asked_for_three_times_and_then_recorded(
    chat_house: Household,
) -> None:
    cast = Cast(
        [CREATE, [spawn("smith", task_id="T1"), WAIT], "Heard."],
        smith=[DONE, report(summary="mended"), "No.", "No!", "No!!"],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert len(cast.heard["smith"]) == 5
    (path,) = chat_house.home.rglob("progress.md")
    assert "The actor left no journal." in path.read_text(encoding="utf-8")
    assert [one["summary"] for one in notices(chat_house)] == ["mended"]


def test_a_task_whose_child_failed_has_a_record(chat_house: Household) -> None:
    cast = Cast(
        [CREATE, [spawn("smith", task_id="T1"), WAIT], "Heard."],
        smith=[Status(400, {}, REFUSAL)],
    )
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    (path,) = chat_house.home.rglob("progress.md")
    text = path.read_text(encoding="utf-8")
    assert "Outcome: failure." in text
    assert len(cast.heard["smith"]) == 1


@pytest.mark.parametrize("why", ["no task", "only reads", "nobody writes"])
def test_nobody_is_asked_for_a_journal_who_owes_or_can_write_none(
    chat_house: Household, why: str
) -> None:
    agent = "explore" if why == "only reads" else "general"
    more = {} if why == "no task" else {"task_id": "T1"}
    if why == "nobody writes":
        chat_house.config["memory"] = {"disable_write": True}
    lines = ["Seen."] if agent == "explore" else [DONE, report()]
    cast = Cast([CREATE, [spawn("smith", agent, **more), WAIT], "Heard."], smith=lines)
    chat_house.play(cast)
    assert chat_house.prompt("Delegate.").text == "Heard."
    assert list(chat_house.home.rglob("progress.md")) == []
    assert len(cast.heard["smith"]) == len(lines)


def test_a_hook_that_fails_is_told_to_the_person(chat_house: Household) -> None:
    hook(chat_house, "typo", "actor.pre_stop", "exit 7", "build")
    chat_house.play(Cast(["Done.", "Done again."]))
    answer = chat_house.prompt("Work.")
    assert (answer.code, answer.text) == (0, "Done.")
    assert any("typo" in one for one in answer.result["warnings"])
    assert "typo" in answer.err
    assert "typo" in chat_house.run("run", "--yes", "--continue", "Again.").stderr
