"""Requests in plain words: what an actor wants to do, for the person and the model who read it."""

from typing import Final

_SAYINGS: Final = {
    "read": "reading {}",
    "edit": "changing {}",
    "list": "listing {}",
    "glob": "looking for {}",
    "grep": "searching for {}",
    "external_directory": "reading {}, which is outside the project,",
    "bash": "running `{}`",
    "bash_delete": "deleting with `{}`",
    "bash_process_kill": "ending processes with `{}`",
    "webfetch": "fetching {}",
    "websearch": "searching the web for {}",
    "skill": "using the skill {}",
    "session": "beginning a session as or in {}",
    "memory": "writing to the memory file {}",
}


def in_words(permission: str, pattern: str) -> str:
    """What is asked for; a permission that has no saying is named as rules name it."""
    return _SAYINGS.get(permission, f"{permission} of {{}}").replace("{}", pattern)


def how_to_allow(permission: str, *, needs_person: bool) -> str:
    """What a user can do about a request that was refused because nobody is there to agree."""
    if needs_person:
        return (
            "Nobody is there to agree, and --yes does not cover this. The user can allow it in"
            f" their own configuration, by a rule of `permission` that names `{permission}`."
        )
    return (
        "Nobody is there to agree. The user can start the run with --yes, or allow it in the"
        f" configuration under `permission`, as `{permission}`."
    )
