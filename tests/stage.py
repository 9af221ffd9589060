"""What tests of stored state stand on: a real database file, letters, claims, and the laws."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from roost.actors import claim as claims
from roost.actors import store as actors
from roost.actors import turn_store
from roost.actors.claim import IsDead
from roost.actors.limits import ActorLimits
from roost.actors.models import Actor, Budgets, Claim, Ending, Settled
from roost.actors.send import send
from roost.actors.settle import settle
from roost.core.clock import now_ms
from roost.core.ids import new_id
from roost.db.connect import connect
from roost.db.migrations import migrate
from roost.db.opening import open_file
from roost.db.transaction import Reader, Transaction
from roost.events.types import Event
from roost.inbox import store as inbox
from roost.inbox.drain import drain
from roost.inbox.listing import listed
from roost.inbox.models import Address, Body, InboxRow, Letter, NoteBody, PromptBody, Receipt
from roost.inbox.notices import NoticeBody
from roost.sessions import store as sessions
from roost.sessions import transcript
from roost.sessions.models import (
    AssistantInfo,
    Message,
    MessagePath,
    MessageTime,
    ModelName,
    NewSession,
    UserInfo,
)
from roost.sessions.parts import Part, TextPart, Tokens, is_open

T = TypeVar("T")
MODEL = ModelName("scripted", "one")
HELPER = "explore-1"


def everybody_lives(_owner: str) -> bool:
    return False


def everybody_is_dead(_owner: str) -> bool:
    return True


LIMITS = ActorLimits()


def recover(tx: Transaction, is_dead: IsDead, limits: ActorLimits = LIMITS) -> list[Address]:
    """Recover every actor; those that mail waits for."""
    found = actors.restless(tx)
    return [one for one in found if claims.recover_actor(tx, one, is_dead, limits)]


class Stage:
    """A database without threads: `do` runs a transaction at once and keeps its events."""

    def __init__(self, path: Path | None) -> None:
        """Without a path the database is in memory, for properties that need thousands."""
        self.path = path or Path(":memory:")
        if path is None:
            self.connection = connect(self.path)
            migrate(self.connection)
        else:
            self.connection = open_file(path).connection
        self.events: list[Event] = []
        row = self.read(lambda db: db.one("SELECT id FROM session ORDER BY created LIMIT 1"))
        self.session_id: str = row["id"] if row else ""

    def close(self) -> None:
        self.connection.close()

    def do(self, transaction: Callable[[Transaction], T]) -> T:
        self.connection.execute("BEGIN IMMEDIATE")
        scope = Transaction(self.connection)
        try:
            result = transaction(scope)
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")
        self.events += scope.events
        return result

    def read(self, query: Callable[[Reader], T]) -> T:
        return query(Reader(self.connection))

    def furnish(self) -> None:
        """One session with `main` and one more actor."""
        self.session_id = self.do(furnish)

    @property
    def main(self) -> Address:
        return Address(self.session_id, "main")

    @property
    def helper(self) -> Address:
        return Address(self.session_id, HELPER)

    def actor(self, address: Address | None = None) -> Actor:
        return self.read(lambda db: actors.get(db, address or self.main))

    def send(self, letter: Letter) -> Receipt:
        return self.do(lambda tx: send(tx, letter))

    def claim(self, address: Address | None = None, **changes: Any) -> Claim | None:
        given: dict[str, Any] = {
            "owner": "proc_one",
            "is_dead": everybody_lives,
            "budgets": Budgets(),
            "limits": LIMITS,
            **changes,
        }
        return self.do(lambda tx: claims.claim(tx, address or self.main, **given))

    def recover(self, is_dead: IsDead, limits: ActorLimits = LIMITS) -> list[Address]:
        """Recover every actor; those that mail waits for."""
        return self.do(lambda tx: recover(tx, is_dead, limits))

    def drain(self, claim: Claim) -> list[Message]:
        def take(tx: Transaction) -> list[Message]:
            actors.check_fence(tx, claim)
            return drain(tx, claim.address, claim.turn.id, agent="build", model=MODEL)

        return self.do(take)

    def settle(self, claim: Claim, outcome: Any = "success") -> Settled:
        return self.do(lambda tx: settle(tx, claim, Ending(outcome=outcome)))

    def history(self, address: Address | None = None) -> list[Message]:
        where = address or self.main
        return self.read(lambda db: transcript.load(db, where.session_id, where.actor_id))

    def rows(self) -> list[InboxRow]:
        return self.read(lambda db: listed(db, self.session_id, 100_000))

    def event_types(self) -> list[str]:
        return [event.type for event in self.events]


def furnish(tx: Transaction) -> str:
    session = sessions.create(tx, NewSession(directory="/somewhere", project_id="project"))
    actors.register(tx, actors.new_main(session.id, "build"))
    now = now_ms()
    helper = Actor(
        session_id=session.id,
        actor_id=HELPER,
        mode="subagent",
        fronts=False,
        agent="explore",
        lifecycle="ephemeral",
        status="idle",
        created=now,
        last_activity=now,
        parent=Address(session.id, "main"),
        background=True,
        depth=1,
    )
    actors.register(tx, helper)
    return session.id


def prompt(to: Address, text: str, *, message_id: str | None = None, **more: Any) -> Letter:
    """What a person says."""
    message_id = message_id or new_id("message")
    part = TextPart(new_id("part"), to.session_id, message_id, text)
    body = PromptBody(message_id, "build", MODEL, (part,), now_ms())
    return Letter(receiver=to, kind="prompt", body=body, **more)


def note(to: Address, text: str, *, kind: Any = "message", **more: Any) -> Letter:
    """What another actor or the runtime says."""
    body: Body = NoteBody(text)
    if kind == "notice":
        body = NoticeBody(
            notice="completed", session_id=to.session_id, actor_id="helper-1", result=text
        )
    return Letter(receiver=to, kind=kind, body=body, **more)


def texts(messages: list[Message]) -> list[str]:
    """The words of each message."""
    return [
        " ".join(part.text for part in message.parts if isinstance(part, TextPart))
        for message in messages
    ]


def user_message(session_id: str, *parts: Part, person: bool = True) -> Message:
    info = UserInfo(
        id=new_id("message"),
        session_id=session_id,
        time=MessageTime(created=now_ms()),
        agent="build",
        model=MODEL,
        provenance=None if person else {"inbox": []},
    )
    return Message(info, parts)


def answer_info(session_id: str, **changes: Any) -> AssistantInfo:
    """The head of an open step of the model."""
    given: dict[str, Any] = {
        "id": new_id("message"),
        "session_id": session_id,
        "time": MessageTime(created=now_ms()),
        "parent_id": "",
        "model_id": "one",
        "provider_id": "scripted",
        "mode": "build",
        "agent": "build",
        "path": MessagePath("/somewhere", "/somewhere"),
        "cost": 0.0,
        "tokens": Tokens(),
        **changes,
    }
    return AssistantInfo(**given)


def in_history(messages: list[Message], rows: list[InboxRow]) -> list[str]:
    """The ids of the inbox rows that a history holds, in its order."""
    prompts = {row.message_id: row.id for row in rows if row.kind == "prompt"}
    found: list[str] = []
    for message in messages:
        if not isinstance(message.info, UserInfo):
            continue
        if message.info.provenance is None:
            found.append(prompts[message.info.id])
        else:
            found += [entry["id"] for entry in message.info.provenance["inbox"]]
    return found


def assert_laws(stage: Stage, accepted: list[str]) -> None:
    """Nothing lost, nothing doubled, order kept, nobody runs without an owner, no loose ends."""
    rows = stage.rows()
    assert [row.id for row in rows] == accepted
    for actor in stage.read(lambda db: actors.of_session(db, stage.session_id)):
        mine = [row for row in rows if row.receiver == actor.address]
        history = stage.history(actor.address)
        delivered = [row.id for row in mine if row.state == "delivered"]
        assert in_history(history, mine) == delivered
        assert (actor.status == "running") == (actor.owner is not None)
        turns = stage.read(lambda db, who=actor: turn_store.turns_of(db, who.address))
        running = [turn for turn in turns if turn.phase != "ended"]
        assert [turn.id for turn in running] == (
            [actor.current_turn] if actor.status == "running" else []
        )
        if actor.status != "running":
            assert [part for message in history for part in message.parts if is_open(part)] == []
        if actor.status == "idle":
            assert not stage.read(lambda db, who=actor: inbox.has_mail(db, who.address))
    assert stage.connection.execute("PRAGMA integrity_check").fetchall()[0][0] == "ok"
    assert stage.connection.execute("PRAGMA foreign_key_check").fetchall() == []


def run_python(
    script: Path, *arguments: str, failpoint: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a test's own script in a process of its own."""
    environment = {**os.environ, "ROOST_FAILPOINT": failpoint}
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def was_killed(process: subprocess.CompletedProcess[str]) -> bool:
    return process.returncode == -signal.SIGKILL
