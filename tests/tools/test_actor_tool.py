import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fake_actors import AGENTS, a_view, an_end, consume
from tool_world import ToolWorld, in_world

from roost.core.errors import DeniedError, NotFoundError
from roost.permissions.models import Rule
from roost.tools import actor_delegate
from roost.tools.actor import ActorOffer, actor_tool
from roost.tools.actor_port import Finished, Sent, SentView, SpawnOrder
from roost.tools.contract import ToolError, ToolOutput

ORDER = {"subagent_type": "explore", "description": "Find it", "prompt": "Where is it?"}
WHO = {
    "sessionID": "ses_1",
    "sessionId": "ses_1",
    "actorID": "explore-1",
    "agent": "explore",
    "description": "Find it",
}
FOUND = {**WHO, "description": "Find the loader"}


async def _do(world: ToolWorld, action: str, **fields: Any) -> ToolOutput:
    world.tools["actor"] = actor_tool(ActorOffer(agents=AGENTS))
    return await world.call("actor", operation={"action": action, **fields})


async def _stopped_while(world: ToolWorld, waiting: asyncio.Event, *, times: int = 1) -> None:
    """Stop a `run` once `waiting` is set, and wait for its end."""
    call = asyncio.create_task(_do(world, "run", **ORDER))
    await waiting.wait()
    for _ in range(times):
        call.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await call


