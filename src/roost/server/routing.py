"""From a table of endpoints to an ASGI app: decoding, the handler, encoding, every error."""

import logging
from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from roost.core.errors import UsageError
from roost.server.bodies import UnreadBodyError, check_words, read_body
from roost.server.endpoint import (
    DIRECTORY_HEADER,
    LOCATION_QUERY,
    Call,
    Endpoint,
    Reply,
    Streamed,
    is_streamed,
)
from roost.server.lingering import answer_early
from roost.server.problems import EXPECTED, RefusalError, answered
from roost.server.service import Service

logger = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


def router(service: Service, endpoints: Iterable[Endpoint]) -> ASGIApp:
    """The app that serves `endpoints`, and answers 404 and 405 to all else."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for one in endpoints:
        by_path.setdefault(one.path, {})[one.method] = one
    # A fixed segment stands before a parameter at the same place.
    paths = sorted(by_path, key=lambda path: [piece.startswith("{") for piece in path.split("/")])
    routes = [Route(path, _Resource(service, by_path[path])) for path in paths]
    return Router(routes, redirect_slashes=False, default=_nowhere)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    refusal = RefusalError(
        404, f"there is no route {scope['path']}", hint="GET /doc lists those there are."
    )
    await _problem(refusal)(scope, receive, send)


def _problem(error: BaseException) -> Response:
    problem = answered(error)
    return Response(
        problem.body, problem.status, headers=problem.headers, media_type="application/json"
    )


class _Resource:
    """All methods of one path."""

    def __init__(self, service: Service, methods: dict[str, Endpoint]) -> None:
        self._service = service
        self._methods = methods
        self._decoders = {
            name: msgspec.json.Decoder(one.body) for name, one in methods.items() if one.body
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            endpoint = self._endpoint(request.method)
            call = await self._call(endpoint, request)
            answer = await endpoint.handler(call)
            response = answer if isinstance(answer, Streamed) else _response(answer)
        except ClientDisconnect:
            return
        except UnreadBodyError as error:
            await answer_early(_problem(error), scope, receive, send)
            return
        except EXPECTED as error:
            response = _problem(error)
        except Exception as error:
            logger.exception("%s %s failed", request.method, scope["path"])
            response = _problem(error)
        if isinstance(response, Streamed):
            await response.send(receive, send)
        else:
            await response(scope, receive, send)

    def _endpoint(self, method: str) -> Endpoint:
        found = self._methods.get("GET" if method == "HEAD" else method)
        if found is None or (method == "HEAD" and is_streamed(found.answer)):
            allowed = ", ".join(sorted(self._methods))
            raise RefusalError(405, f"{method} is not possible here", headers={"Allow": allowed})
        return found

    async def _call(self, endpoint: Endpoint, request: Request) -> Call[Any, Any]:
        directory = await self._directory(endpoint, request)
        query = _query(endpoint.query, request)
        body = await self._body(endpoint, request)
        return Call(self._service, request, directory=directory, query=query, body=body)

    async def _directory(self, endpoint: Endpoint, request: Request) -> str:
        directories = self._service.directories
        if not endpoint.scoped:
            return directories.default
        named = request.query_params.get("directory") or request.query_params.get(LOCATION_QUERY)
        header = request.headers.get(DIRECTORY_HEADER)
        if named is None and header is not None:
            return await directories.resolve_header(header)
        return await directories.resolve(named)

    async def _body(self, endpoint: Endpoint, request: Request) -> Any:
        settings = self._service.settings
        data = await read_body(request, settings.body_limit, settings.body_timeout)
        if data and not _is_json(request.headers.get("content-type", "")):
            raise RefusalError(415, "a body must be application/json")
        decoder = self._decoders.get(endpoint.method)
        if decoder is None:
            return None
        check_words(data)
        if not data:
            if endpoint.body_optional:
                return None
            raise UsageError("the request needs a JSON body")
        try:
            return decoder.decode(data)
        except RecursionError as error:
            raise UsageError("the JSON is nested too deeply") from error
        except msgspec.MsgspecError as error:
            raise UsageError(f"the body is not what this route takes: {error}") from error


def _is_json(content_type: str) -> bool:
    kind, _, parameters = content_type.lower().partition(";")
    charset = parameters.strip().removeprefix("charset=").strip("\"' ")
    return kind.strip() == "application/json" and charset in {"", "utf-8", "utf8"}


def _query(kind: type[Struct], request: Request) -> Struct:
    try:
        return msgspec.convert(dict(request.query_params), kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"the query is not what this route takes: {error}") from error


def _response(answer: Any) -> Response:
    headers: dict[str, str] = {}
    if isinstance(answer, Reply):
        reply = cast("Reply[Any]", answer)
        headers, answer = reply.headers, reply.value
    if answer is None:
        return Response(status_code=204, headers=headers)
    return Response(_encoder.encode(answer), headers=headers, media_type="application/json")
