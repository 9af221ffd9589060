import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stage import answer_info, run_python, user_message, was_killed

from roost.core.ids import new_id
from roost.db.database import Database
from roost.events.bus import Bus
from roost.memory import history_store as store
from roost.memory.index import Index
from roost.runtime.history import STALE, History
from roost.runtime.history_keeper import HistoryKeeper
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import Message, MessageTime, NewSession
from roost.sessions.parts import (
    Part,
    ReasoningPart,
    Span,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolTime,
)
from roost.sessions.said import CHUNK, CHUNKS, USUAL, SaidKind, chunks
from roost.tools.history_port import HistoryQuery

ALL: tuple[SaidKind, ...] = (*USUAL, "reasoning", "tool_output")


class Talk:
    """Sessions in a database, and their index."""

    def __init__(self, folder: Path) -> None:
        self.database = Database.open(folder / "roost.db", Bus())
        self.index = Index(folder / "search.db")
        self.kinds: Sequence[SaidKind] = USUAL

    async def session(self, project: str = "p") -> str:
        new = NewSession(directory="/somewhere", project_id=project)
        return (await self.database.write(lambda tx: sessions.create(tx, new))).id

    async def add(self, message: Message) -> str:
        own = [msgspec.structs.replace(one, message_id=message.info.id) for one in message.parts]
        message = Message(message.info, tuple(own))
        await self.database.write(
            lambda tx: transcript.append_message(tx, message, actor_id="main", turn_id=None)
        )
        return message.info.id

    async def hear(self, session_id: str, text: str) -> str:
        return await self.add(user_message(session_id, words(session_id, text)))

    async def answer(self, session_id: str, *parts: Part, done: bool = True) -> Message:
        time = MessageTime(1_000, 2_000 if done else None)
        message = Message(answer_info(session_id, time=time), parts)
        await self.add(message)
        return message

    async def find(self, text: str, **more: Any) -> list[str]:
        history = History(self.database, self.index, self.kinds)
        found = await history.search(HistoryQuery(words=text, **more), patience=60)
        assert found.behind == 0
        return [hit.of.said.text for hit in found.hits]

    def rows(self, table: str) -> int:
        return self.index.read(lambda db: db.all(f"SELECT count(*) FROM {table}"))[0][0]


def words(session_id: str, text: str, **more: Any) -> TextPart:
    return TextPart(new_id("part"), session_id, "msg", text, **more)


def call(session_id: str, tool: str, state: Any) -> ToolPart:
    return ToolPart(new_id("part"), session_id, "msg", new_id("tool"), tool, state)


def in_talk(folder: Path, test: Callable[[Talk], Awaitable[None]]) -> None:
    async def run() -> None:
        talk = Talk(folder)
        try:
            await test(talk)
        finally:
            talk.index.close()
            talk.database.close()

    asyncio.run(run())


def test_of_outputs_the_lines_with_exact_values_are_found_unless_they_are_of_files(
    tmp_path: Path,
) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        log = "zebra is well\nzebra listens on localhost:4711\nzebra sleeps"
        file = "the file says zebra at localhost:4712"
        await talk.answer(
            one,
            call(one, "bash", ToolCompleted({"command": "./up"}, log, "", {}, ToolTime(1, 2))),
            call(one, "read", ToolCompleted({"path": "notes"}, file, "", {}, ToolTime(1, 2))),
        )
        assert await talk.find("zebra") == ["zebra listens on localhost:4711"]
        talk.kinds = ALL
        assert sorted(await talk.find("zebra")) == [file, log]

    in_talk(tmp_path, test)


