"""What actors and the runtime say to actors: heard once, at the next step, by nobody else."""

import os
import signal
import time
from typing import Any

import pytest
from cast import WAIT, Cast, act, actor_parts, begin, end, notices, report, spawn
from household import Household
from invariants import assert_rows_are_sound, assert_sound

from scripted_model.picture import Request
from scripted_model.scenario import Barrier, Call, Delay, Reply, Stall, Text, reply

pytestmark = pytest.mark.scenario


def send(to: str, content: str = "Psst.", **more: Any) -> Call:
    return act("send", to_actor_id=to, content=content, **more)


def until(count: int) -> Any:
    """Wait for mail until so many notices stand in the slice."""
    return lambda request: "Done." if request.all_text.count("<notice") >= count else WAIT


def messages(house: Household) -> list[dict[str, Any]]:
    rows = house.rows("SELECT * FROM inbox WHERE kind = 'message' ORDER BY seq")
    return [dict(row) for row in rows]


# Whom one may write to


def test_a_message_is_from_an_actor_and_heard_at_the_next_step_of_who_runs(
    house: Household,
) -> None:
    step = Call("bash", {"command": "sleep 0.3"})
    cast = Cast(
        [spawn("scout"), [Barrier("go"), send("general-1", "Look <here> too.")], WAIT, "Done."],
        scout=[[Barrier("first"), step], step, report()],
    )
    house.play(cast)
    process = begin(house, "Delegate.")
    house.model.wait_for_barrier("first")
    house.model.release("go")
    house.model.wait_until(lambda: bool(messages(house)))
    assert messages(house)[0]["state"] == "queued"
    house.model.release("first")
    answer = end(process)
    assert answer.text == "Done.", answer.err
    assert "It is at work and hears this at its next step." in actor_parts(answer)[1]["output"]
    second = cast.heard["scout"][1]
    (row,) = messages(house)
    assert f'<message from="main" id="{row["id"]}">\nLook &lt;here&gt; too.' in second.all_text
    assert row["state"] == "delivered"
    assert "Look" not in cast.heard["scout"][0].all_text
    assert second.all_text.count("<message") == 1
    assert_sound(house)


