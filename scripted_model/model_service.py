"""What the server does with one request for an answer: check it, choose a reply, play it."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from scripted_model.answer import Answer, Ids
from scripted_model.barriers import Barriers
from scripted_model.connection import ClientGoneError, Connection, HttpRequest
from scripted_model.conversations import Choice, Conversations
from scripted_model.picture import Dialect
from scripted_model.player import Outcome, Player, Stage
from scripted_model.reasoning_rules import ReasoningBook
from scripted_model.recording import Record, hide_keys
from scripted_model.scenario import Reply, Scenario, Script, Status, Usage
from scripted_model.signing import Signer
from scripted_model.strict import Reader, Reading
from scripted_model.violations import Violation, error_body, overflow_body
from scripted_model.wire import Wire
from scripted_model.wire_anthropic import AnthropicWire
from scripted_model.wire_chat import ChatWire
from scripted_model.wire_responses import ResponsesWire

_WIRES: Final[dict[Dialect, Callable[[Answer], Wire]]] = {
    "chat": ChatWire,
    "responses": ResponsesWire,
    "anthropic": AnthropicWire,
}
_ABOUT_THINKING: Final = re.compile("thinking|reasoning|encrypted_content|signature")


class Settings(Struct, frozen=True, kw_only=True):
    """How the server judges requests."""

    strict: bool = True
    """Off: a request is only asked to be JSON."""
    api_key: str | None = None
    """None: any key will do, none too."""
    models: tuple[str, ...] = ()
    """Names that are served; empty means every name."""
    context: int | Mapping[str, int] = 1_000_000
    """Tokens of input that fit, for all models or by name (others: no limit)."""
    extra_fields: frozenset[str] = frozenset()
    """Top-level fields that are let through although the dialect does not know them."""
    secret: str = "scripted-model"
    """Signs thinking; servers with the same secret take each other's."""
    keep: int | None = None
    """How many of the latest requests keep their body and messages; None means all."""

    def window(self, model: str) -> int | None:
        """Tokens of input that fit for a model."""
        return self.context if isinstance(self.context, int) else self.context.get(model)


