"""Who waits for a child hears its end once, at the latest when it said, and can be spoken to."""

import signal
import time

import pytest
from cast import WAIT, Cast, act, actor_parts, begin, end, notices, report, run, spawn
from household import Household
from invariants import assert_nothing_open, assert_sound

from scripted_model.scenario import Barrier, Call, Delay, Stall, Text

pytestmark = pytest.mark.scenario
SLOW = [Delay(1.0), Text(report())]


def wait_until_it_sleeps(house: Household) -> None:
    house.model.wait_for_requests(1)
    asleep = "SELECT 1 FROM actor WHERE waiting_until IS NOT NULL"
    house.model.wait_until(lambda: bool(house.rows(asleep)))


def told(house: Household) -> list[tuple[str, str]]:
    """How each notice was heard: who it is about, and the role of the message that says it."""
    return [(one["actorID"], one["heard_as"]) for one in notices(house)]


def test_a_run_that_takes_too_long_goes_on_and_gives_one_notice(house: Household) -> None:
    cast = Cast([run("scout", timeout_ms=300), WAIT, "Heard."], scout=[SLOW])
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert (answer.code, answer.text) == (0, "Heard."), answer.err
    assert "general-1 has not ended within 0.3 s. It goes on in the background." in cast.news(
        "main", 1
    )
    assert "general-1 (general, of main): progressing, calling its model" in cast.news("main", 1)
    assert cast.news("main", 2).count("<notice") == 1
    assert told(house) == [("general-1", "user")]
    (turn,) = house.rows("SELECT outcome FROM turn WHERE actor_id = 'general-1'")
    assert turn["outcome"] == "success"
    assert_sound(house)


def test_the_time_of_a_run_counts_from_the_call(chat_house: Household) -> None:
    cast = Cast([run("scout", timeout_ms=500), "Enough."], scout=[[Stall()]])
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    began = time.monotonic()
    chat_house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    assert time.monotonic() - began < 5
    assert "has not ended" in cast.news("main")
    process.send_signal(signal.SIGINT)
    assert end(process).code in {0, 130}
    chat_house.wait_until_nothing_lives()
    assert told(chat_house)[0][0] == "general-1"


def test_a_person_who_speaks_ends_the_waiting_of_a_run_and_not_its_child(house: Household) -> None:
    cast = Cast(
        [run("scout"), "It is still at work.", "It is done."],
        scout=[[Barrier("slow"), Text(report())]],
    )
    house.play(cast)
    first = begin(house, "Delegate.")
    house.model.wait_for_barrier("slow")
    second = begin(house, "How is it going?", "--continue")
    house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    news = cast.news("main", 1)
    assert "The user spoke to you while you waited for general-1. It goes on" in news
    assert "How is it going?" in news
    house.model.release("slow")
    answer = end(first)
    assert (answer.code, answer.text) == (0, "It is done."), answer.err
    assert end(second).code == 0
    assert told(house) == [("general-1", "user")]
    assert cast.news("main", 2).count("<notice") == 1
    assert_sound(house)


def test_a_run_that_is_stopped_takes_its_child_and_all_its_processes_along(
    house: Household,
) -> None:
    busy = Call("bash", {"command": "touch begun; sleep 60 & sleep 60"})
    cast = Cast([run("scout")], scout=[busy])
    house.play(cast)
    process = begin(house, "Delegate.")
    house.model.wait_until(lambda: (house.project / "begun").exists())
    process.send_signal(signal.SIGINT)
    answer = end(process)
    assert answer.code == 130, answer.err
    house.wait_until_nothing_lives(3)
    assert len(house.model.requests) == 2
    outcomes = house.rows("SELECT actor_id, outcome FROM turn ORDER BY actor_id")
    assert [tuple(row) for row in outcomes] == [("general-1", "cancelled"), ("main", "cancelled")]
    (notice,) = notices(house)
    assert notice["notice"] == "cancelled"
    assert_nothing_open(house)
    assert_sound(house)


