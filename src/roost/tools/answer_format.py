"""The format that a prompt asks its answer to have: checked when it comes, and then the answer.

OpenCode's shape: `{"type": "json_schema", "schema": …, "retryCount": 2}`, or `{"type": "text"}`.
"""

from functools import lru_cache
from itertools import islice
from typing import Any, Final, cast

import msgspec

from roost.core.errors import UsageError
from roost.core.text import clean, cut
from roost.llm.schema_refs import moved

RETRIES: Final = 2
"""Times that a model is asked again, unless the prompt says how often."""
MOST_RETRIES: Final = 20
LARGEST: Final = 256 * 1024
"""Bytes of a schema."""
_ERRORS: Final = 10
"""Faults of one answer that are told to the model."""
_WORDS: Final = 300
"""Characters of one fault."""
_COMPILED: Final = 32
"""Schemas that are kept ready."""
_AT_THE_TOP: Final = ("oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "$ref")
"""What no provider takes at the top of a tool's schema."""
_MAPS: Final = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
_LISTS: Final = {"oneOf", "anyOf", "allOf", "prefixItems"}
_ONES: Final = {"items", "additionalProperties", "not", "if", "then", "else", "contains"}
VALUE: Final = "value"
"""The argument that holds an answer which is no object."""


class AnswerFormat:
    """A schema that answers must fit, and the same as the schema of a tool's arguments."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Raises `UsageError` naming the place for a schema that cannot be used."""
        self._wrapped = _needs_wrapping(schema)
        checked = _wrapped(schema) if self._wrapped else schema
        self._validator = _validator(checked, len("/properties/value") if self._wrapped else 0)
        self.arguments = cast("dict[str, Any]", _for_providers(checked))
        """The schema of the tool; an answer that is no object stands in its one argument."""

    def faults(self, arguments: dict[str, Any]) -> list[str]:
        """What is wrong with `arguments`, the first few; empty when they fit."""
        found = islice(self._validator.iter_errors(arguments), _ERRORS)
        return [f"{_place(one.instance_path)}: {cut(clean(one.message), _WORDS)}" for one in found]

    def answer(self, arguments: dict[str, Any]) -> Any:
        """The answer that stands in `arguments`."""
        return arguments[VALUE] if self._wrapped else arguments


def check_format(format_: dict[str, Any] | None) -> None:
    """Raise `UsageError`, naming the place, for a format that no answer can be asked to have."""
    if is_structured(format_):
        retries_of(format_)
        answer_format(format_)
    elif format_ is not None and format_.get("type", "text") != "text":
        raise UsageError(
            f"format.type: {cut(str(format_['type']), _WORDS)!r} is not a format of answers",
            hint="Use text or json_schema.",
        )


def is_structured(format_: dict[str, Any] | None) -> bool:
    """Whether answers must fit a schema."""
    return format_ is not None and format_.get("type") == "json_schema"


def retries_of(format_: dict[str, Any] | None) -> int | None:
    """How often the model is asked again, if the prompt says so. Raises `UsageError`."""
    given = (format_ or {}).get("retryCount")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MOST_RETRIES:
        raise UsageError(f"format.retryCount: must be a whole number from 0 to {MOST_RETRIES}")
    return given


def answer_format(format_: dict[str, Any] | None) -> AnswerFormat:
    """The schema of a structured `format_`, ready to check with. Raises `UsageError`."""
    schema: object = (format_ or {}).get("schema")
    if not isinstance(schema, dict):
        raise UsageError("format.schema: must be a JSON Schema, which is an object")
    try:
        data = msgspec.json.encode(schema)
    except (RecursionError, UnicodeEncodeError) as error:
        raise UsageError(f"format.schema: is no JSON that can be read: {error}") from error
    if len(data) > LARGEST:
        raise UsageError(f"format.schema: is larger than {LARGEST:,} bytes")
    return _compiled(data)


@lru_cache(maxsize=_COMPILED)
def _compiled(data: bytes) -> AnswerFormat:
    return AnswerFormat(msgspec.json.decode(data))


def _validator(schema: dict[str, Any], inside: int) -> Any:
    """What checks values against `schema`; of places in it the first `inside` characters are ours.

    References are followed within the schema alone: it may come from a model, and nothing it says
    may make Roost read a file or call an address.
    """
    import jsonschema_rs  # only for answers in a format: it takes as long to load as the runtime

    try:
        return jsonschema_rs.validator_for(schema, offline=True)
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"/{step}" for step in error.instance_path)[inside:]
        what, several, _ = error.message.partition(" is not valid under any of the schemas")
        words = f"{what} is not allowed here" if several else error.message
        raise UsageError(
            f"format.schema{clean(place)}: {cut(clean(words), _WORDS)}",
            hint="Give a JSON Schema (https://json-schema.org) that refers to nothing outside it.",
        ) from error
    except ValueError as error:
        raise UsageError(f"format.schema: cannot be used: {clean(str(error))}") from error


def _place(path: list[str | int]) -> str:
    return cut(clean("".join(f"/{step}" for step in path)), _WORDS) or "/"


def _needs_wrapping(schema: dict[str, Any]) -> bool:
    return schema.get("type") != "object" or any(key in schema for key in _AT_THE_TOP)


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with `schema` as its only property."""
    inner = {key: value for key, value in schema.items() if key not in {"$schema", "$id"}}
    outer = {"$schema": schema["$schema"]} if "$schema" in schema else {}
    return {
        **outer,
        "type": "object",
        "properties": {VALUE: moved(inner, f"/properties/{VALUE}")},
        "required": [VALUE],
        "additionalProperties": False,
    }


def _for_providers(schema: Any, *, top: bool = True) -> Any:
    """`schema` with what some providers insist on and the standard does not: objects at the top
    that list their properties, requirements that are listed, arrays that say of what.
    """
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    if top:
        fields = {key: one for key, one in fields.items() if key not in {"$schema", "$id"}}
        fields.setdefault("properties", {})
    result = {key: _part(key, value) for key, value in fields.items()}
    properties, required = result.get("properties"), result.get("required")
    if isinstance(properties, dict) and isinstance(required, list):
        known = cast("dict[str, Any]", properties)
        names = cast("list[str]", required)
        result["properties"] = {**known, **{one: {} for one in names if one not in known}}
    kinds: object = result.get("type")
    is_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    if is_array and not result.keys() & {"items", "prefixItems"}:
        result["items"] = {}
    return result


def _part(key: str, value: Any) -> Any:
    if key in _MAPS and isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {name: _for_providers(one, top=False) for name, one in entries.items()}
    if key in _LISTS and isinstance(value, list):
        return [_for_providers(one, top=False) for one in cast("list[Any]", value)]
    return _for_providers(value, top=False) if key in _ONES else value
