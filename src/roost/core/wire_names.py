"""Field names as OpenCode writes them: `session_id` is `sessionID`, `start_time` is `startTime`."""


def wire_name(name: str) -> str:
    """The JSON name of a Python field."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join("ID" if word == "id" else word.capitalize() for word in rest)
