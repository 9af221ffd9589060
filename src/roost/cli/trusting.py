"""Reads a repository's configuration, and trusts it when the user says so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roost.config.load import Place, load
from roost.config.loaded import Loaded
from roost.config.paths import Paths, home_of
from roost.config.trust import TrustStore
from roost.core.errors import ConfigError
from roost.workspace.git_folder import twins

UNUSED: Final = "nothing of this file is used"
_AGAIN: Final = "When that is mended, run `roost config trust` again."


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
        raise ConfigError(f"nothing was trusted: {project.problem}", hint=_AGAIN)
    try:
        loaded = load(place, accept=project.digest)
    except ConfigError as error:
        words = f"nothing was trusted: {error.message}"
        raise ConfigError(words, hint=f"{error.hint}\n{_AGAIN}".strip()) from error
    if project.files and not project.trusted:
        TrustStore(paths.trust_file).trust(project.root, project.digest)
    return loaded


def _place(directory: Path, environ: Mapping[str, str], paths: Paths) -> Place:
    home = home_of(environ)
    folder = directory.resolve()
    return Place(
        directory=folder,
        environ=environ,
        paths=paths,
        home=home,
        twins=twins(folder, paths.worktrees.resolve()),
    )


def withheld_words(loaded: Loaded) -> str:
    """What of the repository is not in force, in a line or two; empty when nothing is."""
    lines = [f"{fault.reason}; {UNUSED} (see `roost config`)" for fault in loaded.faults]
    keys = list(dict.fromkeys(one.key.partition(".")[0] for one in loaded.waiting))
    if keys:
        named = ", ".join(keys[:5]) + (", …" if len(keys) > 5 else "")
        lines.append(
            f"this repository's settings are not in force until you trust them ({named});"
            " `roost config` shows them, `roost config trust` puts them in force"
        )
    return "\n".join(lines)
