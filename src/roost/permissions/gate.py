"""Stands between a tool and its effect: evaluates the rules, asks the person, remembers grants."""

import asyncio
from collections.abc import Callable
from math import inf
from typing import Any, Final

import msgspec
from msgspec import Struct

from roost.actors.fenced import write_fenced
from roost.actors.limits import ASK_SECONDS, HOPS
from roost.actors.models import Claim
from roost.core.clock import now_ms
from roost.core.errors import DeniedError, StaleFenceError
from roost.db.database import Database
from roost.db.transaction import Transaction
from roost.db.watching import until
from roost.events.bus import Bus
from roost.events.types import Event
from roost.inbox.models import Address
from roost.permissions import asks
from roost.permissions.asks import Ask, RejectedError
from roost.permissions.forwarding import EXPIRED, OPAQUE, ForwardTerms, expire, open_permission
from roost.permissions.lineage import evaluate_lineage
from roost.permissions.models import Layer, PermissionRequest, Reply, Rule, Verdict
from roost.permissions.rules import evaluate, settle_alone
from roost.permissions.words import how_to_allow

_GO_ON: Final = "Go on without it if you can, and say in your report what could not be done."
_POLL_SECONDS: Final = 0.5
"""How often an answer given through another process is looked for."""


class Requester(Struct, frozen=True):
    """Which call of which actor asks, under which rules."""

    claim: Claim
    message_id: str
    call_id: str
    project_id: str
    layers: tuple[Layer, ...]
    above: tuple[tuple[Layer, ...], ...] = ()
    """The layers of the actors above it, its parent's first: none of them may be overruled."""
    terms: ForwardTerms = ForwardTerms(ASK_SECONDS, HOPS)
    """How it is forwarded if another session directs the actor's."""
    alone: bool = False
    """Nobody is asked for it: its parent waits for what it reads."""

    @property
    def address(self) -> Address:
        """The actor that asks."""
        return self.claim.address

    @property
    def turn_id(self) -> str:
        """The turn that asks."""
        return self.claim.turn.id


class Gate:
    """Grants and refuses; one for all actors of a process."""

    def __init__(self, database: Database, bus: Bus, *, interactive: bool, yes: bool) -> None:
        self._database = database
        self._bus = bus
        self._interactive = interactive
        self._yes = yes

    async def check(self, request: PermissionRequest, by: Requester) -> None:
        """Return when `request` is allowed.

        Raises `DeniedError` when a rule or the absence of a person refuses it, `RejectedError`
        when a person does.
        """
        verdict = await self._verdict(request, (by.layers, *by.above), by.project_id)
        if not self._interactive or (self._yes and not request.needs_person):
            asked = verdict.action == "ask"
            verdict = settle_alone(request, verdict, yes=self._yes)
            if verdict.action == "deny":
                raise _nobody_there(request, verdict) if asked else DeniedError(verdict.reason)
            return
        if verdict.action == "ask" and by.alone:
            raise DeniedError(f"{verdict.reason}, and nobody is asked for one that only reads")
        if verdict.action == "deny":
            raise DeniedError(verdict.reason)
        if verdict.action == "ask":
            await self._ask(request, verdict, by)

    async def check_unasked(
        self, request: PermissionRequest, layers: tuple[Layer, ...], project_id: str
    ) -> None:
        """Return when `layers` or what was granted before allow `request`; nobody is asked, since
        no turn is there to wait for the answer. Raises `DeniedError`.
        """
        verdict = await self._verdict(request, (layers,), project_id)
        asked = verdict.action == "ask"
        verdict = settle_alone(request, verdict, yes=self._yes)
        if verdict.action == "deny":
            raise _nobody_there(request, verdict) if asked else DeniedError(verdict.reason)

    async def _verdict(
        self, request: PermissionRequest, lineage: tuple[tuple[Layer, ...], ...], project_id: str
    ) -> Verdict:
        verdict = evaluate_lineage(request, lineage)
        if verdict.action != "ask":
            return verdict
        known = await self._database.read(lambda db: asks.grants_of(db, project_id))
        return evaluate_lineage(request, lineage, _rules(known))

    async def _ask(self, request: PermissionRequest, verdict: Verdict, by: Requester) -> None:
        shown: dict[str, Any] = {
            "permission": request.permission,
            "patterns": list(request.patterns),
            "always": list(request.always),
            "metadata": {**request.metadata, "title": request.title, "reason": verdict.reason},
            "tool": {"messageID": by.message_id, "callID": by.call_id},
        }
        if any(trait.opaque for trait in request.traits):
            shown["metadata"][OPAQUE] = True
        forced = request.forced or request.needs_person
        answer = await self._put(
            by,
            lambda tx: open_permission(
                tx, by.address, by.turn_id, shown, forced=forced, terms=by.terms
            ),
        )
        if answer.get("reply") in {"once", "always"}:
            return
        if answer.get(EXPIRED):
            raise DeniedError(f"{verdict.reason}, and {answer.get('message')}", hint=_GO_ON)
        words = str(answer.get("message") or "").strip()
        if words:
            raise RejectedError(f"The user refused this and says: {words}", blocks=False)
        raise RejectedError("The user refused this.", blocks=True)

    async def question(self, questions: list[dict[str, Any]], by: Requester) -> list[list[str]]:
        """Ask the person and give the answers, one list of labels a question.

        Raises `DeniedError` when nobody is there, `RejectedError` when the person will not say.
        """
        if not self._interactive:
            raise DeniedError(
                "Nobody is there to answer. Decide by yourself and say what you assumed."
            )
        shown = {
            "questions": questions,
            "tool": {"messageID": by.message_id, "callID": by.call_id},
        }
        answer = await self._put(
            by, lambda tx: asks.open_ask(tx, by.address, by.turn_id, "question", shown)
        )
        if answer.get("rejected") or "answers" not in answer:
            raise RejectedError("The user did not answer the question.", blocks=True)
        return list(answer["answers"])

    async def _put(self, by: Requester, put: Callable[[Transaction], Ask | None]) -> dict[str, Any]:
        """Store a request and wait for its answer, from whichever process it comes.

        If `put` stores none, it was agreed to before.
        """
        ask = await write_fenced(self._database, by.claim, put)
        if ask is None:
            return {"reply": "once"}
        try:
            while (answer := await self._answer(ask)) is None:
                await write_fenced(
                    self._database, by.claim, lambda tx: expire(tx, ask, by.terms.seconds)
                )
            return answer
        except asyncio.CancelledError:
            await self._withdraw(ask, by)
            raise

    async def _withdraw(self, ask: Ask, by: Requester) -> None:
        """Close a request whose call was stopped; for a turn that is lost, as for all such."""
        try:
            await write_fenced(self._database, by.claim, lambda tx: asks.withdraw(tx, ask))
        except StaleFenceError:
            await self._database.write(asks.withdraw_lost)

    async def _answer(self, ask: Ask) -> dict[str, Any] | None:
        """The answer, or None if nobody gave one in time. Raises `RejectedError`."""
        left = inf if ask.deadline is None else (ask.deadline - now_ms()) / 1000
        heard: list[Event] = []
        with self._bus.subscribe(_about(ask, heard.append)):
            current = await until(
                self._database,
                self._bus,
                lambda db: asks.get(db, ask.id),
                lambda current: current.state != "open",
                concerns=_about(ask),
                poll=_POLL_SECONDS,
                seconds=left,
            )
            if current.state != "open":
                await self._tell(current, heard)
        match current.state:
            case "open":
                return None
            case "answered":
                return current.answer or {}
            case _:
                raise RejectedError("The request was withdrawn.", blocks=True)

    async def _tell(self, ask: Ask, heard: list[Event]) -> None:
        """Tell clients of an answer that came through another process, which told its own alone."""
        await self._database.write(_nothing)  # what was written here before is told by then
        if not heard:
            await self._database.write(lambda tx: asks.tell_outcome(tx, ask))