class ModelService:
    """Answers requests of all three dialects from one scenario."""

    def __init__(
        self,
        scenario: Scenario | Script,
        settings: Settings,
        *,
        seed: str,
        on_change: Callable[[Record], None],
    ) -> None:
        self.settings = settings
        self.barriers = Barriers()
        self.records: list[Record] = []
        self._signer = Signer(settings.secret)
        self._book = ReasoningBook(self._signer)
        self._reader = Reader(
            self._book, strict=settings.strict, extra_fields=settings.extra_fields
        )
        self._ids = Ids(seed)
        self._on_change = on_change
        self.use(scenario)

    def use(self, scenario: Scenario | Script) -> None:
        """Play another scenario from now on; conversations begin anew."""
        self._script = None if isinstance(scenario, Scenario) else scenario
        steps = scenario if isinstance(scenario, Scenario) else Scenario()
        self._conversations = Conversations(steps)

    def count(self, http: HttpRequest) -> int:
        """Tokens that a request without `max_tokens` would cost."""
        return self._reader.count("anthropic", http.body)

    async def answer(self, dialect: Dialect, http: HttpRequest, connection: Connection) -> None:
        """Answer one request and record it."""
        reading = self._reader.read(dialect, http.body, hide_keys(http.headers))
        record = Record(
            number=len(self.records),
            dialect=dialect,
            at=time.time(),
            request=reading.request,
            input_tokens=reading.share.total,
            cached_tokens=reading.share.read,
        )
        self._keep(record)
        before = connection.sent
        try:
            await self._reply(http, reading, record, connection)
        except asyncio.CancelledError:
            record.outcome = "stopped"
            raise
        except ClientGoneError:
            record.outcome = "client-gone"
        finally:
            if record.outcome == "playing":
                record.outcome = "crashed"
            record.sent = connection.sent - before
            record.ended = time.time()
            self._on_change(record)

    def _keep(self, record: Record) -> None:
        self.records.append(record)
        keep = self.settings.keep
        if keep is not None and len(self.records) > keep:
            old = self.records[-keep - 1]
            old.request = replace(old.request, messages=(), body=b"")
        self._on_change(record)

    async def _reply(
        self, http: HttpRequest, reading: Reading, record: Record, connection: Connection
    ) -> None:
        found = [*self._check_headers(record.dialect, http), *reading.violations]
        if found:
            self._reject(found, record, connection)
        elif self.settings.models and record.model not in self.settings.models:
            record.outcome = "unknown-model"
            message = f"The model '{record.model}' does not exist or you do not have access to it."
            self._refuse(404, message, "model_not_found", record, connection)
        elif (limit := self.settings.window(record.model)) is not None and (
            reading.share.total > limit
        ):
            record.outcome, record.status = "overflow", 400
            tokens = reading.share.total
            body = overflow_body(record.dialect, tokens, limit, self._ids.make("req_"))
            connection.respond(400, self._headers(record.dialect), body)
        else:
            await self._play(reading, record, connection)

    def _check_headers(self, dialect: Dialect, http: HttpRequest) -> list[Violation]:
        found: list[Violation] = []
        key = self.settings.api_key
        given = http.headers.get("authorization", "").removeprefix("Bearer ")
        if dialect == "anthropic":
            given = http.headers.get("x-api-key") or given
        if key is not None and given != key:
            message = (
                "invalid x-api-key" if dialect == "anthropic" else "Incorrect API key provided."
            )
            found.append(Violation("auth", message, "", "invalid_api_key", 401))
        if not self.settings.strict:
            return found
        if dialect == "anthropic" and "anthropic-version" not in http.headers:
            found.append(Violation("fields", "anthropic-version: header is required"))
        if not http.headers.get("content-type", "").startswith("application/json"):
            message = "The Content-Type of the request must be application/json."
            found.append(Violation("fields", message))
        return found

    def _reject(self, found: list[Violation], record: Record, connection: Connection) -> None:
        record.outcome = "rejected"
        record.violations = tuple(
            Violation(v.rule, v.message, v.param, v.code, v.status, record.number) for v in found
        )
        first = found[0]
        record.status = first.status
        body = error_body(
            record.dialect,
            first.status,
            first.message,
            param=first.param,
            code=first.code,
            request_id=self._ids.make("req_"),
        )
        connection.respond(first.status, self._headers(record.dialect), body)

    def _refuse(
        self, status: int, message: str, code: str, record: Record, connection: Connection
    ) -> None:
        record.status = status
        body = error_body(record.dialect, status, message, param="model", code=code)
        connection.respond(status, self._headers(record.dialect), body)

    def _headers(self, dialect: Dialect) -> dict[str, str]:
        name = "request-id" if dialect == "anthropic" else "x-request-id"
        return {"content-type": "application/json", name: self._ids.make("req_")}

    async def _play(self, reading: Reading, record: Record, connection: Connection) -> None:
        request = reading.request
        choice = self._conversations.choose(request)
        reply = self._script(request) if self._script is not None else choice.reply
        if reply is None:
            message = "The scenario has no answer left for this request."
            self._reject([Violation("script", message)], record, connection)
            return
        record.step, record.conversation = choice.at, choice.number
        wire = self._wire(reading, reply)
        stage = Stage(
            connection=connection,
            wire=wire,
            stream=request.stream,
            headers={
                k: v for k, v in self._headers(request.dialect).items() if k != "content-type"
            },
            barrier=lambda name: self._arrive(name, record),
            on_finish=lambda: self._said(choice, wire),
            on_outcome=lambda outcome: _note_outcome(record, reply, outcome),
        )
        record.outcome = await Player(stage, reply).play()
        self._after(choice, reply, record)

    def _wire(self, reading: Reading, reply: Reply) -> Wire:
        usage = next((piece for piece in reply.pieces if isinstance(piece, Usage)), None)
        answer = Answer(
            reading.request,
            reading.share,
            usage=usage,
            ids=self._ids,
            signer=self._signer,
            created=int(time.time()),
        )
        return _WIRES[reading.request.dialect](answer)

    def _arrive(self, name: str, record: Record) -> asyncio.Event:
        event = self.barriers.arrive(name)
        self._on_change(record)
        return event

    def _said(self, choice: Choice, wire: Wire) -> None:
        self._conversations.answered(choice, wire.handed_back(), wire.answer.call_ids)
        self._book.note(wire.thought(), wire.answer.call_ids)

    def _after(self, choice: Choice, reply: Reply, record: Record) -> None:
        if record.outcome == "done":
            return
        self._conversations.failed(choice)
        body = next((piece.body for piece in reply.pieces if isinstance(piece, Status)), None)
        if record.status == 400 and _ABOUT_THINKING.search(body or ""):
            self._book.excuse(record.request.messages)


def _note_outcome(record: Record, reply: Reply, outcome: Outcome) -> None:
    record.outcome = outcome
    if outcome == "status":
        codes = (piece.code for piece in reply.pieces if isinstance(piece, Status))
        record.status = next(codes, record.status)
