"""What loading the configuration gives: the settings in force, and where each came from."""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from roost.config.jsonc import KeyPath
from roost.config.models import Config, PermissionMap

LayerKind = Literal["global", "file", "project", "inline"]
"""The user's own folder, the file of `ROOST_CONFIG`, the repository, `ROOST_CONFIG_CONTENT`."""


class ConfigLayer(Struct, frozen=True):
    """One file, or the inline text, as far as it may be used."""

    source: str
    """Its path, or the name of the variable it stands in."""
    kind: LayerKind
    trusted: bool
    value: dict[str, Any]
    references: dict[KeyPath, str] = {}
    """Keys whose text came from `{env:}` or `{file:}`, with what the file says instead."""


class PermissionLayer(Struct, frozen=True):
    """The permissions that one layer gives, in written order and unmerged."""

    source: str
    kind: LayerKind
    trusted: bool
    """False: it may only tighten, and holds nothing but `ask` and `deny`."""
    agent: str | None
    """The agent they are for; None: all."""
    permission: PermissionMap | None
    tools: dict[str, bool]
    """The deprecated switches of the same layer; `permission` counts after them."""


class Withheld(Struct, frozen=True):
    """A setting of the repository that does nothing until the user trusts it."""

    source: str
    key: str
    """Empty: the whole file, which is faulty and cannot be trusted before that is mended."""
    reason: str
    """Of a faulty file what is wrong in which line."""
    hint: str = ""
    """How to mend a faulty file."""


class PluginFile(Struct, frozen=True):
    """A Python file whose hooks are run, as it was read: what is trusted is what is run."""

    path: str
    data: bytes


SkillOwner = Literal["built in", "yours", "project"]
"""Who brings a skill."""


class SkillFile(Struct, frozen=True):
    """The `SKILL.md` of a skill, as it was read."""

    path: str
    data: bytes
    owner: SkillOwner
    problem: str = ""
    """Why it could not be read."""


class ProjectConfig(Struct, frozen=True):
    """The configuration files of the repository, and whether the user trusts them."""

    root: Path
    """The git root, else the folder Roost works in."""
    digest: str
    """Of the content of `files`; empty without files."""
    trusted: bool
    """True also when there is nothing to trust."""
    files: tuple[str, ...] = ()
    """Relative to `root`."""
    problem: str = ""
    """Why this content cannot be trusted at all; empty when it can."""


class Loaded(Struct, frozen=True):
    """The outcome of `load`."""

    config: Config
    layers: tuple[ConfigLayer, ...]
    """Lowest first: a later one wins."""
    permissions: tuple[PermissionLayer, ...]
    """In the same order."""
    origins: dict[KeyPath, str]
    """For each setting in force, the source that gave it."""
    references: dict[KeyPath, str]
    """For each setting in force that came from elsewhere, the `{env:}` or `{file:}` as written."""
    project: ProjectConfig
    plugins: tuple[PluginFile, ...] = ()
    """Of the repository, if the user trusts it."""
    skills: tuple[SkillFile, ...] = ()
    """The user's, and the repository's if the user trusts it; of one name the last one counts."""
    withheld: tuple[Withheld, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[Withheld, ...]:
        """The repository's files that are withheld because they are faulty."""
        return tuple(one for one in self.withheld if not one.key)

    @property
    def waiting(self) -> tuple[Withheld, ...]:
        """The settings that only wait for trust."""
        return tuple(one for one in self.withheld if one.key)
