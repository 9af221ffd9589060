"""Where Roost keeps its files: data, config, state and cache, or all of them below `ROOST_HOME`."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from roost.core.errors import ConfigError

HOME_VARIABLE: Final = "ROOST_HOME"
_PRIVATE: Final = 0o700


class Paths(Struct, frozen=True):
    """The four folders of one user. Nothing is created before `prepare`."""

    data: Path
    """Database, spilled outputs, worktrees, snapshots, logs: worth a backup."""
    config: Path
    """What the user wrote: `roost.json`, `agents/`, `commands/`."""
    state: Path
    """What Roost remembers about this machine: trust, prompt history, locks."""
    cache: Path
    """What can be fetched or made again."""

    @property
    def database(self) -> Path:
        """Everything that was said and done."""
        return self.data / "roost.db"

    @property
    def worktrees(self) -> Path:
        """Working trees of actors that work apart: `<project id>/<name>`."""
        return self.data / "worktrees"

    @property
    def trust_file(self) -> Path:
        """Which project configurations the user trusts."""
        return self.state / "trust.json"

    @property
    def all(self) -> tuple[Path, Path, Path, Path]:
        """The four folders."""
        return (self.data, self.config, self.state, self.cache)

    def prepare(self) -> None:
        """Create what is missing and make every folder private to the user (mode 0700).

        Raises ConfigError naming the folder that cannot be made.
        """
        for folder in self.all:
            _make_private(folder)


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) & 0o077:
            folder.chmod(_PRIVATE)
    except OSError as error:
        raise ConfigError(
            f"{folder}: cannot be used as a folder of Roost: {error.strerror}",
            hint=f"Make it writable, or set {HOME_VARIABLE} to a folder that is.",
        ) from error


def home_of(environ: Mapping[str, str]) -> Path:
    """The user's own folder: `HOME`, else what the system says."""
    given = environ.get("HOME")
    return Path(given) if given else Path.home()


def roost_paths(environ: Mapping[str, str]) -> Paths:
    """The folders that `environ` asks for, else those of the platform.

    Raises ConfigError when `ROOST_HOME` is set and not absolute.
    """
    if chosen := environ.get(HOME_VARIABLE):
        return _below(Path(chosen))
    # Imported here: a tenth of the start time, and not needed below ROOST_HOME.
    from platformdirs import PlatformDirs

    places = PlatformDirs("roost", appauthor=False)
    return Paths(
        data=places.user_data_path,
        config=places.user_config_path,
        state=places.user_state_path,
        cache=places.user_cache_path,
    )


def _below(home: Path) -> Paths:
    if not home.is_absolute():
        raise ConfigError(
            f"{HOME_VARIABLE} is {str(home)!r}, which is not absolute",
            hint="Give the whole path: where Roost keeps its files must not depend on the folder "
            "it is started in.",
        )
    return Paths(
        data=home / "data", config=home / "config", state=home / "state", cache=home / "cache"
    )
