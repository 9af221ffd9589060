"""A directory that actors work in: its configuration, agents, guard and instructions."""

import asyncio
from pathlib import Path

from msgspec import Struct

from roost.config.load import Place as ConfigPlace
from roost.config.load import load
from roost.config.loaded import Loaded
from roost.config.paths import Paths, home_of
from roost.context.agents import Agent, agents, choose_agent
from roost.context.instructions import FolderRules, Instruction, find_instructions
from roost.core.errors import UsageError
from roost.db.database import Database
from roost.runtime.advert import FOLDER
from roost.runtime.models import Settings
from roost.sessions import store as sessions
from roost.skills.known import skills_of
from roost.skills.models import Skills
from roost.workspace.git_folder import own_tree, twins
from roost.workspace.guard import Guard
from roost.workspace.project import project_of


class Project(Struct, frozen=True, kw_only=True):
    """Everything that is the same for all sessions of a directory."""

    directory: Path
    root: Path
    """The repository's root, else the directory."""
    loaded: Loaded
    guard: Guard
    instructions: tuple[Instruction, ...]
    agents: dict[str, Agent]
    """Every agent by name."""
    skills: Skills

    @property
    def folder_rules(self) -> FolderRules:
        """The instruction files of folders that are told when work goes there."""
        known = frozenset(one.path for one in self.instructions)
        return FolderRules(self.guard.root, known, self.loaded.project.trusted)

    def agent(self, name: str | None) -> Agent:
        """The agent `name`, or the default one. Raises `ConfigError`."""
        return choose_agent(self.agents, name or self.loaded.config.default_agent)


class Projects:
    """The directories in use, each opened once."""

    def __init__(self, paths: Paths, settings: Settings) -> None:
        self._paths = paths
        self._settings = settings
        self._known: dict[Path, Project] = {}

    @property
    def worktrees(self) -> Path:
        """Where working trees are made, by project."""
        return self._paths.worktrees.resolve()

    @property
    def tree_notes(self) -> Path:
        """Where is noted which working trees are being made."""
        return self._paths.state / "making"

    @property
    def known(self) -> tuple[Path, ...]:
        """The directories whose configuration is in use."""
        return tuple(self._known)

    async def open(self, directory: Path) -> Project:
        """The project of `directory`.

        Raises `UsageError` if there is no such folder, `ConfigError` for a faulty configuration.
        """
        if (known := self._known.get(directory)) is not None:
            return known
        if not directory.is_dir():
            raise UsageError(f"{directory} is not a folder")
        project = await self._open(directory.resolve())
        self._known[directory] = project
        return project

    def forget(self, directory: Path) -> None:
        """Read the configuration of `directory` again when it is next used."""
        self._known.pop(directory, None)

    async def id_of(self, directory: Path, database: Database) -> str:
        """The id of a directory's project: the one it always had here, else git's oldest commit.

        Git is asked once for a directory, so a slow one delays no later start.
        """
        known = await database.read(lambda db: sessions.project_of_directory(db, str(directory)))
        return known or (await project_of(directory)).id

    async def _open(self, directory: Path) -> Project:
        loaded = await asyncio.to_thread(self._load, directory)
        root = loaded.project.root
        home = home_of(self._settings.environment)
        root = directory if root == home or not directory.is_relative_to(root) else root
        instructions = find_instructions(
            directory,
            root,
            user_folder=self._paths.config,
            named=tuple(loaded.config.instructions),
            trusted=loaded.project.trusted,
        )
        skills = await asyncio.to_thread(skills_of, loaded.skills)
        return Project(
            directory=directory,
            root=root,
            loaded=loaded,
            guard=Guard(
                root,
                self._open_roots(directory),
                protected=self._paths.all,
                private=(self._paths.state / FOLDER, self._paths.trust_file),
                readable=_folders_of(skills, home),
            ),
            instructions=instructions,
            agents=agents(loaded),
            skills=skills,
        )

    def _open_roots(self, directory: Path) -> tuple[Path, ...]:
        """What counts as inside although it lies among Roost's own data: spilled tool outputs, and
        the working tree itself if it is one that Roost made.
        """
        tree = own_tree(directory, self._paths.worktrees.resolve())
        return (self._paths.data / "outputs", *([tree] if tree else []))

    def _load(self, directory: Path) -> Loaded:
        place = ConfigPlace(
            directory=directory,
            environ=self._settings.environment,
            paths=self._paths,
            home=home_of(self._settings.environment),
            twins=twins(directory, self._paths.worktrees.resolve()),
        )
        return load(place)


def _folders_of(skills: Skills, home: Path) -> tuple[Path, ...]:
    """Where files of skills may be read; never a whole home."""
    folders = (one.folder.resolve() for one in skills)
    return tuple(one for one in folders if not home.resolve().is_relative_to(one))
