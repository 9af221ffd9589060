"""A JSON Schema that becomes part of a larger one: its references must follow."""

from typing import Any, cast


def moved(schema: Any, pointer: str) -> Any:
    """`schema` as it must be written where `pointer` (as `/properties/value`) leads to it."""
    if isinstance(schema, list):
        return [moved(one, pointer) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Any]", schema)
    return {key: _moved_field(key, value, pointer) for key, value in fields.items()}


def _moved_field(key: str, value: Any, pointer: str) -> Any:
    # A property may be called `$ref`; then a schema follows, and no text.
    if key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/")):
        return f"#{pointer}{value[1:]}"
    return moved(value, pointer)