def test_spawn_answers_at_once_with_an_id_and_the_promise_of_a_notice(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.notes = ("The child works without a task: T9 is unknown.",)
        answer = await _do(world, "spawn", **ORDER, model="lite", context="state", task_id="T9")
        assert answer.output == (
            "actor_id: explore-1\nIt works in the background."
            " A notice comes to you when its turn ends; do not poll.\n"
            "The child works without a task: T9 is unknown."
        )
        assert answer.title == "Background Explore Task — Find it"
        assert answer.metadata == WHO
        assert answer.stored is None
        order = SpawnOrder(
            agent="explore",
            description="Find it",
            prompt="Where is it?",
            model="lite",
            task_id="T9",
            context="state",
        )
        assert world.actors.done == [("spawn", order)]
        assert world.titles == ["Background Explore Task — Find it"] * 2
        assert world.progress[-1] == WHO

    in_world(tmp_path, test)


def test_leave_is_asked_for_the_kind_of_actor_before_one_is_made(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.rules = (Rule("actor", "explore", "ask"), Rule("actor", "general", "deny"))
        world.before_answer = lambda _: actors_untouched()

        def actors_untouched() -> None:
            assert world.actors.done == []

        await _do(world, "spawn", **ORDER)
        (request,) = world.asked
        assert (request.permission, request.patterns) == ("actor", ("explore",))
        assert request.always == ("explore",)
        assert request.metadata["prompt"] == "Where is it?"
        world.actors.done.clear()
        world.agrees = False
        with pytest.raises(DeniedError):
            await _do(world, "run", **ORDER)
        with pytest.raises(DeniedError):
            await _do(world, "spawn", **{**ORDER, "subagent_type": "general"})
        assert world.actors.done == []

    in_world(tmp_path, test)


def test_a_schema_that_cannot_be_used_makes_no_actor_and_asks_nobody(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with pytest.raises(ToolError, match="output_schema/type"):
            await _do(world, "spawn", **ORDER, output_schema={"type": "strange"})
        assert world.requests == []
        assert world.actors.done == []

    in_world(tmp_path, test)


def test_run_gives_the_result_and_hands_on_what_makes_it_count_as_the_notice(
    tmp_path: Path,
) -> None:
    async def test(world: ToolWorld) -> None:
        view = an_end(result="<b> & </actor_result>", status="partial", summary='It\'s "there"')
        world.actors.finished = Finished("ended", view, consume)
        answer = await _do(world, "run", **ORDER, timeout_ms=5)
        assert answer.output == (
            "actor_id: explore-1 (send it another message to give it more work)\n"
            '<actor_result status="partial" summary="It&#x27;s &quot;there&quot;">\n'
            "&lt;b&gt; &amp; &lt;/actor_result&gt;\n"
            "</actor_result>"
        )
        assert answer.title == "Explore Task — Find it"
        assert answer.metadata == WHO
        assert answer.stored is consume
        (_, order), waited = world.actors.done
        assert not order.background
        assert waited == ("wait", "explore-1", 5, 1)
        assert world.progress[-1] == WHO

    in_world(tmp_path, test)


def test_what_was_not_reported_is_unknown_and_open_tasks_are_told(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        answer = await _do(world, "run", **ORDER)
        assert '<actor_result status="unknown">\nIt is in load.py.\n' in answer.output
        assert world.actors.done[1] == ("wait", "explore-1", 600_000, 1)
        view = an_end(status="partial", open_tasks=("T1 Dig",))
        world.actors.finished = Finished("ended", view)
        assert "not finished: T1 Dig\n<actor_result" in (await _do(world, "run", **ORDER)).output
        world.actors.finished = Finished("ended", an_end(result=""))
        assert "(no words)" in (await _do(world, "run", **ORDER)).output

    in_world(tmp_path, test)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("failure", "explore-1 failed.\nerror: the model is gone"),
        ("cancelled", "explore-1 was cancelled."),
        ("interrupted", "explore-1 was interrupted: the process that ran it stopped."),
    ],
)
def test_a_turn_that_does_not_succeed_is_an_error_with_what_there_is(
    tmp_path: Path, outcome: str, told: str
) -> None:
    async def test(world: ToolWorld) -> None:
        view = an_end(outcome, "half of it", error="the model is gone")
        world.actors.finished = Finished("ended", view, consume)
        with pytest.raises(ToolError) as caught:
            await _do(world, "run", **ORDER)
        assert told in caught.value.message
        assert 'partial="true">\nhalf of it\n</actor_result>' in caught.value.message
        assert caught.value.stored is consume
        world.actors.finished = Finished("ended", an_end(outcome, ""))
        with pytest.raises(ToolError, match="It left no result"):
            await _do(world, "run", **ORDER)

    in_world(tmp_path, test)


def test_a_failure_is_one_although_the_actor_is_at_work_again(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        told = an_end(notice="failed", error="the model is gone").notice
        world.actors.finished = Finished("ended", a_view(notice=told, result="half"), consume)
        with pytest.raises(ToolError, match="explore-1 failed"):
            await _do(world, "run", **ORDER)

    in_world(tmp_path, test)


def test_an_error_with_a_very_long_result_is_cut_and_kept_in_a_file(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.finished = Finished("ended", an_end("failure", "word\n" * 50_000))
        with pytest.raises(ToolError) as caught:
            await _do(world, "run", **ORDER)
        assert len(caught.value.message) < 60_000
        (file,) = world.spill.iterdir()
        assert str(file) in caught.value.message

    in_world(tmp_path, test)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("timeout", "explore-1 has not ended within 10 min. It goes on in the background."),
        ("steered", "The user spoke to you while you waited for explore-1. It goes on"),
    ],
)
def test_a_run_that_is_not_waited_out_goes_on_in_the_background(
    tmp_path: Path, how: Any, told: str
) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.finished = Finished(how, a_view())
        answer = await _do(world, "run", **ORDER)
        assert told in answer.output
        assert "A notice comes to you when its turn ends" in answer.output
        assert "progressing, bash: make test" in answer.output
        assert answer.stored is None
        assert answer.metadata == WHO
        assert world.actors.done[-1] == ("detach", "explore-1")

    in_world(tmp_path, test)


def test_a_caller_that_is_asked_to_stop_asks_its_child_too(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.finished = Finished("cancelled", a_view())
        with pytest.raises(ToolError, match="asked to stop, and explore-1 was asked with you"):
            await _do(world, "run", **ORDER)
        assert ("cancel", "explore-1", "graceful") in world.actors.done
        assert "detach" not in [one[0] for one in world.actors.done]

    in_world(tmp_path, test)


@pytest.mark.parametrize("times", [1, 3])
def test_a_run_that_is_stopped_stops_its_child_first(tmp_path: Path, times: int) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.may_end = asyncio.Event()
        await _stopped_while(world, world.actors.waiting, times=times)
        assert world.actors.done[2:] == [
            ("cancel", "explore-1", "forced"),
            ("stopped", "explore-1"),
        ]

    in_world(tmp_path, test)


def test_a_run_that_is_stopped_while_its_child_is_made_leaves_none_behind(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.may_make = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, world.actors.may_make.set)
        await _stopped_while(world, world.actors.making)
        assert [one[0] for one in world.actors.done] == ["spawn", "cancel", "stopped"]

    in_world(tmp_path, test)


def test_stopping_does_not_wait_for_ever_for_a_child_that_does_not_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor_delegate, "STOP_SECONDS", 0.05)

    async def test(world: ToolWorld) -> None:
        world.actors.may_end = asyncio.Event()
        world.actors.cannot_stop = asyncio.Event()
        async with asyncio.timeout(5):
            await _stopped_while(world, world.actors.waiting, times=2)
        assert ("stopped", "explore-1") not in world.actors.done

    in_world(tmp_path, test)


def test_a_child_that_is_gone_does_not_hide_that_the_call_was_stopped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.may_end = asyncio.Event()
        world.actors.views.clear()
        await _stopped_while(world, world.actors.waiting)
        assert "there is no actor explore-1" in caplog.text

    in_world(tmp_path, test)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("ended", '<actor_result status="unknown">\nIt is in load.py.'),
        ("timeout", "explore-1 has not ended within 1.5 s; it goes on. A notice comes"),
        ("steered", "The user spoke to you; explore-1 goes on."),
        ("cancelled", "You were asked to stop, so you wait no longer."),
    ],
)
def test_a_wait_tells_how_it_ended_and_how_things_stand(
    tmp_path: Path, how: Any, told: str
) -> None:
    async def test(world: ToolWorld) -> None:
        stored = consume if how == "ended" else None
        world.actors.finished = Finished(how, an_end() if stored else a_view(), stored)
        answer = await _do(world, "wait", actor_id=" explore-1 ", timeout_ms=1500)
        assert told in answer.output
        assert answer.stored is stored
        assert answer.title == "explore-1 — Find the loader"
        assert answer.metadata == FOUND
        assert world.actors.done == [("wait", "explore-1", 1500, None)]
        assert world.progress == [FOUND]
        assert "began 2 min ago" in answer.output

    in_world(tmp_path, test)


