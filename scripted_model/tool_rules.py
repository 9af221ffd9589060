"""The rules for tools on offer: unique names of the right shape, schemas every provider takes."""

import re
from typing import Any, Final, cast

from scripted_model.dialogue import NAME
from scripted_model.grammar import join
from scripted_model.json_strict import Object
from scripted_model.picture import Dialect, Request, Tool
from scripted_model.violations import Violation

_TYPES: Final = {"object", "array", "string", "number", "integer", "boolean", "null"}
_PROPERTY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINERS: Final = ("oneOf", "anyOf", "allOf", "not", "enum")
_DESCRIPTION_LIMIT: Final = 1024 * 32


def check_tools(request: Request) -> list[Violation]:
    """Everything that is wrong with the tools of `request`."""
    found: list[Violation] = []
    seen: set[str] = set()
    for at, tool in enumerate(request.tools):
        where = join(request.dialect, "tools", at)
        if tool.name in seen:
            found.append(
                Violation("tools", f"tools: Tool names must be unique: {tool.name}", where)
            )
        seen.add(tool.name)
        if not NAME.fullmatch(tool.name):
            message = f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
            found.append(Violation("tools", message, where, "invalid_value"))
        if not tool.description.strip() or len(tool.description) > _DESCRIPTION_LIMIT:
            message = f"{where}.description: must be 1 to {_DESCRIPTION_LIMIT} characters long"
            found.append(Violation("tools", message, where, "invalid_value"))
        if wrong := schema_fault(request.dialect, tool):
            message = f"Invalid schema for function '{tool.name}': {wrong}"
            found.append(Violation("tools", message, where, "invalid_function_parameters"))
    return found


def schema_fault(dialect: Dialect, tool: Tool) -> str:
    """Why the schema of `tool` would be refused; nothing when it is fine."""
    if tool.schema is None:
        # Chat completions take a function without parameters; the others want the schema.
        return "" if dialect == "chat" else "schema is missing"
    schema = tool.schema
    if not isinstance(schema, dict) or cast("Object", schema).get("type") != "object":
        return "schema must be a JSON Schema of 'type: \"object\"'"
    top = cast("Object", schema)
    if combined := [key for key in _COMBINERS if key in top]:
        return f"schema must not have '{combined[0]}' at the top level"
    return _fault(top, top, "", strict=tool.strict)


def _fault(schema: Any, root: Object, path: str, *, strict: bool) -> str:
    if isinstance(schema, bool):
        return ""
    if not isinstance(schema, dict):
        return f"In context=({path}), a schema must be an object or a boolean"
    node = cast("Object", schema)
    wrong = (
        _type_fault(node)
        or _ref_fault(node, root)
        or _properties_fault(node, strict=strict)
        or _enum_fault(node)
    )
    if wrong:
        return f"In context=({path}), {wrong}"
    return next(
        (
            bad
            for key, each in _inner(node)
            if (bad := _fault(each, root, f"{path}/{key}", strict=strict))
        ),
        "",
    )


def _inner(node: Object) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        inner = node.get(key)
        if isinstance(inner, dict):
            found += [(f"{key}/{name}", each) for name, each in cast("Object", inner).items()]
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner = node.get(key)
        if isinstance(inner, list):
            found += [(key, each) for each in cast("list[Any]", inner)]
    for key in ("items", "additionalProperties", "not"):
        if key in node:
            found.append((key, node[key]))
    return found


def _type_fault(node: Object) -> str:
    kind = node.get("type")
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    if "type" in node and not (
        kinds and all(isinstance(each, str) and each in _TYPES for each in kinds)
    ):
        return f"{kind!r} is not a valid type"
    if "array" in kinds and "items" not in node and "prefixItems" not in node:
        return "array schema missing items"
    return ""


def _ref_fault(node: Object, root: Object) -> str:
    ref = node.get("$ref")
    if ref is None:
        return ""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return f"reference {ref!r} does not point into the schema"
    at: Any = root
    for part in ref[1:].strip("/").split("/") if ref != "#" else []:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(at, dict) or name not in at:
            return f"reference {ref!r} cannot be resolved"
        at = cast("Object", at)[name]
    return ""


def _properties_fault(node: Object, *, strict: bool) -> str:
    properties = node.get("properties", {})
    required = node.get("required", [])
    if not isinstance(properties, dict):
        return "'properties' must be an object"
    names = list(cast("Object", properties))
    if bad := [name for name in names if not _PROPERTY.fullmatch(name)]:
        return f"property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$': {bad[0]!r}"
    if not isinstance(required, list):
        return "'required' must be an array"
    wanted = cast("list[Any]", required)
    if missing := [name for name in wanted if name not in names]:
        return f"'required' names {missing[0]!r}, which is no property"
    if len(set(map(str, wanted))) != len(wanted):
        return "'required' has non-unique elements"
    if strict and node.get("type") == "object":
        if node.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        if set(names) != set(wanted):
            return "'required' is required to be an array including every key in properties"
    return ""


def _enum_fault(node: Object) -> str:
    if "enum" not in node:
        return ""
    return "" if isinstance(node["enum"], list) and node["enum"] else "'enum' must be non-empty"