def test_a_wait_takes_up_the_notice(house: Household) -> None:
    cast = Cast(
        [[spawn("scout"), act("wait", actor_id="general-1")], "Heard."],
        scout=[[Delay(0.3), Text(report(summary="of scout"))]],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert (answer.code, answer.text) == (0, "Heard."), answer.err
    news = cast.news("main")
    assert '<actor_result status="success" summary="of scout">' in news
    assert "<notice" not in news
    assert told(house) == [("general-1", "assistant")]
    assert len(house.model.requests) == 3
    assert_sound(house)


def test_a_wait_after_the_notice_was_heard_says_so_and_doubles_nothing(
    chat_house: Household,
) -> None:
    wait = act("wait", actor_id="general-1")
    cast = Cast([[spawn("scout"), WAIT], [wait, wait], "Heard."], scout=[report()])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    again = [state["output"] for state in actor_parts(answer)[-2:]]
    assert all("Its turn had ended, and you were told so already:" in one for one in again)
    assert all('<actor_result status="success"' in one for one in again)
    assert told(chat_house) == [("general-1", "user")]
    assert_sound(chat_house)


def test_a_wait_that_takes_too_long_shows_how_things_stand(chat_house: Household) -> None:
    wait = act("wait", actor_id="general-1", timeout_ms=200)
    cast = Cast([[spawn("scout"), wait], WAIT, "Heard."], scout=[SLOW])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    output = actor_parts(answer)[1]["output"]
    assert output.startswith("general-1 has not ended within 0.2 s; it goes on. A notice comes")
    assert "progressing" in output
    assert told(chat_house) == [("general-1", "user")]


def test_a_person_who_speaks_ends_a_wait(chat_house: Household) -> None:
    cast = Cast(
        [[spawn("scout"), act("wait", actor_id="general-1")], "Well.", "Heard."],
        scout=[[Barrier("slow"), Text(report())]],
    )
    chat_house.play(cast)
    first = begin(chat_house, "Delegate.")
    chat_house.model.wait_for_barrier("slow")
    second = begin(chat_house, "Hello?", "--continue")
    chat_house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    assert "The user spoke to you; general-1 goes on." in cast.news("main", 1)
    chat_house.model.release("slow")
    assert end(first).text == "Heard."
    assert end(second).code == 0
    assert told(chat_house) == [("general-1", "user")]


def test_a_wait_for_mail_calls_no_model_until_mail_comes(house: Household) -> None:
    cast = Cast([[spawn("scout"), WAIT], "Heard."], scout=[[Barrier("slow"), Text(report())]])
    house.play(cast)
    process = begin(house, "Delegate.")
    house.model.wait_for_barrier("slow")
    wait_until_it_sleeps(house)
    assert house.rows('SELECT 1 FROM part WHERE data LIKE \'%"status":"running"%\'') == []
    assert len(house.model.requests) == 2
    house.model.release("slow")
    assert end(process).text == "Heard."
    assert house.rows("SELECT 1 FROM actor WHERE waiting_until IS NOT NULL") == []
    assert cast.news("main").count("<notice") == 1
    assert_sound(house)


def test_a_wait_for_mail_ends_when_its_time_is_up(chat_house: Household) -> None:
    cast = Cast([[spawn("scout"), act("wait", timeout_ms=300)], WAIT, "Heard."], scout=[SLOW])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert "Nobody wrote in the time that you wanted to wait." in cast.news("main", 1)
    assert "<notice" in cast.news("main", 2)
    assert_sound(chat_house)


def test_a_person_who_speaks_ends_a_wait_for_mail(chat_house: Household) -> None:
    cast = Cast(
        [[spawn("scout"), WAIT], "Yes?", "Heard."], scout=[[Barrier("slow"), Text(report())]]
    )
    chat_house.play(cast)
    first = begin(chat_house, "Sleep.")
    wait_until_it_sleeps(chat_house)
    second = begin(chat_house, "Wake up.", "--continue")
    chat_house.model.wait_until(lambda: len(cast.heard["main"]) == 2)
    assert "Wake up." in cast.news("main", 1)
    chat_house.model.release("slow")
    assert (end(first).text, end(second).text) == ("Heard.", "Heard.")


def test_a_stop_ends_a_wait_for_mail(chat_house: Household) -> None:
    chat_house.play(Cast([[spawn("scout"), WAIT]], scout=[[Stall()]]))
    process = begin(chat_house, "Sleep.")
    wait_until_it_sleeps(chat_house)
    chat_house.model.wait_until(lambda: len(chat_house.model.requests) == 2)
    process.send_signal(signal.SIGINT)
    assert end(process).code == 130
    assert len(chat_house.model.requests) == 2
    assert_sound(chat_house)


def test_a_wait_that_was_not_granted_is_over_with_its_step(chat_house: Household) -> None:
    short = act("wait", timeout_ms=300)
    cast = Cast(
        [spawn("scout"), short, short, short, "I go on without it.", "Heard."],
        scout=[[Barrier("slow"), Text(report())]],
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_until(lambda: len(cast.heard["main"]) == 5)
    ended = "SELECT 1 FROM turn WHERE actor_id = 'main' AND outcome = 'success'"
    chat_house.model.wait_until(lambda: bool(chat_house.rows(ended)))
    assert "You are repeating yourself" in cast.news("main", 4)  # in the place of the third wait
    assert len(cast.heard["main"]) == 5
    chat_house.model.release("slow")
    assert end(process).text == "Heard."
    assert_sound(chat_house)


def test_who_has_nobody_to_wait_for_is_told_so_at_once(chat_house: Household) -> None:
    cast = Cast([[spawn("scout"), WAIT], WAIT, "Done."], scout=[report()])
    chat_house.play(cast)
    began = time.monotonic()
    answer = chat_house.prompt("Delegate.")
    assert time.monotonic() - began < 10
    assert answer.text == "Done.", answer.err
    assert "no actor of yours is at work" in cast.news("main")


def test_each_turn_of_a_child_gives_its_own_notice_and_a_wait_its_own_end(
    house: Household,
) -> None:
    more = act("send", to_actor_id="general-1", content="And the rest?")
    cast = Cast(
        [
            [spawn("scout"), WAIT],
            [more, act("wait", actor_id="general-1")],
            [more, WAIT],
            "All heard.",
        ],
        scout=[report(summary="first"), report(summary="second"), report("failed", "third")],
    )
    house.play(cast)
    answer = house.prompt("Delegate.")
    assert (answer.code, answer.text) == (0, "All heard."), answer.err
    assert "Summary: first" in cast.news("main", 1)
    assert '<actor_result status="success" summary="second">' in cast.news("main", 2)
    assert "first" not in cast.news("main", 2)
    assert "finished (status: failed)." in cast.news("main", 3)
    assert [(one["turn"], one["heard_as"]) for one in notices(house)] == [
        (1, "user"),
        (2, "assistant"),
        (3, "user"),
    ]
    second = cast.heard["scout"][1]
    assert next(text.split("\n")[0] for text in second.user_texts) == "scout: do your part."
    assert 'from="main"' in second.user_texts[1]
    assert "And the rest?" in second.user_texts[1]
    assert len({request.cache_key for request in cast.heard["scout"]}) == 1
    assert_sound(house)


@pytest.mark.parametrize(
    ("actor_id", "words"),
    [
        ("main", "that is yourself"),
        ("general-7", "there is no actor general-7 of yours. Did you mean general-1?"),
        ("nobody", "there is no actor nobody of yours.\nThere are: general-1."),
    ],
)
def test_nobody_waits_for_itself_or_for_who_is_not_there(
    chat_house: Household, actor_id: str, words: str
) -> None:
    cast = Cast([[spawn("scout"), act("wait", actor_id=actor_id), WAIT], "Heard."], scout=["Seen."])
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    (state,) = [one for one in actor_parts(answer) if one["status"] == "error"]
    assert words in state["error"]


def test_a_child_cannot_wait_for_the_one_who_waits_for_it(chat_house: Household) -> None:
    wait = act("wait", actor_id="main")
    chat_house.play(Cast([run("scout"), "Heard."], scout=[wait, report()]))
    began = time.monotonic()
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert time.monotonic() - began < 15
    (part,) = chat_house.rows(
        "SELECT p.data FROM part p JOIN message m ON m.id = p.message_id"
        " WHERE m.actor_id = 'general-1' AND p.type = 'tool'"
    )
    assert '"status":"error"' in part["data"]


def test_a_wait_for_one_that_has_not_begun_is_for_its_first_turn(chat_house: Household) -> None:
    chat_house.config["actors"] = {"running": 1}
    cast = Cast(
        [
            [spawn("one"), spawn("two"), act("wait", actor_id="general-2")],
            lambda request: "Heard." if "<notice" in request.all_text else WAIT,
            "Heard.",
        ],
        one=[[Delay(0.5), Text(report(summary="of one"))]],
        two=[report(summary="of two")],
    )
    chat_house.play(cast)
    answer = chat_house.prompt("Delegate.")
    assert answer.text == "Heard.", answer.err
    assert 'summary="of two"' in actor_parts(answer)[2]["output"]
    assert sorted(told(chat_house)) == [("general-1", "user"), ("general-2", "assistant")]


def test_runs_of_one_step_work_side_by_side(chat_house: Household) -> None:
    cast = Cast(
        [[run("one"), run("two")], "Both."],
        one=[[Barrier("both"), Text(report(summary="of one"))]],
        two=[[Barrier("both"), Text(report(summary="of two"))]],
    )
    chat_house.play(cast)
    process = begin(chat_house, "Delegate.")
    chat_house.model.wait_for_barrier("both", count=2)
    chat_house.model.release("both")
    answer = end(process)
    summaries = [state["output"].split('summary="')[1][:6] for state in actor_parts(answer)]
    assert sorted(summaries) == ["of one", "of two"]
    assert sorted(told(chat_house)) == [("general-1", "assistant"), ("general-2", "assistant")]
