"""Whose memory and history a command line means, and how what is found is painted."""

from pathlib import Path

from roost.cli.folders import working_folder
from roost.cli.sessions.naming import named
from roost.cli.terminal import Look
from roost.config.load import Place, load
from roost.config.models import Config
from roost.config.paths import Paths, home_of
from roost.core.text import terminal_safe
from roost.db.database import Database
from roost.db.transaction import Reader
from roost.memory.layout import Whose
from roost.memory.rank import Snippet
from roost.sessions import store as sessions
from roost.workspace.project import project_of


async def whose(database: Database, session: str | None, folder: str | None) -> Whose:
    """The project of `folder` (None: the current one), and the session `session` (None: the last
    one there, if there is one). Raises `NotFoundError` and `UsageError`.
    """
    if session is not None:
        found = await database.read(lambda db: named(db, session))
        return Whose(found.project_id, found.id)
    real = working_folder(folder).resolve()
    project_id = await database.read(lambda db: sessions.project_of_directory(db, str(real)))
    last = await database.read(lambda db: _last(db, real))
    return Whose(project_id or (await project_of(real)).id, last)


def _last(db: Reader, folder: Path) -> str:
    found = sessions.listed(db, directory=str(folder), roots=True, limit=1)
    return found[0].id if found else ""


def config_of(folder: str | None, paths: Paths, environ: dict[str, str]) -> Config:
    """The configuration of `folder`. Raises `ConfigError`."""
    directory = working_folder(folder).resolve()
    place = Place(directory=directory, environ=environ, paths=paths, home=home_of(environ))
    return load(place).config


def painted(snippet: Snippet, look: Look) -> str:
    """A snippet with what was looked for in colour, or between marks where there is none."""
    made, at = "", 0
    for start, end in snippet.spans:
        word = terminal_safe(snippet.text[start:end])
        made += terminal_safe(snippet.text[at:start])
        made += look.paint(word, "yellow", "bold") if look.colour else f"«{word}»"
        at = end
    return made + terminal_safe(snippet.text[at:])
