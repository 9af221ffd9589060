"""The OpenAPI 3.1 document, written from the table of routes and the types of their handlers."""

import re
from collections.abc import Iterable
from typing import Any, Final, cast, get_args, get_origin

import msgspec

from roost import __version__
from roost.server.endpoint import (
    DIRECTORY_HEADER,
    VIEW_HEADER,
    Endpoint,
    Reply,
    Streamed,
    is_streamed,
)
from roost.server.event_shapes import EVENT_SHAPES
from roost.server.problems import Problem

_REF: Final = "#/components/schemas/{name}"
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_WORDS: Final = {
    400: "The request is not what the route takes.",
    401: "The secret is missing or wrong.",
    403: "It is refused: the folder is not served, or a rule denies it.",
    404: "What was named does not exist.",
    405: "The path has no such method.",
    408: "The body did not come.",
    409: "The session is busy, or the state changed meanwhile.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "Too many; see Retry-After.",
    500: "Roost itself failed.",
    501: "OpenCode has it, and Roost does not.",
    502: "The turn failed before the model said anything.",
    503: "The database cannot be used, or the server stops.",
}
_EVENTS: Final = (
    "Events, one JSON object a frame: `{id, type, properties}`. `x-event-properties` says what"
    " those about actors, turns, inboxes and teams tell; the others are OpenCode's."
)
_DIRECTORY: Final[list[dict[str, Any]]] = [
    {
        "name": name,
        "in": place,
        "required": False,
        "description": "The folder that is meant; one that the server was opened for.",
        "schema": {"type": "string"},
    }
    for name, place in (("directory", "query"), (DIRECTORY_HEADER, "header"))
]

_VIEW: Final[dict[str, Any]] = {
    "name": VIEW_HEADER,
    "in": "header",
    "required": False,
    "description": "`actors` for clients that know actors; to others their slices are sessions.",
    "schema": {"type": "string", "enum": ["sessions", "actors"]},
}


def openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The document for `endpoints`."""
    table = tuple(endpoints)
    types = _Types(table)
    paths: dict[str, dict[str, Any]] = {}
    for one in table:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, types)
    return {
        "openapi": "3.1.0",
        "info": {"title": "roost", "version": __version__},
        "paths": paths,
        "security": [{"bearer": []}, {"basic": []}],
        "components": {
            "schemas": types.components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


class _Types:
    """The schemas of all types in the table."""

    def __init__(self, table: tuple[Endpoint, ...]) -> None:
        kinds: list[Any] = [Problem, *EVENT_SHAPES.values()]
        for one in table:
            kinds += [field.type for field in msgspec.structs.fields(one.query)]
            kinds += [kind for kind in (one.body, answer_type(one)) if kind is not None]
        schemas, self.components = msgspec.json.schema_components(kinds, ref_template=_REF)
        self._schemas = list(zip(kinds, schemas, strict=True))

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of `kind`."""
        return next(schema for known, schema in self._schemas if known == kind)


def answer_type(one: Endpoint) -> Any:
    """The type of an endpoint's JSON; None where it has none."""
    answer = one.answer
    if get_origin(answer) is Reply:
        return get_args(answer)[0]
    streamed = cast("type[Streamed] | None", answer if is_streamed(answer) else None)
    return streamed.answer if streamed else answer


def _operation(one: Endpoint, types: _Types) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": [*_path_parameters(one), *_query_parameters(one, types)],
        "responses": _responses(one, types),
    }
    if one.scoped:
        known = {parameter["name"] for parameter in operation["parameters"]}
        operation["parameters"] += [p for p in _DIRECTORY if p["name"] not in known]
    operation["parameters"].append(_VIEW)
    if one.body is not None:
        operation["requestBody"] = {
            "required": not one.body_optional,
            "content": {"application/json": {"schema": types.of(one.body)}},
        }
    if one.path == "/global/health":
        operation["security"] = []
    return operation


def _path_parameters(one: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(one.path)
    ]


def _query_parameters(one: Endpoint, types: _Types) -> list[dict[str, Any]]:
    return [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "schema": types.of(field.type),
        }
        for field in msgspec.structs.fields(one.query)
    ]


def _responses(one: Endpoint, types: _Types) -> dict[str, Any]:
    problem = {"application/json": {"schema": types.of(Problem)}}
    responses: dict[str, Any] = {
        str(status): {"description": words, "content": problem} for status, words in _WORDS.items()
    }
    answer = answer_type(one)
    if one.answer is None:
        responses["204"] = {"description": "Done."}
    elif answer is None:
        shapes = {name: types.of(shape) for name, shape in EVENT_SHAPES.items()}
        stream = {"schema": {"type": "string"}, "x-event-properties": shapes}
        responses["200"] = {"description": _EVENTS, "content": {"text/event-stream": stream}}
    else:
        content = {"application/json": {"schema": types.of(answer)}}
        responses["200"] = {"description": "Done.", "content": content}
    return responses
