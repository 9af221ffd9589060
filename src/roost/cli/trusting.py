"""Reads a repository's configuration, and trusts it when the user says so."""

from collections.abc import Mapping
from pathlib import Path

from roost.config.load import Place, load
from roost.config.loaded import Loaded
from roost.config.paths import Paths
from roost.config.trust import TrustStore
from roost.core.errors import ConfigError


def load_config(directory: Path, environ: Mapping[str, str], paths: Paths) -> Loaded:
    """The configuration in force in `directory`. Raises `ConfigError`."""
    return load(_place(directory, environ, paths))


def trust(directory: Path, environ: Mapping[str, str], paths: Paths) -> Loaded:
    """Trust the repository's configuration exactly as it is now, and load it.

    Raises `ConfigError` for content that cannot be trusted, and for a fault that shows up once it
    counts; then nothing is remembered.
    """
    place = _place(directory, environ, paths)
    project = load(place).project
    if project.problem:
        raise ConfigError(f"{project.root} cannot be trusted: {project.problem}")
    loaded = load(place, accept=project.digest)
    if project.files and not project.trusted:
        TrustStore(paths.trust_file).trust(project.root, project.digest)
    return loaded


def _place(directory: Path, environ: Mapping[str, str], paths: Paths) -> Place:
    home = Path(environ.get("HOME", "/"))
    return Place(directory=directory.resolve(), environ=environ, paths=paths, home=home)


def withheld_words(loaded: Loaded) -> str:
    """What of the repository is not in force, in one line; empty when nothing is."""
    if not loaded.withheld:
        return ""
    keys = list(dict.fromkeys(one.key.partition(".")[0] or one.source for one in loaded.withheld))
    named = ", ".join(keys[:5]) + (", …" if len(keys) > 5 else "")
    return (
        f"this repository's settings are not in force until you trust them ({named});"
        " see `roost config`, then `roost config trust`"
    )
