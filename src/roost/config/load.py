"""Reads all configuration layers of a folder and puts them together.

Later wins: the user's folder, the file of `ROOST_CONFIG`, the repository's files from its root down
to the folder, its `.roost/` folders, `ROOST_CONFIG_CONTENT`. Of a repository that the user does not
trust, only what `withhold.py` keeps is used, and nothing in it is substituted.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, assert_never, cast

import msgspec
from msgspec import Struct

from roost.config.frontmatter import read_page
from roost.config.jsonc import Document, parse, value_at
from roost.config.loaded import (
    ConfigLayer,
    Loaded,
    PermissionLayer,
    ProjectConfig,
    SkillFile,
    Withheld,
)
from roost.config.merge import Merge
from roost.config.models import Config
from roost.config.paths import Paths
from roost.config.skill_files import paths_in, skills_of_user, switched_on
from roost.config.sources import (
    NO_PROJECT_VARIABLE,
    PLUGINS_FOLDER,
    ProjectSources,
    Source,
    project_sources,
    user_sources,
)
from roost.config.substitute import Substitution
from roost.config.trust import TrustStore, project_digest
from roost.config.validate import validate, with_agent_options
from roost.config.withhold import Sieve
from roost.core.errors import ConfigError

SKILL_REASON: Final = "a skill steers what is done"
_YES: Final = {"1", "true", "yes"}


class Place(Struct, frozen=True):
    """Where a configuration is loaded for. Paths are absolute."""

    directory: Path
    environ: Mapping[str, str]
    paths: Paths
    home: Path
    """The user's home: the search for a repository's files ends below it."""
    twins: tuple[Path, ...] = ()
    """Other working trees of the same repository: what is trusted there is trusted here, as long as
    it is the same content."""


def load(place: Place, *, accept: str | None = None) -> Loaded:
    """The configuration in force in `place.directory`.

    `accept` is a digest that the user agrees to for this one time (see `Loaded.project`).

    Raises ConfigError naming file, line and key of a fault in the user's own layers or in a
    trusted repository.
    """
    return _Loader(place).run(accept)


class _Loader:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.merge = Merge()
        self.layers: list[ConfigLayer] = []
        self.withheld: list[Withheld] = []
        self.warnings: list[str] = []

    def run(self, accept: str | None) -> Loaded:
        low, high = user_sources(self.place.environ, self.place.paths)
        for source in low:
            self._add(source, trusted=True)
        above = [self._trusted(source) for source in high]
        others, skills = self._skills([*self.layers, *above])
        found = self._project_sources(others)
        project = self._project(found, accept)
        for source in found.sources:
            self._add(source, trusted=project.trusted)
        if not project.trusted:
            self._withhold_plugins(found)
            self._withhold_skills(found)
        for layer in above:
            self._put(layer)
        return Loaded(
            config=_convert(self.merge.value),
            layers=tuple(self.layers),
            permissions=tuple(p for layer in self.layers for p in permissions_of(layer)),
            origins=self.merge.origins,
            references=self.merge.references,
            project=project,
            plugins=found.plugins if project.trusted else (),
            skills=(*skills, *(found.skills if project.trusted else ())),
            withheld=tuple(self.withheld),
            warnings=tuple(self.warnings),
        )

    def _withhold_plugins(self, found: ProjectSources) -> None:
        for plugin in found.plugins:
            self.withheld.append(Withheld(plugin.path, PLUGINS_FOLDER, "it runs code"))

    def _withhold_skills(self, found: ProjectSources) -> None:
        for skill in found.skills:
            name = Path(skill.path).parent.name
            self.withheld.append(Withheld(skill.path, f"skills.{name}", SKILL_REASON))

    def _skills(
        self, layers: Sequence[ConfigLayer]
    ) -> tuple[tuple[str, ...], tuple[SkillFile, ...]]:
        """Whose folders are read beside our own, and the user's skills, as their `layers` say.

        A repository has no say in it: what it could name would not be what is trusted.
        """
        place, merge, named = self.place, Merge(), list[Path]()
        for layer in layers:
            inline = layer.kind == "inline"
            base = place.directory if inline else Path(layer.source).parent
            named += paths_in(layer.value, base, place.home)
            merge.add(layer)
        others = switched_on(merge.value)
        return others, tuple(skills_of_user(place.home, place.paths, others, named))

    def _project_sources(self, others: tuple[str, ...]) -> ProjectSources:
        place = self.place
        if place.environ.get(NO_PROJECT_VARIABLE, "").lower() in _YES:
            return ProjectSources(place.directory)
        return project_sources(place.directory, place.home, place.paths, others=others)

    def _project(self, found: ProjectSources, accept: str | None) -> ProjectConfig:
        if found.problem:
            self.withheld.append(Withheld(str(found.root), "", found.problem))
            return ProjectConfig(found.root, "", trusted=False, problem=found.problem)
        if not found.files:
            return ProjectConfig(found.root, "", trusted=True)
        digest = project_digest(found.files)
        trusted = digest == accept or self._is_trusted(found.root, digest)
        return ProjectConfig(found.root, digest, trusted, tuple(name for name, _ in found.files))

    def _is_trusted(self, root: Path, digest: str) -> bool:
        try:
            store = TrustStore(self.place.paths.trust_file)
            return any(store.is_trusted(one, digest) for one in (root, *self.place.twins))
        except ConfigError as error:
            self.warnings.append(f"{error.message} {error.hint}")
            return False

    def _add(self, source: Source, *, trusted: bool) -> None:
        layer = self._trusted(source) if trusted else self._untrusted(source)
        if layer is not None:
            self._put(layer)

    def _put(self, layer: ConfigLayer) -> None:
        if layer.value:
            self.layers.append(layer)
            self.merge.add(layer)

    def _trusted(self, source: Source) -> ConfigLayer:
        document = _document(source)
        value, references = with_agent_options(document.value), {}
        if source.form == "settings":
            base = source.path.parent if source.path else self.place.directory
            filling = Substitution(source.name, base, self.place.environ, self.place.home)
            written, value = value, filling.fill(value)
            references = {path: str(value_at(written, path)) for path in filling.filled}
            self.warnings += filling.warnings
        value, left_out = validate(
            Document(value, document.lines), source.name, lenient=source.foreign
        )
        self.warnings += left_out
        return ConfigLayer(source.name, source.kind, True, value, references)

    def _untrusted(self, source: Source) -> ConfigLayer | None:
        """A fault in a file that nobody trusts withholds the file and stops nothing."""
        try:
            value, _ = validate(_document(source), source.name, lenient=source.foreign)
        except ConfigError as error:
            self.withheld.append(Withheld(source.name, "", error.message, error.hint))
            return None
        commands: dict[str, Any] = self.merge.value.get("command", {})
        own = frozenset(k for k in commands if self._is_own(k))
        sieve = Sieve(source.name, own)
        kept = sieve.kept(value)
        self.withheld += sieve.withheld
        return ConfigLayer(source.name, source.kind, False, kept)

    def _is_own(self, command: str) -> bool:
        return any(
            layer.trusted and command in layer.value.get("command", {}) for layer in self.layers
        )


def _document(source: Source) -> Document:
    """A source as settings, whatever form it has."""
    match source.form:
        case "settings":
            return parse(source.data, source.name)
        case "agent":
            return _page(source, "prompt")
        case "command":
            return _page(source, "template")
        case _:
            assert_never(source.form)


def _page(source: Source, body_key: str) -> Document:
    try:
        page = read_page(source.data.decode("utf-8"), source.name)
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{source.name}: is not UTF-8 text", hint="Save the file as UTF-8."
        ) from error
    settings = {key: value for key, value in page.settings.items() if key != "name"}
    if page.body or source.form == "command":
        settings[body_key] = page.body
    return Document({source.form: {source.key: settings}}, {})


def permissions_of(layer: ConfigLayer) -> list[PermissionLayer]:
    """The permissions that `layer` gives: for all, then for each agent."""
    agents = cast("dict[str, dict[str, Any]]", layer.value.get("agent", {}))
    found: list[PermissionLayer] = []
    for agent, value in ((None, layer.value), *agents.items()):
        permission, tools = value.get("permission"), value.get("tools", {})
        if permission is not None or tools:
            found.append(
                PermissionLayer(layer.source, layer.kind, layer.trusted, agent, permission, tools)
            )
    return found


def _convert(value: dict[str, Any]) -> Config:
    try:
        return msgspec.convert(value, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"the configuration files do not fit together: {error}",
            hint="`roost config` shows which file gives what.",
        ) from error