def test_parent_and_siblings_are_reached_and_answers_name_what_they_answer(
    chat_house: Household,
) -> None:
    def replies(request: Request) -> Call:
        (row,) = messages(chat_house)
        assert f'id="{row["id"]}"' in request.all_text
        return send("general-1", "Here.", reply_to=row["id"])

    cast = Cast(
        [[spawn("one"), spawn("two"), WAIT], until(2), until(2), until(2)],
        one=[[send("general-2", "Where?"), WAIT], report(summary="found")],
        two=[WAIT, replies, report()],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    asked, answered = messages(chat_house)
    assert (asked["sender_actor"], asked["receiver_actor"]) == ("general-1", "general-2")
    assert answered["reply_to"] == asked["id"]
    assert f'reply-to="{asked["id"]}"' in cast.news("one", 1)
    assert_sound(chat_house)


def test_a_child_asks_its_parent_and_goes_on_with_the_answer(house: Household) -> None:
    cast = Cast(
        [
            [spawn("scout"), WAIT],
            [send("general-1", "The blue one."), WAIT],
            "Done.",
        ],
        scout=[[send("parent", "Which door?"), WAIT], report(summary="painted")],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert "Which door?" in cast.news("main", 1)
    assert "The blue one." in cast.news("scout", 1)
    assert len(house.rows("SELECT 1 FROM turn WHERE actor_id = 'general-1'")) == 1
    assert [one["summary"] for one in notices(house)] == ["painted"]
    assert_sound(house)


NOBODY = {
    "a near name": ({"to": "explor-1"}, "receiver not found: explor-1. There are: explore-1"),
    "no name": ({"to": "zzz"}, "receiver not found: zzz. There are: "),
    "no session": (
        {"to": "main", "to_session_id": "ses_nowhere"},
        "receiver not found: there is no session ses_nowhere in this project",
    ),
}


@pytest.mark.parametrize("kind", NOBODY)
def test_a_message_to_nobody_is_told_as_not_sent(chat_house: Household, kind: str) -> None:
    given, words = NOBODY[kind]
    cast = Cast(
        [[spawn("scout", "explore"), WAIT], send(**given), "Done."],  # type: ignore[arg-type]
        scout=["Seen."],
    )
    chat_house.play(cast)
    state = actor_parts(chat_house.prompt("Delegate."))[-1]
    assert state["status"] == "completed"
    assert state["output"].startswith(f"inboxID: null\nerror: {words}")
    assert messages(chat_house) == []


def test_a_message_to_a_deleted_session_is_told_as_not_sent(chat_house: Household) -> None:
    chat_house.play(Cast(["Hello."]))
    other = chat_house.prompt("Hi.").session
    assert chat_house.run("sessions", "delete", other, "--yes").returncode == 0
    cast = Cast([send("main", to_session_id=other), "Done."])
    chat_house.play(cast)
    (state,) = actor_parts(chat_house.prompt("Write."))
    assert f"there is no session {other}" in state["output"]


def test_nobody_writes_to_itself_or_without_words(chat_house: Household) -> None:
    chat_house.play(Cast([[send("main"), send("main", "  ")], "Done."]))
    states = actor_parts(chat_house.prompt("Write."))
    assert [one["status"] for one in states] == ["error", "error"]
    assert "an actor cannot write to itself" in states[0]["error"]
    assert "expected words" in states[1]["error"]


def test_another_session_of_the_project_is_woken_and_one_of_another_project_is_not_known(
    chat_house: Household,
) -> None:
    chat_house.play(Cast(["Hello."]))
    other = chat_house.prompt("Hi.").session

    def play(request: Request) -> Reply:
        if "Hi." in request.all_text:
            return reply([Text("Heard across.")])
        answered = any(message.role == "assistant" for message in request.messages)
        return reply([Text("Sent.") if answered else send("main", "News.", to_session_id=other)])

    chat_house.play(play)
    answer = chat_house.prompt("Write over there.")
    assert answer.text == "Sent.", answer.err
    (row,) = messages(chat_house)
    assert row["receiver_session"] == other
    chat_house.play(lambda _: reply([Text("Both.")]))
    chat_house.prompt("And?", "-s", other)
    (row,) = messages(chat_house)
    assert row["state"] == "delivered"
    assert_rows_are_sound(chat_house)


def test_what_became_of_messages_is_shown(chat_house: Household) -> None:
    first = [Barrier("go"), send("general-1", "First.")]
    cast = Cast(
        [spawn("scout"), first, act("status"), WAIT, act("status"), "Done."],
        scout=[[Barrier("x"), Call("bash", {"command": "true"})], report()],
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_for_barrier("x")
    chat_house.model.release("go")
    chat_house.model.wait_until(lambda: len(cast.heard["main"]) == 4)
    chat_house.model.release("x")
    answer = end(process)
    assert answer.text == "Done.", answer.err
    before, after = (one["output"] for one in actor_parts(answer) if "Messages" in one["output"])
    assert "to general-1 (queued, sent" in before
    assert "1 not heard yet" in before
    assert "to general-1 (delivered, sent" in after
    assert "its last turn ended, reported status: success; all well" in after


# Bounds


def test_one_sender_cannot_flood_a_receiver_and_nothing_that_was_accepted_is_lost(
    chat_house: Household,
) -> None:
    flood = [send("general-1", f"note {number}.") for number in range(103)]
    cast = Cast(
        [spawn("scout"), [Barrier("go"), *flood], WAIT, "Done."],
        scout=[[Barrier("x"), Call("bash", {"command": "true"})], report()],
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_for_barrier("x")
    chat_house.model.release("go")
    chat_house.model.wait_until(lambda: len(cast.heard["main"]) == 3, timeout=30)
    chat_house.model.release("x")
    answer = end(process)
    assert answer.text == "Done.", answer.err
    refused = [
        one["output"] for one in actor_parts(answer) if "not accepted" in one.get("output", "")
    ]
    assert len(refused) == 3
    assert all("100 messages of yours wait for general-1" in one for one in refused)
    heard = cast.heard["scout"][1].all_text
    assert [heard.index(f"note {number}.") for number in range(100)] == sorted(
        heard.index(f"note {number}.") for number in range(100)
    )
    assert len(cast.heard["scout"]) == 2
    assert_sound(chat_house)


def test_actors_cannot_keep_each_other_awake_for_ever(chat_house: Household) -> None:
    chat_house.config["actors"] = {"hops": 6}

    def chatter(request: Request) -> Reply:
        """Whatever is heard is answered by one more message, and by the end of the turn."""
        heard = request.messages[-1]
        child = "scout: " in request.all_text
        if heard.results and any("inboxID" in one.text for one in heard.results):
            return reply([Text(report() if child else "Said.")])
        if not child and not any(one.role == "assistant" for one in request.messages):
            return reply([spawn("scout")])
        return reply([send("parent" if child else "general-1", "And you?")])

    chat_house.play(chatter)
    answer = chat_house.prompt("Begin.")
    assert answer.code == 0, answer.err
    rows = messages(chat_house)
    assert max(row["hops"] for row in rows) <= 6
    assert len(rows) < 15
    assert len(chat_house.model.requests) < 40
    assert_sound(chat_house)


def test_who_speaks_when_too_many_actors_spoke_in_a_row_is_told_so(chat_house: Household) -> None:
    chat_house.config["actors"] = {"hops": 1}
    cast = Cast([[spawn("scout"), WAIT], "Done."], scout=[send("parent"), report()])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert "not accepted: 1 messages went from actor to actor without a person" in cast.news(
        "scout"
    )
    assert messages(chat_house) == []


def test_a_message_that_is_very_long_is_cut_with_the_rest_in_a_file(chat_house: Household) -> None:
    long = "".join(f"line {number * number}\n" for number in range(20_000))
    cast = Cast(
        [[spawn("scout"), send("general-1", long)], WAIT, "Done."],
        scout=[report(), report()],
    )
    chat_house.config["checkpoint"] = {"enabled": False}  # nobody else is to ask this cast
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.code == 0, answer.err
    (row,) = messages(chat_house)
    assert len(row["body"]) < 80_000
    assert "/outputs/" in row["body"]


# Notices and sleep


def test_a_notice_that_comes_while_the_parent_says_its_last_words_is_heard_in_time(
    house: Household,
) -> None:
    cast = Cast(
        [spawn("scout"), [Text("I go to "), Barrier("tail"), Text("sleep.")], "Heard."],
        scout=[report()],
    )
    house.play(cast)
    process = begin(house, "Delegate.")
    house.model.wait_for_barrier("tail")
    house.model.wait_until(lambda: bool(notices(house)))
    began = time.monotonic()
    house.model.release("tail")
    answer = end(process)
    assert time.monotonic() - began < 5
    assert (answer.code, answer.text) == (0, "Heard."), answer.err
    assert cast.news("main").count("<notice") == 1
    assert len(house.rows("SELECT 1 FROM turn WHERE actor_id = 'main'")) == 1
    assert_sound(house)


@pytest.mark.parametrize("pause", ["settle.before=sleep:400", "settle.written=sleep:400"])
def test_a_notice_that_comes_while_the_parent_settles_wakes_it(
    chat_house: Household, pause: str
) -> None:
    cast = Cast([spawn("scout"), "I sleep.", "Heard."], scout=[[Delay(0.15), Text(report())]])
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.", ROOST_FAILPOINT=pause)
    answer = end(process)
    assert (answer.code, answer.text) == (0, "Heard."), answer.err
    heard = sum("<notice" in one.all_text for one in cast.heard["main"])
    assert heard == 1
    assert_sound(chat_house)


def test_notices_that_come_together_make_one_turn(chat_house: Household) -> None:
    names = [f"w{number}" for number in range(8)]
    lines = {name: [[Barrier("all"), Text(report())]] for name in names}
    cast = Cast(
        [
            [spawn(name) for name in names],
            [Text("I go to "), Barrier("tail"), Text("sleep.")],
            "All.",
        ],
        **lines,
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_for_barrier("all", count=8)
    chat_house.model.wait_for_barrier("tail")
    chat_house.model.release("all")
    chat_house.model.wait_until(lambda: len(notices(chat_house)) == 8)
    chat_house.model.release("tail")
    answer = end(process)
    assert answer.text == "All.", answer.err
    assert cast.news("main").count("<notice") == 8
    assert_sound(chat_house)


# Silence


def test_a_silent_child_is_told_of_once_and_left_alone(chat_house: Household) -> None:
    chat_house.config["actors"] = {"stall_seconds": 1}
    cast = Cast(
        [[spawn("scout"), WAIT], [act("status"), WAIT], until(2), until(2)],
        scout=[[Delay(9), Text(report())]],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    stalled, done = notices(chat_house)
    assert (stalled["notice"], done["notice"]) == ("stalled", "completed")
    assert 1 <= stalled["seconds"] < 6
    news = cast.news("main", 1)
    assert "(general general-1) appears stalled (no activity for " in news
    assert "Look at it with `status`, ask it with `send`, or stop it with `cancel`." in news
    assert "general-1 (general, of main): stalled" in cast.heard["main"][2].all_text
    assert len(cast.heard["scout"]) == 1
    assert_sound(chat_house)


def test_each_silence_is_told_anew_once_the_child_has_stirred(chat_house: Household) -> None:
    chat_house.config["actors"] = {"stall_seconds": 1}
    cast = Cast(
        [[spawn("scout"), WAIT], until(3), until(3), until(3)],
        scout=[[Delay(5), Call("bash", {"command": "true"})], [Delay(5), Text(report())]],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert [one["notice"] for one in notices(chat_house)] == ["stalled", "stalled", "completed"]


def test_a_child_whose_tool_prints_is_not_silent(chat_house: Household) -> None:
    chat_house.config["actors"] = {"stall_seconds": 2}
    prints = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $n; sleep 0.5; done"
    cast = Cast(
        [[spawn("scout"), WAIT], "Done."],
        scout=[Call("bash", {"command": prints}), report()],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    assert [one["notice"] for one in notices(chat_house)] == ["completed"]


def test_a_stream_that_falls_silent_holds_up_nobody_else(chat_house: Household) -> None:
    chat_house.config["actors"] = {"stall_seconds": 1}
    stop = [act("cancel", actor_id="general-1", mode="forced"), WAIT]

    def main(request: Request) -> Any:
        if "was cancelled." in request.all_text:
            return "Done."
        return stop if "appears stalled" in request.all_text else WAIT

    cast = Cast(
        [[spawn("mute"), spawn("scout"), WAIT], *[main] * 6],
        mute=[[Text("Let me "), Stall()]],
        scout=[report()],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Done.", answer.err
    kinds = {(one["actorID"], one["notice"]) for one in notices(chat_house)}
    assert ("general-2", "completed") in kinds
    assert ("general-1", "stalled") in kinds
    assert ("general-1", "cancelled") in kinds
    assert len(kinds) == len(notices(chat_house)) == 3


# Death


KILLS = [
    "spawn.before",
    "spawn.registered",
    "spawn.briefed",
    "claim.end:2",
    "drain.marked:2",
    "settle.before:1",
    "settle.outcome:1",
    "settle.noticed:1",
    "settle.written:1",
    "drain.message:3",
    "drain.marked:3",
]


def _family(request: Request) -> Reply:
    """Main starts two children as far as it knows of none, and sleeps until both have reported."""
    said, names = request.all_text, ("one", "two")
    if not request.user_texts[0].startswith("Delegate."):
        return reply([Text(report(summary=request.user_texts[0][:3]))])
    if said.count("completed.\n") >= 2:
        return reply([Text("Both.")])
    started = said.count("It works in the background")
    return reply([spawn(name) for name in names[started:]] or [WAIT])


@pytest.mark.parametrize("point", KILLS)
def test_a_kill_at_any_moment_loses_no_result_and_tells_none_twice(
    chat_house: Household, point: str
) -> None:
    house = chat_house
    house.play(_family)
    killed = house.run(
        "run", "--yes", "--format", "json", "Delegate.", ROOST_FAILPOINT=f"{point}=kill"
    )
    assert killed.returncode == -signal.SIGKILL, (killed.stdout, killed.stderr)
    answer = house.prompt("Go on.", "--continue")
    assert answer.code == 0, answer.err
    assert_rows_are_sound(house)
    told = [row for row in notices(house) if row["notice"] == "completed"]
    children = house.rows("SELECT actor_id FROM actor WHERE mode = 'subagent' ORDER BY actor_id")
    assert sorted(one["actorID"] for one in told) == [row["actor_id"] for row in children]
    assert {one["summary"] for one in told} == {"one", "two"}
    assert all(one["state"] == "delivered" for one in notices(house))
    assert house.rows("SELECT 1 FROM actor WHERE status != 'idle'") == []
    everything = [one.request for one in house.model.requests]
    main = [one for one in everything if one.user_texts[0].startswith("Delegate.")][-1]
    assert main.all_text.count("<notice") == len(notices(house))
    assert_sound(house)


def test_a_child_whose_process_died_goes_on_and_its_parent_is_told_of_both(
    chat_house: Household,
) -> None:
    busy = Call("bash", {"command": "touch begun; sleep 60"})
    cast = Cast(
        [[spawn("scout"), WAIT], until(2), until(2), until(2)], scout=[busy, report(summary="late")]
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_until(lambda: (chat_house.project / "begun").exists())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    chat_house.wait_until_nothing_lives()
    answer = chat_house.prompt("Go on.", "--continue")
    assert answer.text == "Done.", answer.err
    first, second = notices(chat_house)
    assert (first["notice"], first["resumed"]) == ("interrupted", True)
    assert (second["notice"], second["summary"]) == ("completed", "late")
    woken = cast.heard["scout"][1]
    assert "The process that ran you stopped in the middle of your work" in woken.all_text
    assert "It may have had effects" in woken.all_text
    main = cast.heard["main"][-1].all_text
    assert "was interrupted: the process that ran it stopped." in main
    assert "It goes on by itself; you will hear how it ends." in main
    assert_sound(chat_house)


def test_a_child_whose_process_died_is_left_where_the_configuration_says_so(
    chat_house: Household,
) -> None:
    chat_house.config["actors"] = {"recovery": "fail"}
    busy = Call("bash", {"command": "touch begun; sleep 60"})
    cast = Cast([[spawn("scout"), WAIT], until(1), until(1)], scout=[busy])
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_until(lambda: (chat_house.project / "begun").exists())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    answer = chat_house.prompt("Go on.", "--continue")
    assert answer.text == "Done.", answer.err
    (notice,) = notices(chat_house)
    assert notice["notice"] == "interrupted"
    assert "It was left as it is; `send` it a message" in cast.heard["main"][-1].all_text
    assert_sound(chat_house)


def test_a_second_process_takes_nobody_for_dead_who_lives(chat_house: Household) -> None:
    cast = Cast(
        [[spawn("scout"), WAIT], "Heard.", "Other."], scout=[[Barrier("slow"), Text(report())]]
    )
    chat_house.play(cast)
    first = begin(chat_house, "Delegate.")
    chat_house.model.wait_for_barrier("slow")
    cast._lines["main"] = [cast._lines["main"][0], "Other.", "Heard."]
    other = chat_house.prompt("Something else.")
    assert other.text == "Other.", other.err
    rows = chat_house.rows("SELECT status FROM actor WHERE actor_id = 'general-1'")
    assert [row["status"] for row in rows] == ["running"]
    chat_house.model.release("slow")
    assert end(first).text == "Heard."
    assert [one["notice"] for one in notices(chat_house)] == ["completed"]
    assert_sound(chat_house)