def test_a_result_that_was_told_already_is_shown_again_as_such(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.finished = Finished("finished before", an_end("failure", "half"))
        answer = await _do(world, "wait", actor_id="explore-1")
        assert answer.output.startswith("Its turn had ended, and you were told so already:\n")
        assert "explore-1 failed." in answer.output
        assert "half" in answer.output

    in_world(tmp_path, test)


def test_waiting_for_mail_holds_no_call_open(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        answer = await _do(world, "wait", timeout_ms=90_000)
        assert world.actors.done == [("mail", 90_000)]
        assert "sleep at the end of this step until mail comes, for 1 min at most" in answer.output
        await _do(world, "wait", actor_id=" ")
        assert world.actors.done[-1] == ("mail", 600_000)
        world.actors.has_company = False
        assert (await _do(world, "wait")).output.startswith("You do not wait: no actor of yours")

    in_world(tmp_path, test)


def test_an_actor_is_shown_in_few_lines(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        answer = await _do(world, "status", actor_id="explore-1")
        assert answer.output == (
            "explore-1 (explore, of main): progressing, bash: make test\n"
            "  Find the loader\n"
            "  began 2 min ago, last activity 3.2 s ago, 1 turn, 5 steps, 12,345 tokens, $0.0123,"
            " 2 not heard yet"
        )
        assert answer.metadata == FOUND
        world.actors.views["explore-1"] = an_end(
            "failure", status="blocked", summary="no <key>", error="gone\nfor good"
        )
        ended = (await _do(world, "status", actor_id="explore-1")).output
        assert "explore-1 (explore, of main): idle\n" in ended
        assert "its last turn failed, reported status: blocked; no &lt;key&gt;\n" in ended
        assert ended.endswith("  error: gone for good")
        with pytest.raises(NotFoundError, match="no actor ghost-1"):
            await _do(world, "status", actor_id="ghost-1")

    in_world(tmp_path, test)


def test_the_list_holds_actors_and_what_became_of_messages(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.views["ses_2"] = a_view("ses_2", mode="peer", description="")
        world.actors.messages = [
            SentView("inb_1", "explore-1", "delivered", 7200, "look\nhere </notice>" + "x" * 200),
            SentView("inb_2", "ses_2", "queued", 5, "hm"),
        ]
        answer = await _do(world, "status")
        first, second, sent = answer.output.split("\n\n")
        assert first.startswith("explore-1 (explore, of main)")
        assert second.startswith("ses_2 (explore, peer, of main)")
        head, one, other = sent.split("\n")
        assert head == "Messages that you sent, the newest last:"
        assert one.startswith("- inb_1 to explore-1 (delivered, sent 2 h ago): look here &lt;/no")
        assert one.endswith("…")
        assert other == "- inb_2 to ses_2 (queued, sent 5 s ago): hm"
        assert (answer.title, answer.metadata) == ("2 actors", {"count": 2})
        world.actors.views.clear()
        world.actors.messages.clear()
        assert (await _do(world, "status")).output == "There are no other actors."

    in_world(tmp_path, test)


def test_cancel_stops_an_actor_and_leaves_one_that_has_ended(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        answer = await _do(world, "cancel", actor_id="explore-1")
        assert ("cancel", "explore-1", "graceful") in world.actors.done
        assert answer.output.startswith("explore-1 has stopped. The notice of it")
        assert "its last turn was cancelled" in answer.output
        world.actors.views["explore-1"] = an_end()
        again = await _do(world, "cancel", actor_id="explore-1", mode="forced")
        assert ("cancel", "explore-1", "forced") in world.actors.done
        assert again.output.startswith("explore-1 was not at work; nothing is changed.")
        with pytest.raises(NotFoundError):
            await _do(world, "cancel", actor_id="ghost-1")

    in_world(tmp_path, test)


def test_send_tells_whether_the_receiver_is_woken(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        answer = await _do(world, "send", to_actor_id=" explore-1 ", content=" Look\n")
        assert world.actors.done == [("send", "explore-1", " Look\n", None, None)]
        assert answer.output.startswith("inboxID: inb_1\nIt was not at work and is woken by this.")
        world.actors.answer = Sent("inb_2", busy=True)
        other = {"to_session_id": "ses_2", "reply_to": "inb_1"}
        busy = await _do(world, "send", to_actor_id="main", content="Hm", **other)
        assert world.actors.done[-1] == ("send", "main", "Hm", "ses_2", "inb_1")
        assert "hears this at its next step" in busy.output
        assert busy.metadata["inboxID"] == "inb_2"

    in_world(tmp_path, test)


def test_a_receiver_that_is_not_there_is_no_exception(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        world.actors.answer = Sent(None, "receiver not found: explroe-1. There are: explore-1.")
        answer = await _do(world, "send", to_actor_id="explroe-1", content="Hm")
        assert answer.output == (
            "inboxID: null\nerror: receiver not found: explroe-1. There are: explore-1."
        )
        assert answer.metadata["inboxID"] is None

    in_world(tmp_path, test)


def test_models_are_listed_one_a_line(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        assert (await _do(world, "models")).output == "- p/m: 200k tokens\n- p/small"
        await _do(world, "models", vision=False, limit=1)
        assert world.actors.done == [("models", None, 50), ("models", False, 1)]
        world.actors.choices = []
        assert (await _do(world, "models")).output == "There is no such model."

    in_world(tmp_path, test)


def test_all_that_clients_are_shown_is_json(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        calls: dict[str, dict[str, Any]] = {
            "spawn": {**ORDER, "command": "/look"},
            "run": ORDER,
            "status": {},
            "wait": {"actor_id": "explore-1"},
            "cancel": {"actor_id": "explore-1"},
            "send": {"to_actor_id": "explore-1", "content": "Hm"},
            "models": {},
        }
        answers = [await _do(world, action, **fields) for action, fields in calls.items()]
        json.dumps([answer.metadata for answer in answers])
        assert all(answer.title for answer in answers)
        assert answers[0].metadata["command"] == "/look"

    in_world(tmp_path, test)
