"""Searching what was said: 100,000 passages in English, Chinese and code, through all that a search
does, and what the index of them costs.
"""

import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Figure, median
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.events.bus import Bus
from roost.memory.index import Index
from roost.runtime.history import History
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import Message, MessageTime, ModelName, NewSession, UserInfo
from roost.sessions.parts import TextPart
from roost.tools.history_port import HistoryQuery

MESSAGES = 20_000
PARTS = 5
BATCH = 500
SESSIONS = 100
PROJECTS = 5
MODEL = ModelName("test", "model")
CHINESE = (
    "数据库迁移脚本检查点写手端口服务器请求超时重试会话模型预算缓存文件目录补丁撤销快照命令输出错误"
)
QUERIES = {
    "English": "where are permission rules of shell commands checked",
    "common words": "the session of a project in the database",
    "Chinese": "数据库迁移",
    "an identifier": "snapshot_revert",
    "a part of one": "UserById",
    "a literal": '"exit code 4711"',
    "nothing": "zzyzx quuxly",
}
ROUNDS = 15


class Spent(NamedTuple):
    """Seconds of one search."""

    cpu: float
    wall: float


def figures() -> list[Figure]:
    """How long a search takes by what is asked for, and how large the index is."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Figure]:
    database = Database.open(folder / "roost.db", Bus())
    index = Index(folder / "search.db")
    try:
        text = await _furnish(database)
        history = History(database, index)
        began = time.process_time()
        await history.catch_up(600)
        taken = time.process_time() - began
        found = [await _times(history, words) for words in QUERIES.values()]
    finally:
        index.close()
        database.close()
    size = index.path.stat().st_size
    count = MESSAGES * PARTS
    cpu = [one.cpu for spent in found for one in spent]
    wall = [one.wall for spent in found for one in spent]
    kinds = [median([one.cpu for one in spent]) for spent in found]
    slowest = max(zip(kinds, QUERIES, strict=True))
    return [
        Figure(f"memory: search over {count:,} passages, CPU", median(cpu) * 1000, 20.0, "ms"),
        Figure("memory: the same by the clock", median(wall) * 1000, None, "ms"),
        Figure("memory: the slowest kind of query, CPU", slowest[0] * 1000, None, "ms", slowest[1]),
        Figure("memory: index, bytes per byte of text", size / text, 0.6, ""),
        Figure("memory: taking up 1,000 passages, CPU", taken / count * 1e6, None, "ms"),
    ]


async def _times(history: History, words: str) -> list[Spent]:
    times: list[Spent] = []
    for number in range(ROUNDS):
        project = f"p{number % PROJECTS}" if number % 2 else ""
        began, cpu = time.perf_counter(), time.process_time()
        await history.search(HistoryQuery(words=words, project_id=project))
        times.append(Spent(time.process_time() - cpu, time.perf_counter() - began))
    return times


async def _furnish(database: Database) -> int:
    """Store messages; how many bytes of text they hold."""
    chance = random.Random(11)
    lines = _lines()
    ids = await database.write(_sessions)
    total = 0
    for start in range(0, MESSAGES, BATCH):
        some = [
            _message(chance, lines, ids[(start + at) * SESSIONS // MESSAGES]) for at in range(BATCH)
        ]
        total += sum(len(part.text.encode()) for one in some for part in _texts(one))

        def store(tx: Transaction, some: list[Message] = some) -> None:
            for one in some:
                transcript.append_message(tx, one, actor_id="main", turn_id=None)

        await database.write(store)
    return total


def _sessions(tx: Transaction) -> list[str]:
    return [
        sessions.create(tx, NewSession(directory="/tmp", project_id=f"p{at % PROJECTS}")).id
        for at in range(SESSIONS)
    ]


def _lines() -> list[str]:
    root = Path(__file__).parent.parent
    files = sorted([*root.joinpath("src").rglob("*.py"), *root.joinpath("docs").rglob("*.md")])
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return [line for line in text.splitlines() if len(line.strip()) > 20]


def _message(chance: random.Random, lines: list[str], session_id: str) -> Message:
    message_id = new_id("message")
    parts = tuple(
        TextPart(new_id("part"), session_id, message_id, _text(chance, lines)) for _ in range(PARTS)
    )
    info = UserInfo(message_id, session_id, MessageTime(now_ms()), "build", MODEL)
    return Message(info, parts)


def _text(chance: random.Random, lines: list[str]) -> str:
    said = chance.choices(lines, k=chance.randint(3, 12))
    if chance.random() < 0.3:
        said.append("".join(chance.choices(CHINESE, k=chance.randint(10, 60))))
    if chance.random() < 0.01:
        said.append(f"exit code {chance.randint(1_000, 9_999)} of getUserById")
    return "\n".join(said)


def _texts(message: Message) -> list[TextPart]:
    return [part for part in message.parts if isinstance(part, TextPart)]