def test_each_kind_of_text_is_found_if_the_configuration_says_so(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        await talk.hear(one, "asked of zebra")
        failed = ToolFailed({"path": "zebra.py"}, "zebra is missing", ToolTime(1, 2))
        looked = ToolCompleted({"query": "zebra"}, "zebra", "", {}, ToolTime(1, 2))
        done = ToolCompleted({"command": "ls zebra"}, "zebra out", "", {}, ToolTime(1, 2))
        await talk.answer(
            one,
            words(one, "answered of zebra"),
            ReasoningPart(new_id("part"), one, "msg", "thought of zebra", Span(1, 2)),
            call(one, "read", failed),
            call(one, "bash", done),
            call(one, "history", looked),
            words(one, "said by Roost: zebra", synthetic=True),
        )
        usual = {"asked of zebra", "answered of zebra", "zebra.py", "zebra is missing", "ls zebra"}
        assert set(await talk.find("zebra")) == usual
        assert await talk.find("zebra", tool="bash") == ["ls zebra"]
        assert await talk.find("zebra", kinds=("tool_error",)) == ["zebra is missing"]
        assert await talk.find("zebra", kinds=("reasoning",)) == []
        talk.kinds = ALL
        assert set(await talk.find("zebra")) == usual | {"thought of zebra", "zebra out"}
        talk.kinds = USUAL
        assert set(await talk.find("zebra")) == usual

    in_talk(tmp_path, test)


def test_a_project_a_session_and_a_time_narrow_it_down(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one, two = await talk.session("p"), await talk.session("q")
        await talk.hear(one, "zebra one")
        await talk.hear(two, "zebra two")
        await talk.answer(two, words(two, "zebra old"))
        assert set(await talk.find("zebra")) == {"zebra one", "zebra two", "zebra old"}
        assert await talk.find("zebra", project_id="p") == ["zebra one"]
        assert set(await talk.find("zebra", session_id=two)) == {"zebra two", "zebra old"}
        assert await talk.find("zebra", until=5_000) == ["zebra old"]
        assert set(await talk.find("zebra", since=5_000)) == {"zebra one", "zebra two"}
        assert len(await talk.find("zebra", limit=1)) == 1

    in_talk(tmp_path, test)


def test_a_tool_of_any_name_narrows_it_down(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        names = ("a!b", "ключ", 'it"s', "a b")
        for name in names:
            done = ToolCompleted({"of": f"zebra {name}"}, "", "", {}, ToolTime(1, 2))
            await talk.answer(one, call(one, name, done))
        for name in names:
            assert f"zebra {name}" in await talk.find("zebra", tool=name)
        assert await talk.find("zebra", tool="other!(") == []

    in_talk(tmp_path, test)


def test_what_is_said_later_is_found_and_what_still_grows_is_not(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        await talk.hear(one, "zebra first")
        assert await talk.find("zebra") == ["zebra first"]
        growing = await talk.answer(one, words(one, "zebra grows"), done=False)
        await talk.hear(one, "zebra later")
        assert set(await talk.find("zebra")) == {"zebra first", "zebra later"}
        closed = msgspec.structs.replace(growing.info, time=MessageTime(1, 2))
        await talk.database.write(lambda tx: transcript.update_message(tx, closed))
        assert "zebra grows" in await talk.find("zebra")
        assert talk.rows("heard") == 3

    in_talk(tmp_path, test)


def test_a_session_that_is_deleted_leaves_and_a_message_in_its_place_is_found(
    tmp_path: Path,
) -> None:
    async def test(talk: Talk) -> None:
        one, two = await talk.session(), await talk.session()
        await talk.hear(one, "zebra stays")
        await talk.hear(two, "zebra goes")
        await talk.hear(two, "zebra goes too")
        assert len(await talk.find("zebra")) == 3
        await talk.database.write(lambda tx: sessions.delete(tx, two))
        # The numbers of the rows are used again for what is said next.
        await talk.hear(one, "quagga comes")
        assert await talk.find("zebra") == ["zebra stays"]
        assert await talk.find("quagga") == ["quagga comes"]
        assert (talk.rows("passage"), talk.rows("heard"), talk.rows("heard_session")) == (2, 2, 1)

    in_talk(tmp_path, test)


def test_a_message_that_is_removed_from_the_middle_is_not_shown(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        gone = await talk.hear(one, "zebra goes")
        await talk.hear(one, "zebra stays")
        assert len(await talk.find("zebra")) == 2
        await talk.database.write(lambda tx: transcript.remove_message(tx, one, gone))
        assert await talk.find("zebra") == ["zebra stays"]

    in_talk(tmp_path, test)


def test_when_much_is_gone_the_index_is_made_anew_without_it(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one, two = await talk.session(), await talk.session()
        await talk.hear(one, "zebra stays")
        for number in range(STALE + 1):
            await talk.hear(two, f"secretword{number}")
        assert await talk.find("secretword7") == ["secretword7"]
        await talk.database.write(lambda tx: sessions.delete(tx, two))
        assert await talk.find("zebra") == ["zebra stays"]
        talk.index.close()
        with sqlite3.connect(talk.index.path) as connection:
            terms = {row[0] for row in connection.execute("SELECT term FROM history_vocabulary")}
        connection.close()
        assert "zebra" in terms
        assert not any(term.startswith("secretword") for term in terms)

    in_talk(tmp_path, test)


def test_the_newest_is_taken_up_first_and_what_is_left_is_told(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        for number in range(650):
            await talk.hear(one, f"zebra word{number}")
        history = History(talk.database, talk.index)
        found = await history.search(HistoryQuery(words="word649"), patience=0)
        assert [hit.of.said.text for hit in found.hits] == ["zebra word649"]
        assert found.behind == 450
        again = await history.search(HistoryQuery(words="word300"), patience=0)
        assert (len(again.hits), again.behind) == (1, 250)
        assert await talk.find("word1") == ["zebra word1"]

    in_talk(tmp_path, test)


def test_two_processes_that_take_up_the_same_do_it_once(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        for number in range(450):
            await talk.hear(one, f"zebra word{number}")
        other = Index(talk.index.path)
        both = [History(talk.database, index) for index in (talk.index, other)]
        await asyncio.gather(*(history.catch_up(60) for history in both))
        assert (talk.rows("heard"), talk.rows("passage")) == (450, 450)
        other.close()

    in_talk(tmp_path, test)


def test_a_text_that_was_copied_is_found_once(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        for _ in range(3):
            await talk.hear(await talk.session(), "zebra again")
        assert await talk.find("zebra") == ["zebra again"]

    in_talk(tmp_path, test)


def test_data_is_no_text_and_a_long_text_is_found_in_its_middle(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        long = "\n".join(f"line {number} of word{number}" for number in range(1_000))
        await talk.hear(one, f"{long}\ndata:image/png;base64,QUJDZebra0000")
        assert len(await talk.find("word900")) == 1
        assert await talk.find("QUJDZebra0000") == []

    in_talk(tmp_path, test)


def test_pieces_are_bounded_and_together_the_text() -> None:
    text = "\n".join("x" * 90 for _ in range(200))
    pieces = chunks(text)
    assert "".join(pieces) == text
    assert all(len(one) <= CHUNK for one in pieces)
    assert all(one.endswith("\n") for one in pieces[:-1])
    assert len(chunks("y" * 10_000_000)) == CHUNKS
    assert chunks("") == []


SEARCH = """
import asyncio, sys
from pathlib import Path
from roost.db.database import Database
from roost.events.bus import Bus
from roost.memory.index import Index
from roost.runtime.history import History
from roost.tools.history_port import HistoryQuery

async def main():
    database = Database.open(Path(sys.argv[1]) / "roost.db", Bus())
    index = Index(Path(sys.argv[1]) / "search.db")
    history = History(database, index)
    found = await history.search(HistoryQuery(words="zebra", limit=50), patience=60)
    print(sorted(hit.of.said.text for hit in found.hits), found.behind)
    index.close()
    database.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_death_at_any_commit_loses_and_doubles_nothing(tmp_path: Path, nth: int) -> None:
    async def furnish(talk: Talk) -> None:
        one, two = await talk.session(), await talk.session()
        for number in range(3):
            await talk.hear(one, f"zebra {number}")
        await talk.hear(two, "zebra gone")
        assert len(await talk.find("zebra")) == 4
        await talk.database.write(lambda tx: sessions.delete(tx, two))
        await talk.hear(one, "zebra new")

    in_talk(tmp_path, furnish)
    script = tmp_path / "search.py"
    script.write_text(SEARCH)
    killed = run_python(script, str(tmp_path), failpoint=f"index.commit:{nth}=kill")
    assert was_killed(killed) or nth > 2
    done = run_python(script, str(tmp_path))
    assert done.stdout == "['zebra 0', 'zebra 1', 'zebra 2', 'zebra new'] 0\n", done.stderr


def test_a_mark_fits_into_what_the_index_stores() -> None:
    assert 0 <= store.mark_of("msg_1") < 2**63
    assert store.mark_of("msg_1") != store.mark_of("msg_2")


def test_a_server_takes_up_what_was_said_while_nobody_works(tmp_path: Path) -> None:
    async def test(talk: Talk) -> None:
        one = await talk.session()
        for number in range(450):
            await talk.hear(one, f"zebra word{number}")
        busy = True
        looks: list[bool] = []

        def is_idle() -> bool:
            looks.append(not busy)
            return not busy

        keeper = HistoryKeeper(talk.database, Index(talk.index.path), is_idle, seconds=0.01)
        async with keeper.at_work():
            await _until(lambda: len(looks) > 3)
            assert talk.rows("heard") == 0
            busy = False
            await _until(lambda: talk.rows("heard") == 450)
            await talk.hear(one, "zebra later")
            await _until(lambda: talk.rows("heard") == 451)

    in_talk(tmp_path, test)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)
