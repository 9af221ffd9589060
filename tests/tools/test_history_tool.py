from pathlib import Path

import msgspec
import pytest
from stage import answer_info, user_message
from tool_world import ToolWorld, in_world

from roost.core.errors import NotFoundError
from roost.core.ids import new_id
from roost.sessions import transcript
from roost.sessions.models import Message, MessageTime
from roost.sessions.parts import Part, ReasoningPart, Span, TextPart
from roost.tools.contract import ToolError
from roost.tools.history import PAGE, REPLY


async def say(world: ToolWorld, *parts: Part, by_model: bool = False) -> Message:
    session_id = world.address.session_id
    made = user_message(session_id)
    if by_model:
        made = Message(answer_info(session_id, time=MessageTime(1_000, 2_000)))
    own = [msgspec.structs.replace(one, message_id=made.info.id) for one in parts]
    message = Message(made.info, tuple(own))
    await world.database.write(
        lambda tx: transcript.append_message(tx, message, actor_id="main", turn_id=None)
    )
    return message


def text(world: ToolWorld, words: str) -> TextPart:
    return TextPart(new_id("part"), world.address.session_id, "", words)


def test_what_was_said_is_found_with_the_ids_to_go_on_with(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        message = await say(world, text(world, "why is the zebra port closed?"))
        found = await world.call("history", action="search", query="zebra port")
        head, line = found.output.split("\n")
        info, part = message.info, message.parts[0]
        assert f"user — {info.session_id} message {info.id} part {part.id}" in head
        assert line.strip() == "why is the «zebra» «port» closed?"
        assert found.metadata == {"count": 1}

    in_world(tmp_path, test)


def test_nothing_found_is_a_ladder_of_what_to_do_next(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        found = await world.call("history", action="search", query="zebra", scope="session")
        assert "1. Fewer and rarer words" in found.output
        assert "2. `scope: project`" in found.output
        assert "`memory`" in found.output

    in_world(tmp_path, test)


def test_around_shows_the_neighbours_of_a_message(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        said = [await say(world, text(world, f"word{n}"), by_model=n % 2 == 1) for n in range(9)]
        found = await world.call("history", action="around", message_id=said[4].info.id, count=2)
        assert [f"word{n}" in found.output for n in range(9)] == [2 <= n <= 6 for n in range(9)]
        marked = [line for line in found.output.splitlines() if line.startswith("→")]
        assert len(marked) == 1
        assert said[4].info.id in marked[0]

    in_world(tmp_path, test)


def test_an_answer_is_bounded_and_says_what_did_not_fit(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        parts = [text(world, "数据库 " * 200) for _ in range(30)]
        said = [await say(world, *parts_of(world, parts)) for _ in range(9)]
        found = await world.call("history", action="around", message_id=said[4].info.id, count=50)
        assert len(found.output.encode()) < 2 * REPLY
        assert "did not fit" in found.output
        assert said[4].info.id in found.output

    in_world(tmp_path, test)


def parts_of(world: ToolWorld, parts: list[TextPart]) -> list[TextPart]:
    return [msgspec.structs.replace(one, id=new_id("part")) for one in parts]


def test_a_part_is_read_page_by_page_to_its_end(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        whole = "".join(f"{n:05}数" for n in range(3_000))
        message = await say(world, text(world, whole))
        part_id, offset, seen = message.parts[0].id, 0, ""
        for _ in range(10):
            page = await world.call("history", action="get", part_id=part_id, offset=offset)
            seen += page.output.partition("\n\n(Characters ")[0]
            assert len(page.output.encode()) < REPLY + 200
            offset = page.metadata["nextOffset"]
            if offset is None:
                break
        assert seen == f"[user]\n{whole}"
        assert page.metadata["characters"] == len(seen)
        assert len(seen) > 2 * PAGE
        with pytest.raises(ToolError, match="none at"):
            await world.call("history", action="get", part_id=part_id, offset=len(seen))

    in_world(tmp_path, test)


def test_what_may_not_be_found_is_not_shown_either(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        where = world.address.session_id
        thought = ReasoningPart(new_id("part"), where, "", "secret thought", Span(1, 2))
        message = await say(world, thought, text(world, "said"), by_model=True)
        around = await world.call("history", action="around", message_id=message.info.id)
        assert "secret" not in around.output
        assert "14 characters" in around.output
        with pytest.raises(NotFoundError, match="may be looked at"):
            await world.call("history", action="get", part_id=thought.id)
        with pytest.raises(ToolError, match="cannot be found here"):
            await world.call("history", action="search", query="thought", kinds=["reasoning"])

    in_world(tmp_path, test)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"action": "search"}, "needs query"),
        ({"action": "around"}, "needs message_id"),
        ({"action": "get"}, "needs part_id"),
        ({"action": "search", "query": "x", "since": "yesterday"}, "is no moment"),
    ],
)
def test_what_lacks_is_said(tmp_path: Path, given: dict[str, str], words: str) -> None:
    async def test(world: ToolWorld) -> None:
        with pytest.raises(ToolError, match=words):
            await world.call("history", **given)

    in_world(tmp_path, test)


def test_an_id_that_nothing_has_is_told(tmp_path: Path) -> None:
    async def test(world: ToolWorld) -> None:
        with pytest.raises(NotFoundError):
            await world.call("history", action="around", message_id="msg_none")
        with pytest.raises(NotFoundError):
            await world.call("history", action="get", part_id="prt_none")

    in_world(tmp_path, test)
