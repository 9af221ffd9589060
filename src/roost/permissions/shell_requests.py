"""Turns the analysis of a shell command line into what has to be allowed before it runs."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from roost.permissions.bash import BashAnalysis, Destruction, ShellCommand, Surroundings
from roost.permissions.models import PermissionRequest, Traits
from roost.permissions.path_requests import outside_request, path_request


def _never(_: Destruction) -> bool:
    return False


def shell_requests(
    analysis: BashAnalysis,
    around: Surroundings,
    restorable: Callable[[Destruction], bool] = _never,
) -> list[PermissionRequest]:
    """All that must be allowed for the command line to run; each of them, in this order.

    `restorable` says whether git can bring back what is destroyed inside the project. What it
    cannot, what is destroyed elsewhere, and kills by name are asked each time, and outside the
    project a person is needed. `analysis.refusals` must be empty: they are not for rules.
    """
    forced: set[int] = set()
    found: list[PermissionRequest] = []
    deletes = [one for one in analysis.destroys if _is_grave(one, restorable)]
    kills = [index for index, kill in analysis.kills if kill.by_name]
    if deletes:
        beyond = any(one.reach != "inside" for one in deletes)
        indices = sorted({one.command for one in deletes})
        found.append(_forced(analysis, "bash_delete", indices, needs_person=beyond))
        forced |= set(indices)
    if kills:
        found.append(_forced(analysis, "bash_process_kill", sorted(set(kills)), needs_person=True))
        forced |= set(kills)
    first = _plain(analysis, forced)
    root = around.guard.root
    return [
        *([first] if first.patterns else []),
        *([outside_request(analysis.outside, root, around.home)] if analysis.outside else []),
        *_path_requests(analysis, root),
        *found,
    ]


def _path_requests(analysis: BashAnalysis, root: Path) -> list[PermissionRequest]:
    found: list[PermissionRequest] = []
    for permission, paths in (("read", analysis.reads), ("edit", analysis.writes)):
        globs = tuple(glob for kind, glob in analysis.globs if kind == permission)
        if paths or globs:
            request = path_request(permission, paths, root)
            patterns = (*request.patterns, *(glob[0] for glob in globs))
            traits = (*request.traits, *(Traits(same=glob[1:], glob=True) for glob in globs))
            found.append(replace(request, patterns=patterns, traits=traits))
    return found


def _is_grave(one: Destruction, restorable: Callable[[Destruction], bool]) -> bool:
    return one.reach != "temporary" and not (one.reach == "inside" and restorable(one))


def _plain(analysis: BashAnalysis, forced: set[int]) -> PermissionRequest:
    """The `bash` request for every command that is not asked about otherwise."""
    commands = [one for index, one in enumerate(analysis.commands) if index not in forced]
    patterns = [one.pattern for one in commands]
    traits = [_traits(one, clear=not analysis.doubt) for one in commands]
    always = [one.always for one in commands if not one.read_only and one.always]
    if analysis.doubt:
        patterns.append(analysis.command)
        traits.append(Traits(opaque=True, stem=""))
    return PermissionRequest(
        permission="bash",
        patterns=tuple(patterns),
        always=() if analysis.opaque else tuple(dict.fromkeys(always)),
        metadata=_metadata(analysis),
        title=analysis.command,
        traits=tuple(traits),
    )


def _forced(
    analysis: BashAnalysis, permission: str, indices: list[int], *, needs_person: bool
) -> PermissionRequest:
    commands = [analysis.commands[index] for index in indices]
    return PermissionRequest(
        permission=permission,
        patterns=tuple(one.pattern for one in commands),
        metadata=_metadata(analysis),
        title=analysis.command,
        forced=True,
        needs_person=needs_person,
        also=("bash",),
        traits=tuple(_traits(one, clear=True) for one in commands),
    )


def _metadata(analysis: BashAnalysis) -> dict[str, object]:
    doubt = {"doubt": analysis.doubt} if analysis.doubt else {}
    return {"command": analysis.command, **doubt}


def _traits(one: ShellCommand, *, clear: bool) -> Traits:
    return Traits(
        covers=one.covers,
        read_only=one.read_only and clear,
        opaque=one.opaque,
        stem=one.stem,
    )
