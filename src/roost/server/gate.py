"""The door of the server: who is not allowed in is turned away before anything else happens."""

from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.server.auth import Secret
from roost.server.lingering import answer_early
from roost.server.origins import Origins, preflight_headers, shared_headers
from roost.server.problems import RefusalError, answered

OPEN_PATH: Final = "/global/health"
"""The only path that answers without the secret."""
_SAFE_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)


class Gate:
    """Lets requests of allowed hosts and origins with the secret through to `app`."""

    def __init__(self, app: ASGIApp, secret: Secret, origins: Origins) -> None:
        self._app = app
        self._secret = secret
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        shared = self._shared(headers)
        try:
            answer = self._preflight(scope, headers)
            self._check(scope, headers, needs_secret=answer is None)
        except RefusalError as refusal:
            problem = answered(refusal)
            answer = Response(
                problem.body,
                problem.status,
                # Whatever such a client still has to send is dropped.
                headers={**problem.headers, "Connection": "close"},
                media_type="application/json",
            )
            await answer_early(answer, scope, receive, _adding(send, shared))
            return
        if answer is not None:
            await answer(scope, receive, _adding(send, shared))
        else:
            await self._app(scope, receive, _adding(send, shared))

    def _preflight(self, scope: Scope, headers: Headers) -> Response | None:
        asks = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        if not asks or "origin" not in headers:
            return None
        return Response(status_code=204, headers=preflight_headers(headers["origin"]))

    def _check(self, scope: Scope, headers: Headers, *, needs_secret: bool) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._origins.host_allowed(hosts[0]):
            raise RefusalError(403, "this server is not known under that name (Host)")
        origin = headers.get("origin")
        if origin is not None and not self._origins.origin_allowed(origin):
            raise RefusalError(
                403,
                "pages of this origin may not use the server",
                hint="Add it to server.cors in your configuration if it is yours.",
            )
        if not needs_secret or scope["path"] == OPEN_PATH:
            return
        if not self._secret.accepts(headers.get("authorization", "")):
            raise RefusalError(
                401,
                "the request does not carry the server's secret",
                hint="Send Authorization: Bearer TOKEN, or Basic with the user opencode.",
                # Not Basic: a browser would ask for the password and then send it along with
                # requests that no page of ours made.
                headers={"WWW-Authenticate": 'Bearer realm="roost"'},
            )

    def _shared(self, headers: Headers) -> Iterable[tuple[bytes, bytes]]:
        origin = headers.get("origin")
        if origin is None or not self._origins.origin_allowed(origin):
            return ()
        return [(k.encode(), v.encode()) for k, v in shared_headers(origin).items()]


def _adding(send: Send, shared: Iterable[tuple[bytes, bytes]]) -> Send:
    """`send` that adds the headers every answer has."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = message.setdefault("headers", [])
            names = {name for name, _ in given}
            extra = (*_SAFE_HEADERS, *shared)
            message["headers"] = [*given, *(pair for pair in extra if pair[0] not in names)]
        await send(message)

    return send_with_headers
