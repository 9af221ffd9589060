"""Requests about paths, in the one spelling that rules are compared with."""

from collections.abc import Sequence
from pathlib import Path

from roost.config.sources import PROJECT_FILES, PROJECT_FOLDERS
from roost.permissions.models import PermissionRequest, Traits
from roost.permissions.wildcards import plain_path
from roost.workspace.guard import Located


def is_configuration(path: Path) -> bool:
    """Whether the file decides what Roost runs and allows the next time; plans do not."""
    for index, part in enumerate(path.parts):
        folded = part.casefold()
        if folded in PROJECT_FOLDERS and path.parts[index + 1 : index + 2] != ("plans",):
            return True
    return path.name.casefold() in PROJECT_FILES


def spellings(path: Path, root: Path) -> tuple[str, ...]:
    """`path` as rules may write it: relative to the project first, if it is in it, then whole."""
    whole = plain_path(str(path))
    if not path.is_relative_to(root):
        return (whole,)
    return (plain_path(str(path.relative_to(root))), whole)


def pattern_of(located: Located, root: Path) -> tuple[str, Traits]:
    """How a request names a path: by where it really leads. A deny also matches the link."""
    first, *others = spellings(located.real, root)
    links = spellings(located.path, root) if located.via_link else ()
    return first, Traits(same=tuple(others), covers=links, outside=not located.inside)


def path_request(
    permission: str,
    located: Sequence[Located],
    root: Path,
    *,
    title: str = "",
    always: tuple[str, ...] | None = None,
    metadata: dict[str, object] | None = None,
) -> PermissionRequest:
    """A request of a tool for paths (`read`, `edit`, `list`, …).

    `always` is by default these very paths. A change of Roost's own configuration is asked each
    time, unless the user's own rules allow `edit` there. What is read outside the project needs
    `outside_request` as well; for `edit` this one is enough, as it asks outside by default.
    """
    found = [pattern_of(one, root) for one in located]
    patterns = tuple(pattern for pattern, _ in found)
    forced = permission == "edit" and any(is_configuration(one.real) for one in located)
    return PermissionRequest(
        permission=permission,
        patterns=patterns,
        always=() if forced else patterns if always is None else always,
        metadata={**(metadata or {}), "paths": [one.shown for one in located]},
        title=title or f"{permission} {', '.join(patterns)}",
        forced=forced,
        also=("external_directory",) if any(trait.outside for _, trait in found) else (),
        traits=tuple(traits for _, traits in found),
    )


def outside_request(located: Sequence[Located], root: Path, home: Path) -> PermissionRequest:
    """The `external_directory` request for paths outside the project that are read.

    A grant covers the folder of each path; never the whole disk or a whole home.
    """
    patterns: list[str] = []
    traits: list[Traits] = []
    always: list[str] = []
    for one in located:
        real, folder = one.real, one.real.is_dir()
        pattern, trait = pattern_of(one, root)
        patterns.append(plain_path(f"{pattern}/*") if folder else pattern)
        traits.append(Traits((*trait.same, pattern), trait.covers, outside=True))
        scope = real if folder else real.parent
        wide = scope == home or scope in home.parents
        always.append(patterns[-1] if wide and not folder else plain_path(f"{scope}/*"))
        if wide and folder:
            always.pop()
    return PermissionRequest(
        permission="external_directory",
        patterns=tuple(patterns),
        always=tuple(dict.fromkeys(always)) if len(always) == len(located) else (),
        metadata={"paths": [one.shown for one in located]},
        title=f"outside the project: {', '.join(one.shown for one in located)}",
        also=("read",),
        traits=tuple(traits),
    )