def _nothing(_: Transaction) -> None:
    """A transaction that only waits for its turn."""


def _about(ask: Ask, note: Callable[[Event], object] | None = None) -> Callable[[Event], bool]:
    """Takes the news that `ask` is answered, and shows it to `note`."""
    kinds = {"permission.replied", "question.replied", "question.rejected"}

    def concerns(event: Event) -> bool:
        is_it = event.type in kinds and event.properties.get("requestID") == ask.id
        if is_it and note is not None:
            note(event)
        return is_it

    return concerns


def _nobody_there(request: PermissionRequest, verdict: Verdict) -> DeniedError:
    return DeniedError(
        verdict.reason,
        hint=how_to_allow(request.permission, needs_person=request.needs_person),
        permission=request.permission,
        needs_person=request.needs_person,
    )


def _rules(grants: list[tuple[str, str]]) -> tuple[Rule, ...]:
    return tuple(Rule(permission, pattern, "allow") for permission, pattern in grants)


def reply(tx: Transaction, ask_id: str, reply_: Reply, message: str | None, project: str) -> Ask:
    """Answer a permission request.

    `always` also allows what the request named for good, and with it other open requests of the
    session that it covers. A plain `reject` closes the other requests of the same turn, since the
    turn stops. Raises `NotFoundError` or `ConflictError`.
    """
    words: dict[str, Any] = {"reply": reply_, **({"message": message} if message else {})}
    ask = asks.answer(tx, ask_id, "permission", words)
    patterns = [str(pattern) for pattern in ask.request.get("always", ())]
    if reply_ == "always" and patterns:
        permission = str(ask.request["permission"])
        asks.remember(tx, project, permission, patterns)
        _answer_covered(tx, ask.session_id, tuple(Rule(permission, p, "allow") for p in patterns))
    if reply_ == "reject" and not message:
        for other in asks.listed(tx, ask.session_id):
            if other.turn_id == ask.turn_id:
                asks.withdraw(tx, other)
    return ask


def _answer_covered(tx: Transaction, session_id: str, grants: tuple[Rule, ...]) -> None:
    """Answer open requests that the new grants allow."""
    nothing = Layer("open requests", "defaults", (Rule("*", "*", "ask"),))
    for other in asks.listed(tx, session_id, "permission"):
        if not other.request.get("always"):
            continue  # a person must agree to it each time
        request = msgspec.convert(
            {
                "permission": other.request["permission"],
                "patterns": other.request["patterns"],
            },
            PermissionRequest,
        )
        if evaluate(request, (nothing,), grants).action == "allow":
            asks.answer(tx, other.id, "permission", {"reply": "always"})
