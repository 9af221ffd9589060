"""What `roost run` was asked for, and where it is to work."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from roost.actors.tree_budgets import COST as TREE_COST
from roost.cli.folders import working_folder
from roost.cli.log import Level
from roost.cli.logs.lines import Format
from roost.cli.run.prompt import Attachment, full_prompt, read_format
from roost.cli.sessions.naming import named
from roost.core.errors import NotFoundError, UsageError
from roost.goals.store import check_condition
from roost.runtime.goal_command import SetGoal, goal_command
from roost.runtime.models import FileInput, PromptInput, Settings, TextInput
from roost.runtime.runtime import Runtime
from roost.sessions import store as sessions
from roost.sessions.models import Session
from roost.turn.policies.limits import COST, STEPS


class RunOptions(Struct, frozen=True, kw_only=True):
    """The command line of `roost run`."""

    message: list[str] = []
    format: Literal["text", "json", "default"] = "text"
    continue_: bool = False
    session: str | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    max: bool | int | None = None
    """Candidates that each step is chosen from; True: as many as is usual."""
    files: list[str] = []
    goal: str | None = None
    """What the session is to reach."""
    command: str | None = None
    """The command that the message is for."""
    schema: str | None = None
    """A file with the JSON Schema that the answer must fit."""
    dir: str | None = None
    yes: bool = False
    time_limit: float | None = None
    """Seconds."""
    max_steps: int | None = None
    max_cost: float | None = None
    """US dollars."""
    title: str | None = None
    thinking: bool = False
    trust: bool = False
    print_logs: bool = False
    log_level: Level | None = None
    log_format: Format | None = None

    @property
    def directory(self) -> Path:
        """Where to work. Raises `UsageError`."""
        return working_folder(self.dir)

    @property
    def resumes(self) -> bool:
        """An existing session goes on."""
        return self.continue_ or self.session is not None

    def check(self) -> None:
        """Raise `UsageError` for options that do not go together."""
        if self.title is not None and self.resumes:
            raise UsageError(
                "--title is for a new session", hint="Leave it out with --continue and --session."
            )
        if self.session == "":
            raise UsageError("--session names none", hint="`roost sessions list` shows their ids.")

    def settings(self, environment: Mapping[str, str]) -> Settings:
        """How the runtime is to run."""
        limits: dict[str, float] = {}
        if self.max_steps is not None:
            limits[STEPS] = self.max_steps
        if self.max_cost is not None:
            limits[COST] = limits[TREE_COST] = self.max_cost
        return Settings(
            environment=environment,
            interactive=False,
            yes=self.yes,
            model=self.model,
            limits=limits,
            make_titles=False,
        )

    def prompt(self, text: str) -> PromptInput:
        """The prompt `text` with the attached files. Raises `UsageError`."""
        text, goal = self._goal_in(text)
        attached = [Attachment(name, working_folder(None)) for name in self.files]
        files = [FileInput(one.mime, one.url, filename=one.path.name) for one in attached]
        return PromptInput(
            parts=(TextInput(text), *files),
            agent=self.agent,
            variant=self.variant,
            goal=goal,
            max_mode=self.max,
            format=read_format(Path(self.schema)) if self.schema is not None else None,
        )

    def said(self, piped: str) -> str:
        """What the user says, with what is piped in; a goal says it where nothing else does.

        Raises `UsageError` when that is nothing.
        """
        nothing = not self.message and not piped.strip()
        if self.command is None:
            return full_prompt([self.goal] if self.goal and nothing else self.message, piped)
        behind = "" if nothing else full_prompt(self.message, piped)
        return f"/{self.command.removeprefix('/')} {behind}".rstrip()

    def _goal_in(self, text: str) -> tuple[str, str | None]:
        """The words of the prompt, and the goal that they or `--goal` give."""
        command = goal_command(text)
        if command is not None and self.goal is not None:
            raise UsageError("--goal and /goal are two goals", hint="Give one of them.")
        if isinstance(command, SetGoal):
            return command.condition, check_condition(command.condition)
        return text, None if self.goal is None else check_condition(self.goal)


async def open_session(runtime: Runtime, options: RunOptions) -> Session:
    """The session that the options ask for, made if need be.

    Raises `UsageError` for one that does not exist.
    """
    if (word := options.session) is not None:
        try:
            found = await runtime.database.read(lambda db: named(db, word))
        except NotFoundError as error:
            raise UsageError(error.message, hint=error.hint) from error
        if options.dir is not None:
            _check_folder(found, options.directory)
        return found
    if options.continue_:
        return await _last_session(runtime, options.directory)
    return await runtime.create_session(
        options.directory, title=options.title or "", agent=options.agent
    )


def _check_folder(session: Session, folder: Path) -> None:
    """Raise `UsageError` for a session that works elsewhere."""
    if folder.resolve() != Path(session.directory).resolve():
        raise UsageError(
            f"{session.id} works in {session.directory}",
            hint="Leave --dir out to go on there, or --session to begin a new one in --dir.",
        )


async def _last_session(runtime: Runtime, directory: Path) -> Session:
    project = await runtime.projects.open(directory)
    folder = str(project.directory)
    found = await runtime.database.read(
        lambda db: sessions.listed(db, directory=folder, roots=True, limit=50)
    )
    current = [session for session in found if session.time.archived is None]
    if not current:
        raise UsageError(
            f"there is no session of {folder} yet", hint="Leave --continue out to begin one."
        )
    return current[0]
